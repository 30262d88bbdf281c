//! Which of several nodes has the database on a server open.

use crate::error::Result;
use crate::store::engine::ActiveNode;
use crate::store::open::DatabaseLocation;
use crate::store::{DatabaseState, EngineOptions, Glimpse, Store, StoreOptions};

impl Store {
    /// Looks at a database on a server that another node may have open. A database in a file has no nodes.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn glimpse(options: &StoreOptions) -> Result<Glimpse> {
        match &options.engine {
            EngineOptions::File => Ok(Glimpse::file()),
            EngineOptions::Postgres(_) => DatabaseLocation::take(options)?.glimpse(),
        }
    }

    /// Whether what is in memory may be answered. False once another process may have taken over the database.
    #[must_use]
    pub fn is_current(&self) -> bool {
        if !self.inner.is_shared {
            return true; // Every request asks: a file needs no lock for it.
        }
        match &*self.shared().door() {
            DatabaseState::Open(db) => db.is_current(),
            DatabaseState::Reopening | DatabaseState::Closed => false,
        }
    }

    /// This process, if others could have the database open in its place.
    #[must_use]
    pub fn node(&self) -> Option<ActiveNode> {
        match &*self.shared().door() {
            DatabaseState::Open(db) => db.node(),
            DatabaseState::Reopening | DatabaseState::Closed => None,
        }
    }

    /// Completes when another process has taken over the database, which only one on a server allows.
    pub async fn taken_over(&self) {
        self.shared().taken_over.notified().await;
    }
}
