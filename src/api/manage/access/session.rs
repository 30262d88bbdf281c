//! Sessions: log in, log out, who am I, a new password.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::{By, Origin};
use crate::api::edge::right::OwnSession;
use crate::api::manage::access::users::UserView;
use crate::api::wire::body::Body;
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Null};
use crate::api::wire::view::{Uid, When};
use crate::api::{Group, Web};
use crate::app::access::session::Login;
use crate::auth::caller::Caller;
use crate::error::Error;
use crate::id::UserId;
use crate::store::global::user::User;

/// A login's body is shorter, whatever the password.
const LOGIN_BYTES_MAX: usize = 4 * 1024;

/// Who logs in.
#[derive(Object)]
#[oai(rename = "LoginRequest")]
pub struct LoginDoc {
    username_or_email: String,
    password: String,
}

#[derive(Deserialize)]
#[serde(expecting = "a JSON object")]
struct LoginBody {
    username_or_email: String,
    password: String,
}

/// A session that has begun.
#[derive(Object, Serialize)]
#[oai(rename = "Session", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct LoginView {
    /// Goes into `Authorization: Bearer <token>`.
    token: String,
    /// `Bearer`.
    token_type: String,
    expires_at: When,
    user: UserView,
}

impl LoginView {
    fn of(login: Login) -> Self {
        Self {
            token: login.token,
            token_type: "Bearer".to_owned(),
            expires_at: When(login.session.expires_at),
            user: UserView::of(&login.user),
        }
    }
}

/// Who calls.
#[derive(Object, Serialize)]
#[oai(rename = "Me", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct MeView {
    /// `user` or `operator`.
    kind: String,
    /// How records name the caller.
    name: String,
    /// Null for the operator, who may do everything.
    user: Null<UserView>,
    /// The only clients that the caller may see. Null: all.
    client_ids: Null<Vec<Uid>>,
}

/// A new password of one's own.
#[derive(Object)]
#[oai(rename = "PasswordChange", rename_all = "camelCase")]
pub struct PasswordDoc {
    current_password: String,
    /// 12 characters to 512 bytes, and not easy to guess.
    new_password: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
struct PasswordBody {
    current_password: String,
    new_password: String,
}

pub struct Sessions;

#[OpenApi(tag = "Group::Second")]
impl Sessions {
    /// Log in
    ///
    /// Five wrong passwords for a name are free; then each must wait twice as long as the one before, up to 15 minutes. 20
    /// tries a minute from one network, 200 in all.
    #[oai(path = "/auth/login", method = "post", operation_id = "log_in")]
    async fn log_in(
        &self,
        web: Held<&Arc<Web>>,
        origin: Origin,
        body: Body<LoginDoc, LOGIN_BYTES_MAX>,
    ) -> Result<Data<LoginView>, Failure> {
        let LoginBody { username_or_email, password } = body.read()?;
        let login = web.app.log_in(&username_or_email, &password, origin.0).await?;
        Ok(Data::of(&LoginView::of(login)))
    }

    /// Log out
    ///
    /// Ends all sessions of the user.
    #[oai(path = "/auth/logout", method = "post", operation_id = "log_out")]
    async fn log_out(&self, web: Held<&Arc<Web>>, by: By<OwnSession>) -> Result<Gone, Failure> {
        web.app.log_out(user(&by.0)?.id).await?;
        Ok(Gone)
    }

    /// Show who calls
    #[oai(path = "/api/me", method = "get", operation_id = "get_me")]
    async fn get_me(&self, by: By<OwnSession>) -> Result<Data<MeView>, Failure> {
        let user = user(&by.0).ok();
        let allowed = by.0.allowed_clients();
        let ids = allowed.map(|it| it.iter().map(|id| Uid::of(id.as_bytes())).collect::<Vec<_>>());
        Ok(Data::of(&MeView {
            kind: if user.is_some() { "user" } else { "operator" }.to_owned(),
            name: by.0.name(),
            user: user.map(UserView::of).into(),
            client_ids: ids.into(),
        }))
    }

    /// Change the own password
    ///
    /// Ends all sessions of the user and begins a new one, which the answer holds.
    #[oai(path = "/api/me/password", method = "put", operation_id = "change_own_password")]
    async fn change_own_password(
        &self,
        web: Held<&Arc<Web>>,
        origin: Origin,
        by: By<OwnSession>,
        body: Body<PasswordDoc, LOGIN_BYTES_MAX>,
    ) -> Result<Data<LoginView>, Failure> {
        let id: UserId = user(&by.0)?.id;
        let PasswordBody { current_password, new_password } = body.read()?;
        let login =
            web.app.change_own_password(id, &current_password, new_password, origin.0).await?;
        Ok(Data::of(&LoginView::of(login)))
    }
}

/// # Errors
/// `Forbidden` for the operator, who has no session.
fn user(caller: &Caller) -> Result<&User, Error> {
    match caller {
        Caller::User(user) => Ok(user),
        Caller::Key(_) | Caller::Operator { .. } => {
            Err(Error::forbidden("only a user who has logged in has a session and a password"))
        }
    }
}
