//! What the tenant's licenses include.

use crate::connect::m365::tenant::{Rows, Sku, Tenant};

/// The id and the name of the service plan of Entra ID P2.
const P2: [&str; 2] = ["eec0eb4f-6444-4f95-aba0-50c24d67f998", "AAD_PREMIUM_P2"];

/// Returns true if it has Entra ID P2: Privileged Identity Management, and policies about risk. `None`: unknown.
#[must_use]
pub fn has_p2(tenant: &Tenant) -> Option<bool> {
    let skus = tenant.skus.as_deref()?.iter().filter(|it| is_active(it));
    let mut plans = skus.flat_map(|Sku { service_plans: Rows(plans), .. }| plans);
    Some(plans.any(|it| {
        let names = [&it.service_plan_id, &it.service_plan_name];
        let is_it = names.into_iter().flatten().any(|it| P2.contains(&it.as_str()));
        is_it && it.provisioning_status.as_deref() != Some("Disabled")
    }))
}

/// Returns the ids of the licenses that bring a mailbox. `None`: unknown.
pub(super) fn with_mailbox(tenant: &Tenant) -> Option<Vec<&str>> {
    let brings = |it: &&Sku| {
        it.service_plans.0.iter().any(|it| {
            let name = it.service_plan_name.as_deref().unwrap_or_default();
            // The foundation comes with many licenses, and is no mailbox.
            name.starts_with("EXCHANGE_S_") && name != "EXCHANGE_S_FOUNDATION"
        })
    };
    let skus = tenant.skus.as_deref()?.iter().filter(brings);
    Some(skus.filter_map(|it| it.sku_id.as_deref()).collect())
}

fn is_active(sku: &Sku) -> bool {
    let status = sku.capability_status.as_deref().unwrap_or_default();
    ["Enabled", "Warning"].contains(&status)
}
