//! The bodies of events.

pub mod announce;
