//! What exists at a client: what was seen of it, and what people say about it.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};

use crate::clock::Time;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum EstateKind {
    /// Such as Microsoft 365.
    Platforms,
    /// Tenants, by platform and name.
    Scopes,
    /// Accounts, subscriptions and projects of clouds, by platform and number.
    CloudAccounts,
    /// Workstations, servers and virtual machines.
    Computers,
    /// Servers, and virtual machines.
    Servers,
    /// What has an address or a name in a network.
    Systems,
    Phones,
    /// Those that the DNS is read for.
    Domains,
}

impl EstateKind {
    pub const ALL: [Self; 8] = [
        Self::Platforms,
        Self::Scopes,
        Self::CloudAccounts,
        Self::Computers,
        Self::Servers,
        Self::Phones,
        Self::Systems,
        Self::Domains,
    ];
    /// Those of which a person can say that they are all. Of platforms, the profile says it.
    pub const SAID_WHOLE: [Self; 5] =
        [Self::CloudAccounts, Self::Computers, Self::Servers, Self::Phones, Self::Systems];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Platforms => "platforms",
            Self::Scopes => "scopes",
            Self::CloudAccounts => "cloud_accounts",
            Self::Computers => "computers",
            Self::Servers => "servers",
            Self::Systems => "systems",
            Self::Phones => "phones",
            Self::Domains => "domains",
        }
    }

    /// What people call them.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Platforms => "platforms",
            Self::Scopes => "tenants",
            Self::CloudAccounts => "cloud accounts",
            Self::Computers => "computers",
            Self::Servers => "servers",
            Self::Systems => "systems in the network",
            Self::Phones => "phones",
            Self::Domains => "domains",
        }
    }

    /// They are devices of the inventory.
    #[must_use]
    pub const fn is_of_devices(self) -> bool {
        matches!(self, Self::Computers | Self::Servers | Self::Systems | Self::Phones)
    }
}

/// What is known to exist, besides what observations are about.
#[derive(Clone, Debug, Default)]
pub struct KnownEstate {
    pub systems: SystemCounts,
    /// In any order; at most one of each kind.
    pub said_whole: Vec<SaidWhole>,
    /// In any order; at most one of each member.
    pub members: Vec<MemberDecision>,
    /// In any order; at most [`N_QUIET_MAX`] that are new, and as many that are stale.
    pub quiet: Vec<QuietDevice>,
    pub sights: FirstSights,
}

impl KnownEstate {
    pub const NOTHING: &'static Self = &Self {
        systems: SystemCounts::NONE,
        said_whole: Vec::new(),
        members: Vec::new(),
        quiet: Vec::new(),
        sights: FirstSights::NONE,
    };
}

/// A device that nobody is expected to look at. It counts where something was seen of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuietDevice {
    /// All its names, in lower case.
    pub names: Vec<String>,
    /// In which counts it is, each 0 or 1.
    pub counts: SystemCounts,
    /// When it begins to count: it is new. `None`: it was not seen for long.
    pub new_until: Option<Time>,
}

/// When platforms and accounts were seen first, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstSights {
    /// By id.
    pub members: BTreeMap<String, FirstSight>,
    /// When each source looked first.
    pub sources: BTreeMap<String, Time>,
    /// For how many days a member is new. 0: nothing is new.
    pub new_days: u16,
    /// What was new and is due by then counts.
    pub counted_to: Time,
}

/// When a member was seen first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstSight {
    pub at: Time,
    /// Its source had looked before, so that it is new.
    pub is_late: bool,
}

impl FirstSights {
    pub const NONE: Self = Self {
        members: BTreeMap::new(),
        sources: BTreeMap::new(),
        new_days: 0,
        counted_to: Time::EPOCH,
    };

    /// When what was seen first at this time begins to count. `None`: it counts.
    #[must_use]
    pub fn new_until(&self, sight: FirstSight) -> Option<Time> {
        let due = counts_from(sight.at, self.new_days);
        let is_new = self.new_days != 0 && sight.is_late && self.counted_to < due;
        is_new.then_some(due)
    }
}

/// When a member that was seen first at this time begins to count: at the start of a day.
#[must_use]
pub fn counts_from(first_seen: Time, new_days: u16) -> Time {
    Time::EPOCH.plus_days(i64::from(first_seen.day()) + i64::from(new_days))
}

/// How many devices of a client are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemCounts {
    /// Workstations, servers and virtual machines.
    pub n_computers: u32,
    /// Servers, and virtual machines.
    pub n_servers: u32,
    pub n_phones: u32,
    /// What has an address in a network.
    pub n_addressed: u32,
    /// A source listed all that there are.
    pub is_listed: bool,
}

impl SystemCounts {
    pub const NONE: Self =
        Self { n_computers: 0, n_servers: 0, n_phones: 0, n_addressed: 0, is_listed: false };
}

/// A person says that there are no more than are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaidWhole {
    pub kind: EstateKind,
    /// How many were known then. Once there are more, it no longer counts.
    pub n_known: u32,
    pub until: Time,
}

impl SaidWhole {
    /// Returns true if it still counts. `n_known`: how many are known now.
    #[must_use]
    pub fn holds(&self, n_known: u32, now: Time) -> bool {
        now < self.until && n_known <= self.n_known
    }
}

/// A person takes a member out of what must be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDecision {
    /// The scope that it is, such as `aws/123456789012`; of a device all its names, in lower case.
    pub names: Vec<String>,
    /// Of a device: in which counts it is, each 0 or 1.
    pub counts: SystemCounts,
    /// It is gone: should something of it be seen later, it is back. Otherwise it exists and is not meant.
    pub is_retired: bool,
    pub at: Time,
    pub until: Option<Time>,
}

/// A platform, an account of one, or a domain, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct EstateMember {
    pub kind: EstateKind,
    /// Such as `aws`, or `aws/123456789012`.
    pub id: String,
    pub first_seen: Time,
    pub last_seen: Time,
    /// The source that saw it last.
    pub source: String,
    /// Its source had looked before it was seen first.
    pub is_late: bool,
}

impl EstateMember {
    #[must_use]
    pub const fn first_sight(&self) -> FirstSight {
        FirstSight { at: self.first_seen, is_late: self.is_late }
    }
}

/// What observations show of the estate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenEstate {
    /// Platforms, accounts and domains, in this order.
    pub members: Vec<EstateMember>,
    /// When each source looked first.
    pub sources: BTreeMap<String, Time>,
}

/// Something that is known, and that nobody looked at, or not at all of it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Unseen {
    pub kind: UnseenKind,
    /// In words, such as `Azure`, or `49 of 50 computers`.
    pub what: String,
    /// The codes of the controls that are not met, or may not be, as long as it is not seen.
    pub controls: Vec<String>,
}

/// What is done about something unseen differs by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum UnseenKind {
    Platform,
    /// A tenant, account, subscription or project.
    Account,
    /// There may be more cloud accounts than are known.
    CloudAccounts,
    /// There may be more devices than are known, or some were not looked at.
    Devices,
    /// Accounts, administrators and their like of which a source says nothing.
    Members,
    /// Something that a control requires.
    Facet,
    Domain,
}

impl UnseenKind {
    pub const ALL: [Self; 7] = [
        Self::Platform,
        Self::Account,
        Self::CloudAccounts,
        Self::Devices,
        Self::Members,
        Self::Facet,
        Self::Domain,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Account => "account",
            Self::CloudAccounts => "cloud_accounts",
            Self::Devices => "devices",
            Self::Members => "members",
            Self::Facet => "facet",
            Self::Domain => "domain",
        }
    }

    /// What one can do about it.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Platform => {
                "Connect it, import a report about it, or say in the profile that it is unused."
            }
            Self::Account | Self::Domain => "Look at it too, or say that it is gone or not meant.",
            Self::CloudAccounts => "Look at the others too, or say that these are all.",
            Self::Devices => {
                "Look at the others too, connect a source that lists all devices, or say that these are all."
            }
            Self::Members => "Find out why the source says nothing of them.",
            Self::Facet => "Let a source look at it, or attest it with evidence.",
        }
    }
}

/// How many unseen things are kept, the most valuable first.
pub const N_UNSEEN_MAX: usize = 100;
/// How many platforms and accounts are kept.
pub const N_MEMBERS_MAX: usize = 1_000;
/// How many devices that are new, and how many that are stale, are told from the others. Further ones count as the others do.
pub const N_QUIET_MAX: usize = 500;
