//! Reading an environment, whatever its kind.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::connect::call::Unread;
use crate::connect::dns::{self, Domain};
use crate::connect::google::{self, ServiceAccount, Workspace};
use crate::connect::kind::{DNS, GOOGLE, M365};
use crate::connect::m365;
use crate::connect::mapping::{self, Entered, Mapping, read_tool};
use crate::connect::microsoft;
use crate::connect::reading::Reading;
use crate::connect::settings::Settings;
use crate::error::{Code, Error, Result};
use crate::store::global::connection::Connection;
use crate::store::global::connection::credential::CredentialOwner;

/// A run ends after this, with what it could not read.
const RUN_MAX: Duration = Duration::from_mins(10);
/// A run that does not end on its own in this time after that is given up.
const RUN_MARGIN: Duration = Duration::from_mins(2);

impl App {
    /// # Errors
    /// `Unavailable` if it takes far too long.
    pub(super) async fn read_environment(&self, connection: &Connection) -> Result<Reading> {
        let settings = Settings::parse(&connection.settings)?;
        if let Some(made_up) = self.connects.options.made_up {
            return Ok(made_up(&settings, self.clock.now()));
        }
        let deadline = Instant::now() + RUN_MAX;
        let late = |_| {
            let minutes = RUN_MAX.as_secs() / 60;
            Error::unavailable(format!("the environment was not read within {minutes} minutes"))
        };
        let read = self.read_kind(connection, &settings, deadline);
        timeout_at(deadline + RUN_MARGIN, read).await.map_err(late)?
    }

    async fn read_kind(
        &self,
        connection: &Connection,
        settings: &Settings,
        deadline: Instant,
    ) -> Result<Reading> {
        match settings.kind.as_str() {
            DNS => {
                let domains = settings.domains.iter().map(|it| Domain::parse(it));
                let domains = domains.collect::<Result<Vec<_>>>()?;
                Ok(dns::read(&domains, &self.connects.resolver()?).await)
            }
            GOOGLE => self.read_google(connection, settings, deadline).await,
            M365 => self.read_m365(settings, deadline).await,
            other => match self.find_mapping(other).await {
                Ok(Some(mapping)) => {
                    self.read_mapped(&mapping, connection, settings, deadline).await
                }
                Ok(None) => {
                    let why =
                        format!("this release does not know the kind {other}; update Posture");
                    Ok(Unread::failed(why).reading())
                }
                Err(error) if error.code == Code::Conflict => {
                    Ok(Unread::failed(error.message()).reading())
                }
                Err(error) => Err(error),
            },
        }
    }

    async fn read_mapped(
        &self,
        mapping: &Arc<Mapping>,
        connection: &Connection,
        settings: &Settings,
        deadline: Instant,
    ) -> Result<Reading> {
        let secrets = match self.find_secrets(CredentialOwner::Connection(connection.id)).await {
            Ok(secrets) => secrets.0,
            Err(error) => return Ok(Unread::credential(error.message()).reading()),
        };
        let entered: Entered = settings.values.clone().into_iter().chain(secrets).collect();
        let api = self.connects.api(&mapping::DIALECT, &self.clock, deadline);
        Ok(read_tool(&api, mapping, &entered).await)
    }

    async fn read_google(
        &self,
        connection: &Connection,
        settings: &Settings,
        deadline: Instant,
    ) -> Result<Reading> {
        let secrets = match self.find_secrets(CredentialOwner::Connection(connection.id)).await {
            Ok(secrets) => secrets,
            Err(error) => return Ok(Unread::credential(error.message()).reading()),
        };
        let key = secrets.0.get("service_account_key").map_or("", String::as_str);
        let account = match ServiceAccount::parse(key) {
            Ok(account) => Arc::new(account),
            Err(rule) => {
                let why = format!("the setting service_account_key {rule}");
                return Ok(Unread::credential(why).reading());
            }
        };
        let sanctioned_apps = match connection.client {
            Some(client) => self.roster_rules(client)?.sanctioned_apps,
            None => Vec::new(),
        };
        let workspace = Workspace {
            domain: settings.value("domain")?,
            admin: settings.value("admin")?,
            sanctioned_apps: &sanctioned_apps,
        };
        let api = self.connects.api(&google::DIALECT, &self.clock, deadline);
        Ok(google::read(&api, &account, workspace).await)
    }

    async fn read_m365(&self, settings: &Settings, deadline: Instant) -> Result<Reading> {
        let Some(state) = self.microsoft_app().await? else {
            let why = "there is no Microsoft app yet; run `posture connect m365 init`";
            return Ok(Unread::credential(why).reading());
        };
        let secrets = match self.find_secrets(CredentialOwner::MicrosoftApp).await {
            Ok(secrets) => secrets,
            Err(error) => return Ok(Unread::credential(error.message()).reading()),
        };
        let key = match state.app.key(&secrets.0) {
            Ok(key) => Arc::new(key),
            Err(unread) => return Ok(unread.reading()),
        };
        let api = self.connects.api(&microsoft::DIALECT, &self.clock, deadline);
        Ok(m365::read(&api, &state.app, &key, settings.value("tenant")?).await)
    }
}
