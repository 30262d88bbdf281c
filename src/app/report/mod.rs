//! Reads over one client or all of them.

pub mod kpi;
pub mod portfolio;
pub mod posture;
