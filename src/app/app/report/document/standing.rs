//! What the report about a client says, as numbers: from the same places as the API's answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{contradiction, wording};
use crate::app::App;
use crate::app::report::because::OpenQuestion;
use crate::app::report::client::ClientReport;
use crate::app::report::log::LogPart;
use crate::app::report::posture::{RiskOrder, page_open_risks, page_risks, rule_changes};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::clock::zone::Zone;
use crate::engine::catalog::Control;
use crate::engine::fact::Status;
use crate::engine::framework::{Framework, FrameworkId, Level};
use crate::engine::posture::{
    ControlOutcome, ExpectedLoss, FrameworkSummary, PartialBecause, Score, coverage,
};
use crate::engine::severity::Severity;
use crate::error::Result;
use crate::id::{ClientId, ImportId};
use crate::page::{Cut, Page};
use crate::paper::Language;
use crate::store::ClientSnapshot;
use crate::store::global::change::Placed;
use crate::store::global::client::Client;
use crate::store::per_client::history::score::ScoreMove;
use crate::store::per_client::import::{Dating, ImportAge};
use crate::store::per_client::posture::{OpenRisk, Resolution};
use crate::store::per_client::roster::HealthState;
use crate::store::per_client::statement::subject::SubjectStatement;

/// How far back the report compares.
pub(super) const QUARTER_DAYS: i64 = 90;
/// How far back the line of the score goes.
const TREND_DAYS: u32 = 366;
/// The risks that are named.
pub(super) const N_RISKS_NAMED: u32 = 10;
/// How many changes are read at once, and at most: a client has far fewer in a quarter.
const N_CHANGES_AT_ONCE: u32 = 10_000;
const N_CHANGES_MAX: usize = 1_000_000;

pub(super) struct Standing {
    pub(super) client: Arc<Client>,
    pub(super) now: Time,
    pub(super) zone: Zone,
    /// `None` until the first valid observation or attestation.
    pub(super) score: Option<Score>,
    /// In percent.
    pub(super) coverage: u8,
    /// The day, its last score and the time of it, oldest first.
    pub(super) days: Vec<(Time, u8)>,
    /// When the rules of assessment changed, since the first of them.
    pub(super) rules_changed_at: Vec<Time>,
    pub(super) loss: Option<ExpectedLoss>,
    /// Those in scope, in the catalog's order.
    pub(super) frameworks: Vec<FrameworkStanding>,
    /// The worst that are open and not accepted.
    pub(super) risks: Vec<OpenRisk>,
    /// All that are open and not accepted, by [`Severity::ALL`].
    pub(super) n_risks: [u64; 4],
    /// The worst that people accepted, and how many are.
    pub(super) accepted: Page<OpenRisk>,
    /// The worst that are muted in the tools that see them, and how many are.
    pub(super) muted: Page<OpenRisk>,
    /// Decisions that are contradicted by what was seen.
    pub(super) contradictions: Vec<contradiction::Named>,
    /// Decisions about single subjects that count, the one that ends first comes first.
    pub(super) subjects: Vec<SubjectStatement>,
    pub(super) quarter: Quarter,
    /// In the catalog's order.
    pub(super) controls: Vec<ControlStanding>,
    pub(super) sources: Vec<SourceStanding>,
    pub(super) questions: Vec<OpenQuestion>,
}

pub(super) struct FrameworkStanding {
    pub(super) id: FrameworkId,
    pub(super) name: String,
    pub(super) summary: FrameworkSummary,
}

pub(super) struct ControlStanding {
    pub(super) code: String,
    pub(super) title: String,
    pub(super) severity: Severity,
    pub(super) status: Status,
    pub(super) partial_because: Option<PartialBecause>,
    pub(super) score: Option<u8>,
    /// What to do about it.
    pub(super) remediation: String,
    /// A requirement of a framework in scope names it.
    pub(super) is_in_scope: bool,
}

pub(super) struct SourceStanding {
    pub(super) name: String,
    pub(super) last_seen_at: Time,
    /// Of its newest import, if who made it declared that it shows the state at that time.
    pub(super) declared: Option<ImportAge>,
    /// `None`: it has no runs of its own, as a file that is imported by hand.
    pub(super) state: Option<HealthState>,
}

/// What changed since the start of the quarter, or since the rules of assessment changed in it.
#[derive(Default)]
pub(super) struct Quarter {
    /// When the rules changed. `None`: not in this quarter.
    pub(super) rules_changed_at: Option<Time>,
    /// The score at its start, or the first one within it, and when that was.
    pub(super) start: Option<(Time, u8)>,
    pub(super) n_opened: u64,
    pub(super) n_fixed: u64,
    pub(super) n_accepted: u64,
    pub(super) n_gone: u64,
    /// Requirements that became compliant, and that no longer are, of each framework in scope in which any did.
    pub(super) requirements: Vec<(String, u64, u64)>,
}

impl Quarter {
    /// `start`: the score at the start of the quarter. Where the rules changed after it, the quarter begins with that.
    pub(super) fn of(rules: &[ScoreMove], start: Option<(Time, u8)>) -> Self {
        let changed = rules.last().filter(|it| start.is_some_and(|(at, _)| at < it.at));
        Self {
            rules_changed_at: changed.map(|it| it.at),
            start: changed.map_or(start, |it| Some((it.at, it.to))),
            ..Self::default()
        }
    }

    /// What happened at `at` is of it. `since`: its start. What a change of the rules itself did is of none.
    pub(super) fn has(&self, at: Time, since: Time) -> bool {
        since <= at && self.rules_changed_at.is_none_or(|changed| changed < at)
    }
}

impl Standing {
    pub(super) fn n_risks_open(&self) -> u64 {
        self.n_risks.iter().sum()
    }

    pub(super) fn not_assessed(&self) -> impl Iterator<Item = &ControlStanding> {
        self.controls.iter().filter(|it| it.status == Status::NotAssessed)
    }

    /// Controls that apply to the client.
    pub(super) fn n_applicable(&self) -> usize {
        self.controls.iter().filter(|it| it.status != Status::NotApplicable).count()
    }

    pub(super) fn control(&self, code: &str) -> Option<&ControlStanding> {
        self.controls.iter().find(|it| it.code == code)
    }
}

impl SourceStanding {
    pub(super) fn is_late(&self) -> bool {
        match self.state {
            Some(HealthState::Failing | HealthState::Silent) => true,
            Some(HealthState::Healthy | HealthState::Degraded) | None => false,
        }
    }
}

impl App {
    /// Reads the requirements of a client that changed since a time.
    ///
    /// # Errors
    /// As [`App::list_changes`].
    pub(super) async fn changes_since(
        &self,
        caller: &Caller,
        client: ClientId,
        since: Time,
    ) -> Result<Vec<Placed>> {
        let (mut after, mut found) = (0, Vec::new());
        while found.len() < N_CHANGES_MAX {
            let part = LogPart::After(after);
            let some = self.list_changes(caller, Some(client), part, N_CHANGES_AT_ONCE).await?;
            let Some(last) = some.last() else { break };
            after = last.sequence;
            found.extend(some.into_iter().filter(|it| since <= it.at));
        }
        Ok(found)
    }

    /// Reads everything else about a client. `changes`: those since the start of the quarter. `language`: that of titles.
    pub(super) fn client_standing(
        &self,
        rows: &ClientSnapshot,
        client: Arc<Client>,
        changes: &[Placed],
        language: Language,
    ) -> Result<Standing> {
        let report = self.client_report(rows)?;
        let (now, zone) = (report.now, self.time_zone_of(client.id));
        let since = now.plus_days(-QUARTER_DAYS);
        let mut days: Vec<_> = rows.list_days(TREND_DAYS)?;
        days.reverse();
        let days: Vec<_> = days.iter().map(|it| (it.calculated_at, it.score.overall)).collect();
        let frameworks = frameworks(rows, &report)?;
        let start = days.iter().rev().find(|it| it.0 < since).or(days.first()).copied();
        let rules = rule_changes(rows, days.first().map_or(now, |it| it.0))?;
        let mut quarter = Quarter::of(&rules, start);
        let mut n_risks = [0; 4];
        rows.visit_risks(|it| {
            count_risk(&it, since, &mut quarter);
            if it.is_shown() {
                let place = Severity::ALL.iter().position(|severity| *severity == it.risk.severity);
                n_risks[place.expect("every severity is among all")] += 1;
            }
        })?;
        let changes = changes.iter().filter(|it| quarter.has(it.at, since));
        quarter.requirements = requirements(&frameworks, changes);
        let cut = Cut { limit: N_RISKS_NAMED, offset: 0 };
        let mut risks = page_risks(rows, None, cut)?.items;
        let of_people = |it: &OpenRisk| it.acceptance().is_some();
        let mut accepted = page_open_risks(rows, cut, RiskOrder::Score, of_people)?;
        let of_tools = |it: &OpenRisk| it.is_accepted() && it.acceptance().is_none();
        let mut muted = page_open_risks(rows, cut, RiskOrder::Score, of_tools)?;
        for it in risks.iter_mut().chain(&mut accepted.items).chain(&mut muted.items) {
            it.risk.title = wording::risk(language, &report.catalog, &it.risk);
        }
        let score = rows.find_score()?.map(|it| it.score);
        let loss = rows.find_expected_loss()?.filter(|_| score.is_some());
        Ok(Standing {
            client,
            now,
            zone,
            score,
            coverage: coverage(&report.catalog, &report.controls),
            days,
            rules_changed_at: rules.iter().map(|it| it.at).collect(),
            loss,
            risks,
            n_risks,
            accepted,
            muted,
            contradictions: contradiction::named(
                language,
                &report.catalog,
                rows.list_contradictions()?,
            ),
            subjects: rows.list_subject_statements(now)?.into_iter().map(|it| it.1).collect(),
            quarter,
            controls: controls(&report, language),
            sources: sources(rows)?,
            questions: self.open_questions(rows, &report)?,
            frameworks,
        })
    }
}

fn frameworks(rows: &ClientSnapshot, report: &ClientReport) -> Result<Vec<FrameworkStanding>> {
    let in_scope = report.catalog.frameworks.iter();
    let in_scope = in_scope.filter(|it| report.frameworks.contains(&it.id));
    in_scope
        .map(|it| {
            let summary = rows.framework_outcome(it)?.summary;
            Ok(FrameworkStanding { id: it.id, name: it.name.clone(), summary })
        })
        .collect()
}

fn controls(report: &ClientReport, language: Language) -> Vec<ControlStanding> {
    let catalog = &report.catalog;
    let in_scope = report.frameworks.iter().filter_map(|it| catalog.find_framework(*it));
    let in_scope: BTreeSet<usize> = in_scope.flat_map(Framework::controls).collect();
    let both = catalog.controls.iter().zip(&report.controls).enumerate();
    let standing = |(index, (control, outcome)): (usize, (&Control, &ControlOutcome))| {
        let (title, remediation) = wording::control(language, control);
        ControlStanding {
            code: control.code.clone(),
            title: title.to_owned(),
            severity: control.severity,
            status: outcome.status,
            partial_because: outcome.partial_because,
            score: outcome.score,
            remediation: remediation.to_owned(),
            is_in_scope: in_scope.contains(&index),
        }
    };
    both.map(standing).collect()
}

pub(super) fn count_risk(it: &OpenRisk, since: Time, quarter: &mut Quarter) {
    quarter.n_opened += u64::from(quarter.has(it.opened_at, since));
    let Some(closed) = it.closed.filter(|it| quarter.has(it.at, since)) else { return };
    match closed.resolution {
        Resolution::Fixed => quarter.n_fixed += 1,
        Resolution::Accepted => quarter.n_accepted += 1,
        Resolution::ScopedOut | Resolution::Overridden | Resolution::Gone => quarter.n_gone += 1,
    }
}

/// The requirements that are compliant now and were not at the start, and the other way round.
fn requirements<'a>(
    frameworks: &[FrameworkStanding],
    changes: impl Iterator<Item = &'a Placed>,
) -> Vec<(String, u64, u64)> {
    let mut first_and_last: BTreeMap<(FrameworkId, &str), (Status, Status)> = BTreeMap::new();
    for it in changes.filter(|it| it.row.level == Level::Requirement) {
        let key = (it.framework, it.row.reference.as_str());
        first_and_last.entry(key).or_insert((it.row.from, it.row.to)).1 = it.row.to;
    }
    let is_compliant = |it: Status| it == Status::Compliant;
    let count = |framework: &FrameworkStanding| {
        let of_it = first_and_last.iter().filter(|it| it.0.0 == framework.id);
        let (mut better, mut worse) = (0, 0);
        for (_, (from, to)) in of_it {
            better += u64::from(!is_compliant(*from) && is_compliant(*to));
            worse += u64::from(is_compliant(*from) && !is_compliant(*to));
        }
        (better + worse != 0).then(|| (framework.name.clone(), better, worse))
    };
    frameworks.iter().filter_map(count).collect()
}

pub(super) fn sources(rows: &ClientSnapshot) -> Result<Vec<SourceStanding>> {
    let mut by_name: BTreeMap<String, Time> = BTreeMap::new();
    for it in rows.list_sources()? {
        let last = by_name.entry(it.source).or_insert(it.last_seen_at);
        *last = (*last).max(it.last_seen_at);
    }
    let health = rows.list_source_health()?;
    let mut declared = declared(rows)?;
    let of = |(name, last_seen_at): (String, Time)| {
        let state = health.iter().find(|it| it.source == name).map(|it| it.state);
        SourceStanding { declared: declared.remove(&name), name, last_seen_at, state }
    };
    Ok(by_name.into_iter().map(of).collect())
}

/// Of each source whose newest facts were declared to show the state when they were imported, that import.
fn declared(rows: &ClientSnapshot) -> Result<BTreeMap<String, ImportAge>> {
    let mut newest: BTreeMap<String, ImportId> = BTreeMap::new();
    for it in rows.list_imports()? {
        if it.retracted_at.is_none() && it.n_facts != 0 {
            newest.entry(it.source).or_insert(it.id); // They come newest first.
        }
    }
    let mut declared = BTreeMap::new();
    for (source, import) in newest {
        let age = rows.find_import_age(import)?.filter(|it| it.dating == Dating::Now);
        declared.extend(age.map(|it| (source, it)));
    }
    Ok(declared)
}
