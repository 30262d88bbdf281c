//! Operations 3 to 5: assets.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::{Path, Query};
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::page_cache::{AssetsShown, Key, Shown};
use crate::api::edge::right::{ReadAssets, WriteAssets};
use crate::api::wire::body::{Body, nullable, present};
use crate::api::wire::param;
use crate::api::wire::param::{AssetTypeWord, Id, Limit, Offset, Raw, Text, TrueWord, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply;
use crate::api::wire::reply::{Data, Made, Null, Rendered};
use crate::api::wire::view::{AssetStatusView, AssetTypeView, Uid, When};
use crate::api::{Group, Web};
use crate::app::inventory::asset::{AssetChange, NewAsset, Pushed};
use crate::engine::asset::{Asset, AssetType};
use crate::engine::fact::subject_hash;
use crate::error::{Error, Result};
use crate::store::per_client::asset::AssetFilter;
use crate::store::{ClientSnapshot, ClientStore};

/// Something that a client has.
#[derive(Object, Serialize)]
#[oai(rename = "Asset", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct AssetView {
    id: Uid,
    name: String,
    display_name: Null<String>,
    /// Free text.
    category: Null<String>,
    asset_type: AssetTypeView,
    /// `active`; `stale` when not seen for `staleAssetDays`; `retired` when a complete read no longer has it.
    status: AssetStatusView,
    is_critical: bool,
    is_managed: bool,
    owner: Null<String>,
    /// 0 to 100: the worst open risk that touches it; null when none does.
    risk_score: Null<u8>,
    first_discovered_at: When,
    last_updated_at: When,
}

impl AssetView {
    fn of(asset: Asset, risk_score: Option<u8>) -> Self {
        Self {
            id: Uid::of(asset.id.as_bytes()),
            name: asset.name,
            display_name: asset.display_name.into(),
            category: asset.category.into(),
            asset_type: AssetTypeView(asset.asset_type),
            status: AssetStatusView(asset.status),
            is_critical: asset.is_critical,
            is_managed: asset.is_managed,
            owner: asset.owner.into(),
            risk_score: risk_score.into(),
            first_discovered_at: When(asset.first_discovered_at),
            last_updated_at: When(asset.last_updated_at),
        }
    }
}

/// An asset to push.
#[derive(Object)]
#[oai(rename = "AssetCreate", rename_all = "camelCase")]
pub struct AssetCreate {
    client_id: Uid,
    #[oai(validator(max_length = 500))]
    name: String,
    /// The caller's own identifier for the asset; pushing it again changes the same asset.
    #[oai(validator(max_length = 500))]
    external_id: String,
    asset_type: AssetTypeView,
    #[oai(nullable, validator(max_length = 500))]
    display_name: Option<String>,
    #[oai(nullable, validator(max_length = 100))]
    category: Option<String>,
    #[oai(nullable, default)]
    is_critical: bool,
    #[oai(nullable, validator(max_length = 255))]
    owner: Option<String>,
    /// At most 16 KiB.
    #[oai(nullable)]
    description: Option<String>,
    /// At most 64 of 128 characters.
    #[oai(nullable, validator(max_items = 64))]
    tags: Option<Vec<String>>,
}

/// What to change of an asset; absent fields stay, null clears.
#[derive(Object)]
#[oai(rename = "AssetUpdate", rename_all = "camelCase")]
pub struct AssetUpdate {
    #[oai(validator(max_length = 500))]
    name: Option<String>,
    #[oai(nullable, validator(max_length = 500))]
    display_name: Option<String>,
    #[oai(nullable, validator(max_length = 100))]
    category: Option<String>,
    is_critical: Option<bool>,
    #[oai(nullable, validator(max_length = 255))]
    owner: Option<String>,
    /// At most 16 KiB.
    #[oai(nullable)]
    description: Option<String>,
    /// At most 64 of 128 characters.
    #[oai(validator(max_items = 64))]
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a JSON object")]
struct AssetCreateBody {
    client_id: String,
    name: String,
    external_id: String,
    asset_type: String,
    display_name: Option<String>,
    category: Option<String>,
    is_critical: Option<bool>,
    owner: Option<String>,
    description: Option<String>,
    tags: Option<Vec<String>>,
}

impl AssetCreateBody {
    /// Null for an optional field is the same as not sent.
    fn resolve(self) -> Result<NewAsset> {
        let not_an_id = |_| Error::invalid_field("clientId", "must be a UUID");
        let change = AssetChange {
            name: None,
            display_name: self.display_name.map(Some),
            category: self.category.map(Some),
            is_critical: self.is_critical,
            owner: self.owner.map(Some),
            description: self.description.map(Some),
            tags: self.tags,
        };
        Ok(NewAsset {
            client: self.client_id.parse().map_err(not_an_id)?,
            name: self.name,
            external_id: self.external_id,
            asset_type: asset_type(&self.asset_type)?,
            change,
        })
    }
}

fn asset_type(word: &str) -> Result<AssetType> {
    AssetType::ALL.into_iter().find(|it| it.as_str() == word).ok_or_else(|| {
        let known = AssetType::ALL.map(AssetType::as_str).join(", ");
        Error::invalid_field("assetType", format!("must be one of {known}"))
    })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "a JSON object")]
struct AssetUpdateBody {
    #[serde(deserialize_with = "present")]
    name: Option<String>,
    #[serde(deserialize_with = "nullable")]
    display_name: Option<Option<String>>,
    #[serde(deserialize_with = "nullable")]
    category: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    is_critical: Option<bool>,
    #[serde(deserialize_with = "nullable")]
    owner: Option<Option<String>>,
    #[serde(deserialize_with = "nullable")]
    description: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    tags: Option<Vec<String>>,
}

impl AssetUpdateBody {
    fn resolve(self) -> AssetChange {
        AssetChange {
            name: self.name,
            display_name: self.display_name,
            category: self.category,
            is_critical: self.is_critical,
            owner: self.owner,
            description: self.description,
            tags: self.tags,
        }
    }
}

pub struct Assets;

#[OpenApi(prefix_path = "/api/v1", tag = "Group::Versioned")]
impl Assets {
    /// List a client's assets
    ///
    /// Discovered and pushed assets in the order in which they were first seen. Scope: `read:assets`.
    #[oai(path = "/clients/:clientId/assets", method = "get", operation_id = "list_assets")]
    async fn list_assets(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ReadAssets>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
        /// Only assets of this category, without regard to case.
        category: Query<Option<Raw<Text>>>,
        #[oai(name = "assetType")] asset_type: Query<Option<Raw<AssetTypeWord>>>,
        /// Only critical assets.
        #[oai(name = "isCritical")]
        is_critical: Query<Option<Raw<TrueWord>>>,
    ) -> Result<reply::Page<AssetView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let filter = AssetsShown {
            category: category.0.map(|it| it.text),
            asset_type: param::asset_type(asset_type.0.as_ref())?,
            critical_only: param::only_true("isCritical", is_critical.0.as_ref())?,
        };
        let (client, rows) = web.app.reach_active(&by.0, client_id.read()?)?;
        let versions = rows.versions();
        let shown = Shown::Assets { client: client.id, filter: filter.clone(), cut };
        let key = Key { shown, versions: [versions.inventory, versions.posture] };
        let inventory = rows.clone();
        let render = move |snapshot: &ClientSnapshot| page(&inventory, snapshot, filter, cut);
        Ok(reply::Page::rendered(web.kept(key, &rows, render).await?))
    }

    /// Push an asset
    ///
    /// 201 for a new one, 200 when this key's source already pushed that externalId. Scope: `write:assets`.
    #[oai(path = "/assets", method = "post", operation_id = "create_asset")]
    async fn create_asset(
        &self,
        web: Held<&Arc<Web>>,
        by: By<WriteAssets>,
        body: Body<AssetCreate>,
    ) -> Result<Made<AssetView>, Failure> {
        let new = body.read::<AssetCreateBody>()?.resolve()?;
        let client = new.client;
        Ok(match web.app.push_asset(&by.0, new).await? {
            Pushed::Added(asset) => Made::Added(shown(&web, &by, client, asset).await?),
            Pushed::Known(asset) => Made::Known(shown(&web, &by, client, asset).await?),
        })
    }

    /// Change an asset
    ///
    /// Only the fields of `AssetUpdate` change; others are ignored. Scope: `write:assets`.
    #[oai(path = "/assets/:assetId", method = "put", operation_id = "update_asset")]
    async fn update_asset(
        &self,
        web: Held<&Arc<Web>>,
        by: By<WriteAssets>,
        #[oai(name = "assetId")] asset_id: Path<Raw<Id>>,
        body: Body<AssetUpdate>,
    ) -> Result<Data<AssetView>, Failure> {
        let read = || Ok(body.read::<AssetUpdateBody>()?.resolve());
        let (client, asset) = web.app.change_asset(&by.0, asset_id.read()?, read).await?;
        Ok(Data::of(&shown(&web, &by, client, asset).await?))
    }
}

/// An asset as a write answers it.
async fn shown(
    web: &Web,
    by: &By<WriteAssets>,
    client: crate::id::ClientId,
    asset: Asset,
) -> Result<AssetView> {
    let (_, rows) = web.app.reach_active(&by.0, client)?;
    let subjects = subjects(&asset);
    let scores = rows.read(move |snapshot| snapshot.touched_scores(&subjects)).await?;
    Ok(AssetView::of(asset, scores.into_iter().flatten().max()))
}

/// What findings call an asset.
fn subjects(asset: &Asset) -> Vec<u64> {
    let own = subject_hash(&asset.external_id);
    [own].into_iter().chain(asset.aliases.iter().copied()).collect()
}

fn page(
    rows: &ClientStore,
    snapshot: &ClientSnapshot,
    shown: AssetsShown,
    cut: crate::page::Cut,
) -> Result<Rendered> {
    Ok(Rendered::page(&views(rows, snapshot, shown, cut)?))
}

/// Assets with the scores of what touches them.
pub fn views(
    rows: &ClientStore,
    snapshot: &ClientSnapshot,
    shown: AssetsShown,
    cut: crate::page::Cut,
) -> Result<crate::page::Page<AssetView>> {
    let AssetsShown { category, asset_type, critical_only } = shown;
    let page = rows.page_assets(&AssetFilter { category, asset_type, critical_only }, cut)?;
    let subjects: Vec<Vec<u64>> = page.items.iter().map(subjects).collect();
    let mut scores = snapshot.touched_scores(&subjects.concat())?.into_iter();
    let mut subjects = subjects.iter();
    let view = |asset| {
        let n = subjects.next().map_or(0, Vec::len);
        let worst = scores.by_ref().take(n).flatten().max();
        AssetView::of(asset, worst)
    };
    Ok(page.map(view))
}
