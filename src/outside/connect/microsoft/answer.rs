//! What Microsoft's errors mean.

use serde_json::Value;

use crate::connect::call::{Answer, Dialect, Unread, said};

pub const DIALECT: Dialect = Dialect {
    vendor: "Microsoft",
    is_throttling: |answer| answer.status == 403 && code(&answer.error_json()) == "TooManyRequests",
    explain,
    explain_token,
};

/// Codes and words that say that the tenant has no license for what was asked.
const UNLICENSED_CODES: &[&str] =
    &["Authentication_RequestFromNonPremiumTenantOrB2CTenant", "AadPremiumLicenseRequired"];
const UNLICENSED_WORDS: &[&str] = &[
    "premium license",
    "not licensed for this feature",
    "request not applicable to target tenant",
    "account is not provisioned",
    "does not have a sharepoint license",
    "does not have a spo license",
];

/// What to do when Microsoft issues no token.
enum Advice {
    /// The tenant's administrator has to consent.
    Consent(&'static str),
    /// Something about the app or its credential has to change.
    Credential(&'static str),
    /// The same, with what Microsoft said.
    WithWords(&'static str),
}

/// Numbers of `AADSTS` errors, and what to do about them.
struct Refused {
    codes: &'static [u64],
    advice: Advice,
}

const fn refused(codes: &'static [u64], advice: Advice) -> Refused {
    Refused { codes, advice }
}

const REFUSALS: &[Refused] = &[
    refused(
        &[700_016, 65_001, 7_000_229],
        Advice::Consent(
            "an administrator of the tenant has not consented yet; send them the consent link",
        ),
    ),
    refused(
        &[90_002, 5_000_224, 900_023],
        Advice::WithWords("Microsoft knows no such tenant; check the setting tenant"),
    ),
    refused(
        &[53_003],
        Advice::Credential(
            "a Conditional Access policy of the tenant blocks the app; exclude the app's service principal from it",
        ),
    ),
    refused(
        &[530_004],
        Advice::Credential(
            "a Conditional Access policy of the tenant asks for a compliant device; exclude the app's service principal from it",
        ),
    ),
    refused(
        &[1_002_016],
        Advice::Credential(
            "Microsoft was reached with a version of TLS before 1.2, or with 3DES; a proxy on the way must use TLS 1.2 or later",
        ),
    ),
    refused(
        &[7_000_112],
        Advice::Credential(
            "the app is disabled in the tenant; an administrator of the tenant enables it in the Entra admin center: Enterprise \
             applications, the app, Properties, Enabled for users to sign in",
        ),
    ),
    refused(
        &[500_011],
        Advice::WithWords(
            "the tenant has no service principal of the API that is asked for: it lacks the product, or an administrator of the \
             tenant removed or disabled it; consent again with the consent link",
        ),
    ),
    refused(
        &[7_000_222],
        Advice::Credential(
            "the client secret of the Microsoft app has expired; enter a new one on the page Microsoft app of the console, or with \
             `posture connect m365 init`",
        ),
    ),
    refused(
        &[7_000_215],
        Advice::Credential(
            "the client secret of the Microsoft app is wrong; enter it on the page Microsoft app of the console, or with \
             `posture connect m365 init`",
        ),
    ),
    refused(
        &[700_027, 700_023, 7_000_214],
        Advice::Credential(
            "Microsoft does not know the certificate of the app; upload it to the app registration, or wait some minutes if you just did",
        ),
    ),
    refused(
        &[700_024, 700_021],
        Advice::Credential(
            "Microsoft says that the assertion of the app is not valid at this time",
        ),
    ),
];

fn code(body: &Value) -> &str {
    body.pointer("/error/code").and_then(Value::as_str).unwrap_or_default()
}

fn message(body: &Value) -> &str {
    body.pointer("/error/message").and_then(Value::as_str).unwrap_or_default()
}

fn explain(answer: &Answer, permission: &str) -> Unread {
    let body = answer.error_json();
    let (code, text) = (code(&body), message(&body));
    let lower = text.to_lowercase();
    let is_unlicensed =
        UNLICENSED_CODES.contains(&code) || UNLICENSED_WORDS.iter().any(|it| lower.contains(it));
    match answer.status {
        _ if is_unlicensed => Unread::unlicensed(&license(code, text)),
        401 => Unread::failed(format!("Microsoft refused a new token{}", said(text))),
        403 => Unread::denied(&scope_in(text).map_or_else(
            || format!("the app {permission} and consent again"),
            |scope| format!("the app {scope} and consent again"),
        )),
        _ if !body.is_object() => Unread::failed(format!(
            "Microsoft answered with status {} and no reason",
            answer.status
        )),
        status => Unread::failed(format!("Microsoft answered {status} {code}{}", said(text))),
    }
}

fn license(code: &str, text: &str) -> String {
    if code.contains("Premium") || text.to_lowercase().contains("premium") {
        return "it needs Microsoft Entra ID P1".to_owned();
    }
    let text = said(text);
    let text = text.trim_start_matches([':', ' ']);
    if text.is_empty() { code.to_owned() } else { format!("Microsoft said {text}") }
}

/// Intune names the permission that is missing.
fn scope_in(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("must have one of the following scopes: ")?;
    let end = after.find([',', ' ', '"', '\\']).unwrap_or(after.len());
    let scope = after[..end].trim_end_matches('.');
    let is_scope = |it: char| it.is_ascii_alphanumeric() || it == '.';
    (!scope.is_empty() && scope.chars().all(is_scope)).then_some(scope)
}

fn explain_token(answer: &Answer) -> Unread {
    let body = answer.error_json();
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    let (error, description) = (text("error"), text("error_description"));
    let first_line = description.lines().next().unwrap_or_default();
    let codes = body.get("error_codes").and_then(Value::as_array);
    let named = description.strip_prefix("AADSTS").and_then(|it| {
        let end = it.find(|it: char| !it.is_ascii_digit()).unwrap_or(it.len());
        it[..end].parse().ok()
    });
    let code = codes.and_then(|it| it.first()?.as_u64()).or(named);
    let known = REFUSALS.iter().find(|it| code.is_some_and(|code| it.codes.contains(&code)));
    match known {
        Some(Refused { advice: Advice::Consent(advice), .. }) => Unread::consent(*advice),
        Some(Refused { advice: Advice::Credential(advice), .. }) => Unread::credential(*advice),
        Some(Refused { advice: Advice::WithWords(advice), .. }) => {
            Unread::credential(format!("{advice}{}", said(first_line)))
        }
        None if error.is_empty() => Unread::failed(format!(
            "Microsoft issued no token and answered with status {}",
            answer.status
        )),
        None if answer.status >= 500 || error == "temporarily_unavailable" => {
            Unread::failed(format!("Microsoft issued no token for now{}", said(first_line)))
        }
        None => {
            Unread::credential(format!("Microsoft issued no token ({error}){}", said(first_line)))
        }
    }
}
