//! The organizations that a connection of the managed service provider sees, and the clients that they are.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::{ClientId, ConnectionId};
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::CONNECTION_ORGS;

/// An organization as a vendor knows it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ConnectionOrg {
    /// The vendor's id of it.
    pub external_id: String,
    pub name: String,
    /// `None`: nobody said which client it is.
    pub client: Option<ClientId>,
    /// Somebody said that it is no client.
    pub is_ignored: bool,
    /// The client that has facts of it, and in which scopes.
    pub fed: Option<(ClientId, Vec<String>)>,
    /// The last run that listed it.
    pub seen_at: Time,
    /// Of the last run that listed it.
    pub n_devices: u32,
    /// Complete lists in a row that lack it.
    pub n_missed: u32,
}

fn key(connection: ConnectionId, external_id: &str) -> RowKey {
    RowKey::empty().bytes(connection.as_bytes()).last_text(external_id)
}

impl<R: Rows> Transaction<R> {
    /// By their external ids.
    pub fn list_connection_orgs(&self, connection: ConnectionId) -> Result<Vec<ConnectionOrg>> {
        let span = Span::prefix(connection.as_bytes());
        self.rows.list_rows(CONNECTION_ORGS, &span, usize::MAX)
    }

    pub fn find_connection_org(
        &self,
        connection: ConnectionId,
        external_id: &str,
    ) -> Result<Option<ConnectionOrg>> {
        self.rows.find_row(CONNECTION_ORGS, key(connection, external_id).as_slice())
    }
}

impl Batch {
    pub fn put_connection_org(
        &mut self,
        connection: ConnectionId,
        org: &ConnectionOrg,
    ) -> Result<()> {
        self.rows.put_row(CONNECTION_ORGS, key(connection, &org.external_id).as_slice(), org)
    }

    pub fn remove_connection_org(
        &mut self,
        connection: ConnectionId,
        external_id: &str,
    ) -> Result<()> {
        let key = key(connection, external_id);
        self.rows.remove_row(CONNECTION_ORGS, key.as_slice()).map(|_| ())
    }
}
