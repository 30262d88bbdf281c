//! The management API, which the command line and a console call.

pub mod access;
pub mod backups;
pub mod catalog;
pub mod client;
pub mod connections;
pub mod decision;
pub mod event;
pub mod exploited;
pub mod intake;
pub mod own_frameworks;
pub mod report;
pub mod scan;
pub mod settings;
pub mod system;
pub mod webhook;
