//! Users: list, add, change.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{AddUser, Administer};
use crate::api::wire::body::{Body, Change, example, present};
use crate::api::wire::input::{ClientIds, Email, Password};
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Made, Null};
use crate::api::wire::view::{MfaStateView, RoleView, Uid, When};
use crate::api::{Group, Web};
use crate::app::App;
use crate::app::access::user::{NewPassword, NewUser, UserChange};
use crate::error::{Error, Result};
use crate::id::UserId;
use crate::store::global::user::User;
use crate::store::global::user::identity::Identity;

/// Who a user is at the identity provider.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "UserIdentity")]
#[serde(rename_all = "camelCase")]
pub struct IdentityView {
    issuer: String,
    /// What the issuer calls the user. It never calls anyone else so.
    subject: String,
}

/// A person who can log in.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "User")]
#[serde(rename_all = "camelCase")]
pub struct UserView {
    id: Uid,
    email: String,
    username: Null<String>,
    display_name: Null<String>,
    role: RoleView,
    /// The only clients that the user may see. Empty: all clients.
    client_ids: Vec<Uid>,
    enabled: bool,
    /// The service generated the password. The user must replace it before doing anything else.
    must_change_password: bool,
    mfa: MfaStateView,
    /// How many passkeys the user has. At the console, each stands in for the password and the second factor.
    passkeys: u32,
    /// Null: the user signs in with a password. Others sign in to the console at the identity provider of `[oidc]`, which also
    /// decides about the role and the second factor.
    identity: Null<IdentityView>,
    created_at: When,
    updated_at: When,
    last_login_at: Null<When>,
    /// The password that the service generated. It is shown only in this response.
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<String>,
}

impl IdentityView {
    fn of(identity: &Identity) -> Self {
        Self { issuer: identity.issuer.clone(), subject: identity.subject.clone() }
    }
}

impl UserView {
    pub fn of(app: &App, user: &User) -> Self {
        Self {
            id: Uid::of(user.id.as_bytes()),
            email: user.email.clone(),
            username: user.username.clone().into(),
            display_name: user.display_name.clone().into(),
            role: RoleView(user.role),
            client_ids: user.clients.iter().map(|it| Uid::of(it.as_bytes())).collect(),
            enabled: user.enabled,
            must_change_password: user.must_change_password,
            mfa: MfaStateView(app.mfa_state(user)),
            passkeys: u32::try_from(app.list_passkeys(user.id).len()).expect("there are few"),
            identity: app.find_identity(user).map(|it| IdentityView::of(&it)).into(),
            created_at: When(user.created_at),
            updated_at: When(user.updated_at),
            last_login_at: user.last_login_at.map(When).into(),
            password: None,
        }
    }

    fn with_password(app: &App, (user, password): (Arc<User>, Option<String>)) -> Self {
        Self { password, ..Self::of(app, &user) }
    }
}

/// A user to add.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "UserCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct NewUserBody {
    /// Unique among the emails and usernames of all users, without regard to case.
    email: Email,
    /// Unique like `email`. No whitespace and no `@`.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default)]
    username: Null<String>,
    #[schemars(length(max = 200))]
    #[serde(default)]
    display_name: Null<String>,
    role: RoleView,
    /// The only clients that the user may see. Empty or absent: all clients. An admin cannot be limited.
    #[serde(default, deserialize_with = "present")]
    client_ids: Option<ClientIds>,
    /// Must be true if present: a new user is enabled.
    #[serde(default, deserialize_with = "present")]
    enabled: Option<bool>,
    /// At least 12 characters, at most 512 bytes, and not easy to guess. Null or absent: the service generates a password,
    /// returns it in this response only, and requires a new one at the next login.
    #[serde(default)]
    password: Null<Password>,
}

example!(NewUserBody, {
    "email": "ada@example.com",
    "displayName": "Ada Lovelace",
    "role": "analyst",
});

impl NewUserBody {
    fn new_user(self) -> Result<NewUser> {
        if self.enabled == Some(false) {
            let rule = "must be true; disable the user after it was added";
            return Err(Error::invalid_field("enabled", rule));
        }
        Ok(NewUser {
            email: self.email.0,
            username: self.username.0,
            display_name: self.display_name.0,
            role: self.role.0,
            clients: self.client_ids.map(|it| it.0).unwrap_or_default(),
            password: self.password.0.map(|it| it.0),
        })
    }
}

/// What to change of a user. Absent fields stay as they are; null clears a field.
#[derive(Default, JsonSchema, Deserialize)]
#[schemars(rename = "UserChange")]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
pub struct UserBody {
    #[serde(deserialize_with = "present")]
    email: Option<Email>,
    /// No whitespace and no `@`.
    #[schemars(length(min = 1, max = 200))]
    username: Change<String>,
    #[schemars(length(max = 200))]
    display_name: Change<String>,
    #[serde(deserialize_with = "present")]
    role: Option<RoleView>,
    /// The only clients that the user may see. Empty: all clients. An admin cannot be limited.
    #[serde(deserialize_with = "present")]
    client_ids: Option<ClientIds>,
    /// Disabling a user ends the user's sessions.
    #[serde(deserialize_with = "present")]
    enabled: Option<bool>,
    /// At least 12 characters, at most 512 bytes, and not easy to guess. Null: the service generates a password, returns
    /// it in this response only, and requires a new one at the next login. Either way all sessions of the user end.
    password: Change<Password>,
}

example!(UserBody, {"enabled": false});

impl UserBody {
    fn change(self) -> UserChange {
        let wanted =
            |it: Option<Password>| it.map_or(NewPassword::Generated, |it| NewPassword::Given(it.0));
        UserChange {
            email: self.email.map(|it| it.0),
            username: self.username.0,
            display_name: self.display_name.0,
            role: self.role.map(|it| it.0),
            clients: self.client_ids.map(|it| it.0),
            enabled: self.enabled,
            password: self.password.0.map(wanted),
        }
    }
}

pub struct Users;

#[OpenApi(prefix_path = "/api", tag = "Group::Second")]
impl Users {
    /// List users
    ///
    /// Includes disabled users, oldest first.
    #[oai(path = "/users", method = "get", operation_id = "list_users")]
    async fn list_users(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
    ) -> Result<Data<Vec<UserView>>, Failure> {
        let all = web.app.access.people.list();
        Ok(Data::of(&all.iter().map(|it| UserView::of(&web.app, it)).collect::<Vec<_>>()))
    }

    /// Add a user
    ///
    /// Each caller may add at most 20 users per hour.
    #[oai(path = "/users", method = "post", operation_id = "add_user")]
    async fn add_user(
        &self,
        web: Held<&Arc<Web>>,
        by: By<AddUser>,
        body: Body<NewUserBody>,
    ) -> Result<Made<UserView>, Failure> {
        let new = body.read()?.new_user()?;
        let added = web.app.add_user(&by.0, new).await?;
        Ok(Made::Added(UserView::with_password(&web.app, added)))
    }

    /// Change a user
    ///
    /// Takes effect with the user's next request.
    #[oai(path = "/users/:userId", method = "patch", operation_id = "change_user")]
    async fn change_user(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "userId")] user_id: Path<Raw<Id>>,
        body: Body<UserBody>,
    ) -> Result<Data<UserView>, Failure> {
        let id = user_id.read::<UserId>()?;
        let change = || Ok(body.read()?.change());
        let changed = web.app.change_user(&by.0, id, change).await?;
        Ok(Data::of(&UserView::with_password(&web.app, changed)))
    }
}
