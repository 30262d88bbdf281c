//! What the policies ask of passwords, and when they lock an account.

use super::policy::{DomainPolicy, PasswordRules, PasswordSettings};
use crate::connect::reading::{Judged, JudgedStatus, Sight};
use crate::engine::fact::failing_line;

const LENGTH_MIN: i64 = 12;
const N_WRONG_MAX: i64 = 10;

/// ID-15 and ID-25. Without the policies for some accounts, the domain's shows only what fails: others may be weaker than it.
pub(super) fn of(domain: &DomainPolicy, settings: Option<&[PasswordSettings]>) -> Vec<Judged> {
    let assigned = settings.unwrap_or_default().iter().filter(|it| it.is_assigned);
    let named = |it: &PasswordSettings| (format!("policy {}", it.name), it.rules.clone());
    let mut all = vec![("domain policy".to_owned(), domain.rules.clone())];
    all.extend(assigned.map(named));
    let judged = [passwords(&all), lockout(&all)].into_iter();
    judged.filter_map(|it| if settings.is_some() { Some(it) } else { it.into_gap() }).collect()
}

type Named = (String, PasswordRules);

/// What each policy that fails does wrong.
fn failing(all: &[Named], wrong: impl Fn(&PasswordRules) -> Option<String>) -> Option<String> {
    let failing = all.iter().filter_map(|(name, rules)| Some(format!("{name}: {}", wrong(rules)?)));
    let failing: Vec<String> = failing.collect();
    let lines: Vec<&str> = failing.iter().map(String::as_str).collect();
    (!lines.is_empty()).then(|| failing_line(&lines, lines.len()))
}

fn passwords(all: &[Named]) -> Judged {
    let wrong = |it: &PasswordRules| {
        let mut wrong = Vec::new();
        if it.length_min < LENGTH_MIN {
            wrong.push(format!("minimum length {}", it.length_min));
        }
        if it.n_remembered < 1 {
            wrong.push("old passwords can be used again".to_owned());
        }
        (!wrong.is_empty()).then(|| wrong.join(" and "))
    };
    if let Some(failing) = failing(all, wrong) {
        let advice = "Set a minimum length of 12 and a password history in the Default Domain Policy and in each fine-grained policy. \
                      Reject common passwords with a filter such as Entra Password Protection.";
        let findings = format!("{failing}\nThe password policy is too weak. {advice}");
        return Judged::whole("ID-15", "password_policy", JudgedStatus::NonCompliant, findings);
    }
    let findings = "Minimum length and password history meet the baseline. Active Directory does not tell whether common passwords \
                    are rejected. Confirm that a filter such as Entra Password Protection does so on every domain controller.";
    Judged::part("ID-15", "password_policy", Sight::Facets, findings)
}

fn lockout(all: &[Named]) -> Judged {
    let wrong = |it: &PasswordRules| match it.n_wrong_max {
        1..=N_WRONG_MAX => None,
        n if N_WRONG_MAX < n => Some(format!("locks after {n} wrong passwords")),
        _ => Some("wrong passwords never lock an account".to_owned()),
    };
    let (status, findings) = if let Some(failing) = failing(all, wrong) {
        let advice = "Set the account lockout threshold to ten or fewer, with a duration and a reset counter, in the Default Domain Policy \
                      and in each fine-grained policy.";
        (JudgedStatus::NonCompliant, format!("{failing}\n{advice}"))
    } else {
        let n_max = all.iter().map(|(_, it)| it.n_wrong_max).max().unwrap_or_default();
        (
            JudgedStatus::Compliant,
            format!("Accounts are locked after at most {n_max} wrong passwords."),
        )
    };
    Judged::whole("ID-25", "account_lockout", status, findings)
}
