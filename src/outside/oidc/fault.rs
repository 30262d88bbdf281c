//! Why nobody is signed in.

use super::algorithm::ACCEPTED;
use crate::text::line;

/// Of what a provider says about an error, so much is kept.
const SAID_CHARS_MAX: usize = 300;

/// Why a flow came to nothing.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The provider cannot be reached, or does not answer as the protocol says.
    Unreachable(String),
    /// The provider leads the person back with an error. `said`: the error and its words.
    Refused { error: String, said: String },
    /// The provider does not take the code: it was used before, or is too old.
    Code(String),
    /// The provider does not take this service for its client.
    Client(String),
    /// What came back is not for this flow, this service or this time.
    Token(TokenFault),
}

/// What is wrong with an ID token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenFault {
    Missing,
    Malformed,
    /// Signed with an algorithm that is not accepted, or not at all.
    Algorithm,
    UnknownKey,
    Signature,
    Issuer,
    Audience,
    /// It was issued to another client.
    Party,
    Subject,
    Nonce,
    Expired,
    /// It was issued in the future, or before the flow began.
    IssuedAt,
    /// The person signed in too long ago, or the token does not say when.
    AuthTime,
}

impl TokenFault {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "no ID token",
            Self::Malformed => "malformed ID token",
            Self::Algorithm => "ID token with an algorithm that is not accepted",
            Self::UnknownKey => "ID token of an unknown key",
            Self::Signature => "ID token with a wrong signature",
            Self::Issuer => "ID token of another issuer",
            Self::Audience => "ID token for another audience",
            Self::Party => "ID token issued to another client",
            Self::Subject => "ID token without a subject",
            Self::Nonce => "ID token with a wrong nonce",
            Self::Expired => "expired ID token",
            Self::IssuedAt => "ID token issued at another time",
            Self::AuthTime => "ID token of an older sign-in",
        }
    }
}

impl Fault {
    /// For the audit log.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "identity provider not reached",
            Self::Refused { .. } => "refused by the identity provider",
            Self::Code(_) => "code refused by the identity provider",
            Self::Client(_) => "this service refused by the identity provider",
            Self::Token(fault) => fault.as_str(),
        }
    }

    /// For the log: what the administrator needs to know.
    #[must_use]
    pub fn cause(&self) -> String {
        match self {
            Self::Unreachable(why) => why.clone(),
            Self::Refused { said, .. } | Self::Code(said) | Self::Client(said) => {
                format!("it says {said}")
            }
            Self::Token(TokenFault::Algorithm) => format!(
                "{}; have the provider sign for this client with {ACCEPTED}",
                TokenFault::Algorithm.as_str()
            ),
            Self::Token(fault) => fault.as_str().to_owned(),
        }
    }

    /// For the person: what is wrong and what to do. `name`: what the provider is called.
    #[must_use]
    pub fn advice(&self, name: &str) -> String {
        match self {
            Self::Unreachable(_) => format!(
                "{name} does not answer as it should, so nobody can sign in with it now. Try again in a minute. An \
                 administrator finds the reason in the log of the service; the guide “Console” says what to check."
            ),
            Self::Refused { error, .. } if error == "access_denied" => format!(
                "{name} did not let you in, or you canceled. Sign in again. If it stays so, ask the administrator of {name} to \
                 assign this application to you."
            ),
            Self::Refused { error, .. } => format!(
                "{name} did not sign you in: {}. Sign in again. If it stays so, an administrator finds more in the log of the \
                 service.",
                line(error, 60)
            ),
            Self::Code(_) => format!(
                "This answer of {name} was used already, or is too old. Sign in again, without the back button."
            ),
            Self::Client(_) => format!(
                "{name} does not accept this service as its client. An administrator must check oidc.client_id and \
                 oidc.client_secret_file of the configuration; client secrets expire."
            ),
            Self::Token(TokenFault::Expired | TokenFault::IssuedAt) => format!(
                "The answer of {name} is not of now. Sign in again. If it stays so, an administrator must set the clock of the \
                 service or of {name}: they may differ by {} seconds.",
                super::LEEWAY_S
            ),
            Self::Token(TokenFault::AuthTime) => format!(
                "{name} did not ask you to sign in again, or does not say when you did. An administrator must have it send the \
                 claim auth_time; the guide “Console” says how."
            ),
            Self::Token(TokenFault::Algorithm) => format!(
                "The answer of {name} cannot be trusted, because of how it is signed, and nobody was signed in. Sign in again. If \
                 it stays so, an administrator must have {name} sign for this service with {ACCEPTED}."
            ),
            Self::Token(_) => format!(
                "The answer of {name} cannot be trusted, and nobody was signed in. Sign in again. If it stays so, an \
                 administrator finds the reason in the log of the service."
            ),
        }
    }
}

/// An error of the provider and its words, on one line.
pub(super) fn said(error: &str, words: &str) -> String {
    line(&format!("{error}: {words}"), SAID_CHARS_MAX)
}

impl From<TokenFault> for Fault {
    fn from(fault: TokenFault) -> Self {
        Self::Token(fault)
    }
}
