//! nmap's XML.

pub(super) mod xml;
