//! What a commit did to a client's assets.

use crate::engine::asset::{Asset, AssetType};
use crate::id::AssetId;

/// What a commit did to a client's assets.
#[derive(Clone, Debug)]
pub(in crate::store) enum Delta {
    Put {
        id: AssetId,
        /// In lower case.
        category: Option<String>,
        asset_type: AssetType,
        is_critical: bool,
    },
    Remove {
        id: AssetId,
    },
    /// All assets were removed, or it is unknown which: build anew when asked.
    Forget,
}

impl Delta {
    pub(in crate::store) fn put(asset: &Asset) -> Self {
        Self::Put {
            id: asset.id,
            category: asset.category.as_deref().map(str::to_lowercase),
            asset_type: asset.asset_type,
            is_critical: asset.is_critical,
        }
    }
}
