//! Folds the records of one file into the observations and assets to store.

pub mod outcome;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::inventory;
use super::ration::refuse_beyond;
use super::text;
use super::vulnerability::fold::SystemFold;
use super::{Check, CheckOutcome, CheckSubject, Format, Record, ScannedSystem};
use crate::clock::Time;
use crate::engine::asset::Seen;
use crate::engine::fact;
use crate::engine::fact::{
    FINDINGS_CHARS_MAX, N_FAILING_MAX, N_NAMED_MAX, Observation, Subject, Verdict,
};
use crate::engine::identity::leaver::Leaver;
use crate::engine::memory::{Memory, N_NAMES_MAX, N_PASSING_MAX, NamedSubject};
use crate::engine::severity::Severity;
use crate::engine::vulnerability::SystemScan;
use crate::error::Result;
use crate::id::ImportId;
use outcome::SubjectOutcomes;

/// A file with more records is refused.
pub const N_RECORDS_MAX: u64 = 1_000_000;
/// A file with more pairs of check and scope is refused.
pub const N_OBSERVATIONS_MAX: usize = 50_000;
/// A file with more assets is refused.
pub const N_ASSETS_MAX: usize = 200_000;
/// A file with more people is refused.
pub const N_LEAVERS_MAX: usize = 20_000;
/// At most this many different reasons are counted separately. Others are counted as [`OTHER_REASONS`].
pub const N_REASONS_MAX: usize = 50;
pub const OTHER_REASONS: &str = "other reasons";
/// Once so many failing subjects of a file are kept by name, each check keeps only those that its findings name.
const N_NAMES_OF_FILE_MAX: usize = 20_000;

/// The origin of the records.
#[derive(Clone, Debug)]
pub struct ImportOrigin {
    /// The catalog's name of the tool.
    pub tool: &'static str,
    /// Label of the source.
    pub source: String,
    pub import: ImportId,
    /// `None`: the control's `max_age_days` decides.
    pub valid_until: Option<Time>,
    pub observed: Observed,
}

impl ImportOrigin {
    /// Of what a source saw at one time.
    #[must_use]
    pub fn at(tool: &'static str, source: &str, import: ImportId, at: Time) -> Self {
        let (source, observed) = (source.to_owned(), Observed::At(at));
        Self { tool, source, import, valid_until: None, observed }
    }
}

/// The time of the observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// The times of the file. `now` replaces a missing time and a time in the future.
    File { now: Time },
    /// This time, regardless of the file.
    At(Time),
}

impl Observed {
    /// The time of what the file does not date.
    const fn otherwise(self) -> Time {
        match self {
            Self::File { now } => now,
            Self::At(time) => time,
        }
    }
}

/// The content of a file.
#[derive(Clone, Debug)]
pub struct Folded {
    /// One for each pair of scope and check of one tool, in that order.
    pub observations: Vec<Observation>,
    pub outcomes: SubjectOutcomes,
    /// The same of checks without a result. A complete read has them, so that what was known of them is not gone.
    pub silent: Vec<Observation>,
    /// One for each external id, in that order.
    pub assets: Vec<Seen>,
    /// One for each system that a vulnerability scanner looked at, in the order of the external ids.
    pub scans: Vec<SystemScan>,
    /// In the file's order.
    pub leavers: Vec<Leaver>,
    /// Reason -> the number of records that were skipped for it.
    pub skipped: BTreeMap<String, u32>,
    /// Checks, systems, vulnerabilities, assets of an inventory, and skipped records. Other assets come with checks and are not
    /// counted.
    pub n_records: u64,
    /// Of checks and assets, sorted.
    pub scopes: Vec<String>,
    /// Of the oldest check. `None`: there was none, or none had a time.
    pub observed_from: Option<Time>,
    /// Of the newest check. `None`: there was none, or none had a time.
    pub observed_to: Option<Time>,
    /// The newest time of a check or system in the file, also when another time counts for all of them.
    pub file_observed_at: Option<Time>,
}

/// Takes records in any order.
#[derive(Debug)]
pub struct Fold {
    origin: ImportOrigin,
    /// By scope, check and tool.
    groups: BTreeMap<(String, String, &'static str), CheckGroup>,
    outcomes: SubjectOutcomes,
    /// How many failing subjects are kept by name.
    n_names: usize,
    assets: BTreeMap<String, Seen>,
    systems: SystemFold,
    leavers: Vec<Leaver>,
    skipped: BTreeMap<String, u32>,
    n_records: u64,
    scopes: BTreeSet<String>,
    observed_from: Option<Time>,
    observed_to: Option<Time>,
    file_observed_at: Option<Time>,
}

/// One check in one scope.
#[derive(Debug)]
struct CheckGroup {
    severity: Severity,
    title: String,
    remediation: Option<String>,
    passed: u32,
    failed: u32,
    accepted: u32,
    passing: Vec<u64>,
    failing: Vec<u64>,
    /// Those of `failing` that are muted.
    muted: BTreeSet<u64>,
    /// The first failing subjects.
    names: Vec<NamedSubject>,
    /// Of the first failing subject that has one.
    detail: Option<String>,
    observed_at: Option<Time>,
}

impl Fold {
    #[must_use]
    pub fn new(origin: ImportOrigin) -> Self {
        Self {
            origin,
            groups: BTreeMap::new(),
            outcomes: SubjectOutcomes::default(),
            n_names: 0,
            assets: BTreeMap::new(),
            systems: SystemFold::default(),
            leavers: Vec::new(),
            skipped: BTreeMap::new(),
            n_records: 0,
            scopes: BTreeSet::new(),
            observed_from: None,
            observed_to: None,
            file_observed_at: None,
        }
    }

    /// # Errors
    /// `Invalid` beyond [`N_RECORDS_MAX`], [`N_OBSERVATIONS_MAX`], [`N_ASSETS_MAX`] or
    /// [`super::vulnerability::fold::N_VULNERABILITIES_MAX`].
    pub fn add(&mut self, record: Record) -> Result<()> {
        match record {
            Record::Check(check) => {
                self.count_record()?;
                self.add_check(check)
            }
            Record::Asset(seen) => {
                // Of an inventory, they are the records.
                if self.origin.tool == Format::Inventory.tool() {
                    self.count_record()?;
                }
                self.add_asset(seen)
            }
            Record::System(system) => {
                self.count_record()?;
                let observed_at = self.time_of(system.observed_at);
                self.note_time(observed_at, system.observed_at);
                self.add_asset(system.seen.clone())?;
                self.systems.add_system(ScannedSystem { observed_at, ..system });
                Ok(())
            }
            Record::Vulnerability(found) => {
                self.count_record()?;
                self.systems.add(found)
            }
            Record::Leaver(leaver) => {
                // One who has not left comes with a skipped record.
                if leaver.last_day.is_some() {
                    self.count_record()?;
                }
                if self.leavers.is_empty() {
                    self.scopes.insert(inventory::LEAVERS_SCOPE.to_owned());
                }
                let is_within = self.leavers.len() < N_LEAVERS_MAX;
                refuse_beyond(is_within, N_LEAVERS_MAX as u64, "people")?;
                self.leavers.push(leaver);
                Ok(())
            }
            Record::Silent { scope, tool, check, observed_at } => {
                let observed_at = self.time_of(observed_at);
                let (tool, title) = (tool.unwrap_or(self.origin.tool), check.clone());
                let new = || CheckGroup::new(Severity::Low, title);
                let group = self.group((scope, check, tool), new)?;
                group.observed_at = group.observed_at.max(observed_at);
                Ok(())
            }
            Record::Skipped { at: _, reason } => {
                self.count_record()?;
                let full = N_REASONS_MAX <= self.skipped.len();
                let known = self.skipped.contains_key(&reason);
                let reason = if full && !known { OTHER_REASONS.to_owned() } else { reason };
                *self.skipped.entry(reason).or_default() += 1;
                Ok(())
            }
        }
    }

    fn count_record(&mut self) -> Result<()> {
        self.n_records += 1;
        refuse_beyond(self.n_records <= N_RECORDS_MAX, N_RECORDS_MAX, "records")
    }

    fn time_of(&self, observed_at: Option<Time>) -> Option<Time> {
        match self.origin.observed {
            Observed::File { now } => observed_at.map(|it| it.min(now)),
            Observed::At(time) => Some(time),
        }
    }

    /// `in_file`: the time as the file has it.
    fn note_time(&mut self, observed_at: Option<Time>, in_file: Option<Time>) {
        self.file_observed_at = self.file_observed_at.max(in_file);
        if let Some(time) = observed_at {
            self.observed_from = Some(self.observed_from.map_or(time, |it| it.min(time)));
            self.observed_to = self.observed_to.max(Some(time));
        }
    }

    fn group(
        &mut self,
        key: (String, String, &'static str),
        new: impl FnOnce() -> CheckGroup,
    ) -> Result<&mut CheckGroup> {
        if !self.scopes.contains(&key.0) {
            self.scopes.insert(key.0.clone());
        }
        let n_groups = self.groups.len();
        Ok(match self.groups.entry(key) {
            Entry::Occupied(group) => group.into_mut(),
            Entry::Vacant(place) => {
                let what = "pairs of check and scope";
                refuse_beyond(n_groups < N_OBSERVATIONS_MAX, N_OBSERVATIONS_MAX as u64, what)?;
                place.insert(new())
            }
        })
    }

    fn add_check(&mut self, check: Check) -> Result<()> {
        let observed_at = self.time_of(check.observed_at);
        self.note_time(observed_at, check.observed_at);
        let tool = check.tool.unwrap_or(self.origin.tool);
        let group = SubjectOutcomes::group(&check.scope, tool, &check.check);
        let before = self.outcomes.worsen(group, &check.subject, check.outcome);
        let n_names_max =
            if self.n_names < N_NAMES_OF_FILE_MAX { N_NAMES_MAX } else { N_NAMED_MAX };
        let (severity, title) = (check.severity, check.title);
        let new = || CheckGroup::new(severity, title);
        let group = self.group((check.scope, check.check, tool), new)?;
        group.severity = group.severity.max(check.severity);
        group.remediation = group.remediation.take().or(check.remediation);
        group.observed_at = group.observed_at.max(observed_at);
        if let Ok(before) = before {
            let is_named =
                group.count(before, check.outcome, check.subject, check.detail, n_names_max);
            self.n_names += usize::from(is_named);
        }
        Ok(())
    }

    fn add_asset(&mut self, seen: Seen) -> Result<()> {
        if !self.scopes.contains(&seen.scope) {
            self.scopes.insert(seen.scope.clone());
        }
        let seen_at = self.time_of(seen.seen_at);
        let n_assets = self.assets.len();
        match self.assets.entry(seen.external_id.clone()) {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.seen_at = known.seen_at.max(seen_at);
            }
            Entry::Vacant(place) => {
                refuse_beyond(n_assets < N_ASSETS_MAX, N_ASSETS_MAX as u64, "assets")?;
                place.insert(Seen { seen_at, ..seen });
            }
        }
        Ok(())
    }

    /// The observations and assets of all records.
    #[must_use]
    pub fn finish(self) -> Folded {
        let Self { origin, groups, systems, .. } = self;
        let otherwise = origin.observed.otherwise();
        let all = groups.into_iter();
        let all = all.map(|((scope, check, tool), it)| it.finish(scope, check, tool, &origin));
        let has_result = |it: &Observation| it.verdict.is_effective();
        let (observations, silent) = all.partition(has_result);
        Folded {
            observations,
            outcomes: self.outcomes,
            silent,
            assets: self.assets.into_values().collect(),
            scans: systems.finish(|it| it.unwrap_or(otherwise)),
            leavers: self.leavers,
            skipped: self.skipped,
            n_records: self.n_records,
            scopes: self.scopes.into_iter().collect(),
            observed_from: self.observed_from,
            observed_to: self.observed_to,
            file_observed_at: self.file_observed_at,
        }
    }
}

impl CheckGroup {
    fn new(severity: Severity, title: String) -> Self {
        Self {
            severity,
            title,
            remediation: None,
            passed: 0,
            failed: 0,
            accepted: 0,
            passing: Vec::new(),
            failing: Vec::new(),
            muted: BTreeSet::new(),
            names: Vec::new(),
            detail: None,
            observed_at: None,
        }
    }

    fn counter(&mut self, outcome: CheckOutcome) -> &mut u32 {
        match outcome {
            CheckOutcome::Pass => &mut self.passed,
            CheckOutcome::Accepted => &mut self.accepted,
            CheckOutcome::Fail => &mut self.failed,
        }
    }

    /// Counts a subject as `outcome`, which is worse than what it was counted as before. Returns whether it is kept by name.
    fn count(
        &mut self,
        before: Option<CheckOutcome>,
        outcome: CheckOutcome,
        subject: CheckSubject,
        detail: Option<String>,
        n_names_max: usize,
    ) -> bool {
        if let Some(before) = before {
            *self.counter(before) -= 1;
        }
        *self.counter(outcome) += 1;
        let hash = subject.hash();
        if outcome == CheckOutcome::Pass {
            self.passing.push(hash);
            return false;
        }
        let is_new = before < Some(CheckOutcome::Accepted);
        if is_new {
            self.failing.push(hash);
        }
        if outcome == CheckOutcome::Accepted {
            self.muted.insert(hash);
        } else {
            self.muted.remove(&hash);
            self.detail = self.detail.take().or(detail);
        }
        let is_named = is_new && self.names.len() < n_names_max;
        if is_named {
            self.names.push(NamedSubject { hash, name: subject.name });
        }
        is_named
    }

    fn finish(
        mut self,
        scope: String,
        check: String,
        tool: &str,
        origin: &ImportOrigin,
    ) -> Observation {
        let otherwise = origin.observed.otherwise();
        self.failing.sort_unstable();
        // Of several rows about one subject the worst counts.
        self.passing.retain(|it| self.failing.binary_search(it).is_err());
        self.passing.truncate(N_PASSING_MAX);
        self.passing.sort_unstable();
        self.failing.truncate(N_FAILING_MAX);
        Observation {
            subject: Subject::Check { tool: tool.to_owned() },
            source: origin.source.clone(),
            scope,
            check,
            observed_at: self.observed_at.unwrap_or(otherwise),
            valid_until: origin.valid_until,
            import: origin.import,
            // What is muted did not pass.
            verdict: Verdict::Counted { passed: self.passed, failed: self.failed + self.accepted },
            accepted: self.accepted,
            severity: self.severity,
            findings: text::some_block(&self.findings(), FINDINGS_CHARS_MAX),
            title: self.title,
            remediation: self.remediation,
            failing: self.failing,
            memory: Memory {
                names: self.names,
                muted: self.muted.into_iter().take(N_FAILING_MAX).collect(),
                healed: self.passing,
                ..Memory::default()
            }
            .into(),
            facets: Vec::new(),
            platform: None,
        }
    }

    /// Names of failing subjects on the first line, then sentences.
    fn findings(&self) -> String {
        let mut parts = Vec::new();
        let n_failed = (self.failed + self.accepted) as usize;
        if n_failed != 0 {
            let names: Vec<&str> = self.names.iter().map(|it| it.name.as_str()).collect();
            parts.push(fact::failing_line(&names, n_failed));
        }
        if self.accepted != 0 {
            parts.push(format!("{}{}", self.accepted, fact::MUTED_NOTE));
        }
        parts.extend(self.detail.clone());
        parts.join("\n")
    }
}
