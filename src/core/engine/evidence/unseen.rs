//! Parts of a control that nobody looked at, and their words.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use super::place::{NETWORK, Place};
use super::stated::BareParts;
use crate::engine::catalog::Control;
use crate::engine::catalog::facet::{Facet, FacetSet, Population};
use crate::engine::estate::UnseenKind;
use crate::engine::statement::platform_name;

/// How many parts that nobody looked at are named.
const N_UNSEEN_NAMED_MAX: usize = 5;

/// A part that nobody looked at, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnseenPart<'a> {
    /// Something is true if it is met. On this platform and account; `None`: anywhere.
    Facet(&'a str, Option<Spot<'a>>),
    Place(Spot<'a>),
    Domain(&'a str),
    /// Nobody says that the cloud accounts that are known are all.
    OtherClouds,
    /// Of so many known devices, these were looked at. `None`: nobody listed them.
    Devices {
        over: Population,
        n_seen: u32,
        n_known: Option<u32>,
    },
}

/// A platform, and one account of it where there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot<'a> {
    pub(super) platform: &'a str,
    pub(super) account: Option<&'a str>,
}

impl<'a> Spot<'a> {
    /// A platform, or its accounts where there are several. One that the source does not name is the only one.
    pub(super) fn all(platform: &'a str, accounts: &BTreeSet<&'a str>) -> Vec<Self> {
        if accounts.len() < 2 {
            return vec![Self { platform, account: None }];
        }
        accounts.iter().map(|it| Self { platform, account: Some(it) }).collect()
    }

    pub(super) fn is_seen_at(&self, place: Place<'a>, control: &Control) -> bool {
        match place {
            Place::Client | Place::Domain(_) => true,
            Place::Device(_) => self.platform == NETWORK,
            Place::Platform { platform, account } => {
                let is_same = platform == self.platform
                    || is_of_entra(platform)
                        && is_of_entra(self.platform)
                        && asks_entra_once(control);
                is_same && (account.is_none() || self.account.is_none() || account == self.account)
            }
        }
    }
}

/// Accounts of Azure are those of Microsoft 365, and so are the settings of the directory: a control of them does not name Azure.
fn asks_entra_once(control: &Control) -> bool {
    control.over.is_of_accounts() || !control.platforms.iter().any(|it| it == "azure")
}

fn is_of_entra(platform: &str) -> bool {
    matches!(platform, "m365" | "azure")
}

impl UnseenPart<'_> {
    pub(super) const fn kind(&self) -> UnseenKind {
        match self {
            Self::Facet(..) => UnseenKind::Facet,
            Self::Place(Spot { account: None, .. }) => UnseenKind::Platform,
            Self::Place(_) => UnseenKind::Account,
            Self::OtherClouds => UnseenKind::CloudAccounts,
            Self::Domain(_) => UnseenKind::Domain,
            Self::Devices { .. } => UnseenKind::Devices,
        }
    }

    pub(super) fn is_claimed(&self, control: &Control, bare: &BareParts<'_>) -> bool {
        let (facets, spot) = match *self {
            Self::Facet(says, spot) => {
                let is_it = |it: &Facet| it.says == says;
                let facet = control.facets.iter().position(is_it);
                (facet.map_or(FacetSet::NONE, FacetSet::one), spot)
            }
            Self::Place(spot) => (control.all_facets(), Some(spot)),
            Self::OtherClouds | Self::Domain(_) | Self::Devices { .. } => return false,
        };
        let (platform, account) = (spot.map(|it| it.platform), spot.and_then(|it| it.account));
        bare.cover(control, (facets, platform, account))
    }
}

impl fmt::Display for Spot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(platform_name(self.platform))?;
        self.account.map_or(Ok(()), |it| write!(f, " {it}"))
    }
}

impl fmt::Display for UnseenPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Facet(says, None) => write!(f, "\"{says}\""),
            Self::Facet(says, Some(spot)) => write!(f, "\"{says}\" in {spot}"),
            Self::Place(spot) => spot.fmt(f),
            Self::Domain(domain) => f.write_str(domain),
            Self::OtherClouds => f.write_str("other cloud accounts, if there are any"),
            Self::Devices { over, n_seen, n_known: Some(n) } => {
                write!(f, "{} of {n} {}", n - n_seen, over.as_str())
            }
            Self::Devices { over, n_seen, n_known: None } => {
                write!(f, "more than {n_seen} of the {}, which no list names", over.as_str())
            }
        }
    }
}

pub(super) fn write_list(
    f: &mut fmt::Formatter<'_>,
    lead: &str,
    all: &[UnseenPart<'_>],
) -> fmt::Result {
    let Some((first, rest)) = all.split_first() else { return Ok(()) };
    write!(f, "{lead}: {first}")?;
    for it in rest.iter().take(N_UNSEEN_NAMED_MAX - 1) {
        write!(f, "; {it}")?;
    }
    match all.len().saturating_sub(N_UNSEEN_NAMED_MAX) {
        0 => f.write_char('.'),
        n => write!(f, "; and {n} more."),
    }
}
