//! Slots for connections: a limit in total, and one per peer. When they are used up, the connection that has been idle
//! longest is closed to make room.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Frame, SizeHint};
use ipnetwork::IpNetwork;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use crate::auth::network;
use crate::peer::Peer;
use crate::serve::http::limit::ConnectionLimits;
use crate::serve::http::task::lasted;

/// How long the end of the last answer may be on its way before a connection that must make room is closed regardless.
pub(in crate::serve) const LAST_BYTES_TIMEOUT: Duration = Duration::from_secs(1);

/// The slots of one listener.
pub(in crate::serve) struct Slots {
    all: Arc<Semaphore>,
    table: Arc<SlotTable>,
    per_ip_max: usize,
    loopback_max: usize,
    exempt: Vec<IpNetwork>,
}

#[derive(Default)]
struct SlotTable {
    open: Mutex<OpenSlots>,
    /// A connection became idle.
    rested: Notify,
}

#[derive(Default)]
struct OpenSlots {
    next_id: u64,
    by_id: HashMap<u64, OpenSlot>,
}

struct OpenSlot {
    /// Whom the connection counts for. `None`: only for the total.
    source: Option<IpAddr>,
    /// Requests that are being handled, or whose answer is not complete.
    n_in_progress: usize,
    /// The peer has not taken all of the last answer.
    sending: bool,
    /// When `n_in_progress` or `sending` changed.
    since: Instant,
    /// It was told to close, and counts no more for its source.
    closing: bool,
    close: Arc<Notify>,
}

/// A slot in use. Dropping it frees it.
pub(in crate::serve) struct Slot {
    id: u64,
    table: Arc<SlotTable>,
    close: Arc<Notify>,
    /// The same as in the table, for the connection itself.
    n_in_progress: AtomicUsize,
    _permit: OwnedSemaphorePermit,
}

/// A request in progress. Dropping it makes the connection idle.
pub(in crate::serve) struct InProgress(Arc<Slot>);

impl Slots {
    pub(in crate::serve) fn new(limits: &ConnectionLimits) -> Self {
        Self {
            all: Arc::new(Semaphore::new(limits.connections_max)),
            table: Arc::default(),
            per_ip_max: limits.connections_per_ip_max,
            loopback_max: limits.connections_loopback_max,
            exempt: limits.exempt.clone(),
        }
    }

    /// Waits for a free slot among all. If none is free, the longest idle connection is closed; if all have requests in
    /// progress, the first that becomes idle is.
    pub(in crate::serve) async fn place(&self) -> OwnedSemaphorePermit {
        let closed = "the semaphore is never closed";
        loop {
            if let Ok(permit) = Arc::clone(&self.all).try_acquire_owned() {
                return permit;
            }
            let makes_room = self.table.lock().close_longest_idle(|_| true);
            tokio::select! {
                biased;
                permit = Arc::clone(&self.all).acquire_owned() => return permit.expect(closed),
                () = self.table.rested.notified(), if !makes_room => (),
                // Its next request may have arrived at the same moment, and is answered first.
                () = sleep(LAST_BYTES_TIMEOUT), if makes_room => (),
            }
        }
    }

    /// `None` if the peer uses as many slots as it may, and all of them have requests in progress.
    pub(in crate::serve) fn admit(
        &self,
        permit: OwnedSemaphorePermit,
        peer: Peer,
    ) -> Option<Arc<Slot>> {
        let limited = self.limited(peer);
        let mut open = self.table.lock();
        if let Some((source, max)) = limited
            && max <= open.count(source)
            && !open.close_longest_idle(|it| it.source == Some(source))
        {
            return None;
        }
        let id = open.next_id;
        open.next_id += 1;
        let close = Arc::new(Notify::new());
        let slot = OpenSlot {
            source: limited.map(|(source, _)| source),
            n_in_progress: 0,
            sending: false,
            since: Instant::now(),
            closing: false,
            close: Arc::clone(&close),
        };
        open.by_id.insert(id, slot);
        let (table, n_in_progress) = (Arc::clone(&self.table), AtomicUsize::new(0));
        Some(Arc::new(Slot { id, table, close, n_in_progress, _permit: permit }))
    }

    /// Whom a connection of the peer counts for, and how many connections may. `None`: no limit but the total.
    fn limited(&self, peer: Peer) -> Option<(IpAddr, usize)> {
        let ip = match peer {
            Peer::Tcp(address) => address.ip(),
            Peer::Socket { .. } => return None,
        };
        if network::holds(&self.exempt, ip) {
            return None;
        }
        if ip.is_loopback() {
            return Some((Ipv4Addr::LOCALHOST.into(), self.loopback_max));
        }
        Some((network::source_of(ip), self.per_ip_max))
    }
}

impl SlotTable {
    /// The table is consistent after each step, so a panic elsewhere does not corrupt it.
    fn lock(&self) -> MutexGuard<'_, OpenSlots> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenSlots {
    fn count(&self, source: IpAddr) -> usize {
        self.by_id.values().filter(|it| it.source == Some(source) && !it.closing).count()
    }

    /// Tells the connection that has been idle longest to close. Returns false if none of these is idle.
    fn close_longest_idle(&mut self, is_one: impl Fn(&OpenSlot) -> bool) -> bool {
        let idle = self.by_id.values_mut().filter(|it| !it.closing && it.is_idle() && is_one(it));
        let Some(longest) = idle.min_by_key(|it| it.since) else { return false };
        longest.closing = true;
        longest.close.notify_one();
        true
    }
}

impl OpenSlot {
    fn is_idle(&self) -> bool {
        self.n_in_progress == 0 && !self.sending
    }
}

impl Slot {
    /// Completes when the connection has to close to make room.
    pub(in crate::serve) async fn must_close(&self) {
        self.close.notified().await;
    }

    /// How long a connection that has to close may still take. `None`: a request is in progress and is answered first.
    pub(in crate::serve) fn time_left(&self) -> Option<Duration> {
        let open = self.table.lock();
        let idle = open.by_id.get(&self.id).filter(|it| it.is_idle());
        idle.map(|it| LAST_BYTES_TIMEOUT.saturating_sub(it.since.elapsed()))
    }

    /// Completes once the connection has been idle for this time.
    pub(in crate::serve) async fn idle(&self, max: Duration) {
        lasted(max, || {
            let open = self.table.lock();
            open.by_id.get(&self.id).filter(|it| it.is_idle()).map(|it| it.since.elapsed())
        })
        .await;
    }

    pub(in crate::serve) fn begin(self: &Arc<Self>) -> InProgress {
        self.n_in_progress.fetch_add(1, Ordering::Relaxed);
        self.update(|it| it.n_in_progress += 1);
        InProgress(Arc::clone(self))
    }

    pub(in crate::serve) fn is_in_progress(&self) -> bool {
        self.n_in_progress.load(Ordering::Relaxed) != 0
    }

    pub(in crate::serve) fn set_sending(&self, sending: bool) {
        self.update(|it| it.sending = sending);
    }

    fn update(&self, change: impl FnOnce(&mut OpenSlot)) {
        let mut open = self.table.lock();
        let Some(slot) = open.by_id.get_mut(&self.id) else { return };
        change(slot);
        slot.since = Instant::now();
        if slot.is_idle() {
            self.table.rested.notify_one();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.table.lock().by_id.remove(&self.id);
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.n_in_progress.fetch_sub(1, Ordering::Relaxed);
        self.0.update(|it| it.n_in_progress -= 1);
    }
}

impl InProgress {
    /// Lasts until the body of the answer is complete.
    pub(in crate::serve) fn until_complete(
        self,
        body: BoxBody<Bytes, io::Error>,
    ) -> BoxBody<Bytes, io::Error> {
        BoxBody::new(AnswerBody { body, _in_progress: self })
    }
}

struct AnswerBody {
    body: BoxBody<Bytes, io::Error>,
    _in_progress: InProgress,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
