//! Gmail: forwarding (EML-04) and protection against phishing and attachments (EML-05).

use serde_json::Value;

use super::row::Policy;
use super::setting::{
    ALLOWED_IPS, ATTACHMENT_ACTIONS, ATTACHMENT_PROTECTIONS, AUTO_FORWARDING, Field, GMAIL,
    LINK_PROTECTIONS, PRE_DELIVERY_SCAN, RULE_STATES, SPAM_OVERRIDES, SPOOFING_ACTIONS,
    SPOOFING_PROTECTIONS,
};
use super::survey::{Question, Who};
use super::tenant::{Settings, Tenant};
use crate::connect::reading::Judged;
use crate::connect::reading::JudgedStatus::{Compliant, NonCompliant, Partial};
use crate::text::line;

const N_NAMED_MAX: usize = 5;
const RULE_CHARS_MAX: usize = 80;

pub(super) const NO_FORWARDING: Question = Question {
    control: "EML-04",
    check: "auto_forwarding",
    who: Who::Everyone,
    service: Some(GMAIL),
    kinds: &[AUTO_FORWARDING.kind, GMAIL.kind],
    passes: |here| here.flag(&AUTO_FORWARDING).map(|it| !it),
    gap: "Users may forward all their mail to any address",
    remedy: "Turn automatic forwarding off under Apps > Google Workspace > Gmail > End user access. List the rules that \
             already exist.",
};

const BASE: Question = Question {
    control: "EML-05",
    check: "attachments",
    who: Who::Everyone,
    service: Some(GMAIL),
    kinds: &[ATTACHMENT_PROTECTIONS[0].kind, GMAIL.kind],
    passes: |here| all(here, &ATTACHMENT_PROTECTIONS, is_set),
    gap: "Protection against encrypted, scripted or unusual attachments is not all on",
    remedy: "Turn everything on under Apps > Google Workspace > Gmail > Safety.",
};

pub(super) const ATTACHMENTS: Question = BASE;

pub(super) const ATTACHMENT_ACTION: Question = Question {
    check: "attachment_action",
    passes: |here| all(here, &ATTACHMENT_ACTIONS, is_kept_out),
    gap: "Mail with dangerous attachments stays in the inbox",
    remedy: "Move it to spam or quarantine under Apps > Google Workspace > Gmail > Safety.",
    ..BASE
};

pub(super) const LINKS: Question = Question {
    check: "links",
    kinds: &[LINK_PROTECTIONS[0].kind, GMAIL.kind],
    passes: |here| all(here, &LINK_PROTECTIONS, is_set),
    gap: "Protection against dangerous links and images is not all on",
    ..BASE
};

pub(super) const SPOOFING: Question = Question {
    check: "spoofing",
    kinds: &[SPOOFING_PROTECTIONS[0].kind, GMAIL.kind],
    passes: |here| all(here, &SPOOFING_PROTECTIONS, is_set),
    gap: "Protection against spoofed domains, names and groups is not all on",
    ..BASE
};

pub(super) const SPOOFING_ACTION: Question = Question {
    check: "spoofing_action",
    kinds: &[SPOOFING_ACTIONS[0].kind, GMAIL.kind],
    passes: |here| all(here, &SPOOFING_ACTIONS, is_kept_out),
    gap: "Spoofed mail stays in the inbox",
    remedy: "Move it to spam or quarantine under Apps > Google Workspace > Gmail > Safety.",
    ..BASE
};

pub(super) const SCAN: Question = Question {
    check: "pre_delivery_scan",
    kinds: &[PRE_DELIVERY_SCAN.kind, GMAIL.kind],
    passes: |here| here.flag(&PRE_DELIVERY_SCAN),
    gap: "Suspicious mail is not scanned again before delivery",
    remedy: "Turn on enhanced pre-delivery message scanning under Apps > Google Workspace > Gmail > Spam, phishing and \
             malware.",
    ..BASE
};

/// One that fails decides, whatever is unknown of the others.
fn all(
    here: Settings<'_>,
    fields: &[Field],
    passes: fn(Settings<'_>, &Field) -> Option<bool>,
) -> Option<bool> {
    let answers: Vec<_> = fields.iter().map(|it| passes(here, it)).collect();
    if answers.contains(&Some(false)) {
        return Some(false);
    }
    (!answers.contains(&None)).then_some(true)
}

fn is_set(here: Settings<'_>, protection: &Field) -> Option<bool> {
    here.flag(protection)
}

fn is_kept_out(here: Settings<'_>, action: &Field) -> Option<bool> {
    match here.word(action)? {
        "SPAM_FOLDER" | "QUARANTINE" => Some(true),
        "WARNING" | "NO_ACTION" => Some(false),
        _ => None,
    }
}

/// EML-05: no rule lets senders past the spam filter. A rule that is turned off does not count.
pub(super) fn no_bypass(tenant: &Tenant<'_>) -> Option<Judged> {
    let judged = |status, findings: &str| Judged::whole("EML-05", "no_bypass", status, findings);
    let found = bypasses(tenant).filter(|_| tenant.has_policies())?;
    if found.is_empty() {
        return Some(judged(
            Compliant,
            "No allowlist and no spam rule lets mail past the filters.",
        ));
    }
    let status = if found.iter().any(|it| it.0 == Whom::All) { NonCompliant } else { Partial };
    let named: Vec<&str> = found.iter().take(N_NAMED_MAX).map(|it| it.1.as_str()).collect();
    let n_more = found.len() - named.len();
    let more = if n_more == 0 { String::new() } else { format!("; {n_more} more") };
    let findings = format!(
        "Mail goes past the spam filters: {}{more}. Remove these under Apps > Google Workspace > Gmail > Spam, phishing \
         and malware.",
        named.join("; ")
    );
    Some(judged(status, &findings))
}

/// Whose mail goes past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whom {
    Listed,
    All,
}

/// `None`: a list is not readable.
fn bypasses(tenant: &Tenant<'_>) -> Option<Vec<(Whom, String)>> {
    let mut found = Vec::new();
    for policy in tenant.policies_of(ALLOWED_IPS) {
        let n = list(policy, "allowedIpAddresses")?.len();
        if 0 < n {
            found.push((Whom::Listed, format!("{n} IP addresses or ranges are on the allowlist")));
        }
    }
    let off = rules_off(tenant)?;
    for policy in tenant.policies_of(SPAM_OVERRIDES) {
        let rules = list(policy, "spamOverride")?.iter();
        for rule in rules.filter(|it| text(it, "ruleId").is_none_or(|it| !off.contains(&it))) {
            let Some((whom, who)) = bypass(rule) else { continue };
            let name = text(rule, "description").filter(|it| !it.is_empty());
            let name = line(name.unwrap_or("without a name"), RULE_CHARS_MAX);
            found.push((whom, format!("the spam rule \"{name}\" lets {who} past")));
        }
    }
    Some(found)
}

/// Empty if the field is absent. `None`: it is not a list.
fn list<'a>(policy: &'a Policy, name: &str) -> Option<&'a [Value]> {
    match policy.value(name) {
        None => policy.is_readable().then_some(&[]),
        Some(value) => value.as_array().map(Vec::as_slice),
    }
}

/// Rules that are off wherever something is said of them.
fn rules_off<'a>(tenant: &Tenant<'a>) -> Option<Vec<&'a str>> {
    let (mut off, mut on) = (Vec::new(), Vec::new());
    for policy in tenant.policies_of(RULE_STATES) {
        for state in list(policy, "ruleStates")? {
            let Some(id) = text(state, "ruleId") else { continue };
            match state.get("enabled").and_then(Value::as_bool) {
                Some(false) => off.push(id),
                Some(true) | None => on.push(id),
            }
        }
    }
    off.retain(|it| !on.contains(it));
    Some(off)
}

fn text<'a>(of: &'a Value, name: &str) -> Option<&'a str> {
    of.get(name).and_then(Value::as_str)
}

/// Whom a rule lets past, in words. Mail from within the organization may go past.
fn bypass(rule: &Value) -> Option<(Whom, String)> {
    let is = |name| rule.get(name).and_then(Value::as_bool) == Some(true);
    if is("hideWarningBannerForAll") {
        return Some((Whom::All, "all senders".to_owned()));
    }
    let n_listed = |list: &str| {
        let lists = rule.get(list).and_then(Value::as_array).into_iter().flatten();
        lists.filter_map(|it| it.get("list")?.as_array()).map(Vec::len).sum::<usize>()
    };
    let lists = [
        ("bypassSelectedSenders", "bypassSenderAllowlist"),
        ("hideWarningBannerFromSelectedSenders", "hideWarningBannerSenderAllowlist"),
    ];
    let n = lists.iter().filter(|it| is(it.0)).map(|it| n_listed(it.1)).max()?;
    (0 < n).then(|| (Whom::Listed, format!("{n} listed senders or domains")))
}
