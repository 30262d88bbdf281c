//! The options of the service: all of them as they are in effect, and those that can be set in place of the configuration.

use std::io::Read;
use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::Administer;
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::file::Picture;
use crate::api::wire::param::{Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Null};
use crate::api::wire::upload::FileBody;
use crate::api::wire::view::When;
use crate::api::{Group, Web};
use crate::app::setting::mail::NewMailServer;
use crate::app::setting::{Effective, LOGO, STORED_LOGO_BYTES_MAX, Source};
use crate::error::{Error, Result};

/// An option of the service, as it is in effect.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Setting")]
#[serde(rename_all = "camelCase")]
pub struct SettingView {
    /// As posture.toml names it.
    key: String,
    /// As posture.toml would have it. Files of secrets are named; what may have a secret in it is not shown. Null: it is not
    /// set.
    value: Null<String>,
    /// `default`, `file` or `console`.
    source: String,
    /// Of `file`, the file and the line.
    place: Null<String>,
    /// Of `console`, who set it.
    set_by: Null<String>,
    /// Of `console`, when.
    set_at: Null<When>,
    /// True: it can be set with `set_setting`, in place of the file.
    settable: bool,
    /// Why it can be set in the file alone. Null: it is settable.
    reason: Null<String>,
}

impl From<Effective> for SettingView {
    fn from(it: Effective) -> Self {
        let (source, place, set) = match it.source {
            Source::Default => ("default", None, None),
            Source::File(place) => ("file", Some(place), None),
            Source::Console { by, at } => ("console", None, Some((by, at))),
        };
        let (set_by, set_at) = set.unzip();
        Self {
            key: it.key.to_owned(),
            value: it.value.into(),
            source: source.to_owned(),
            place: place.into(),
            set_by: set_by.into(),
            set_at: set_at.map(When).into(),
            settable: it.why_in_file.is_none(),
            reason: it.why_in_file.map(str::to_owned).into(),
        }
    }
}

/// A value in place of that of the configuration.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "SettingUpdate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct SettingBody {
    /// As text, also of a number.
    value: String,
}

example!(SettingBody, {"value": "Northwind Managed Services"});

/// The server that sends messages, in place of that of the configuration.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "MailServer")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct MailBody {
    /// Its host and port.
    server: String,
    /// `starttls`, often port 587, or `implicit`, often port 465. Default: `starttls`.
    #[serde(default, deserialize_with = "present")]
    tls: Option<String>,
    /// The sender: an address, or a name with the address in angle brackets. Up to 500 characters.
    from: String,
    /// What the service calls itself. Default: the host of `server.public_url`, or else the domain of the sender.
    #[serde(default, deserialize_with = "present")]
    greeting_name: Option<String>,
    /// `password`, or `microsoft_app` for Exchange Online. Default: `password`, which without a user is no login.
    #[serde(default, deserialize_with = "present")]
    login: Option<String>,
    /// Up to 254 characters. With `microsoft_app`, the mailbox to send from; default: the sender.
    #[serde(default, deserialize_with = "present")]
    user: Option<String>,
    /// Up to 1,000 characters. Default: the one that was set before for this user of this server. It is never shown.
    #[serde(default, deserialize_with = "present")]
    password: Option<String>,
}

example!(MailBody, {
    "server": "smtp.example.com:587", "from": "Northwind <reports@northwind.example>",
    "user": "reports@northwind.example", "password": "correct horse battery",
});

impl From<MailBody> for NewMailServer {
    fn from(it: MailBody) -> Self {
        let MailBody { server, tls, from, greeting_name, login, user, password } = it;
        Self { server, tls, from, greeting_name, login, user, password }
    }
}

fn shown(web: &Web, by: &By<Administer>, key: &str) -> Result<Data<SettingView>> {
    let found = web.app.list_settings(&by.0)?.into_iter().find(|it| it.key == key);
    let found = found.ok_or_else(|| Error::not_found("setting not found"))?;
    Ok(Data::of(&SettingView::from(found)))
}

pub struct SettingOperations;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl SettingOperations {
    /// List settings
    ///
    /// Every option of the service as it is in effect, where it comes from, and why some can be set in posture.toml alone.
    /// Never a secret.
    #[oai(path = "/settings", method = "get", operation_id = "list_settings")]
    async fn list_settings(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
    ) -> Result<Data<Vec<SettingView>>, Failure> {
        let all = web.app.list_settings(&by.0)?.into_iter();
        Ok(Data::of(&all.map(SettingView::from).collect::<Vec<_>>()))
    }

    /// Set a setting
    ///
    /// In place of the configuration, at once and until it is removed. `msp.logo` has an operation of its own.
    #[oai(path = "/settings/:key", method = "put", operation_id = "set_setting")]
    async fn set_setting(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        /// `msp.name`, `msp.language`, `backup.dir`, `backup.every_h` or `backup.keep`.
        key: Path<Raw<Text>>,
        body: Body<SettingBody>,
    ) -> Result<Data<SettingView>, Failure> {
        let key = &key.text;
        let value = body.read()?.value;
        if key == LOGO {
            return Err(Error::invalid_field("key", "is a file; send it to /api/logo").into());
        }
        web.app.set_setting(&by.0, key, Some(value.into_bytes())).await?;
        Ok(shown(&web, &by, key)?)
    }

    /// Remove a setting
    ///
    /// The configuration counts again, or else the default.
    #[oai(path = "/settings/:key", method = "delete", operation_id = "remove_setting")]
    async fn remove_setting(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        /// As in `set_setting`, or `msp.logo`.
        key: Path<Raw<Text>>,
    ) -> Result<Gone, Failure> {
        web.app.set_setting(&by.0, &key.text, None).await?;
        Ok(Gone)
    }

    /// Set the mail server
    ///
    /// In place of that of the configuration, at once and until it is removed. One in a private network is allowed if
    /// `connect.allow_private_networks` has it; authorities of `connect.ca_file` count for its certificate. Returns the options
    /// of mail as they are in effect. `test_mail` tries it.
    #[oai(path = "/mail", method = "put", operation_id = "set_mail")]
    async fn set_mail(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<MailBody>,
    ) -> Result<Data<Vec<SettingView>>, Failure> {
        web.app.set_mail(&by.0, body.read()?.into()).await?;
        let all = web.app.list_settings(&by.0)?.into_iter();
        let of_mail = all.filter(|it| it.key.starts_with("mail."));
        Ok(Data::of(&of_mail.map(SettingView::from).collect::<Vec<_>>()))
    }

    /// Remove the mail server
    ///
    /// That of the configuration counts again, if there is one.
    #[oai(path = "/mail", method = "delete", operation_id = "remove_mail")]
    async fn remove_mail(&self, web: Held<&Arc<Web>>, by: By<Administer>) -> Result<Gone, Failure> {
        web.app.remove_mail(&by.0).await?;
        Ok(Gone)
    }

    /// Get the logo
    ///
    /// The one that reports have, from wherever it comes.
    #[oai(path = "/logo", method = "get", operation_id = "get_logo")]
    async fn get_logo(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
    ) -> Result<Picture, Failure> {
        let logo = web.app.letterhead().logo;
        let logo = logo.ok_or_else(|| Error::not_found("there is no logo"))?;
        Ok(Picture::of(logo.media_type(), logo.bytes().to_vec()))
    }

    /// Set the logo
    ///
    /// The body is the file itself: PNG or SVG, up to 240 KiB, and up to 2,000 pixels wide and high. A PDF shows only a PNG. It
    /// counts in place of `msp.logo` of the configuration, until `remove_setting` of `msp.logo`.
    #[oai(path = "/logo", method = "put", operation_id = "set_logo")]
    async fn set_logo(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        file: FileBody,
    ) -> Result<Data<SettingView>, Failure> {
        let upload = file.receive(&web.app, &by.0, STORED_LOGO_BYTES_MAX).await?;
        let mut bytes = Vec::new();
        upload.reader()?.read_to_end(&mut bytes).map_err(Error::internal)?;
        web.app.set_setting(&by.0, LOGO, Some(bytes)).await?;
        Ok(shown(&web, &by, LOGO)?)
    }
}
