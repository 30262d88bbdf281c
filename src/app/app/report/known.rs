//! What was found at clients, as long as their posture does not change: a list over all clients reads only the others.

use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::engine::fact::Status;
use crate::engine::severity::Severity;
use crate::id::ClientId;
use crate::store::Store;

/// What is kept at most of each kind. What is seldom wanted is forgotten first, and found again when it is.
const N_KEPT_MAX: usize = 50_000;

/// What a client may have none of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Nothing {
    /// No alert that is open or was open recently.
    Alert,
    /// No open risk, of any severity or of one.
    Risk(Option<Severity>),
    /// No statement about something that is not in the catalog of this digest.
    Orphan(u64),
}

/// How often the posture of a client had changed when something was found.
pub(super) type Version = u64;

/// Read this before the snapshot in which something is found.
pub(super) fn version(store: &Store, client: ClientId) -> Version {
    store.versions(client).posture
}

/// The statuses of the rows of a framework, in its order.
type Statuses = Arc<[Status]>;

pub(in crate::app) struct Known {
    nothing: Cache<(ClientId, Nothing), Version>,
    /// Of each framework by its digest.
    statuses: Cache<(ClientId, u64), (Version, Statuses)>,
}

impl Default for Known {
    fn default() -> Self {
        Self { nothing: Cache::new(N_KEPT_MAX), statuses: Cache::new(N_KEPT_MAX) }
    }
}

impl Known {
    pub(super) fn has_nothing(&self, client: ClientId, what: Nothing, now: Version) -> bool {
        self.nothing.get(&(client, what)) == Some(now)
    }

    pub(super) fn keep_nothing(&self, client: ClientId, what: Nothing, at: Version) {
        self.nothing.insert((client, what), at);
    }

    /// `digest`: that of the framework.
    pub(super) fn statuses(&self, client: ClientId, digest: u64, now: Version) -> Option<Statuses> {
        let (version, statuses) = self.statuses.get(&(client, digest))?;
        (version == now).then_some(statuses)
    }

    pub(super) fn keep_statuses(
        &self,
        client: ClientId,
        digest: u64,
        (at, statuses): (Version, Statuses),
    ) {
        self.statuses.insert((client, digest), (at, statuses));
    }
}
