//! Connections to clients' environments: add, change, run, remove.

mod facts;
pub mod registry;
pub mod run;

use std::collections::BTreeMap;

use crate::app::App;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::connect::settings::Settings;
use crate::error::{Error, Result};
use crate::id::{ClientId, ConnectionId};
use crate::store::Batch;
use crate::store::global::connection::{Connection, ConnectionState, ConnectionWithRun};

/// In all. More are refused.
pub const N_CONNECTIONS_MAX: usize = 10_000;
/// Of one client.
pub const N_PER_CLIENT_MAX: usize = 20;
pub const NAME_CHARS_MAX: usize = 200;
/// How many due connections are looked at. One client cannot have all of them.
const N_DUE_AT_ONCE: usize = 1_000;

/// A connection to add.
#[derive(Clone, Debug)]
pub struct NewConnection {
    pub client: ClientId,
    /// Default: what it reads.
    pub name: Option<String>,
    pub settings: Settings,
}

/// What to change of a connection. `None`: it stays as it is.
#[derive(Clone, Debug, Default)]
pub struct ConnectionChange {
    pub name: Option<String>,
    pub settings: Option<Settings>,
    pub is_paused: Option<bool>,
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

/// Refuses one connection more. Returns the name of its source: that of its kind, with a number if the client has one of
/// that kind.
fn require_place(all: &[Connection], client: ClientId, kind: &str) -> Result<String> {
    if N_CONNECTIONS_MAX <= all.len() {
        let rule = format!("there are already {N_CONNECTIONS_MAX} connections; remove one first");
        return Err(Error::conflict(rule));
    }
    let of_client: Vec<&Connection> = all.iter().filter(|it| it.client == client).collect();
    if N_PER_CLIENT_MAX <= of_client.len() {
        let rule = format!("the client has {N_PER_CLIENT_MAX} connections; remove one first");
        return Err(Error::conflict(rule));
    }
    let mut names = (1..).map(|n| if n == 1 { kind.to_owned() } else { format!("{kind}-{n}") });
    let free = names.find(|name| of_client.iter().all(|it| it.source != *name));
    Ok(free.expect("there are more numbers than connections"))
}

impl App {
    /// Adds a connection, which runs at once.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access the client; `NotFound` for the client; `Invalid` for the name; `Conflict`
    /// if there are too many.
    pub async fn add_connection(
        &self,
        by: &Caller,
        new: NewConnection,
    ) -> Result<ConnectionWithRun> {
        by.reach(&self.store, new.client)?;
        let name = new.name.unwrap_or_else(|| new.settings.title().to_owned());
        check_name(&name)?;
        let now = self.clock.now();
        let connection = Connection {
            id: ConnectionId::made_at(now),
            client: new.client,
            source: String::new(),
            settings: new.settings.text(),
            name,
            state: ConnectionState::Active,
            created_at: now,
            updated_at: now,
        };
        let write = move |batch: &mut Batch| {
            batch.client(connection.client).require_client()?;
            let (all, kind) = (batch.list_connections()?, new.settings.kind());
            let source = require_place(&all, connection.client, kind)?;
            let connection = Connection { source, ..connection.clone() };
            batch.note_object(&connection.id);
            batch.put_connection(&connection)?;
            batch.put_due_connection(connection.id, Some(now))?;
            batch.with_run(connection)
        };
        let added = by.acting_on(&self.store).write(write).await?;
        self.connects.wake();
        Ok(added)
    }

    /// Oldest first, of the clients that the caller may access. `client`: only of this one.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access the client.
    pub async fn list_connections(
        &self,
        by: &Caller,
        client: Option<ClientId>,
    ) -> Result<Vec<ConnectionWithRun>> {
        if let Some(client) = client {
            by.reach(&self.store, client)?;
        }
        let allowed = by.allowed_clients().map(<[ClientId]>::to_vec);
        let list = move |it: &crate::store::Snapshot| {
            let mut all = it.list_connections()?;
            all.retain(is_there);
            all.retain(|it| client.is_none_or(|client| it.client == client));
            all.retain(|it| allowed.as_ref().is_none_or(|allowed| allowed.contains(&it.client)));
            all.into_iter().map(|connection| it.with_run(connection)).collect()
        };
        self.store.read(list).await
    }

    /// # Errors
    /// `NotFound`, also if the caller may not access its client.
    pub async fn get_connection(&self, by: &Caller, id: ConnectionId) -> Result<ConnectionWithRun> {
        let find = move |it: &crate::store::Snapshot| {
            let found = it.find_connection(id)?.filter(is_there);
            found.map(|connection| it.with_run(connection)).transpose()
        };
        let found = self.store.read(find).await?;
        found.filter(|it| by.may_reach(it.connection.client)).ok_or_else(absent)
    }

    /// # Errors
    /// `NotFound`; `Invalid` with the field that breaks a rule.
    pub async fn change_connection(
        &self,
        by: &Caller,
        id: ConnectionId,
        change: impl FnOnce() -> Result<ConnectionChange>,
    ) -> Result<ConnectionWithRun> {
        let before = self.get_connection(by, id).await?.connection;
        let change = change()?;
        change.name.as_deref().map_or(Ok(()), check_name)?;
        let kind = Settings::parse(&before.settings)?.kind();
        if change.settings.as_ref().is_some_and(|it| it.kind() != kind) {
            let rule = format!("the connection is of kind {kind}; add another one instead");
            return Err(Error::invalid_field("kind", rule));
        }
        let now = self.clock.now();
        let write = move |batch: &mut Batch| {
            let mut it = batch.find_connection(id)?.filter(is_there).ok_or_else(absent)?;
            it.updated_at = now;
            it.name = change.name.clone().unwrap_or(it.name);
            it.settings = change.settings.as_ref().map_or(it.settings, Settings::text);
            it.state = match change.is_paused {
                Some(true) => ConnectionState::Paused,
                Some(false) => ConnectionState::Active,
                None => it.state,
            };
            batch.put_connection(&it)?;
            if it.state == ConnectionState::Paused {
                batch.put_due_connection(id, None)?;
            } else if change.settings.is_some() || change.is_paused == Some(false) {
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
        let list = move |it: &crate::store::Snapshot| {
            let mut due = Vec::new();
            for id in it.list_due_connections(now, N_DUE_AT_ONCE)? {
                due.extend(it.find_connection(id)?.map(|it| (id, it.client)));
            }
            Ok(due)
        };
        Ok(self.connects.running.open_to(self.store.read(list).await?))
    }

    /// How many connections there are, by their health, for metrics.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn connection_figures(&self) -> Result<[(&'static str, u64); 5]> {
        let count = |it: &crate::store::Snapshot| {
            let mut n_of = BTreeMap::new();
            for connection in it.list_connections()?.into_iter().filter(is_there) {
                let health = it.with_run(connection)?.health();
                *n_of.entry(health).or_insert(0) += 1;
            }
            Ok(n_of)
        };
        let n_of = self.store.read(count).await?;
        let words = ["pending", "healthy", "degraded", "failing", "paused"];
        Ok(words.map(|it| (it, n_of.get(it).copied().unwrap_or(0))))
    }

    async fn put_due(&self, id: ConnectionId, due: Option<Time>) -> Result<()> {
        let write = move |batch: &mut Batch| match batch.find_connection(id)? {
            Some(_) => batch.put_due_connection(id, due),
            None => Ok(()),
        };
        self.store.reserved().write(write).await
    }
}
