//! Network scans: requested, run, compared.

pub mod request;
mod run;
