//! nmap's XML, and hosts as it tells them.

mod host;
mod port;
pub mod scan;
pub(super) mod xml;
