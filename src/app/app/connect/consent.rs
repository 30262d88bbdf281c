//! Where clients let their environments be read.

use std::collections::BTreeMap;

use crate::app::App;
use crate::connect::google;
use crate::connect::kind::{AZURE, GOOGLE, M365, uses_microsoft_app};
use crate::connect::settings::Settings;
use crate::error::Result;
use crate::id::ConnectionId;
use crate::store::global::connection::ConnectionWithRun;
use crate::store::global::connection::credential::CredentialOwner;

/// What a connection needs of others before it can be read.
#[derive(Clone, Debug, Default)]
pub struct Consent {
    /// For an administrator of the client. `None`: it needs no consent, or lacks what its link is made of.
    pub link: Option<String>,
    /// `microsoft_app` or `consent`. `None`: it waits for nothing.
    pub waits_for: Option<&'static str>,
}

impl App {
    /// What these connections need of others.
    ///
    /// # Errors
    /// `Internal` if a connection is damaged.
    pub async fn consents(
        &self,
        all: &[ConnectionWithRun],
    ) -> Result<BTreeMap<ConnectionId, Consent>> {
        let microsoft = self.microsoft_app().await?.map(|it| it.app);
        let mut consents = BTreeMap::new();
        for ConnectionWithRun { connection, run, .. } in all {
            let settings = Settings::parse(&connection.settings)?;
            let link = match settings.kind.as_str() {
                M365 | AZURE => {
                    let tenant = settings.values.get("tenant");
                    microsoft.as_ref().zip(tenant).map(|(app, tenant)| app.consent_link(tenant))
                }
                GOOGLE => {
                    let owner = CredentialOwner::Connection(connection.id);
                    let secrets = self.find_secrets(owner).await.unwrap_or_default();
                    secrets.0.get("service_account_key").and_then(|it| google::consent_link(it))
                }
                _ => None,
            };
            let was_read = run.as_ref().is_some_and(|it| it.last_success_at.is_some());
            let waits_for = if was_read {
                None
            } else if uses_microsoft_app(&settings.kind) && microsoft.is_none() {
                Some("microsoft_app")
            } else {
                run.as_ref().is_some_and(|it| it.awaits_consent).then_some("consent")
            };
            consents.insert(connection.id, Consent { link, waits_for });
        }
        Ok(consents)
    }
}
