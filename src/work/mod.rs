//! Background tasks.

pub mod deliver;
pub mod scan;
pub mod sweep;
