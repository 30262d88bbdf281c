//! Lists that a source sends about a client: accounts, apps, assets. They are compared with what it sent before.
//! Absence means gone only in a complete read that is accepted.

use std::collections::{BTreeMap, HashSet};

use super::account as derived;
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
use crate::engine::fact::{CompleteRead, Observation, SourceFacts, Subject, Verdict};
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
    forgotten_reads: Vec<(String, ListKind)>,
    changes: Vec<ConditionChange>,
    /// `None`: the lists change none.
    pub conditions: Option<ConditionPlan>,
    /// What complete lists show about controls.
    pub observations: Vec<Observation>,
    /// Those of the run that are accepted.
    pub complete_reads: Vec<CompleteRead>,
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
pub(in crate::app) fn plan(
    rows: &ClientSnapshot,
    (source, import): (&str, ImportId),
    lists: &Lists,
    rules: &Rules,
    catalog: &Catalog,
    now: Time,
) -> Result<ListsPlan> {
    let mut plan = ListsPlan { scope: lists.scope.clone(), ..ListsPlan::default() };
    if let Some(identities) = &lists.identities {
        let (kind, merged) = plan_identities(&mut plan, rows, source, lists, rules, identities)?;
        if kind.means_gone() {
            plan.observations =
                derived::observations(catalog, (source, import), lists, rules, &merged);
            plan.complete_reads.push(CompleteRead {
                source: source.to_owned(),
                scope: lists.scope.clone(),
                is_of_accounts: true,
                at: lists.at,
                import,
                n: u32::try_from(identities.len()).unwrap_or(u32::MAX),
            });
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

    /// Judges a complete run's observations in each scope, and notes the reads that are accepted.
    ///
    /// `nothing_seen`: the scope and time of a read that found none.
    pub(in crate::app) fn judge_observations(
        &mut self,
        rows: &ClientSnapshot,
        import: &Import,
        (new, known): (&[Observation], &SourceFacts),
        nothing_seen: Option<(&str, Time)>,
        confirm_shrink: bool,
    ) -> Result<()> {
        if !import.complete {
            return Ok(());
        }
        let source = import.source.as_str();
        let before = checks_by_scope(&known.observations, source);
        let earlier = reads_by_scope(&known.reads, source);
        let mut read = checks_by_scope(new, source);
        if let Some((scope, at)) = nothing_seen {
            read.insert(scope, (HashSet::new(), at));
        }
        for (scope, (checks, at)) in read {
            let roster = Roster { source, scope, part: ListKind::Observations };
            let n_known = before.get(scope).map_or(0, |(checks, _)| length(checks));
            let newest = rows.find_reads(roster)?;
            let is_late = newest.is_some_and(|it| at < it.at);
            let before = match newest {
                // It is compared with the read before it.
                Some(_) if is_late => earlier.get(scope).and_then(|it| newest_of(it, at)),
                Some(newest) => Some(newest),
                None if n_known == 0 => None,
                // There were partial reads, but never a complete one.
                None => Some(Reads { n: n_known, at: at.min(import.at), held: None }),
            };
            let lists = Lists { at, complete: true, confirm_shrink, ..Lists::default() };
            let (kind, reads) = judge(before, checks.len(), &lists);
            let reads = reads.filter(|_| !is_late);
            self.observation_reads.extend(reads.map(|it| (scope.to_owned(), it)));
            if kind == ReadKind::Held {
                self.moved.entry(ListKind::Observations).or_default().is_held = true;
                continue;
            }
            self.complete_reads.push(CompleteRead {
                source: source.to_owned(),
                scope: scope.to_owned(),
                is_of_accounts: false,
                at,
                import: import.id,
                n: length(&checks),
            });
        }
        Ok(())
    }

    /// Restores what is remembered of the reads of observations before those that are undone.
    ///
    /// `known`: all complete reads of the client.
    pub(in crate::app) fn restore_reads(
        &mut self,
        rows: &ClientSnapshot,
        (source, import): (&str, ImportId),
        undone: &[CompleteRead],
        known: &[CompleteRead],
    ) -> Result<()> {
        let mut left = reads_by_scope(known, source);
        for reads in left.values_mut() {
            reads.retain(|it| it.import != import);
        }
        for undone in undone.iter().filter(|it| !it.is_of_accounts) {
            let scope = undone.scope.as_str();
            let roster = Roster { source, scope, part: ListKind::Observations };
            let Some(stored) = rows.find_reads(roster)? else { continue };
            match left.get(scope).and_then(|it| newest_of(it, Time::MAX)) {
                Some(newest) => {
                    let at = if stored.at == undone.at { newest.at } else { stored.at };
                    self.observation_reads.push((scope.to_owned(), Reads { at, ..newest }));
                }
                None => self.forgotten_reads.push((scope.to_owned(), ListKind::Observations)),
            }
        }
        Ok(())
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
        let forgotten = self.forgotten_reads.into_iter();
        let forgotten = forgotten.map(|(scope, part)| Step::ForgetReads { scope, part });
        let reads = reads.chain(observations).chain(forgotten);
        reads.chain(identities).chain(apps).chain(assets).chain(gone)
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

type SubjectAndCheck<'a> = (&'a Subject, &'a str);

/// Returns the checks of a source and when they were last seen, by scope. Those of lists of accounts are left out.
fn checks_by_scope<'a>(
    seen: &'a [Observation],
    source: &str,
) -> BTreeMap<&'a str, (HashSet<SubjectAndCheck<'a>>, Time)> {
    let mut checks: BTreeMap<&str, (HashSet<_>, Time)> = BTreeMap::new();
    let counts =
        |it: &&Observation| it.source == source && it.verdict != Verdict::Gone && !it.is_derived();
    for it in seen.iter().filter(counts) {
        let none = || (HashSet::new(), it.observed_at);
        let (checks, at) = checks.entry(&it.scope).or_insert_with(none);
        checks.insert((&it.subject, it.check.as_str()));
        *at = it.observed_at.max(*at);
    }
    checks
}

/// Returns the complete reads of a source's checks, by scope.
fn reads_by_scope<'a>(
    reads: &'a [CompleteRead],
    source: &str,
) -> BTreeMap<&'a str, Vec<&'a CompleteRead>> {
    let mut by_scope: BTreeMap<&str, Vec<&CompleteRead>> = BTreeMap::new();
    for it in reads.iter().filter(|it| it.source == source && !it.is_of_accounts) {
        by_scope.entry(&it.scope).or_default().push(it);
    }
    by_scope
}

/// Returns the newest of these reads that is not after `at`.
fn newest_of(reads: &[&CompleteRead], at: Time) -> Option<Reads> {
    let newest = reads.iter().filter(|it| it.at <= at).max_by_key(|it| it.at);
    newest.map(|it| Reads { n: it.n, at: it.at, held: None })
}

fn length<T>(all: &HashSet<T>) -> u32 {
    u32::try_from(all.len()).unwrap_or(u32::MAX)
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
