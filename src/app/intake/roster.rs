//! Lists that a source sends about a client: accounts, apps, assets. They are compared with what it sent before.
//! Absence means gone only in a complete read that is accepted.

use std::collections::{BTreeMap, HashSet};

use super::account::{self as derived, is_derived};
use super::list::{Lists, Moved, Rules};
use super::shrink::{ReadKind, judge};
use super::step::Step;
use crate::app::App;
use crate::app::client::settings::Settings;
use crate::app::event::account::{self, AccountOrigin};
use crate::app::event::condition::ConditionPlan;
use crate::app::event::envelope::NewEvent;
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::fact::{Observation, Subject, Verdict};
use crate::engine::identity::{self, AccountCondition, AppUse, Identity, Transition};
use crate::error::{Error, Result};
use crate::id::{ClientId, ImportId};
use crate::store::ClientSnapshot;
use crate::store::per_client::evidence::Evidence;
use crate::store::per_client::import::Import;
use crate::store::per_client::roster::{ListKind, Reads, Roster};

/// Everything that the lists of one run write.
#[derive(Default)]
pub struct ListsPlan {
    scope: String,
    reads: Vec<(ListKind, Reads)>,
    /// The reads of observations, by scope.
    observation_reads: Vec<(String, Reads)>,
    identities: Vec<Identity>,
    apps: Vec<AppUse>,
    assets: Vec<String>,
    gone: Vec<(ListKind, String)>,
    changes: Vec<ConditionChange>,
    /// `None`: the lists change none.
    pub conditions: Option<ConditionPlan>,
    /// What complete lists show about controls.
    pub observations: Vec<Observation>,
    /// New or renewed entries of the register.
    pub evidence: Vec<Evidence>,
    pub moved: BTreeMap<ListKind, Moved>,
}

/// A condition that opens or closes.
#[derive(Clone, Debug)]
struct ConditionChange {
    event: NewEvent,
    to: Transition,
    is_announced: bool,
}

impl App {
    /// # Errors
    /// `NotFound` when the client is gone.
    pub(in crate::app) fn roster_rules(&self, id: ClientId) -> Result<Rules> {
        let absent = || Error::not_found("client not found");
        let client = self.clients.directory.find(id).ok_or_else(absent)?;
        let settings = Settings::of(&client.settings);
        Ok(Rules {
            dormant_after_days: settings.dormant_after_days(&self.options.settings),
            sanctioned_apps: settings.sanctioned_apps(),
        })
    }
}

/// Plans what the lists change.
///
/// `known`: the stored observations.
pub(in crate::app) fn plan(
    rows: &ClientSnapshot,
    (source, import): (&str, ImportId),
    lists: &Lists,
    rules: &Rules,
    catalog: &Catalog,
    (known, now): (&[Observation], Time),
) -> Result<ListsPlan> {
    let mut plan = ListsPlan { scope: lists.scope.clone(), ..ListsPlan::default() };
    if let Some(identities) = &lists.identities {
        let (kind, merged) = plan_identities(&mut plan, rows, source, lists, rules, identities)?;
        if kind.means_gone() {
            plan.observations =
                derived::observations(catalog, (source, import), lists, rules, &merged, known);
        }
    }
    if let Some(apps) = &lists.apps {
        plan_apps(&mut plan, rows, source, lists, rules, apps)?;
    }
    if let Some(assets) = &lists.assets {
        let roster = Roster { source, scope: &lists.scope, part: ListKind::Assets };
        let known: Vec<String> = rows.list_members(roster)?;
        let kind = plan.take_reads(rows, roster, assets.len(), lists)?;
        let listed: HashSet<&str> = assets.iter().map(String::as_str).collect();
        let known_set: HashSet<&str> = known.iter().map(String::as_str).collect();
        let is_new = |it: &&String| kind != ReadKind::Late && !known_set.contains(it.as_str());
        plan.assets = assets.iter().filter(is_new).cloned().collect();
        if kind.means_gone() {
            let gone = known.iter().filter(|it| !listed.contains(it.as_str()));
            plan.gone.extend(gone.map(|it| (ListKind::Assets, it.clone())));
        }
        plan.moved.entry(ListKind::Assets).or_default().n_gone = plan.n_gone(ListKind::Assets);
    }
    plan.plan_conditions(rows, now)?;
    Ok(plan)
}

impl ListsPlan {
    fn take_reads(
        &mut self,
        rows: &ClientSnapshot,
        roster: Roster<'_>,
        n: usize,
        lists: &Lists,
    ) -> Result<ReadKind> {
        let (kind, reads) = judge(rows.find_reads(roster)?, n, lists);
        self.reads.extend(reads.map(|it| (roster.part, it)));
        let moved = self.moved.entry(roster.part).or_default();
        moved.is_held = kind == ReadKind::Held;
        Ok(kind)
    }

    /// Judges a complete run's observations in each scope. Returns the scopes in which they are not accepted.
    ///
    /// `nothing_seen`: the scope and time of a read that found none.
    pub(in crate::app) fn judge_observations(
        &mut self,
        rows: &ClientSnapshot,
        import: &Import,
        (new, known): (&[Observation], &[Observation]),
        nothing_seen: Option<(&str, Time)>,
        confirm_shrink: bool,
    ) -> Result<HashSet<String>> {
        let mut held = HashSet::new();
        if !import.complete {
            return Ok(held);
        }
        let source = import.source.as_str();
        let of_scope = |all: &[Observation]| {
            let mut checks: BTreeMap<String, HashSet<(Subject, String)>> = BTreeMap::new();
            let counts = |it: &&Observation| {
                it.source == source && it.verdict != Verdict::Gone && !is_derived(it)
            };
            for it in all.iter().filter(counts) {
                let check = (it.subject.clone(), it.check.clone());
                checks.entry(it.scope.clone()).or_default().insert(check);
            }
            checks
        };
        let (known, mut read) = (of_scope(known), of_scope(new));
        if let Some((scope, _)) = nothing_seen {
            read.entry(scope.to_owned()).or_default();
        }
        for (scope, checks) in read {
            let roster = Roster { source, scope: &scope, part: ListKind::Observations };
            let n_known = known.get(&scope).map_or(0, HashSet::len);
            let n_known = u32::try_from(n_known).unwrap_or(u32::MAX);
            let of_scope = new.iter().filter(|it| it.scope == scope);
            let seen_at = nothing_seen.map_or(import.at, |(_, at)| at);
            let at = of_scope.map(|it| it.observed_at).max().unwrap_or(seen_at);
            let before = match rows.find_reads(roster)? {
                Some(reads) => Some(reads),
                None if n_known == 0 => None,
                // There were partial reads, but never a complete one.
                None => Some(Reads { n: n_known, at: at.min(import.at), held: None }),
            };
            let lists = Lists { at, complete: true, confirm_shrink, ..Lists::default() };
            let (kind, reads) = judge(before, checks.len(), &lists);
            self.observation_reads.extend(reads.map(|it| (scope.clone(), it)));
            if kind == ReadKind::Held {
                self.moved.entry(ListKind::Observations).or_default().is_held = true;
                held.insert(scope);
            }
        }
        Ok(held)
    }

    /// What is to be written, except for observations, evidence and conditions.
    pub(super) fn into_steps(self) -> impl Iterator<Item = Step> {
        let scope = self.scope;
        let reads = self.reads.into_iter().map(move |(part, reads)| {
            let scope = scope.clone();
            Step::Reads { scope, part, reads }
        });
        let observations = self.observation_reads.into_iter().map(|(scope, reads)| Step::Reads {
            scope,
            part: ListKind::Observations,
            reads,
        });
        let identities = self.identities.into_iter().map(Step::Identity);
        let apps = self.apps.into_iter().map(Step::App);
        let assets = self.assets.into_iter().map(Step::ListedAsset);
        let gone = self.gone.into_iter().map(|(part, id)| Step::Gone(part, id));
        reads.chain(observations).chain(identities).chain(apps).chain(assets).chain(gone)
    }

    fn plan_conditions(&mut self, rows: &ClientSnapshot, now: Time) -> Result<()> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let mut conditions = ConditionPlan::read(rows)?;
        for it in std::mem::take(&mut self.changes) {
            if it.to != Transition::Open {
                conditions.close(it.event.key(), now);
            }
            if it.to != Transition::Close {
                conditions.open(it.event, it.is_announced, now);
            }
        }
        self.conditions = Some(conditions);
        Ok(())
    }

    fn n_gone(&self, part: ListKind) -> u32 {
        let gone = self.gone.iter().filter(|(it, _)| *it == part).count();
        u32::try_from(gone).unwrap_or(u32::MAX)
    }

    fn count(&mut self, part: ListKind, is_new: bool) {
        let moved = self.moved.entry(part).or_default();
        if is_new {
            moved.n_added += 1;
        } else {
            moved.n_changed += 1;
        }
    }
}

/// Returns the list with what it does not know about MFA taken from the list before.
fn plan_identities(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    source: &str,
    lists: &Lists,
    rules: &Rules,
    identities: &[Identity],
) -> Result<(ReadKind, Vec<Identity>)> {
    let roster = Roster { source, scope: &lists.scope, part: ListKind::Identities };
    let known: Vec<Identity> = rows.list_members(roster)?;
    let has_baseline = rows.find_reads(roster)?.is_some();
    let kind = plan.take_reads(rows, roster, identities.len(), lists)?;
    if kind == ReadKind::Late {
        return Ok((kind, Vec::new()));
    }
    let mut merged = Vec::with_capacity(identities.len());
    let mut known: BTreeMap<&str, &Identity> =
        known.iter().map(|it| (it.external_id.as_str(), it)).collect();
    for seen in identities {
        let before = known.remove(seen.external_id.as_str());
        let after = seen.clone().over(before);
        let has_baseline = has_baseline || before.is_some();
        plan_conditions(plan, source, before, Some(&after), (lists, rules), has_baseline);
        if before != Some(&after) {
            plan.count(ListKind::Identities, before.is_none());
            plan.identities.push(after.clone());
        }
        merged.push(after);
    }
    if kind.means_gone() {
        for (id, before) in known {
            plan_conditions(plan, source, Some(before), None, (lists, rules), true);
            plan.gone.push((ListKind::Identities, id.to_owned()));
        }
    }
    plan.moved.entry(ListKind::Identities).or_default().n_gone = plan.n_gone(ListKind::Identities);
    Ok((kind, merged))
}

fn plan_conditions(
    plan: &mut ListsPlan,
    source: &str,
    before: Option<&Identity>,
    after: Option<&Identity>,
    (lists, rules): (&Lists, &Rules),
    has_baseline: bool,
) {
    let Some(shown) = after.or(before) else { return };
    let scope = &lists.scope;
    for change in identity::account_changes(before, after, lists.at, rules.dormant_after_days) {
        let condition = change.condition;
        if condition == AccountCondition::PrivilegeEscalation
            && change.to != Transition::Close
            && !has_baseline
        {
            continue; // Privileges at the source's first read were not gained.
        }
        let origin = AccountOrigin { source, scope };
        let days = rules.dormant_after_days;
        let event = match condition {
            AccountCondition::MfaDisabled => account::mfa_disabled(shown, origin, lists.at),
            AccountCondition::AdminMfaMissing => {
                account::admin_mfa_missing(shown, origin, lists.at)
            }
            AccountCondition::PrivilegeEscalation => {
                account::privilege_escalation(before, shown, origin, lists.at)
            }
            AccountCondition::Dormant => account::dormant(shown, origin, days, lists.at),
        };
        // An administrator without MFA is announced even if it was so from the start.
        let is_announced = has_baseline || condition == AccountCondition::AdminMfaMissing;
        plan.changes.push(ConditionChange { event, to: change.to, is_announced });
    }
}

fn plan_apps(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    source: &str,
    lists: &Lists,
    rules: &Rules,
    apps: &[AppUse],
) -> Result<()> {
    let roster = Roster { source, scope: &lists.scope, part: ListKind::Apps };
    let known: Vec<AppUse> = rows.list_members(roster)?;
    let has_baseline = rows.find_reads(roster)?.is_some();
    let kind = plan.take_reads(rows, roster, apps.len(), lists)?;
    if kind == ReadKind::Late {
        return Ok(());
    }
    let mut known: BTreeMap<&str, &AppUse> =
        known.iter().map(|it| (it.name.as_str(), it)).collect();
    for app in apps {
        let before = known.remove(app.name.as_str());
        let is_known = rules.sanctioned_apps.contains(&app.name.to_lowercase());
        let is_shadow = 0 < app.n_users && app.is_sanctioned != Some(true) && !is_known;
        let to = if is_shadow { Transition::Open } else { Transition::Close };
        plan.changes.push(app_change((source, lists), app, to, has_baseline || before.is_some()));
        if before != Some(app) {
            plan.count(ListKind::Apps, before.is_none());
            plan.apps.push(app.clone());
        }
    }
    if kind.means_gone() {
        for (name, app) in known {
            plan.changes.push(app_change((source, lists), app, Transition::Close, true));
            plan.gone.push((ListKind::Apps, name.to_owned()));
        }
    }
    plan.moved.entry(ListKind::Apps).or_default().n_gone = plan.n_gone(ListKind::Apps);
    Ok(())
}

fn app_change(
    (source, lists): (&str, &Lists),
    app: &AppUse,
    to: Transition,
    is_announced: bool,
) -> ConditionChange {
    let event = account::shadow_it(app, AccountOrigin { source, scope: &lists.scope }, lists.at);
    ConditionChange { event, to, is_announced }
}
