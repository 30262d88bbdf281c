//! Reading clients' environments.

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
