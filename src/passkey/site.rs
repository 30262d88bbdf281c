//! Where passkeys are made and used: the relying party of Web Authentication.

use std::net::IpAddr;

use webauthn_rp::request::{AsciiDomain, RpId};

/// A site. Browsers hand its passkeys to no other.
#[derive(Clone, Debug)]
pub struct Site {
    pub(super) id: RpId,
    /// As browsers write it.
    origin: String,
}

impl Site {
    /// The site at a URL, of which only the origin counts. `None`: browsers have no passkeys there. They need HTTPS, or
    /// `localhost`, and a name in place of an address.
    #[must_use]
    pub fn of(url: &str) -> Option<Self> {
        let url = url.to_ascii_lowercase();
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split('/').next()?;
        let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
        let usual_port = match scheme {
            "https" => "443",
            "http" if host == "localhost" => "80",
            _ => return None,
        };
        let is_port = port.is_empty() || port.parse::<u16>().is_ok();
        if !is_port || host.parse::<IpAddr>().is_ok() {
            return None;
        }
        let id = RpId::Domain(AsciiDomain::try_from(host.to_owned()).ok()?);
        let is_usual = port.is_empty() || port == usual_port;
        let port = if is_usual { String::new() } else { format!(":{port}") };
        Some(Self { id, origin: format!("{scheme}://{host}{port}") })
    }

    /// The domain that its passkeys are for.
    #[must_use]
    pub fn domain(&self) -> &str {
        self.id.as_ref()
    }

    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }
}
