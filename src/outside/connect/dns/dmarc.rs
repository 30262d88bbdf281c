//! DMARC (EML-03): what receivers do with mail that is not really from the domain.
//!
//! A domain without a record has that of its organization, which is found by the tree walk of the newer DMARC standard: no
//! list of public suffixes is needed, and at most 8 queries are sent.

use super::answer::{Halt, RecordKind, Sheet};
use super::domain::{Domain, above};
use super::ruling::{Ruling, quoted};
use super::tag;
use crate::connect::reading::JudgedStatus::{self, Compliant, NonCompliant, Partial};

/// The walk begins at the name with so many labels, however many the domain has.
const N_WALK_LABELS_MAX: usize = 7;

const TO_PUBLISH: &str = "Publish p=none with an address for reports, repair the senders that fail, then move to \
                          p=quarantine or p=reject.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    None,
    Quarantine,
    Reject,
}

impl Action {
    fn parse(text: &str) -> Option<Self> {
        let all = [Self::None, Self::Quarantine, Self::Reject];
        all.into_iter().find(|it| it.as_str().eq_ignore_ascii_case(text))
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Quarantine => "quarantine",
            Self::Reject => "reject",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Policy {
    action: Action,
    /// For subdomains; by default as for the domain.
    below: Action,
    /// For subdomains that do not exist; by default as for those that do.
    absent: Action,
    /// The share of mail, in percent. `None` if it is not valid.
    pct: Option<u8>,
    is_test: bool,
    /// Parts behind p that are no tags. Receivers ignore them, and apply p (RFC 7489, 6.3).
    ignored: Vec<String>,
}

impl Policy {
    /// The error says what is wrong, for a sentence.
    fn parse(text: &str) -> Result<Self, String> {
        let tags = tag::loose_tags("p", text);
        let (tags, ignored) = tags.ok_or("it is not a list of tags, each of them once")?;
        let ignored = ignored.into_iter().map(quoted).collect();
        let action = |name: &str| match tag::value(&tags, name) {
            None => Ok(None),
            Some(text) => {
                let bad = || format!("{name} must be none, quarantine or reject");
                Action::parse(text).map(Some).ok_or_else(bad)
            }
        };
        let own = action("p")?.ok_or("it has no p")?;
        let below = action("sp")?.unwrap_or(own);
        let absent = action("np")?.unwrap_or(below);
        let pct = tag::value(&tags, "pct").map_or(Ok(100), str::parse);
        let is_test = tag::value(&tags, "t").is_some_and(|it| it.eq_ignore_ascii_case("y"));
        let pct = pct.ok().filter(|it| *it <= 100);
        Ok(Self { action: own, below, absent, pct, is_test, ignored })
    }
}

/// A record that holds for the domain, and where it is.
struct Found<'a> {
    at: String,
    text: &'a str,
    /// It is that of a name above.
    is_above: bool,
}

pub(super) fn rule(domain: &Domain, sheet: &Sheet) -> Result<Ruling, Halt> {
    let at = format!("_dmarc.{domain}");
    let own = records(&at, sheet)?;
    let found = match own[..] {
        [] => find_above(domain, sheet)?,
        [text] => Some(Found { at: at.clone(), text, is_above: false }),
        _ => {
            let findings = format!(
                "{at} has {} DMARC records, among them {} and {}. Receivers then ignore all of them. Keep one.",
                own.len(),
                quoted(own[0]),
                quoted(own[1])
            );
            return Ok(Ruling::judged(own.len(), NonCompliant, findings));
        }
    };
    let Some(found) = found else {
        let findings = format!(
            "{domain} has no DMARC policy: there is no record at {at}{}. {TO_PUBLISH}",
            other_text(&at, sheet)?
        );
        return Ok(Ruling::judged(0, NonCompliant, findings));
    };
    let (status, findings) = judge(domain, &found);
    Ok(Ruling::judged(1, status, findings))
}

fn records<'a>(name: &str, sheet: &Sheet<'a>) -> Result<Vec<&'a str>, Halt> {
    let records = sheet.look(RecordKind::Txt, name)?;
    Ok(records.iter().map(String::as_str).filter(|it| tag::has_version(it, "DMARC1")).collect())
}

/// What is there instead of a record, for a sentence.
fn other_text(name: &str, sheet: &Sheet) -> Result<String, Halt> {
    let records = sheet.look(RecordKind::Txt, name)?;
    let instead =
        records.first().map(|it| format!(", only {}, which receivers ignore", quoted(it)));
    Ok(instead.unwrap_or_else(|| " or above".to_owned()))
}

/// The record of the organization. Several records at one name count as none.
fn find_above<'a>(domain: &Domain, sheet: &Sheet<'a>) -> Result<Option<Found<'a>>, Halt> {
    let n_labels = |name: &str| name.split('.').count();
    let names: Vec<&str> =
        above(domain.as_str()).filter(|it| n_labels(it) <= N_WALK_LABELS_MAX).collect();
    for name in &names {
        sheet.find(RecordKind::Txt, &format!("_dmarc.{name}"));
    }
    let mut chosen: Option<(&str, Found)> = None;
    for name in names {
        let at = format!("_dmarc.{name}");
        let [text] = records(&at, sheet)?[..] else { continue };
        let psd = tag::loose_tags("p", text)
            .and_then(|it| tag::value(&it.0, "psd").map(str::to_ascii_lowercase));
        let found = Found { at, text, is_above: true };
        match psd.as_deref() {
            Some("n") => return Ok(Some(found)),
            Some("y") => {
                // The organization is one label below a public suffix, if it has a record.
                let is_below = |it: &str| n_labels(it) == n_labels(name) + 1;
                let organization = chosen.filter(|it| is_below(it.0)).map(|it| it.1);
                return Ok(Some(organization.unwrap_or(found)));
            }
            // A top-level domain that does not say that it is a public suffix is no organization.
            _ if n_labels(name) == 1 => (),
            _ => chosen = Some((name, found)),
        }
    }
    Ok(chosen.map(|it| it.1))
}

fn judge(domain: &Domain, found: &Found) -> (JudgedStatus, String) {
    let Found { at, text, is_above } = found;
    let says = if *is_above {
        format!("{domain} has the DMARC policy of {at}, {}", quoted(text))
    } else {
        format!("{at} is {}", quoted(text))
    };
    let policy = match Policy::parse(text) {
        Ok(policy) => policy,
        Err(why) => {
            let advice = "Receivers then apply no policy. Repair it.";
            return (NonCompliant, format!("{says}: {why}. {advice}"));
        }
    };
    let (status, findings) = weigh(&policy, *is_above, &says);
    if policy.ignored.is_empty() {
        return (status, findings);
    }
    let ignored = policy.ignored.join(" and ");
    (status, format!("{findings} Receivers ignore {ignored} in it, which is no tag: repair it."))
}

/// What a valid policy comes to.
fn weigh(policy: &Policy, is_above: bool, says: &str) -> (JudgedStatus, String) {
    let action = if is_above { policy.below } else { policy.action };
    let name = action.as_str();
    if action == Action::None {
        let why = "forged mail is delivered as before";
        let advice =
            "Repair the senders that the reports show, then publish p=quarantine or p=reject.";
        return (NonCompliant, format!("{says}: with a policy of none, {why}. {advice}"));
    }
    let mut gaps = Vec::new();
    match policy.pct {
        Some(100) => (),
        Some(0) if action == Action::Quarantine => {
            let why = "with pct=0 it applies to no mail";
            return (NonCompliant, format!("{says}: {why}. Publish pct=100, or no pct."));
        }
        Some(pct) => gaps.push(format!("it applies to {pct} percent of the mail alone (pct)")),
        None => gaps.push("its pct is no number up to 100".to_owned()),
    }
    if policy.is_test {
        gaps.push("it is a test (t=y)".to_owned());
    }
    if !is_above && policy.below < action {
        gaps.push(format!("for subdomains it is only {} (sp)", policy.below.as_str()));
    }
    if !is_above && policy.absent < action.min(policy.below) {
        let weaker = policy.absent.as_str();
        gaps.push(format!("for subdomains that do not exist it is only {weaker} (np)"));
    }
    if gaps.is_empty() {
        return (Compliant, format!("{says}: the policy of {name} applies to all mail."));
    }
    let gaps = gaps.join(", and ");
    (Partial, format!("{says}: the policy is {name}, but {gaps}. Publish p={name} alone."))
}
