//! The organizations of a tool that sees many clients.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Administer, View};
use crate::api::wire::body::{Body, example, nullable, present};
use crate::api::wire::input::Ref;
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::{Uid, When};
use crate::api::{Group, Web};
use crate::app::connect::org::{MappedTo, N_MAPPINGS_MAX, OrgMapping};
use crate::error::{Error, Result};
use crate::id::{ClientId, ConnectionId};
use crate::store::global::connection::org::ConnectionOrg;

/// An organization as the tool knows it.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionOrganization")]
#[serde(rename_all = "camelCase")]
pub struct OrgView {
    /// The tool's id of it.
    external_id: String,
    name: String,
    /// The client that it is. Null: nobody said, and nothing of it is stored.
    client_id: Null<Uid>,
    /// Somebody said that it is no client.
    ignored: bool,
    devices: u32,
    last_seen_at: When,
}

impl From<ConnectionOrg> for OrgView {
    fn from(it: ConnectionOrg) -> Self {
        Self {
            external_id: it.external_id,
            name: it.name,
            client_id: it.client.map(|it| Uid::of(it.as_bytes())).into(),
            ignored: it.is_ignored,
            devices: it.n_devices,
            last_seen_at: When(it.seen_at),
        }
    }
}

/// Which clients organizations are.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "ConnectionMap")]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub struct MapBody {
    #[schemars(length(min = 1, max = 1000))]
    organizations: Vec<MappingBody>,
}

/// Which client an organization is.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "ConnectionMapping")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct MappingBody {
    external_id: String,
    /// Null: none.
    #[serde(deserialize_with = "nullable")]
    client_id: Null<Ref<ClientId>>,
    /// True: it is no client, and is not shown among those that are to be mapped.
    #[serde(default, deserialize_with = "present")]
    ignored: Option<bool>,
}

example!(MapBody, {
    "organizations": [{"externalId": "7", "clientId": "018f6f2e-7a53-7cc0-9b53-1f2a3c4d5e6f"}],
});

impl MapBody {
    fn mappings(self) -> Result<Vec<OrgMapping>> {
        if self.organizations.is_empty() || N_MAPPINGS_MAX < self.organizations.len() {
            let rule = format!("must have 1 to {N_MAPPINGS_MAX} members");
            return Err(Error::invalid_field("organizations", rule));
        }
        let mapping = |(index, it): (usize, MappingBody)| {
            let to = match (it.client_id.0, it.ignored.unwrap_or(false)) {
                (Some(client), false) => MappedTo::Client(client.0),
                (None, true) => MappedTo::Ignored,
                (None, false) => MappedTo::Nothing,
                (Some(_), true) => {
                    let field = format!("organizations[{index}].ignored");
                    return Err(Error::invalid_field(field, "must not be true with a clientId"));
                }
            };
            Ok(OrgMapping { external_id: it.external_id, to })
        };
        self.organizations.into_iter().enumerate().map(mapping).collect()
    }
}

pub struct ConnectionOrganizations;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl ConnectionOrganizations {
    /// List the organizations of a connection
    ///
    /// What a tool that sees many clients listed in its last runs. Nothing is stored of those that are not mapped.
    #[oai(
        path = "/connections/:connectionId/organizations",
        method = "get",
        operation_id = "list_connection_organizations"
    )]
    async fn list_connection_organizations(
        &self,
        web: Held<&Arc<Web>>,
        by: By<View>,
        #[oai(name = "connectionId")] connection_id: Path<Raw<Id>>,
    ) -> Result<Data<Vec<OrgView>>, Failure> {
        let orgs = web.app.list_connection_orgs(&by.0, connection_id.read()?).await?;
        Ok(Data::of(&orgs.into_iter().map(OrgView::from).collect::<Vec<_>>()))
    }

    /// Map organizations to clients
    ///
    /// Organizations that are not named stay as they are. The connection runs at once. What an organization brought to a
    /// client that it is not any more is retracted.
    #[oai(
        path = "/connections/:connectionId/organizations",
        method = "patch",
        operation_id = "map_connection_organizations"
    )]
    async fn map_connection_organizations(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "connectionId")] connection_id: Path<Raw<Id>>,
        body: Body<MapBody>,
    ) -> Result<Data<Vec<OrgView>>, Failure> {
        let id = connection_id.read::<ConnectionId>()?;
        let mappings = || body.read()?.mappings();
        let orgs = web.app.map_connection_orgs(&by.0, id, mappings).await?;
        Ok(Data::of(&orgs.into_iter().map(OrgView::from).collect::<Vec<_>>()))
    }
}
