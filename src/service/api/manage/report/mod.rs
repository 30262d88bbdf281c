//! Figures over all clients.

pub mod compliance;
pub mod kpis;
pub mod mail;
pub mod portfolio;
mod portfolio_table;
pub mod reports;
mod requirement_table;
pub mod schedules;
