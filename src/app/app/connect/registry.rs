//! Connections that run now.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::mail_token::MailTokens;
use super::notice::Warned;
use crate::app::App;
use crate::clock::{Clock, Time};
use crate::connect::call::{Api, Dialect, Endpoints};
use crate::connect::dns::DnsResolver;
use crate::connect::reading::Reading;
use crate::connect::settings::Settings;
use crate::egress::{Egress, EgressPolicy};
use crate::error::Result;
use crate::id::{ClientId, ConnectionId};
use crate::secret::Sealer;
use crate::store::global::connection::ConnectionWithRun;

/// Connections that run at the same time.
pub const N_AT_ONCE_MAX: usize = N_WELL_AT_ONCE_MAX + N_UNWELL_AT_ONCE_MAX;
/// Of those whose last run read everything, or that never ran. As many can be tested.
pub(super) const N_WELL_AT_ONCE_MAX: usize = 8;
/// Of the others. Environments that do not answer keep only each other waiting.
pub(super) const N_UNWELL_AT_ONCE_MAX: usize = 4;
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
    /// Is read instead of any environment: the demonstration calls nobody.
    pub made_up: Option<fn(&Settings, Time) -> Reading>,
}

/// What runs now, and what wakes it.
pub struct Connects {
    pub(super) options: ConnectOptions,
    egress: Arc<Egress>,
    endpoints: Arc<Endpoints>,
    pub(super) sealer: Sealer,
    wake: Notify,
    pub(super) warned: Warned,
    /// Connections that run.
    pub(super) running: Places,
    /// Connections that people test.
    pub(super) testing: Places,
    /// Held while somebody tests the app at Microsoft.
    pub(super) app_test: tokio::sync::Mutex<()>,
    pub(super) mail_tokens: MailTokens,
}

/// A connection that is to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) id: ConnectionId,
    pub(super) client: Option<ClientId>,
    /// Its last run did not read everything.
    pub(super) is_unwell: bool,
}

impl Turn {
    pub(super) fn of(found: &ConnectionWithRun) -> Self {
        let is_unwell = found.run.as_ref().is_some_and(|it| 0 < it.n_failures);
        Self { id: found.connection.id, client: found.connection.client, is_unwell }
    }
}

/// Connections that are being read.
#[derive(Default)]
pub(super) struct Places(Mutex<BTreeMap<ConnectionId, Turn>>);

/// How many are being read.
#[derive(Default)]
struct Taken {
    n_well: usize,
    n_unwell: usize,
    by_client: BTreeMap<Option<ClientId>, usize>,
}

impl Taken {
    fn of<'a>(turns: impl Iterator<Item = &'a Turn>) -> Self {
        let mut taken = Self::default();
        turns.for_each(|it| taken.take(it));
        taken
    }

    fn take(&mut self, turn: &Turn) {
        *(if turn.is_unwell { &mut self.n_unwell } else { &mut self.n_well }) += 1;
        *self.by_client.entry(turn.client).or_default() += 1;
    }

    fn has_place(&self, turn: &Turn) -> bool {
        let n_of_client = self.by_client.get(&turn.client).copied().unwrap_or(0);
        let has_room = if turn.is_unwell {
            self.n_unwell < N_UNWELL_AT_ONCE_MAX
        } else {
            self.n_well < N_WELL_AT_ONCE_MAX
        };
        has_room && n_of_client < N_PER_CLIENT_AT_ONCE_MAX
    }
}

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
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConnectionId, Turn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of these that may begin now: they have not, and there is a place.
    pub(super) fn open_to(&self, due: Vec<Turn>) -> Vec<ConnectionId> {
        let begun = self.lock();
        let mut taken = Taken::of(begun.values());
        let mut open = Vec::new();
        for turn in due {
            if !begun.contains_key(&turn.id) && taken.has_place(&turn) {
                taken.take(&turn);
                open.push(turn.id);
            }
        }
        open
    }

    /// `None`: it has begun already, or there is no place.
    pub(super) fn begin(&self, turn: Turn) -> Option<Place<'_>> {
        let mut begun = self.lock();
        if begun.contains_key(&turn.id) || !Taken::of(begun.values()).has_place(&turn) {
            return None;
        }
        begun.insert(turn.id, turn);
        Some(Place { places: self, id: turn.id })
    }
}

impl Connects {
    pub(in crate::app) fn of(options: &ConnectOptions, sealer: Sealer) -> Result<Self> {
        // Those that run, those that are tested, and a test of the app at Microsoft, one request each.
        let n_at_once = N_AT_ONCE_MAX + N_WELL_AT_ONCE_MAX + 1;
        let egress = Egress::new(options.egress.clone(), CALL_TIMEOUT, n_at_once)?;
        Ok(Self {
            egress: Arc::new(egress),
            endpoints: Arc::new(options.endpoints.clone()),
            options: options.clone(),
            sealer,
            wake: Notify::new(),
            warned: Warned::default(),
            running: Places::default(),
            testing: Places::default(),
            app_test: tokio::sync::Mutex::default(),
            mail_tokens: MailTokens::default(),
        })
    }

    /// A vendor's API, for one run.
    pub(super) fn api(&self, dialect: &'static Dialect, clock: &Clock, deadline: Instant) -> Api {
        let (egress, endpoints) = (Arc::clone(&self.egress), Arc::clone(&self.endpoints));
        Api::new(egress, endpoints, dialect, clock.clone(), deadline)
    }

    /// The way out for protocols other than HTTP.
    pub(super) fn egress(&self) -> &Egress {
        &self.egress
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
