//! The wire format of a delivery: its signatures, and when it is tried again.

pub mod schedule;
pub mod sign;
