//! Connections that run now.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::app::App;
use crate::clock::Clock;
use crate::connect::call::{Api, Dialect, Endpoints};
use crate::connect::dns::DnsResolver;
use crate::egress::{Egress, EgressPolicy};
use crate::error::Result;
use crate::id::{ClientId, ConnectionId};
use crate::secret::Sealer;

/// Connections that run at the same time. As many can be tested.
pub const N_AT_ONCE_MAX: usize = 8;
/// Of one client, or of the managed service provider itself, so that one whose environment is slow does not keep the others waiting.
pub(super) const N_PER_CLIENT_AT_ONCE_MAX: usize = 2;

/// A request that takes longer has failed.
const CALL_TIMEOUT: Duration = Duration::from_mins(1);

/// What runs of connections need to know of the configuration.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// The name server to ask. `None`: those of the system.
    pub dns_server: Option<SocketAddr>,
    /// Where requests may be sent.
    pub egress: EgressPolicy,
    pub endpoints: Endpoints,
}

/// What runs now, and what wakes it.
pub struct Connects {
    options: ConnectOptions,
    egress: Arc<Egress>,
    endpoints: Arc<Endpoints>,
    pub(super) sealer: Sealer,
    wake: Notify,
    /// Connections that run.
    pub(super) running: Places,
    /// Connections that people test.
    pub(super) testing: Places,
}

/// Connections that are being read, and their clients.
#[derive(Default)]
pub(super) struct Places(Mutex<BTreeMap<ConnectionId, Option<ClientId>>>);

/// A connection is being read until this is dropped.
pub(super) struct Place<'a> {
    places: &'a Places,
    id: ConnectionId,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.places.lock().remove(&self.id);
    }
}

impl Places {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConnectionId, Option<ClientId>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of these that may begin now: they have not, and their client has a place.
    pub(super) fn open_to(&self, due: Vec<(ConnectionId, Option<ClientId>)>) -> Vec<ConnectionId> {
        let begun = self.lock();
        let mut n_of: BTreeMap<Option<ClientId>, usize> = BTreeMap::new();
        begun.values().for_each(|it| *n_of.entry(*it).or_default() += 1);
        let mut open = Vec::new();
        for (id, client) in due {
            let n = n_of.entry(client).or_default();
            if !begun.contains_key(&id) && *n < N_PER_CLIENT_AT_ONCE_MAX {
                *n += 1;
                open.push(id);
            }
        }
        open
    }

    /// `None`: it has begun already, or its client has no place.
    pub(super) fn begin(&self, id: ConnectionId, client: Option<ClientId>) -> Option<Place<'_>> {
        let mut begun = self.lock();
        let n = begun.values().filter(|it| **it == client).count();
        if begun.contains_key(&id) || N_PER_CLIENT_AT_ONCE_MAX <= n || N_AT_ONCE_MAX <= begun.len()
        {
            return None;
        }
        begun.insert(id, client);
        Some(Place { places: self, id })
    }
}

impl Connects {
    pub(in crate::app) fn of(options: &ConnectOptions, sealer: Sealer) -> Result<Self> {
        let n_at_once = 2 * N_AT_ONCE_MAX; // Those that run and those that are tested, one request each.
        let egress = Egress::new(options.egress.clone(), CALL_TIMEOUT, n_at_once)?;
        Ok(Self {
            egress: Arc::new(egress),
            endpoints: Arc::new(options.endpoints.clone()),
            options: options.clone(),
            sealer,
            wake: Notify::new(),
            running: Places::default(),
            testing: Places::default(),
        })
    }

    /// A vendor's API, for one run.
    pub(super) fn api(&self, dialect: &'static Dialect, clock: &Clock, deadline: Instant) -> Api {
        let (egress, endpoints) = (Arc::clone(&self.egress), Arc::clone(&self.endpoints));
        Api::new(egress, endpoints, dialect, clock.clone(), deadline)
    }

    /// The name servers as they are configured now: a laptop or a container gets others while it runs.
    pub(super) fn resolver(&self) -> Result<DnsResolver> {
        self.options.dns_server.map_or_else(DnsResolver::system, DnsResolver::at)
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }
}

impl App {
    /// Notified when a connection is to run.
    pub fn connect_wake(&self) -> &Notify {
        &self.connects.wake
    }
}
