//! All rules, and what each needs.

use std::collections::{BTreeMap, BTreeSet};

use super::snapshot::Snapshot;
use super::snapshot::StreamKind::{
    self, AuditEvents, OrgUnits, Policies, SsoAssignments, TokenEvents, Users,
};
use super::survey::Question;
use super::tenant::Tenant;
use super::{admin, app, dlp, log, mail, mfa, password, sharing};
use crate::clock::Time;
use crate::connect::reading::Judged;

/// One check of a control.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub control: &'static str,
    pub check: &'static str,
    /// Unless all of these were read completely, it says nothing, and other checks of its control say only what fails.
    pub needs: &'static [StreamKind],
    read: Read,
}

#[derive(Clone, Copy, Debug)]
enum Read {
    /// It looks at settings.
    Ask(&'static Question),
    Judge(fn(&Tenant<'_>) -> Option<Judged>),
}

const SETTINGS: &[StreamKind] = &[Users, OrgUnits, Policies];
const FACTORS: &[StreamKind] = &[Users, OrgUnits, Policies, SsoAssignments];

const fn ask(needs: &'static [StreamKind], question: &'static Question) -> Rule {
    Rule { control: question.control, check: question.check, needs, read: Read::Ask(question) }
}

const fn own(
    control: &'static str,
    check: &'static str,
    needs: &'static [StreamKind],
    judge: fn(&Tenant<'_>) -> Option<Judged>,
) -> Rule {
    Rule { control, check, needs, read: Read::Judge(judge) }
}

/// ID-02, ID-03, ID-10 and ID-11 are decided from [`super::accounts`].
pub const RULES: &[Rule] = &[
    own("ID-01", mfa::ENFORCED.check, FACTORS, mfa::enforced),
    ask(FACTORS, &mfa::KEYS),
    ask(FACTORS, &mfa::NO_CODES_BY_PHONE),
    ask(SETTINGS, &mfa::NO_LESS_SECURE_APPS),
    own("ID-07", "super_admin_count", &[Users], admin::number),
    own("ID-08", "admin_accounts", &[Users, OrgUnits, SsoAssignments], admin::separate),
    ask(SETTINGS, &sharing::GROUP_GUESTS),
    ask(SETTINGS, &password::LENGTH),
    ask(SETTINGS, &password::STRENGTH),
    ask(SETTINGS, &password::REUSE),
    ask(SETTINGS, &password::EXPIRY),
    ask(SETTINGS, &password::AT_SIGN_IN),
    ask(SETTINGS, &admin::SUPER_ADMINS_RECOVER),
    ask(SETTINGS, &admin::USERS_RECOVER),
    ask(SETTINGS, &app::THIRD_PARTY),
    ask(SETTINGS, &app::MARKETPLACE_APPS),
    own("APP-02", "high_risk_apps", &[TokenEvents], app::high_risk),
    own("APP-03", "connected_apps", &[TokenEvents], app::sanctioned),
    ask(SETTINGS, &mail::NO_FORWARDING),
    ask(SETTINGS, &mail::ATTACHMENTS),
    ask(SETTINGS, &mail::ATTACHMENT_ACTION),
    ask(SETTINGS, &mail::LINKS),
    ask(SETTINGS, &mail::SPOOFING),
    ask(SETTINGS, &mail::SPOOFING_ACTION),
    ask(SETTINGS, &mail::SCAN),
    own("EML-05", "no_bypass", &[Policies], mail::no_bypass),
    ask(SETTINGS, &sharing::DRIVE_LINKS),
    ask(SETTINGS, &sharing::DRIVE_GUESTS),
    ask(SETTINGS, &sharing::PRIMARY_CALENDARS),
    ask(SETTINGS, &sharing::SECONDARY_CALENDARS),
    ask(SETTINGS, &sharing::CHAT_SHARING),
    ask(SETTINGS, &sharing::GROUP_ACCESS),
    own("DAT-05", "dlp_rules", &[OrgUnits, Policies], dlp::rules),
    own("LOG-01", "audit_log", &[Users, AuditEvents], log::readable),
];

/// What a rule says of an organization.
enum Answer {
    Judged(Judged),
    /// Too little is known.
    Unknown,
    /// What it needs was not read.
    Unread,
    /// It is about nobody.
    Nobody,
}

impl Rule {
    fn answer(&self, tenant: &Tenant<'_>) -> Answer {
        if !tenant.snapshot.has(self.needs) {
            return Answer::Unread;
        }
        let judged = match self.read {
            Read::Judge(judge) => judge(tenant),
            Read::Ask(question) => {
                let survey = question.ask(tenant);
                if survey.as_ref().is_some_and(|it| it.members.is_empty()) {
                    return Answer::Nobody;
                }
                survey.and_then(|it| it.judge(question))
            }
        };
        judged.map_or(Answer::Unknown, Answer::Judged)
    }
}

/// Judges an organization at a time. The same snapshot always gives the same verdicts.
///
/// A control of which one check is not known is partly met at most. One of which a check was not read shows only what fails.
///
/// `sanctioned_apps`: the names of the apps that the client approved, in lower case.
#[must_use]
pub fn judge(snapshot: &Snapshot, sanctioned_apps: &[String], at: Time) -> Vec<Judged> {
    let tenant = Tenant::new(snapshot, sanctioned_apps, at);
    let mut judged = Vec::new();
    let mut unknown: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut unread = BTreeSet::new();
    for it in RULES {
        match it.answer(&tenant) {
            Answer::Judged(found) => judged.push(found),
            Answer::Unknown => {
                unknown.entry(it.control).or_default().push(it.check.replace('_', " "));
            }
            Answer::Unread => {
                unread.insert(it.control);
            }
            Answer::Nobody => (),
        }
    }
    let at_most = |it: Judged| match unknown.get(it.control) {
        _ if unread.contains(it.control) => it.into_gap(),
        Some(checks) => Some(it.at_most_partial(&format!("Not known: {}.", checks.join(", ")))),
        None => Some(it),
    };
    judged.into_iter().filter_map(at_most).collect()
}
