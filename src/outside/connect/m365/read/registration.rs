//! What people registered to sign in with, of tenants without the report on it: asked for one person after another.

use serde_json::{Value, json};

use super::{is_id, plan::methods};
use crate::connect::call::{Api, Auth, TokenSource, Unread};
use crate::connect::m365::tenant::User;
use crate::connect::reading::StreamState;

/// More people are not asked for one by one.
const N_PEOPLE_MAX: usize = 500;

/// A type of method, and the word of the report for it if it is a second factor.
const TYPES: [(&str, Option<&str>); 12] = [
    ("microsoftAuthenticator", Some("microsoftAuthenticatorPush")),
    ("phone", Some("mobilePhone")),
    ("softwareOath", Some("softwareOneTimePasscode")),
    ("hardwareOath", Some("hardwareOneTimePasscode")),
    ("fido2", Some("fido2SecurityKey")),
    ("windowsHelloForBusiness", Some("windowsHelloForBusiness")),
    ("platformCredential", Some("macOsSecureEnclaveKey")),
    ("external", Some("externalAuthenticationMethod")),
    ("password", None),
    ("email", None),
    ("qrCodePin", None),
    ("temporaryAccessPass", None),
];

/// Rows as the report has them, of those who can sign in and are no guests.
///
/// `report`: why there is no report.
pub(super) async fn read(
    api: &Api,
    tokens: &TokenSource,
    graph: &str,
    users: &[User],
    report: &Unread,
) -> Result<Vec<Value>, Unread> {
    let is_asked = |it: &&User| {
        let is_guest = it.user_type.as_deref().is_some_and(|it| it.eq_ignore_ascii_case("guest"));
        it.account_enabled != Some(false) && !is_guest
    };
    let ids = users.iter().filter(is_asked).filter_map(|it| it.id.as_deref());
    let ids: Vec<&str> = ids.filter(|it| is_id(it)).collect();
    if N_PEOPLE_MAX < ids.len() {
        let reason = format!(
            "{}, and {} people are too many to ask for one by one",
            report.reason,
            ids.len()
        );
        return Err(Unread { reason, ..report.clone() });
    }
    let mut rows = Vec::with_capacity(ids.len());
    for id in ids {
        let read = api.read(&methods(graph, id), &Auth::Bearer(tokens)).await;
        match read.unread {
            None => rows.push(row(id, &read.rows)),
            // Who was deleted meanwhile.
            Some(unread) if unread.reason.contains("ResourceNotFound") => (),
            // Nobody has to grant a permission that only tenants like this one need.
            Some(unread) if unread.state == StreamState::Denied => {
                let reason = format!(
                    "{}; without it, {}",
                    report.reason,
                    unread.reason.trim_start_matches("not allowed; ")
                );
                return Err(Unread { reason, ..report.clone() });
            }
            Some(unread) => return Err(unread),
        }
    }
    Ok(rows)
}

fn row(id: &str, methods: &[Value]) -> Value {
    let known = methods.iter().map(|it| {
        let name = it["@odata.type"].as_str()?.strip_prefix("#microsoft.graph.")?;
        let name = name.strip_suffix("AuthenticationMethod").unwrap_or(name);
        TYPES.iter().find(|it| it.0 == name).map(|it| it.1)
    });
    let known: Vec<Option<Option<&str>>> = known.collect();
    let words: Vec<&str> = known.iter().copied().flatten().flatten().collect();
    // A method that is not known may be a second factor.
    let is_registered =
        (!words.is_empty()).then_some(true).or((!known.contains(&None)).then_some(false));
    let all = is_registered.filter(|_| !known.contains(&None)).map(|_| words);
    json!({"id": id, "isMfaRegistered": is_registered, "methodsRegistered": all})
}
