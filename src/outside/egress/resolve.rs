//! Resolves host names. Every address is checked before it is returned.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver as Resolve};
use ureq::unversioned::transport::NextTimeout;

use super::target::{Target, TargetHost};
use crate::egress::guard::EgressPolicy;
use crate::egress::refusal::Refusal;

/// Returns the addresses of a name, with the given port. May block for longer than the caller waits.
pub(super) type Lookup = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

#[derive(Clone)]
pub(super) struct Resolver {
    policy: Arc<EgressPolicy>,
    lookup: Arc<Lookup>,
    /// Look-ups cannot be canceled: one that hangs keeps its thread and its permit.
    threads: Handle,
    places: Arc<Semaphore>,
}

/// Why a host has no address to connect to.
pub(super) enum NoAddress {
    Refused(Refusal),
    NotFound,
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Resolver {
    pub(super) fn new(
        policy: Arc<EgressPolicy>,
        lookup: Arc<Lookup>,
        threads: Handle,
        n_at_once_max: usize,
    ) -> Self {
        Self { policy, lookup, threads, places: Arc::new(Semaphore::new(n_at_once_max)) }
    }

    /// Refuses a host if any of its addresses is refused, because any of them may be used. Blocks for at most `wait`. They are in
    /// the order in which to try them.
    pub(super) fn addresses(
        &self,
        target: Target,
        wait: Duration,
    ) -> Result<Vec<SocketAddr>, NoAddress> {
        let Target { scheme, host, port } = target;
        let found = match host {
            TargetHost::Address(address) => vec![SocketAddr::new(address, port)],
            TargetHost::Name(name) => self.look_up(name, port, wait).ok_or(NoAddress::NotFound)?,
        };
        let mut addresses = Vec::new();
        for found in found {
            let address = SocketAddr::new(found.ip(), port);
            self.policy.judge(scheme, address).map_err(NoAddress::Refused)?;
            addresses.push(address);
        }
        if addresses.is_empty() { Err(NoAddress::NotFound) } else { Ok(in_turn(addresses)) }
    }

    /// `None` if the name has no address, or none was found in time.
    fn look_up(&self, name: String, port: u16, wait: Duration) -> Option<Vec<SocketAddr>> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let lookup = Arc::clone(&self.lookup);
        let (sender, receiver) = mpsc::sync_channel(1);
        self.threads.spawn_blocking(move || {
            let found = lookup(&name, port);
            drop(place); // Before the answer, so that the next request finds a free place.
            drop(sender.send(found)); // Fails if the caller no longer waits.
        });
        receiver.recv_timeout(wait).ok()?.ok()
    }
}

/// IPv6 and IPv4 by turns, beginning with the kind of the first (RFC 8305, 4): where one of them leads nowhere, not all the time
/// is spent on it.
fn in_turn(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let is_first = addresses.first().map(SocketAddr::is_ipv6);
    let (these, others): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|it| Some(it.is_ipv6()) == is_first);
    let (mut these, mut others) = (these.into_iter(), others.into_iter());
    let mut all = Vec::new();
    loop {
        let n_before = all.len();
        all.extend(these.next());
        all.extend(others.next());
        if all.len() == n_before {
            return all;
        }
    }
}

impl Resolve for Resolver {
    fn resolve(
        &self,
        uri: &Uri,
        _: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let refused = |refusal: Refusal| ureq::Error::Other(Box::new(refusal));
        let target = Target::of(uri).map_err(refused)?;
        let found = self.addresses(target, *timeout.after).map_err(|why| match why {
            NoAddress::Refused(refusal) => refused(refusal),
            NoAddress::NotFound => ureq::Error::HostNotFound,
        })?;
        let mut addresses = self.empty();
        for it in found {
            drop(addresses.try_push(it)); // More than 16 addresses are not used.
        }
        Ok(addresses)
    }
}
