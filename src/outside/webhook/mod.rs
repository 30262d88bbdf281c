//! The wire format of a webhook delivery: its signatures, and when it is retried.

pub mod schedule;
pub mod sign;
