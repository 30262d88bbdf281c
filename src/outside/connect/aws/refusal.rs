//! What AWS's errors mean.

use serde_json::Value;

use super::xml::Element;
use crate::connect::call::{Answer, Dialect, Unread, said};
use crate::connect::reading::StreamState;

pub const DIALECT: Dialect = Dialect {
    vendor: "AWS",
    is_throttling: |answer| THROTTLING.contains(&Refusal::of(answer).code.as_str()),
    explain,
    explain_token: |answer| explain(answer, ""),
};

/// Codes that come with the statuses 400 and 503, and mean the same as 429.
const THROTTLING: &[&str] = &[
    "BandwidthLimitExceeded",
    "PriorRequestNotComplete",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
];
const DENIED: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "AuthorizationError",
    "NotAuthorized",
    "UnauthorizedAccess",
    "UnauthorizedOperation",
];
/// The key is unknown where the request went.
const UNKNOWN_KEY: &[&str] =
    &["AuthFailure", "InvalidAccessKeyId", "InvalidClientTokenId", "UnrecognizedClientException"];
const WRONG_SIGNATURE: &[&str] =
    &["IncompleteSignature", "InvalidSignatureException", "SignatureDoesNotMatch"];
const CLOCK: &[&str] = &["RequestExpired", "RequestInTheFuture", "RequestTimeTooSkewed"];
const EXPIRED: &[&str] = &["ExpiredToken", "ExpiredTokenException", "RequestExpiredToken"];

/// An error as AWS says it. Both are empty if it is none of AWS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn of(answer: &Answer) -> Self {
        if (200..300).contains(&answer.status) {
            return Self::default();
        }
        let text = String::from_utf8_lossy(&answer.body);
        if let Some(root) = Element::parse(&text) {
            return Self::of_xml(&root).unwrap_or_default();
        }
        let body = answer.error_json();
        let text = |names: &[&str]| {
            names.iter().find_map(|it| body.get(it).and_then(Value::as_str)).unwrap_or_default()
        };
        let header = answer.header("x-amzn-errortype");
        let code = [text(&["__type", "code", "Code"]), &header];
        let code = code.into_iter().find(|it| !it.is_empty()).unwrap_or_default();
        // Such as `com.amazon.coral.service#AccessDeniedException` and `AccessDeniedException:http://...`.
        let code = code.rsplit('#').next().unwrap_or_default();
        let code = code.split(':').next().unwrap_or_default();
        Self { code: code.to_owned(), message: text(&["message", "Message"]).to_owned() }
    }

    fn of_xml(root: &Element) -> Option<Self> {
        let error = match root.name.as_str() {
            "ErrorResponse" | "Response" => {
                root.child("Error").or_else(|| root.at(&["Errors", "Error"]))?
            }
            "Error" => root,
            _ => return None,
        };
        let text = |name: &str| error.text_of(name).unwrap_or_default().to_owned();
        Some(Self { code: text("Code"), message: text("Message") })
    }

    fn is(&self, codes: &[&str]) -> bool {
        codes.contains(&self.code.as_str())
    }

    /// The session has ended, and another one may be begun.
    pub(super) fn is_expired(&self) -> bool {
        self.is(EXPIRED)
    }

    pub(super) fn is_denied(&self) -> bool {
        self.is(DENIED)
    }

    /// AWS refuses the time at which the request was signed.
    fn is_about_time(&self) -> bool {
        let words = ["Signature expired", "Signature not yet current"];
        self.is(CLOCK) || words.iter().any(|it| self.message.contains(it))
    }

    /// The action that is missing, as AWS names it.
    fn action(&self) -> Option<&str> {
        let (_, after) = self.message.split_once("not authorized to perform: ")?;
        let action = after.split_whitespace().next()?.trim_end_matches(['.', ',']);
        let is_action = |it: char| it.is_ascii_alphanumeric() || it == ':' || it == '-';
        (action.contains(':') && action.chars().all(is_action)).then_some(action)
    }
}

/// Why the access key is not accepted. `None`: for another reason than the key.
pub(super) fn explain_key(refusal: &Refusal) -> Option<Unread> {
    let again = "enter it again with `posture connect set`";
    let why = if refusal.is_about_time() {
        format!(
            "AWS refuses the time of requests; check the clock of this machine{}",
            said(&refusal.message)
        )
    } else if refusal.is(UNKNOWN_KEY) {
        format!("AWS does not know the access key: it was deleted, disabled or mistyped; {again}")
    } else if refusal.is(WRONG_SIGNATURE) {
        format!("the secret access key does not belong to the access key id; {again}")
    } else {
        return None;
    };
    Some(Unread::credential(why))
}

fn explain(answer: &Answer, permission: &str) -> Unread {
    let refusal = Refusal::of(answer);
    let Refusal { code, message } = &refusal;
    if refusal.is_denied() {
        return denied(&refusal, refusal.action().unwrap_or(permission));
    }
    if refusal.is_about_time() {
        return explain_key(&refusal).unwrap_or_else(|| Unread::failed(code.as_str()));
    }
    let status = answer.status;
    Unread::failed(match code.as_str() {
        "" => format!("AWS answered with status {status} and no reason"),
        "OptInRequired" => "the region is not enabled for the account".to_owned(),
        _ if refusal.is_expired() => "the session has expired".to_owned(),
        _ if refusal.is(UNKNOWN_KEY) => format!(
            "the region does not accept the session; if it was enabled just now, it will in some minutes{}",
            said(message)
        ),
        _ => format!("AWS answered {status} {code}{}", said(message)),
    })
}

fn denied(refusal: &Refusal, action: &str) -> Unread {
    if refusal.message.contains("service control policy") {
        let reason = format!(
            "a service control policy of the organization denies {action}; except the identity that Posture uses from it"
        );
        return Unread { state: StreamState::Denied, ..Unread::failed(reason) };
    }
    Unread::denied(&format!("the action {action}"))
}
