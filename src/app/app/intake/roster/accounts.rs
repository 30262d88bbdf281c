//! Lists of accounts: what a new one changes, what one changes that arrives late, and what undoing one changes.

use std::collections::{BTreeMap, HashSet};

use super::anew::{complete_read, judge_anew};
use super::lists_plan::{ConditionChange, ListsPlan};
use super::merging::{merge_oldest, merged};
use crate::app::event::account::{self, AccountOrigin};
use crate::app::event::envelope::NewEvent;
use crate::app::intake::derived::{self, Reach};
use crate::app::intake::list::{AccountJudge, Lists, Shrinking};
use crate::app::intake::shrink::{ReadKind, judge as judge_read};
use crate::clock::Time;
use crate::engine::fact::{DERIVED_CHECK, Observation, Subject};
use crate::engine::identity::leaver::DEPROVISIONED;
use crate::engine::identity::{self, AccountCondition, Identity, Transition};
use crate::error::Result;
use crate::id::ImportId;
use crate::store::ClientSnapshot;
use crate::store::per_client::account_list::{AccountList, ListMark, N_LISTS_KEPT};
use crate::store::per_client::fact::ObservationKey;
use crate::store::per_client::import::SourceScope;
use crate::store::per_client::roster::{ListKind, Roster};

/// Plans what a list changes.
pub(super) fn plan(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    (source, import): (&str, ImportId),
    lists: &Lists,
    accounts: &[Identity],
    judge: &AccountJudge<'_>,
) -> Result<()> {
    let place = (source, lists.scope.as_str());
    let roster = roster(place);
    let reads = rows.find_reads(roster)?;
    let marks = rows.list_account_lists(source, &lists.scope)?;
    let newest_at = marks.last().map(|it| it.at).max(reads.map(|it| it.at));
    let same_time = marks.iter().filter(|it| it.at == lists.at).map(|it| it.arrived_at);
    let arrived_at = same_time.max().map_or(judge.now, |it| judge.now.max(it.plus_ms(1)));
    let mark = ListMark { at: lists.at, arrived_at, import };
    let accounts = accounts.to_vec();
    let is_doubted = lists.complete && lists.shrinking != Shrinking::Confirmed;
    let list = AccountList { mark, is_complete: false, is_doubted, accounts };
    if newest_at.is_some_and(|it| lists.at < it) {
        return plan_late(plan, rows, place, lists, (list, &marks), judge);
    }
    let known: Vec<Identity> = rows.list_members(roster)?;
    let kind = plan.take_reads(rows, roster, list.accounts.len(), lists)?;
    let list = AccountList { is_complete: kind.means_gone(), ..list };
    let known_at = newest_at.unwrap_or(list.mark.at);
    let merged =
        plan_newest(plan, source, lists, (&list, &known, known_at), reads.is_some(), judge);
    if list.is_complete {
        plan.complete_reads.push(complete_read(place, &list));
    }
    let reach = reach(&list, reads.is_some());
    let was_failing = |key: &ObservationKey| {
        let before = rows.list_observations_like(key)?;
        Ok(before.iter().find(|it| it.is_effective()).is_some_and(|it| it.verdict.is_failing()))
    };
    let run = (source, import);
    plan.observations = derived::observations(run, lists, (&merged, reach), judge, was_failing)?;
    if marks.is_empty() && (reads.is_some() || !known.is_empty()) {
        // Lists before this one were not kept.
        let at = reads.map_or(Time::EPOCH, |it| it.at);
        let mark = ListMark { at, arrived_at: Time::EPOCH, import: ListMark::BEFORE };
        let (is_complete, accounts) = (reads.is_some(), known);
        plan.kept_lists.push(AccountList { mark, is_complete, is_doubted: false, accounts });
    }
    plan.kept_lists.push(list);
    let n_kept = marks.iter().filter(|it| !it.is_before_all()).count() + 1;
    if N_LISTS_KEPT < n_kept {
        let oldest = marks.iter().take(if marks[0].is_before_all() { 2 } else { 1 });
        let oldest = oldest.map(|it| rows.read_account_list(place, *it));
        merge_oldest(plan, &oldest.collect::<Result<Vec<_>>>()?, judge.rules.dormant_after_days);
    }
    Ok(())
}

fn reach(list: &AccountList, has_baseline: bool) -> Reach {
    match (list.is_complete, has_baseline) {
        (true, _) => Reach::Whole,
        (false, true) => Reach::Part,
        (false, false) => Reach::Unknown,
    }
}

/// Plans what the newest list changes. Returns the accounts that are known after it, with what it does not know taken from
/// what was known before.
fn plan_newest(
    plan: &mut ListsPlan,
    source: &str,
    lists: &Lists,
    (list, known, known_at): (&AccountList, &[Identity], Time),
    has_baseline: bool,
    judge: &AccountJudge<'_>,
) -> Vec<Identity> {
    let mut known: BTreeMap<&str, &Identity> =
        known.iter().map(|it| (it.external_id.as_str(), it)).collect();
    let mut merged = Vec::with_capacity(list.accounts.len());
    let (place, days) = ((source, lists.scope.as_str()), judge.rules.dormant_after_days);
    for seen in &list.accounts {
        let before = known.remove(seen.external_id.as_str());
        let after = seen.clone().over(before, (known_at, days));
        let has_baseline = has_baseline || before.is_some();
        for (condition, to) in transitions(before, Some(&after), (lists.at, days), has_baseline) {
            let event = event(condition, before, &after, place, (lists.at, days));
            // An administrator without MFA is announced even if it was so from the start.
            let is_announced = has_baseline || condition == AccountCondition::AdminMfaMissing;
            plan.changes.push(ConditionChange { event, to, is_announced });
        }
        if before.is_some_and(|it| it.user != after.user) {
            rename(plan, &after, place, (lists.at, days));
        }
        if before != Some(&after) {
            plan.count(ListKind::Identities, before.is_none());
            plan.identities.push(after.clone());
        }
        merged.push(after);
    }
    if list.is_complete {
        for (id, before) in known {
            for (condition, to) in transitions(Some(before), None, (lists.at, days), true) {
                let event = event(condition, Some(before), before, place, (lists.at, days));
                plan.changes.push(ConditionChange { event, to, is_announced: true });
            }
            plan.gone.push((ListKind::Identities, id.to_owned()));
        }
    } else {
        for before in known.into_values() {
            let after = before.clone().unlisted(known_at);
            if *before != after {
                plan.identities.push(after.clone());
            }
            merged.push(after);
        }
    }
    plan.moved.entry(ListKind::Identities).or_default().n_gone = plan.n_gone(ListKind::Identities);
    merged
}

/// Plans that the conditions of an account that are states show its name.
fn rename(plan: &mut ListsPlan, it: &Identity, place: (&str, &str), when: (Time, u16)) {
    let states = [
        AccountCondition::MfaDisabled,
        AccountCondition::AdminMfaMissing,
        AccountCondition::Dormant,
    ];
    plan.renamed.extend(states.map(|condition| event(condition, None, it, place, when)));
}

/// Plans what a list changes that is older than one that is known.
fn plan_late(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    place: (&str, &str),
    lists: &Lists,
    (list, marks): (AccountList, &[ListMark]),
    judge: &AccountJudge<'_>,
) -> Result<()> {
    plan.moved.entry(ListKind::Identities).or_default();
    if marks.first().is_none_or(|it| it.is_before_all() && list.mark < *it) {
        return Ok(()); // What was known then is not known any more.
    }
    let before = read_all(rows, place, marks)?;
    let mut after = before.clone();
    let index = after.partition_point(|it| it.mark < list.mark);
    let earlier = judge_anew(plan, place, &before[..index], &mut after[..index]);
    let (kind, _) = judge_read(earlier, list.accounts.len(), lists);
    plan.moved.entry(ListKind::Identities).or_default().is_held = kind == ReadKind::Held;
    let list = AccountList { is_complete: kind.means_gone(), ..list };
    if list.is_complete {
        plan.complete_reads.push(complete_read(place, &list));
    }
    after.insert(index, list.clone());
    let reads = judge_anew(plan, place, &before, &mut after);
    plan.reads.extend(reads.map(|it| (ListKind::Identities, it)));
    let replays = (Replay::of(&before, place, judge)?, Replay::of(&after, place, judge)?);
    restate(plan, rows, place, replays, Some(&list.mark.import), judge)?;
    plan.kept_lists.push(list);
    let has_base = after[0].mark.is_before_all();
    if N_LISTS_KEPT < after.len() - usize::from(has_base) {
        after.truncate(if has_base { 2 } else { 1 });
        merge_oldest(plan, &after, judge.rules.dormant_after_days);
    }
    Ok(())
}

/// Plans what undoing a list changes. Returns false if the run has no list that is kept.
pub(super) fn undo(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    (source, import): (&str, ImportId),
    scope: &str,
    judge: &AccountJudge<'_>,
) -> Result<bool> {
    let place = (source, scope);
    let marks = rows.list_account_lists(source, scope)?;
    let Some(index) = marks.iter().position(|it| it.import == import) else { return Ok(false) };
    let mut before = read_all(rows, place, &marks)?;
    // Earlier releases kept only that the newest list was held.
    let is_earlier = before.iter().all(|it| !it.is_doubted);
    let reads = rows.find_reads(roster(place))?.filter(|it| is_earlier && it.held.is_some());
    if let Some(reads) = reads {
        let held = before.iter_mut().filter(|it| it.mark.at == reads.at && !it.is_complete);
        held.for_each(|it| it.is_doubted = true);
    }
    let mut after = before.clone();
    after.remove(index);
    let reads = judge_anew(plan, place, &before, &mut after);
    let replays = (Replay::of(&before, place, judge)?, Replay::of(&after, place, judge)?);
    restate(plan, rows, place, replays, None, judge)?;
    plan.corrected.removed.retain(|it| it.import != import); // Undoing retracts them.
    plan.forgotten_lists.push(marks[index]);
    match reads {
        Some(reads) => plan.reads.push((ListKind::Identities, reads)),
        None => plan.forgotten_reads.push((scope.to_owned(), ListKind::Identities)),
    }
    Ok(true)
}

fn roster<'a>((source, scope): (&'a str, &'a str)) -> Roster<'a> {
    Roster { source, scope, part: ListKind::Identities }
}

fn read_all(
    rows: &ClientSnapshot,
    place: (&str, &str),
    marks: &[ListMark],
) -> Result<Vec<AccountList>> {
    marks.iter().map(|it| rows.read_account_list(place, *it)).collect()
}

/// What opens or closes between two lists.
fn transitions(
    before: Option<&Identity>,
    after: Option<&Identity>,
    (at, days): (Time, u16),
    has_baseline: bool,
) -> impl Iterator<Item = (AccountCondition, Transition)> {
    let changes = identity::account_changes(before, after, at, days).into_iter();
    changes.map(|it| (it.condition, it.to)).filter(move |(condition, to)| {
        // Privileges at the source's first read were not gained.
        let is_gain = *condition == AccountCondition::PrivilegeEscalation;
        has_baseline || !is_gain || *to == Transition::Close
    })
}

fn event(
    condition: AccountCondition,
    before: Option<&Identity>,
    shown: &Identity,
    (source, scope): (&str, &str),
    (at, days): (Time, u16),
) -> NewEvent {
    let origin = AccountOrigin { source, scope };
    match condition {
        AccountCondition::MfaDisabled => account::mfa_disabled(shown, origin, at),
        AccountCondition::AdminMfaMissing => account::admin_mfa_missing(shown, origin, at),
        AccountCondition::PrivilegeEscalation => {
            account::privilege_escalation(before, shown, origin, at)
        }
        AccountCondition::Dormant => account::dormant(shown, origin, days, at),
    }
}

/// What a condition of an account last was.
struct Told {
    at: Time,
    /// The account before and after the list that opened it. `None`: it is closed.
    opened: Option<(Option<Identity>, Identity)>,
}

/// What lists say one after the other.
#[derive(Default)]
struct Replay {
    accounts: BTreeMap<String, Identity>,
    /// When the newest of the lists was read.
    known_at: Time,
    /// By account.
    told: BTreeMap<(String, AccountCondition), Told>,
    /// What each of them shows about controls.
    observations: BTreeMap<ObservationKey, Observation>,
    /// There were lists before these that are not kept.
    has_history: bool,
}

impl Replay {
    fn of(lists: &[AccountList], place: (&str, &str), judge: &AccountJudge<'_>) -> Result<Self> {
        let mut replay = Self::default();
        let mut has_baseline = false;
        for list in lists {
            replay.take(list, place, has_baseline, judge)?;
            has_baseline |= list.is_complete;
        }
        Ok(replay)
    }

    fn take(
        &mut self,
        list: &AccountList,
        (source, scope): (&str, &str),
        has_baseline: bool,
        judge: &AccountJudge<'_>,
    ) -> Result<()> {
        let before = std::mem::take(&mut self.accounts);
        let when = (list.mark.at, judge.rules.dormant_after_days);
        let after = merged((before.clone(), self.known_at), list, when.1);
        let ids: HashSet<&String> = before.keys().chain(after.keys()).collect();
        let listed: HashSet<&str> =
            list.accounts.iter().map(|it| it.external_id.as_str()).collect();
        for id in ids {
            let (before, after) = (before.get(id), after.get(id));
            if after.is_some() && !listed.contains(id.as_str()) {
                continue;
            }
            let is_announced = has_baseline || before.is_some();
            for (condition, to) in transitions(before, after, when, is_announced) {
                let opened = after.filter(|_| to != Transition::Close);
                let opened = opened.map(|it| (before.cloned(), it.clone()));
                self.told.insert((id.clone(), condition), Told { at: when.0, opened });
            }
        }
        self.has_history |= list.mark.is_before_all();
        if !list.mark.is_before_all() {
            let lists = Lists { scope: scope.to_owned(), at: list.mark.at, ..Lists::default() };
            let known: Vec<Identity> = after.values().cloned().collect();
            let run = (source, list.mark.import);
            let known = (known.as_slice(), reach(list, has_baseline));
            let was_failing = |key: &ObservationKey| {
                let before = self.observations.values().rfind(|it| it.subject == key.subject);
                Ok(before.map_or(self.has_history, |it| it.verdict.is_failing()))
            };
            let shown = derived::observations(run, &lists, known, judge, was_failing)?;
            self.observations.extend(shown.into_iter().map(|it| (ObservationKey::from(&it), it)));
        }
        self.accounts = after;
        self.known_at = when.0;
        Ok(())
    }
}

/// Plans everything that differs between what was known and what is known now.
///
/// `late`: the list that is new, if one is.
fn restate(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    place: (&str, &str),
    (before, after): (Replay, Replay),
    late: Option<&ImportId>,
    judge: &AccountJudge<'_>,
) -> Result<()> {
    let stored: Vec<Identity> = rows.list_members(roster(place))?;
    let mut stored: BTreeMap<&str, &Identity> =
        stored.iter().map(|it| (it.external_id.as_str(), it)).collect();
    for it in after.accounts.values() {
        let known = stored.remove(it.external_id.as_str());
        if known != Some(it) {
            plan.count(ListKind::Identities, known.is_none());
            plan.identities.push(it.clone());
        }
    }
    plan.gone.extend(stored.keys().map(|it| (ListKind::Identities, (*it).to_owned())));
    plan.moved.entry(ListKind::Identities).or_default().n_gone = plan.n_gone(ListKind::Identities);

    restate_conditions(plan, place, (&before, &after), late.is_some(), judge);

    for (key, it) in &after.observations {
        if before.observations.get(key) == Some(it) {
            continue;
        }
        if late == Some(&it.import) {
            plan.observations.push(it.clone());
        } else {
            plan.corrected.replaced.push(it.clone());
        }
    }
    let removed = before.observations.into_keys();
    plan.corrected.removed.extend(removed.filter(|it| !after.observations.contains_key(it)));
    Ok(())
}

/// Plans what the lists of accounts that are kept show about people who left, now that others are known to have left.
pub(super) fn rejudge(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    judge: &AccountJudge<'_>,
) -> Result<()> {
    let subject = Subject::Control(DEPROVISIONED.to_owned());
    for SourceScope { source, scope, .. } in rows.list_sources()? {
        let place = (source.as_str(), scope.as_str());
        let marks = rows.list_account_lists(&source, &scope)?;
        let Some(newest) = marks.last() else { continue };
        let shown = Replay::of(&read_all(rows, place, &marks)?, place, judge)?.observations;
        let key = ObservationKey {
            subject: subject.clone(),
            source: source.clone(),
            scope: scope.clone(),
            check: DERIVED_CHECK.to_owned(),
            observed_at: newest.at,
            import: newest.import,
        };
        let stored = rows.list_observations_like(&key)?;
        let is_kept = |key: &ObservationKey| marks.iter().any(|it| it.import == key.import);
        let outdated = stored.iter().map(ObservationKey::from).filter(is_kept);
        plan.corrected.removed.extend(outdated.filter(|it| !shown.contains_key(it)));
        let now = shown.into_values().filter(|it| it.subject == subject && !stored.contains(it));
        plan.corrected.replaced.extend(now);
    }
    Ok(())
}

/// What a late list tells happened long ago: only what is still so opens a condition.
fn restate_conditions(
    plan: &mut ListsPlan,
    place: (&str, &str),
    (before, after): (&Replay, &Replay),
    is_late: bool,
    judge: &AccountJudge<'_>,
) {
    let days = judge.rules.dormant_after_days;
    for (id, now) in &after.accounts {
        if before.accounts.get(id).is_some_and(|it| it.user != now.user) {
            rename(plan, now, place, (after.known_at, days));
        }
    }
    let is_open = |replay: &Replay, key| replay.told.get(key).is_some_and(|it| it.opened.is_some());
    for (key, told) in &after.told {
        let Some((was, now)) = &told.opened else { continue };
        let condition = key.1;
        let is_state =
            matches!(condition, AccountCondition::AdminMfaMissing | AccountCondition::Dormant);
        if is_open(before, key) || (is_late && !is_state) {
            continue;
        }
        let event = event(condition, was.as_ref(), now, place, (told.at, days));
        let is_announced = !is_late || condition == AccountCondition::AdminMfaMissing;
        plan.changes.push(ConditionChange { event, to: Transition::Open, is_announced });
    }
    for (key, told) in &before.told {
        let Some((was, then)) = &told.opened else { continue };
        if !is_open(after, key) {
            let event = event(key.1, was.as_ref(), then, place, (told.at, days));
            let to = Transition::Close;
            plan.changes.push(ConditionChange { event, to, is_announced: false });
        }
    }
}
