//! A limit on work at the same time: in all, and for each holder, so that none can use all of it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// Places in all and for each holder.
#[derive(Debug)]
pub struct FairLimit<K> {
    all: Arc<Semaphore>,
    n_per_holder: usize,
    /// Holders that have a place or wait for one.
    holders: Mutex<HashMap<K, Weak<Semaphore>>>,
}

/// A place in use. Dropping it frees it.
#[derive(Debug)]
pub struct FairPermit {
    _own: Option<OwnedSemaphorePermit>,
    _all: OwnedSemaphorePermit,
}

/// Why there was no free place in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// The holder uses as many places as it may.
    ByHolder,
    /// All places are in use.
    ByAll,
}

impl<K: Copy + Eq + Hash> FairLimit<K> {
    #[must_use]
    pub fn new(n_max: usize, n_per_holder: usize) -> Self {
        let all = Arc::new(Semaphore::new(n_max));
        Self { all, n_per_holder, holders: Mutex::default() }
    }

    /// Waits for a place, first among those of the holder, so that many requests of one holder do not stand in the way of
    /// others. Each queue is first come, first served. `None`: a holder without a limit of its own.
    ///
    /// # Errors
    /// Which places are all in use, after `wait`.
    pub async fn acquire(
        &self,
        holder: Option<K>,
        wait: Duration,
    ) -> Result<FairPermit, Exhausted> {
        let end = Instant::now() + wait;
        let own = match holder {
            None => None,
            Some(holder) => {
                let own = permit(&self.places_of(holder), end).await;
                Some(own.ok_or(Exhausted::ByHolder)?)
            }
        };
        let all = permit(&self.all, end).await.ok_or(Exhausted::ByAll)?;
        Ok(FairPermit { _own: own, _all: all })
    }

    fn places_of(&self, holder: K) -> Arc<Semaphore> {
        let mut holders = self.holders.lock().expect("no holder of this lock panics");
        if let Some(places) = holders.get(&holder).and_then(Weak::upgrade) {
            return places;
        }
        // Each permit, and each request that waits for one, keeps the places of its holder.
        holders.retain(|_, it| 0 < it.strong_count());
        let places = Arc::new(Semaphore::new(self.n_per_holder));
        holders.insert(holder, Arc::downgrade(&places));
        places
    }
}

/// `None`: there was no free place until `end`.
pub async fn permit(places: &Arc<Semaphore>, end: Instant) -> Option<OwnedSemaphorePermit> {
    if let Ok(permit) = Arc::clone(places).try_acquire_owned() {
        return Some(permit);
    }
    let permit = timeout_at(end, Arc::clone(places).acquire_owned()).await;
    permit.ok().map(|it| it.expect("the semaphore is never closed"))
}
