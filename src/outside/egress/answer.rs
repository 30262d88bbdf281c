//! The outcome of a request.

use std::fmt;
use std::io::{self, Read};

use jiff::fmt::rfc2822;
use ureq::Body;
use ureq::http::{Response, header};

use crate::clock::{Clock, Time};
use crate::egress::refusal::Refusal;
use crate::text::visible;

/// The rest of a longer answer is neither read nor stored.
pub const ANSWER_BYTES_MAX: usize = 1_024;
/// A longer `Retry-After` counts as this: a week.
pub const RETRY_AFTER_S_MAX: u32 = 7 * 86_400;
/// Longer error texts that the other side caused are cut.
const CAUSE_BYTES_MAX: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    pub outcome: PostOutcome,
    /// From the start of the request to its outcome.
    pub ms: u32,
}

impl Posted {
    /// For a log: the status and the beginning of the answer, or what went wrong.
    #[must_use]
    pub fn summary(&self) -> (Option<u16>, String) {
        match &self.outcome {
            PostOutcome::Answered { status, answer, .. } => (Some(*status), answer.clone()),
            PostOutcome::Failed(failure) => (None, failure.to_string()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostOutcome {
    /// A complete head arrived, with any status.
    Answered {
        status: u16,
        /// Seconds from now; the header has seconds or a date. At most [`RETRY_AFTER_S_MAX`].
        retry_after_s: Option<u32>,
        /// The beginning of the body, as far as it arrived in time, at most [`ANSWER_BYTES_MAX`]. Hidden characters are
        /// escaped.
        answer: String,
    },
    Failed(PostFailure),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostFailure {
    /// By the policy; the text is the rule. Nothing was sent.
    Refused(String),
    /// The host name has no address, or none was found in time.
    Unresolved,
    /// The connection failed.
    Unreachable,
    TimedOut,
    /// The TLS handshake failed.
    Tls(String),
    /// The connection broke, or the answer is not valid HTTP.
    Broken(String),
    /// The body of the answer has more bytes than this.
    TooLong(u64),
}

impl PostFailure {
    /// One word, for a log.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Unresolved => "unresolved",
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed_out",
            Self::Tls(_) => "tls",
            Self::Broken(_) => "broken",
            Self::TooLong(_) => "too_long",
        }
    }
}

impl fmt::Display for PostFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => write!(f, "not sent: {why}"),
            Self::Unresolved => f.write_str("the host name could not be resolved"),
            Self::Unreachable => f.write_str("the connection failed"),
            Self::TimedOut => f.write_str("the request timed out"),
            Self::Tls(why) => write!(f, "the TLS connection failed: {why}"),
            Self::Broken(why) => {
                write!(f, "the connection broke or the answer was not valid: {why}")
            }
            Self::TooLong(bytes) => {
                write!(f, "the answer is longer than {} KiB, and is not read", bytes / 1_024)
            }
        }
    }
}

pub(super) fn read(response: Response<Body>) -> PostOutcome {
    let status = response.status().as_u16();
    let after = response.headers().get(header::RETRY_AFTER).and_then(|it| it.to_str().ok());
    let retry_after_s = after.and_then(|it| retry_after_s(it, Clock::System.now()));
    let mut bytes = Vec::new();
    // Redirects are not followed. Where one leads says what URL to enter.
    if let Some(location) = response.headers().get(header::LOCATION)
        && response.status().is_redirection()
    {
        bytes.extend([b"Location: ", location.as_bytes(), b" "].concat());
    }
    let body = response.into_body().into_reader();
    // The head is the answer. Of a body that breaks off or is slow, what arrived is stored.
    let n_bytes_max = ANSWER_BYTES_MAX.saturating_sub(bytes.len()) as u64;
    drop(body.take(n_bytes_max).read_to_end(&mut bytes));
    PostOutcome::Answered { status, retry_after_s, answer: readable(&bytes, ANSWER_BYTES_MAX) }
}

/// The whole seconds to wait that a `Retry-After` asks for, at most [`RETRY_AFTER_S_MAX`]. Some services send a decimal
/// fraction. `None` if it has neither seconds nor a date of RFC 9110.
#[must_use]
pub fn retry_after_s(value: &str, now: Time) -> Option<u32> {
    let value = value.trim();
    let (whole, fraction) = value.split_once('.').unwrap_or((value, "0"));
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let s = if is_number(whole) && is_number(fraction) {
        let is_more = fraction.bytes().any(|it| it != b'0');
        whole.parse().unwrap_or(i64::MAX).saturating_add(i64::from(is_more))
    } else {
        rfc2822::parse(value).ok()?.timestamp().as_second().saturating_sub(now.s())
    };
    u32::try_from(s.clamp(0, i64::from(RETRY_AFTER_S_MAX))).ok()
}

pub(super) fn failure(error: ureq::Error) -> PostFailure {
    let cause = |text: String| readable(text.as_bytes(), CAUSE_BYTES_MAX);
    #[expect(clippy::wildcard_enum_match_arm, reason = "not ours, and not to be exhausted")]
    match error {
        ureq::Error::Other(error) => match error.downcast::<Refusal>() {
            Ok(refusal) => PostFailure::Refused(refusal.0),
            Err(error) => PostFailure::Broken(cause(error.to_string())),
        },
        ureq::Error::HostNotFound => PostFailure::Unresolved,
        ureq::Error::BodyExceedsLimit(bytes) => PostFailure::TooLong(bytes),
        ureq::Error::Timeout(_) => PostFailure::TimedOut,
        ureq::Error::Io(error) => match error.kind() {
            io::ErrorKind::TimedOut => PostFailure::TimedOut,
            io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::PermissionDenied => PostFailure::Unreachable,
            // Only TLS interprets the bytes that are read.
            io::ErrorKind::InvalidData => PostFailure::Tls(cause(error.to_string())),
            _ => PostFailure::Broken(cause(error.to_string())),
        },
        ureq::Error::Rustls(error) => PostFailure::Tls(cause(error.to_string())),
        ureq::Error::Tls(error) => PostFailure::Tls(error.to_owned()),
        error => PostFailure::Broken(cause(error.to_string())),
    }
}

/// The beginning of foreign text, safe to show on a terminal and in a log line. The result has at most `bytes_max` bytes.
fn readable(bytes: &[u8], bytes_max: usize) -> String {
    let mut text = String::new();
    for character in String::from_utf8_lossy(bytes).chars() {
        let mut buffer = [0; 4];
        let piece = visible(character.encode_utf8(&mut buffer));
        if bytes_max < text.len() + piece.len() {
            break;
        }
        text.push_str(&piece);
    }
    text
}
