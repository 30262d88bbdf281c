//! Rate limits: three windows per key, counted together, kept in memory and checkpointed.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard};

use crate::clock::Time;
use crate::id::KeyId;
use crate::store::global::key::limit::Windows;

/// Lengths of the windows: a minute, an hour, a day.
pub const WINDOWS_S: [u32; 3] = [60, 3_600, 86_400];

/// Requests that a caller may make in each window.
pub type Quota = [u32; 3];

/// In a [`Quota`]: no limit for that window.
pub const UNLIMITED: u32 = u32::MAX;

/// Operations of the contract's second group that have rate limits of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    AddUser,
    StartScan,
    SendReport,
    WatchScan,
    ViewScanned,
    ShowKpis,
}

/// What the `RateLimit-*` headers say about one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub quota: Quota,
    /// The limit of the window that is closest to exhaustion.
    pub limit: u32,
    pub remaining: u32,
    /// Seconds until that window ends.
    pub reset_s: u32,
    /// Seconds until the request would be allowed. `None`: it was allowed.
    pub refused_s: Option<u32>,
}

/// The counters of all callers; for the versioned interface, of all API keys.
#[derive(Debug)]
pub struct Limiter<K = KeyId> {
    windows: Mutex<HashMap<K, Counter>>,
}

#[derive(Debug, Default)]
struct Counter {
    windows: Windows,
    /// Changed since the last checkpoint.
    moved: bool,
}

impl<K> Default for Limiter<K> {
    fn default() -> Self {
        Self { windows: Mutex::default() }
    }
}

impl<K: Copy + Eq + Hash> Limiter<K> {
    /// Continues from a checkpoint.
    #[must_use]
    pub fn resume(stored: Vec<(K, Windows)>) -> Self {
        let counter = |windows| Counter { windows, moved: false };
        let windows = stored.into_iter().map(|(key, it)| (key, counter(it))).collect();
        Self { windows: Mutex::new(windows) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Counter>> {
        self.windows.lock().expect("no holder of this lock panics")
    }

    /// Counts one request in all three windows, or in none if one of them is exhausted.
    pub fn take(&self, key: K, quota: Quota, now: Time) -> Standing {
        let mut all = self.lock();
        let counter = all.entry(key).or_default();
        counter.moved = true;
        let windows = &mut counter.windows;
        for (index, length_s) in WINDOWS_S.into_iter().enumerate() {
            let age_s = now.s_since(windows.started[index]);
            if windows.used[index] == 0 || i64::from(length_s) <= age_s {
                windows.used[index] = 0;
                windows.started[index] = now;
            } else if now < windows.started[index] {
                // A clock that was set back neither resets a window nor extends it forever.
                windows.started[index] = now;
            }
        }
        let resets: [u32; 3] = std::array::from_fn(|it| reset_s(windows, it, now));
        let exhausted = (0..3).filter(|it| quota[*it] <= windows.used[*it]);
        let refused_s = exhausted.map(|it| resets[it]).max();
        if refused_s.is_none() {
            windows.used.iter_mut().for_each(|it| *it += 1);
        }
        windows.last_used_at = Some(now);
        standing(quota, windows.used, resets, refused_s)
    }

    /// Records a use of the key that these windows do not count.
    pub fn note_use(&self, key: K, now: Time) {
        let mut all = self.lock();
        let counter = all.entry(key).or_default();
        counter.moved = true;
        counter.windows.last_used_at = Some(now);
    }

    /// When the key was last presented.
    pub fn last_used_at(&self, key: K) -> Option<Time> {
        self.lock().get(&key).and_then(|it| it.windows.last_used_at)
    }

    /// Returns the counters that changed since the last call, to be stored.
    pub fn drain_moved(&self) -> Vec<(K, Windows)> {
        let mut all = self.lock();
        let moved = all.iter_mut().filter(|(_, counter)| counter.moved);
        moved
            .map(|(key, counter)| {
                counter.moved = false;
                (*key, counter.windows)
            })
            .collect()
    }
}

fn reset_s(windows: &Windows, index: usize, now: Time) -> u32 {
    let end = windows.started[index].plus_s(i64::from(WINDOWS_S[index]));
    let left_micros = u64::try_from(end.micros() - now.micros()).unwrap_or(0);
    u32::try_from(left_micros.div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

fn standing(quota: Quota, used: [u32; 3], resets: [u32; 3], refused_s: Option<u32>) -> Standing {
    let remaining = |it: usize| quota[it].saturating_sub(used[it]);
    let closest = (0..3)
        .filter(|it| quota[*it] != UNLIMITED)
        .min_by_key(|it| (remaining(*it), u32::MAX - resets[*it]))
        .unwrap_or(0);
    Standing {
        quota,
        limit: quota[closest],
        remaining: remaining(closest),
        reset_s: resets[closest],
        refused_s,
    }
}
