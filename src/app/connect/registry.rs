//! Connections that run now.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::app::App;
use crate::connect::dns::DnsResolver;
use crate::error::Result;
use crate::id::ConnectionId;

/// Connections that run at the same time.
pub const N_AT_ONCE_MAX: usize = 8;

/// What runs of connections need to know of the configuration.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// The name server to ask. `None`: those of the system.
    pub dns_server: Option<SocketAddr>,
}

/// Connections that run now.
pub struct Connects {
    options: ConnectOptions,
    wake: Notify,
    running: Mutex<HashSet<ConnectionId>>,
}

/// A connection is running until this is dropped.
pub(super) struct Running<'a> {
    connects: &'a Connects,
    id: ConnectionId,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.connects.lock().remove(&self.id);
    }
}

impl Connects {
    pub(in crate::app) fn of(options: &ConnectOptions) -> Self {
        let options = options.clone();
        Self { options, wake: Notify::new(), running: Mutex::default() }
    }

    /// The name servers as they are configured now: a laptop or a container gets others while it runs.
    pub(super) fn resolver(&self) -> Result<DnsResolver> {
        self.options.dns_server.map_or_else(DnsResolver::system, DnsResolver::at)
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<ConnectionId>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    pub(super) fn is_running(&self, id: ConnectionId) -> bool {
        self.lock().contains(&id)
    }

    /// `None`: it runs already.
    pub(super) fn begin(&self, id: ConnectionId) -> Option<Running<'_>> {
        self.lock().insert(id).then_some(Running { connects: self, id })
    }
}

impl App {
    /// Notified when a connection is to run.
    pub fn connect_wake(&self) -> &Notify {
        &self.connects.wake
    }
}
