//! What a connection reads.

use serde::{Deserialize, Serialize};

use super::dns::Domain;
use super::kind::{AWS, DNS, Kind, Values};
use crate::error::{Error, Result};

pub const N_DOMAINS_MAX: usize = 100;

/// What a connection reads, without its secrets. Stored as JSON: later releases add members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// A name of [`super::kind::kinds`].
    pub kind: String,
    /// Of the kind that reads the DNS.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<String>,
    /// The fields of the kind.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub values: Values,
}

impl Settings {
    /// # Errors
    /// `Invalid` about `domains` or a setting.
    pub fn of(kind: &Kind, domains: Option<&[String]>, values: Values) -> Result<Self> {
        let domains = match domains {
            None if kind.name == DNS => {
                return Err(Error::invalid_field("domains", "must name the domains to read"));
            }
            Some(_) if kind.name != DNS => {
                let rule = format!("is for connections of kind dns; this is {}", kind.name);
                return Err(Error::invalid_field("domains", rule));
            }
            None => Vec::new(),
            Some(domains) => checked_domains(domains)?,
        };
        if kind.name == AWS && !["role_arn", "account_id"].iter().any(|it| values.contains_key(*it))
        {
            let rule = "is required: the role in the client's account, or `account_id` if the access key belongs to \
                        the account itself";
            return Err(Error::invalid_field("settings.role_arn", rule));
        }
        Ok(Self { kind: kind.name.to_string(), domains, values })
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

    /// Of a field that the kind requires.
    ///
    /// # Errors
    /// `Internal` if it is missing, because nothing is stored without it.
    pub fn value(&self, name: &str) -> Result<&str> {
        let missing = || Error::internal(std::io::Error::other(format!("no setting {name}")));
        self.values.get(name).map(String::as_str).ok_or_else(missing)
    }
}

fn checked_domains(domains: &[String]) -> Result<Vec<String>> {
    let refused = |rule: String| Err(Error::invalid_field("domains", rule));
    let mut names = Vec::new();
    for it in domains {
        match Domain::parse(it) {
            Ok(domain) => names.push(domain.as_str().to_owned()),
            Err(error) => return refused(error.message().to_owned()),
        }
    }
    names.sort_unstable();
    names.dedup();
    if names.is_empty() || N_DOMAINS_MAX < names.len() {
        return refused(format!("must be 1 to {N_DOMAINS_MAX} domains"));
    }
    Ok(names)
}
