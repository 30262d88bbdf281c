//! How much a caller may send about a client: in one run, and in all.
//!
//! What is beyond a cap is refused as a whole. A client that is above a cap already keeps what it has; only more is
//! refused.

use std::collections::HashSet;

use crate::app::intake::list::Moved;
use crate::engine::fact::{Observation, ObservedThing};
use crate::error::{Error, Result};
use crate::store::ClientSnapshot;
use crate::store::per_client::roster::ListKind;

/// What one run may have.
pub const N_RUN_OBSERVATIONS_MAX: usize = 50_000;
/// Of all its observations.
pub const N_RUN_SUBJECTS_MAX: usize = 50_000;
pub const N_RUN_IDENTITIES_MAX: usize = 50_000;
pub const N_RUN_APPS_MAX: usize = 20_000;
pub const N_RUN_ASSETS_MAX: usize = 200_000;
pub const N_RUN_EVIDENCE_MAX: usize = 5_000;

/// What a client may have, over all its sources and scopes. Observations are counted once for each control, source, scope
/// and check; earlier ones are history.
pub const N_OBSERVATIONS_MAX: usize = 500_000;
pub const N_IDENTITIES_MAX: usize = 200_000;
pub const N_APPS_MAX: usize = 100_000;
/// Of the newest scan of each system and source.
pub const N_VULNERABILITIES_MAX: usize = 500_000;
/// Of all lists of people who left that are kept.
pub const N_LEAVERS_MAX: usize = 100_000;
/// How many rows the lists of accounts of a client may take. Each has up to 500 accounts.
pub const N_LIST_ROWS_MAX: usize = 20_000;

/// Refuses a run with more than `max` of something.
pub(super) fn require_run(what: &str, n: Option<usize>, max: usize) -> Result<()> {
    match n {
        Some(n) if max < n => Err(Error::too_large(format!(
            "{what}: {n} are more than the {max} that one run may have; split the run, for example by scope"
        ))),
        _ => Ok(()),
    }
}

/// # Errors
/// `TooLarge` if the client would have too many observations.
///
/// `known`: what is stored.
pub(super) fn require_observations(known: &[Observation], new: &[Observation]) -> Result<()> {
    if known.len() + new.len() <= N_OBSERVATIONS_MAX {
        return Ok(());
    }
    let mut keys: HashSet<ObservedThing<'_>> = known.iter().map(Observation::thing).collect();
    let n_before = keys.len();
    keys.extend(new.iter().map(Observation::thing));
    let n = keys.len();
    if N_OBSERVATIONS_MAX < n && n_before < n {
        return Err(Error::too_large(format!(
            "observations: the client would have {n}, and {N_OBSERVATIONS_MAX} is the most; undo imports of scopes that \
             are no longer needed (DELETE /api/clients/{{clientId}}/imports/{{importId}})"
        )));
    }
    Ok(())
}

/// # Errors
/// `TooLarge` if the client would have too many members of lists of this kind.
pub(super) fn require_members(rows: &ClientSnapshot, part: ListKind, moved: &Moved) -> Result<()> {
    let max = match part {
        ListKind::Identities => N_IDENTITIES_MAX,
        ListKind::Apps => N_APPS_MAX,
        ListKind::Observations | ListKind::Assets | ListKind::Leavers => return Ok(()),
    };
    if moved.n_added <= moved.n_gone {
        return Ok(());
    }
    let n = rows.count_members(part)? + (moved.n_added - moved.n_gone) as usize;
    if max < n {
        let what = part.as_str();
        return Err(Error::too_large(format!(
            "{what}: the client would have {n}, and {max} is the most; send an empty complete list for each scope that no \
             longer exists (\"complete\": true, \"{what}\": [])"
        )));
    }
    Ok(())
}

/// # Errors
/// `TooLarge` if the client would have too many vulnerabilities.
pub(super) fn require_vulnerabilities(n: usize) -> Result<()> {
    if n <= N_VULNERABILITIES_MAX {
        return Ok(());
    }
    Err(Error::too_large(format!(
        "vulnerabilities: the client would have {n}, and {N_VULNERABILITIES_MAX} is the most; undo imports of scans that \
         are no longer needed (DELETE /api/clients/{{clientId}}/imports/{{importId}})"
    )))
}

/// # Errors
/// `TooLarge` if the lists of people who left would have too many rows.
pub(super) fn require_leavers(n: usize) -> Result<()> {
    if n <= N_LEAVERS_MAX {
        return Ok(());
    }
    Err(Error::too_large(format!(
        "leavers: the lists that are kept for the client would have {n} people, and {N_LEAVERS_MAX} is the most; undo imports of \
         lists that are no longer needed (DELETE /api/clients/{{clientId}}/imports/{{importId}})"
    )))
}

/// # Errors
/// `TooLarge` if the lists of accounts that are kept would take too many rows.
///
/// `n_new`, `n_freed`: the rows that the run adds and removes.
pub(super) fn require_lists(rows: &ClientSnapshot, n_new: usize, n_freed: usize) -> Result<()> {
    if n_new <= n_freed {
        return Ok(());
    }
    let n = rows.count_account_rows()? + n_new - n_freed;
    if N_LIST_ROWS_MAX < n {
        return Err(Error::too_large(format!(
            "identities: the lists of accounts that are kept for the client would take {n} rows, and {N_LIST_ROWS_MAX} is \
             the most; undo imports of lists that are no longer needed (DELETE \
             /api/clients/{{clientId}}/imports/{{importId}})"
        )));
    }
    Ok(())
}
