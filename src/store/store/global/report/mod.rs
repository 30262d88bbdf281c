//! Reports that are sent on schedule.

pub mod schedule;
