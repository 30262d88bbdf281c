//! Authentication, authorization and rate limits.

pub mod caller;
pub mod console_session;
pub mod key;
pub mod keyring;
pub mod limit;
pub mod network;
pub mod otp;
pub mod password;
pub mod people;
pub mod throttle;
pub mod token;
