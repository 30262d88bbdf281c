//! Who may do what: keys, users, sessions, second factors, the audit log.

pub mod audit;
pub mod console_sessions;
pub mod keys;
pub mod mfa;
pub mod passkeys;
pub mod session;
pub mod users;
