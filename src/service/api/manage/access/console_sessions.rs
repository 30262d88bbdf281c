//! Sessions of the console of the user who calls: list. Pages of the console begin and end them.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::OwnSession;
use crate::api::manage::access::session::user;
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::Data;
use crate::api::wire::view::When;
use crate::api::{Group, Web};
use crate::auth::console_session::session_id;
use crate::store::global::console_session::ConsoleSession;

/// A session of the console.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConsoleSession")]
#[serde(rename_all = "camelCase")]
pub struct ConsoleSessionView {
    id: String,
    /// What the browser called itself. Empty: nothing.
    browser: String,
    /// The address from which the user signed in.
    address: String,
    /// How the user proved to be there, for example `password` or `passkey`.
    proved_by: String,
    created_at: When,
    last_used_at: When,
}

impl ConsoleSessionView {
    fn of(session: &ConsoleSession) -> Self {
        Self {
            id: session_id(session),
            browser: session.agent.clone(),
            address: session.address.clone(),
            proved_by: session.proof.as_str().to_owned(),
            created_at: When(session.begun_at),
            last_used_at: When(session.used_at),
        }
    }
}

pub struct ConsoleSessions;

#[OpenApi(prefix_path = "/api", tag = "Group::Second")]
impl ConsoleSessions {
    /// List your own sessions of the console
    ///
    /// Where you are signed in with a browser, the most recently used first. The console begins and ends them.
    #[oai(path = "/me/sessions", method = "get", operation_id = "list_console_sessions")]
    async fn list_console_sessions(
        &self,
        web: Held<&Arc<Web>>,
        by: By<OwnSession>,
    ) -> Result<Data<Vec<ConsoleSessionView>>, Failure> {
        let all = web.app.list_console_sessions(user(&by.0)?);
        Ok(Data::of(&all.iter().map(|it| ConsoleSessionView::of(it)).collect::<Vec<_>>()))
    }
}
