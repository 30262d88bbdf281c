//! Reading clients' environments: the DNS and Microsoft 365.

mod connection;
mod dkim;
mod dmarc;
mod domain;
mod fault;
mod group;
mod judge;
mod m365;
mod needs_dnslib;
mod needs_samples;
mod server;
mod spf;
mod zone;
