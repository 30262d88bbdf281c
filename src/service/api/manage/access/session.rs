//! Sessions: log in, log out, show the caller, change the password.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::{By, Origin};
use crate::api::edge::right::OwnSession;
use crate::api::manage::access::users::UserView;
use crate::api::wire::body::{Body, example};
use crate::api::wire::input::Password;
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Null};
use crate::api::wire::view::{CallerKind, CallerKindView, Uid, When};
use crate::api::{Group, Web};
use crate::app::App;
use crate::app::access::session::Login;
use crate::auth::caller::{Caller, Principal};
use crate::error::Error;
use crate::id::UserId;
use crate::store::global::user::User;

/// A longer body of a login is refused.
pub const LOGIN_BYTES_MAX: usize = 4 * 1024;

/// Who logs in.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "LoginRequest")]
#[serde(expecting = "a JSON object")]
pub struct LoginBody {
    username_or_email: String,
    password: String,
    /// The six digits that the app of a user with a second factor shows, or a recovery code.
    #[serde(default)]
    otp: Null<String>,
}

example!(LoginBody, {"username_or_email": "ada@example.com", "password": "ochre kettle, nine moths"});

/// A new session.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Session")]
#[serde(rename_all = "camelCase")]
pub struct LoginView {
    /// Send it as `Authorization: Bearer <token>`.
    token: String,
    /// Always `Bearer`.
    token_type: String,
    expires_at: When,
    user: UserView,
}

impl LoginView {
    pub fn of(app: &App, login: Login) -> Self {
        Self {
            token: login.token,
            token_type: "Bearer".to_owned(),
            expires_at: When(login.session.expires_at),
            user: UserView::of(app, &login.user),
        }
    }
}

/// The caller.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Me")]
#[serde(rename_all = "camelCase")]
pub struct MeView {
    kind: CallerKindView,
    /// The caller's name in the audit log and other records.
    name: String,
    /// Null for the operator.
    user: Null<UserView>,
    /// How many recovery codes were not used. Null without a second factor.
    recovery_codes_left: Null<u32>,
    /// The only clients that the caller may see. Null: all.
    client_ids: Null<Vec<Uid>>,
}

/// A new password for the user who calls.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "PasswordChange")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct PasswordBody {
    current_password: String,
    /// At least 12 characters, at most 512 bytes, and not easy to guess.
    new_password: Password,
}

example!(PasswordBody, {
    "currentPassword": "gvb7-ivw4-dmwa-239s-79v8",
    "newPassword": "ochre kettle, nine moths",
});

pub struct Sessions;

#[OpenApi(tag = "Group::Second")]
impl Sessions {
    /// Log in
    ///
    /// After five wrong passwords for a name, each further attempt must wait twice as long as the one before, up to 15
    /// minutes. At most 20 attempts per minute from one network, and 200 in total.
    ///
    /// A user with a second factor sends a code in `otp`. If only the code is missing, the answer is a 401 whose `details` name
    /// `otp`. Each code is accepted once, and a wrong one counts like a wrong password.
    #[oai(path = "/auth/login", method = "post", operation_id = "log_in")]
    async fn log_in(
        &self,
        web: Held<&Arc<Web>>,
        origin: Origin,
        body: Body<LoginBody, LOGIN_BYTES_MAX>,
    ) -> Result<Data<LoginView>, Failure> {
        let LoginBody { username_or_email, password, otp } = body.read()?;
        let Origin { address, act } = origin;
        let (name, otp) = (&username_or_email, otp.0.as_deref());
        let login = web.app.log_in(name, &password, otp, address.ip(), act).await?;
        Ok(Data::of(&LoginView::of(&web.app, login)))
    }

    /// Log out
    ///
    /// Ends all sessions of the user.
    #[oai(path = "/auth/logout", method = "post", operation_id = "log_out")]
    async fn log_out(&self, web: Held<&Arc<Web>>, by: By<OwnSession>) -> Result<Gone, Failure> {
        web.app.log_out(&by.0, user(&by.0)?.id).await?;
        Ok(Gone)
    }

    /// Get the caller
    ///
    /// Which user a token belongs to, and which clients that user may see.
    #[oai(path = "/api/me", method = "get", operation_id = "get_me")]
    async fn get_me(
        &self,
        web: Held<&Arc<Web>>,
        by: By<OwnSession>,
    ) -> Result<Data<MeView>, Failure> {
        let user = user(&by.0).ok();
        let allowed = by.0.allowed_clients();
        let ids = allowed.map(|it| it.iter().map(|id| Uid::of(id.as_bytes())).collect::<Vec<_>>());
        let recovery_codes_left = user.and_then(|it| web.app.recovery_codes_left(it.id));
        Ok(Data::of(&MeView {
            kind: CallerKindView(if user.is_some() {
                CallerKind::User
            } else {
                CallerKind::Operator
            }),
            name: by.0.name(),
            user: user.map(|it| UserView::of(&web.app, it)).into(),
            recovery_codes_left: recovery_codes_left.into(),
            client_ids: ids.into(),
        }))
    }

    /// Change your own password
    ///
    /// Ends all sessions of the user and returns a new one.
    #[oai(path = "/api/me/password", method = "put", operation_id = "change_own_password")]
    async fn change_own_password(
        &self,
        web: Held<&Arc<Web>>,
        by: By<OwnSession>,
        body: Body<PasswordBody, LOGIN_BYTES_MAX>,
    ) -> Result<Data<LoginView>, Failure> {
        let id: UserId = user(&by.0)?.id;
        let PasswordBody { current_password, new_password } = body.read()?;
        let new = new_password.0;
        let login = web.app.change_own_password(&by.0, id, &current_password, new).await?;
        Ok(Data::of(&LoginView::of(&web.app, login)))
    }
}

/// # Errors
/// `Forbidden` for the operator, who has no session.
pub fn user(caller: &Caller) -> Result<&User, Error> {
    match &caller.identity {
        Principal::User(user) => Ok(user),
        Principal::Key(_) | Principal::Operator { .. } => {
            Err(Error::forbidden("only users have a session and a password; log in as a user"))
        }
    }
}
