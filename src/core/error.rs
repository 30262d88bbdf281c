//! The error that all modules share: a code, a public message, a private cause. It knows nothing about HTTP.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, as far as callers distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Invalid,
    Unauthenticated,
    /// The password is right, and a code of the user's second factor is needed too.
    CodeRequired,
    Forbidden,
    NotFound,
    Conflict,
    TooLarge,
    UnsupportedMediaType,
    /// The same call is allowed after this many seconds.
    RateLimited {
        retry_s: u32,
    },
    /// The database is busy, full or being reopened, or the process is stopping. A retry makes sense.
    Unavailable,
    /// A bug or corrupt data. A retry does not help.
    Internal,
}

/// One field of the input that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    pub field: String,
    pub message: String,
}

#[derive(Debug)]
pub struct Error {
    pub code: Code,
    /// Shown to the caller. It must not contain a path of the server, a secret, or a name of another client.
    message: Cow<'static, str>,
    /// Shown to the caller with [`Code::Invalid`] and [`Code::CodeRequired`].
    pub details: Vec<Detail>,
    /// Logged once, by the API. Never shown to the caller.
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), details: Vec::new(), source: None }
    }

    /// A request, file or option that breaks a rule. The message names the rule.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Invalid, message)
    }

    /// [`Error::invalid`] about one named field.
    pub fn invalid_field(field: impl Into<String>, message: impl Into<String>) -> Self {
        let detail = Detail { field: field.into(), message: message.into() };
        Self {
            message: format!("{}: {}", detail.field, detail.message).into(),
            details: vec![detail],
            ..Self::invalid("")
        }
    }

    /// The same message about one named field.
    #[must_use]
    pub fn about(self, field: &str) -> Self {
        Self::invalid_field(field, self.message.into_owned())
    }

    /// The same error with where it happened, for a person at the terminal.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message).into(), ..self }
    }

    pub fn unauthenticated(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Unauthenticated, message)
    }

    /// A login with the right password that lacks a code.
    pub fn code_required() -> Self {
        let message = "a code of the second factor is required; send it as `otp`";
        let detail = Detail { field: "otp".to_owned(), message: "is required".to_owned() };
        Self { details: vec![detail], ..Self::new(Code::CodeRequired, message) }
    }

    pub fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Forbidden, message)
    }

    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::NotFound, message)
    }

    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Conflict, message)
    }

    pub fn too_large(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::TooLarge, message)
    }

    pub fn unsupported_media_type(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::UnsupportedMediaType, message)
    }

    pub fn rate_limited(retry_s: u32) -> Self {
        let message = format!("rate limit exceeded; retry after {retry_s} s");
        Self::new(Code::RateLimited { retry_s }, message)
    }

    /// More at the same time than one account may have. The message names the limit.
    pub fn too_many(message: impl Into<Cow<'static, str>>, retry_s: u32) -> Self {
        Self::new(Code::RateLimited { retry_s }, message)
    }

    pub fn unavailable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Unavailable, message)
    }

    /// Hides the cause behind a fixed message.
    pub fn internal(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..Self::new(Code::Internal, "internal error") }
    }

    /// Adds a private cause.
    #[must_use]
    pub fn caused_by(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// The public message.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|it| it as &(dyn StdError + 'static))
    }
}

/// Shows an error with all its causes, for the log.
pub struct Chain<'a>(pub &'a (dyn StdError + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = self.0.source();
        while let Some(cause) = next {
            write!(f, ": {cause}")?;
            next = cause.source();
        }
        Ok(())
    }
}
