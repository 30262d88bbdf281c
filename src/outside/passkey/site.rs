//! Where passkeys are made and used: the relying party of Web Authentication.

use webauthn_rp::request::{AsciiDomain, RpId};

use crate::origin::Origin;

/// A site. Browsers hand its passkeys to no other.
#[derive(Clone, Debug)]
pub struct Site {
    pub(super) id: RpId,
    /// As browsers write it.
    origin: String,
}

impl Site {
    /// The site at an origin. `None`: browsers have no passkeys there. They need HTTPS, or `localhost`, and a name in place of
    /// an address.
    #[must_use]
    pub fn of(origin: &Origin) -> Option<Self> {
        let name = origin.name().filter(|_| origin.is_https() || origin.is_loopback())?;
        let id = RpId::Domain(AsciiDomain::try_from(name.to_owned()).ok()?);
        Some(Self { id, origin: origin.to_string() })
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
