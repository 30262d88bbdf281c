//! Prowler's files: OCSF, CSV and its own JSON.

pub(super) mod csv;
pub(super) mod finding;
pub(super) mod json;
pub(super) mod ocsf;
pub(super) mod record;
pub(super) mod resource;
