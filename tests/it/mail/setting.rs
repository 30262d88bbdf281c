//! The mail settings: which servers get a message, and what is said of the others.

pub(super) mod needs_aiosmtpd;
