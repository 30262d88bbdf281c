//! Accounts and apps as a source reported them, and what changed between two reads.

pub mod aside;
pub mod leaver;

use bincode::{Decode, Encode};

use super::fact::{ControlVerdict, Status, Verdict};
use crate::clock::Time;
use crate::layout::read_by_layout;

/// One account.
#[derive(Clone, Debug, PartialEq, Eq, Encode)]
pub struct Identity {
    /// The source's identifier of the account.
    pub external_id: String,
    /// The name that it signs in with.
    pub user: String,
    pub display_name: Option<String>,
    pub user_type: UserType,
    pub is_admin: bool,
    /// Sorted, without duplicates.
    pub roles: Vec<String>,
    /// Whether it can use a second factor. `None`: unknown, which never means no.
    pub mfa: Option<bool>,
    /// Whether it must use a second factor. `None`: unknown.
    pub mfa_enforced: Option<bool>,
    pub is_enabled: bool,
    pub created_at: Option<Time>,
    pub last_sign_in: LastSignIn,
    /// When it was listed last. `None`: by the newest list.
    pub listed_at: Option<Time>,
    /// When `mfa` was known last. `None`: when it was listed.
    pub mfa_known_at: Option<Time>,
}

read_by_layout!(Identity {
    external_id, user, display_name, user_type, is_admin, roles, mfa, mfa_enforced, is_enabled, created_at, last_sign_in,
} and then { listed_at, mfa_known_at });

impl Identity {
    /// How many bytes its texts have.
    #[must_use]
    pub fn n_text_bytes(&self) -> usize {
        let names = [&self.external_id, &self.user].into_iter().chain(&self.display_name);
        names.chain(&self.roles).map(String::len).sum()
    }
}

/// Whose account it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum UserType {
    /// Of someone in the organization.
    Member,
    /// Of someone outside it.
    Guest,
    /// The source does not say.
    Unknown,
}

impl UserType {
    #[must_use]
    pub const fn of(is_guest: bool) -> Self {
        if is_guest { Self::Guest } else { Self::Member }
    }

    #[must_use]
    pub fn is_guest(self) -> Option<bool> {
        (self != Self::Unknown).then_some(self == Self::Guest)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum LastSignIn {
    Unknown,
    Never,
    At(Time),
}

/// One app in use.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AppUse {
    pub name: String,
    pub publisher: Option<String>,
    pub n_users: u32,
    /// `None`: the source does not say.
    pub is_sanctioned: Option<bool>,
}

/// A condition of one account that a read opens or closes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChange {
    pub condition: AccountCondition,
    pub to: Transition,
}

/// What can be wrong with an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccountCondition {
    MfaDisabled,
    AdminMfaMissing,
    PrivilegeEscalation,
    Dormant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    Open,
    /// It grew while it was open, so it is announced again.
    Reopen,
    Close,
}

/// The facet of ID-03 of which a list speaks that does not know who must use a second factor.
const REGISTERED: &str = "registered";
/// A role is privileged if its name contains one of these words, ignoring case.
const PRIVILEGED_WORDS: [&str; 5] = ["admin", "owner", "root", "privileged", "superuser"];

impl Identity {
    /// Returns its privileges: `admin`, and each role whose name contains a privileged word.
    #[must_use]
    pub fn privileges(&self) -> Vec<&str> {
        let is_privileged = |role: &&str| {
            let role = role.to_lowercase();
            PRIVILEGED_WORDS.iter().any(|it| role.contains(it))
        };
        let roles = self.roles.iter().map(String::as_str).filter(is_privileged);
        self.is_admin.then_some("admin").into_iter().chain(roles).collect()
    }

    /// Returns true if it has any privilege, whatever the source calls it.
    #[must_use]
    pub fn is_administrator(&self) -> bool {
        !self.privileges().is_empty()
    }

    /// Returns true if it has a second factor and must use it. `None`: unknown.
    fn is_protected(&self) -> Option<bool> {
        if self.mfa_enforced == Some(false) { Some(false) } else { self.mfa }
    }

    /// Returns true if it was not used for this many days before `at`. `None`: unknown.
    #[must_use]
    pub fn is_dormant(&self, at: Time, days: u16) -> Option<bool> {
        if !self.is_enabled {
            return Some(false);
        }
        let last = match self.last_sign_in {
            LastSignIn::Unknown => None,
            LastSignIn::Never => self.created_at,
            LastSignIn::At(time) => Some(time),
        };
        last.map(|it| it.plus_days(i64::from(days)) <= at)
    }

    /// Returns the account with what this read does not know taken from the read before: MFA, and the last sign-in of an
    /// account that was dormant then.
    ///
    /// `read_before`: its time, and after how many days an account is dormant.
    #[must_use]
    pub fn over(self, before: Option<&Self>, read_before: (Time, u16)) -> Self {
        let Some(before) = before else { return self };
        let mfa = self.mfa.or(before.mfa);
        let mfa_enforced = self.mfa_enforced.or(before.mfa_enforced);
        let (read_at, days) = read_before;
        let at = before.listed_at.unwrap_or(read_at);
        let is_carried = self.mfa.is_none() && before.mfa.is_some();
        let mfa_known_at = is_carried.then(|| before.mfa_known_at.unwrap_or(at));
        let was_dormant = before.is_dormant(at, days) == Some(true);
        let created_at = self.created_at.or(before.created_at.filter(|_| was_dormant));
        let is_unknown = match self.last_sign_in {
            LastSignIn::Unknown => true,
            LastSignIn::Never => created_at.is_none(),
            LastSignIn::At(_) => false,
        };
        let last_sign_in =
            if is_unknown && was_dormant { before.last_sign_in } else { self.last_sign_in };
        Self { mfa, mfa_enforced, created_at, last_sign_in, mfa_known_at, ..self }
    }

    /// Returns the account after a list that is not complete and does not name it.
    ///
    /// `read_at`: when the list before was read.
    #[must_use]
    pub fn unlisted(self, read_at: Time) -> Self {
        Self { listed_at: Some(self.listed_at.unwrap_or(read_at)), ..self }
    }
}

/// Returns the conditions of an account that change. `before`: `None` if the source did not list the account. `after`:
/// `None` if a complete read no longer lists it.
#[must_use]
pub fn account_changes(
    before: Option<&Identity>,
    after: Option<&Identity>,
    at: Time,
    dormant_days: u16,
) -> Vec<AccountChange> {
    let change = |condition, to| AccountChange { condition, to };
    let Some(after) = after.filter(|it| it.is_enabled) else {
        return [
            AccountCondition::MfaDisabled,
            AccountCondition::AdminMfaMissing,
            AccountCondition::PrivilegeEscalation,
            AccountCondition::Dormant,
        ]
        .map(|it| change(it, Transition::Close))
        .to_vec();
    };
    let mut changes = Vec::new();
    match (before.and_then(|it| it.mfa), after.mfa) {
        // The control is not about guests.
        _ if after.user_type == UserType::Guest => {
            changes.push(change(AccountCondition::MfaDisabled, Transition::Close));
        }
        (Some(true), Some(false)) => {
            changes.push(change(AccountCondition::MfaDisabled, Transition::Open));
        }
        (_, Some(true)) => changes.push(change(AccountCondition::MfaDisabled, Transition::Close)),
        _ => (),
    }
    match (after.is_administrator(), after.mfa) {
        (true, Some(false)) => {
            changes.push(change(AccountCondition::AdminMfaMissing, Transition::Open));
        }
        (false, _) | (true, Some(true)) => {
            changes.push(change(AccountCondition::AdminMfaMissing, Transition::Close));
        }
        (true, None) => (),
    }
    let had = before.filter(|it| it.is_enabled).map(Identity::privileges).unwrap_or_default();
    let has = after.privileges();
    if has.iter().any(|it| !had.contains(it)) {
        changes.push(change(AccountCondition::PrivilegeEscalation, Transition::Reopen));
    } else if has.is_empty() {
        changes.push(change(AccountCondition::PrivilegeEscalation, Transition::Close));
    }
    if let Some(is_dormant) = after.is_dormant(at, dormant_days) {
        let to = if is_dormant { Transition::Open } else { Transition::Close };
        changes.push(change(AccountCondition::Dormant, to));
    }
    changes
}

/// What is known of one account about one control.
struct Known<'a> {
    name: &'a str,
    passes: Option<bool>,
    at: Time,
}

impl<'a> Known<'a> {
    /// `read_at`: when the newest list was read.
    fn of(it: &'a Identity, read_at: Time, passes: Option<bool>) -> Self {
        Self { name: &it.user, passes, at: it.listed_at.unwrap_or(read_at) }
    }

    fn of_mfa(it: &'a Identity, read_at: Time, passes: Option<bool>) -> Self {
        let known = Self::of(it, read_at, passes);
        Self { at: it.mfa_known_at.unwrap_or(known.at), ..known }
    }
}

/// Returns what the accounts that are known show about the controls for accounts. A control about which they show nothing is
/// left out. Names are in order, whatever the order of the list.
///
/// `at`: when the newest list of them was read. `max_age_days`: for how long what passes of a control does so.
#[must_use]
pub fn verdicts(
    all: &[Identity],
    at: Time,
    dormant_days: u16,
    max_age_days: impl Fn(&str) -> u16,
) -> Vec<ControlVerdict<'_>> {
    let mut enabled: Vec<&Identity> = all.iter().filter(|it| it.is_enabled).collect();
    enabled.sort_unstable_by_key(|it| &it.user);
    let enabled = || enabled.iter().copied();
    let guests = enabled().filter_map(|it| match it.user_type {
        UserType::Member => None,
        UserType::Guest => Some(Known::of(it, at, Some(it.privileges().is_empty()))),
        UserType::Unknown => Some(Known::of(it, at, None)),
    });
    let members = enabled().filter(|it| it.user_type != UserType::Guest);
    let members = members.map(|it| Known::of_mfa(it, at, it.mfa));
    let admins = enabled().filter(|it| it.is_administrator());
    let is_enforcement_known = admins.clone().all(|it| it.mfa_enforced.is_some());
    let admins = admins.map(|it| Known::of_mfa(it, at, it.is_protected()));
    let used = enabled().map(|it| {
        let is_dormant = it.is_dormant(it.listed_at.unwrap_or(at), dormant_days);
        Known::of(it, at, is_dormant.map(|it| !it))
    });
    let has_guests = guests.clone().next().is_some();
    let mut of_guests = counted("ID-10", guests, at, max_age_days("ID-10"));
    if !has_guests && enabled().next().is_some() {
        of_guests.verdict = Verdict::Stated(Status::Compliant);
    }
    let all = [
        counted("ID-02", members, at, max_age_days("ID-02")),
        ControlVerdict {
            facets: if is_enforcement_known { &[] } else { &[REGISTERED] },
            ..counted("ID-03", admins, at, max_age_days("ID-03"))
        },
        of_guests,
        counted("ID-11", used, at, max_age_days("ID-11")),
    ];
    all.into_iter().filter(|it| it.verdict.is_effective()).collect()
}

/// What passes does so for as long as the control says, and is unknown after that. What fails, fails.
fn counted<'a>(
    code: &'static str,
    known: impl Iterator<Item = Known<'a>>,
    at: Time,
    max_age_days: u16,
) -> ControlVerdict<'a> {
    let days = i64::from(max_age_days);
    let mut passes_until = at.plus_days(days);
    let judged = known.map(|it| {
        let end = it.at.plus_days(days);
        let passes = it.passes.filter(|passes| !passes || at < end);
        if passes == Some(true) {
            passes_until = passes_until.min(end);
        }
        (it.name, passes)
    });
    let shown = ControlVerdict::counted(code, judged);
    let is_earlier = passes_until < at.plus_days(days);
    ControlVerdict { passes_until: is_earlier.then_some(passes_until), ..shown }
}
