//! Network scans: requested, run, compared.

pub mod host;
pub mod registry;
pub mod request;
mod run;
