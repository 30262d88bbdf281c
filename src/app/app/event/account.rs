//! Events about accounts and apps.

use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::{EventBody, NewEvent, NoPrevious};
use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::engine::identity::{AppUse, Identity, LastSignIn};

/// Which source saw the account or app, and where.
#[derive(Clone, Copy, Debug)]
pub struct AccountOrigin<'a> {
    pub source: &'a str,
    pub scope: &'a str,
}

impl AccountOrigin<'_> {
    fn key(&self, kind: EventKind, name: &str) -> String {
        format!("{}/{}/{}/{name}", kind.as_str(), self.source, self.scope)
    }
}

/// What every event about an account says of it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountFields<'a> {
    /// How the account signs in.
    pub user: &'a str,
    pub display_name: Option<&'a str>,
    /// The source's own identifier of the account.
    pub external_id: &'a str,
    pub source: &'a str,
    pub scope: &'a str,
    /// Null when it is unknown.
    #[schemars(extend("enum" = ["member", "guest", null]))]
    pub user_type: Option<&'static str>,
    pub admin: bool,
    pub roles: &'a [String],
    /// Null when it is unknown.
    pub mfa: Option<bool>,
    /// Null when it is unknown.
    pub mfa_enforced: Option<bool>,
    pub enabled: bool,
    /// A date-time, `never`, or null when it is unknown.
    pub last_sign_in: Option<String>,
    /// Counts the openings of the condition, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrence: Option<u32>,
}

impl<'a> AccountFields<'a> {
    fn of(it: &'a Identity, origin: AccountOrigin<'a>) -> Self {
        let last_sign_in = match it.last_sign_in {
            LastSignIn::Unknown => None,
            LastSignIn::Never => Some("never".to_owned()),
            LastSignIn::At(at) => Some(at.to_string()),
        };
        Self {
            user: &it.user,
            display_name: it.display_name.as_deref(),
            external_id: &it.external_id,
            source: origin.source,
            scope: origin.scope,
            user_type: it.user_type.is_guest().map(|it| if it { "guest" } else { "member" }),
            admin: it.is_admin,
            roles: &it.roles,
            mfa: it.mfa,
            mfa_enforced: it.mfa_enforced,
            enabled: it.is_enabled,
            last_sign_in,
            occurrence: None,
        }
    }

    fn key(&self, kind: EventKind) -> String {
        AccountOrigin { source: self.source, scope: self.scope }.key(kind, self.external_id)
    }
}

/// MFA was turned off for an account.
#[derive(Serialize, JsonSchema)]
pub struct MfaDisabled<'a>(AccountFields<'a>);

/// The account's MFA before.
#[derive(Serialize, JsonSchema)]
pub struct MfaBefore {
    pub mfa: bool,
}

impl EventBody for MfaDisabled<'_> {
    const KIND: EventKind = EventKind::MfaDisabled;
    type Previous = MfaBefore;

    fn key(&self) -> String {
        self.0.key(Self::KIND)
    }
}

/// An administrator has no MFA.
#[derive(Serialize, JsonSchema)]
pub struct AdminMfaMissing<'a>(AccountFields<'a>);

impl EventBody for AdminMfaMissing<'_> {
    const KIND: EventKind = EventKind::AdminMfaMissing;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        self.0.key(Self::KIND)
    }
}

/// An account became an administrator, or gained a privileged role.
#[derive(Serialize, JsonSchema)]
pub struct PrivilegeEscalation<'a> {
    #[serde(flatten)]
    account: AccountFields<'a>,
    /// The privileges that are new: `admin`, and names of roles. All of them if the account is new or was disabled.
    pub gained: Vec<&'a str>,
}

/// The account's privileges before.
#[derive(Serialize, JsonSchema)]
pub struct PrivilegesBefore<'a> {
    pub admin: bool,
    pub roles: &'a [String],
}

impl<'a> EventBody for PrivilegeEscalation<'a> {
    const KIND: EventKind = EventKind::PrivilegeEscalation;
    type Previous = PrivilegesBefore<'a>;

    fn key(&self) -> String {
        self.account.key(Self::KIND)
    }
}

/// An enabled account was not used for a long time.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DormantAccountDetected<'a> {
    #[serde(flatten)]
    account: AccountFields<'a>,
    /// The client's limit.
    pub dormant_after_days: u16,
}

impl EventBody for DormantAccountDetected<'_> {
    const KIND: EventKind = EventKind::DormantAccountDetected;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        self.account.key(Self::KIND)
    }
}

#[must_use]
pub fn mfa_disabled(it: &Identity, origin: AccountOrigin<'_>, now: Time) -> NewEvent {
    let body = MfaDisabled(AccountFields::of(it, origin));
    NewEvent::after(&body, Some(&MfaBefore { mfa: true }), now)
}

#[must_use]
pub fn admin_mfa_missing(it: &Identity, origin: AccountOrigin<'_>, now: Time) -> NewEvent {
    NewEvent::new(&AdminMfaMissing(AccountFields::of(it, origin)), now)
}

#[must_use]
pub fn privilege_escalation<'a>(
    before: Option<&'a Identity>,
    it: &'a Identity,
    origin: AccountOrigin<'a>,
    now: Time,
) -> NewEvent {
    let enabled = before.filter(|it| it.is_enabled);
    let had = enabled.map(Identity::privileges).unwrap_or_default();
    let gained = it.privileges().into_iter().filter(|it| !had.contains(it)).collect();
    let body = PrivilegeEscalation { account: AccountFields::of(it, origin), gained };
    let before = before.map(|it| PrivilegesBefore { admin: it.is_admin, roles: &it.roles });
    NewEvent::after(&body, before.as_ref(), now)
}

#[must_use]
pub fn dormant(
    it: &Identity,
    origin: AccountOrigin<'_>,
    dormant_after_days: u16,
    now: Time,
) -> NewEvent {
    let account = AccountFields::of(it, origin);
    NewEvent::new(&DormantAccountDetected { account, dormant_after_days }, now)
}

/// An app that is not sanctioned is in use.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShadowItDetected<'a> {
    pub app: &'a str,
    pub publisher: Option<&'a str>,
    pub users: u32,
    /// What the source says. Null when it does not say.
    pub sanctioned: Option<bool>,
    pub source: &'a str,
    pub scope: &'a str,
    /// Counts the openings of the condition, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrence: Option<u32>,
}

impl EventBody for ShadowItDetected<'_> {
    const KIND: EventKind = EventKind::ShadowItDetected;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        AccountOrigin { source: self.source, scope: self.scope }.key(Self::KIND, self.app)
    }
}

#[must_use]
pub fn shadow_it(app: &AppUse, origin: AccountOrigin<'_>, now: Time) -> NewEvent {
    let body = ShadowItDetected {
        app: &app.name,
        publisher: app.publisher.as_deref(),
        users: app.n_users,
        sanctioned: app.is_sanctioned,
        source: origin.source,
        scope: origin.scope,
        occurrence: None,
    };
    NewEvent::new(&body, now)
}
