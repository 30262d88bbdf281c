//! The event about a new asset.

use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::{EventBody, NewEvent, NoPrevious};
use crate::clock::Time;
use crate::engine::asset::Asset;
use crate::engine::event::EventKind;

/// An asset was seen for the first time.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssetDiscovered<'a> {
    #[schemars(extend("format" = "uuid"))]
    pub id: String,
    pub name: &'a str,
    /// The contract's asset type.
    pub asset_type: &'static str,
    pub category: Option<&'a str>,
    /// The source that saw it first.
    pub source: &'a str,
    /// The source's own identifier of it.
    pub external_id: &'a str,
    pub is_critical: bool,
    pub is_managed: bool,
    #[schemars(extend("format" = "date-time"))]
    pub first_discovered_at: String,
}

impl EventBody for AssetDiscovered<'_> {
    const KIND: EventKind = EventKind::AssetDiscovered;
    type Previous = NoPrevious;

    fn key(&self) -> String {
        format!("asset/{}", self.id)
    }
}

#[must_use]
pub fn discovered(asset: &Asset, now: Time) -> NewEvent {
    let body = AssetDiscovered {
        id: asset.id.to_string(),
        name: &asset.name,
        asset_type: asset.asset_type.as_str(),
        category: asset.category.as_deref(),
        source: &asset.source,
        external_id: &asset.external_id,
        is_critical: asset.is_critical,
        is_managed: asset.is_managed,
        first_discovered_at: asset.first_discovered_at.to_string(),
    };
    NewEvent::new(&body, now)
}
