//! Lists of accounts that are judged anew, because another one came late or is undone.

use std::collections::BTreeMap;

use super::lists_plan::ListsPlan;
use crate::app::intake::list::{Lists, Shrinking};
use crate::app::intake::shrink::judge;
use crate::engine::fact::CompleteRead;
use crate::store::per_client::account_list::{AccountList, ListMark};
use crate::store::per_client::roster::Reads;

/// Judges lists after a change, each after those before it: one that was held may be believed, and one that was believed because
/// another agreed may be held. What the change does not bear on stays as it was judged. Returns what is remembered of the reads.
///
/// `before`: the lists before the change.
pub(super) fn judge_anew(
    plan: &mut ListsPlan,
    place: (&str, &str),
    before: &[AccountList],
    after: &mut [AccountList],
) -> Option<Reads> {
    let earlier = verdicts(before);
    let mut reads = None;
    for list in after {
        let (is_complete, next) = judge_one(reads, list);
        let is_moved = earlier.get(&list.mark).is_some_and(|it| *it != is_complete);
        if is_moved && is_complete != list.is_complete {
            list.is_complete = is_complete;
            let read = complete_read(place, list);
            if is_complete {
                plan.complete_reads.push(read);
            } else {
                plan.corrected.unread.push(read);
            }
            plan.kept_lists.push(list.clone());
        }
        reads = match (is_complete == list.is_complete, list.is_complete) {
            (true, _) => next.or(reads),
            (false, true) => Some(reads_of(list)),
            (false, false) => reads.map(|it| Reads { at: list.mark.at, ..it }),
        };
    }
    reads
}

/// Whether each list is complete, by those before it.
fn verdicts(lists: &[AccountList]) -> BTreeMap<ListMark, bool> {
    let mut reads = None;
    let verdict = |list: &AccountList| {
        let (is_complete, next) = judge_one(reads, list);
        reads = next.or(reads);
        (list.mark, is_complete)
    };
    lists.iter().map(verdict).collect()
}

fn judge_one(reads: Option<Reads>, list: &AccountList) -> (bool, Option<Reads>) {
    if list.is_complete && !list.is_doubted {
        return (true, Some(reads_of(list)));
    }
    let shrinking = if list.is_complete { Shrinking::Doubted } else { Shrinking::DoubtedIfEmpty };
    let (at, complete) = (list.mark.at, list.is_doubted);
    let sent = Lists { at, complete, shrinking, ..Lists::default() };
    let (kind, next) = judge(reads, list.accounts.len(), &sent);
    (kind.means_gone(), next)
}

fn reads_of(list: &AccountList) -> Reads {
    Reads { n: length(list), at: list.mark.at, held: None }
}

fn length(list: &AccountList) -> u32 {
    u32::try_from(list.accounts.len()).unwrap_or(u32::MAX)
}

/// That a list is complete and accepted.
pub(super) fn complete_read((source, scope): (&str, &str), list: &AccountList) -> CompleteRead {
    CompleteRead {
        source: source.to_owned(),
        scope: scope.to_owned(),
        is_of_accounts: true,
        at: list.mark.at,
        import: list.mark.import,
        n: length(list),
    }
}
