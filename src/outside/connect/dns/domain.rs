//! The name of a domain that a client uses for mail.

use std::fmt;
use std::net::IpAddr;

use idna::AsciiDenyList;

use crate::error::{Error, Result};
use crate::text::line;

/// Without the trailing dot. More does not fit into a query.
pub const DOMAIN_CHARS_MAX: usize = 253;
const LABEL_CHARS_MAX: usize = 63;
/// A longer text is cut where an error repeats it.
const SHOWN_CHARS_MAX: usize = 80;

/// A domain as ASCII in lower case: at least two labels of letters, digits and hyphens, without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Domain(String);

impl Domain {
    /// Letters of other scripts become an A-label: `müller.de` is `xn--mller-kva.de`.
    ///
    /// # Errors
    /// `Invalid` when it is no name of a domain. The message names the rule.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let bad = |why: &str| Error::invalid(format!("{:?}: {why}", line(text, SHOWN_CHARS_MAX)));
        if text.is_empty() {
            return Err(Error::invalid("a domain must not be empty"));
        }
        if text.contains(['/', '@', ':', '[', ' ']) {
            return Err(bad("enter the domain alone, such as example.com"));
        }
        if text.contains('*') {
            return Err(bad("a wildcard is not allowed; enter the domain itself"));
        }
        if text.parse::<IpAddr>().is_ok() {
            return Err(bad("an IP address is not allowed; enter a domain such as example.com"));
        }
        let ascii = idna::domain_to_ascii_cow(text.as_bytes(), AsciiDenyList::STD3);
        let ascii = ascii.map_err(|_| bad("a domain has letters, digits, hyphens and dots"))?;
        let name = ascii.strip_suffix('.').unwrap_or(&ascii);
        if DOMAIN_CHARS_MAX < name.len() {
            return Err(bad(&format!("a domain has at most {DOMAIN_CHARS_MAX} characters")));
        }
        let is_label = |it: &str| {
            (1..=LABEL_CHARS_MAX).contains(&it.len()) && !it.starts_with('-') && !it.ends_with('-')
        };
        if !name.split('.').all(is_label) {
            return Err(bad(
                "each part between dots has 1 to 63 characters, and no hyphen at its ends",
            ));
        }
        let Some((_, top)) = name.rsplit_once('.') else {
            return Err(bad("a domain has at least two parts, such as example.com"));
        };
        if top.bytes().all(|it| it.is_ascii_digit()) {
            return Err(bad("the last part of a domain is not a number"));
        }
        Ok(Self(name.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The names above a name, nearest first, down to its last label.
pub(super) fn above(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('.').map(|(at, _)| &name[at + 1..])
}

/// Returns true if a query for the name can be sent: at least two labels of 1 to 63 characters.
pub(super) fn is_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let top = name.rsplit_once('.').map_or("", |(_, top)| top);
    name.len() <= DOMAIN_CHARS_MAX
        && name.split('.').all(|it| (1..=LABEL_CHARS_MAX).contains(&it.len()))
        && top.bytes().any(|it| !it.is_ascii_digit())
        && top.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
        && name.bytes().all(|it| it.is_ascii_graphic() && it != b'\\')
}
