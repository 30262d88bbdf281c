//! Lists that a source sends about a client, and how they changed.

use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::identity::leaver::{Leaver, Leavers};
use crate::engine::identity::{AppUse, Identity};

/// What one run of a source listed.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    pub scope: String,
    /// When the source looked.
    pub at: Time,
    /// Its lists are complete in that scope.
    pub complete: bool,
    pub shrinking: Shrinking,
    pub identities: Option<Vec<Identity>>,
    pub apps: Option<Vec<AppUse>>,
    /// External ids of the assets.
    pub assets: Option<Vec<String>>,
    /// People who left or leave, and people who came back.
    pub leavers: Option<Vec<Leaver>>,
}

/// Whether complete lists are believed that have far fewer members than before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shrinking {
    /// Not before a second read agrees.
    #[default]
    Doubted,
    /// Nor is an empty list, however few there were: a service that hides what its credential may not see answers like one
    /// that has nothing.
    DoubtedIfEmpty,
    /// At once.
    Confirmed,
}

impl Shrinking {
    #[must_use]
    pub const fn confirmed_if(is_confirmed: bool) -> Self {
        if is_confirmed { Self::Confirmed } else { Self::Doubted }
    }
}

/// The client's settings about lists.
#[derive(Clone, Debug)]
pub struct Rules {
    pub dormant_after_days: u16,
    /// In lower case.
    pub sanctioned_apps: Vec<String>,
}

/// What lists of accounts are judged by.
#[derive(Clone, Copy, Debug)]
pub struct AccountJudge<'a> {
    pub rules: &'a Rules,
    pub catalog: &'a Catalog,
    pub leavers: &'a Leavers,
    pub now: Time,
}

/// How one list changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    pub n_added: u32,
    pub n_changed: u32,
    pub n_gone: u32,
    /// True if it had far fewer members than before and is treated as partial.
    pub is_held: bool,
}
