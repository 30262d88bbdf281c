//! Reading clients' environments: the DNS.

mod connection;
mod dkim;
mod dmarc;
mod domain;
mod fault;
mod group;
mod needs_dnslib;
mod needs_samples;
mod server;
mod spf;
mod zone;
