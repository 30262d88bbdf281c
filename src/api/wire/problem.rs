//! Errors meet HTTP here: every refusal is the contract's Error body.

use poem::error::ResponseError;
use poem::http::{StatusCode, header};
use poem::{IntoResponse, Response};
use poem_openapi::registry::{MetaMediaType, MetaResponse, MetaResponses, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiResponse, Object};
use serde::Serialize;

use crate::error::{Chain, Code, Error};

/// The body of every answer that is not a success.
#[derive(Debug, Object, Serialize)]
#[oai(rename = "Error")]
pub struct ErrorBody {
    /// Always false.
    pub success: bool,
    pub error: ErrorView,
}

#[derive(Debug, Object, Serialize)]
pub struct ErrorView {
    /// `VALIDATION_ERROR`, `UNAUTHORIZED`, `FORBIDDEN`, `NOT_FOUND`, `METHOD_NOT_ALLOWED`, `REQUEST_TIMEOUT`,
    /// `CONFLICT`, `PAYLOAD_TOO_LARGE`, `URI_TOO_LONG`, `UNSUPPORTED_MEDIA_TYPE`, `RATE_LIMITED`, `INTERNAL` or
    /// `UNAVAILABLE`.
    pub code: String,
    /// For people.
    pub message: String,
    /// With `VALIDATION_ERROR`: the fields that break a rule.
    #[oai(skip_serializing_if_is_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Vec<DetailView>>,
}

#[derive(Debug, Object, Serialize)]
#[oai(rename = "ErrorDetail")]
pub struct DetailView {
    pub field: String,
    pub message: String,
}

/// An [`Error`] on its way out.
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
        status(self.0.code).0
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

const fn status(code: Code) -> (StatusCode, &'static str) {
    match code {
        Code::Invalid => (StatusCode::BAD_REQUEST, "VALIDATION_ERROR"),
        Code::Unauthenticated => (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
        Code::Forbidden => (StatusCode::FORBIDDEN, "FORBIDDEN"),
        Code::NotFound => (StatusCode::NOT_FOUND, "NOT_FOUND"),
        Code::Conflict => (StatusCode::CONFLICT, "CONFLICT"),
        Code::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE"),
        Code::UnsupportedMediaType => {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE")
        }
        Code::RateLimited { .. } => (StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED"),
        Code::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL"),
        Code::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
    }
}

/// How long a caller should wait before it tries a busy service again.
const UNAVAILABLE_RETRY_S: u32 = 2;

/// The answer to a failed request. An internal error is logged here, once, with its causes.
pub fn respond(error: &Error) -> Response {
    if error.code == Code::Internal {
        tracing::error!(error = %Chain(error), "request failed: {}", Chain(error));
    }
    let (status, code) = status(error.code);
    let details = (!error.details.is_empty()).then(|| {
        let view = |it: &crate::error::Detail| DetailView {
            field: it.field.clone(),
            message: it.message.clone(),
        };
        error.details.iter().map(view).collect()
    });
    let mut response = body(status, code, error.message(), details);
    let headers = response.headers_mut();
    match error.code {
        Code::Unauthenticated => {
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

fn body(
    status: StatusCode,
    code: &str,
    message: &str,
    details: Option<Vec<DetailView>>,
) -> Response {
    let error = ErrorView { code: code.to_owned(), message: message.to_owned(), details };
    let body = ErrorBody { success: false, error };
    let json = serde_json::to_vec(&body).expect("an error body serialises");
    Response::builder().status(status).content_type(crate::api::wire::reply::JSON).body(json)
}

/// What the router and poem's own extractors refuse, in our shape.
pub async fn as_problem(error: poem::Error) -> Response {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.as_response();
    }
    let status = error.status();
    if status == StatusCode::METHOD_NOT_ALLOWED {
        return body(status, "METHOD_NOT_ALLOWED", "this path does not have that method", None);
    }
    if status == StatusCode::NOT_FOUND {
        return respond(&Error::not_found("no such path"));
    }
    if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return respond(&Error::unsupported_media_type("send application/json"));
    }
    if status.is_client_error() {
        return respond(&Error::invalid(error.to_string()));
    }
    respond(&Error::internal(error.to_string()))
}

const DOCUMENTED: [(u16, &str); 11] = [
    (400, "A parameter or the body breaks a rule; `details` names the fields."),
    (401, "API key missing or invalid."),
    (
        403,
        "The key lacks the scope, is not authorized for the client, or is used from another network.",
    ),
    (404, "Client, asset or framework not found."),
    (405, "The path does not have this method; see `Allow`."),
    (409, "What was asked for does not go with the state that things are in."),
    (413, "The body is too large."),
    (415, "The body is not application/json."),
    (429, "A rate limit was exceeded; see `Retry-After`."),
    (500, "A fault of the service."),
    (503, "The service is busy, or its disk does not take writes; see `Retry-After`."),
];

impl ApiResponse for Failure {
    fn meta() -> MetaResponses {
        let response = |(status, description): (u16, &'static str)| MetaResponse {
            description,
            status: Some(status),
            status_range: None,
            content: vec![MetaMediaType {
                content_type: crate::api::wire::reply::JSON,
                schema: ErrorBody::schema_ref(),
            }],
            headers: Vec::new(),
        };
        MetaResponses { responses: DOCUMENTED.into_iter().map(response).collect() }
    }

    fn register(registry: &mut Registry) {
        ErrorBody::register(registry);
    }
}
