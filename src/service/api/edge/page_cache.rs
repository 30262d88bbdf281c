//! A cache of rendered answers. An answer is valid as long as the part of the client that it shows does not change.

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::api::wire::reply::Rendered;
use crate::engine::asset::AssetType;
use crate::engine::framework::{FrameworkId, Level};
use crate::engine::severity::Severity;
use crate::id::ClientId;
use crate::page::Cut;

/// The size limit of the cache.
pub const CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// The approximate size of an answer, to size the cache's own tables.
const ANSWER_BYTES: u64 = 8 * 1024;
/// The size of an entry besides its body: key, headers, the cache's own tables.
const ENTRY_BYTES: u64 = 256;

/// Identifies an answer. Callers get different answers only if their client lists differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageKey {
    pub shown: PageContent,
    /// The versions of the parts that the answer shows. An answer of an older version is never read again.
    pub versions: [u64; 2],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PageContent {
    /// `allowed`: a hash of the caller's client list, `None` for all.
    Clients {
        allowed: Option<u128>,
        industry: Option<String>,
        cut: Cut,
    },
    Assets {
        client: ClientId,
        filter: AssetsShown,
        cut: Cut,
    },
    Scores {
        client: ClientId,
        n_history: u32,
    },
    Risks {
        client: ClientId,
        severity: Option<Severity>,
        cut: Cut,
    },
    Compliance(ClientId),
    Framework {
        client: ClientId,
        id: FrameworkId,
        level: LevelShown,
    },
}

impl PageContent {
    /// The size of texts that the caller chose, which count too.
    fn n_text_bytes(&self) -> usize {
        match self {
            Self::Clients { industry, .. } => industry.as_ref().map_or(0, String::len),
            Self::Assets { filter, .. } => filter.category.as_ref().map_or(0, String::len),
            Self::Scores { .. }
            | Self::Risks { .. }
            | Self::Compliance(_)
            | Self::Framework { .. } => 0,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AssetsShown {
    pub category: Option<String>,
    pub asset_type: Option<AssetType>,
    pub critical_only: bool,
}

/// [`Level`] as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LevelShown {
    Requirement,
    Detail,
}

impl From<Level> for LevelShown {
    fn from(level: Level) -> Self {
        match level {
            Level::Requirement => Self::Requirement,
            Level::Detail => Self::Detail,
        }
    }
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<PageKey, Rendered> for ByBytes {
    fn weight(&self, key: &PageKey, rendered: &Rendered) -> u64 {
        (rendered.body.len() + key.shown.n_text_bytes()) as u64 + ENTRY_BYTES
    }
}

pub struct PageCache(Cache<PageKey, Rendered, ByBytes>);

impl PageCache {
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let n_entries = usize::try_from(bytes / ANSWER_BYTES).unwrap_or(usize::MAX);
        Self(Cache::with_weighter(n_entries.max(1), bytes, ByBytes))
    }

    /// The memory of all answers.
    pub fn n_bytes(&self) -> u64 {
        self.0.weight()
    }

    pub fn find(&self, key: &PageKey) -> Option<Rendered> {
        self.0.get(key)
    }

    pub fn put(&self, key: PageKey, rendered: Rendered) {
        self.0.insert(key, rendered);
    }
}
