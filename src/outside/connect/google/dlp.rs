//! Data loss prevention (DAT-05): rules that block or warn, for mail and for files.

use serde_json::Value;

use super::row::Policy;
use super::setting::DLP_RULES;
use super::tenant::Tenant;
use crate::connect::reading::Judged;
use crate::connect::reading::JudgedStatus::{self, Compliant, NonCompliant, Partial};
use crate::text::line;

const N_NAMED_MAX: usize = 5;
const NAME_CHARS_MAX: usize = 80;

/// What an active rule does about mail or files that leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    #[default]
    None,
    /// It only tells administrators.
    Watches,
    Acts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cover {
    mail: Effect,
    files: Effect,
}

/// `None`: a rule is not readable.
fn cover(rule: &Policy) -> Option<Cover> {
    let state = rule.value("state")?.as_str()?;
    if state != "ACTIVE" {
        return Some(Cover::default());
    }
    let triggers = rule.value("triggers")?.as_array()?;
    let is_about = |service: &str| {
        let texts = || triggers.iter().filter_map(Value::as_str);
        texts().any(|it| it.starts_with("google.workspace.") && it.contains(service))
    };
    let effect = |service: &str, action: &str, acts: &[&str]| {
        if !is_about(service) {
            return Effect::None;
        }
        let action = rule.value("action").and_then(|it| it.get(action));
        let is_acting = acts.iter().any(|it| action.is_some_and(|action| action.get(it).is_some()));
        if is_acting { Effect::Acts } else { Effect::Watches }
    };
    let mail = ["blockContent", "warnUser", "quarantineMessage", "rejectMessage", "quarantine"];
    let files = ["blockAccess", "warnUser", "restrictCopyPrintDownload"];
    Some(Cover {
        mail: effect(".gmail.", "gmailAction", &mail),
        files: effect(".drive.", "driveAction", &files),
    })
}

/// DAT-05.
pub(super) fn rules(tenant: &Tenant<'_>) -> Option<Judged> {
    let top = tenant.top_unit().filter(|_| tenant.has_policies())?;
    let (mut everywhere, mut anywhere) = (Cover::default(), Cover::default());
    let mut names = Vec::new();
    for rule in tenant.policies_of(DLP_RULES) {
        let it = cover(rule)?;
        let is_everywhere = rule.unit().is_none_or(|it| it == top)
            && rule.group().is_none()
            && !rule.is_conditional();
        let join = |all: &mut Cover| {
            all.mail = all.mail.max(it.mail);
            all.files = all.files.max(it.files);
        };
        join(&mut anywhere);
        if is_everywhere {
            join(&mut everywhere);
        }
        if it.mail.max(it.files) == Effect::Acts {
            let name =
                rule.value("displayName").and_then(Value::as_str).unwrap_or("without a name");
            names.push(line(name, NAME_CHARS_MAX));
        }
    }
    let (status, findings) = verdict(everywhere, anywhere);
    let findings = match names.len().checked_sub(N_NAMED_MAX) {
        _ if names.is_empty() => findings.to_owned(),
        None | Some(0) => {
            format!("{findings} Rules that block or warn: {}.", names.join(", "))
        }
        Some(n_more) => {
            let first = names[..N_NAMED_MAX].join(", ");
            format!("{findings} Rules that block or warn: {first} and {n_more} more.")
        }
    };
    Some(Judged::whole("DAT-05", "dlp_rules", status, findings))
}

fn verdict(everywhere: Cover, anywhere: Cover) -> (JudgedStatus, &'static str) {
    let acts = |it: Effect| it == Effect::Acts;
    match (acts(everywhere.mail), acts(everywhere.files)) {
        (true, true) => (
            Compliant,
            "Active rules block or warn before sensitive data leaves in mail and files.",
        ),
        (true, false) => (
            Partial,
            "For everyone, active rules block or warn only in mail. Add rules for files under Security > Access and data \
             control > Data protection.",
        ),
        (false, true) => (
            Partial,
            "For everyone, active rules block or warn only in files. Add rules for mail under Security > Access and data \
             control > Data protection.",
        ),
        (false, false) if acts(anywhere.mail.max(anywhere.files)) => (
            Partial,
            "Active rules block or warn only in some organizational units or groups. Apply them to everyone under Security \
             > Access and data control > Data protection.",
        ),
        (false, false) if Effect::None < anywhere.mail.max(anywhere.files) => (
            Partial,
            "Active rules only report sensitive data that leaves. Turn on blocking or warning under Security > Access and \
             data control > Data protection.",
        ),
        (false, false) => (
            NonCompliant,
            "No active rule finds sensitive data in mail or files. Create rules under Security > Access and data control > \
             Data protection.",
        ),
    }
}
