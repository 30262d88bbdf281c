//! A client's assets, for people.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewAssets;
use crate::api::v1::assets::{self, AssetView};
use crate::api::wire::param::{Id, Limit, Offset, Raw, Text, TrueWord, cut};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::PageReply;
use crate::api::wire::view::AssetTypeView;
use crate::api::{Group, Web};

pub struct ManagedAssets;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl ManagedAssets {
    /// List a client's assets
    ///
    /// As `GET /api/v1/clients/{clientId}/assets`, for users, and for inactive clients too. Scope: `read:assets`.
    #[oai(path = "/clients/:clientId/assets", method = "get", operation_id = "list_client_assets")]
    async fn list_client_assets(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewAssets>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        limit: Query<Option<Raw<Limit>>>,
        offset: Query<Option<Raw<Offset>>>,
        /// Only assets of this category, in upper or lower case.
        category: Query<Option<Raw<Text>>>,
        #[oai(name = "assetType")] asset_type: Query<Option<Raw<AssetTypeView>>>,
        /// Only critical assets.
        #[oai(name = "isCritical")]
        is_critical: Query<Option<Raw<TrueWord>>>,
    ) -> Result<PageReply<AssetView>, Failure> {
        let cut = cut(limit.0.as_ref(), offset.0.as_ref())?;
        let filter = assets::filter(category.0, asset_type.0.as_ref(), is_critical.0.as_ref())?;
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        Ok(assets::list(&web, &rows, filter, cut).await?)
    }
}
