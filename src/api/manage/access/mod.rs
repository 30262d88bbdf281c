//! Who may do what: keys, users, sessions, the audit log.

pub mod audit;
pub mod keys;
pub mod session;
pub mod users;
