//! What lists of accounts say together.

use std::collections::BTreeMap;

use super::lists_plan::ListsPlan;
use crate::clock::Time;
use crate::engine::identity::Identity;
use crate::store::per_client::account_list::{AccountList, ListMark};

/// Keeps what the oldest lists together say instead of the lists.
pub(super) fn merge_oldest(plan: &mut ListsPlan, oldest: &[AccountList], dormant_after_days: u16) {
    let Some(last) = oldest.last() else { return };
    let mark = ListMark { arrived_at: Time::EPOCH, import: ListMark::BEFORE, ..last.mark };
    let is_complete = oldest.iter().any(|it| it.is_complete);
    let (mut known, mut known_at) = (BTreeMap::new(), last.mark.at);
    for it in oldest {
        known = merged((known, known_at), it, dormant_after_days);
        known_at = it.mark.at;
        plan.kept_lists.retain(|kept| kept.mark != it.mark);
        plan.forgotten_lists.push(it.mark);
    }
    let accounts = known.into_values().collect();
    plan.kept_lists.push(AccountList { mark, is_complete, is_doubted: false, accounts });
}

/// Returns the accounts that are known after a list.
pub(super) fn merged(
    (mut before, known_at): (BTreeMap<String, Identity>, Time),
    list: &AccountList,
    dormant_after_days: u16,
) -> BTreeMap<String, Identity> {
    let read_before = (known_at, dormant_after_days);
    let over = |it: &Identity| it.clone().over(before.get(&it.external_id), read_before);
    let listed: Vec<Identity> = list.accounts.iter().map(over).collect();
    if list.is_complete {
        before.clear();
    }
    let unlisted = |(id, it): (String, Identity)| (id, it.unlisted(known_at));
    let mut before: BTreeMap<String, Identity> = before.into_iter().map(unlisted).collect();
    before.extend(listed.into_iter().map(|it| (it.external_id.clone(), it)));
    before
}
