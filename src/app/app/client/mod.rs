//! Client organizations, their settings, and the expected cost of a year without controls.

pub mod directory;
pub mod loss;
pub mod retention;
pub mod settings;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::id::ClientId;
use crate::store::global::client::Client;
use directory::Directory;

const UNPOISONED: &str = "no holder of this lock panics";

/// Prevents other assessments of the client while it is held.
pub type ClientLock = OwnedMutexGuard<()>;

/// All clients in memory, and the work in progress on each.
pub struct Clients {
    pub directory: Arc<Directory>,
    /// Held from looking for a name until the client that got it is stored.
    pub naming: Arc<AsyncMutex<()>>,
    /// The day on which each client was last maintained.
    maintained_on: Mutex<HashMap<ClientId, u32>>,
    /// Allows one assessment of a client at a time. Two at once would only plan twice.
    locks: Mutex<HashMap<ClientId, Weak<AsyncMutex<()>>>>,
}

impl Clients {
    #[must_use]
    pub fn of(clients: Vec<Client>) -> Self {
        Self {
            directory: Arc::new(Directory::of(clients)),
            naming: Arc::default(),
            maintained_on: Mutex::default(),
            locks: Mutex::default(),
        }
    }

    /// Waits until no other assessment of the client is in progress.
    pub async fn lock(&self, client: ClientId) -> ClientLock {
        self.lock_of(client).lock_owned().await
    }

    /// Whether something is in progress at the client, for which [`Self::lock`] would wait.
    #[must_use]
    pub fn is_busy(&self, client: ClientId) -> bool {
        self.lock_of(client).try_lock().is_err()
    }

    fn lock_of(&self, client: ClientId) -> Arc<AsyncMutex<()>> {
        let mut all = self.locks.lock().expect(UNPOISONED);
        if let Some(lock) = all.get(&client).and_then(Weak::upgrade) {
            return lock;
        }
        all.retain(|_, it| 0 < it.strong_count());
        let lock = Arc::new(AsyncMutex::new(()));
        all.insert(client, Arc::downgrade(&lock));
        lock
    }

    /// Returns true if the client was maintained on this day.
    #[must_use]
    pub fn is_maintained(&self, client: ClientId, day: u32) -> bool {
        self.maintained_on.lock().expect(UNPOISONED).get(&client) == Some(&day)
    }

    pub fn set_maintained(&self, client: ClientId, day: u32) {
        self.maintained_on.lock().expect(UNPOISONED).insert(client, day);
    }
}
