//! The mail settings, tried.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::Administer;
use crate::api::wire::body::{Body, example};
use crate::api::wire::input::Email;
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::{Group, Web};

/// To whom to send a message.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "MailTest")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct MailTestBody {
    to: Email,
}

example!(MailTestBody, {"to": "ada@example.com"});

/// What the mail server said.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "MailTested")]
#[serde(rename_all = "camelCase")]
pub struct MailTestedView {
    /// The server took the message.
    delivered: bool,
    /// Why it did not: as the kinds of failures of scheduled reports. Null: it did.
    kind: Null<String>,
    /// Its answer, or what happened and what to do.
    message: String,
}

pub struct MailTests;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl MailTests {
    /// Test the mail settings
    ///
    /// Sends one message, at once and once. Mail must be configured.
    #[oai(path = "/mail/test", method = "post", operation_id = "test_mail")]
    async fn test_mail(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
        body: Body<MailTestBody>,
    ) -> Result<Data<MailTestedView>, Failure> {
        let tested = web.app.test_mail(|| Ok(body.read()?.to.0)).await?;
        Ok(Data::of(&match tested {
            Ok(message) => MailTestedView { delivered: true, kind: None.into(), message },
            Err(it) => MailTestedView {
                delivered: false,
                kind: Some(it.trouble.as_str().to_owned()).into(),
                message: it.message,
            },
        }))
    }
}
