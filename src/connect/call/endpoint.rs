//! Where requests go.

use std::collections::BTreeMap;

use crate::egress::http::Uri;

/// Origins that are reached through others, such as a gateway: `https://graph.microsoft.com` -> `https://gateway.example`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints(pub BTreeMap<String, String>);

impl Endpoints {
    /// The URL to call instead.
    #[must_use]
    pub fn route(&self, url: &str) -> String {
        let found = split(url).and_then(|(origin, rest)| Some((self.0.get(origin)?, rest)));
        found.map_or_else(|| url.to_owned(), |(to, rest)| format!("{to}{rest}"))
    }

    /// The URL of a next page, if it leads to where the first one was: the same origin and the same first part of the
    /// path. Credentials go nowhere else.
    #[must_use]
    pub fn pinned(&self, link: &str, first: &str) -> Option<String> {
        let (origin, path) = split(first)?;
        let (given, rest) = match split(link) {
            Some(parts) => parts,
            None if link.starts_with('/') && !link.starts_with("//") => (origin, link),
            None => return None,
        };
        let is_here = given == origin || self.0.get(origin).is_some_and(|it| it == given);
        let is_plain = !has_dots(rest) && first_part(rest) == first_part(path);
        let url = format!("{origin}{rest}");
        (is_here && is_plain && url.parse::<Uri>().is_ok()).then_some(url)
    }
}

/// The origin of an absolute URL, and the rest. `None` if there is a user name in it.
fn split(url: &str) -> Option<(&str, &str)> {
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
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
