//! Rules for single values that only the configuration has.

use std::net::SocketAddr;
use std::path::PathBuf;

use ipnetwork::IpNetwork;

use crate::toml_reader::{Ruled, Value, string, wrong};

/// Is not looked at: whoever opens it says what is wrong there.
pub(super) fn path(value: &Value<'_>) -> Ruled<PathBuf> {
    let path = string(value)?;
    if path.is_empty() || path.contains(char::is_control) {
        return wrong(value, "must be a path");
    }
    Ok(PathBuf::from(path))
}

pub(super) fn socket_addr(value: &Value<'_>) -> Ruled<SocketAddr> {
    let text = string(value)?;
    let rule = format!("{text:?} is not an IP address and a port such as \"127.0.0.1:8080\"");
    text.parse().or_else(|_| wrong(value, rule))
}

/// Scheme and host, without a slash at the end.
pub(super) fn origin(value: &Value<'_>) -> Ruled<String> {
    let text = string(value)?;
    let origin = text.strip_suffix('/').unwrap_or(text);
    let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    let is_host = |it: char| it.is_ascii_alphanumeric() || ".-:[]".contains(it);
    if !host.is_some_and(|it| !it.is_empty() && it.chars().all(is_host)) {
        let sample = "https://posture.example.com";
        return wrong(value, format!("{text:?} is not a URL without a path such as {sample:?}"));
    }
    Ok(origin.to_owned())
}

/// A bare address is a network of one.
pub(super) fn network(value: &Value<'_>) -> Ruled<IpNetwork> {
    let text = string(value)?;
    let Ok(network) = text.parse::<IpNetwork>() else {
        return wrong(value, format!("{text:?} is not a network such as \"10.0.0.0/8\""));
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
