//! Prowler's files: OCSF, CSV and its own JSON.

pub(super) mod csv;
mod finding;
pub(super) mod json;
pub(super) mod ocsf;
mod record;
mod resource;
