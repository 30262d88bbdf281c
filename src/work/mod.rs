//! Background tasks.

pub mod deliver;
pub mod sweep;
