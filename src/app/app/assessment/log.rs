//! The log of statements: the only place that adds to it. It begins with what an earlier release stored.

use crate::app::client::settings::Settings;
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::fact::{Attestation, Profile, RowDecision, RowDecisionKind, Usage};
use crate::error::{Error, Result};
use crate::store::global::client::Client;
use crate::store::per_client::evidence::Evidence;
use crate::store::per_client::fact::Attested;
use crate::store::per_client::import::Import;
use crate::store::per_client::posture::{Acceptance, OpenRisk};
use crate::store::per_client::statement::subject::{StatedSubjects, SubjectStatement};
use crate::store::per_client::statement::{
    Author, Channel, Content, Deed, Fate, StatedAnswer, StatedEvidence, StatementNumber,
    StatementRecord, StoredStatements, Topic, fates, standing,
};
use crate::store::{ClientBatch, ClientSnapshot};

/// How many records the log of a client has at most.
pub const N_STATEMENTS_MAX: u64 = 100_000;

/// How many subjects are named in the wording of a statement.
const N_NAMED_MAX: usize = 20;

/// What a record is about, and who makes it.
#[derive(Clone, Debug)]
pub struct Entry {
    pub topic: Topic,
    pub reason: String,
    pub author: Author,
}

/// Records a statement, which takes the place of what counted of its topic.
pub(in crate::app) fn state(
    batch: &mut ClientBatch<'_>,
    at: Time,
    entry: Entry,
    wording: Option<&str>,
    content: Content,
) -> Result<()> {
    begin(batch)?;
    let supersedes = batch.find_standing_statement(&entry.topic)?;
    let wording = wording.map(|text| batch.keep_wording(text)).transpose()?;
    add(batch, at, entry, Deed::State(Content { supersedes, wording, ..content }), None)
}

/// Records that an import was undone.
pub(in crate::app) fn undo_import(
    batch: &mut ClientBatch<'_>,
    at: Time,
    entry: Entry,
    import: &Import,
) -> Result<()> {
    let Import { file_name, format, source, by, n_facts, digest, .. } = import;
    let name = if file_name.is_empty() { "a file" } else { file_name };
    let wording = format!(
        "{name} ({format}) of {source}, imported on {} by {by}: {n_facts} facts\nSHA-256 {}",
        import.at,
        hex::encode(digest)
    );
    state(batch, at, entry, Some(&wording), content(StatedAnswer::Undone, at, None))
}

/// Records that what counts of a topic no longer counts. Records nothing if nothing counts.
pub(in crate::app) fn withdraw(batch: &mut ClientBatch<'_>, at: Time, entry: Entry) -> Result<()> {
    begin(batch)?;
    let Some(statement) = batch.find_standing_statement(&entry.topic)? else { return Ok(()) };
    add(batch, at, entry, Deed::Withdraw { statement }, None)
}

/// Records that a record was a mistake. `restored`: what counts then, by [`standing_without`], which says whether it can be
/// undone. It reads all that was ever said about the topic, and is not for the thread that writes.
pub(in crate::app) fn undo(
    batch: &mut ClientBatch<'_>,
    at: Time,
    entry: Entry,
    (record, restored): (StatementNumber, Option<StatementNumber>),
) -> Result<()> {
    begin(batch)?;
    add(batch, at, entry, Deed::Undo { record }, restored)
}

fn require_undoable(records: &[StatementRecord], number: StatementNumber) -> Result<()> {
    let found = records.iter().zip(fates(records)).find(|(it, _)| it.number == number);
    match found {
        None => Err(Error::not_found("statement not found")),
        Some((_, Fate::Undone(by))) => {
            Err(Error::conflict(format!("statement {number} is undone already, by {by}")))
        }
        Some((StatementRecord { deed: Deed::Undo { record }, .. }, _)) => Err(Error::conflict(
            format!("statement {number} undoes {record}: say again what is true"),
        )),
        Some(_) => Ok(()),
    }
}

/// The records with which the log of a client will begin. `None`: it has begun.
pub fn records_to_begin_with(rows: &ClientSnapshot) -> Result<Option<Vec<StatementRecord>>> {
    if rows.n_statements()? != 0 {
        return Ok(None);
    }
    Ok(Some(first_records(&rows.stored_statements()?, rows.find_profile()?.as_ref())))
}

pub(in crate::app) fn find(
    rows: &ClientSnapshot,
    number: StatementNumber,
) -> Result<Option<StatementRecord>> {
    match records_to_begin_with(rows)? {
        Some(first) => Ok(first.into_iter().find(|it| it.number == number)),
        None => rows.find_statement(number),
    }
}

/// Returns what would count of a topic without a record.
///
/// # Errors
/// `NotFound`; `Conflict` if it is undone already, or undoes another.
pub(in crate::app) fn standing_without(
    rows: &ClientSnapshot,
    topic: &Topic,
    number: StatementNumber,
) -> Result<Option<StatementRecord>> {
    let mut about = match records_to_begin_with(rows)? {
        Some(first) => first.into_iter().filter(|it| it.topic == *topic).collect(),
        None => rows.list_statements_about(topic)?,
    };
    require_undoable(&about, number)?;
    about.retain(|it| it.number != number);
    Ok(standing(&about).cloned())
}

/// Records the answers of the profile in which `settings` differ from those that are stored.
pub(in crate::app) fn state_profile(
    batch: &mut ClientBatch<'_>,
    at: Time,
    settings: &str,
    author: &Author,
) -> Result<()> {
    let before = batch.find_profile()?.map_or_else(Profile::new, |it| answers(&it.settings));
    let after = answers(settings);
    let entry = |question: &String| Entry {
        topic: Topic::Profile(question.clone()),
        reason: String::new(),
        author: author.clone(),
    };
    for (question, usage) in after.iter().filter(|(it, usage)| before.get(*it) != Some(*usage)) {
        state(batch, at, entry(question), None, of_answer(usage, at))?;
    }
    for question in before.keys().filter(|it| !after.contains_key(*it)) {
        withdraw(batch, at, entry(question))?;
    }
    Ok(())
}

fn answers(settings: &str) -> Profile {
    Settings::of(settings).profile()
}

fn add(
    batch: &mut ClientBatch<'_>,
    at: Time,
    entry: Entry,
    deed: Deed,
    restored: Option<StatementNumber>,
) -> Result<()> {
    let Entry { topic, reason, author } = entry;
    let number = batch.n_statements()? + 1;
    if N_STATEMENTS_MAX < number {
        let rule = format!("the client has {N_STATEMENTS_MAX} statements; no more are recorded");
        return Err(Error::conflict(rule));
    }
    // What a release carries over was not made by whoever made the batch.
    let made_in = batch.made_in().filter(|_| author.channel != Channel::Upgrade);
    let record =
        StatementRecord { number, recorded_at: at, topic, deed, reason, author, batch: made_in };
    batch.add_statement(&record, restored)?;
    made_in.map_or(Ok(()), |it| batch.note_in_batch(it, &record))
}

/// Begins the log, if it has not begun, with what an earlier release stored.
pub(in crate::app) fn begin(batch: &mut ClientBatch<'_>) -> Result<()> {
    if batch.n_statements()? != 0 {
        return Ok(());
    }
    for record in first_records(&batch.stored_statements()?, batch.find_profile()?.as_ref()) {
        batch.add_statement(&record, None)?;
    }
    Ok(())
}

/// Returns the records with which the log of a client begins that an earlier release stored: of each topic the last
/// statement, oldest first. Which ones came before, and when they were entered by whom, was not kept.
#[must_use]
pub fn first_records(stored: &StoredStatements, client: Option<&Client>) -> Vec<StatementRecord> {
    let controls = stored.attested.iter().map(|it| {
        let topic = Topic::Control(it.attestation.control.clone());
        let content = of_attestation(it, &stored.evidence);
        (topic, content, &it.attestation.reason, it.attestation.by.as_str())
    });
    let rows = stored.decisions.iter().map(|it| {
        let reference = it.reference.clone();
        let topic = Topic::Requirement { framework: it.framework, reference };
        (topic, of_decision(it), &it.reason, it.by.as_str())
    });
    let risks = stored.risks.iter().filter_map(|it| {
        let accepted = it.accepted.as_ref().filter(|_| it.closed.is_none())?;
        Some((Topic::Risk(it.id), of_acceptance(accepted), &accepted.reason, accepted.by.as_str()))
    });
    let settings = client.map(|it| (Settings::of(&it.settings), it.updated_at));
    let answers = settings.iter().flat_map(|(it, at)| it.answers().map(|answer| (answer, *at)));
    let none = String::new();
    let profile = answers.map(|(it, at)| {
        let topic = Topic::Profile(it.question.to_owned());
        (topic, of_answer(&it.usage, it.at.unwrap_or(at)), &none, it.by)
    });
    let mut all: Vec<_> = controls.chain(rows).chain(risks).chain(profile).collect();
    all.sort_by(|a, b| (a.1.from, &a.0).cmp(&(b.1.from, &b.0)));
    let numbered = all.into_iter().zip(1..);
    numbered
        .map(|((topic, content, reason, by), number)| StatementRecord {
            number,
            recorded_at: content.from,
            topic,
            reason: reason.clone(),
            author: Author::of_upgrade(by),
            deed: Deed::State(content),
            batch: None,
        })
        .collect()
}

fn content(answer: StatedAnswer, from: Time, until: Option<Time>) -> Content {
    let (evidence, supersedes, wording) = (None, None, None);
    Content { answer, from, until, evidence, overrides: false, supersedes, wording }
}

/// `register`: where the entry is that the attestation may refer to.
pub(in crate::app) fn of_attestation(it: &Attested, register: &[Evidence]) -> Content {
    let Attested { attestation, evidence_id } = it;
    let entry = register.iter().find(|it| Some(it.id) == *evidence_id);
    let written = attestation.evidence.as_deref();
    let reference = written.or_else(|| entry.map(|it| it.reference.as_str()));
    let evidence = reference.map(|reference| StatedEvidence {
        reference: reference.to_owned(),
        id: *evidence_id,
        sha256: entry.and_then(|it| it.sha256),
    });
    let answer = StatedAnswer::Status(attestation.status);
    let overrides = attestation.overrides;
    Content { evidence, overrides, ..content(answer, attestation.at, attestation.until) }
}

pub(in crate::app) fn of_decision(it: &RowDecision) -> Content {
    let (answer, reference) = match &it.kind {
        RowDecisionKind::OutOfScope => (StatedAnswer::OutOfScope, None),
        RowDecisionKind::Attested { evidence } => (StatedAnswer::Attested, Some(evidence.clone())),
    };
    let evidence = reference.map(|reference| StatedEvidence { reference, id: None, sha256: None });
    Content { evidence, ..content(answer, it.at, it.until) }
}

pub(in crate::app) fn of_acceptance(it: &Acceptance) -> Content {
    content(StatedAnswer::Accepted(it.severity, it.extent), it.at, Some(it.until))
}

pub(in crate::app) fn of_answer(usage: &Usage, at: Time) -> Content {
    let (answer, until) = match usage {
        Usage::Used => (StatedAnswer::Used, None),
        Usage::Unused { until, .. } => (StatedAnswer::Unused, Some(*until)),
        Usage::Unknown => (StatedAnswer::Unknown, None),
    };
    content(answer, at, until)
}

pub(in crate::app) fn of_hold(at: Time, until: Option<Time>) -> Content {
    content(StatedAnswer::Held, at, until)
}

/// `answer`: about the estate.
pub(in crate::app) fn of_estate(answer: StatedAnswer, at: Time, until: Option<Time>) -> Content {
    content(answer, at, until)
}

pub(in crate::app) fn of_subjects(it: &SubjectStatement) -> Content {
    content(StatedAnswer::Ruled(it.ruling), it.at, Some(it.until))
}

/// Returns the attestation that a record holds. `None`: it holds something else.
pub(in crate::app) fn attested_of(record: &StatementRecord) -> Option<Attested> {
    let Topic::Control(control) = &record.topic else { return None };
    attested_as(control, record)
}

/// Returns what a record says of a control. `None`: it holds something else.
pub(in crate::app) fn attested_as(control: &str, record: &StatementRecord) -> Option<Attested> {
    let content = record.content()?;
    let StatedAnswer::Status(status) = content.answer else { return None };
    let evidence = content.evidence.as_ref();
    let evidence_id = evidence.and_then(|it| it.id);
    let written = evidence.filter(|_| evidence_id.is_none());
    let attestation = Attestation {
        control: control.to_owned(),
        status,
        reason: record.reason.clone(),
        evidence: written.map(|it| it.reference.clone()),
        by: record.author.by.clone(),
        at: content.from,
        until: content.until,
        overrides: content.overrides,
    };
    Some(Attested { attestation, evidence_id })
}

/// Returns the decision that a record holds. `None`: it holds something else.
pub(in crate::app) fn decision_of(record: &StatementRecord) -> Option<RowDecision> {
    let Topic::Requirement { framework, reference } = &record.topic else { return None };
    let content = record.content()?;
    let kind = match &content.evidence {
        Some(it) => RowDecisionKind::Attested { evidence: it.reference.clone() },
        None => RowDecisionKind::OutOfScope,
    };
    Some(RowDecision {
        framework: *framework,
        reference: reference.clone(),
        kind,
        reason: record.reason.clone(),
        by: record.author.by.clone(),
        at: content.from,
        until: content.until,
    })
}

/// Returns the acceptance that a record holds. `None`: it holds something else.
pub(in crate::app) fn acceptance_of(record: &StatementRecord) -> Option<Acceptance> {
    let content = record.content()?;
    let StatedAnswer::Accepted(severity, extent) = content.answer else { return None };
    let (reason, by) = (record.reason.clone(), record.author.by.clone());
    Some(Acceptance { until: content.until?, reason, by, at: content.from, severity, extent })
}

/// Returns what a person sees who makes a statement about it.
pub(in crate::app) fn wording(catalog: &Catalog, topic: &Topic) -> Option<String> {
    match topic {
        Topic::Control(code) | Topic::Subjects { control: code, .. } => {
            let control = catalog.get_control(code).ok()?;
            let asked = control.question.as_ref().unwrap_or(&control.requires);
            Some(format!("{}\n{asked}", control.title))
        }
        Topic::Part { control: code, part } => {
            let about = wording(catalog, &Topic::Control(code.clone()))?;
            Some(format!("{about}\n{}", part.name(catalog.get_control(code).ok()?)))
        }
        Topic::Requirement { framework, reference } => {
            let framework = catalog.find_framework(*framework)?;
            let row = framework.rows.iter().find(|it| it.reference == *reference)?;
            Some(format!("{}\n{}", row.title, row.description))
        }
        Topic::Risk(_)
        | Topic::Profile(_)
        | Topic::Import(_)
        | Topic::Hold
        | Topic::Whole(_)
        | Topic::Member { .. } => None,
    }
}

/// Returns what a person sees who decides about subjects: the control, and who they are.
pub(in crate::app) fn subject_wording(catalog: &Catalog, it: &SubjectStatement) -> String {
    let about = wording(catalog, &it.topic()).unwrap_or_default();
    let subjects = match &it.subjects {
        StatedSubjects::Matching(pattern) => format!("Subjects whose names match {pattern}"),
        StatedSubjects::Named(names) => {
            let first = names.iter().take(N_NAMED_MAX).map(String::as_str);
            let line = first.collect::<Vec<_>>().join(", ");
            match names.len().saturating_sub(N_NAMED_MAX) {
                0 => line,
                n_more => format!("{line} and {n_more} more"),
            }
        }
    };
    format!("{about}\n{subjects}")
}

/// Returns what a person sees who accepts a risk.
pub(in crate::app) fn risk_wording(open: &OpenRisk) -> String {
    format!("{}, {}", open.risk.title, open.risk.severity.as_str())
}
