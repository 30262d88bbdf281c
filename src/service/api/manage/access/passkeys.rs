//! Passkeys of the user who calls: list, remove. Pages of the console add them.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::OwnSession;
use crate::api::manage::access::session::{LOGIN_BYTES_MAX, LoginView, user};
use crate::api::wire::body::{Body, example};
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::{Uid, When};
use crate::api::{Group, Web};
use crate::id::PasskeyId;
use crate::store::global::user::passkey::Passkey;

/// A passkey.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Passkey")]
#[serde(rename_all = "camelCase")]
pub struct PasskeyView {
    id: Uid,
    /// What the user calls it.
    name: String,
    /// The domain of the console that it was made at. It works nowhere else.
    domain: String,
    created_at: When,
    last_used_at: Null<When>,
}

impl PasskeyView {
    fn of(passkey: &Passkey) -> Self {
        Self {
            id: Uid::of(passkey.id.as_bytes()),
            name: passkey.name.clone(),
            domain: passkey.domain.clone(),
            created_at: When(passkey.made_at),
            last_used_at: passkey.used_at.map(When).into(),
        }
    }
}

/// What proves that a passkey is the caller's own to remove.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "PasskeyProof")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct PasskeyProofBody {
    current_password: String,
    /// The six digits that the app of a user with a second factor shows, or a recovery code.
    #[serde(default)]
    otp: Null<String>,
}

example!(PasskeyProofBody, {"currentPassword": "ochre kettle, nine moths"});

pub struct Passkeys;

#[OpenApi(prefix_path = "/api", tag = "Group::Second")]
impl Passkeys {
    /// List your own passkeys
    ///
    /// Oldest first. The console adds them.
    #[oai(path = "/me/passkeys", method = "get", operation_id = "list_passkeys")]
    async fn list_passkeys(
        &self,
        web: Held<&Arc<Web>>,
        by: By<OwnSession>,
    ) -> Result<Data<Vec<PasskeyView>>, Failure> {
        let all = web.app.list_passkeys(user(&by.0)?.id);
        Ok(Data::of(&all.iter().map(|it| PasskeyView::of(it)).collect::<Vec<_>>()))
    }

    /// Remove a passkey of your own
    ///
    /// Ends all sessions of the user and returns a new one. A user whose role requires a second factor, and who has no
    /// authenticator app, removes passkeys at the console.
    #[oai(
        path = "/me/passkeys/:passkeyId/remove",
        method = "post",
        operation_id = "remove_passkey"
    )]
    async fn remove_passkey(
        &self,
        web: Held<&Arc<Web>>,
        by: By<OwnSession>,
        #[oai(name = "passkeyId")] passkey_id: Path<Raw<Id>>,
        body: Body<PasskeyProofBody, LOGIN_BYTES_MAX>,
    ) -> Result<Data<LoginView>, Failure> {
        let id = user(&by.0)?.id;
        let passkey = passkey_id.read::<PasskeyId>()?;
        let PasskeyProofBody { current_password, otp } = body.read()?;
        let otp = otp.0.as_deref();
        let app = &web.app;
        let login = app.remove_own_passkey(&by.0, id, passkey, &current_password, otp).await?;
        Ok(Data::of(&LoginView::of(app, login)))
    }
}
