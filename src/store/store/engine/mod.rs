//! The seam between the store and what keeps its rows: views of one state, and commits of all that was written over it.
//!
//! An engine keeps ordered byte keys in named tables. It knows neither records nor clients, and nothing above it knows the
//! engine. A write transaction is a view and an [`Overlay`] over it, which the engine takes as a whole.

mod overlay;
mod postgres;
mod redb;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use crate::store::row_key::Span;

pub(in crate::store) use crate::store::engine::overlay::Overlay;
pub use crate::store::engine::postgres::PostgresOptions;
pub(in crate::store) use crate::store::engine::postgres::{Node, Opening, PostgresEngine};
pub(in crate::store) use crate::store::engine::redb::{
    FILE, FileEngine, OpenFault, StorageBackend, view_file,
};

pub(in crate::store) type Cause = Box<dyn std::error::Error + Send + Sync>;
pub(in crate::store) type Answer<T> = Result<T, Fault>;
/// Takes each key that was asked for with its value. `None`: there is no such row.
pub(in crate::store) type Find<'a> = &'a mut dyn FnMut(&[u8], Option<&[u8]>);
/// Takes the key and value of each row until it breaks.
pub(in crate::store) type Visit<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// Why an engine did not do what it was asked to.
#[derive(Debug)]
pub(in crate::store) enum Fault {
    /// A part of what is stored is damaged. Everything else can be used.
    Damaged(Cause),
    /// The engine cannot be used further and must be opened again. After a commit it is unknown whether it is durable.
    Broken(Cause),
    /// What is stored is not as the store takes it to be, or the row cannot be read in this run. Opening the engine again
    /// does not help.
    Refused(Cause),
    /// The engine did not answer, and nothing was written. The same may succeed later.
    Unavailable(Cause),
}

impl Fault {
    pub(in crate::store) fn into_cause(self) -> Cause {
        match self {
            Self::Damaged(cause)
            | Self::Broken(cause)
            | Self::Refused(cause)
            | Self::Unavailable(cause) => cause,
        }
    }
}

/// The order in which rows are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    Rising,
    Falling,
}

/// One state, which does not change while it is held. A table that was never written is empty.
pub(in crate::store) trait View: Send + Sync {
    /// Calls `each` with each key, in their order.
    fn get(&self, table: &str, keys: &[&[u8]], each: Find<'_>) -> Answer<()>;

    /// Visits the rows of a span. Reads them as they are asked for.
    fn visit(&self, table: &str, span: &Span, direction: Direction, each: Visit<'_>) -> Answer<()>;

    /// How many rows a table has.
    fn count(&self, table: &str) -> Answer<u64>;

    /// Whether anything of a table is stored, though it may be without rows.
    fn has_table(&self, table: &str) -> Answer<bool>;

    /// The names of all tables that [`View::has_table`], in order.
    fn list_tables(&self) -> Answer<Vec<String>>;
}

/// The node that has a database on a server open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveNode {
    /// The host and the data directory, for messages to people.
    pub name: String,
    /// Counts how often the database was opened, by whatever node.
    pub epoch: u64,
    /// Since when it has not renewed its lease, which ends by itself.
    pub lease_age: Duration,
}

/// What keeps the rows. One thread commits, and any number read.
pub(in crate::store) trait Engine: Send + Sync {
    /// The current state, for readers.
    fn view(&self) -> Answer<Arc<dyn View>>;

    /// The current state, for the thread that commits. An engine that is far away may refuse rows that are not in memory:
    /// see [`Engine::fetch_missing`].
    fn base(&self) -> Answer<Arc<dyn View>> {
        self.view()
    }

    /// Fetches at once what views of [`Engine::base`] refused since the last call because it was not in memory. Returns true
    /// if it did, and then the closures must run again. An engine that refuses no row has nothing to fetch.
    fn fetch_missing(&self) -> Answer<bool> {
        Ok(false)
    }

    /// Makes all writes durable, or none of them. They were made over the last state of [`Engine::base`], and it fails if
    /// that is not the current one.
    fn commit(&self, writes: Overlay) -> Answer<()>;

    /// The memory of what is cached.
    fn cache_bytes(&self) -> u64;

    /// Whether no other process can have written since the last commit. One that others can take over must be asked before
    /// anything is answered from memory.
    fn is_current(&self) -> bool {
        true
    }

    /// This process, if others could have the same rows open in its place.
    fn node(&self) -> Option<ActiveNode> {
        None
    }

    /// Lets other processes open the same rows at once. Nothing may be committed after it.
    fn release(&self) {}
}
