//! What the managed service provider adds to the catalog.

pub mod exploited;
pub mod framework;
pub mod outline;
