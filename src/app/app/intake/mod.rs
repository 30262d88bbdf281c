//! The intake of facts: files, pushes, lists of accounts and assets, and the runs of sources.

mod announce;
mod apply;
pub mod count;
pub(super) mod derived;
pub mod file;
pub mod ingest;
pub mod limit;
pub mod list;
pub mod push;
mod remember;
pub mod room;
pub mod roster;
pub mod run;
pub mod shrink;
pub mod source;
mod stage;
pub mod step;
pub mod upload;
pub mod watch;
