//! The table of error answers: status, code, and what the API document says of each.

use poem::http::StatusCode;

/// One kind of error answer.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub status: StatusCode,
    /// The `error.code` of the body.
    pub code: &'static str,
    /// What the OpenAPI document says about it.
    pub(super) described: &'static str,
}

const fn kind(status: StatusCode, code: &'static str, described: &'static str) -> Kind {
    Kind { status, code, described }
}

pub const INVALID: Kind = kind(
    StatusCode::BAD_REQUEST,
    "VALIDATION_ERROR",
    "A parameter or the body breaks a rule; `details` names the fields. A request that is not valid HTTP gets this status too.",
);
pub const UNAUTHORIZED: Kind = kind(
    StatusCode::UNAUTHORIZED,
    "UNAUTHORIZED",
    "The API key or token is missing, invalid or expired.",
);
pub const FORBIDDEN: Kind = kind(
    StatusCode::FORBIDDEN,
    "FORBIDDEN",
    "The caller lacks the scope or role, is not authorized for the client, or may not use the key from this network.",
);
pub const NOT_FOUND: Kind = kind(
    StatusCode::NOT_FOUND,
    "NOT_FOUND",
    "Something that the request names does not exist, for example the client, asset or framework.",
);
pub const METHOD_NOT_ALLOWED: Kind = kind(
    StatusCode::METHOD_NOT_ALLOWED,
    "METHOD_NOT_ALLOWED",
    "The path does not have this method; see `Allow`.",
);
pub const REQUEST_TIMEOUT: Kind = kind(
    StatusCode::REQUEST_TIMEOUT,
    "REQUEST_TIMEOUT",
    "The request body did not arrive in time.",
);
pub const CONFLICT: Kind = kind(
    StatusCode::CONFLICT,
    "CONFLICT",
    "The request conflicts with the current state of the resource.",
);
pub const TOO_LARGE: Kind =
    kind(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", "The request body is too large.");
pub const URI_TOO_LONG: Kind =
    kind(StatusCode::URI_TOO_LONG, "URI_TOO_LONG", "The path and query are too long.");
pub const HEADERS_TOO_LARGE: Kind = kind(
    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
    "HEADERS_TOO_LARGE",
    "The request line and the headers are too large.",
);
pub const UNSUPPORTED_MEDIA_TYPE: Kind = kind(
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    "UNSUPPORTED_MEDIA_TYPE",
    "The request body is not application/json, or is compressed.",
);
pub const RATE_LIMITED: Kind = kind(
    StatusCode::TOO_MANY_REQUESTS,
    "RATE_LIMITED",
    "A rate limit was exceeded; see `Retry-After`.",
);
pub const INTERNAL: Kind =
    kind(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", "The service failed. Its log says why.");
pub const UNAVAILABLE: Kind = kind(
    StatusCode::SERVICE_UNAVAILABLE,
    "UNAVAILABLE",
    "The service is busy, or the disk does not accept writes; see `Retry-After`.",
);

/// All kinds, by status.
pub const KINDS: [Kind; 14] = [
    INVALID,
    UNAUTHORIZED,
    FORBIDDEN,
    NOT_FOUND,
    METHOD_NOT_ALLOWED,
    REQUEST_TIMEOUT,
    CONFLICT,
    TOO_LARGE,
    URI_TOO_LONG,
    UNSUPPORTED_MEDIA_TYPE,
    RATE_LIMITED,
    HEADERS_TOO_LARGE,
    INTERNAL,
    UNAVAILABLE,
];
