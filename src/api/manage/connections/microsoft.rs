//! The app that all connections to Microsoft use.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Administer, View};
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::When;
use crate::api::{Group, Web};
use crate::app::connect::credential::{MicrosoftAppState, NewAppKey, NewMicrosoftApp};
use crate::connect::kind::{FieldRule, is_id};
use crate::connect::microsoft::Cloud;
use crate::error::{Error, Result};

/// The app that you registered with Microsoft. All connections to Microsoft use it.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "MicrosoftApp")]
#[serde(rename_all = "camelCase")]
pub struct AppView {
    app_id: String,
    /// Your own tenant.
    tenant: String,
    /// `global`, `us_gov`, `us_dod` or `china`.
    cloud: String,
    /// To upload to the app registration. Null: it has a client secret.
    certificate_pem: Null<String>,
    /// SHA-256 of the certificate, in hexadecimal digits.
    fingerprint: Null<String>,
    /// Of the certificate, or of the client secret. Null: nobody said.
    expires_at: Null<When>,
    /// False: posture.key cannot open its key.
    usable: bool,
    updated_at: When,
}

impl From<MicrosoftAppState> for AppView {
    fn from(it: MicrosoftAppState) -> Self {
        Self {
            app_id: it.app.app_id,
            tenant: it.app.tenant,
            cloud: it.app.cloud.as_str().to_owned(),
            certificate_pem: it.app.certificate_pem.into(),
            fingerprint: it.app.fingerprint.map(hex::encode).into(),
            expires_at: it.expires_at.map(When).into(),
            usable: it.is_usable,
            updated_at: When(it.updated_at),
        }
    }
}

/// The app to use from now on. Without a certificate and a secret, a certificate is made.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "MicrosoftAppUpdate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct AppBody {
    /// Application (client) id, as the app registration shows it.
    app_id: String,
    /// Your own tenant: its id, or a domain of it.
    tenant: String,
    /// `global`, `us_gov`, `us_dod` or `china`. Default: `global`.
    #[serde(default, deserialize_with = "present")]
    cloud: Option<String>,
    /// A certificate of your own in PEM, with `keyPem`.
    #[serde(default, deserialize_with = "present")]
    certificate_pem: Option<String>,
    /// Its RSA key in PKCS#8 PEM.
    #[serde(default, deserialize_with = "present")]
    key_pem: Option<String>,
    /// A client secret instead of a certificate.
    #[serde(default, deserialize_with = "present")]
    client_secret: Option<String>,
    /// When the client secret expires.
    #[serde(default, deserialize_with = "present")]
    secret_expires_at: Option<When>,
}

example!(AppBody, {
    "appId": "00000000-1111-2222-3333-444444444444", "tenant": "msp.example",
});

impl AppBody {
    fn new_app(self) -> Result<NewMicrosoftApp> {
        let checked = |field: &'static str, value: &str| {
            FieldRule::Tenant.check(value).map_err(|rule| Error::invalid_field(field, rule))
        };
        let refused = |field: &'static str, rule: &str| Err(Error::invalid_field(field, rule));
        let app_id = self.app_id.trim().to_ascii_lowercase();
        if !is_id(&app_id) {
            let rule =
                "must be the application (client) id, like 00000000-1111-2222-3333-444444444444";
            return refused("appId", rule);
        }
        let tenant = checked("tenant", &self.tenant)?;
        let cloud = match self.cloud.as_deref().map(Cloud::parse) {
            None => Cloud::Global,
            Some(Some(cloud)) => cloud,
            Some(None) => return refused("cloud", "must be one of global, us_gov, us_dod, china"),
        };
        let expires_at = self.secret_expires_at.map(|it| it.0);
        let key = match (self.certificate_pem, self.key_pem, self.client_secret) {
            (None, None, None) => NewAppKey::Generated,
            (Some(certificate_pem), Some(key_pem), None) => {
                NewAppKey::Certificate { certificate_pem, key_pem }
            }
            (None, None, Some(secret)) if secret.trim().is_empty() => {
                return refused("clientSecret", "must not be blank");
            }
            (None, None, Some(secret)) => {
                NewAppKey::Secret { secret: secret.trim().to_owned(), expires_at }
            }
            (_, _, Some(_)) => {
                return refused("clientSecret", "must not be there with a certificate");
            }
            (Some(_), None, None) => return refused("keyPem", "is required with certificatePem"),
            (None, Some(_), None) => {
                return refused("certificatePem", "is required with keyPem");
            }
        };
        Ok(NewMicrosoftApp { app_id, tenant, cloud, key })
    }
}

pub struct MicrosoftAppOperations;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl MicrosoftAppOperations {
    /// Get the Microsoft app
    ///
    /// The app that all connections to Microsoft use, without its secret.
    #[oai(path = "/microsoft-app", method = "get", operation_id = "get_microsoft_app")]
    async fn get_microsoft_app(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<View>,
    ) -> Result<Data<AppView>, Failure> {
        let found = web.app.microsoft_app().await?;
        let missing = || Error::not_found("there is no Microsoft app yet");
        Ok(Data::of(&AppView::from(found.ok_or_else(missing)?)))
    }

    /// Set the Microsoft app
    ///
    /// A certificate that is made here is valid for a year: upload it to the app registration, or nothing can be read.
    /// Setting the app again replaces it. Connections and their consents stay if the app id stays.
    #[oai(path = "/microsoft-app", method = "put", operation_id = "set_microsoft_app")]
    async fn set_microsoft_app(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<AppBody>,
    ) -> Result<Data<AppView>, Failure> {
        let new = body.read()?.new_app()?;
        Ok(Data::of(&AppView::from(web.app.set_microsoft_app(&by.0, new).await?)))
    }
}
