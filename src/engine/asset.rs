//! Assets: what a client has.

use bincode::{Decode, Encode};

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

    /// The contract's word.
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
    /// A complete read no longer has it. Still listed.
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
    /// Label of the source that made it, and that source's own identifier of it.
    pub source: String,
    pub external_id: String,
    /// [`super::fact::subject_hash`] of what other sources call it, at most [`N_ALIASES_MAX`].
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
    /// Which of the fields above a person or integrator set: they survive scans and syncs.
    pub kept: Kept,
    pub hostname: Option<String>,
    pub ip: Option<String>,
    pub mac: Option<String>,
    pub serial: Option<String>,
    pub first_discovered_at: Time,
    pub last_updated_at: Time,
    pub last_seen_at: Time,
}

/// Findings about an asset under a further name are not linked to it.
pub const N_ALIASES_MAX: usize = 32;

/// Fields that a source no longer changes.
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

/// An asset as a source saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The source's own identifier of it.
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
    /// `None`: the file does not say; the import's observation time counts.
    pub seen_at: Option<Time>,
    pub said: Said,
}

/// What a source says of an asset beside what it is. `None`: it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub display_name: Option<String>,
    pub is_critical: Option<bool>,
    pub owner: Option<String>,
    pub description: Option<String>,
    pub tags: Option<Vec<String>>,
}
