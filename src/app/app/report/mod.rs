//! Reads over one client or all of them.

pub mod account;
pub mod because;
pub mod client;
pub mod condition;
pub mod document;
pub mod framework;
pub mod known;
pub mod kpi;
pub mod log;
pub mod mail;
pub mod observation;
pub mod orphan;
pub mod oscal;
pub mod portfolio;
pub mod posture;
pub mod question;
pub mod reason;
pub mod schedule;
pub mod vulnerability;
pub mod walk;
