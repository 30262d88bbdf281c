//! Lists that a source sends of a client, and how they moved.

use crate::clock::Time;
use crate::engine::identity::{AppUse, Identity};

/// What one run of a source listed.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    pub scope: String,
    /// When the source looked.
    pub at: Time,
    /// It saw everything of the lists that it sends, in that scope.
    pub complete: bool,
    /// It did shrink: the lists are believed.
    pub confirm_shrink: bool,
    pub identities: Option<Vec<Identity>>,
    pub apps: Option<Vec<AppUse>>,
    /// External ids of the assets.
    pub assets: Option<Vec<String>>,
}

/// What the client's settings say about them.
#[derive(Clone, Debug)]
pub struct Rules {
    pub dormant_after_days: u16,
    /// In lower case.
    pub sanctioned_apps: Vec<String>,
}

/// How one list moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    pub n_added: u32,
    pub n_changed: u32,
    pub n_gone: u32,
    /// It had far fewer than before, and was taken as partial.
    pub is_held: bool,
}
