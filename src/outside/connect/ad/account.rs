//! Accounts and computers of a domain.

use super::message::Entry;
use super::value::{Moment, bits, bytes, generalized, guid, moment, raw, sid, text};
use crate::clock::Time;
use crate::engine::identity::LastSignIn;

pub(super) const ACCOUNT_ATTRIBUTES: [&str; 15] = [
    "objectClass",
    "objectGUID",
    "objectSid",
    "sAMAccountName",
    "userPrincipalName",
    "displayName",
    "userAccountControl",
    "primaryGroupID",
    "accountExpires",
    "lastLogon",
    "lastLogonTimestamp",
    "pwdLastSet",
    "servicePrincipalName",
    "whenCreated",
    "name",
];

pub(super) const COMPUTER_ATTRIBUTES: [&str; 10] = [
    "objectGUID",
    "sAMAccountName",
    "dNSHostName",
    "operatingSystem",
    "operatingSystemVersion",
    "userAccountControl",
    "lastLogon",
    "lastLogonTimestamp",
    "whenCreated",
    "name",
];

/// Sign-ins are replicated only if the last one is older than this.
const REPLICATION_LAG_DAYS: i64 = 14;

/// Bits of `userAccountControl`.
const DISABLED: u32 = 0x2;
const PASSWORD_NOT_REQUIRED: u32 = 0x20;
const REVERSIBLE_PASSWORD: u32 = 0x80;
const DOMAIN_CONTROLLER: u32 = 0x2000;
const UNCONSTRAINED_DELEGATION: u32 = 0x8_0000;
const NO_PREAUTHENTICATION: u32 = 0x40_0000;
const READ_ONLY_DOMAIN_CONTROLLER: u32 = 0x400_0000;

pub(super) const RID_ADMINISTRATOR: u32 = 500;
pub(super) const RID_KRBTGT: u32 = 502;

/// `userAccountControl` of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountFlags(pub u32);

impl AccountFlags {
    const fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    #[must_use]
    pub const fn is_disabled(self) -> bool {
        self.has(DISABLED)
    }

    #[must_use]
    pub const fn needs_no_password(self) -> bool {
        self.has(PASSWORD_NOT_REQUIRED)
    }

    #[must_use]
    pub const fn has_reversible_password(self) -> bool {
        self.has(REVERSIBLE_PASSWORD)
    }

    #[must_use]
    pub const fn needs_no_preauthentication(self) -> bool {
        self.has(NO_PREAUTHENTICATION)
    }

    /// It receives the tickets of everyone who signs in to it.
    #[must_use]
    pub const fn has_unconstrained_delegation(self) -> bool {
        self.has(UNCONSTRAINED_DELEGATION)
    }

    #[must_use]
    pub const fn is_domain_controller(self) -> bool {
        self.has(DOMAIN_CONTROLLER | READ_ONLY_DOMAIN_CONTROLLER)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccountKind {
    #[default]
    User,
    /// A managed service account: the domain changes its password, and no person knows it.
    ManagedService,
}

/// An account that signs in, other than a computer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its GUID.
    pub id: String,
    pub dn: String,
    pub kind: AccountKind,
    /// What it signs in with: `anna@acme.test`, or its short name if it has no such name.
    pub user: String,
    pub short_name: String,
    pub display_name: Option<String>,
    /// The last part of its SID, which is the same in every domain for those that every domain has.
    pub rid: u32,
    /// The group that it is in without being listed there.
    pub primary_group_rid: u32,
    pub flags: AccountFlags,
    pub created_at: Option<Time>,
    pub expires_at: Option<Time>,
    /// `None`: unknown, or it must be changed.
    pub password_set_at: Option<Time>,
    /// The latest moment that it can have been.
    pub last_sign_in: LastSignIn,
    /// It has a service principal name, so that everyone may ask for tickets that its password encrypts.
    pub is_service: bool,
}

impl Account {
    #[must_use]
    pub fn is_enabled(&self, at: Time) -> bool {
        !self.flags.is_disabled() && self.expires_at.is_none_or(|it| at < it)
    }
}

/// A computer that has joined the domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computer {
    /// Its GUID.
    pub id: String,
    pub dn: String,
    /// Without the dollar sign.
    pub name: String,
    /// In lower case, with the domain.
    pub host: Option<String>,
    /// Such as `Windows Server 2019 Standard`.
    pub os: Option<String>,
    /// Such as `10.0 (17763)`.
    pub os_version: Option<String>,
    pub flags: AccountFlags,
    pub created_at: Option<Time>,
    /// The latest moment that it can have been.
    pub last_seen: LastSignIn,
    /// The latest moment that it certainly was. `None`: it was not, or that is unknown.
    pub seen_at: Option<Time>,
}

/// # Errors
/// The attribute that it lacks.
pub(super) fn account(entry: &Entry) -> Result<Account, &'static str> {
    let short_name = text(entry, "samaccountname").ok_or("sAMAccountName")?;
    let sid = sid(entry, "objectsid").ok_or("objectSid")?;
    let rid = sid.rsplit('-').next().and_then(|it| it.parse().ok()).ok_or("objectSid")?;
    let classes = entry.attributes.get("objectclass").ok_or("objectClass")?;
    let is_managed = |it: &Vec<u8>| {
        let it = it.to_ascii_lowercase();
        it == b"msds-managedserviceaccount" || it == b"msds-groupmanagedserviceaccount"
    };
    let is_managed = classes.iter().any(is_managed);
    Ok(Account {
        id: guid(entry, "objectguid").ok_or("objectGUID")?,
        dn: entry.dn.clone(),
        kind: if is_managed { AccountKind::ManagedService } else { AccountKind::User },
        user: text(entry, "userprincipalname").unwrap_or_else(|| short_name.clone()),
        short_name,
        display_name: text(entry, "displayname"),
        rid,
        primary_group_rid: bits(entry, "primarygroupid").ok_or("primaryGroupID")?,
        flags: AccountFlags(bits(entry, "useraccountcontrol").ok_or("userAccountControl")?),
        created_at: generalized(entry, "whencreated"),
        expires_at: at(moment(entry, "accountexpires")),
        password_set_at: at(moment(entry, "pwdlastset")),
        last_sign_in: last_sign_in(entry),
        is_service: bytes(entry, "serviceprincipalname").is_some(),
    })
}

/// # Errors
/// The attribute that it lacks.
pub(super) fn computer(entry: &Entry) -> Result<Computer, &'static str> {
    let name = text(entry, "samaccountname").ok_or("sAMAccountName")?;
    Ok(Computer {
        id: guid(entry, "objectguid").ok_or("objectGUID")?,
        dn: entry.dn.clone(),
        name: name.strip_suffix('$').unwrap_or(&name).to_owned(),
        host: raw(entry, "dnshostname").map(|it| it.to_lowercase()).filter(|it| !it.is_empty()),
        os: text(entry, "operatingsystem"),
        os_version: text(entry, "operatingsystemversion"),
        flags: AccountFlags(bits(entry, "useraccountcontrol").ok_or("userAccountControl")?),
        created_at: generalized(entry, "whencreated"),
        last_seen: last_sign_in(entry),
        seen_at: at(moment(entry, "lastlogon")).max(at(moment(entry, "lastlogontimestamp"))),
    })
}

fn at(moment: Option<Moment>) -> Option<Time> {
    match moment {
        Some(Moment::At(time)) => Some(time),
        Some(Moment::Never) | None => None,
    }
}

/// One domain controller knows the sign-ins at itself; of those at others, it knows each to the lag of replication.
fn last_sign_in(entry: &Entry) -> LastSignIn {
    let here = moment(entry, "lastlogon");
    let anywhere = moment(entry, "lastlogontimestamp");
    let anywhere_at = at(anywhere).map(|it| it.plus_days(REPLICATION_LAG_DAYS));
    match (at(here).max(anywhere_at), here.or(anywhere)) {
        (Some(last), _) => LastSignIn::At(last),
        (None, Some(_)) => LastSignIn::Never,
        (None, None) => LastSignIn::Unknown,
    }
}
