//! What this service sees of a request that came through a proxy, for `posture config check --proxy`.
//!
//! Only who may use the control socket gets a code for it: what proxies send is nobody else's business.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use poem::http::{HeaderMap, header};
use poem::{Request, Response};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use super::Console;
use super::session::browser;
use super::way::{Way, is_own_form};
use crate::auth::network::holds;
use crate::peer::Peer;
use crate::secret::random;

pub(super) const PATH: &str = "/proxy-check";
/// The header with the code.
pub const CODE: &str = "X-Posture-Check";

/// How long a code counts.
const CODE_TIMEOUT: Duration = Duration::from_mins(1);
/// Codes at a time. The oldest ends for another.
const N_CODES_MAX: usize = 16;

/// The codes that count, the oldest first.
#[derive(Default)]
pub(super) struct CheckCodes(Mutex<Vec<(String, Instant)>>);

impl CheckCodes {
    fn add(&self) -> String {
        let code = BASE64.encode(random::<32>());
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|it| it.1.elapsed() < CODE_TIMEOUT);
        if N_CODES_MAX <= codes.len() {
            codes.remove(0);
        }
        codes.push((code.clone(), Instant::now()));
        code
    }

    fn has(&self, code: &str) -> bool {
        let codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let live = codes.iter().filter(|it| it.1.elapsed() < CODE_TIMEOUT);
        live.filter(|it| bool::from(it.0.as_bytes().ct_eq(code.as_bytes()))).count() != 0
    }
}

/// `GET /proxy-check`. `None`: there is nothing here for this caller.
pub(super) fn answer(console: &Console, request: &Request) -> Option<Response> {
    let data = match request.data::<Peer>()? {
        Peer::Socket { .. } => json!({ "code": console.check_codes.add() }),
        Peer::Tcp(peer) => {
            let code = request.header(CODE)?;
            console.check_codes.has(code).then(|| {
                let address = peer.ip();
                let is_trusted = holds(&console.trusted_proxies, address);
                seen(console, request, &address.to_string(), is_trusted)
            })?
        }
    };
    let body = json!({ "data": data }).to_string();
    Some(Response::builder().content_type("application/json").body(body))
}

fn seen(console: &Console, request: &Request, connection: &str, is_trusted: bool) -> Value {
    let way = Way::of(request, &console.trusted_proxies);
    let headers = request.headers();
    let way_name = match way {
        Way::Encrypted => "encrypted",
        Way::Proxied => "proxied",
        Way::Loopback => "loopback",
        Way::Open => "open",
    };
    json!({
        "connection": connection,
        "trusted": is_trusted,
        "way": way_name,
        "host": all(headers, header::HOST.as_str()),
        "forwardedHost": all(headers, "X-Forwarded-Host"),
        "forwardedProto": all(headers, "X-Forwarded-Proto"),
        "forwardedFor": all(headers, "X-Forwarded-For"),
        "caller": browser(console, request).address.shown(),
        "ownForm": is_own_form(request, way, console.url.as_ref()),
    })
}

/// The values of a header as one list. Null: it was not sent.
fn all(headers: &HeaderMap, name: &str) -> Option<String> {
    let values = headers.get_all(name).iter().map(|it| String::from_utf8_lossy(it.as_bytes()));
    let values: Vec<_> = values.collect();
    (!values.is_empty()).then(|| values.join(", "))
}
