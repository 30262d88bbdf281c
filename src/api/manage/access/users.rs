//! Users: list, add, change.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::Path;
use poem_openapi::{Object, OpenApi};
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{AddUser, Administer};
use crate::api::wire::body::{Body, client_ids, nullable, present};
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Made, Null};
use crate::api::wire::view::{Uid, When};
use crate::api::{Group, Web};
use crate::app::access::user::{NewPassword, NewUser, UserChange};
use crate::error::{Error, Result};
use crate::id::UserId;
use crate::store::global::user::{Role, User};

/// Somebody who logs in.
#[derive(Object, Serialize)]
#[oai(rename = "User", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct UserView {
    id: Uid,
    email: String,
    username: Null<String>,
    display_name: Null<String>,
    /// `viewer` reads; `analyst` also works on clients; `admin` also runs the installation.
    role: String,
    /// Empty: all clients.
    client_ids: Vec<Uid>,
    enabled: bool,
    /// The password was made by the service and is to be replaced before anything else.
    must_change_password: bool,
    created_at: When,
    updated_at: When,
    last_login_at: Null<When>,
    /// The password that the service made. Shown this once.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<String>,
}

impl UserView {
    pub fn of(user: &User) -> Self {
        Self {
            id: Uid::of(user.id.as_bytes()),
            email: user.email.clone(),
            username: user.username.clone().into(),
            display_name: user.display_name.clone().into(),
            role: user.role.as_str().to_owned(),
            client_ids: user.clients.iter().map(|it| Uid::of(it.as_bytes())).collect(),
            enabled: user.enabled,
            must_change_password: user.must_change_password,
            created_at: When(user.created_at),
            updated_at: When(user.updated_at),
            last_login_at: user.last_login_at.map(When).into(),
            password: None,
        }
    }

    fn with_password((user, password): (Arc<User>, Option<String>)) -> Self {
        Self { password, ..Self::of(&user) }
    }
}

/// What to make or change of a user; absent fields stay, null clears.
#[derive(Object)]
#[oai(rename = "UserChange", rename_all = "camelCase")]
pub struct UserDoc {
    /// Required for a new user.
    email: Option<String>,
    username: Null<String>,
    display_name: Null<String>,
    /// Required for a new user: `viewer`, `analyst` or `admin`.
    role: Option<String>,
    /// The only clients that the user may see; empty: all. An admin cannot be limited.
    client_ids: Option<Vec<String>>,
    /// A disabled user's sessions end at once.
    enabled: Option<bool>,
    /// 12 characters to 512 bytes, and not easy to guess. Null, or absent for a new user: the service makes one, shows it
    /// this once, and wants it replaced at the next login.
    password: Null<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
#[derive(Default)]
struct UserBody {
    #[serde(deserialize_with = "present")]
    email: Option<String>,
    #[serde(deserialize_with = "nullable")]
    username: Option<Option<String>>,
    #[serde(deserialize_with = "nullable")]
    display_name: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    role: Option<String>,
    #[serde(deserialize_with = "present")]
    client_ids: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    enabled: Option<bool>,
    #[serde(deserialize_with = "nullable")]
    password: Option<Option<String>>,
}

impl UserBody {
    fn change(self) -> Result<UserChange> {
        let role = self.role.map(|it| it.parse::<Role>()).transpose();
        let wanted = |it: Option<String>| it.map_or(NewPassword::Generated, NewPassword::Given);
        Ok(UserChange {
            email: self.email,
            username: self.username,
            display_name: self.display_name,
            role: role.map_err(|error| error.about("role"))?,
            clients: self.client_ids.as_deref().map(client_ids).transpose()?,
            enabled: self.enabled,
            password: self.password.map(wanted),
        })
    }

    fn new_user(mut self) -> Result<NewUser> {
        let password = self.password.take().flatten();
        let change = self.change()?;
        let required = |field| move || Error::invalid_field(field, "is required");
        if change.enabled == Some(false) {
            return Err(Error::invalid_field("enabled", "a new user is enabled"));
        }
        Ok(NewUser {
            email: change.email.ok_or_else(required("email"))?,
            username: change.username.flatten(),
            display_name: change.display_name.flatten(),
            role: change.role.ok_or_else(required("role"))?,
            clients: change.clients.unwrap_or_default(),
            password,
        })
    }
}

pub struct Users;

#[OpenApi(prefix_path = "/api", tag = "Group::Second")]
impl Users {
    /// List users
    ///
    /// Disabled ones too, oldest first.
    #[oai(path = "/users", method = "get", operation_id = "list_users")]
    async fn list_users(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
    ) -> Result<Data<Vec<UserView>>, Failure> {
        let all = web.app.access.people.list();
        Ok(Data::of(&all.iter().map(|it| UserView::of(it)).collect::<Vec<_>>()))
    }

    /// Add a user
    ///
    /// At most 20 an hour for each caller.
    #[oai(path = "/users", method = "post", operation_id = "add_user")]
    async fn add_user(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<AddUser>,
        body: Body<UserDoc>,
    ) -> Result<Made<UserView>, Failure> {
        let new = body.read::<UserBody>()?.new_user()?;
        Ok(Made::Added(UserView::with_password(web.app.add_user(new).await?)))
    }

    /// Change a user
    ///
    /// Acts on the user's next request.
    #[oai(path = "/users/:userId", method = "patch", operation_id = "change_user")]
    async fn change_user(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        #[oai(name = "userId")] user_id: Path<Raw<Id>>,
        body: Body<UserDoc>,
    ) -> Result<Data<UserView>, Failure> {
        let id = user_id.read::<UserId>()?;
        web.app.get_user(id)?;
        let change = body.read::<UserBody>()?.change()?;
        Ok(Data::of(&UserView::with_password(web.app.change_user(id, change).await?)))
    }
}
