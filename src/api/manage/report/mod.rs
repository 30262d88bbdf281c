//! Figures over all clients.

pub mod kpis;
pub mod portfolio;
