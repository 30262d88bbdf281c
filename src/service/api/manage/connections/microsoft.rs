//! The app that all connections to Microsoft use.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Query;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Administer, View};
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::file::Attachment;
use crate::api::wire::param::{Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::{End, When};
use crate::api::{Group, Web};
use crate::app::connect::credential::{MicrosoftAppState, NextCertificate, missing_app};
use crate::app::connect::microsoft::{AppChange, AppTest, NewAppKey, NewMicrosoftApp};
use crate::clock::zone::Zone;
use crate::connect::kind::{FieldRule, is_id};
use crate::connect::microsoft::Cloud;
use crate::connect::microsoft::check::Found;
use crate::connect::microsoft::registration::{AppPermission, PERMISSIONS};
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
    /// A new certificate that is to be uploaded. The one before is used until a test of the app shows that Microsoft knows it.
    /// Null: there is none.
    new_certificate: Null<NewCertificateView>,
}

/// A certificate that is to be uploaded to the app registration.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "MicrosoftAppNewCertificate")]
#[serde(rename_all = "camelCase")]
pub struct NewCertificateView {
    certificate_pem: String,
    /// SHA-256 of the certificate, in hexadecimal digits.
    fingerprint: String,
    expires_at: When,
}

impl From<NextCertificate> for NewCertificateView {
    fn from(it: NextCertificate) -> Self {
        Self {
            certificate_pem: it.certificate_pem,
            fingerprint: hex::encode(it.fingerprint),
            expires_at: When(it.expires_at),
        }
    }
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
            new_certificate: it.next.map(NewCertificateView::from).into(),
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
    secret_expires_at: Option<End>,
}

example!(AppBody, {
    "appId": "00000000-1111-2222-3333-444444444444", "tenant": "msp.example",
});

fn cloud(word: Option<&str>) -> Result<Cloud> {
    let rule = "must be one of global, us_gov, us_dod, china";
    let of = |word| Cloud::parse(word).ok_or_else(|| Error::invalid_field("cloud", rule));
    word.map_or(Ok(Cloud::Global), of)
}

fn app_id(given: &str) -> Result<String> {
    let id = given.trim().to_ascii_lowercase();
    if is_id(&id) {
        return Ok(id);
    }
    let rule = "must be the application (client) id, like 00000000-1111-2222-3333-444444444444";
    Err(Error::invalid_field("appId", rule))
}

fn tenant(given: &str) -> Result<String> {
    FieldRule::Tenant.check(given).map_err(|rule| Error::invalid_field("tenant", rule))
}

/// What is to be corrected of the app. Its credential stays.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "MicrosoftAppCorrection")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct AppChangeBody {
    /// Application (client) id, as the app registration shows it.
    #[serde(default, deserialize_with = "present")]
    app_id: Option<String>,
    /// Your own tenant: its id, or a domain of it.
    #[serde(default, deserialize_with = "present")]
    tenant: Option<String>,
    /// `global`, `us_gov`, `us_dod` or `china`.
    #[serde(default, deserialize_with = "present")]
    cloud: Option<String>,
}

example!(AppChangeBody, {"tenant": "msp.example"});

impl AppChangeBody {
    fn change(self) -> Result<AppChange> {
        Ok(AppChange {
            app_id: self.app_id.as_deref().map(app_id).transpose()?,
            tenant: self.tenant.as_deref().map(tenant).transpose()?,
            cloud: self.cloud.as_deref().map(|it| cloud(Some(it))).transpose()?,
        })
    }
}

impl AppBody {
    fn new_app(self, zone: &Zone) -> Result<NewMicrosoftApp> {
        let refused = |field: &'static str, rule: &str| Err(Error::invalid_field(field, rule));
        let (app_id, tenant) = (app_id(&self.app_id)?, tenant(&self.tenant)?);
        let cloud = cloud(self.cloud.as_deref())?;
        let expires_at = self.secret_expires_at.map(|it| it.0.at(zone));
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

/// What to register with Microsoft.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "MicrosoftAppRegistration")]
#[serde(rename_all = "camelCase")]
pub struct RegistrationView {
    /// `global`, `us_gov`, `us_dod` or `china`.
    cloud: String,
    /// Where apps are registered in this cloud.
    portal_url: String,
    /// Of the platform "Mobile and desktop applications". The browser ends there after a consent; nothing listens there.
    redirect_uri: String,
    /// Application permissions of Microsoft Graph. All of them only read.
    permissions: Vec<PermissionView>,
}

/// An application permission of Microsoft Graph.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "MicrosoftAppPermission")]
pub struct PermissionView {
    name: String,
    /// What is read with it.
    purpose: String,
    /// True: you may leave it out.
    optional: bool,
}

impl RegistrationView {
    fn of(cloud: Cloud) -> Self {
        let permission = |it: &AppPermission| PermissionView {
            name: it.name.to_owned(),
            purpose: it.purpose.to_owned(),
            optional: it.is_optional,
        };
        Self {
            cloud: cloud.as_str().to_owned(),
            portal_url: cloud.portal().to_owned(),
            redirect_uri: cloud.redirect_uri(),
            permissions: PERMISSIONS.iter().map(permission).collect(),
        }
    }
}

/// Whether the app works, step by step.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "MicrosoftAppTest")]
#[serde(rename_all = "camelCase")]
pub struct AppTestView {
    /// All steps passed.
    passed: bool,
    /// `credential`, `sign_in`, `registration` and `permissions`, in this order.
    steps: Vec<AppTestStepView>,
    /// Connections that waited for the app, or of which the last run read nothing. They run now, if Microsoft let the app in.
    connections_due: u32,
}

/// One step of a test of the app.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "MicrosoftAppTestStep")]
pub struct AppTestStepView {
    name: String,
    /// `passed`, `failed`, or `not_reached` after a step that failed.
    state: String,
    /// What was found, and what to do if it failed. Null: it was not reached.
    message: Null<String>,
}

impl From<AppTest> for AppTestView {
    fn from(it: AppTest) -> Self {
        let passed = it.steps.iter().all(|it| matches!(it.1, Some(Ok(_))));
        let step = |(name, found): (&str, Option<Found>)| {
            let (state, message) = match found {
                Some(Ok(said)) => ("passed", Some(said)),
                Some(Err(why)) => ("failed", Some(why)),
                None => ("not_reached", None),
            };
            let (name, state) = (name.to_owned(), state.to_owned());
            AppTestStepView { name, state, message: message.into() }
        };
        Self {
            passed,
            steps: it.steps.into_iter().map(step).collect(),
            connections_due: u32::try_from(it.n_due).unwrap_or(u32::MAX),
        }
    }
}

/// Digits of its fingerprint in the name of the certificate's file: a browser keeps older ones.
const N_NAME_DIGITS: usize = 8;

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
        Ok(Data::of(&AppView::from(found.ok_or_else(missing_app)?)))
    }

    /// Set the Microsoft app
    ///
    /// A certificate that is made here is valid for a year: upload it to the app registration, or nothing can be read.
    /// Setting the app again replaces it. Connections and their consents stay if the app id stays. Connections that waited
    /// for an app run at once.
    #[oai(path = "/microsoft-app", method = "put", operation_id = "set_microsoft_app")]
    async fn set_microsoft_app(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<AppBody>,
    ) -> Result<Data<AppView>, Failure> {
        let new = body.read()?.new_app(&web.app.time_zone())?;
        Ok(Data::of(&AppView::from(web.app.set_microsoft_app(&by.0, new).await?)))
    }

    /// Change the Microsoft app
    ///
    /// Corrects its ids or its cloud. Its certificate or secret stays, so nothing has to be uploaded again.
    #[oai(path = "/microsoft-app", method = "patch", operation_id = "change_microsoft_app")]
    async fn change_microsoft_app(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<AppChangeBody>,
    ) -> Result<Data<AppView>, Failure> {
        let change = body.read()?.change()?;
        Ok(Data::of(&AppView::from(web.app.change_microsoft_app(&by.0, change).await?)))
    }

    /// Renew the certificate of the Microsoft app
    ///
    /// Makes one that is valid for a year, for the same app. Upload it to the app registration, then test the app: the one before
    /// is used until the test shows that Microsoft knows the new one.
    #[oai(path = "/microsoft-app/renew", method = "post", operation_id = "renew_microsoft_app")]
    async fn renew_microsoft_app(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
    ) -> Result<Data<AppView>, Failure> {
        Ok(Data::of(&AppView::from(web.app.renew_microsoft_app(&by.0).await?)))
    }

    /// Get the certificate of the Microsoft app
    ///
    /// As a file, to upload to the app registration: the new one, if there is one. The key is never shown.
    #[oai(
        path = "/microsoft-app/certificate",
        method = "get",
        operation_id = "get_microsoft_app_certificate"
    )]
    async fn get_microsoft_app_certificate(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<View>,
    ) -> Result<Attachment, Failure> {
        let found = web.app.microsoft_app().await?.ok_or_else(missing_app)?;
        let secret = || Error::not_found("the app has a client secret and no certificate");
        let next = found.next.map(|it| (it.certificate_pem, it.fingerprint));
        let used = found.app.certificate_pem.zip(found.app.fingerprint);
        let (pem, fingerprint) = next.or(used).ok_or_else(secret)?;
        let name = format!("posture-app-{}.cer", &hex::encode(fingerprint)[..N_NAME_DIGITS]);
        let (n_bytes, pem) = (pem.len() as u64, Bytes::from(pem));
        Ok(Attachment::of(&name, n_bytes, stream::iter([Ok(pem)])))
    }

    /// Get what to register with Microsoft
    ///
    /// What an app registration has to have, so that all connections to Microsoft can use it.
    #[oai(
        path = "/microsoft-app/registration",
        method = "get",
        operation_id = "get_microsoft_app_registration"
    )]
    async fn get_microsoft_app_registration(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<View>,
        /// `global`, `us_gov`, `us_dod` or `china`. Default: that of the app, or `global`.
        cloud: Query<Option<Raw<Text>>>,
    ) -> Result<Data<RegistrationView>, Failure> {
        let cloud = match cloud.0.as_ref().map(|it| it.text.as_str()) {
            Some(word) => self::cloud(Some(word))?,
            None => web.app.microsoft_app().await?.map_or(Cloud::Global, |it| it.app.cloud),
        };
        Ok(Data::of(&RegistrationView::of(cloud)))
    }

    /// Test the Microsoft app
    ///
    /// Asks Microsoft, in your own tenant, whether it lets the app in, and how it is registered. Nothing of a client is read.
    /// If the app is let in, connections that waited for it run at once. If there is a new certificate, it is tried, and takes the
    /// place of the one before once Microsoft knows it.
    #[oai(path = "/microsoft-app/test", method = "post", operation_id = "test_microsoft_app")]
    async fn test_microsoft_app(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
    ) -> Result<Data<AppTestView>, Failure> {
        Ok(Data::of(&AppTestView::from(web.app.test_microsoft_app(&by.0).await?)))
    }
}
