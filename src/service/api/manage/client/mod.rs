//! Clients: their records, settings, posture and export.

pub mod accounts;
pub mod assets;
pub mod clients;
pub mod contradiction;
pub mod export;
pub mod observations;
pub mod posture;
pub mod vulnerabilities;
