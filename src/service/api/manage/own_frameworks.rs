//! Frameworks that the managed service provider writes: list, show, add, remove.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Administer, View};
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::param::{Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Made};
use crate::api::wire::view::When;
use crate::api::{Group, Web};
use crate::app::framework::{NewOwnFramework, OWN_BYTES_MAX, OwnFrameworkState};
use crate::engine::framework::{FrameworkId, OwnFrameworkId};
use crate::error::{Error, Result};

/// A longer request is refused. Quotes and line breaks of the text are escaped in it.
pub const BYTES_MAX: usize = 2 * OWN_BYTES_MAX;

/// A framework that the managed service provider wrote.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "OwnFramework")]
#[serde(rename_all = "camelCase")]
pub struct OwnFrameworkView {
    framework_id: FrameworkName,
    /// Who added it.
    by: String,
    at: When,
    /// Why it is not in use: this release cannot read it, because a control that it names is gone, for example. Empty: it
    /// is in use.
    problems: Vec<String>,
}

/// A framework that the managed service provider wrote, with its text.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "OwnFrameworkDetail")]
#[serde(rename_all = "camelCase")]
pub struct OwnFrameworkDetailView {
    framework_id: FrameworkName,
    /// Who added it.
    by: String,
    at: When,
    /// Why it is not in use. Empty: it is in use.
    problems: Vec<String>,
    /// The text as it was added.
    toml: String,
}

/// A framework to add.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "OwnFrameworkCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct NewOwnFrameworkBody {
    /// The framework as TOML, at most 240 KiB. The guide's page on assessment describes the format.
    toml: String,
    /// Puts it in the place of the framework with its id, if there is one. Default: false.
    #[serde(default, deserialize_with = "present")]
    replace: Option<bool>,
    /// Decisions about a requirement count although its text is another than the one that they were made about. Without
    /// it, 409 if there are any. Default: false.
    #[serde(default, deserialize_with = "present")]
    keep_decisions: Option<bool>,
}

example!(NewOwnFrameworkBody, {
    "toml": "id = \"BASELINE\"\nname = \"Our baseline\"\n\n[[row]]\nreference = \"1\"\ntitle = \"Everyone signs in with \
             a second factor\"\n\n[[row.controls]]\ncode = \"ID-02\"\nrole = \"decides\"\n",
});

impl OwnFrameworkView {
    fn of(it: OwnFrameworkState) -> Self {
        Self {
            framework_id: FrameworkName(FrameworkId::Own(it.stored.id)),
            by: it.stored.by,
            at: When(it.stored.at),
            problems: it.problems,
        }
    }
}

impl OwnFrameworkDetailView {
    fn of(it: OwnFrameworkState) -> Self {
        Self {
            framework_id: FrameworkName(FrameworkId::Own(it.stored.id)),
            by: it.stored.by,
            at: When(it.stored.at),
            problems: it.problems,
            toml: it.stored.toml,
        }
    }
}

fn own_id(text: &str) -> Result<OwnFrameworkId> {
    text.parse().map_err(|_| Error::not_found("own framework not found"))
}

pub struct OwnFrameworks;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl OwnFrameworks {
    /// List own frameworks
    ///
    /// Those that the managed service provider wrote, by id. `GET /api/frameworks` lists them too while they are in use.
    #[oai(path = "/own-frameworks", method = "get", operation_id = "list_own_frameworks")]
    async fn list_own_frameworks(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<View>,
    ) -> Result<Data<Vec<OwnFrameworkView>>, Failure> {
        let all = web.app.list_own_frameworks().await?;
        Ok(Data::of(&all.into_iter().map(OwnFrameworkView::of).collect::<Vec<_>>()))
    }

    /// Get an own framework
    ///
    /// Its text as it was added. `GET /api/frameworks/{frameworkId}` shows its requirements.
    #[oai(
        path = "/own-frameworks/:frameworkId",
        method = "get",
        operation_id = "get_own_framework"
    )]
    async fn get_own_framework(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<View>,
        /// A framework identifier, in upper or lower case.
        #[oai(name = "frameworkId")]
        framework_id: Path<Raw<Text>>,
    ) -> Result<Data<OwnFrameworkDetailView>, Failure> {
        let id = own_id(&framework_id.text)?;
        Ok(Data::of(&OwnFrameworkDetailView::of(web.app.get_own_framework(id).await?)))
    }

    /// Add an own framework
    ///
    /// It is read as strictly as ours, and everything that is wrong with it is told at once. Every client is assessed with
    /// it within seconds. It is announced only for clients whose `settings.frameworks` names it.
    #[oai(path = "/own-frameworks", method = "post", operation_id = "add_own_framework")]
    async fn add_own_framework(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<NewOwnFrameworkBody, BYTES_MAX>,
    ) -> Result<Made<OwnFrameworkView>, Failure> {
        let NewOwnFrameworkBody { toml, replace, keep_decisions } = body.read()?;
        let new = NewOwnFramework {
            toml,
            replace: replace.unwrap_or(false),
            keep_decisions: keep_decisions.unwrap_or(false),
        };
        let (id, is_new) = web.app.add_own_framework(&by.0, new).await?;
        let view = OwnFrameworkView::of(web.app.get_own_framework(id).await?);
        Ok(if is_new { Made::Added(view) } else { Made::Known(view) })
    }

    /// Remove an own framework
    ///
    /// With its results. 409 while a client's `settings.frameworks`, a webhook or an alert rule names it. Decisions about
    /// its requirements are kept. They count again if it returns with `keepDecisions`.
    #[oai(
        path = "/own-frameworks/:frameworkId",
        method = "delete",
        operation_id = "remove_own_framework"
    )]
    async fn remove_own_framework(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        /// A framework identifier, in upper or lower case.
        #[oai(name = "frameworkId")]
        framework_id: Path<Raw<Text>>,
    ) -> Result<Gone, Failure> {
        web.app.remove_own_framework(&by.0, own_id(&framework_id.text)?).await?;
        Ok(Gone)
    }
}
