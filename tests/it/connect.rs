//! Reading clients' environments.

mod ad;
mod aws;
mod azure;
mod call;
mod connection;
mod device;
mod dkim;
mod dmarc;
mod domain;
mod fault;
mod google;
mod graph;
mod group;
mod judge;
mod m365;
mod mapping;
mod needs_dnslib;
mod needs_npm;
mod needs_prism;
mod needs_samples;
mod notice;
mod server;
mod spf;
mod tenant;
mod vendor;
mod zone;
