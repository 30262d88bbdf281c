//! What the controls of the secure score say of ours.

use super::subscription::{ScoreControl, Subscription};
use crate::catalog::{ScoreLink, control_of_score};
use crate::connect::reading::{Judged, JudgedStatus};
use crate::engine::fact::failing_line;

struct Rule {
    check: &'static str,
    /// Of the controls of the secure score that are about the same. All of them decide the same control of ours.
    ids: &'static [&'static str],
}

impl Rule {
    fn link(&self) -> &'static ScoreLink {
        control_of_score(self.ids[0]).expect("the catalog maps it")
    }
}

const fn rule(check: &'static str, ids: &'static [&'static str]) -> Rule {
    Rule { check, ids }
}

/// Of computers, only those in Azure, and one of several questions.
const SHOWS_TOO_LITTLE: [&str; 3] = ["END-05", "CLD-11", "CLD-15"];

const RULES: [Rule; 9] = [
    rule("enable_mfa", &["34a42fb3-e6db-409c-b56b-7b1db6b8aee0"]),
    rule("secure_management_ports", &["52901099-235c-4971-b9d5-a33fca3a936e"]),
    rule("manage_access_and_permissions", &["2d85f639-0bea-4a4a-b6c6-608952a1414a"]),
    rule("encryption_at_rest", &["8fd574ec-43cf-426e-a439-a67cbaf2d564"]),
    rule("unauthorized_network_access", &["f9d5432b-8f7b-45e9-b90c-e214a30f6a02"]),
    rule(
        "updates_and_vulnerabilities",
        &["05daab2e-f074-4601-ac10-aadf5c9c50f6", "61702b76-1fab-41f2-bcbc-50b7870dcf38"],
    ),
    rule("encrypt_data_in_transit", &["0e55495e-034f-4abc-8293-767229250176"]),
    rule("auditing_and_logging", &["27b24961-75ba-4fe4-8909-97286d5dd5ee"]),
    rule("endpoint_protection", &["12136bd9-dc24-44f2-9587-7be3af6aac14"]),
];

/// Of controls of the score that say too little of ours.
const UNSEEN: &str =
    "The control asks for more than Defender for Cloud looks at, so other evidence is needed, too.";

/// Returns true if a rule is about this control of the secure score.
pub(super) fn is_known(id: &str) -> bool {
    RULES.iter().any(|it| it.ids.contains(&id))
}

/// Judges all subscriptions of a client together. `subscriptions`: all that there are, each read to the end.
#[must_use]
pub fn judge(subscriptions: &[Subscription]) -> Vec<Judged> {
    RULES.iter().filter_map(|rule| apply(rule, subscriptions)).collect()
}

/// `None`: there is no resource that it is about.
fn apply(rule: &Rule, subscriptions: &[Subscription]) -> Option<Judged> {
    let of = |it: &ScoreControl| rule.ids.contains(&it.id.as_str());
    let all = || subscriptions.iter().flat_map(|it| &it.controls).filter(|it| of(it));
    let n_healthy: u64 = all().map(|it| it.n_healthy).sum();
    let n_unhealthy: u64 = all().map(|it| it.n_unhealthy).sum();
    let mut names: Vec<&str> = all().map(|it| it.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let names = names.join("\" and \"");
    let n = n_healthy + n_unhealthy;
    if n == 0 {
        return None;
    }
    let link = rule.link();
    let control = link.control.as_str();
    if n_unhealthy == 0 {
        let findings = format!(
            "Defender for Cloud finds nothing to do under \"{names}\". It looked at {n} resources."
        );
        let judged = Judged::whole(control, rule.check, JudgedStatus::Compliant, findings);
        let is_short = SHOWS_TOO_LITTLE.contains(&control);
        return Some(if is_short { judged.at_most_partial(UNSEEN) } else { judged });
    }
    // As with a list whose failing members are known.
    let status =
        if n_unhealthy <= n_healthy { JudgedStatus::Partial } else { JudgedStatus::NonCompliant };
    let is_failing = |it: &&Subscription| it.controls.iter().any(|it| of(it) && 0 < it.n_unhealthy);
    let failing: Vec<&str> =
        subscriptions.iter().filter(is_failing).map(|it| it.name.as_str()).collect();
    let findings = format!(
        "Subscriptions: {}\n{n_unhealthy} of {n} resources are unhealthy under \"{names}\". Open Recommendations in Defender for Cloud, \
         and work through what it lists there.",
        failing_line(&failing, failing.len())
    );
    Some(Judged::whole(control, rule.check, status, findings))
}
