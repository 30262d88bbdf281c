//! Counts in memory how often the parts of a client changed. Answers about a part are cached under its
//! version.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use crate::id::ClientId;
use crate::store::table::ClientPart;

/// A number for each part of a client that is cached separately. Each only rises while the process
/// runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Versions {
    pub profile: u64,
    /// Assets, and the risk scores shown with them.
    pub inventory: u64,
    /// Control results, frameworks, scores, risks, history, and the facts behind them.
    pub posture: u64,
}

/// The versions of all clients. A client that was not written since the start has zero, plus the
/// epoch.
#[derive(Debug, Default)]
pub(in crate::store) struct VersionTable {
    inner: RwLock<VersionState>,
}

#[derive(Debug, Default)]
struct VersionState {
    /// Added to every version, to change all of them at once.
    epoch: u64,
    moved: HashMap<ClientId, Versions>,
}

impl VersionTable {
    pub(in crate::store) fn of(&self, client: ClientId) -> Versions {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let Versions { profile, inventory, posture } =
            inner.moved.get(&client).copied().unwrap_or_default();
        Versions {
            profile: inner.epoch + profile,
            inventory: inner.epoch + inventory,
            posture: inner.epoch + posture,
        }
    }

    pub(in crate::store) fn advance(
        &self,
        changed: impl IntoIterator<Item = (ClientId, ClientPart)>,
    ) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        for (client, part) in changed {
            let versions = inner.moved.entry(client).or_default();
            match part {
                ClientPart::Profile => versions.profile += 1,
                ClientPart::Inventory => versions.inventory += 1,
                ClientPart::Posture => versions.posture += 1,
            }
        }
    }

    /// Changes all versions, for when it is unknown what changed.
    pub(in crate::store) fn advance_all(&self) {
        self.inner.write().unwrap_or_else(PoisonError::into_inner).epoch += 1;
    }
}
