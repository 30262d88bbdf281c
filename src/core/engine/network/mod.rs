//! The hosts of a network, their services, and the rules about them.

pub mod host;
pub mod scan;
pub mod service;
