//! Reading clients' environments: the DNS.

mod domain;
mod group;
mod spf;
mod zone;
