//! What observations are about: the client, a platform or an account of it, a device, a domain.

use crate::engine::fact::Observation;

/// The platform of what a network scan sees.
pub(in crate::engine) const NETWORK: &str = "onPremNetwork";
/// Platforms of which each must be seen. Others are of devices and of what the client does.
pub(in crate::engine) const SEEN_ONE_BY_ONE: [&str; 8] =
    ["m365", "google", "aws", "azure", "gcp", "kubernetes", "otherIdentity", NETWORK];
/// Those whose accounts are cloud accounts.
const CLOUDS: [&str; 4] = ["aws", "azure", "gcp", "kubernetes"];

/// What an observation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Place<'a> {
    /// The source does not say, or it is the client.
    Client,
    Platform {
        platform: &'a str,
        /// The tenant, account, subscription or project. `None`: the source does not name it.
        account: Option<&'a str>,
    },
    /// One device, by its scope.
    Device(&'a str),
    /// A domain that the DNS is read for.
    Domain(&'a str),
}

impl<'a> Place<'a> {
    /// Scopes of assessors begin with what they are of, such as `aws/123456789012`. A connection is the source of its platform.
    pub(in crate::engine) fn of(observation: &'a Observation) -> Self {
        let scope = observation.scope.as_str();
        let (first, rest) = scope.split_once('/').unwrap_or((scope, ""));
        let account = Some(rest).filter(|it| !it.is_empty());
        if let Some(platform) = &observation.platform {
            return Self::Platform { platform, account: account.filter(|_| first == platform) };
        }
        match first {
            _ if account.is_some() && SEEN_ONE_BY_ONE.contains(&first) => {
                Self::Platform { platform: first, account }
            }
            "googleworkspace" => Self::Platform { platform: "google", account },
            "okta" => Self::Platform { platform: "otherIdentity", account },
            // What a benchmark looked at ends with the benchmark.
            "host" => match rest.rsplit_once('/') {
                Some((host, _)) => Self::Device(host),
                None => Self::Device(rest),
            },
            "image" => Self::Device(scope),
            _ if first.parse::<std::net::IpAddr>().is_ok() => Self::Device(scope),
            _ => match observation.source.as_str() {
                "dns" if is_own_domain(scope) => Self::Domain(scope),
                platform @ ("m365" | "google" | "aws" | "azure") => {
                    Self::Platform { platform, account: None }
                }
                "ad" => Self::Platform { platform: NETWORK, account: None },
                _ => Self::Client,
            },
        }
    }
}

/// Every tenant of Microsoft 365 has one that nobody can use for mail of their own.
fn is_own_domain(scope: &str) -> bool {
    scope.contains('.') && !scope.contains('/') && !scope.ends_with(".onmicrosoft.com")
}

pub(in crate::engine) fn is_cloud(platform: &str) -> bool {
    CLOUDS.contains(&platform)
}
