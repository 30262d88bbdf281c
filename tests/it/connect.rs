//! Reading clients' environments: the DNS.

mod dkim;
mod dmarc;
mod domain;
mod fault;
mod group;
mod server;
mod spf;
mod zone;
