//! Rules for single values that only the configuration has.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use ipnetwork::IpNetwork;

use crate::clock::zone::{ZONE_RULE, Zone};
use crate::egress::is_url;
use crate::mail::{self, Mailbox};
use crate::origin::Origin;
use crate::store::backup::is_recipient;
use crate::toml_reader::{Ruled, Value, Wrong, list, number, string, table, wrong};

/// A number for each industry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByIndustry {
    /// By name in lower case.
    pub named: BTreeMap<String, u64>,
    /// For any other industry, and an unknown one.
    pub default: u64,
}

/// Names of one certificate; Let's Encrypt allows as many.
const N_ACME_DOMAINS: RangeInclusive<usize> = 1..=100;
const NAME_CHARS_MAX: usize = 253;
/// More industries are refused.
const N_INDUSTRIES_MAX: usize = 100;
/// The key of the number for all other industries.
const ANY_INDUSTRY: &str = "default";

/// Longer tables of origins are refused.
const N_ORIGINS_MAX: usize = 64;

/// Zero, or an integer of a range.
pub(super) fn zero_or(range: RangeInclusive<u32>) -> impl Fn(&Value<'_>) -> Ruled<u32> {
    move |value| {
        let given = number(0..=u32::MAX)(value);
        match given {
            Ok(0) => Ok(0),
            Ok(it) if !range.contains(&it) => wrong(
                value,
                format!("must be 0, or {} to {}, not {it}", range.start(), range.end()),
            ),
            other => other,
        }
    }
}

/// A table of origins, such as `https://api.example`, and the origins to use instead.
pub(super) fn origins(value: &Value<'_>) -> Ruled<BTreeMap<String, String>> {
    let table = table(value)?;
    if N_ORIGINS_MAX < table.len() {
        let rule = format!("must have at most {N_ORIGINS_MAX} keys, not {}", table.len());
        return wrong(value, rule);
    }
    let mut origins = BTreeMap::new();
    for (from, to) in table {
        let from = from.get_ref().as_ref();
        let rule = "must have origins without a path, like \"https://api.example\"";
        let Some(to) = to.get_ref().as_str().filter(|it| is_origin(it) && is_origin(from)) else {
            return wrong(value, rule);
        };
        origins.insert(from.to_owned(), to.to_owned());
    }
    Ok(origins)
}

fn is_origin(text: &str) -> bool {
    let host = text.split_once("://").map_or("", |(_, rest)| rest);
    is_url(text) && !host.contains(['/', '?'])
}

/// A table with a number for each industry and one for all others.
pub(super) fn by_industry(range: RangeInclusive<u64>) -> impl Fn(&Value<'_>) -> Ruled<ByIndustry> {
    move |value| {
        let table = table(value)?;
        if N_INDUSTRIES_MAX < table.len() {
            let rule = format!("must have at most {N_INDUSTRIES_MAX} keys, not {}", table.len());
            return wrong(value, rule);
        }
        let (mut named, mut wrongs) = (BTreeMap::new(), Vec::new());
        for (industry, value) in table {
            let industry = industry.get_ref();
            match number(range.clone())(value) {
                Ok(number) if named.insert(industry.to_lowercase(), number).is_none() => (),
                Ok(_) => {
                    let rule =
                        format!("{industry:?} is there twice, apart from upper and lower case");
                    wrongs.extend(wrong::<()>(value, rule).err().into_iter().flatten());
                }
                Err(all) => {
                    let named =
                        |it: Wrong| Wrong { rule: format!("{industry:?} {}", it.rule), ..it };
                    wrongs.extend(all.into_iter().map(named));
                }
            }
        }
        if !wrongs.is_empty() {
            return Err(wrongs);
        }
        match named.remove(ANY_INDUSTRY) {
            Some(default) => Ok(ByIndustry { named, default }),
            None => wrong(value, format!("must have {ANY_INDUSTRY:?}, for all other industries")),
        }
    }
}

pub(super) fn time_zone(value: &Value<'_>) -> Ruled<Zone> {
    let name = string(value)?;
    Zone::named(name).map_or_else(|| wrong(value, format!("{ZONE_RULE}, not {name:?}")), Ok)
}

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

/// A public key that backups are encrypted to.
pub(super) fn recipient(value: &Value<'_>) -> Ruled<String> {
    let text = string(value)?;
    if text.starts_with("AGE-SECRET-KEY-") {
        return wrong(value, "is a secret key; put the public key here, which begins with age1");
    }
    if !is_recipient(text) {
        return wrong(
            value,
            format!("{text:?} is not a public key of age, which begins with age1"),
        );
    }
    Ok(text.to_owned())
}

pub(super) fn socket_addr(value: &Value<'_>) -> Ruled<SocketAddr> {
    let text = string(value)?;
    let rule = format!("{text:?} is not an IP address with a port, such as \"127.0.0.1:8080\"");
    text.parse().or_else(|_| wrong(value, rule))
}

/// Where people reach the service: an origin, as browsers write it.
pub(super) fn public_url(value: &Value<'_>) -> Ruled<String> {
    let text = string(value)?;
    if let Some(origin) = Origin::parse(text) {
        return Ok(origin.to_string());
    }
    let sample = "https://posture.example.com";
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    if let Some((authority, path)) = rest.split_once('/')
        && let Some(origin) = Origin::parse(&format!("{scheme}://{authority}"))
        && !path.contains(['?', '#'])
    {
        let rule = format!(
            "{text:?} has a path, and pages do not work below one; give the service a name or a port of its own, and write \
             {:?}",
            origin.to_string()
        );
        return wrong(value, rule);
    }
    wrong(value, format!("{text:?} is not a URL of a host, such as {sample:?}"))
}

/// An absolute URL that begins with `https`, without a query or fragment. Its trailing slash is removed.
pub(super) fn https_url(value: &Value<'_>) -> Ruled<String> {
    let text = string(value)?;
    let url = text.strip_suffix('/').unwrap_or(text);
    if !is_url(url) || url.contains('?') || url.ends_with('/') {
        let sample = "https://acme.example.com/directory";
        let rule = format!("{text:?} is not an absolute URL without a query, such as {sample:?}");
        return wrong(value, rule);
    }
    if !url.get(..HTTPS.len()).is_some_and(|it| it.eq_ignore_ascii_case(HTTPS)) {
        return wrong(value, "must begin with https://");
    }
    Ok(url.to_owned())
}

const HTTPS: &str = "https://";

/// Names that a certificate is ordered for: each once, in lower case.
pub(super) fn acme_domains(value: &Value<'_>) -> Ruled<Vec<String>> {
    let domains = list(N_ACME_DOMAINS, domain)(value)?;
    let mut sorted = domains.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() != domains.len() {
        return wrong(value, "has a name twice");
    }
    Ok(domains)
}

/// A name of the public DNS, in lower case.
pub(super) fn domain(value: &Value<'_>) -> Ruled<String> {
    let name = string(value)?.to_lowercase();
    if !mail::is_domain(&name) {
        let sample = "posture.example.com";
        return wrong(value, format!("{name:?} is not a domain name, such as {sample:?}"));
    }
    Ok(name)
}

/// An address that an authority can write to.
pub(super) fn email(value: &Value<'_>) -> Ruled<String> {
    let text = string(value)?;
    let is_one = text
        .split_once('@')
        .is_some_and(|(who, host)| !who.is_empty() && !host.is_empty() && !host.contains('@'));
    if !is_one || NAME_CHARS_MAX < text.len() || !text.bytes().all(|it| it.is_ascii_graphic()) {
        return wrong(value, format!("{text:?} is not an email address"));
    }
    Ok(text.to_owned())
}

/// A host and a port.
pub(super) fn mail_server(value: &Value<'_>) -> Ruled<(String, u16)> {
    let text = string(value)?;
    let rule = format!("{text:?} is not a host with a port, such as \"smtp.example.com:587\"");
    mail::server(text).map_or_else(|| wrong(value, rule), Ok)
}

/// An address, or a name with the address in angle brackets.
pub(super) fn mail_sender(value: &Value<'_>) -> Ruled<Mailbox> {
    let text = string(value)?;
    let sample = "Northwind <reports@northwind.example>";
    let rule = format!("{text:?} is not a sender, such as {sample:?}");
    mail::sender(text).map_or_else(|| wrong(value, rule), Ok)
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
