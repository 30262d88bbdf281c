//! All rules on one domain: from answers to a group, or to the queries that are still needed.

use std::collections::BTreeSet;

use super::answer::{Answer, Answers, Halt, Query, RecordKind, Sheet};
use super::domain::Domain;
use super::ruling::Ruling;
use super::{dkim, dmarc, mail, note, spf};
use crate::connect::reading::{Group, Judged, Stream, StreamState};
use crate::engine::fact::FINDINGS_CHARS_MAX;
use crate::text::line;

/// What to do next with a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Not empty, and nothing that has an answer.
    Ask(BTreeSet<Query>),
    Done(Group),
}

struct Rule {
    /// Also the name of the check.
    stream: &'static str,
    /// What the rule decides, if it decides anything.
    control: Option<&'static str>,
    read: fn(&Domain, &Sheet) -> Result<Ruling, Halt>,
}

const fn rule(
    stream: &'static str,
    control: Option<&'static str>,
    read: fn(&Domain, &Sheet) -> Result<Ruling, Halt>,
) -> Rule {
    Rule { stream, control, read }
}

const RULES: &[Rule] = &[
    rule("mx", None, mail::rule),
    rule("spf", Some("EML-01"), spf::rule),
    rule("dkim", Some("EML-02"), dkim::rule),
    rule("dmarc", Some("EML-03"), dmarc::rule),
    rule("mta_sts", None, note::mta_sts),
    rule("tls_rpt", None, note::tls_rpt),
    rule("caa", None, note::caa),
    rule("dnssec", None, note::dnssec),
];

/// Judges a domain by what is known. The same answers always give the same step.
///
/// Each stream stands alone: one that failed has no observation, and the others are not touched.
#[must_use]
pub fn judge(domain: &Domain, answers: &Answers) -> Step {
    let sheet = Sheet::new(answers);
    // First, so that nothing else is asked about a domain that does not exist.
    let apex = [RecordKind::Txt, RecordKind::Mx].map(|it| sheet.find(it, domain.as_str()));
    let [Some(txt), Some(mx)] = apex else { return Step::Ask(sheet.into_unasked()) };
    // Some servers say of a kind that there is no such name where another kind has records.
    let is_there = |it: &Answer| matches!(it, Answer::Records(_) | Answer::NoData);
    let apex = [txt, mx];
    let is_absent = apex.contains(&&Answer::NoName) && !apex.iter().any(|it| is_there(it));
    let mut group = Group { scope: domain.as_str().to_owned(), ..Group::default() };
    for rule in RULES {
        let ruling = if is_absent {
            Ruling::failed("the domain does not exist".to_owned())
        } else {
            match (rule.read)(domain, &sheet) {
                Ok(ruling) => ruling,
                Err(Halt::Failed(why)) => Ruling::failed(why),
                Err(Halt::Unasked) => continue,
            }
        };
        add(&mut group, rule, ruling);
    }
    group.is_whole = group.streams.iter().all(|it| it.state == StreamState::Complete);
    let unasked = sheet.into_unasked();
    if unasked.is_empty() { Step::Done(group) } else { Step::Ask(unasked) }
}

/// The controls that a rule decides of which not everything was read.
pub(super) fn unread(group: &Group) -> impl Iterator<Item = &'static str> {
    let is_read = |rule: &&Rule| {
        let mut streams = group.streams.iter();
        streams.any(|it| it.name == rule.stream && it.state == StreamState::Complete)
    };
    RULES.iter().filter(move |it| !is_read(it)).filter_map(|it| it.control)
}

fn add(group: &mut Group, rule: &Rule, ruling: Ruling) {
    let Ruling { state, reason, n_rows, verdict, notes } = ruling;
    let n_rows = u64::try_from(n_rows).expect("records of one domain");
    group.streams.push(Stream { name: rule.stream.to_owned(), state, reason, n_rows });
    group.notes.extend(notes.into_iter().map(|(name, text)| (name.to_owned(), text)));
    if let (Some(control), Some((status, findings))) = (rule.control, verdict) {
        let findings = line(&findings, FINDINGS_CHARS_MAX);
        group.observations.push(Judged::whole(control, rule.stream, status, findings));
    }
}
