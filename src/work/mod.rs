//! Background tasks.

pub mod backup;
pub mod deliver;
pub mod scan;
pub mod sweep;
