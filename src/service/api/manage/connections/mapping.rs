//! Mappings that the managed service provider writes: list, put, remove.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::Administer;
use crate::api::wire::body::{Body, example};
use crate::api::wire::param::{Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Made, Null};
use crate::api::wire::view::When;
use crate::api::{Group, Web};
use crate::app::connect::mapping::MappingState;
use crate::connect::mapping::{EXAMPLE, FILE_BYTES_MAX, Mapping, Proof};

/// A longer request is refused. Quotes and line breaks of the text are escaped in it.
pub const BYTES_MAX: usize = 2 * FILE_BYTES_MAX;

/// A mapping that the managed service provider wrote.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionKindMapping")]
#[serde(rename_all = "camelCase")]
pub struct MappingView {
    /// The kind of connection that it declares.
    kind: String,
    /// Null: this release cannot read it.
    title: Null<String>,
    /// True: it was made by what the vendor wrote. No answer of a real system was seen.
    unproven: bool,
    /// The controls that it may decide.
    controls: Vec<String>,
    /// Who put it there.
    by: String,
    at: When,
    /// Why it is not in use: this release cannot read it. Empty: it is in use.
    problems: Vec<String>,
}

impl From<MappingState> for MappingView {
    fn from(MappingState { stored, read }: MappingState) -> Self {
        let (mapping, problems) = match read {
            Ok(mapping) => (Some(mapping), Vec::new()),
            Err(problems) => (None, problems),
        };
        let controls = mapping.as_ref().map(Mapping::controls).unwrap_or_default();
        Self {
            kind: stored.kind,
            unproven: mapping.as_ref().is_some_and(|it| it.proof == Proof::Specification),
            controls: controls.into_iter().map(str::to_owned).collect(),
            title: mapping.map(|it| it.title).into(),
            by: stored.by,
            at: When(stored.at),
            problems,
        }
    }
}

/// A mapping to put in place.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "ConnectionKindMappingUpdate")]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub struct MappingBody {
    /// The mapping as TOML, at most 240 KiB. The guide's page on connections describes the format.
    toml: String,
}

example!(MappingBody, {"toml": EXAMPLE});

pub struct ConnectionMappings;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl ConnectionMappings {
    /// List connection mappings
    ///
    /// Those that the managed service provider wrote, by kind. `GET /api/connection-kinds` lists the kinds that they declare
    /// beside those of this release.
    #[oai(path = "/connection-mappings", method = "get", operation_id = "list_connection_mappings")]
    async fn list_connection_mappings(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
    ) -> Result<Data<Vec<MappingView>>, Failure> {
        let all = web.app.list_connection_mappings(&by.0).await?;
        Ok(Data::of(&all.into_iter().map(MappingView::from).collect::<Vec<_>>()))
    }

    /// Put a connection mapping
    ///
    /// It is read as strictly as those of this release, its examples must hold, and everything that is wrong with it is told at
    /// once. It takes the place of the one that declared the same kind, whose connections run at once. 409 if the kind is a
    /// name of this release, if there are 32 mappings, or if connections use one that reaches another place: their credentials
    /// were entered for that.
    #[oai(
        path = "/connection-mappings/:kind",
        method = "put",
        operation_id = "put_connection_mapping"
    )]
    async fn put_connection_mapping(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        /// The kind that the mapping declares.
        kind: Path<Raw<Text>>,
        body: Body<MappingBody, BYTES_MAX>,
    ) -> Result<Made<MappingView>, Failure> {
        let toml = body.read()?.toml;
        let (state, is_new) = web.app.put_connection_mapping(&by.0, &kind.text, toml).await?;
        let view = MappingView::from(state);
        Ok(if is_new { Made::Added(view) } else { Made::Known(view) })
    }

    /// Remove a connection mapping
    ///
    /// 409 while a connection uses it.
    #[oai(
        path = "/connection-mappings/:kind",
        method = "delete",
        operation_id = "remove_connection_mapping"
    )]
    async fn remove_connection_mapping(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        /// The kind that the mapping declares.
        kind: Path<Raw<Text>>,
    ) -> Result<Gone, Failure> {
        web.app.remove_connection_mapping(&by.0, &kind.text).await?;
        Ok(Gone)
    }
}
