//! Rules that single values keep.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use ipnetwork::IpNetwork;

use super::file::Value;

/// Why a value is refused, and the byte offset of the part that is wrong.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) at: usize,
    pub(super) rule: String,
}

/// The value, or everything that is wrong with it.
pub(super) type Ruled<T> = Result<T, Vec<Wrong>>;

fn wrong<T>(value: &Value<'_>, rule: impl Into<String>) -> Ruled<T> {
    Err(vec![Wrong { at: value.span().start, rule: rule.into() }])
}

fn wrong_type<T>(value: &Value<'_>, wanted: &str) -> Ruled<T> {
    wrong(value, format!("must be of type {wanted}, is {}", value.get_ref().type_str()))
}

fn string<'v>(value: &'v Value<'_>) -> Ruled<&'v str> {
    value.get_ref().as_str().map_or_else(|| wrong_type(value, "string"), Ok)
}

/// One line without spaces around it.
pub(super) fn text(chars: RangeInclusive<usize>) -> impl Fn(&Value<'_>) -> Ruled<String> {
    move |value| {
        let text = string(value)?;
        if text.trim() != text || text.contains(char::is_control) {
            return wrong(value, "must be one line without spaces around it");
        }
        if !chars.contains(&text.chars().count()) {
            let (min, max) = (chars.start(), chars.end());
            return wrong(value, format!("must have {min} to {max} characters"));
        }
        Ok(text.to_owned())
    }
}

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

pub(super) fn number(range: RangeInclusive<u32>) -> impl Fn(&Value<'_>) -> Ruled<u32> {
    move |value| {
        let wide = u64::from(*range.start())..=u64::from(*range.end());
        let number = amount(wide)(value)?;
        Ok(u32::try_from(number).expect("in the range"))
    }
}

pub(super) fn amount(range: RangeInclusive<u64>) -> impl Fn(&Value<'_>) -> Ruled<u64> {
    move |value| {
        let Some(integer) = value.get_ref().as_integer() else {
            return wrong_type(value, "integer");
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        number.filter(|it| range.contains(it)).map_or_else(
            || wrong(value, format!("{integer} is not in {} to {}", range.start(), range.end())),
            Ok,
        )
    }
}

pub(super) fn word<T: Copy>(words: &[(&str, T)]) -> impl Fn(&Value<'_>) -> Ruled<T> {
    move |value| {
        let text = string(value)?;
        let known = || words.iter().map(|(it, _)| format!("{it:?}")).collect::<Vec<_>>().join(", ");
        words.iter().find(|(it, _)| *it == text).map_or_else(
            || wrong(value, format!("{text:?} must be one of {}", known())),
            |(_, meaning)| Ok(*meaning),
        )
    }
}

/// Reports each item that is wrong.
pub(super) fn list<T>(
    lengths: RangeInclusive<usize>,
    item: impl Fn(&Value<'_>) -> Ruled<T>,
) -> impl Fn(&Value<'_>) -> Ruled<Vec<T>> {
    move |value| {
        let Some(array) = value.get_ref().as_array() else {
            return wrong_type(value, "array");
        };
        if !lengths.contains(&array.len()) {
            let (min, max) = (lengths.start(), lengths.end());
            return wrong(value, format!("must have {min} to {max} items, has {}", array.len()));
        }
        let (mut items, mut wrongs) = (Vec::new(), Vec::new());
        for ruled in array.iter().map(&item) {
            match ruled {
                Ok(it) => items.push(it),
                Err(more) => wrongs.extend(more),
            }
        }
        if wrongs.is_empty() { Ok(items) } else { Err(wrongs) }
    }
}
