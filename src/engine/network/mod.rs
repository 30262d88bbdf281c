//! What a network shows: hosts, their services, and the rules about them.

pub mod host;
pub mod scan;
pub mod service;
