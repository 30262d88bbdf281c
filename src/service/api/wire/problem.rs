//! Errors meet HTTP here: one table of statuses, codes and texts, and the contract's Error body.

use std::borrow::Cow;

use poem::error::ResponseError;
use poem::http::{StatusCode, header};
use poem::{IntoResponse, Response};
use poem_openapi::ApiResponse;
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, Registry};
use schemars::JsonSchema;
use serde::Serialize;

use super::kind::{
    CONFLICT, FORBIDDEN, INTERNAL, INVALID, KINDS, Kind, METHOD_NOT_ALLOWED, NOT_FOUND,
    RATE_LIMITED, TOO_LARGE, UNAUTHORIZED, UNAVAILABLE, UNSUPPORTED_MEDIA_TYPE,
};
use super::schema;
use super::view::ErrorCodeView;
use crate::error::{Chain, Code, Error};
use crate::request;

impl Kind {
    pub const fn of(code: Code) -> Self {
        match code {
            Code::Invalid => INVALID,
            Code::Unauthenticated | Code::CodeRequired => UNAUTHORIZED,
            Code::Forbidden => FORBIDDEN,
            Code::NotFound => NOT_FOUND,
            Code::Conflict => CONFLICT,
            Code::TooLarge => TOO_LARGE,
            Code::UnsupportedMediaType => UNSUPPORTED_MEDIA_TYPE,
            Code::RateLimited { .. } => RATE_LIMITED,
            Code::Internal => INTERNAL,
            Code::Unavailable => UNAVAILABLE,
        }
    }

    /// The kind with this status. A status that is not in the table is answered with the code of the nearest one.
    fn with_status(status: StatusCode) -> Self {
        let found = KINDS.into_iter().find(|it| it.status == status);
        let nearest = if status.is_server_error() { INTERNAL } else { INVALID };
        found.unwrap_or(Self { status, ..nearest })
    }

    /// The answer with the contract's Error body.
    pub fn respond(self, message: &str) -> Response {
        self.respond_with(message, None)
    }

    fn respond_with(self, message: &str, details: Option<Vec<DetailView>>) -> Response {
        let code = ErrorCodeView(self.code);
        let error = ErrorView { code, message: message.to_owned(), details };
        let body = ErrorBody { success: false, error };
        let json = serde_json::to_vec(&body).expect("an error body is JSON");
        Response::builder().status(self.status).content_type(super::reply::JSON).body(json)
    }
}

/// The answer with this status and a general message, for an error whose own text may say too much.
pub fn respond_plainly(status: StatusCode) -> Response {
    let message = if status == StatusCode::INTERNAL_SERVER_ERROR {
        internal_error()
    } else {
        status.canonical_reason().unwrap_or("request failed").to_lowercase()
    };
    Kind::with_status(status).respond(&message)
}

/// What the caller of a request that failed is told. It names the request, so that who asks can quote it and who runs the
/// service can find it.
fn internal_error() -> String {
    match request::id() {
        Some(id) => {
            format!("internal error; the log of the service says why, under request_id {}", &*id)
        }
        None => "internal error".to_owned(),
    }
}

/// The body of every answer that is not a success.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ErrorBody {
    /// Always false.
    pub success: bool,
    pub error: ErrorView,
}

/// What went wrong.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ErrorView {
    pub code: ErrorCodeView,
    /// A message for people.
    pub message: String,
    /// With `VALIDATION_ERROR`: the fields that break a rule. With `UNAUTHORIZED`: `otp` if a login lacks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Vec<DetailView>>,
}

/// A field that breaks a rule.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ErrorDetail")]
pub struct DetailView {
    /// The name of the parameter, or the path of the field in the body.
    pub field: String,
    pub message: String,
}

/// An [`Error`] that a handler returns.
#[derive(Debug)]
pub struct Failure(Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0)
    }
}

impl ResponseError for Failure {
    fn status(&self) -> StatusCode {
        Kind::of(self.0.code).status
    }

    fn as_response(&self) -> Response {
        respond(&self.0)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        respond(&self.0)
    }
}

/// The `Retry-After` of a busy service.
const UNAVAILABLE_RETRY_S: u32 = 2;

/// The answer to a failed request. An internal error is logged here, once, with its causes.
pub fn respond(error: &Error) -> Response {
    let mut message = Cow::Borrowed(error.message());
    if error.code == Code::Internal {
        message = internal_error().into();
        let id = request::id();
        tracing::error!(
            error = %Chain(error), request_id = id.as_deref(), "request failed: {}", Chain(error)
        );
    }
    let details = (!error.details.is_empty()).then(|| {
        let view = |it: &crate::error::Detail| DetailView {
            field: it.field.clone(),
            message: it.message.clone(),
        };
        error.details.iter().map(view).collect()
    });
    let mut response = Kind::of(error.code).respond_with(&message, details);
    let headers = response.headers_mut();
    match error.code {
        Code::Unauthenticated | Code::CodeRequired => {
            let schemes = header::HeaderValue::from_static("ApiKey header=\"X-API-Key\", Bearer");
            headers.insert(header::WWW_AUTHENTICATE, schemes);
        }
        Code::RateLimited { retry_s } => {
            headers.insert(header::RETRY_AFTER, retry_s.into());
        }
        Code::Unavailable => {
            headers.insert(header::RETRY_AFTER, UNAVAILABLE_RETRY_S.into());
        }
        Code::Invalid
        | Code::Forbidden
        | Code::NotFound
        | Code::Conflict
        | Code::TooLarge
        | Code::UnsupportedMediaType
        | Code::Internal => (),
    }
    response
}

/// Answers what the router and poem's own extractors refuse.
pub async fn as_problem(error: poem::Error) -> Response {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.as_response();
    }
    let status = error.status();
    if status == StatusCode::METHOD_NOT_ALLOWED {
        return METHOD_NOT_ALLOWED.respond("this path does not have this method; see Allow");
    }
    if status == StatusCode::NOT_FOUND {
        return respond(&Error::not_found("path not found"));
    }
    if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return respond(&Error::unsupported_media_type("send application/json"));
    }
    if status.is_client_error() {
        return respond(&Error::invalid(error.to_string()));
    }
    respond(&Error::internal(error.to_string()))
}

impl ApiResponse for Failure {
    fn meta() -> MetaResponses {
        let response = |kind: Kind| MetaResponse {
            description: kind.described,
            status: Some(kind.status.as_u16()),
            status_range: None,
            content: vec![MetaMediaType {
                content_type: crate::api::wire::reply::JSON,
                schema: schema::reference::<ErrorBody>(),
            }],
            headers: Vec::new(),
        };
        MetaResponses { responses: KINDS.into_iter().map(response).collect() }
    }

    fn register(registry: &mut Registry) {
        schema::register_answer::<ErrorBody>(registry);
    }
}
