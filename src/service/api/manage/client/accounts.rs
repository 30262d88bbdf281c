//! Accounts of a client's people and services.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewCompliance;
use crate::api::wire::param::{
    Cursor, Id, Raw, Text, UpTo, YesOrNo, limit_up_to, position, yes_or_no,
};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Null, StretchReply};
use crate::api::wire::view::When;
use crate::api::{Group, Web};
use crate::app::report::account::{AccountCursor, AccountFilter, ReportedAccount, list_accounts};
use crate::engine::identity::LastSignIn;
use crate::error::Result;
use crate::page::{PULL_LIMIT_MAX, Stretch};

/// An account, as a source reported it last.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Account")]
#[serde(rename_all = "camelCase")]
pub struct AccountView {
    source: String,
    /// The part of the client that the source saw: a tenant or a domain.
    scope: String,
    /// The source's identifier.
    external_id: String,
    /// The name that it signs in with.
    user: String,
    display_name: Null<String>,
    /// It belongs to someone outside the organization. Null: unknown.
    guest: Null<bool>,
    /// `admin`, and roles whose names say that they give power over others. Empty: it is no administrator.
    privileges: Vec<String>,
    roles: Vec<String>,
    /// It has a second factor. Null: unknown.
    mfa: Null<bool>,
    /// It must use a second factor. Null: unknown.
    mfa_enforced: Null<bool>,
    enabled: bool,
    created_at: Null<When>,
    /// Null: never, or unknown.
    last_sign_in_at: Null<When>,
    /// The source says that it was never used.
    never_signed_in: bool,
    /// When the source read its accounts last. Null: it has not read all of them yet.
    read_at: Null<When>,
}

impl AccountView {
    fn of(it: ReportedAccount) -> Self {
        let ReportedAccount { source, scope, read_at, account } = it;
        let last_sign_in = match account.last_sign_in {
            LastSignIn::At(time) => Some(When(time)),
            LastSignIn::Never | LastSignIn::Unknown => None,
        };
        Self {
            source,
            scope,
            privileges: account.privileges().into_iter().map(str::to_owned).collect(),
            external_id: account.external_id,
            user: account.user,
            display_name: account.display_name.into(),
            guest: account.user_type.is_guest().into(),
            roles: account.roles,
            mfa: account.mfa.into(),
            mfa_enforced: account.mfa_enforced.into(),
            enabled: account.is_enabled,
            created_at: account.created_at.map(When).into(),
            last_sign_in_at: last_sign_in.into(),
            never_signed_in: account.last_sign_in == LastSignIn::Never,
            read_at: read_at.map(When).into(),
        }
    }
}

pub struct Accounts;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl Accounts {
    /// List a client's accounts
    ///
    /// As each source reported them last, source by source. An account that two sources know is there twice.
    /// Scope: `read:compliance`.
    #[oai(path = "/clients/:clientId/accounts", method = "get", operation_id = "list_accounts")]
    async fn list_accounts(
        &self,
        web: Held<&Arc<Web>>,
        by: By<ViewCompliance>,
        #[oai(name = "clientId")] client_id: Path<Raw<Id>>,
        /// Only those with this in one of their names, in upper or lower case.
        search: Query<Option<Raw<Text>>>,
        source: Query<Option<Raw<Text>>>,
        /// `true`: only administrators. `false`: only others.
        privileged: Query<Option<Raw<YesOrNo>>>,
        /// `false`: only those that have no second factor. Those of which it is not known are in neither list.
        mfa: Query<Option<Raw<YesOrNo>>>,
        enabled: Query<Option<Raw<YesOrNo>>>,
        /// `false`: only those that are no guests. Those of which it is not known are in neither list.
        guest: Query<Option<Raw<YesOrNo>>>,
        /// Continue after this row: `next` of the previous page.
        after: Query<Option<Raw<Cursor>>>,
        limit: Query<Option<Raw<UpTo<PULL_LIMIT_MAX>>>>,
    ) -> Result<StretchReply<AccountView>, Failure> {
        let filter = AccountFilter {
            search: search.0.map(|it| it.text.to_lowercase()),
            source: source.0.map(|it| it.text),
            privileged: yes_or_no("privileged", privileged.0.as_ref())?,
            mfa: yes_or_no("mfa", mfa.0.as_ref())?,
            enabled: yes_or_no("enabled", enabled.0.as_ref())?,
            guest: yes_or_no("guest", guest.0.as_ref())?,
        };
        let after = position(after.0.as_ref(), AccountCursor::read)?;
        let limit = limit_up_to(limit.0.as_ref())?;
        let (_, rows) = web.app.reach_any(&by.0, client_id.read()?)?;
        let list = rows.read(move |snapshot| {
            let found = list_accounts(snapshot, &filter, after.as_ref(), limit as usize + 1)?;
            Ok(Stretch::of(found, limit, |it| AccountCursor::of(it).text()))
        });
        Ok(StretchReply::of(&list.await?.map(AccountView::of)))
    }
}
