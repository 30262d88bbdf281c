//! Headers of an operator's own that a webhook sends, for receivers that cannot verify a signature.

use std::borrow::Cow;

use crate::app::App;
use crate::error::{Error, Result};
use crate::id::WebhookId;
use crate::secret::Locked;
use crate::store::global::webhook::WebhookHeaders;

/// How many headers of its own a webhook may send.
pub const N_HEADERS_MAX: usize = 5;
pub const NAME_CHARS_MAX: usize = 100;
pub const VALUE_CHARS_MAX: usize = 2_000;

/// Headers that belong to the connection, the body or the service.
const RESERVED: [&str; 11] = [
    "connection",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// What the names of such headers begin with.
const RESERVED_STARTS: [&str; 3] = ["content-", "x-service-", "webhook-"];

/// One header to send.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookHeader {
    pub name: String,
    pub value: String,
}

/// Hides the value.
impl std::fmt::Debug for WebhookHeader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WebhookHeader({})", self.name)
    }
}

/// Identifies the sealed values of an endpoint.
pub(super) fn place(id: WebhookId) -> String {
    format!("webhooks/{id}/headers")
}

/// # Errors
/// `Invalid` about `headers`, with the rule that is broken.
pub(super) fn check(headers: &[WebhookHeader]) -> Result<()> {
    let refused = |rule: String| Err(Error::invalid_field("headers", rule));
    if N_HEADERS_MAX < headers.len() {
        return refused(format!("must be at most {N_HEADERS_MAX} headers"));
    }
    for (index, WebhookHeader { name, value }) in headers.iter().enumerate() {
        let is_token = |it: u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it);
        if name.is_empty() || NAME_CHARS_MAX < name.len() || !name.bytes().all(is_token) {
            return refused(format!(
                "a name must be 1 to {NAME_CHARS_MAX} letters, digits and hyphens"
            ));
        }
        let lower = name.to_ascii_lowercase();
        let is_reserved = RESERVED.contains(&lower.as_str())
            || RESERVED_STARTS.iter().any(|it| lower.starts_with(it));
        if is_reserved {
            return refused(format!("{name} is set by the service or belongs to the connection"));
        }
        if headers[..index].iter().any(|it| it.name.eq_ignore_ascii_case(name)) {
            return refused(format!("{name} is named twice"));
        }
        let is_visible = value.bytes().all(|it| (b' '..=b'~').contains(&it));
        if value.is_empty() || VALUE_CHARS_MAX < value.len() || !is_visible || value.trim() != value
        {
            return refused(format!(
                "the value of {name} must be 1 to {VALUE_CHARS_MAX} printable ASCII characters without spaces around them"
            ));
        }
    }
    Ok(())
}

/// Nobody can read the values again, and so nobody can have them sent elsewhere.
///
/// # Errors
/// `Invalid` if there are headers.
pub(super) fn require_none(stored: &WebhookHeaders) -> Result<()> {
    if stored.0.is_empty() {
        return Ok(());
    }
    let rule = "must be in the same request as another url: the values belong to the receiver at the old one";
    Err(Error::invalid_field("headers", rule))
}

/// The headers of an attempt: those of the service, and the own ones.
#[must_use]
pub(super) fn with(
    own: Vec<WebhookHeader>,
    of_service: Vec<(&'static str, String)>,
) -> Vec<(Cow<'static, str>, String)> {
    let own = own.into_iter().map(|it| (Cow::Owned(it.name), it.value));
    let of_service = of_service.into_iter().map(|(name, value)| (Cow::Borrowed(name), value));
    of_service.chain(own).collect()
}

impl App {
    /// Encrypts the values.
    pub(super) fn seal_headers(&self, id: WebhookId, headers: &[WebhookHeader]) -> WebhookHeaders {
        let seal = |it: &WebhookHeader| self.webhooks.sealer.seal(&place(id), &it.value);
        let sealed = |it: &WebhookHeader| (it.name.clone(), seal(it));
        WebhookHeaders(headers.iter().map(sealed).collect())
    }

    /// Decrypts the values.
    pub(super) fn open_headers(
        &self,
        id: WebhookId,
        sealed: &WebhookHeaders,
    ) -> std::result::Result<Vec<WebhookHeader>, Locked> {
        let open = |(name, value): &(String, Vec<u8>)| {
            let value = self.webhooks.sealer.open_sealed(&place(id), value)?;
            Ok(WebhookHeader { name: name.clone(), value })
        };
        sealed.0.iter().map(open).collect()
    }
}
