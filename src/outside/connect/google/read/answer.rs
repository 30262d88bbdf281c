//! What Google's errors mean.

use serde_json::Value;

use crate::connect::call::{Answer, Dialect, Unread, said};
use crate::connect::reading::StreamState;

pub const DIALECT: Dialect = Dialect {
    vendor: "Google",
    is_throttling: |answer| answer.status == 403 && is_any(&answer.error_json(), &THROTTLING),
    explain,
    explain_token,
};

/// Reasons that ask to come back later.
const THROTTLING: [&str; 4] =
    ["userRateLimitExceeded", "rateLimitExceeded", "quotaExceeded", "RATE_LIMIT_EXCEEDED"];
/// Reasons of an API that the project of the service account does not use.
const DISABLED: [&str; 2] = ["accessNotConfigured", "SERVICE_DISABLED"];
const SCOPE_MISSING: [&str; 2] = ["insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"];

/// Older and newer APIs give reasons in different places.
fn is_any(body: &Value, reasons: &[&str]) -> bool {
    ["/error/errors", "/error/details"].iter().any(|at| {
        let all = body.pointer(at).and_then(Value::as_array).into_iter().flatten();
        let mut all = all.filter_map(|it| it.get("reason")?.as_str());
        all.any(|it| reasons.contains(&it))
    })
}

fn message(body: &Value) -> &str {
    body.pointer("/error/message").and_then(Value::as_str).unwrap_or_default()
}

/// `scope`: the OAuth scope that the call needs.
fn explain(answer: &Answer, scope: &str) -> Unread {
    let body = answer.error_json();
    let text = message(&body);
    // The log of events says so with status 401.
    let is_forbidden = answer.status == 403 || text.contains("not authorized to read");
    match answer.status {
        _ if is_any(&body, &DISABLED) => not_enabled(&body, scope),
        _ if is_any(&body, &SCOPE_MISSING) => no_scope(scope),
        _ if is_forbidden => Unread::denied(&format!(
            "the account in the setting admin a role that may read this, or name a super administrator there{}",
            said(text)
        )),
        401 => Unread::failed(format!("Google refused a new token{}", said(text))),
        _ if !body.is_object() => {
            Unread::failed(format!("Google answered with status {} and no reason", answer.status))
        }
        status => Unread::failed(format!("Google answered {status}{}", said(text))),
    }
}

/// The client did not let the service account use this scope.
pub(super) fn no_scope(scope: &str) -> Unread {
    Unread::denied(&format!(
        "the service account the scope {scope} in the Admin console under Security, Access and data control, API \
         controls, Domain-wide delegation; it can take up to 24 hours to work"
    ))
}

fn not_enabled(body: &Value, scope: &str) -> Unread {
    let (title, service) = if scope.contains("/cloud-identity.") {
        ("Cloud Identity API", "cloudidentity.googleapis.com")
    } else {
        ("Admin SDK API", "admin.googleapis.com")
    };
    let project = project(body).map(|it| format!("?project={it}")).unwrap_or_default();
    let reason = format!(
        "the {title} is not enabled in the Google Cloud project of the service account; enable it at \
         https://console.cloud.google.com/apis/library/{service}{project} and wait some minutes"
    );
    Unread { state: StreamState::Denied, ..Unread::failed(reason) }
}

/// The number or id of the project, safe in a link.
fn project(body: &Value) -> Option<&str> {
    let (_, after) = message(body).split_once("in project ")?;
    let word = after.split(' ').next()?;
    let is_id = |it: char| it.is_ascii_alphanumeric() || it == '-';
    (!word.is_empty() && word.chars().all(is_id)).then_some(word)
}

/// `Consent`: the client did not let the service account use the scope that was asked for.
fn explain_token(answer: &Answer) -> Unread {
    const GONE: &str = "Google does not know the service account any more, or it is disabled; enable it, or enter the key of another one";
    let body = answer.error_json();
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let (error, description) = (text("error"), text("error_description"));
    let says = |words: &str| description.to_lowercase().contains(words);
    match error {
        "unauthorized_client" | "access_denied" => {
            Unread::consent("the client has not authorized the service account")
        }
        "invalid_client" | "disabled_client" | "deleted_client" => Unread::credential(GONE),
        "invalid_grant" if says("account not found") => Unread::credential(GONE),
        "invalid_grant" if says("signature") => Unread::credential(
            "Google does not accept the key: it was deleted, or is of another service account; create a new key and enter it",
        ),
        "invalid_grant" if says("email or user id") => Unread::credential(
            "Google knows no active user with the address in the setting admin; correct it, or reactivate the user",
        ),
        "invalid_grant" if says("timeframe") => Unread::credential(
            "Google says that the request for a token is not of this time; check the clock of this machine",
        ),
        "" => Unread::failed(format!(
            "Google issued no token and answered with status {}",
            answer.status
        )),
        _ if 500 <= answer.status || error == "internal_failure" => {
            Unread::failed(format!("Google issued no token for now{}", said(description)))
        }
        _ => Unread::credential(format!("Google issued no token ({error}){}", said(description))),
    }
}
