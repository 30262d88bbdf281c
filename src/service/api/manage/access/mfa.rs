//! Second factors: set up, remove, replace the recovery codes, reset.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Administer, OwnSession};
use crate::api::manage::access::session::{LOGIN_BYTES_MAX, LoginView, user};
use crate::api::wire::body::{Body, example};
use crate::api::wire::param::{Id, Raw};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone};
use crate::api::{Group, Web};
use crate::app::App;
use crate::app::access::mfa::NewRecoveryCodes;
use crate::id::UserId;

/// What starts to set up a second factor.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "MfaEnroll")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct EnrollBody {
    current_password: String,
}

example!(EnrollBody, {"currentPassword": "ochre kettle, nine moths"});

/// The first code of a second factor.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "MfaConfirm")]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub struct ConfirmBody {
    /// The six digits that the app shows.
    otp: String,
}

example!(ConfirmBody, {"otp": "492039"});

/// What proves that a second factor is the caller's own.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "MfaProof")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct ProofBody {
    current_password: String,
    /// The six digits that the app shows, or a recovery code.
    otp: String,
}

example!(ProofBody, {"currentPassword": "ochre kettle, nine moths", "otp": "492039"});

/// A second factor to confirm. It is shown only in this response.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "MfaEnrollment")]
#[serde(rename_all = "camelCase")]
pub struct EnrollmentView {
    /// In base32, to type into an app.
    secret: String,
    /// The same with what else apps show, for a QR code: `otpauth://totp/...`.
    url: String,
}

/// New recovery codes, and a new session.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "RecoveryCodes")]
#[serde(rename_all = "camelCase")]
pub struct RecoveryCodesView {
    /// Each takes the place of a code once. They are shown only in this response.
    recovery_codes: Vec<String>,
    session: LoginView,
}

impl RecoveryCodesView {
    fn of(app: &App, NewRecoveryCodes { codes, login }: NewRecoveryCodes) -> Self {
        Self { recovery_codes: codes, session: LoginView::of(app, login) }
    }
}

pub struct SecondFactors;

#[OpenApi(prefix_path = "/api", tag = "Group::Second")]
impl SecondFactors {
    /// Set up a second factor
    ///
    /// Returns a secret for an authenticator app (TOTP, RFC 6238: SHA-1, 6 digits, 30 s). Logins need a code only after
    /// `POST /api/me/mfa/confirm` got the first one. Until then, another call makes another secret.
    #[oai(path = "/me/mfa", method = "post", operation_id = "enroll_mfa")]
    async fn enroll_mfa(
        &self,
        web: Held<&Arc<Web>>,
        by: By<OwnSession>,
        body: Body<EnrollBody, LOGIN_BYTES_MAX>,
    ) -> Result<Data<EnrollmentView>, Failure> {
        let id = user(&by.0)?.id;
        let EnrollBody { current_password } = body.read()?;
        let made = web.app.enroll_mfa(&by.0, id, &current_password).await?;
        Ok(Data::of(&EnrollmentView { secret: made.secret, url: made.url }))
    }

    /// Confirm a second factor
    ///
    /// Takes the first code of the app. From now on, logins need a code. Ends all sessions of the user and returns ten recovery
    /// codes and a new session.
    #[oai(path = "/me/mfa/confirm", method = "post", operation_id = "confirm_mfa")]
    async fn confirm_mfa(
        &self,
        web: Held<&Arc<Web>>,
        by: By<OwnSession>,
        body: Body<ConfirmBody, LOGIN_BYTES_MAX>,
    ) -> Result<Data<RecoveryCodesView>, Failure> {
        let id = user(&by.0)?.id;
        let ConfirmBody { otp } = body.read()?;
        let made = web.app.confirm_mfa(&by.0, id, &otp).await?;
        Ok(Data::of(&RecoveryCodesView::of(&web.app, made)))
    }

    /// Replace the recovery codes
    ///
    /// The earlier ones no longer work. Ends all sessions of the user and returns a new one.
    #[oai(
        path = "/me/mfa/recovery-codes",
        method = "post",
        operation_id = "replace_recovery_codes"
    )]
    async fn replace_recovery_codes(
        &self,
        web: Held<&Arc<Web>>,
        by: By<OwnSession>,
        body: Body<ProofBody, LOGIN_BYTES_MAX>,
    ) -> Result<Data<RecoveryCodesView>, Failure> {
        let id = user(&by.0)?.id;
        let ProofBody { current_password, otp } = body.read()?;
        let made = web.app.replace_recovery_codes(&by.0, id, &current_password, &otp).await?;
        Ok(Data::of(&RecoveryCodesView::of(&web.app, made)))
    }

    /// Remove your own second factor
    ///
    /// Ends all sessions of the user and returns a new one. A user whose role requires a second factor must set up another one
    /// before anything else.
    #[oai(path = "/me/mfa/remove", method = "post", operation_id = "remove_mfa")]
    async fn remove_mfa(
        &self,
        web: Held<&Arc<Web>>,
        by: By<OwnSession>,
        body: Body<ProofBody, LOGIN_BYTES_MAX>,
    ) -> Result<Data<LoginView>, Failure> {
        let id = user(&by.0)?.id;
        let ProofBody { current_password, otp } = body.read()?;
        let login = web.app.remove_mfa(&by.0, id, &current_password, &otp).await?;
        Ok(Data::of(&LoginView::of(&web.app, login)))
    }

    /// Reset the second factor of a user
    ///
    /// Removes the factor and the passkeys of a user who lost them, and ends all sessions of that user. Does nothing if there are
    /// none. Nobody can reset their own.
    #[oai(path = "/users/:userId/mfa", method = "delete", operation_id = "reset_mfa")]
    async fn reset_mfa(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "userId")] user_id: Path<Raw<Id>>,
    ) -> Result<Gone, Failure> {
        web.app.reset_mfa(&by.0, user_id.read::<UserId>()?).await?;
        Ok(Gone)
    }
}
