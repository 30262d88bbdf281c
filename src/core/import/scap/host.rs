//! The host that a run was about.

use crate::clock::Time;
use crate::engine::asset::{AssetType, Seen};
use crate::error::{Error, Result};
use crate::import::CheckSubject;
use crate::import::about::About;
use crate::import::host::is_global;
use crate::import::text::{self, NAME_CHARS_MAX};

/// As the report names it. Texts are empty where it does not say.
#[derive(Clone, Debug, Default)]
pub(in crate::import) struct Host {
    pub(in crate::import) fqdn: String,
    pub(in crate::import) name: String,
    pub(in crate::import) target: String,
    /// The first that other hosts can reach.
    pub(in crate::import) ip: String,
    /// The first that a manufacturer assigned.
    pub(in crate::import) mac: String,
    pub(in crate::import) is_workstation: bool,
}

impl Host {
    pub(in crate::import) fn take_ip(&mut self, text: &str) {
        let address = text.trim().parse::<std::net::IpAddr>().ok();
        let is_own = address.is_some_and(|it| !it.is_loopback() && !it.is_unspecified());
        if is_own && self.ip.is_empty() {
            text.trim().clone_into(&mut self.ip);
        }
    }

    pub(super) fn take_mac(&mut self, text: &str) {
        let text = text.trim().to_lowercase().replace('-', ":");
        if self.mac.is_empty() && is_global(&text) {
            self.mac = text;
        }
    }

    fn names(&self) -> [String; 3] {
        let all = [&self.fqdn, &self.name, &self.target];
        all.map(|it| it.trim().trim_end_matches('.').to_lowercase())
    }

    /// A name, and an address if the name is that of every host.
    fn id(&self) -> String {
        let names = self.names();
        let own = names.iter().find(|it| !it.is_empty() && !is_common(it));
        let address = if self.mac.is_empty() { &self.ip } else { &self.mac };
        match (own, names.iter().find(|it| !it.is_empty())) {
            (Some(own), _) => own.clone(),
            (None, Some(common)) if address.is_empty() => common.clone(),
            (None, Some(common)) => format!("{common}/{address}"),
            (None, None) => address.clone(),
        }
    }

    /// What a run says that judged the host by some rules. `by`: the profile or the benchmark.
    ///
    /// # Errors
    /// `Invalid` if nothing names the host.
    pub(super) fn about(&self, by: &str, observed_at: Option<Time>) -> Result<About> {
        let wrong = |reason: String| {
            Error::invalid(format!("it is not known which host the results are about: {reason}"))
        };
        if [&self.fqdn, &self.name, &self.target, &self.ip, &self.mac]
            .iter()
            .all(|it| it.is_empty())
        {
            return Err(wrong("it has no name and no address; enter its name (in STIG Viewer: Target Data) and save the file again"
                .to_owned()));
        }
        let id = text::id(&self.id(), "host").map_err(wrong)?;
        let scope = text::id(&format!("host/{id}/{by}"), "scope").map_err(wrong)?;
        let names = [&self.name, &self.target, &self.fqdn];
        let name = names.iter().find_map(|it| text::some_line(it, NAME_CHARS_MAX));
        let name = name.unwrap_or_else(|| text::line(&id, NAME_CHARS_MAX));
        Ok(About { scope, subject: CheckSubject::of(id, name), observed_at })
    }

    pub(super) fn asset(&self, about: &About) -> Seen {
        let hostname = self.names().into_iter().find(|it| !it.is_empty() && !is_common(it));
        let some = |it: &String| (!it.is_empty()).then(|| it.clone());
        let asset_type =
            if self.is_workstation { AssetType::Workstation } else { AssetType::Server };
        about.host(asset_type, hostname, some(&self.ip), some(&self.mac))
    }
}

/// Hosts have it that nobody named.
fn is_common(name: &str) -> bool {
    name.split('.').next().is_some_and(|it| it == "localhost")
}
