//! Figures over all clients.

pub mod compliance;
pub mod kpis;
pub mod portfolio;
