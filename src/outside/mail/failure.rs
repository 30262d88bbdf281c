//! Why a message could not be sent, and what to do about it.

use std::error::Error as StdError;
use std::io;

use lettre::transport::smtp::Error as SmtpError;
use rustls::CertificateError;

use super::refusal::{self, Refusal};
use super::trouble::MailTrouble;
use crate::text::line;

/// Longer answers of a server are cut.
const ANSWER_CHARS_MAX: usize = 300;

/// A failure, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailFailure {
    pub trouble: MailTrouble,
    /// What happened, and what to do.
    pub message: String,
}

impl MailFailure {
    pub fn new(trouble: MailTrouble, message: impl Into<String>) -> Self {
        Self { trouble, message: message.into() }
    }
}

/// What was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Connect,
    StartTls,
    Login,
    Sender,
    Recipient,
    Content,
}

impl Step {
    /// What a server refuses in it.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Connect | Self::StartTls => "the connection",
            Self::Login => "the login",
            Self::Sender => "the sender",
            Self::Recipient => "the recipient",
            Self::Content => "the message",
        }
    }
}

/// Says what an error during a step means. `server`: as the configuration names it.
pub(super) fn of_step(step: Step, server: &str, error: &SmtpError) -> MailFailure {
    if let Some(tls) = of_tls(error) {
        return distrusted(server, tls);
    }
    if let Some(code) = error.status() {
        return of_answer(step, server, code.into(), error);
    }
    match step {
        Step::StartTls if error.is_client() => MailFailure::new(
            MailTrouble::Tls,
            format!(
                "{server} does not offer STARTTLS; set mail.tls to \"implicit\" with the port for it, often 465"
            ),
        ),
        Step::Login if error.is_client() => MailFailure::new(
            MailTrouble::Login,
            format!(
                "{server} offers no way to log in with a password; remove mail.user if it needs none, or ask who runs it"
            ),
        ),
        Step::Connect
        | Step::StartTls
        | Step::Login
        | Step::Sender
        | Step::Recipient
        | Step::Content => unreachable(server, &reason(error)),
    }
}

/// The server did not answer at all, or not in time.
pub(super) fn unreachable(server: &str, why: &str) -> MailFailure {
    let advice = "check mail.server, the firewall, and that mail.tls is what this port expects";
    MailFailure::new(MailTrouble::Unreachable, format!("{server} cannot be used ({why}); {advice}"))
}

/// Says what an error of the login means. `advice`: what to do about one that says no more than that it failed.
pub(super) fn of_login(server: &str, error: &SmtpError, advice: &str) -> MailFailure {
    let answer = answer(error);
    if !error.is_permanent() || refusal::find(&answer).is_some() {
        return of_step(Step::Login, server, error);
    }
    let message = format!("{server} refused the login: {answer}; {advice}");
    MailFailure::new(MailTrouble::Login, message)
}

/// The code of the server's answer, and its words.
fn answer(error: &SmtpError) -> String {
    let code = error.status().map_or(String::new(), |it| format!("{it} "));
    format!("{code}{}", reason(error))
}

fn of_answer(step: Step, server: &str, code: u16, error: &SmtpError) -> MailFailure {
    let answer = answer(error);
    let later = format!("{server} asks to try again later: {answer}");
    if let Some(Refusal { trouble, advice, .. }) = refusal::find(&answer) {
        let what = if *trouble == MailTrouble::Later {
            later
        } else {
            let refused =
                if *trouble == MailTrouble::Greeting { "the greeting" } else { step.as_str() };
            format!("{server} refused {refused}: {answer}")
        };
        return MailFailure::new(*trouble, format!("{what}; {advice}"));
    }
    if (400..500).contains(&code) {
        return MailFailure::new(MailTrouble::Later, later);
    }
    let (trouble, advice) = match step {
        Step::Login => (MailTrouble::Login, "check mail.user and mail.password_file"),
        Step::Sender if code == 530 => {
            let message =
                format!("{server} wants a login: {answer}; set mail.user and mail.password_file");
            return MailFailure::new(MailTrouble::Login, message);
        }
        Step::Sender => (MailTrouble::Sender, "set mail.from to an address that it sends for"),
        Step::Recipient => (MailTrouble::Recipient, "correct or remove the address"),
        Step::Content if is_too_large(code, &answer) => {
            let message =
                format!("the message is too large for {server}: {answer}; raise its limit");
            return MailFailure::new(MailTrouble::TooLarge, message);
        }
        Step::Content => (MailTrouble::Refused, ""),
        Step::Connect | Step::StartTls => (MailTrouble::Unreachable, ""),
    };
    let advice = if advice.is_empty() { String::new() } else { format!("; {advice}") };
    let message = format!("{server} refused {}: {answer}{advice}", step.as_str());
    MailFailure::new(trouble, message)
}

/// 552 says so by itself, and other codes with what RFC 3463 adds.
fn is_too_large(code: u16, answer: &str) -> bool {
    code == 552 || answer.contains(" 5.3.4") || answer.contains(" 5.2.3")
}

/// The innermost reason of an error, in one line.
fn reason(error: &SmtpError) -> String {
    let mut innermost: &(dyn StdError + 'static) = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    line(&innermost.to_string(), ANSWER_CHARS_MAX)
}

/// An error of TLS can be inside of one of reading and writing, which hides it.
fn of_tls(error: &SmtpError) -> Option<&rustls::Error> {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        let io = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(found) = io.and_then(|it| it.downcast_ref::<rustls::Error>()) {
            return Some(found);
        }
        next = error.source();
    }
    None
}

fn distrusted(server: &str, error: &rustls::Error) -> MailFailure {
    let rustls::Error::InvalidCertificate(reason) = error else {
        let why = line(&error.to_string(), ANSWER_CHARS_MAX);
        let advice = "check that mail.tls is what this port expects";
        return MailFailure::new(
            MailTrouble::Tls,
            format!("the TLS connection to {server} failed ({why}); {advice}"),
        );
    };
    #[expect(clippy::wildcard_enum_match_arm, reason = "not ours, and not to be exhausted")]
    let why = match reason {
        CertificateError::UnknownIssuer => {
            "no trusted authority issued it; name the authority with mail.ca_file, or with connect.ca_file if the \
             server is set in the console"
                .to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "it has expired; renew it on the server".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is not for this host name; set mail.server to one of its names".to_owned()
        }
        other => line(&other.to_string(), ANSWER_CHARS_MAX),
    };
    let message = format!("the certificate of {server} is not accepted, because {why}");
    MailFailure::new(MailTrouble::Tls, message)
}
