//! Reading clients' environments: the DNS.

mod dkim;
mod dmarc;
mod domain;
mod group;
mod spf;
mod zone;
