//! Client organizations.

pub mod batch;
pub mod receipt;
pub mod tenant;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::store::Batch;
use crate::store::kernel::delta::Delta;
use crate::store::kernel::transaction::{ClientTransaction, Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::ClientPart;
use crate::store::table::{ALL_PER_CLIENT, ASSET_CLIENTS, ASSETS, CLIENTS, SUMMARIES};

/// One client organization.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Client {
    pub id: ClientId,
    pub name: String,
    pub industry: Option<String>,
    pub employee_count: Option<u32>,
    /// A JSON object, as it was sent.
    pub settings: String,
    pub state: ClientState,
    pub created_at: Time,
    pub updated_at: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum ClientState {
    Active,
    Inactive,
    /// No longer visible; its rows are being removed.
    Erasing,
}

impl<R: Rows> Transaction<R> {
    /// All clients in id order, including those that are being erased.
    pub fn list_clients(&self) -> Result<Vec<Client>> {
        self.rows.list_rows(CLIENTS, &Span::all(), usize::MAX)
    }
}

impl<R: Rows> ClientTransaction<R> {
    /// The client itself. `None`: it was erased or never existed.
    pub fn find_profile(&self) -> Result<Option<Client>> {
        self.rows.find_row(CLIENTS, self.client.as_bytes())
    }

    /// The inventory of no client is always there.
    ///
    /// # Errors
    /// `NotFound` when the client is erased or being erased.
    pub fn require_client(&self) -> Result<()> {
        if self.client == ClientId::UNASSIGNED {
            return Ok(());
        }
        let client = self.find_profile()?.filter(|it| it.state != ClientState::Erasing);
        client.map(|_| ()).ok_or_else(|| Error::not_found("client not found"))
    }
}

impl Batch {
    pub fn put_client(&mut self, client: &Client) -> Result<()> {
        self.rows.put_row(CLIENTS, client.id.as_bytes(), client)?;
        self.rows.effects.parts.insert((client.id, ClientPart::Profile));
        Ok(())
    }

    /// Removes up to `n_rows_max` rows of a client, the client's own row last. Returns false once
    /// nothing is left.
    ///
    /// Nothing may write the client's rows meanwhile: mark it as [`ClientState::Erasing`] first.
    pub fn erase_client_chunk(&mut self, id: ClientId, n_rows_max: usize) -> Result<bool> {
        let mut left = n_rows_max;
        for table in ALL_PER_CLIENT {
            let name = table.name(id);
            let keys = self.rows.list_keys_of(&name, &Span::all(), left)?;
            for key in &keys {
                if table == ASSETS {
                    self.rows.remove_row(ASSET_CLIENTS, key)?;
                }
                self.rows.remove_row(&name, key)?;
            }
            left -= keys.len();
            if !keys.is_empty() {
                self.rows.effects.parts.insert((id, table.part));
                self.rows.effects.deltas.push((id, Delta::Forget));
            }
            if left == 0 {
                return Ok(true);
            }
            self.rows.delete_table(&name)?;
        }
        left -= self.erase_client_events(id, left)?;
        left -= self.remove_client_changes(id, left)?;
        left -= self.remove_client_tasks(id, left)?;
        left -= self.remove_client_scans(id, left)?;
        left -= self.remove_client_connections(id, left)?;
        left -= self.remove_client_report_schedules(id, left)?;
        if left != 0 {
            left -= self.remove_client_ingestions(id, left)?;
        }
        if left == 0 {
            return Ok(true);
        }
        left -= self.free_client_tenants(id, left)?;
        if left == 0 {
            return Ok(true);
        }
        self.unmap_client(id)?;
        self.client(id).set_due(None)?;
        self.rows.summaries.remove(&id);
        self.rows.remove_row(SUMMARIES, id.as_bytes())?;
        self.rows.remove_row(CLIENTS, id.as_bytes())?;
        self.rows.effects.parts.insert((id, ClientPart::Profile));
        Ok(false)
    }
}
