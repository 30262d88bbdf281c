//! What the lists and complete reads of one run write.

use std::collections::{BTreeMap, HashSet};

use crate::app::event::condition::ConditionPlan;
use crate::app::event::envelope::NewEvent;
use crate::app::intake::list::{Lists, Moved, Shrinking};
use crate::app::intake::shrink::{ReadKind, judge};
use crate::app::intake::step::Step;
use crate::clock::Time;
use crate::engine::fact::{CompleteRead, Observation, SourceFacts, Subject, Verdict};
use crate::engine::identity::{AppUse, Identity, Transition};
use crate::error::Result;
use crate::store::ClientSnapshot;
use crate::store::per_client::account_list::{AccountList, ListMark};
use crate::store::per_client::evidence::Evidence;
use crate::store::per_client::fact::ObservationKey;
use crate::store::per_client::import::Import;
use crate::store::per_client::leaver::{LeaverKey, LeaverList};
use crate::store::per_client::roster::{ListKind, Reads, Roster};
use crate::store::per_client::scan::{ScanKey, StoredScan};

/// Everything that the lists of one run write.
#[derive(Default)]
pub struct ListsPlan {
    pub(in crate::app::intake) scope: String,
    pub(super) reads: Vec<(ListKind, Reads)>,
    /// The reads of observations, by scope.
    observation_reads: Vec<(String, Reads)>,
    pub(super) identities: Vec<Identity>,
    pub(super) apps: Vec<AppUse>,
    pub(super) assets: Vec<String>,
    pub(super) gone: Vec<(ListKind, String)>,
    pub(super) forgotten_reads: Vec<(String, ListKind)>,
    pub(super) forgotten_lists: Vec<ListMark>,
    pub(super) kept_lists: Vec<AccountList>,
    pub(super) forgotten_leavers: Vec<LeaverKey>,
    pub(super) kept_leavers: Vec<LeaverList>,
    pub(super) scans: Vec<StoredScan>,
    pub(super) forgotten_scans: Vec<ScanKey>,
    pub(super) changes: Vec<ConditionChange>,
    /// Conditions of accounts that have another name now, as they would be announced.
    pub(super) renamed: Vec<NewEvent>,
    /// `None`: the lists change none.
    pub conditions: Option<ConditionPlan>,
    /// What complete lists show about controls.
    pub observations: Vec<Observation>,
    /// What earlier lists of accounts show now that one more or one less is known.
    pub corrected: Corrections,
    /// Those of the run that are accepted.
    pub complete_reads: Vec<CompleteRead>,
    /// New or renewed entries of the register.
    pub evidence: Vec<Evidence>,
    pub moved: BTreeMap<ListKind, Moved>,
}

/// A condition that opens or closes.
#[derive(Clone, Debug)]
pub(super) struct ConditionChange {
    pub(super) event: NewEvent,
    pub(super) to: Transition,
    pub(super) is_announced: bool,
}

/// Stored observations that are replaced, those that are removed, and reads that are complete no more.
#[derive(Debug, Default)]
pub struct Corrections {
    pub replaced: Vec<Observation>,
    pub removed: Vec<ObservationKey>,
    pub unread: Vec<CompleteRead>,
}

impl Corrections {
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty() && self.removed.is_empty() && self.unread.is_empty()
    }

    /// Returns what no longer counts as it was stored.
    pub fn keys(&self) -> impl Iterator<Item = ObservationKey> {
        self.replaced.iter().map(ObservationKey::from).chain(self.removed.iter().cloned())
    }
}

impl ListsPlan {
    pub(super) fn take_reads(
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
        shrinking: Shrinking,
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
                Some(_) if is_late => {
                    let earlier = earlier.get(scope).and_then(|it| newest_of(it, at));
                    // Or with what partial reads had shown by then.
                    let partial = || n_seen_by(known, (source, scope), at);
                    earlier.or_else(|| partial().map(|n| Reads { n, at, held: None }))
                }
                Some(newest) => Some(newest),
                None if n_known == 0 => None,
                // There were partial reads, but never a complete one.
                None => Some(Reads { n: n_known, at: at.min(import.at), held: None }),
            };
            let lists = Lists { at, complete: true, shrinking, ..Lists::default() };
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
    /// `known`: the complete reads that count.
    pub(in crate::app) fn restore_reads(
        &mut self,
        rows: &ClientSnapshot,
        import: &Import,
        undone: &[CompleteRead],
        known: &[CompleteRead],
    ) -> Result<()> {
        if import.retracted_at.is_none() {
            return Ok(());
        }
        let (source, import, scopes) = (import.source.as_str(), import.id, &import.scopes);
        let is_undone = |scope: &String| undone.iter().any(|it| it.scope == *scope);
        for scope in scopes.iter().filter(|it| !is_undone(it)) {
            let roster = Roster { source, scope, part: ListKind::Observations };
            // A read that was held and undone is not the first of two that agree.
            if let Some(stored) = rows.find_reads(roster)?.filter(|it| it.held.is_some()) {
                self.observation_reads.push((scope.clone(), Reads { held: None, ..stored }));
            }
        }
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

    /// How many rows the lists take that are kept.
    pub(in crate::app::intake) fn n_kept_rows(&self) -> usize {
        self.kept_lists.iter().map(AccountList::n_rows).sum()
    }

    /// How many rows the lists take that are no longer kept.
    pub(in crate::app::intake) fn n_freed_rows(
        &self,
        rows: &ClientSnapshot,
        source: &str,
    ) -> Result<usize> {
        let place = (source, self.scope.as_str());
        let lists = self.forgotten_lists.iter();
        lists.map(|it| rows.count_rows_of_list(place, *it)).sum()
    }

    /// How many systems and vulnerabilities the scans have.
    pub(in crate::app::intake) fn n_scanned(&self) -> usize {
        self.scans.iter().map(|it| 1 + it.scan.found.len()).sum()
    }

    /// How many of these are too old to count.
    pub(in crate::app::intake) fn n_outdated(&self, now: Time) -> usize {
        let scans = self.scans.iter().map(|it| &it.scan).filter(|it| it.is_outdated(now));
        scans.map(|it| 1 + it.found.len()).sum()
    }

    /// What is to be written, except for observations, evidence and conditions.
    pub(in crate::app::intake) fn into_steps(self) -> impl Iterator<Item = Step> {
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
        let forgotten_lists = self.forgotten_lists.into_iter().map(Step::ForgetList);
        let kept = self.kept_lists.into_iter().flat_map(kept_steps);
        let reads = reads.chain(observations).chain(forgotten).chain(forgotten_lists).chain(kept);
        let forgotten_scans = self.forgotten_scans.into_iter().map(Step::ForgetScan);
        let scans = self.scans.into_iter().flat_map(StoredScan::into_rows).map(Step::Scan);
        let members = identities.chain(apps).chain(assets).chain(gone);
        let forgotten_leavers = self.forgotten_leavers.into_iter().map(Step::ForgetLeavers);
        let leavers = self.kept_leavers.into_iter().flat_map(LeaverList::into_rows);
        let leavers = forgotten_leavers.chain(leavers.map(Step::KeepLeavers));
        reads.chain(members).chain(forgotten_scans).chain(scans).chain(leavers)
    }

    pub(super) fn plan_conditions(&mut self, rows: &ClientSnapshot, now: Time) -> Result<()> {
        if self.changes.is_empty() && self.renamed.is_empty() {
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
        for it in std::mem::take(&mut self.renamed) {
            conditions.rename(&it);
        }
        self.conditions = Some(conditions);
        Ok(())
    }

    pub(super) fn n_gone(&self, part: ListKind) -> u32 {
        let gone = self.gone.iter().filter(|(it, _)| *it == part).count();
        u32::try_from(gone).unwrap_or(u32::MAX)
    }

    pub(super) fn count(&mut self, part: ListKind, is_new: bool) {
        let moved = self.moved.entry(part).or_default();
        if is_new {
            moved.n_added += 1;
        } else {
            moved.n_changed += 1;
        }
    }
}

/// Returns the steps that keep a list: at least one, also of an empty list.
fn kept_steps(list: AccountList) -> impl Iterator<Item = Step> {
    let mark = list.mark;
    (0..).zip(list.into_rows()).map(move |(number, rows)| Step::KeepAccounts {
        list: mark,
        number,
        rows,
    })
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

/// How many checks of a source and scope were seen until a time. `None`: none.
fn n_seen_by(known: &SourceFacts, (source, scope): (&str, &str), until: Time) -> Option<u32> {
    let counts = |it: &&Observation| {
        (it.source.as_str(), it.scope.as_str()) == (source, scope)
            && it.verdict != Verdict::Gone
            && !it.is_derived()
            && it.observed_at <= until
    };
    let seen = known.observations.iter().filter(counts);
    let checks: HashSet<SubjectAndCheck<'_>> =
        seen.map(|it| (&it.subject, it.check.as_str())).collect();
    (!checks.is_empty()).then(|| length(&checks))
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
