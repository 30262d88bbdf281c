//! Rules for single values that only the configuration has.

use std::net::SocketAddr;
use std::path::PathBuf;

use ipnetwork::IpNetwork;

use crate::egress::is_url;
use crate::toml_reader::{Ruled, Value, string, wrong};

/// A path. Whether it exists is reported where it is opened.
pub(super) fn path(value: &Value<'_>) -> Ruled<PathBuf> {
    let path = string(value)?;
    if path.is_empty() {
        return wrong(value, "must not be empty");
    }
    if path.contains(char::is_control) {
        return wrong(value, "must not contain control characters");
    }
    Ok(PathBuf::from(path))
}

pub(super) fn socket_addr(value: &Value<'_>) -> Ruled<SocketAddr> {
    let text = string(value)?;
    let rule = format!("{text:?} is not an IP address with a port, such as \"127.0.0.1:8080\"");
    text.parse().or_else(|_| wrong(value, rule))
}

/// An absolute URL without a query or fragment. Its trailing slash is removed.
pub(super) fn url(value: &Value<'_>) -> Ruled<String> {
    let text = string(value)?;
    let url = text.strip_suffix('/').unwrap_or(text);
    if !is_url(url) || url.contains('?') || url.ends_with('/') {
        let sample = "https://posture.example.com";
        let rule = format!("{text:?} is not an absolute URL without a query, such as {sample:?}");
        return wrong(value, rule);
    }
    Ok(url.to_owned())
}

/// A bare address is a network of one address.
pub(super) fn network(value: &Value<'_>) -> Ruled<IpNetwork> {
    let text = string(value)?;
    let Ok(network) = text.parse::<IpNetwork>() else {
        return wrong(
            value,
            format!("{text:?} is not a network in CIDR notation, such as \"10.0.0.0/8\""),
        );
    };
    if network.ip() != network.network() {
        let meant = format!("{}/{}", network.network(), network.prefix());
        let rule = format!("{text:?} is an address in a network; did you mean {meant:?}?");
        return wrong(value, rule);
    }
    Ok(network)
}

/// `None` is the word `attached`.
pub(super) fn network_or_attached(value: &Value<'_>) -> Ruled<Option<IpNetwork>> {
    if value.get_ref().as_str() == Some("attached") {
        return Ok(None);
    }
    network(value).map(Some)
}
