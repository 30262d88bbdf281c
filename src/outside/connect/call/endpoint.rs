//! Where requests go.

use std::collections::BTreeMap;

use crate::egress::http::Uri;
use crate::egress::is_same_origin;

/// Origins that are reached through others, such as a gateway: `https://graph.microsoft.com` -> `https://gateway.example`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints(pub BTreeMap<String, String>);

impl Endpoints {
    /// The URL to call instead.
    #[must_use]
    pub fn route(&self, url: &str) -> String {
        let found = split(url).and_then(|(origin, rest)| Some((self.of(origin)?, rest)));
        found.map_or_else(|| url.to_owned(), |(to, rest)| format!("{to}{rest}"))
    }

    /// What an origin is reached through, if it is another.
    fn of(&self, origin: &str) -> Option<&String> {
        self.0.iter().find(|it| is_same_origin(it.0, origin)).map(|it| it.1)
    }

    /// The URL of a next page, if it leads to where the first one was: the same origin and the same first part of the
    /// path, however they are written. Credentials go nowhere else.
    #[must_use]
    pub fn pinned(&self, link: &str, first: &str, letters: Letters) -> Option<String> {
        let (origin, path) = split(first)?;
        let (given, rest) = match split(link) {
            Some(parts) => parts,
            None if link.starts_with('/') && !link.starts_with("//") => (origin, link),
            None => return None,
        };
        let is_at = |it: &str| is_same_origin(given, it);
        let is_here = is_at(origin) || self.of(origin).is_some_and(|it| is_at(it));
        let (part, first_part) = (first_part(rest), first_part(path));
        let is_same_part = match letters {
            Letters::Exact => part == first_part,
            Letters::AnyCase => part.eq_ignore_ascii_case(first_part),
        };
        let is_plain = !has_dots(rest) && is_same_part;
        let url = format!("{origin}{rest}");
        (is_here && is_plain && url.parse::<Uri>().is_ok()).then_some(url)
    }
}

/// Whether a service tells capitals from small letters in its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    Exact,
    AnyCase,
}

/// The origin of an absolute URL, and the rest. `None` if there is a user name in it.
fn split(url: &str) -> Option<(&str, &str)> {
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|it| url.get(..it.len()).is_some_and(|start| start.eq_ignore_ascii_case(it)))?;
    let host = &url[scheme.len()..];
    let n_host = host.find(['/', '?', '#']).unwrap_or(host.len());
    let (origin, rest) = url.split_at(url.len() - host.len() + n_host);
    (!origin.contains(['@', '\\'])).then_some((origin, rest))
}

fn first_part(path: &str) -> &str {
    let path = path.split(['?', '#']).next().unwrap_or(path);
    path.strip_prefix('/').unwrap_or(path).split('/').next().unwrap_or(path)
}

/// A path that leads somewhere else once it is read.
fn has_dots(rest: &str) -> bool {
    let path = rest.split(['?', '#']).next().unwrap_or(rest);
    path.split('/').any(|it| {
        let part = it.to_ascii_lowercase().replace("%2e", ".");
        part == "." || part == ".." || part.contains("%2f") || part.contains("%5c")
    })
}
