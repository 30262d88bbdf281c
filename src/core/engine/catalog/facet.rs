//! The parts of a control that no single check sees together, and over what it is.

/// One part of a control.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Facet {
    pub name: String,
    /// What is true if it is met.
    pub says: String,
    /// One subject that fails makes the control not met.
    pub is_any: bool,
    /// It is asked on each of these that the client uses, whatever its control is over. Empty: where its control is.
    pub platforms: Vec<String>,
}

/// How many facets a control has at most.
pub const N_FACETS_MAX: usize = 8;

/// Some facets of a control, by their places in its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FacetSet(u8);

impl FacetSet {
    pub const NONE: Self = Self(0);
    /// Of a control with one facet.
    pub const WHOLE: Self = Self(1);

    #[must_use]
    pub fn one(index: usize) -> Self {
        assert!(index < N_FACETS_MAX, "facet {index}");
        Self(1 << index)
    }

    /// The first `n`.
    #[must_use]
    pub fn all(n: usize) -> Self {
        (0..n).fold(Self::NONE, |all, it| all.with(Self::one(it)))
    }

    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    #[must_use]
    pub const fn shares(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[must_use]
    pub fn has(self, index: usize) -> bool {
        self.shares(Self::one(index))
    }

    /// Their places, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..N_FACETS_MAX).filter(move |it| self.has(*it))
    }
}

/// What a control is over: each member must be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Population {
    /// One thing: the client, or each platform and account.
    Client,
    Accounts,
    Administrators,
    Guests,
    /// Workstations, servers and virtual machines.
    Computers,
    Servers,
    Phones,
    /// What has an address in a network.
    Systems,
    Networks,
    Domains,
    CloudAccounts,
    Repositories,
}

impl Population {
    pub const ALL: [Self; 12] = [
        Self::Client,
        Self::Accounts,
        Self::Administrators,
        Self::Guests,
        Self::Computers,
        Self::Servers,
        Self::Phones,
        Self::Systems,
        Self::Networks,
        Self::Domains,
        Self::CloudAccounts,
        Self::Repositories,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Accounts => "accounts",
            Self::Administrators => "administrators",
            Self::Guests => "guests",
            Self::Computers => "computers",
            Self::Servers => "servers",
            Self::Phones => "phones",
            Self::Systems => "systems",
            Self::Networks => "networks",
            Self::Domains => "domains",
            Self::CloudAccounts => "cloud_accounts",
            Self::Repositories => "repositories",
        }
    }

    /// Its members are on the platforms that the control names, rather than on devices of the client.
    #[must_use]
    pub const fn is_on_platforms(self) -> bool {
        match self {
            Self::Client
            | Self::Accounts
            | Self::Administrators
            | Self::Guests
            | Self::Systems
            | Self::CloudAccounts => true,
            Self::Computers
            | Self::Servers
            | Self::Phones
            | Self::Networks
            | Self::Domains
            | Self::Repositories => false,
        }
    }

    #[must_use]
    pub const fn is_of_accounts(self) -> bool {
        matches!(self, Self::Accounts | Self::Administrators | Self::Guests)
    }

    /// How many of `n` members may be unseen.
    #[must_use]
    pub const fn n_tolerated(self, n: u32) -> u32 {
        match self {
            Self::Accounts | Self::Guests | Self::Computers | Self::Phones if 5 <= n => {
                let share = n / 20;
                if share == 0 { 1 } else { share }
            }
            Self::Client
            | Self::Accounts
            | Self::Administrators
            | Self::Guests
            | Self::Computers
            | Self::Servers
            | Self::Phones
            | Self::Systems
            | Self::Networks
            | Self::Domains
            | Self::CloudAccounts
            | Self::Repositories => 0,
        }
    }
}
