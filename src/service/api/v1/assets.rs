//! Operations 3 to 5: assets.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::page_cache::{AssetsShown, PageContent, PageKey};
use crate::api::edge::right::{ReadAssets, WriteAssets};
use crate::api::wire::body::{Body, Change, example, present};
use crate::api::wire::input::Ref;
use crate::api::wire::param::{Id, Limit, Offset, Raw, Text, TrueWord, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Made, Null, Rendered};
use crate::api::wire::view::{AssetStatusView, AssetTypeView, Uid, When};
use crate::api::wire::{param, reply};
use crate::api::{Group, Web};
use crate::app::inventory::asset::{AssetChange, NewAsset, PushedAsset};
use crate::engine::asset::Asset;
use crate::error::Result;
use crate::id::ClientId;
use crate::page::{Cut, Page};
use crate::store::per_client::asset::AssetFilter;
use crate::store::{ClientSnapshot, ClientStore};

/// Something that a client owns or uses.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Asset")]
#[serde(rename_all = "camelCase")]
pub struct AssetView {
    id: Uid,
    name: String,
    display_name: Null<String>,
    /// Free text.
    category: Null<String>,
    asset_type: AssetTypeView,
    status: AssetStatusView,
    is_critical: bool,
    is_managed: bool,
    owner: Null<String>,
    /// 0 to 100: the highest score of the open risks that affect it. Null: no open risk affects it.
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
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "AssetCreate")]
#[serde(rename_all = "camelCase", expecting = "a JSON object")]
pub struct AssetCreate {
    client_id: Ref<ClientId>,
    #[schemars(length(min = 1, max = 500))]
    name: String,
    /// The caller's own identifier of the asset. Pushing it again changes the same asset.
    #[schemars(length(min = 1, max = 500))]
    external_id: String,
    asset_type: AssetTypeView,
    #[schemars(length(max = 500))]
    #[serde(default)]
    display_name: Null<String>,
    #[schemars(length(max = 100))]
    #[serde(default)]
    category: Null<String>,
    /// Default for a new asset: false.
    #[serde(default)]
    is_critical: Null<bool>,
    #[schemars(length(max = 255))]
    #[serde(default)]
    owner: Null<String>,
    /// At most 16 KiB.
    #[schemars(length(max = 16384))]
    #[serde(default)]
    description: Null<String>,
    /// At most 128 characters each.
    #[schemars(length(max = 64))]
    #[serde(default)]
    tags: Null<Vec<String>>,
}

example!(AssetCreate, {
    "clientId": "0199e0a0-5c1a-7e6d-9f0b-1f2e3d4c5b6a",
    "name": "srv-files-01",
    "externalId": "rmm-4711",
    "assetType": "server",
    "owner": "ada@example.com",
    "tags": ["backup"],
});

impl AssetCreate {
    /// Null for an optional field is the same as an absent field.
    fn resolve(self) -> NewAsset {
        let change = AssetChange {
            name: None,
            display_name: self.display_name.0.map(Some),
            category: self.category.0.map(Some),
            is_critical: self.is_critical.0,
            owner: self.owner.0.map(Some),
            description: self.description.0.map(Some),
            tags: self.tags.0,
        };
        NewAsset {
            client: self.client_id.0,
            name: self.name,
            external_id: self.external_id,
            asset_type: self.asset_type.0,
            change,
        }
    }
}

/// What to change of an asset. Absent fields stay as they are; null clears a field.
#[derive(Default, JsonSchema, Deserialize)]
#[schemars(rename = "AssetUpdate")]
#[serde(rename_all = "camelCase", default, expecting = "a JSON object")]
pub struct AssetUpdate {
    #[schemars(length(min = 1, max = 500))]
    #[serde(deserialize_with = "present")]
    name: Option<String>,
    #[schemars(length(max = 500))]
    display_name: Change<String>,
    #[schemars(length(max = 100))]
    category: Change<String>,
    #[serde(deserialize_with = "present")]
    is_critical: Option<bool>,
    #[schemars(length(max = 255))]
    owner: Change<String>,
    /// At most 16 KiB.
    #[schemars(length(max = 16384))]
    description: Change<String>,
    /// At most 128 characters each.
    #[schemars(length(max = 64))]
    #[serde(deserialize_with = "present")]
    tags: Option<Vec<String>>,
}

example!(AssetUpdate, {"isCritical": true, "owner": "ada@example.com"});

impl AssetUpdate {
    fn resolve(self) -> AssetChange {
        AssetChange {
            name: self.name,
            display_name: self.display_name.0,
            category: self.category.0,
            is_critical: self.is_critical,
            owner: self.owner.0,
            description: self.description.0,
            tags: self.tags,
        }
    }
}

/// Which assets a request asks for.
pub(in crate::api) fn filter(
    category: Option<Raw<Text>>,
    asset_type: Option<&Raw<AssetTypeView>>,
    is_critical: Option<&Raw<TrueWord>>,
) -> Result<AssetsShown> {
    Ok(AssetsShown {
        category: category.map(|it| it.text),
        asset_type: param::word("assetType", asset_type)?.map(|it: AssetTypeView| it.0),
        critical_only: param::only_true("isCritical", is_critical)?,
    })
}

/// A page of a client's assets.
pub(in crate::api) async fn list(
    web: &Web,
    rows: &ClientStore,
    filter: AssetsShown,
    cut: Cut,
) -> Result<reply::PageReply<AssetView>> {
    let versions = rows.versions();
    let shown = PageContent::Assets { client: rows.id(), filter: filter.clone(), cut };
    let key = PageKey { shown, versions: [versions.inventory, versions.posture] };
    let inventory = rows.clone();
    let render = move |snapshot: &ClientSnapshot| page(&inventory, snapshot, filter, cut);
    Ok(reply::PageReply::rendered(web.cached_or_render(key, rows, render).await?))
}

pub struct Assets;

#[OpenApi(prefix_path = "/api/v1", tag = "Group::Versioned")]
impl Assets {
    /// List a client's assets
    ///
    /// Discovered and pushed assets, in the order in which they were first seen. Scope: `read:assets`.
    #[oai(path = "/clients/:clientId/assets", method = "get", operation_id = "list_assets")]
    async fn list_assets(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ReadAssets>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
        /// Only assets of this category, in upper or lower case.
        category: Query<Option<Raw<Text>>>,
        #[oai(name = "assetType")] asset_type: Query<Option<Raw<AssetTypeView>>>,
        /// Only critical assets.
        #[oai(name = "isCritical")]
        is_critical: Query<Option<Raw<TrueWord>>>,
    ) -> Result<reply::PageReply<AssetView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let filter = filter(category.0, asset_type.0.as_ref(), is_critical.0.as_ref())?;
        let (_, rows) = web.app.reach_active(&by.0, client_id.read()?)?;
        Ok(list(&web, &rows, filter, cut).await?)
    }

    /// Push an asset
    ///
    /// Answers 201 for a new asset, and 200 if this key's source already pushed that `externalId`. Scope: `write:assets`.
    #[oai(path = "/assets", method = "post", operation_id = "create_asset")]
    async fn create_asset(
        &self,
        web: Held<&Arc<Web>>,
        by: By<WriteAssets>,
        body: Body<AssetCreate>,
    ) -> Result<Made<AssetView>, Failure> {
        let new = body.read()?.resolve();
        let client = new.client;
        Ok(match web.app.push_asset(&by.0, new).await? {
            PushedAsset::Added(asset) => Made::Added(shown(&web, &by, client, asset).await?),
            PushedAsset::Known(asset) => Made::Known(shown(&web, &by, client, asset).await?),
        })
    }

    /// Change an asset
    ///
    /// Only the fields of `AssetUpdate` can change. Other fields are ignored. Scope: `write:assets`.
    #[oai(path = "/assets/:assetId", method = "put", operation_id = "update_asset")]
    async fn update_asset(
        &self,
        web: Held<&Arc<Web>>,
        by: By<WriteAssets>,
        #[oai(name = "assetId")] asset_id: Path<Raw<Id>>,
        body: Body<AssetUpdate>,
    ) -> Result<Data<AssetView>, Failure> {
        let read = || Ok(body.read()?.resolve());
        let (client, asset) = web.app.change_asset(&by.0, asset_id.read()?, read).await?;
        Ok(Data::of(&shown(&web, &by, client, asset).await?))
    }
}

/// An asset as a write answers it.
async fn shown(
    web: &Web,
    by: &By<WriteAssets>,
    client: ClientId,
    asset: Asset,
) -> Result<AssetView> {
    let (_, rows) = web.app.reach_active(&by.0, client)?;
    let subjects = asset.subjects();
    let scores = rows.read(move |snapshot| snapshot.touched_scores(&subjects)).await?;
    Ok(AssetView::of(asset, scores.into_iter().flatten().max()))
}

fn page(
    rows: &ClientStore,
    snapshot: &ClientSnapshot,
    shown: AssetsShown,
    cut: Cut,
) -> Result<Rendered> {
    let AssetsShown { category, asset_type, critical_only } = shown;
    let filter = AssetFilter { category, asset_type, critical_only };
    let Page { items, total, cut } = rows.page_assets(&filter, cut)?;
    Ok(Rendered::page(&Page { items: views(snapshot, items)?, total, cut }))
}

/// Assets with the scores of what touches them.
pub fn views(snapshot: &ClientSnapshot, assets: Vec<Asset>) -> Result<Vec<AssetView>> {
    let subjects: Vec<Vec<u64>> = assets.iter().map(Asset::subjects).collect();
    let mut scores = snapshot.touched_scores(&subjects.concat())?.into_iter();
    let both = assets.into_iter().zip(subjects);
    let view = |(asset, subjects): (Asset, Vec<u64>)| {
        let worst = scores.by_ref().take(subjects.len()).flatten().max();
        AssetView::of(asset, worst)
    };
    Ok(both.map(view).collect())
}
