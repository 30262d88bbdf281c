//! Disks that misbehave in a known way: slow to sync, failing at a call, losing power at a call.
//! All in memory, and the same seed does the same.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redb::StorageBackend;

/// What a power loss keeps or loses as a whole.
const SECTOR_BYTES: usize = 512;

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// As the process sees it.
    live: Vec<u8>,
    /// As it is after a power loss, but for what was written since the last sync.
    durable: Vec<u8>,
    unsynced: Vec<(usize, Vec<u8>)>,
    /// Became shorter since the last sync.
    is_shorter: bool,
    sync_wait: Duration,
    /// No sync ends.
    is_held: bool,
    /// Syncs that wait for the disk to be released.
    n_held: usize,
    /// Calls of any kind.
    n_calls: u64,
    n_reads: u64,
    /// Calls that change something.
    n_changes: u64,
    fault: Fault,
    /// What was left when the power went.
    remains: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Fault {
    #[default]
    None,
    /// That call fails, and the ones behind it do not.
    FailOnce { at: u64 },
    /// That call and all behind it fail.
    FailFrom { at: u64 },
    /// At that change a random part of what was not synced is lost, and everything fails from then
    /// on.
    PowerLoss { at: u64, seed: u64 },
}

impl Disk {
    /// A disk with these bytes, all of them durable.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        let state = State { live: bytes.clone(), durable: bytes, ..State::default() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Makes each sync take this long.
    pub(crate) fn slow(self, sync_wait: Duration) -> Self {
        self.state().sync_wait = sync_wait;
        self
    }

    /// Lets no sync end until the disk is released.
    pub(crate) fn hold(&self) {
        self.state().is_held = true;
    }

    pub(crate) fn release(&self) {
        self.state().is_held = false;
    }

    /// Whether a sync waits for the disk to be released.
    pub(crate) fn is_syncing(&self) -> bool {
        0 < self.state().n_held
    }

    /// Makes the n-th call from now fail; the first is 1.
    pub(crate) fn fail_once(&self, n: u64) {
        let mut state = self.state();
        state.fault = Fault::FailOnce { at: state.n_calls + n };
    }

    /// Makes the n-th call from now and all behind it fail; the first is 1.
    pub(crate) fn fail_from(&self, n: u64) {
        let mut state = self.state();
        state.fault = Fault::FailFrom { at: state.n_calls + n };
    }

    /// Makes the power go at the n-th change from now; the first is 1. The seed decides which
    /// sectors survive.
    pub(crate) fn lose_power(&self, n: u64, seed: u64) {
        let mut state = self.state();
        state.fault = Fault::PowerLoss { at: state.n_changes + n, seed };
    }

    /// Whether the fault that was asked for has happened.
    pub(crate) fn has_failed(&self) -> bool {
        let state = self.state();
        match state.fault {
            Fault::None => false,
            Fault::FailOnce { at } | Fault::FailFrom { at } => at <= state.n_calls,
            Fault::PowerLoss { .. } => state.remains.is_some(),
        }
    }

    /// The disk after the power came back. `None` when it never went.
    pub(crate) fn after_power_loss(&self) -> Option<Self> {
        self.state().remains.clone().map(Self::of)
    }

    /// The disk after the power went right now.
    pub(crate) fn without_power(&self, seed: u64) -> Self {
        Self::of(self.state().surviving(seed))
    }

    /// What is on it now.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.state().live.clone()
    }

    pub(crate) fn n_reads(&self) -> u64 {
        self.state().n_reads
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts a call that changes nothing.
    fn look(&mut self) -> io::Result<()> {
        self.n_calls += 1;
        match self.fault {
            Fault::FailOnce { at } if at == self.n_calls => Err(io::Error::other("asked to fail")),
            Fault::FailFrom { at } if at <= self.n_calls => Err(io::Error::other("asked to fail")),
            Fault::None
            | Fault::FailOnce { .. }
            | Fault::FailFrom { .. }
            | Fault::PowerLoss { .. } => Ok(()),
        }
    }

    /// Counts a call that changes something.
    fn change(&mut self) -> io::Result<()> {
        self.look()?;
        self.n_changes += 1;
        if let Fault::PowerLoss { at, seed } = self.fault
            && at <= self.n_changes
        {
            if self.remains.is_none() {
                self.remains = Some(self.surviving(seed));
            }
            return Err(io::Error::other("no power"));
        }
        Ok(())
    }

    /// What is durable, and of the rest each sector or not.
    fn surviving(&self, seed: u64) -> Vec<u8> {
        let mut random = Random::from_seed(seed);
        let mut bytes = self.durable.clone();
        if random.below(2) == 0 {
            bytes.resize(self.live.len(), 0);
        }
        for (offset, data) in &self.unsynced {
            for (index, sector) in data.chunks(SECTOR_BYTES).enumerate() {
                let start = offset + index * SECTOR_BYTES;
                let end = start + sector.len();
                if random.below(2) == 0 && end <= bytes.len() {
                    bytes[start..end].copy_from_slice(sector);
                }
            }
        }
        bytes
    }
}

fn at(offset: u64) -> usize {
    usize::try_from(offset).expect("these disks fit into memory")
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        let mut state = self.state();
        state.look()?;
        Ok(state.live.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.state();
        state.look()?;
        state.n_reads += 1;
        let start = at(offset);
        let found = state.live.get(start..start + out.len());
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        state.is_shorter |= at(len) < state.live.len();
        state.live.resize(at(len), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        let wait = state.sync_wait;
        let State { live, durable, unsynced, is_shorter, .. } = &mut *state;
        if std::mem::take(is_shorter) {
            durable.clone_from(live);
        }
        durable.resize(live.len(), 0);
        for (offset, data) in unsynced.drain(..) {
            let end = (offset + data.len()).min(live.len());
            if offset < end {
                durable[offset..end].copy_from_slice(&live[offset..end]);
            }
        }
        state.n_held += 1;
        while state.is_held {
            drop(state);
            std::thread::sleep(Duration::from_millis(1));
            state = self.state();
        }
        state.n_held -= 1;
        drop(state);
        std::thread::sleep(wait);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        let (start, end) = (at(offset), at(offset) + data.len());
        if state.live.len() < end {
            state.live.resize(end, 0);
        }
        state.live[start..end].copy_from_slice(data);
        state.unsynced.push((start, data.to_vec()));
        Ok(())
    }
}

/// Numbers that look random and are the same for the same seed.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number from 0 up to and without `end`.
    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}
