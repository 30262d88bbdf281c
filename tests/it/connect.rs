//! Reading clients' environments.
//! Reading clients' environments: the DNS and Microsoft 365.
//! Reading clients' environments: the DNS, devices, declared vendors.

mod ad;
mod aws;
mod connection;
mod device;
mod dkim;
mod dmarc;
mod domain;
mod fault;
mod google;
mod group;
mod judge;
mod m365;
mod mapping;
mod needs_dnslib;
mod needs_npm;
mod needs_samples;
mod notice;
mod server;
mod spf;
mod tenant;
mod vendor;
mod zone;
