//! Connections to clients' environments, and what their last runs found.

pub mod credential;
pub mod mapping;
pub mod org;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::{ClientId, ConnectionId};
use crate::store::Batch;
use crate::store::global::connection::credential::CredentialOwner;
use crate::store::global::connection::org::ConnectionOrg;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::{RowKey, Span, rising};
use crate::store::table::{CONNECTION_DUE, CONNECTION_RUNS, CONNECTION_TIMES, CONNECTIONS};

/// A connection to the environment of a client, or to a tool of the managed service provider that sees many.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Connection {
    pub id: ConnectionId,
    /// `None`: it is the managed service provider's own. Its organizations are clients.
    pub client: Option<ClientId>,
    /// The name of the source of its facts, which no other connection that feeds the same client has.
    pub source: String,
    /// What it reads and how, as JSON. Later releases add members.
    pub settings: String,
    pub name: String,
    pub state: ConnectionState,
    pub created_at: Time,
    pub updated_at: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ConnectionState {
    Active,
    Paused,
    /// What it found is being retracted.
    Removing,
}

/// How a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ConnectionHealth {
    /// Its last run read everything.
    Healthy,
    /// Its last run read a part.
    Degraded,
    /// Its last run read nothing.
    Failing,
}

/// The last run of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ConnectionRun {
    pub at: Time,
    pub ms: u64,
    pub health: ConnectionHealth,
    /// Nothing could be read because the client has not consented.
    pub awaits_consent: bool,
    /// Runs in a row that did not read everything.
    pub n_failures: u32,
    /// When everything was last read.
    pub last_success_at: Option<Time>,
    pub groups: Vec<GroupRun>,
}

/// One part of an environment, in the last run.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct GroupRun {
    pub scope: String,
    pub streams: Vec<StreamRun>,
    /// Facts that decide nothing: name and text.
    pub notes: Vec<(String, String)>,
}

/// One collection, in the last run.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StreamRun {
    pub name: String,
    /// `complete`, `partial`, `denied`, `unlicensed` or `failed`.
    pub state: String,
    /// Empty if it is complete.
    pub reason: String,
    pub n_rows: u64,
}

/// A connection with its last run and its next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionWithRun {
    pub connection: Connection,
    /// `None`: it never ran.
    pub run: Option<ConnectionRun>,
    /// `None`: it is paused.
    pub due: Option<Time>,
}

impl ConnectionWithRun {
    /// The word for how it is doing.
    #[must_use]
    pub fn health(&self) -> &'static str {
        if self.connection.state == ConnectionState::Paused {
            return "paused";
        }
        match &self.run {
            None => "pending",
            Some(run) if run.awaits_consent && run.last_success_at.is_none() => "pending",
            Some(run) => run.health.as_str(),
        }
    }
}

impl ConnectionHealth {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Failing => "failing",
        }
    }
}

fn time_key(due: Time, id: ConnectionId) -> RowKey {
    RowKey::empty().bytes(&rising(due).to_be_bytes()).bytes(id.as_bytes())
}

impl<R: Rows> Transaction<R> {
    pub fn find_connection(&self, id: ConnectionId) -> Result<Option<Connection>> {
        self.rows.find_row(CONNECTIONS, id.as_bytes())
    }

    /// Oldest first.
    pub fn list_connections(&self) -> Result<Vec<Connection>> {
        self.rows.list_rows(CONNECTIONS, &Span::all(), usize::MAX)
    }

    pub fn with_run(&self, connection: Connection) -> Result<ConnectionWithRun> {
        let id = connection.id;
        let run = self.rows.find_row(CONNECTION_RUNS, id.as_bytes())?;
        Ok(ConnectionWithRun { due: self.find_due_connection(id)?, run, connection })
    }

    /// When the connection is to run next. `None`: it is paused, or there is none.
    pub fn find_due_connection(&self, id: ConnectionId) -> Result<Option<Time>> {
        self.rows.find_row(CONNECTION_DUE, id.as_bytes())
    }

    /// Up to `n_max` connections that are due, the longest due first.
    pub fn list_due_connections(&self, now: Time, n_max: usize) -> Result<Vec<ConnectionId>> {
        let until = (rising(now) + 1).to_be_bytes().to_vec();
        let span = Span { from: Vec::new(), until: Some(until) };
        let keys = self.rows.list_keys_of(CONNECTION_TIMES, &span, n_max)?;
        let id = |key: &Vec<u8>| {
            ConnectionId::from_bytes(*key.last_chunk().expect("the key ends with a connection"))
        };
        Ok(keys.iter().map(id).collect())
    }
}

impl Batch {
    pub fn put_connection(&mut self, connection: &Connection) -> Result<()> {
        self.rows.put_row(CONNECTIONS, connection.id.as_bytes(), connection)
    }

    pub fn put_connection_run(&mut self, id: ConnectionId, run: &ConnectionRun) -> Result<()> {
        self.rows.put_row(CONNECTION_RUNS, id.as_bytes(), run)
    }

    /// When the connection is to run next. `None`: not at all.
    pub fn put_due_connection(&mut self, id: ConnectionId, due: Option<Time>) -> Result<()> {
        if let Some(before) = self.find_due_connection(id)? {
            self.rows.remove_row(CONNECTION_TIMES, time_key(before, id).as_slice())?;
        }
        let Some(due) = due else {
            return self.rows.remove_row(CONNECTION_DUE, id.as_bytes()).map(|_| ());
        };
        self.rows.put_row(CONNECTION_TIMES, time_key(due, id).as_slice(), &())?;
        self.rows.put_row(CONNECTION_DUE, id.as_bytes(), &due)
    }

    /// With everything that belongs to it.
    pub fn remove_connection(&mut self, id: ConnectionId) -> Result<()> {
        self.put_due_connection(id, None)?;
        self.remove_credential(CredentialOwner::Connection(id))?;
        for org in self.list_connection_orgs(id)? {
            self.remove_connection_org(id, &org.external_id)?;
        }
        self.rows.remove_row(CONNECTION_RUNS, id.as_bytes())?;
        self.rows.remove_row(CONNECTIONS, id.as_bytes()).map(|_| ())
    }

    /// Removes up to `n_max` connections of a client. Returns how many.
    pub(in crate::store) fn remove_client_connections(
        &mut self,
        client: ClientId,
        n_max: usize,
    ) -> Result<usize> {
        let all = self.list_connections()?.into_iter().filter(|it| it.client == Some(client));
        let some: Vec<ConnectionId> = all.take(n_max).map(|it| it.id).collect();
        some.iter().try_for_each(|it| self.remove_connection(*it))?;
        Ok(some.len())
    }

    /// Forgets that organizations are this client.
    pub(in crate::store) fn unmap_client(&mut self, client: ClientId) -> Result<()> {
        let all = self.list_connections()?.into_iter().filter(|it| it.client.is_none());
        for connection in all {
            for org in self.list_connection_orgs(connection.id)? {
                let is_of = |it: &(ClientId, Vec<String>)| it.0 == client;
                if org.client == Some(client) || org.fed.as_ref().is_some_and(is_of) {
                    let fed = org.fed.filter(|it| it.0 != client);
                    let known = org.client.filter(|it| *it != client);
                    let org = ConnectionOrg { client: known, fed, ..org };
                    self.put_connection_org(connection.id, &org)?;
                }
            }
        }
        Ok(())
    }
}
