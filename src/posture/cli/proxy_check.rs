//! `posture config check --proxy`: asks the running service through the proxy in front of it, and says what the proxy does not
//! send.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::call::{Call, ask_server};
use crate::config::Config;
use crate::egress::http::{Method, Request, Response};
use crate::egress::{Egress, EgressPolicy, TrustedRoots};
use crate::error::{Error, Result};
use crate::origin::Origin;
use crate::web::console::{PROXY_CHECK, PROXY_CHECK_CODE};

/// How long the service, and then the proxy, may take for each answer.
const TIMEOUT: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: u64 = 64 * 1_024;
/// An address that nobody has (RFC 5737): what is said to come from it was made up.
const CLAIMED: &str = "192.0.2.1";

/// What was found.
pub(super) struct Checked {
    pub(super) problems: Vec<String>,
    /// What the service saw of a request through the proxy. Null: none arrived.
    pub(super) seen: Value,
}

/// # Errors
/// `Invalid` for a URL that is none, or a file with authorities that cannot be read; `Unavailable` if no server is running.
pub(super) fn check(options: &Config, url: &str, ca_file: Option<&Path>) -> Result<Checked> {
    let Some(origin) = Origin::parse(url) else {
        return Err(Error::invalid(format!(
            "--proxy: `{url}` is not the address of a host, such as https://posture.example.com"
        )));
    };
    let roots = ca_file.map(|it| TrustedRoots::read("--ca-file", it)).transpose()?;
    let policy = EgressPolicy::for_proxy_check(roots.unwrap_or_default());
    let answer = ask_server(options, TIMEOUT, Call::get(PROXY_CHECK))?;
    let code = answer["data"]["code"].as_str().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(Error::internal)?.block_on(async {
        let egress = Egress::new(policy, TIMEOUT, 1)?;
        Ok(look(&egress, &origin, code, options).await)
    })
}

async fn look(egress: &Egress, origin: &Origin, code: &str, options: &Config) -> Checked {
    let nothing = |problem: String| Checked { problems: vec![problem], seen: Value::Null };
    let seen = match ask(egress, origin, PROXY_CHECK, &[(PROXY_CHECK_CODE, code)]).await {
        Err(failure) => return nothing(format!("{origin}: {failure}")),
        Ok(answer) => seen_in(&answer).ok_or_else(|| answer.status().as_u16()),
    };
    let seen = match seen {
        Ok(seen) => seen,
        Err(status) => {
            return nothing(format!(
                "{origin} answers {status} and not as this service does: let the proxy lead to it, with all paths and headers"
            ));
        }
    };
    let mut problems = wrong_way(origin, &seen, options);
    let claim = [(PROXY_CHECK_CODE, code), ("X-Forwarded-For", CLAIMED)];
    let claimed = ask(egress, origin, PROXY_CHECK, &claim).await.ok();
    let claimed = claimed.as_ref().and_then(seen_in).unwrap_or_default();
    if claimed["forwardedFor"] == CLAIMED {
        problems.push(
            "X-Forwarded-For is passed on as callers send it, so everyone can claim any address: let the proxy set it".to_owned(),
        );
    }
    let metrics = ask(egress, origin, "/metrics", &[]).await;
    if metrics.is_ok_and(|it| it.status().is_success()) {
        problems.push(
            "/metrics answers everyone through the proxy: let the proxy send X-Forwarded-For, or refuse the path".to_owned(),
        );
    }
    Checked { problems, seen }
}

async fn ask(
    egress: &Egress,
    origin: &Origin,
    path: &str,
    headers: &[(&str, &str)],
) -> std::result::Result<Response<Bytes>, String> {
    let mut request = Request::builder().method(Method::GET).uri(format!("{origin}{path}"));
    // As the browser says where a form is from.
    request = request.header("Origin", origin.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Bytes::new()).map_err(|it| it.to_string())?;
    egress.fetch(request, ANSWER_BYTES_MAX).await.map_err(|it| it.to_string())
}

fn seen_in(answer: &Response<Bytes>) -> Option<Value> {
    let body: Value = serde_json::from_slice(answer.body()).ok()?;
    answer.status().is_success().then(|| body["data"].clone()).filter(|it| it["way"].is_string())
}

/// What is wrong with how a request arrived.
fn wrong_way(origin: &Origin, seen: &Value, options: &Config) -> Vec<String> {
    let text = |name: &str| seen[name].as_str();
    let shown = |name: &str| text(name).unwrap_or("nothing").to_owned();
    let connection = shown("connection");
    let mut problems = Vec::new();
    // This service may speak HTTPS itself, and then there need be no proxy.
    let is_proxied = text("way") != Some("encrypted") || text("forwardedFor").is_some();
    if is_proxied && seen["trusted"] == false {
        problems.push(format!(
            "server.trusted_proxies does not name {connection}, where the proxy connects from: add it, and start the service again"
        ));
    }
    let proto = text("forwardedProto").map(|it| it.rsplit(',').next().unwrap_or(it).trim());
    if is_proxied && origin.is_https() && !proto.is_some_and(|it| it.eq_ignore_ascii_case("https"))
    {
        let said = shown("forwardedProto");
        problems.push(format!(
            "X-Forwarded-Proto must be https, and the proxy sends {said}: nobody can sign in to the console"
        ));
    }
    if !origin.is_https() {
        problems.push(format!("{origin} is not https: nobody can sign in to the console there"));
    }
    let forwarded_for = text("forwardedFor").map(|it| it.rsplit(',').next().unwrap_or(it).trim());
    match forwarded_for {
        None if is_proxied => problems.push(
            "X-Forwarded-For must have the address of the caller, and the proxy does not send it: all callers count as one"
                .to_owned(),
        ),
        Some(last) if last.parse::<IpAddr>().is_err() => problems.push(format!(
            "X-Forwarded-For must end in an address without a port, and the proxy sends {last}"
        )),
        Some(_) | None => (),
    }
    let public_url = options.server.public_url.as_deref();
    match public_url {
        Some(url) if Origin::parse(url).as_ref() != Some(origin) => problems.push(format!(
            "server.public_url is {url}, and not {origin}: links, passkeys and single sign-on work at the former alone"
        )),
        None => problems.push(format!(
            "server.public_url is not set: set it to {origin}, for links in events, passkeys and single sign-on"
        )),
        Some(_) => (),
    }
    // A way that is open refuses all forms, whatever the host is.
    if seen["ownForm"] == false {
        let (host, forwarded) = (shown("host"), shown("forwardedHost"));
        problems.push(format!(
            "Host must be what the browser asked for, {origin} without its scheme, and the proxy sends {host} \
             (X-Forwarded-Host: {forwarded}): forms of the console are refused"
        ));
    }
    problems
}
