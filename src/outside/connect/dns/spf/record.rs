//! The syntax of an SPF record (RFC 7208, sections 4.5, 4.6 and 12).

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::connect::dns::domain::is_name;
use crate::text::line;

/// A network with a shorter prefix holds more than 16 million IPv4 addresses.
const IPV4_PREFIX_MIN: u8 = 8;
const IPV6_PREFIX_MIN: u8 = 16;
/// A longer term is cut where an error repeats it.
const TERM_CHARS_MAX: usize = 80;

/// What is said of mail that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Qualifier {
    Pass,
    Fail,
    SoftFail,
    Neutral,
}

/// The name behind a mechanism or modifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Name(String),
    /// It depends on the mail, so that it cannot be looked up here.
    Macro,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mechanism {
    All,
    Include(Target),
    /// `None` is the domain of the record itself.
    A(Option<Target>),
    Mx(Option<Target>),
    Ptr,
    Exists(Target),
    Ip,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Directive {
    pub(super) qualifier: Qualifier,
    pub(super) mechanism: Mechanism,
    /// It names a network of which nobody has the whole.
    pub(super) is_wide: bool,
    /// As written.
    pub(super) text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) directives: Vec<Directive>,
    pub(super) redirect: Option<Target>,
}

/// Returns true if a TXT record is meant as SPF, however wrong the rest is.
pub(super) fn is_spf(text: &str) -> bool {
    let (version, rest) = text.split_at_checked(6).unwrap_or_default();
    version.eq_ignore_ascii_case("v=spf1") && (rest.is_empty() || rest.starts_with(' '))
}

/// Reads a record for which [`is_spf`] is true. The error says what is wrong, for a sentence.
pub(super) fn parse(text: &str) -> Result<Record, String> {
    let mut record = Record::default();
    let mut has_exp = false;
    for term in text.split(' ').filter(|it| !it.is_empty()).skip(1) {
        let bad = |why: &str| format!("\"{}\" {why}", line(term, TERM_CHARS_MAX));
        if !term.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(bad("holds a character that is not allowed"));
        }
        let end = term.find([':', '/', '=']).unwrap_or(term.len());
        let Some(value) = term[end..].strip_prefix('=') else {
            record.directives.push(directive(term).map_err(bad)?);
            continue;
        };
        match term[..end].to_ascii_lowercase().as_str() {
            "redirect" if record.redirect.is_some() => return Err(bad("is the second redirect")),
            "redirect" => record.redirect = Some(target(value).map_err(bad)?),
            "exp" if has_exp => return Err(bad("is the second exp")),
            "exp" => {
                target(value).map_err(bad)?;
                has_exp = true;
            }
            name if is_modifier(name) => (), // Unknown modifiers are ignored.
            _ => return Err(bad("is no mechanism or modifier")),
        }
    }
    Ok(record)
}

fn is_modifier(name: &str) -> bool {
    let is_rest = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
    name.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && name.bytes().all(is_rest)
}

fn directive(term: &str) -> Result<Directive, &'static str> {
    let (qualifier, rest) = match term.as_bytes().first() {
        Some(b'+') => (Qualifier::Pass, &term[1..]),
        Some(b'-') => (Qualifier::Fail, &term[1..]),
        Some(b'~') => (Qualifier::SoftFail, &term[1..]),
        Some(b'?') => (Qualifier::Neutral, &term[1..]),
        _ => (Qualifier::Pass, term),
    };
    let end = rest.find([':', '/']).unwrap_or(rest.len());
    let (name, rest) = (rest[..end].to_ascii_lowercase(), &rest[end..]);
    let argument = rest.strip_prefix(':');
    let (mechanism, is_wide) = match (name.as_str(), argument) {
        ("all", None) if rest.is_empty() => (Mechanism::All, false),
        ("all", _) => return Err("must be all alone"),
        ("include", Some(name)) => (Mechanism::Include(target(name)?), false),
        ("exists", Some(name)) => (Mechanism::Exists(target(name)?), false),
        ("include" | "exists", None) => return Err("lacks a domain"),
        ("a", _) => {
            let (target, is_wide) = target_and_prefixes(rest)?;
            (Mechanism::A(target), is_wide)
        }
        ("mx", _) => {
            let (target, is_wide) = target_and_prefixes(rest)?;
            (Mechanism::Mx(target), is_wide)
        }
        ("ptr", None) if rest.is_empty() => (Mechanism::Ptr, false),
        ("ptr", Some(name)) => {
            target(name)?;
            (Mechanism::Ptr, false)
        }
        ("ip4", Some(network)) => (Mechanism::Ip, is_wide_ipv4(network)?),
        ("ip6", Some(network)) => (Mechanism::Ip, is_wide_ipv6(network)?),
        _ => return Err("is no mechanism that SPF knows"),
    };
    Ok(Directive { qualifier, mechanism, is_wide, text: line(term, TERM_CHARS_MAX) })
}

fn target(text: &str) -> Result<Target, &'static str> {
    if !text.contains('%') {
        let is_good = is_name(text);
        return is_good.then(|| Target::Name(text.to_owned())).ok_or("names no domain");
    }
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('%') {
        rest = match after.as_bytes().first() {
            Some(b'%' | b'_' | b'-') => &after[1..],
            Some(b'{') => after.split_once('}').ok_or("holds a macro that does not end")?.1,
            _ => return Err("holds a % that begins no macro"),
        };
    }
    Ok(Target::Macro)
}

/// What follows `a` or `mx`: `:domain/24//64`, each part optional. Returns true if a prefix is too short.
fn target_and_prefixes(rest: &str) -> Result<(Option<Target>, bool), &'static str> {
    // A macro may hold a slash as a delimiter.
    let from = rest.rfind('}').unwrap_or(0);
    let (name, prefixes) = rest.split_at(rest[from..].find('/').map_or(rest.len(), |it| from + it));
    let target = match name.strip_prefix(':') {
        Some(name) => Some(target(name)?),
        None if name.is_empty() => None,
        None => return Err("is no mechanism that SPF knows"),
    };
    let (ipv4, ipv6) = match prefixes.split_once("//") {
        Some((ipv4, ipv6)) => (ipv4, Some(ipv6)),
        None => (prefixes, None),
    };
    let ipv4 = match ipv4.strip_prefix('/') {
        Some(text) => Some(prefix(text, 32)?),
        None => None,
    };
    let ipv6 = ipv6.map(|it| prefix(it, 128)).transpose()?;
    let is_wide =
        ipv4.is_some_and(|it| it < IPV4_PREFIX_MIN) || ipv6.is_some_and(|it| it < IPV6_PREFIX_MIN);
    Ok((target, is_wide))
}

fn is_wide_ipv4(network: &str) -> Result<bool, &'static str> {
    let (address, length) = split_prefix(network, 32)?;
    address.parse::<Ipv4Addr>().map_err(|_| "names no IPv4 address or network")?;
    Ok(length < IPV4_PREFIX_MIN)
}

fn is_wide_ipv6(network: &str) -> Result<bool, &'static str> {
    let (address, length) = split_prefix(network, 128)?;
    address.parse::<Ipv6Addr>().map_err(|_| "names no IPv6 address or network")?;
    Ok(length < IPV6_PREFIX_MIN)
}

fn split_prefix(network: &str, max: u8) -> Result<(&str, u8), &'static str> {
    match network.split_once('/') {
        Some((address, length)) => Ok((address, prefix(length, max)?)),
        None => Ok((network, max)),
    }
}

fn prefix(text: &str, max: u8) -> Result<u8, &'static str> {
    let is_plain = text == "0" || !text.starts_with(['0', '+']);
    let length: Option<u8> = text.parse().ok().filter(|it| is_plain && *it <= max);
    length.ok_or("has a prefix length that is not possible")
}
