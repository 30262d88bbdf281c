//! API keys, as digests.

pub mod limit;

use std::str::FromStr;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::{ClientId, KeyId};
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::Span;
use crate::store::table::{KEYS, WINDOWS};

/// One API key, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Key {
    pub id: KeyId,
    /// The part of the key that identifies it and is shown to people.
    pub prefix: String,
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Empty: all clients.
    pub clients: Vec<ClientId>,
    /// CIDR text. Empty: any network.
    pub networks: Vec<String>,
    pub per_minute: u32,
    pub per_hour: u32,
    pub per_day: u32,
    pub expires_at: Option<Time>,
    /// The label under which its facts and assets are stored.
    pub source: String,
    /// SHA-256 of the complete key.
    pub digest: [u8; 32],
    /// The secret before the last rotation.
    pub previous: Option<Previous>,
    pub created_at: Time,
    pub revoked_at: Option<Time>,
}

/// A secret that was rotated out.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Previous {
    pub prefix: String,
    pub digest: [u8; 32],
    /// It is valid before this time.
    pub until: Time,
}

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Scope {
    ReadClients,
    ReadAssets,
    WriteAssets,
    ReadScores,
    ReadRisks,
    ReadCompliance,
    WriteAssessments,
    ReadEvents,
    ReadPortfolio,
    ReadExport,
    ManageClients,
    ManageDecisions,
}

impl Scope {
    pub const ALL: [Self; 12] = [
        Self::ReadClients,
        Self::ReadAssets,
        Self::WriteAssets,
        Self::ReadScores,
        Self::ReadRisks,
        Self::ReadCompliance,
        Self::WriteAssessments,
        Self::ReadEvents,
        Self::ReadPortfolio,
        Self::ReadExport,
        Self::ManageClients,
        Self::ManageDecisions,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadClients => "read:clients",
            Self::ReadAssets => "read:assets",
            Self::WriteAssets => "write:assets",
            Self::ReadScores => "read:scores",
            Self::ReadRisks => "read:risks",
            Self::ReadCompliance => "read:compliance",
            Self::WriteAssessments => "write:assessments",
            Self::ReadEvents => "read:events",
            Self::ReadPortfolio => "read:portfolio",
            Self::ReadExport => "read:export",
            Self::ManageClients => "manage:clients",
            Self::ManageDecisions => "manage:decisions",
        }
    }
}

/// Accepts exactly the words of [`Scope::as_str`].
impl FromStr for Scope {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Error::invalid(format!("unknown scope; supported scopes: {known}"))
        })
    }
}

impl<R: Rows> Transaction<R> {
    /// All keys in id order, including revoked and expired ones.
    pub fn list_keys(&self) -> Result<Vec<Key>> {
        self.rows.list_rows(KEYS, &Span::all(), usize::MAX)
    }

    pub fn find_key(&self, id: KeyId) -> Result<Option<Key>> {
        self.rows.find_row(KEYS, id.as_bytes())
    }
}

impl Batch {
    pub fn put_key(&mut self, key: &Key) -> Result<()> {
        self.rows.put_row(KEYS, key.id.as_bytes(), key)
    }

    /// Removes a key and its counters.
    pub fn remove_key(&mut self, id: KeyId) -> Result<()> {
        self.rows.remove_row(WINDOWS, id.as_bytes())?;
        self.rows.remove_row(KEYS, id.as_bytes()).map(|_| ())
    }
}
