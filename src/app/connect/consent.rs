//! Where clients let their environments be read.

use std::collections::BTreeMap;

use crate::app::App;
use crate::connect::google;
use crate::connect::kind::{AZURE, GOOGLE, M365};
use crate::connect::settings::Settings;
use crate::error::Result;
use crate::id::ConnectionId;
use crate::store::global::connection::ConnectionWithRun;
use crate::store::global::connection::credential::CredentialOwner;

impl App {
    /// The links for administrators of clients. A connection without one needs no consent, or lacks what its link is made of.
    ///
    /// # Errors
    /// `Internal` if a connection is damaged.
    pub async fn consent_links(
        &self,
        all: &[ConnectionWithRun],
    ) -> Result<BTreeMap<ConnectionId, String>> {
        let microsoft = self.microsoft_app().await?.map(|it| it.app);
        let mut links = BTreeMap::new();
        for ConnectionWithRun { connection, .. } in all {
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
            links.extend(link.map(|link| (connection.id, link)));
        }
        Ok(links)
    }
}
