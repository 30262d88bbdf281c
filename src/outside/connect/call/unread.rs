//! Why something was not read.

use crate::connect::reading::{Group, Reading, Stream, StreamState};
use crate::text::line;

/// Texts of others are cut to this length in reasons.
const SAID_CHARS_MAX: usize = 200;

/// The stream of a reading that could not begin.
const SIGN_IN: &str = "sign_in";

/// Why a stream was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Never `Complete`.
    pub state: StreamState,
    /// A sentence without a full stop that says what to do, if something can be done.
    pub reason: String,
    pub cause: Cause,
}

/// What else is affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// This stream alone.
    Stream,
    /// The whole connection: the credential is not accepted.
    Credential,
    /// The whole connection: the client has not consented yet, or there is no app to consent to.
    Consent,
}

impl Unread {
    #[must_use]
    pub fn failed(reason: impl Into<String>) -> Self {
        Self { state: StreamState::Failed, reason: reason.into(), cause: Cause::Stream }
    }

    /// `what`: the permission or role to grant.
    #[must_use]
    pub fn denied(what: &str) -> Self {
        let reason = format!("not allowed; grant {what}");
        Self { state: StreamState::Denied, reason, cause: Cause::Stream }
    }

    #[must_use]
    pub fn unlicensed(what: &str) -> Self {
        let reason = format!("the client has no license for this: {what}");
        Self { state: StreamState::Unlicensed, reason, cause: Cause::Stream }
    }

    #[must_use]
    pub fn credential(reason: impl Into<String>) -> Self {
        Self { state: StreamState::Failed, reason: reason.into(), cause: Cause::Credential }
    }

    #[must_use]
    pub fn consent(reason: impl Into<String>) -> Self {
        Self { state: StreamState::Failed, reason: reason.into(), cause: Cause::Consent }
    }

    /// A reading that could not begin.
    #[must_use]
    pub fn reading(self) -> Reading {
        let awaits_consent = self.cause == Cause::Consent;
        let streams = vec![self.stream(SIGN_IN)];
        let groups = vec![Group { streams, ..Group::default() }];
        Reading { groups, awaits_consent, ..Reading::default() }
    }

    #[must_use]
    pub fn stream(self, name: &str) -> Stream {
        Stream { name: name.to_owned(), state: self.state, reason: self.reason, n_rows: 0 }
    }
}

/// What another service said, safe to show, in quotation marks. Empty if it said nothing.
#[must_use]
pub fn said(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": \"{}\"", line(text, SAID_CHARS_MAX)) }
}
