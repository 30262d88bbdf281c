//! Port scanners: nmap's XML, and masscan's lists of open ports.

pub(super) mod masscan;
pub(super) mod xml;
