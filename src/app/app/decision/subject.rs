//! Decisions about single subjects of a control: they are meant to be so, or the risk is accepted.

use std::collections::BTreeMap;

use crate::app::App;
use crate::app::assessment::log::Entry;
use crate::app::assessment::statement::{
    BY_CHARS_MAX, REASON_CHARS_MAX, Statement, decision_about,
};
use crate::app::event::cause::Cause;
use crate::app::input::{require_future, require_length, require_name, require_text};
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::control::controls_of;
use crate::engine::fact::{Observation, Verdict};
use crate::engine::subject::{N_SUBJECTS_MAX, SubjectDecision, SubjectRuling};
use crate::engine::{covers, known_failing};
use crate::error::{Error, Result};
use crate::id::SubjectDecisionId;
use crate::store::per_client::statement::subject::{StatedSubjects, SubjectStatement};
use crate::store::per_client::statement::{Author, StatementNumber};
use crate::store::{ClientSnapshot, ClientStore};

/// How many days a decision counts by default.
const TERM_DAYS: i64 = 365;
/// The longest term: a leap year.
const TERM_DAYS_MAX: i64 = 366;
/// How many subjects the decisions of a client that count name together.
pub const N_NAMED_MAX: usize = 10_000;
/// How many decisions of a client that count have a pattern.
pub const N_PATTERNS_MAX: usize = 100;
/// How many failing subjects of a control are listed.
pub const N_LISTED_MAX: usize = 1_000;
const SUBJECT_CHARS_MAX: usize = 500;
const PATTERN_CHARS_MAX: usize = 200;

/// A decision to add.
#[derive(Clone, Debug)]
pub struct NewSubjectDecision {
    pub ruling: SubjectRuling,
    pub subjects: StatedSubjects,
    pub reason: String,
    /// `None`: [`TERM_DAYS`].
    pub until: Option<Time>,
    pub by: Author,
}

/// What fails of a control, and what was decided about it.
#[derive(Clone, Debug)]
pub struct ControlSubjects {
    /// Those that are known by name, by name, at most [`N_LISTED_MAX`].
    pub listed: Vec<FailingSubject>,
    /// How many more are known by name.
    pub n_unlisted: usize,
    /// How many failures are of subjects that are not known by name, over all checks. No pattern matches them.
    pub n_unnamed: u64,
    /// Those that count, the one that ends first comes first.
    pub decisions: Vec<SubjectDecisionState>,
}

/// A subject that fails.
#[derive(Clone, Debug)]
pub struct FailingSubject {
    pub name: String,
    /// What counts of what was decided about it.
    pub decided: Option<(SubjectRuling, SubjectDecisionId)>,
}

/// A decision that counts.
#[derive(Clone, Debug)]
pub struct SubjectDecisionState {
    pub number: StatementNumber,
    pub decision: SubjectStatement,
    /// How many subjects that fail now it is about.
    pub n_matched: usize,
}

impl App {
    /// Returns what fails of a control, and what was decided about it.
    ///
    /// # Errors
    /// `NotFound` as [`Catalog::get_control`].
    pub fn control_subjects(&self, rows: &ClientSnapshot, code: &str) -> Result<ControlSubjects> {
        let catalog = self.catalog();
        let decisions = decisions_about(rows, &catalog, code, self.clock.now())?;
        let said: Vec<SubjectDecision> = decisions.iter().map(|it| decision_about(&it.1)).collect();
        let observations = failing(rows, &catalog, code)?;
        let mut known: BTreeMap<u64, Option<&str>> = BTreeMap::new();
        let mut n_unnamed = 0;
        for it in &observations {
            let of_one = known_failing(it);
            let n_named = of_one.values().flatten().count() as u64;
            n_unnamed += n_failed(it).saturating_sub(n_named);
            for (hash, name) in of_one {
                let known = known.entry(hash).or_default();
                *known = known.or(name);
            }
        }
        let mut n_matched = vec![0; said.len()];
        let mut subjects = Vec::new();
        for (hash, name) in known {
            let about = |it: &usize| covers(&said[*it], hash, name);
            let about: Vec<usize> = (0..said.len()).filter(about).collect();
            for it in &about {
                n_matched[*it] += 1;
            }
            let newest = about.into_iter().max_by_key(|it| (said[*it].at, said[*it].ruling));
            let decided = newest.map(|it| (said[it].ruling, decisions[it].1.id));
            subjects.extend(name.map(|name| FailingSubject { name: name.to_owned(), decided }));
        }
        subjects.sort_by(|a, b| a.name.cmp(&b.name));
        let n_unlisted = subjects.len().saturating_sub(N_LISTED_MAX);
        subjects.truncate(N_LISTED_MAX);
        let states = decisions.into_iter().zip(n_matched);
        let states = states.map(|((number, decision), n_matched)| SubjectDecisionState {
            number,
            decision,
            n_matched,
        });
        Ok(ControlSubjects { listed: subjects, n_unlisted, n_unnamed, decisions: states.collect() })
    }

    /// Decides about subjects of a control.
    ///
    /// # Errors
    /// `NotFound` as [`Catalog::get_control`]; `Invalid` with the field that breaks a rule; `Conflict` if too many decisions
    /// count; those of [`App::reassess`].
    pub async fn decide_subjects(
        &self,
        rows: &ClientStore,
        code: &str,
        new: NewSubjectDecision,
    ) -> Result<SubjectDecisionId> {
        let now = self.clock.now();
        let control = self.catalog().get_control(code)?.code.clone();
        let (subjects, until) = checked(&new, now)?;
        let lock = self.clients.lock(rows.id()).await;
        let all = rows.read(move |it: &ClientSnapshot| it.list_subject_statements(now)).await?;
        require_room(all.iter().map(|it| &it.1.subjects).chain([&subjects]))?;
        let id = SubjectDecisionId::made_at(now);
        let cause = cause_of(new.ruling);
        let decision = SubjectStatement {
            id,
            control,
            ruling: new.ruling,
            subjects,
            reason: new.reason,
            by: new.by.by.clone(),
            at: now,
            until,
        };
        self.state(rows, Statement::DecideSubjects(decision, new.by), cause, &lock).await?;
        Ok(id)
    }

    /// Withdraws a decision about subjects of a control.
    ///
    /// # Errors
    /// `NotFound` if the control has no such decision that counts; `Invalid` for the reason; those of [`App::reassess`].
    pub async fn withdraw_subjects(
        &self,
        rows: &ClientStore,
        (code, id): (&str, SubjectDecisionId),
        reason: String,
        by: Author,
    ) -> Result<()> {
        require_length("reason", Some(&reason), REASON_CHARS_MAX)?;
        let lock = self.clients.lock(rows.id()).await;
        let (now, catalog, code) = (self.clock.now(), self.catalog(), code.to_owned());
        let find = move |it: &ClientSnapshot| decisions_about(it, &catalog, &code, now);
        let found = rows.read(find).await?.into_iter().map(|it| it.1).find(|it| it.id == id);
        let found = found.ok_or_else(|| Error::not_found("decision not found"))?;
        let cause = cause_of(found.ruling);
        let entry = Entry { topic: found.topic(), reason, author: by };
        self.state(rows, Statement::Withdraw(entry), cause, &lock).await
    }
}

/// The decisions about a control that count, also those about one that it replaced.
fn decisions_about(
    rows: &ClientSnapshot,
    catalog: &Catalog,
    code: &str,
    now: Time,
) -> Result<Vec<(StatementNumber, SubjectStatement)>> {
    let index = catalog.find_control(code);
    let is_about = |it: &SubjectStatement| {
        index.is_some_and(|at| catalog.controls_named(&it.control).contains(&at))
    };
    catalog.get_control(code)?;
    let mut all = rows.list_subject_statements(now)?;
    all.retain(|it| is_about(&it.1));
    Ok(all)
}

/// What was seen to fail of a control.
fn failing(rows: &ClientSnapshot, catalog: &Catalog, code: &str) -> Result<Vec<Observation>> {
    let index = catalog.find_control(code);
    let is_wanted = |it: &Observation| {
        it.verdict.is_failing()
            && index.is_some_and(|control| controls_of(catalog, it).contains(&control))
    };
    let all = rows.list_current_observations(None, usize::MAX, is_wanted)?;
    Ok(all.into_iter().map(|it| it.1).collect())
}

fn n_failed(it: &Observation) -> u64 {
    match it.verdict {
        Verdict::Counted { failed, .. } | Verdict::Seen { failed, .. } => failed.into(),
        Verdict::Stated(_) => 1,
        Verdict::Gone => 0,
    }
}

/// Who is no member changes what applies to the client. An acceptance changes how the client meets it.
fn cause_of(ruling: SubjectRuling) -> Cause {
    match ruling {
        SubjectRuling::Intended => Cause::Scope,
        SubjectRuling::Accepted => Cause::Attestation,
    }
}

/// Checks a decision. Returns the subjects without duplicates, and when it ends.
fn checked(new: &NewSubjectDecision, now: Time) -> Result<(StatedSubjects, Time)> {
    require_text("reason", &new.reason, REASON_CHARS_MAX)?;
    require_name("by", &new.by.by, BY_CHARS_MAX)?;
    let subjects = match &new.subjects {
        StatedSubjects::Named(names) => StatedSubjects::Named(checked_names(names)?),
        StatedSubjects::Matching(pattern) => {
            require_text("pattern", pattern, PATTERN_CHARS_MAX)?;
            if pattern.chars().all(|it| matches!(it, '*' | '?' | ' ')) {
                let rule = "must have another character than * and ?; to decide about all of a control, attest it";
                return Err(Error::invalid_field("pattern", rule));
            }
            StatedSubjects::Matching(pattern.clone())
        }
    };
    let until = new.until.unwrap_or_else(|| now.plus_days(TERM_DAYS));
    require_future("until", until, now)?;
    if now.plus_days(TERM_DAYS_MAX) < until {
        return Err(Error::invalid_field("until", "must be within one year"));
    }
    Ok((subjects, until))
}

fn checked_names(names: &[String]) -> Result<Vec<String>> {
    if names.is_empty() || N_SUBJECTS_MAX < names.len() {
        let rule =
            format!("must have 1 to {N_SUBJECTS_MAX} entries; send more in further requests");
        return Err(Error::invalid_field("ids", rule));
    }
    let mut checked: Vec<String> = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        require_text(&format!("ids[{index}]"), name, SUBJECT_CHARS_MAX)?;
        checked.push(name.clone());
    }
    checked.sort_unstable();
    checked.dedup();
    Ok(checked)
}

/// # Errors
/// `Conflict` if these are too many to count at once.
fn require_room<'a>(all: impl Iterator<Item = &'a StatedSubjects>) -> Result<()> {
    let (mut n_named, mut n_patterns) = (0, 0);
    for it in all {
        match it {
            StatedSubjects::Named(names) => n_named += names.len(),
            StatedSubjects::Matching(_) => n_patterns += 1,
        }
    }
    let (n_max, what) = match (N_NAMED_MAX < n_named, N_PATTERNS_MAX < n_patterns) {
        (true, _) => (N_NAMED_MAX, "subjects by id"),
        (false, true) => (N_PATTERNS_MAX, "patterns"),
        (false, false) => return Ok(()),
    };
    Err(Error::conflict(format!(
        "decisions about {n_max} {what} can count for a client at once: withdraw some, or use a pattern"
    )))
}
