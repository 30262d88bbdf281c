//! Network scans.

pub mod scan_view;
pub mod scans;
