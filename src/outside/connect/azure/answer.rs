//! What Azure's errors mean.

use serde_json::Value;

use crate::connect::call::{Answer, Dialect, Unread, said};
use crate::connect::microsoft;
use crate::connect::reading::StreamState;

pub const DIALECT: Dialect = Dialect {
    vendor: "Azure",
    is_throttling: |answer| code(&answer.error_json()) == "TooManyRequests",
    explain,
    explain_token: microsoft::DIALECT.explain_token,
};

fn code(body: &Value) -> &str {
    body.pointer("/error/code").and_then(Value::as_str).unwrap_or_default()
}

fn explain(answer: &Answer, permission: &str) -> Unread {
    let body = answer.error_json();
    let code = code(&body);
    let message = body.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
    // `SubscriptionNotRegistered` and `Subscription Not Registered` have both been seen.
    let is_off = code.replace(' ', "").ends_with("NotRegistered");
    match answer.status {
        404 | 409 if is_off => {
            let reason = "Defender for Cloud is not on; open it once in the Azure portal for this subscription";
            Unread { state: StreamState::Unlicensed, ..Unread::failed(reason) }
        }
        401 => Unread::failed(format!("Azure refused a new token{}", said(message))),
        403 => Unread::denied(&format!("the app {permission}")),
        status if code.is_empty() => {
            Unread::failed(format!("Azure answered with status {status} and no reason"))
        }
        status => Unread::failed(format!("Azure answered {status} {code}{}", said(message))),
    }
}
