//! What is worth showing of an organization and decides nothing.

use super::row::Domain;
use super::snapshot::Snapshot;
use crate::text::line;

const TEXT_CHARS_MAX: usize = 300;
const N_NAMED_MAX: usize = 5;

/// Returns names and texts, as [`crate::connect::reading::Group::notes`] has them.
#[must_use]
pub fn notes(snapshot: &Snapshot) -> Vec<(String, String)> {
    let mut notes = Vec::new();
    let mut note = |name: &str, text: &str| {
        notes.push((name.to_owned(), line(text, TEXT_CHARS_MAX)));
    };
    if let Some(customer) = &snapshot.customer {
        let part = |it: &Option<String>| it.clone().unwrap_or_else(|| "unknown".to_owned());
        note("customer", &format!("{} ({})", part(&customer.customer_domain), part(&customer.id)));
    }
    if let Some(domains) = &snapshot.domains {
        let name = |it: &Domain| {
            let name = it.domain_name.clone()?;
            Some(if it.verified == Some(false) { format!("{name} (not verified)") } else { name })
        };
        note("domains", &domains.iter().filter_map(name).collect::<Vec<_>>().join(", "));
    }
    if let Some(removals) = snapshot.two_step_removals.as_ref().filter(|it| !it.is_empty()) {
        let mut rows: Vec<_> = removals
            .iter()
            .filter_map(|it| {
                let at = it.id.as_ref()?.time?.0;
                Some((at, it.actor.as_ref()?.email.as_deref()?))
            })
            .collect();
        rows.sort_unstable();
        let newest = rows.iter().rev().take(N_NAMED_MAX).map(|(at, who)| format!("{who} at {at}"));
        note("two_step_removed", &newest.collect::<Vec<_>>().join(", "));
    }
    notes
}
