//! The intake of facts: files, pushes, lists of accounts and assets, and the runs of sources.

mod account;
mod body;
pub mod file;
pub mod ingest;
pub mod limit;
pub mod list;
pub mod push;
pub mod roster;
mod shrink;
pub mod source;
