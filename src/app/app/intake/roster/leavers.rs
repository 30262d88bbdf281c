//! Lists of people who left: what a new one changes, and what undoing one changes.

use std::collections::BTreeSet;

use super::accounts;
use super::lists_plan::ListsPlan;
use crate::app::intake::limit::require_leavers;
use crate::app::intake::list::{AccountJudge, Lists};
use crate::clock::Time;
use crate::engine::identity::leaver::{self, Leaver, Leavers};
use crate::error::Result;
use crate::id::ImportId;
use crate::import::inventory::LEAVERS_SCOPE;
use crate::store::ClientSnapshot;
use crate::store::per_client::account_list::ListMark;
use crate::store::per_client::leaver::{LeaverKey, LeaverList};
use crate::store::per_client::roster::{ListKind, Reads, Roster};

/// How many lists of each source are kept. What older ones say is kept as one more.
const N_LISTS_KEPT: usize = 5;

/// Returns who is known to have left.
pub(in crate::app) fn read(rows: &ClientSnapshot) -> Result<Leavers> {
    of_lists(rows, &rows.list_leaver_lists()?)
}

fn of_lists(rows: &ClientSnapshot, lists: &[LeaverList]) -> Result<Leavers> {
    let of_sources = || lists.chunk_by(|a, b| a.source == b.source);
    let people: Vec<Leaver> = of_sources().flat_map(known).collect();
    let read_at = of_sources().filter_map(|it| it.last().map(|it| it.mark.at)).min();
    let mut domains = BTreeSet::new();
    if !people.is_empty() {
        rows.visit_accounts(&mut |it| domains.extend(leaver::home_domain(&it)))?;
    }
    Ok(Leavers { people, read_at, domains })
}

fn known(lists: &[LeaverList]) -> Vec<Leaver> {
    leaver::known(lists.iter().map(|it| (it.is_complete, it.leavers.as_slice())))
}

/// Plans what a list changes.
pub(super) fn plan(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    (source, import): (&str, ImportId),
    lists: &Lists,
    leavers: &[Leaver],
    judge: &AccountJudge<'_>,
) -> Result<()> {
    let (of_source, others): (Vec<_>, Vec<_>) =
        rows.list_leaver_lists()?.into_iter().partition(|it| it.source == source);
    let roster = Roster { source, scope: LEAVERS_SCOPE, part: ListKind::Leavers };
    let n_left = leavers.iter().filter(|it| it.last_day.is_some()).count();
    let kind = plan.take_reads(rows, roster, n_left, lists)?;
    let newest = of_source.last().map(|it| it.mark.arrived_at);
    let arrived_at = newest.map_or(judge.now, |it| judge.now.max(it.plus_ms(1)));
    let list = LeaverList {
        source: source.to_owned(),
        mark: ListMark { at: lists.at, arrived_at, import },
        is_complete: kind.means_gone(),
        leavers: leavers.to_vec(),
    };
    let mut after = of_source;
    let index = after.partition_point(|it| it.mark < list.mark);
    after.insert(index, list.clone());
    let n_kept = after.iter().filter(|it| !it.mark.is_before_all()).count();
    if N_LISTS_KEPT < n_kept {
        merge_oldest(plan, &mut after, n_kept - N_LISTS_KEPT);
    }
    if after.iter().any(|it| it.mark == list.mark) {
        plan.kept_leavers.push(list);
    }
    after.extend(others);
    require_leavers(after.iter().map(|it| it.leavers.len()).sum())?;
    rejudge(plan, rows, after, judge)
}

/// Keeps what the oldest lists together say instead of the lists.
fn merge_oldest(plan: &mut ListsPlan, lists: &mut Vec<LeaverList>, n_more: usize) {
    let has_base = lists.first().is_some_and(|it| it.mark.is_before_all());
    let newer = lists.split_off(n_more + usize::from(has_base));
    let oldest = std::mem::replace(lists, newer);
    let Some(last) = oldest.last() else { return };
    let mark = ListMark { arrived_at: Time::EPOCH, import: ListMark::BEFORE, ..last.mark };
    let (is_complete, leavers) = (false, known(&oldest));
    let base = LeaverList { source: last.source.clone(), mark, is_complete, leavers };
    plan.forgotten_leavers.extend(oldest.iter().map(LeaverKey::from));
    plan.kept_leavers.push(base.clone());
    lists.insert(0, base);
}

/// Plans what undoing a list changes.
pub(super) fn undo(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    (source, import): (&str, ImportId),
    judge: &AccountJudge<'_>,
) -> Result<()> {
    let mut lists = rows.list_leaver_lists()?;
    let Some(index) = lists.iter().position(|it| it.mark.import == import) else { return Ok(()) };
    let undone = lists.remove(index);
    plan.forgotten_leavers.push(LeaverKey::from(&undone));
    LEAVERS_SCOPE.clone_into(&mut plan.scope);
    let left: Vec<LeaverList> = lists.iter().filter(|it| it.source == source).cloned().collect();
    match left.last() {
        Some(newest) => {
            let n = u32::try_from(known(&left).len()).unwrap_or(u32::MAX);
            plan.reads.push((ListKind::Leavers, Reads { n, at: newest.mark.at, held: None }));
        }
        None => plan.forgotten_reads.push((LEAVERS_SCOPE.to_owned(), ListKind::Leavers)),
    }
    rejudge(plan, rows, lists, judge)
}

/// Plans what the lists of accounts that are kept show, now that these are the lists of people who left.
fn rejudge(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    mut lists: Vec<LeaverList>,
    judge: &AccountJudge<'_>,
) -> Result<()> {
    lists.sort_by(|a, b| (&a.source, a.mark).cmp(&(&b.source, b.mark)));
    let leavers = of_lists(rows, &lists)?;
    accounts::rejudge(plan, rows, &AccountJudge { leavers: &leavers, ..*judge })
}
