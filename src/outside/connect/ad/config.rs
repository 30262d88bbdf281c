//! How a domain is reached.

use std::fmt;

use crate::connect::call::Unread;
use crate::connect::kind::Values;
use crate::egress::{Trust, TrustedRoots};

/// Of LDAP over TLS.
pub const PORT: u16 = 636;

#[derive(Clone)]
pub struct AdConfig {
    /// The name or address of a domain controller.
    pub host: String,
    pub port: u16,
    /// `reader@acme.test`, or a distinguished name.
    pub user: String,
    pub password: String,
    pub trust: Trust,
}

/// Hides the password.
impl fmt::Debug for AdConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, user, .. } = self;
        write!(f, "AdConfig({user} at {host}:{port})")
    }
}

impl AdConfig {
    /// # Errors
    /// `Credential` with what is to be set.
    pub fn of(values: &Values, secrets: &Values) -> Result<Self, Unread> {
        let missing = |name: &str| {
            Unread::credential(format!("{name} is missing; enter it with `posture connect set`"))
        };
        let of = |from: &Values, name: &str| from.get(name).cloned().ok_or_else(|| missing(name));
        let unusable = |name: &str| {
            Unread::credential(format!(
                "{name} cannot be used; enter it again with `posture connect set`"
            ))
        };
        // Whoever pinned a certificate looked at it, which says more than an authority.
        let trust = match (values.get("fingerprint"), values.get("ca")) {
            (Some(text), _) => Trust::Pinned(text.parse().map_err(|_| unusable("fingerprint"))?),
            (None, Some(pem)) => {
                let roots = TrustedRoots::parse(pem.as_bytes());
                Trust::Authorities(roots.map_err(|_| unusable("ca"))?)
            }
            (None, None) => Trust::Public,
        };
        let port = values.get("port").map_or(Ok(PORT), |it| it.parse());
        Ok(Self {
            host: of(values, "host")?,
            port: port.map_err(|_| unusable("port"))?,
            user: of(values, "user")?,
            password: of(secrets, "password")?,
            trust,
        })
    }
}
