//! Signature Version 4, which tells AWS who sends a request and that it was not changed.
//!
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>

use std::fmt;
use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};

use crate::clock::Time;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// It has rules of its own.
const S3: &str = "s3";
/// What RFC 3986 leaves as it is.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const ENCODED_IN_PATH: &AsciiSet = &ENCODED.remove(b'/');

#[derive(Clone)]
pub struct Credentials {
    pub key_id: String,
    pub secret: String,
    /// Of a role that was assumed.
    pub session_token: Option<String>,
}

/// Without secrets.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

/// Where a request goes: `us-east-1` and `iam`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint<'a> {
    pub region: &'a str,
    pub service: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    pub method: &'a str,
    /// As it is sent: percent-encoded, from `/` on.
    pub path: &'a str,
    /// Names and values, not encoded. They are sent as [`query_text`] writes them.
    pub query: &'a [(&'a str, &'a str)],
    /// All that are signed, `host` among them. Names in lower case, in any order.
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

/// Returns the headers to add to a request.
#[must_use]
pub fn sign(
    request: &Request<'_>,
    endpoint: Endpoint<'_>,
    credentials: &Credentials,
    at: Time,
) -> Vec<(&'static str, String)> {
    let mut added = vec![("x-amz-date", at.compact())];
    if endpoint.service == S3 {
        added.push(("x-amz-content-sha256", hex::encode(Sha256::digest(request.body))));
    }
    added.extend(credentials.session_token.iter().map(|it| ("x-amz-security-token", it.clone())));
    let own = added.iter().map(|(name, value)| (*name, value.as_str()));
    let headers: Vec<_> = request.headers.iter().copied().chain(own).collect();
    let request = Request { headers: &headers, ..*request };
    let authorization = authorization(&request, endpoint, credentials, at);
    added.push(("authorization", authorization));
    added
}

/// Returns the value of `Authorization` for a request with just these headers, one of which says the time.
#[must_use]
pub fn authorization(
    request: &Request<'_>,
    endpoint: Endpoint<'_>,
    credentials: &Credentials,
    at: Time,
) -> String {
    let moment = at.compact();
    let date = moment.split('T').next().unwrap_or_default();
    let Endpoint { region, service } = endpoint;
    let scope = format!("{date}/{region}/{service}/aws4_request");
    let (canonical, names) = canonical(request, service);
    let digest = hex::encode(Sha256::digest(canonical));
    let text = format!("{ALGORITHM}\n{moment}\n{scope}\n{digest}");
    let mut key = format!("AWS4{}", credentials.secret).into_bytes();
    for part in [date, region, service, "aws4_request"] {
        key = mac(&key, part);
    }
    let signature = hex::encode(mac(&key, &text));
    let key_id = &credentials.key_id;
    format!("{ALGORITHM} Credential={key_id}/{scope}, SignedHeaders={names}, Signature={signature}")
}

/// Writes names and values as AWS expects them in a query and in a form.
#[must_use]
pub fn query_text(pairs: &[(&str, &str)]) -> String {
    let encode = |text: &str| utf8_percent_encode(text, ENCODED).to_string();
    let mut pairs: Vec<_> = pairs.iter().map(|it| (encode(it.0), encode(it.1))).collect();
    pairs.sort_unstable();
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

/// The request in the form that is signed, and the names of its headers.
fn canonical(request: &Request<'_>, service: &str) -> (String, String) {
    // All but S3 encode the path again.
    let path = match service {
        S3 => request.path.to_owned(),
        _ => utf8_percent_encode(request.path, ENCODED_IN_PATH).to_string(),
    };
    let mut headers: Vec<_> = request.headers.to_vec();
    headers.sort_unstable_by_key(|it| it.0);
    let names: Vec<&str> = headers.iter().map(|it| it.0).collect();
    let names = names.join(";");
    let mut text = format!("{}\n{path}\n{}\n", request.method, query_text(request.query));
    for (name, value) in headers {
        let words: Vec<&str> = value.split_ascii_whitespace().collect();
        writeln!(text, "{name}:{}", words.join(" ")).expect("a string takes all text");
    }
    write!(text, "\n{names}\n{}", hex::encode(Sha256::digest(request.body)))
        .expect("a string takes all text");
    (text, names)
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}
