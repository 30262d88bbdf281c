//! Reading an environment, whatever its kind.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::absent;
use super::credential::{MicrosoftAppState, Secrets};
use crate::app::App;
use crate::connect::ad::{self, AdConfig};
use crate::connect::aws::{self, AwsConfig};
use crate::connect::azure::{self, Known, Wanted};
use crate::connect::call::Unread;
use crate::connect::dns::{self, Domain};
use crate::connect::google::{self, ServiceAccount, Workspace};
use crate::connect::kind::{AD, AWS, AZURE, DNS, GOOGLE, M365, Values};
use crate::connect::m365;
use crate::connect::mapping::{self, Entered, Mapping, read_tool};
use crate::connect::microsoft::{self, AppKey};
use crate::connect::reading::Reading;
use crate::connect::settings::Settings;
use crate::error::{Code, Error, Result};
use crate::id::ConnectionId;
use crate::store::Snapshot;
use crate::store::global::connection::credential::{Credential, CredentialOwner};
use crate::store::global::connection::{Connection, ConnectionRun};

/// A run ends after this, with what it could not read.
const RUN_MAX: Duration = Duration::from_mins(10);
/// A run that does not end on its own in this time after that is given up.
const RUN_MARGIN: Duration = Duration::from_mins(2);

/// A connection as it is read, with what was entered for it.
struct Environment {
    connection: Connection,
    /// `None`: it was never read.
    run: Option<ConnectionRun>,
    settings: Settings,
    credential: Option<Credential>,
}

impl App {
    /// # Errors
    /// `NotFound` if it was removed; `Unavailable` if it takes far too long.
    pub(super) async fn read_environment(&self, id: ConnectionId) -> Result<Reading> {
        let owner = CredentialOwner::Connection(id);
        // In one snapshot, so that a secret is sent only where it was entered for.
        let find = move |it: &Snapshot| {
            let found = it.find_connection(id)?;
            let with_run = |found| Ok((it.with_run(found)?, it.find_credential(owner)?));
            found.map(with_run).transpose()
        };
        let (found, credential) = self.store.read(find).await?.ok_or_else(absent)?;
        let (connection, run) = (found.connection, found.run);
        let settings = Settings::parse(&connection.settings)?;
        if let Some(made_up) = self.connects.options.made_up {
            return Ok(made_up(&settings, self.clock.now()));
        }
        let environment = Environment { connection, run, settings, credential };
        let deadline = Instant::now() + RUN_MAX;
        let late = |_| {
            let minutes = RUN_MAX.as_secs() / 60;
            Error::unavailable(format!("the environment was not read within {minutes} minutes"))
        };
        let read = self.read_kind(&environment, deadline);
        timeout_at(deadline + RUN_MARGIN, read).await.map_err(late)?
    }

    async fn read_kind(&self, environment: &Environment, deadline: Instant) -> Result<Reading> {
        let settings = &environment.settings;
        match settings.kind.as_str() {
            DNS => {
                let domains = settings.domains.iter().map(|it| Domain::parse(it));
                let domains = domains.collect::<Result<Vec<_>>>()?;
                Ok(dns::read(&domains, &self.connects.resolver()?).await)
            }
            M365 => self.read_m365(settings, deadline).await,
            AZURE => self.read_azure(environment, deadline).await,
            GOOGLE => self.read_google(environment, deadline).await,
            AWS => self.read_aws(environment, deadline).await,
            AD => self.read_ad(environment, deadline).await,
            other => match self.find_mapping(other).await {
                Ok(Some(mapping)) => self.read_mapped(&mapping, environment, deadline).await,
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

    fn secrets_of(&self, environment: &Environment) -> std::result::Result<Values, Unread> {
        let owner = CredentialOwner::Connection(environment.connection.id);
        readable(self.open_secrets(owner, environment.credential.as_ref()))
    }

    async fn read_mapped(
        &self,
        mapping: &Arc<Mapping>,
        environment: &Environment,
        deadline: Instant,
    ) -> Result<Reading> {
        let read = async {
            let secrets = self.secrets_of(environment)?;
            let entered: Entered =
                environment.settings.values.clone().into_iter().chain(secrets).collect();
            let api = self.connects.api(&mapping::DIALECT, &self.clock, deadline);
            Ok(read_tool(&api, mapping, &entered).await)
        };
        Ok(read.await.unwrap_or_else(Unread::reading))
    }

    async fn read_google(&self, environment: &Environment, deadline: Instant) -> Result<Reading> {
        let sanctioned_apps = match environment.connection.client {
            Some(client) => self.roster_rules(client)?.sanctioned_apps,
            None => Vec::new(),
        };
        let workspace = Workspace {
            domain: environment.settings.value("domain")?,
            admin: environment.settings.value("admin")?,
            sanctioned_apps: &sanctioned_apps,
        };
        let read = async {
            let secrets = self.secrets_of(environment)?;
            let key = secrets.get("service_account_key").map_or("", String::as_str);
            let why = |rule| Unread::credential(format!("the setting service_account_key {rule}"));
            let account = Arc::new(ServiceAccount::parse(key).map_err(why)?);
            let api = self.connects.api(&google::DIALECT, &self.clock, deadline);
            Ok(google::read(&api, &account, workspace).await)
        };
        Ok(read.await.unwrap_or_else(Unread::reading))
    }

    async fn read_aws(&self, environment: &Environment, deadline: Instant) -> Result<Reading> {
        let read = async {
            let secrets = self.secrets_of(environment)?;
            let id = environment.connection.id;
            // It was made here and is of no other connection, as an ExternalId has to be.
            let config = AwsConfig::of(&environment.settings.values, &secrets, id.to_string())?;
            let api = self.connects.api(&aws::DIALECT, &self.clock, deadline);
            Ok(aws::read(&api, &config).await)
        };
        Ok(read.await.unwrap_or_else(Unread::reading))
    }

    async fn read_ad(&self, environment: &Environment, deadline: Instant) -> Result<Reading> {
        let read = async {
            let secrets = self.secrets_of(environment)?;
            let config = AdConfig::of(&environment.settings.values, &secrets)?;
            let directory = ad::read(&config, self.connects.egress(), deadline).await;
            let groups = ad::judge(&directory, self.clock.now());
            Ok(Reading { groups, ..Reading::default() })
        };
        Ok(read.await.unwrap_or_else(Unread::reading))
    }

    async fn read_m365(&self, settings: &Settings, deadline: Instant) -> Result<Reading> {
        let (state, key) = match self.microsoft_key().await? {
            Ok(found) => found,
            Err(unread) => return Ok(unread.reading()),
        };
        let api = self.connects.api(&microsoft::DIALECT, &self.clock, deadline);
        Ok(m365::read(&api, &state.app, &key, settings.value("tenant")?).await)
    }

    async fn read_azure(&self, environment: &Environment, deadline: Instant) -> Result<Reading> {
        let (state, key) = match self.microsoft_key().await? {
            Ok(found) => found,
            Err(unread) => return Ok(unread.reading()),
        };
        let settings = &environment.settings;
        let ids = settings.values.get("subscriptions").map_or("", String::as_str);
        let groups = environment.run.iter().flat_map(|it| &it.groups);
        let known = groups.flat_map(|it| &it.notes);
        let known = known.filter_map(|(note, text)| Known::of_note(note, text)).collect();
        let wanted = Wanted { ids: ids.split(',').filter(|it| !it.is_empty()).collect(), known };
        let api = self.connects.api(&azure::DIALECT, &self.clock, deadline);
        Ok(azure::read(&api, &state.app, &key, settings.value("tenant")?, &wanted).await)
    }

    /// The app of the managed service provider, and what it proves itself with.
    pub(super) async fn microsoft_key(
        &self,
    ) -> Result<std::result::Result<(MicrosoftAppState, Arc<AppKey>), Unread>> {
        let Some(it) = self.open_microsoft_app().await? else {
            let why = "there is no Microsoft app yet; set it up on the page Microsoft app of the console, or with \
                       `posture connect m365 init`";
            return Ok(Err(Unread::consent(why)));
        };
        Ok(with_key(it))
    }
}

/// The app, and what it proves itself with.
pub(super) fn with_key(
    (state, secrets): (MicrosoftAppState, Result<Secrets>),
) -> std::result::Result<(MicrosoftAppState, Arc<AppKey>), Unread> {
    let key = readable(secrets).and_then(|it| state.app.key(&it))?;
    Ok((state, Arc::new(key)))
}

fn readable(secrets: Result<Secrets>) -> std::result::Result<Values, Unread> {
    secrets.map(|it| it.0).map_err(|error| Unread::credential(error.message()))
}
