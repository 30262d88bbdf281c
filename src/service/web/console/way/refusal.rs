//! What a page says about a request that is refused for its way: what this service saw, and what a proxy has to send.

use poem::Request;
use poem::http::header;

use super::{Way, X_FORWARDED_HOST, X_FORWARDED_PROTO, last_of};
use crate::auth::network::{CallerAddress, PROXY_HEADERS, holds};
use crate::peer::Peer;
use crate::text::line;
use crate::web::console::Console;

/// Longer values are cut on the page, which says so.
const VALUE_CHARS_MAX: usize = 200;

const PLAIN: &str = "Signing in is refused here: this page came over plain HTTP from another machine, and \
                     everybody on the way could read your password. Turn HTTPS on with server.tls_cert or \
                     server.acme_domains of the configuration, or put a proxy with HTTPS in front and name it \
                     in server.trusted_proxies. On the machine of the service itself, http://localhost works.";
const SAYS_NOTHING: &str = "Signing in is refused here: the proxy in front does not say that the browser came over HTTPS. \
                            It must send the header X-Forwarded-Proto with the value https. For nginx: proxy_set_header \
                            X-Forwarded-Proto $scheme; for HAProxy: http-request set-header X-Forwarded-Proto https.";
const SAYS_HTTP: &str = "Signing in is refused here: the proxy in front says that the browser came over plain HTTP, and everybody \
                         on the way could read your password. Open the address that begins with https.";
const UNKNOWN_PROXY: &str = "Signing in is refused here: this page came through a proxy that server.trusted_proxies of the \
                             configuration does not name, so what it says is not believed. Add the address of the \
                             connection below to it, and start the service again.";
const FOREIGN: &str = "This form was sent from another site, or by a browser that does not say from where. \
                       Nothing was done. Open the page here and try again.";
const HIDDEN: &str = "If you did open it here, a proxy in front changes what the browser asked for: the Origin and the Host below must \
                      name one address. Let the proxy pass the Host on as it came, port included (for nginx: proxy_set_header Host \
                      $http_host), or set server.public_url of the configuration to the address in your browser.";
const NO_PROXY_KNOWN: &str = "If a proxy is in front, it must also be named in server.trusted_proxies, and send X-Forwarded-For and \
                              X-Forwarded-Proto.";

/// Why a request is refused for its way.
pub(in crate::web::console) struct Refusal {
    /// The reason, and what to do.
    pub(in crate::web::console) paragraphs: Vec<&'static str>,
    /// What was seen of the request: names and values.
    pub(in crate::web::console) seen: Vec<(&'static str, String)>,
}

/// A page that could give a password away. See [`Way::Open`].
pub(in crate::web::console) fn open_way(console: &Console, request: &Request) -> Refusal {
    let headers = request.headers();
    let peer = match request.data::<Peer>() {
        Some(Peer::Tcp(peer)) => Some(peer.ip()),
        Some(Peer::Socket { .. }) | None => None,
    };
    let is_trusted = peer.is_some_and(|it| holds(&console.trusted_proxies, it));
    let is_proxied = PROXY_HEADERS.iter().any(|it| headers.contains_key(*it));
    let reason = match (is_trusted, last_of(headers, X_FORWARDED_PROTO)) {
        (true, None) => SAYS_NOTHING,
        (true, Some(_)) => SAYS_HTTP,
        (false, _) if is_proxied => UNKNOWN_PROXY,
        (false, _) => PLAIN,
    };
    let address = peer.and_then(|it| CallerAddress::Ip(it).shown()).unwrap_or_default();
    let known = if is_trusted { "is" } else { "is not" };
    let connection = format!("from {address}, which {known} one of server.trusted_proxies");
    let mut seen = seen(request);
    seen.push(("Connection", connection));
    Refusal { paragraphs: vec![reason], seen }
}

/// A form that no page of this console sent, as far as is known.
pub(in crate::web::console) fn foreign_form(way: Way, request: &Request) -> Refusal {
    let mut paragraphs = vec![FOREIGN];
    // A form without it is of no browser, or was made by a page that hides where it is.
    if request.header(header::ORIGIN).is_some_and(|it| it != "null") {
        paragraphs.push(HIDDEN);
        if way == Way::Loopback {
            paragraphs.push(NO_PROXY_KNOWN);
        }
    }
    Refusal { paragraphs, seen: seen(request) }
}

fn seen(request: &Request) -> Vec<(&'static str, String)> {
    let row = |name| {
        let values = request.headers().get_all(name).iter();
        let values: Vec<_> = values.map(|it| String::from_utf8_lossy(it.as_bytes())).collect();
        let shown = line(&values.join(", "), VALUE_CHARS_MAX);
        (name, if values.is_empty() { "not sent".to_owned() } else { shown })
    };
    ["Host", "Origin", X_FORWARDED_HOST, X_FORWARDED_PROTO].map(row).into()
}
