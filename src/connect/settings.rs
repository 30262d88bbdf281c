//! What a connection reads.

use serde::{Deserialize, Serialize};

use super::dns::Domain;
use crate::error::{Error, Result};

pub const N_DOMAINS_MAX: usize = 100;

/// What a connection reads. Stored as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Settings {
    /// The public DNS records of these domains.
    Dns { domains: Vec<String> },
}

impl Settings {
    /// # Errors
    /// `Invalid` about `domains`.
    pub fn dns(domains: &[String]) -> Result<Self> {
        let refused = |rule: String| Err(Error::invalid_field("domains", rule));
        let mut names = Vec::new();
        for it in domains {
            match Domain::parse(it) {
                Ok(domain) => names.push(domain.as_str().to_owned()),
                Err(error) => return refused(format!("{it}: {}", error.message())),
            }
        }
        names.sort_unstable();
        names.dedup();
        if names.is_empty() || N_DOMAINS_MAX < names.len() {
            return refused(format!("must be 1 to {N_DOMAINS_MAX} domains"));
        }
        Ok(Self::Dns { domains: names })
    }

    /// # Errors
    /// `Internal` if a later release wrote it.
    pub fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(Error::internal)
    }

    /// # Panics
    /// Never: settings have a form in JSON.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("settings have a form in JSON")
    }

    /// The word for what it reads.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Dns { .. } => "dns",
        }
    }

    /// A name for people.
    #[must_use]
    pub const fn title(&self) -> &'static str {
        match self {
            Self::Dns { .. } => "DNS",
        }
    }
}
