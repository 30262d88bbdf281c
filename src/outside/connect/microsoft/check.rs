//! Whether the app is registered as it has to be, asked of Microsoft in the managed service provider's own tenant.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::app::{AppKey, MicrosoftApp, token_source};
use super::registration::{GRAPH_APP, PERMISSIONS};
use crate::connect::call::{Api, Auth, Call, Cause, TokenSource, Unread};
use crate::connect::reading::StreamState;

/// What was found of one step: what is right, or what is wrong and what to do.
pub type Found = Result<String, String>;

/// What an app has that clients of any tenant can consent to.
const AUDIENCES: [&str; 2] = ["AzureADMultipleOrgs", "AzureADandPersonalMicrosoftAccount"];
const ADD: &str = "under API permissions, add it and choose Grant admin consent";

/// Whether Microsoft lets the app in.
pub async fn sign_in(api: &Api, tokens: &TokenSource, app: &MicrosoftApp) -> Found {
    let tenant = &app.tenant;
    match api.sign_in(tokens).await {
        Ok(()) => Ok(format!("Microsoft lets the app in to {tenant}")),
        Err(unread) if unread.cause == Cause::Consent => Err(format!(
            "Microsoft knows no app {} in {tenant}; check both ids, and under API permissions choose Grant admin consent for \
             your own tenant",
            app.app_id
        )),
        Err(unread) => Err(unread.reason),
    }
}

/// The tokens for the managed service provider's own tenant.
#[must_use]
pub fn own_tokens(app: &MicrosoftApp, key: &Arc<AppKey>) -> TokenSource {
    token_source(app, Arc::clone(key), &app.tenant, app.cloud.graph())
}

/// How the app is registered: for whom and with which permissions.
pub async fn registration(api: &Api, tokens: &TokenSource, app: &MicrosoftApp) -> (Found, Found) {
    let graph = app.cloud.graph();
    let auth = Auth::Bearer(tokens);
    let read = async |path: String| {
        let permission = Cow::Borrowed("Application.Read.All");
        let call = Call { permission, ..Call::get(format!("{graph}/v1.0{path}")) };
        api.call(&call, &auth).await?.json()
    };
    let select = "$select=signInAudience,publicClient,web,spa,requiredResourceAccess";
    let registered = read(format!("/applications(appId='{}')?{select}", app.app_id)).await;
    let registered = match registered {
        Ok(it) => it,
        Err(unread) => return (Err(unreadable(&unread)), Err(NOT_SEEN.to_owned())),
    };
    let roles = read(format!("/servicePrincipals(appId='{GRAPH_APP}')?$select=appRoles")).await;
    let permissions = match roles {
        Ok(roles) => permissions(&registered, &roles),
        Err(unread) => Err(unreadable(&unread)),
    };
    (audience(&registered, app), permissions)
}

const NOT_SEEN: &str = "the registration could not be read";

fn unreadable(unread: &Unread) -> String {
    if unread.state == StreamState::Denied {
        return format!(
            "the app may not read its own registration: Application.Read.All is missing; {ADD}"
        );
    }
    unread.reason.clone()
}

fn audience(registered: &Value, app: &MicrosoftApp) -> Found {
    let audience = registered["signInAudience"].as_str().unwrap_or_default();
    if !AUDIENCES.contains(&audience) {
        return Err(
            "the app is for your own tenant alone; under Authentication, Supported account types, choose Multiple Entra ID tenants"
                .to_owned(),
        );
    }
    let uri = app.cloud.redirect_uri();
    let all = ["publicClient", "web", "spa"].map(|it| &registered[it]["redirectUris"]);
    let mut all = all.into_iter().filter_map(Value::as_array).flatten();
    if !all.any(|it| it == uri.as_str()) {
        return Err(format!(
            "the redirect URI {uri} is missing; under Authentication, add it for Mobile and desktop applications"
        ));
    }
    Ok("it is for clients of any tenant, and its redirect URI is right".to_owned())
}

/// Those that the app asks clients for.
fn permissions(registered: &Value, graph: &Value) -> Found {
    let rows = |it: &Value| it.as_array().cloned().unwrap_or_default();
    let known: Vec<(String, String)> =
        rows(&graph["appRoles"]).iter().map(|it| (text(&it["id"]), text(&it["value"]))).collect();
    let of_graph = rows(&registered["requiredResourceAccess"]);
    let of_graph = of_graph.iter().filter(|it| text(&it["resourceAppId"]) == GRAPH_APP);
    let asked: Vec<String> = of_graph
        .flat_map(|it| rows(&it["resourceAccess"]))
        .filter(|it| it["type"] == "Role")
        .filter_map(|it| known.iter().find(|known| known.0 == text(&it["id"])))
        .map(|it| it.1.clone())
        .collect();
    let is_asked = |name: &str| asked.iter().any(|it| it == name);
    let missing = |is_optional| {
        let all = PERMISSIONS.iter().filter(|it| it.is_optional == is_optional);
        all.map(|it| it.name).filter(|it| !is_asked(it)).collect::<Vec<_>>().join(", ")
    };
    let (missing, left_out) = (missing(false), missing(true));
    if !missing.is_empty() {
        return Err(format!(
            "missing: {missing}; under API permissions, add them as application permissions of Microsoft Graph and choose Grant \
             admin consent"
        ));
    }
    let is_more = |it: &&String| PERMISSIONS.iter().all(|known| known.name != it.as_str());
    let (reading, more_than_reading): (Vec<&str>, Vec<&str>) =
        asked.iter().filter(is_more).map(String::as_str).partition(|it| only_reads(it));
    if !more_than_reading.is_empty() {
        let more = more_than_reading.join(", ");
        return Err(format!(
            "{more} can do more than read, and nothing needs it: clients would consent to it; under API permissions, remove it"
        ));
    }
    let more = reading.join(", ");
    let mut said = "all permissions are there".to_owned();
    if !left_out.is_empty() {
        said = format!("{said}, but for {left_out}, which is optional");
    }
    if !more.is_empty() {
        said = format!("{said}; {more} can be removed, because nothing needs it");
    }
    Ok(said)
}

/// Whether the name of a permission says so, like `User.Read.All`.
fn only_reads(permission: &str) -> bool {
    permission.split('.').skip(1).any(|it| it == "Read" || it == "ReadBasic")
}

/// Microsoft writes ids in either case.
fn text(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    if crate::connect::kind::is_id(&text.to_ascii_lowercase()) {
        return text.to_ascii_lowercase();
    }
    text.to_owned()
}
