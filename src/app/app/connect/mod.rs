//! Connections to clients' environments: add, change, run, remove.

pub mod consent;
pub mod credential;
mod environment;
mod facts;
mod feed;
mod hold;
mod mail_token;
pub mod mapping;
pub mod microsoft;
pub mod notice;
pub mod org;
pub mod registry;
pub mod run;
pub mod trial;
pub mod twin;

use std::collections::BTreeMap;

use crate::app::App;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::connect;
use crate::connect::kind::{Kind, KindScope, Values};
use crate::connect::settings::Settings;
use crate::error::{Error, Result};
use crate::id::{ClientId, ConnectionId};
use crate::store::global::connection::credential::CredentialOwner;
use crate::store::global::connection::{Connection, ConnectionState, ConnectionWithRun};
use crate::store::{Batch, Snapshot};
use credential::Secrets;
use registry::Turn;

/// In all. More are refused.
pub const N_CONNECTIONS_MAX: usize = 10_000;
/// Of one client.
pub const N_PER_CLIENT_MAX: usize = 20;
pub const NAME_CHARS_MAX: usize = 200;

/// A connection to add.
#[derive(Clone, Debug)]
pub struct NewConnection {
    /// `None`: it is the managed service provider's own.
    pub client: Option<ClientId>,
    pub kind: String,
    /// Default: what it reads.
    pub name: Option<String>,
    pub domains: Option<Vec<String>>,
    /// Secret ones among them.
    pub settings: Values,
}

/// What to change of a connection. `None`: it stays as it is.
#[derive(Clone, Debug, Default)]
pub struct ConnectionChange {
    pub name: Option<String>,
    pub domains: Option<Vec<String>>,
    /// Others stay as they are.
    pub settings: Option<Values>,
    pub is_paused: Option<bool>,
}

/// What metrics say of connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionFigures {
    /// How many there are.
    pub by_health: [(&'static str, u64); 5],
    /// Of the Microsoft app. `None`: there is no app, or nobody knows.
    pub credential_expires_at: Option<Time>,
}

fn absent() -> Error {
    Error::not_found("connection not found")
}

fn is_there(connection: &Connection) -> bool {
    connection.state != ConnectionState::Removing
}

/// # Errors
/// `Invalid` if it is blank or too long.
fn check_name(name: &str) -> Result<()> {
    if name.trim().is_empty() || NAME_CHARS_MAX < name.chars().count() {
        let rule = format!("must be 1 to {NAME_CHARS_MAX} characters and not blank");
        return Err(Error::invalid_field("name", rule));
    }
    Ok(())
}

/// Refuses one connection more. Returns the name of its source: that of its kind, with a number if another one that feeds
/// the same client has it.
fn require_place(all: &[Connection], client: Option<ClientId>, kind: &str) -> Result<String> {
    if N_CONNECTIONS_MAX <= all.len() {
        let rule = format!("there are already {N_CONNECTIONS_MAX} connections; remove one first");
        return Err(Error::conflict(rule));
    }
    if N_PER_CLIENT_MAX <= all.iter().filter(|it| it.client == client).count() {
        let whose = if client.is_some() { "the client has" } else { "there are" };
        let rule = format!("{whose} {N_PER_CLIENT_MAX} connections; remove one first");
        return Err(Error::conflict(rule));
    }
    let meets = |it: &&Connection| client.is_none() || it.client.is_none() || it.client == client;
    let others: Vec<&Connection> = all.iter().filter(meets).collect();
    let mut names = (1..).map(|n| if n == 1 { kind.to_owned() } else { format!("{kind}-{n}") });
    let free = names.find(|name| others.iter().all(|it| it.source != *name));
    Ok(free.expect("there are more numbers than connections"))
}

/// Refuses a connection of a client to a tool that sees many, and the reverse.
fn require_scope(kind: &Kind, client: Option<ClientId>) -> Result<()> {
    let rule = match (kind.scope, client) {
        (KindScope::Client, None) => "must name a client: this kind reads the environment of one",
        (KindScope::Provider, Some(_)) => {
            "must be absent: this kind sees many clients, which are mapped to its organizations"
        }
        (KindScope::Client, Some(_)) | (KindScope::Provider, None) => return Ok(()),
    };
    Err(Error::invalid_field("clientId", rule))
}

/// Refuses a kind whose mapping was removed meanwhile.
fn require_kind(batch: &Batch, kind: &str) -> Result<()> {
    if mapping::is_carried(kind) || batch.find_connection_mapping(kind)?.is_some() {
        return Ok(());
    }
    Err(Error::invalid_field("kind", "was removed; list the kinds again"))
}

/// Secrets are sent only where they were entered for: another place needs them again.
///
/// # Errors
/// `Invalid` about a secret that is missing.
fn require_secrets_again(
    kind: &Kind,
    before: &Values,
    after: &Values,
    secret: &Values,
) -> Result<()> {
    let is_moved = |it: &connect::kind::Field| {
        it.rule.is_place() && before.get(&*it.name) != after.get(&*it.name)
    };
    if !kind.fields.iter().any(is_moved) {
        return Ok(());
    }
    let missing = kind.fields.iter().find(|it| it.is_secret && !secret.contains_key(&*it.name));
    missing.map_or(Ok(()), |it| {
        let rule =
            "is required again, because it was entered for another address or another certificate";
        Err(Error::invalid_field(format!("settings.{}", it.name), rule))
    })
}

impl App {
    /// Refuses a caller who may not access the client, or not all clients if it is none.
    fn reach_connection(&self, by: &Caller, client: Option<ClientId>) -> Result<()> {
        match client {
            Some(client) => by.reach(&self.store, client).map(drop),
            None if by.allowed_clients().is_none() => Ok(()),
            None => Err(Error::forbidden(
                "a connection that sees many clients is for those who may access all of them",
            )),
        }
    }

    /// Adds a connection, which runs at once.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access the client; `NotFound` for the client; `Invalid` for the name or a setting;
    /// `Conflict` if there are too many.
    pub async fn add_connection(
        &self,
        by: &Caller,
        new: NewConnection,
    ) -> Result<ConnectionWithRun> {
        self.reach_connection(by, new.client)?;
        let kind = self.find_kind(&new.kind).await?;
        require_scope(&kind, new.client)?;
        let (shown, secret) = kind.sort(new.settings)?;
        kind.require(&shown, &secret)?;
        let settings = Settings::of(&kind, new.domains.as_deref(), shown)?;
        let name = new.name.unwrap_or_else(|| kind.title.to_string());
        check_name(&name)?;
        let now = self.clock.now();
        let connection = Connection {
            id: ConnectionId::made_at(now),
            client: new.client,
            source: String::new(),
            settings: settings.text(),
            name,
            state: ConnectionState::Active,
            created_at: now,
            updated_at: now,
        };
        let owner = CredentialOwner::Connection(connection.id);
        let sealed = self.seal_secrets(owner, &Secrets(secret), now);
        let write = move |batch: &mut Batch| {
            if let Some(client) = connection.client {
                batch.client(client).require_client()?;
            }
            require_kind(batch, &settings.kind)?;
            let source =
                require_place(&batch.list_connections()?, connection.client, &settings.kind)?;
            let connection = Connection { source, ..connection.clone() };
            batch.note_object(&connection.id);
            batch.put_connection(&connection)?;
            if let Some(sealed) = &sealed {
                batch.put_credential(sealed)?;
            }
            batch.put_due_connection(connection.id, Some(now))?;
            batch.with_run(connection)
        };
        let added = by.acting_on(&self.store).write(write).await?;
        self.connects.wake();
        Ok(added)
    }

    /// Up to `limit` after one of them, oldest first, of the clients that the caller may access. `client`: only of this one.
    /// `kinds`: only of these. None: of any.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access the client.
    pub async fn list_connections(
        &self,
        by: &Caller,
        (client, kinds): (Option<ClientId>, Vec<String>),
        (after, limit): (Option<ConnectionId>, u32),
    ) -> Result<Vec<ConnectionWithRun>> {
        if let Some(client) = client {
            by.reach(&self.store, client)?;
        }
        let allowed = by.allowed_clients().map(<[ClientId]>::to_vec);
        let list = move |it: &Snapshot| {
            let mut all = it.list_connections()?;
            all.retain(is_there);
            all.retain(|it| client.is_none() || it.client == client);
            all.retain(|it| {
                let is_of =
                    |allowed: &Vec<ClientId>| it.client.is_some_and(|it| allowed.contains(&it));
                allowed.as_ref().is_none_or(is_of)
            });
            all.retain(|it| after < Some(it.id));
            if !kinds.is_empty() {
                let kind = |it: &Connection| Settings::parse(&it.settings).map(|it| it.kind);
                all.retain(|it| kind(it).is_ok_and(|it| kinds.contains(&it)));
            }
            all.truncate(limit as usize);
            all.into_iter().map(|connection| it.with_run(connection)).collect()
        };
        self.store.read(list).await
    }

    /// # Errors
    /// `NotFound`, also if the caller may not access its client.
    pub async fn get_connection(&self, by: &Caller, id: ConnectionId) -> Result<ConnectionWithRun> {
        let find = move |it: &Snapshot| {
            let found = it.find_connection(id)?.filter(is_there);
            found.map(|connection| it.with_run(connection)).transpose()
        };
        let found = self.store.read(find).await?;
        let may_see = |it: &ConnectionWithRun| {
            it.connection.client.map_or(by.allowed_clients().is_none(), |it| by.may_reach(it))
        };
        found.filter(may_see).ok_or_else(absent)
    }

    /// # Errors
    /// `NotFound`; `Invalid` with the field that breaks a rule; `Conflict` if it was changed meanwhile.
    pub async fn change_connection(
        &self,
        by: &Caller,
        id: ConnectionId,
        change: impl FnOnce() -> Result<ConnectionChange>,
    ) -> Result<ConnectionWithRun> {
        self.get_connection(by, id).await?;
        let owner = CredentialOwner::Connection(id);
        let read = move |it: &Snapshot| Ok((it.find_connection(id)?, it.find_credential(owner)?));
        let read = self.store.read(read).await?;
        let stored = read.0.as_ref().ok_or_else(absent)?;
        let before = Settings::parse(&stored.settings)?;
        let change = change()?;
        change.name.as_deref().map_or(Ok(()), check_name)?;
        let kind = self.find_kind(&before.kind).await?;
        let mut entered = change.settings.unwrap_or_default();
        let is_other = change.domains.is_some() || !entered.is_empty();
        let cleared = kind.take_cleared(&mut entered);
        let (shown, secret) = kind.sort(entered)?;
        let mut values = before.values.clone();
        values.extend(shown);
        values.retain(|name, _| !cleared.contains(name));
        require_secrets_again(&kind, &before.values, &values, &secret)?;
        let domains = change.domains.or((!before.domains.is_empty()).then_some(before.domains));
        let settings = Settings::of(&kind, domains.as_deref(), values)?.text();
        let now = self.clock.now();
        let secrets = self.open_secrets(owner, read.1.as_ref());
        let sealed = if secret.is_empty() {
            None
        } else {
            // Those that cannot be opened any more are entered again.
            let known = secrets.unwrap_or_default().0;
            let secrets = Secrets(known.into_iter().chain(secret).collect());
            kind.require(&Settings::parse(&settings)?.values, &secrets.0)?;
            self.seal_secrets(owner, &secrets, now)
        };
        let write = move |batch: &mut Batch| {
            let found = (batch.find_connection(id)?, batch.find_credential(owner)?);
            let is_same = found == read;
            let mut it = found.0.filter(is_there).ok_or_else(absent)?;
            if !is_same {
                return Err(Error::conflict("the connection changed meanwhile; try again"));
            }
            it.updated_at = now;
            it.name = change.name.clone().unwrap_or(it.name);
            it.settings.clone_from(&settings);
            it.state = match change.is_paused {
                Some(true) => ConnectionState::Paused,
                Some(false) => ConnectionState::Active,
                None => it.state,
            };
            batch.put_connection(&it)?;
            if let Some(sealed) = &sealed {
                batch.put_credential(sealed)?;
            }
            if it.state == ConnectionState::Paused {
                batch.put_due_connection(id, None)?;
            } else if is_other || change.is_paused == Some(false) {
                batch.put_due_connection(id, Some(now))?;
            }
            batch.with_run(it)
        };
        let changed = by.acting_on(&self.store).write(write).await?;
        self.connects.wake();
        Ok(changed)
    }

    /// Has a connection run now.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if it is paused.
    pub async fn hasten_connection(
        &self,
        by: &Caller,
        id: ConnectionId,
    ) -> Result<ConnectionWithRun> {
        self.get_connection(by, id).await?;
        let now = self.clock.now();
        let write = move |batch: &mut Batch| {
            let it = batch.find_connection(id)?.filter(is_there).ok_or_else(absent)?;
            if it.state == ConnectionState::Paused {
                return Err(Error::conflict("the connection is paused; resume it first"));
            }
            batch.put_due_connection(id, Some(now))?;
            batch.with_run(it)
        };
        let due = by.acting_on(&self.store).write(write).await?;
        self.connects.wake();
        Ok(due)
    }

    /// Removes a connection, and retracts what it found.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn remove_connection(&self, by: &Caller, id: ConnectionId) -> Result<()> {
        self.get_connection(by, id).await?;
        let now = self.clock.now();
        let write = move |batch: &mut Batch| {
            let mut it = batch.find_connection(id)?.filter(is_there).ok_or_else(absent)?;
            it.state = ConnectionState::Removing;
            batch.put_connection(&it)?;
            batch.put_due_connection(id, Some(now))
        };
        by.acting_on(&self.store).reserved().write(write).await?;
        self.connects.wake();
        Ok(())
    }

    /// Connections that may run now, the longest due first.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn list_due_connections(&self) -> Result<Vec<ConnectionId>> {
        let now = self.clock.now();
        let list = move |it: &Snapshot| {
            let mut due = Vec::new();
            // All of them: thousands that wait for a place must not hide one that has a place.
            for id in it.list_due_connections(now, N_CONNECTIONS_MAX)? {
                let Some(connection) = it.find_connection(id)? else { continue };
                due.push(Turn::of(&it.with_run(connection)?));
            }
            Ok(due)
        };
        Ok(self.connects.running.open_to(self.store.read(list).await?))
    }

    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn connection_figures(&self) -> Result<ConnectionFigures> {
        let count = |it: &Snapshot| {
            let mut n_of = BTreeMap::new();
            for connection in it.list_connections()?.into_iter().filter(is_there) {
                let health = it.with_run(connection)?.health();
                *n_of.entry(health).or_insert(0) += 1;
            }
            let app = it.find_credential(CredentialOwner::MicrosoftApp)?;
            Ok((n_of, app.and_then(|it| it.expires_at)))
        };
        let (n_of, credential_expires_at) = self.store.read(count).await?;
        let words = ["pending", "healthy", "degraded", "failing", "paused"];
        let by_health = words.map(|it| (it, n_of.get(it).copied().unwrap_or(0)));
        Ok(ConnectionFigures { by_health, credential_expires_at })
    }

    async fn put_due(&self, id: ConnectionId, due: Option<Time>) -> Result<()> {
        let write = move |batch: &mut Batch| match batch.find_connection(id)? {
            Some(_) => batch.put_due_connection(id, due),
            None => Ok(()),
        };
        self.store.reserved().write(write).await
    }
}
