//! Keys, users, sessions, and the audit log.

pub mod audit;
pub mod key;
pub mod session;
pub mod user;
