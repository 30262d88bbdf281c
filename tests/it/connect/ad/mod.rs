//! Active Directory: LDAP over TLS, a domain, and the rules about it.

mod ber;
mod certificate;
pub mod connection;
pub mod domain;
mod fault;
mod needs_samba;
mod paging;
mod rule;
pub mod server;

use std::time::Duration;

use ipnetwork::IpNetwork;
use posture::connect::ad::{AdConfig, Directory};
use posture::connect::reading::{Group, Judged, Stream, StreamState};
use posture::egress::{Egress, EgressPolicy, Trust};
use tokio::runtime::Builder;
use tokio::time::Instant;

/// No read takes as long.
pub const LONG: Duration = Duration::from_mins(1);

/// A way out to this host.
fn local() -> Egress {
    let networks: Vec<IpNetwork> = vec!["127.0.0.0/8".parse().unwrap()];
    let policy = EgressPolicy { allow_private_networks: networks, ..EgressPolicy::default() };
    Egress::new(policy, LONG, 4).unwrap()
}

pub fn config(port: u16, trust: Trust) -> AdConfig {
    AdConfig {
        host: "127.0.0.1".to_owned(),
        port,
        user: "reader@acme.test".to_owned(),
        password: "secret".to_owned(),
        trust,
    }
}

pub fn read_within(config: &AdConfig, limit: Duration) -> Directory {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let egress = local();
    runtime.block_on(async {
        posture::connect::ad::read(config, &egress, Instant::now() + limit).await
    })
}

fn stream<'a>(directory: &'a Directory, name: &str) -> &'a Stream {
    directory.streams.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn states(directory: &Directory) -> Vec<(&str, StreamState)> {
    directory.streams.iter().map(|it| (it.name.as_str(), it.state)).collect()
}

fn find<'a>(groups: &'a [Group], check: &str) -> Option<&'a Judged> {
    groups.iter().flat_map(|it| &it.observations).find(|it| it.check == check)
}
