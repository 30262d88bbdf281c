//! Slots for connections: a limit in total, and one per peer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnetwork::IpNetwork;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::auth::network;
use crate::peer::Peer;
use crate::serve::http::limit::ConnectionLimits;

type ConnectionCounts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// The slots of one listener.
pub(in crate::serve) struct Slots {
    all: Arc<Semaphore>,
    counts: ConnectionCounts,
    per_ip_max: usize,
    exempt: Vec<IpNetwork>,
}

/// A slot in use. Dropping it frees it.
pub(in crate::serve) struct Slot {
    _permit: OwnedSemaphorePermit,
    counted: Option<Counted>,
}

struct Counted {
    source: IpAddr,
    counts: ConnectionCounts,
}

impl Slots {
    pub(in crate::serve) fn new(limits: &ConnectionLimits) -> Self {
        Self {
            all: Arc::new(Semaphore::new(limits.connections_max)),
            counts: ConnectionCounts::default(),
            per_ip_max: limits.connections_per_ip_max,
            exempt: limits.exempt.clone(),
        }
    }

    /// Waits for a free slot among all.
    pub(in crate::serve) async fn place(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.all).acquire_owned().await.expect("the semaphore is never closed")
    }

    /// `None` if the peer uses as many slots as it may.
    pub(in crate::serve) fn admit(&self, permit: OwnedSemaphorePermit, peer: Peer) -> Option<Slot> {
        let source = match peer {
            Peer::Tcp(address) if !self.exempt.iter().any(|it| it.contains(address.ip())) => {
                network::source_of(address.ip())
            }
            Peer::Tcp(_) | Peer::Socket { .. } => {
                return Some(Slot { _permit: permit, counted: None });
            }
        };
        let mut counts = lock(&self.counts);
        let n_open = counts.get(&source).copied().unwrap_or(0);
        if n_open >= self.per_ip_max {
            return None;
        }
        counts.insert(source, n_open + 1);
        let counted = Counted { source, counts: Arc::clone(&self.counts) };
        Some(Slot { _permit: permit, counted: Some(counted) })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(Counted { source, counts }) = &self.counted else { return };
        let mut counts = lock(counts);
        let n_left = counts.get(source).map_or(0, |it| it.saturating_sub(1));
        if n_left == 0 {
            counts.remove(source);
        } else {
            counts.insert(*source, n_left);
        }
    }
}

/// The map is consistent after each step, so a panic elsewhere does not corrupt it.
fn lock(counts: &ConnectionCounts) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}
