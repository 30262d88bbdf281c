//! Accounts and apps as a source saw them, and what turned between two reads.

use bincode::{Decode, Encode};

use super::fact::{Status, Verdict};
use crate::clock::Time;

/// One account.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Identity {
    /// The source's own identifier of it.
    pub external_id: String,
    /// How it signs in.
    pub user: String,
    pub display_name: Option<String>,
    pub is_guest: bool,
    pub is_admin: bool,
    /// Sorted, each once.
    pub roles: Vec<String>,
    /// Whether it can use a second factor. `None`: unknown, which is never no.
    pub mfa: Option<bool>,
    /// Whether it must.
    pub mfa_enforced: Option<bool>,
    pub is_enabled: bool,
    pub created_at: Option<Time>,
    pub last_sign_in: LastSignIn,
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

/// A condition of one account or app that a read found, or found gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub condition: AccountCondition,
    pub to: To,
}

/// What can be wrong with an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountCondition {
    MfaDisabled,
    AdminMfaMissing,
    PrivilegeEscalation,
    Dormant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    Open,
    /// It grew while it was open: announced once more.
    Again,
    Closed,
}

/// Words that a privileged role's name holds one of, without regard to case.
const PRIVILEGED_WORDS: [&str; 5] = ["admin", "owner", "root", "privileged", "superuser"];

impl Identity {
    /// Its privileges: `admin`, and each role whose name says so.
    #[must_use]
    pub fn privileges(&self) -> Vec<&str> {
        let is_privileged = |role: &&str| {
            let role = role.to_lowercase();
            PRIVILEGED_WORDS.iter().any(|it| role.contains(it))
        };
        let roles = self.roles.iter().map(String::as_str).filter(is_privileged);
        self.is_admin.then_some("admin").into_iter().chain(roles).collect()
    }

    /// Whether nobody used it for so long before `at`. `None`: it cannot be told.
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

    /// What is known of it now: what this read does not know of MFA, the one before may have.
    #[must_use]
    pub fn over(self, before: Option<&Self>) -> Self {
        let mfa = self.mfa.or_else(|| before.and_then(|it| it.mfa));
        let mfa_enforced = self.mfa_enforced.or_else(|| before.and_then(|it| it.mfa_enforced));
        Self { mfa, mfa_enforced, ..self }
    }
}

/// What turned about an account. `before`: `None` when the source did not have it; `after`: `None` when a complete read
/// no longer has it.
#[must_use]
pub fn turns(
    before: Option<&Identity>,
    after: Option<&Identity>,
    at: Time,
    dormant_days: u16,
) -> Vec<Turn> {
    let turn = |condition, to| Turn { condition, to };
    let Some(after) = after.filter(|it| it.is_enabled) else {
        return [
            AccountCondition::MfaDisabled,
            AccountCondition::AdminMfaMissing,
            AccountCondition::PrivilegeEscalation,
            AccountCondition::Dormant,
        ]
        .map(|it| turn(it, To::Closed))
        .to_vec();
    };
    let mut turns = Vec::new();
    match (before.and_then(|it| it.mfa), after.mfa) {
        (Some(true), Some(false)) => turns.push(turn(AccountCondition::MfaDisabled, To::Open)),
        (_, Some(true)) => turns.push(turn(AccountCondition::MfaDisabled, To::Closed)),
        _ => (),
    }
    match (after.is_admin, after.mfa) {
        (true, Some(false)) => turns.push(turn(AccountCondition::AdminMfaMissing, To::Open)),
        (false, _) | (true, Some(true)) => {
            turns.push(turn(AccountCondition::AdminMfaMissing, To::Closed));
        }
        (true, None) => (),
    }
    let had = before.filter(|it| it.is_enabled).map(Identity::privileges).unwrap_or_default();
    let has = after.privileges();
    if has.iter().any(|it| !had.contains(it)) {
        turns.push(turn(AccountCondition::PrivilegeEscalation, To::Again));
    } else if has.is_empty() {
        turns.push(turn(AccountCondition::PrivilegeEscalation, To::Closed));
    }
    if let Some(is_dormant) = after.is_dormant(at, dormant_days) {
        let to = if is_dormant { To::Open } else { To::Closed };
        turns.push(turn(AccountCondition::Dormant, to));
    }
    turns
}

/// What a list says of one control: its code, the verdict, who fails.
pub type Told<'a> = (&'static str, Verdict, Vec<&'a str>);

/// What a complete list of accounts says of the controls about accounts. A control of which nothing can be told is left
/// out.
#[must_use]
pub fn verdicts(all: &[Identity], at: Time, dormant_days: u16) -> Vec<Told<'_>> {
    let enabled = || all.iter().filter(|it| it.is_enabled);
    let guests: Vec<_> = enabled()
        .filter(|it| it.is_guest)
        .map(|it| (it, Some(it.privileges().is_empty())))
        .collect();
    let guests = if guests.is_empty() && enabled().next().is_some() {
        ("ID-10", Verdict::Stated(Status::Compliant), Vec::new())
    } else {
        told("ID-10", guests)
    };
    let members = enabled().filter(|it| !it.is_guest).map(|it| (it, it.mfa));
    let admins = enabled().filter(|it| it.is_admin).map(|it| (it, it.mfa));
    let used = enabled().map(|it| (it, it.is_dormant(at, dormant_days).map(|it| !it)));
    let all = [told("ID-02", members), told("ID-03", admins), guests, told("ID-11", used)];
    all.into_iter().filter(|(_, verdict, _)| verdict.is_effective()).collect()
}

/// Counts accounts that pass and fail; those of which it is not known count for nothing.
fn told<'a>(
    code: &'static str,
    judged: impl IntoIterator<Item = (&'a Identity, Option<bool>)>,
) -> Told<'a> {
    let (mut passed, mut failing) = (0, Vec::new());
    for (identity, passes) in judged {
        match passes {
            Some(true) => passed += 1,
            Some(false) => failing.push(identity.user.as_str()),
            None => (),
        }
    }
    let failed = u32::try_from(failing.len()).unwrap_or(u32::MAX);
    (code, Verdict::Counted { passed, failed }, failing)
}
