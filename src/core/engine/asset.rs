//! Assets: what a client owns or uses.

use bincode::{Decode, Encode};

use super::estate::SystemCounts;
use super::fact::subject_hash;
use crate::clock::Time;
use crate::id::AssetId;

/// The contract's `AssetType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum AssetType {
    User,
    Device,
    Server,
    Workstation,
    Mobile,
    NetworkDevice,
    VirtualMachine,
    Container,
    SaasApp,
    CloudResource,
    Identity,
    Mailbox,
    FileShare,
    Database,
}

impl AssetType {
    pub const ALL: [Self; 14] = [
        Self::User,
        Self::Device,
        Self::Server,
        Self::Workstation,
        Self::Mobile,
        Self::NetworkDevice,
        Self::VirtualMachine,
        Self::Container,
        Self::SaasApp,
        Self::CloudResource,
        Self::Identity,
        Self::Mailbox,
        Self::FileShare,
        Self::Database,
    ];

    /// Returns the contract's name of the type.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Device => "device",
            Self::Server => "server",
            Self::Workstation => "workstation",
            Self::Mobile => "mobile",
            Self::NetworkDevice => "network_device",
            Self::VirtualMachine => "virtual_machine",
            Self::Container => "container",
            Self::SaasApp => "saas_app",
            Self::CloudResource => "cloud_resource",
            Self::Identity => "identity",
            Self::Mailbox => "mailbox",
            Self::FileShare => "file_share",
            Self::Database => "database",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum AssetStatus {
    Active,
    /// Not seen for `stale_asset_days`.
    Stale,
    /// Missing from a complete read of its source. It is still listed, until its retention ends.
    Retired,
}

impl AssetStatus {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Stale => "stale",
            Self::Retired => "retired",
        }
    }
}

/// One asset of a client.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Asset {
    pub id: AssetId,
    /// The label of the source that first reported it, and that source's identifier of it.
    pub source: String,
    pub external_id: String,
    /// [`subject_hash`] of the identifiers that other sources use for it, at most [`N_ALIASES_MAX`].
    pub aliases: Vec<u64>,
    pub name: String,
    pub display_name: Option<String>,
    pub category: Option<String>,
    pub asset_type: AssetType,
    pub status: AssetStatus,
    pub is_critical: bool,
    pub is_managed: bool,
    pub owner: Option<String>,
    pub description: Option<String>,
    pub tags: Vec<String>,
    /// Which of the fields above a person or integrator set. Scans and syncs do not change these.
    pub kept: Kept,
    pub hostname: Option<String>,
    pub ip: Option<String>,
    pub mac: Option<String>,
    pub serial: Option<String>,
    pub first_discovered_at: Time,
    pub last_updated_at: Time,
    pub last_seen_at: Time,
}

impl Asset {
    /// Returns what findings call it: [`subject_hash`] of each identifier.
    #[must_use]
    pub fn subjects(&self) -> Vec<u64> {
        let own = subject_hash(&self.external_id);
        [own].into_iter().chain(self.aliases.iter().copied()).collect()
    }

    /// In which counts of devices it is, each 0 or 1. A retired one is in none.
    #[must_use]
    pub fn device_counts(&self) -> SystemCounts {
        let is_server = matches!(self.asset_type, AssetType::Server | AssetType::VirtualMachine);
        let is_computer = is_server || self.asset_type == AssetType::Workstation;
        let is_device =
            is_computer || matches!(self.asset_type, AssetType::Device | AssetType::NetworkDevice);
        // It is in a network, so that a scan can look at it.
        let is_addressed =
            is_device && (self.ip.is_some() || self.hostname.is_some() || self.mac.is_some());
        let is_phone = self.asset_type == AssetType::Mobile;
        let counts = |it: bool| u32::from(it && self.status != AssetStatus::Retired);
        SystemCounts {
            n_computers: counts(is_computer),
            n_servers: counts(is_server),
            n_phones: counts(is_phone),
            n_addressed: counts(is_addressed),
            is_listed: false,
        }
    }
}

/// Findings that use an identifier beyond this number are not linked to the asset.
pub const N_ALIASES_MAX: usize = 32;

/// The fields that a source no longer changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[expect(clippy::struct_excessive_bools, reason = "one flag for each field that may be kept")]
pub struct Kept {
    pub name: bool,
    pub display_name: bool,
    pub category: bool,
    pub asset_type: bool,
    pub owner: bool,
    pub is_critical: bool,
    pub description: bool,
    pub tags: bool,
}

/// An asset as a source reported it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Seen {
    /// The source's identifier of it.
    pub external_id: String,
    pub name: String,
    pub category: Option<String>,
    pub asset_type: AssetType,
    pub is_managed: bool,
    pub hostname: Option<String>,
    pub ip: Option<String>,
    /// Lower-case, colon-separated.
    pub mac: Option<String>,
    pub serial: Option<String>,
    /// Which part of the client it belongs to, as in [`super::fact::Observation::scope`].
    pub scope: String,
    /// `None`: not reported. The observation time of the import applies.
    pub seen_at: Option<Time>,
    pub reported: ReportedFields,
}

/// Optional fields of an asset as a source reported them. `None`: not reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ReportedFields {
    pub display_name: Option<String>,
    pub is_critical: Option<bool>,
    pub owner: Option<String>,
    pub description: Option<String>,
    pub tags: Option<Vec<String>>,
}
