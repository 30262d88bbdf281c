//! Background tasks.

pub mod sweep;
