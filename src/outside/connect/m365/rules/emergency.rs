//! Emergency access accounts (ID-18): those that every policy for everyone leaves out.

use std::collections::BTreeSet;

use super::admin::user_name;
use super::conditional_access::{Demand, Excluded, Match, matches};
use crate::clock::Time;
use crate::connect::m365::tenant::Tenant;
use crate::connect::reading::JudgedStatus::NonCompliant;
use crate::connect::reading::{Judged, Sight};

/// Policies that can lock everyone out.
fn policies(tenant: &Tenant) -> Option<Vec<Match<'_>>> {
    let demands = [Demand::MfaForAll, Demand::PhishingResistantForAll, Demand::ManagedDevice];
    let mut all = Vec::new();
    for demand in demands {
        all.extend(matches(tenant, demand)?);
    }
    Some(all)
}

/// The accounts that all of these leave out. Empty if any leaves out more than a few, or if it is unknown.
pub(super) fn accounts(tenant: &Tenant) -> BTreeSet<&str> {
    find(tenant).unwrap_or_default()
}

fn find(tenant: &Tenant) -> Option<BTreeSet<&str>> {
    let mut common: Option<BTreeSet<&str>> = None;
    for it in policies(tenant)? {
        let ids = match it.excluded {
            Excluded::Few(ids) => ids,
            Excluded::Nobody => BTreeSet::new(),
            Excluded::Many(_) | Excluded::Kinds | Excluded::Unknown => return None,
        };
        common = Some(match common {
            Some(common) => common.intersection(&ids).copied().collect(),
            None => ids,
        });
    }
    common
}

/// ID-18. Whether they are watched and tested has to be attested, so it is partly met at most.
pub(super) fn exist(tenant: &Tenant, _: Time) -> Option<Judged> {
    let users = tenant.users.as_deref()?;
    let ids = find(tenant)?;
    let found = users.iter().filter(|it| it.id.as_deref().is_some_and(|it| ids.contains(it)));
    let left_out: Vec<&str> = found.map(user_name).collect();
    let (status, findings) = match left_out[..] {
        [] => {
            let advice = "Create two that exist only in the cloud, and exclude them.";
            let says = "No account is left out of every policy that can lock all users out.";
            (NonCompliant, format!("{says} {advice}"))
        }
        [one] => {
            let says =
                "is the only account that is left out of every policy that can lock all users out";
            (NonCompliant, format!("{one} {says}. Create a second one."))
        }
        _ => {
            let named = left_out.join(" and ");
            let says = "are left out of every policy that can lock all users out";
            let advice =
                "Attest that their sign-ins raise an alert, and when they were last tested.";
            let findings = format!("{named} {says}. {advice}");
            return Some(Judged::part("ID-18", "emergency_accounts", Sight::Facets, findings));
        }
    };
    Some(Judged::whole("ID-18", "emergency_accounts", status, findings))
}
