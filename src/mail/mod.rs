//! Messages by SMTP, through the one server that the configuration names.

pub mod failure;
mod letter;
mod login;
mod refusal;
mod send;
pub mod trouble;

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use crate::bounded_file;
use crate::egress::{Egress, EgressPolicy, TrustedRoots};
use crate::error::{Error, Result};

pub use lettre::message::Mailbox;

pub use letter::{Attachment, Letter, MESSAGE_BYTES_MAX};
pub use send::Sent;

/// Addresses are no longer (RFC 5321, 4.5.3.1).
pub const ADDRESS_CHARS_MAX: usize = 254;
/// From the connection to the server's last answer.
pub const TIMEOUT: Duration = Duration::from_mins(1);
/// Messages in progress. More wait.
const N_AT_ONCE_MAX: usize = 4;

/// How the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailTls {
    /// The connection turns to TLS before anything else is said. A server that does not offer it gets no message.
    StartTls,
    /// It begins with TLS.
    Implicit,
    /// Only to this host itself.
    None,
}

/// The server that sends, and in whose name.
#[derive(Clone, Debug)]
pub struct MailOptions {
    pub host: String,
    pub port: u16,
    pub tls: MailTls,
    pub from: Mailbox,
    /// What the service calls itself (EHLO).
    pub greeting_name: String,
    pub login: Option<MailLogin>,
    /// Authorities that the server's certificate may come from, besides the known ones.
    pub roots: TrustedRoots,
    pub timeout: Duration,
}

/// How to log in. `Debug` shows no user and no password.
#[derive(Clone)]
pub enum MailLogin {
    Password {
        user: String,
        password: String,
    },
    /// With a token that the Microsoft app gets, which comes with each message.
    MicrosoftApp {
        /// The mailbox to send from.
        user: String,
    },
}

impl fmt::Debug for MailLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MailLogin")
    }
}

/// Sends messages.
pub struct Mailer {
    options: MailOptions,
    egress: Egress,
}

impl Mailer {
    /// # Errors
    /// `Internal` if the system starts no threads.
    pub fn new(options: MailOptions) -> Result<Self> {
        // The server is in the configuration, so it may be in any network.
        let policy = EgressPolicy::for_mail();
        let egress = Egress::new(policy, options.timeout, N_AT_ONCE_MAX)?;
        Ok(Self { options, egress })
    }

    /// Returns true if messages are sent with a token of the Microsoft app.
    #[must_use]
    pub fn wants_token(&self) -> bool {
        matches!(self.options.login, Some(MailLogin::MicrosoftApp { .. }))
    }
}

/// Returns true for an address that messages can be sent to, such as `ada@example.com`.
#[must_use]
pub fn is_address(text: &str) -> bool {
    text.len() <= ADDRESS_CHARS_MAX
        && text.bytes().all(|it| it.is_ascii_graphic())
        && text.parse::<lettre::Address>().is_ok()
}

/// Reads a sender: an address, or a name with the address in angle brackets.
#[must_use]
pub fn sender(text: &str) -> Option<Mailbox> {
    let mailbox: Mailbox = text.parse().ok()?;
    is_address(mailbox.email.as_ref()).then_some(mailbox)
}

/// Reads a server: a host name or an address, and a port. An IPv6 address is in brackets.
#[must_use]
pub fn server(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let port = port.parse().ok().filter(|it| *it != 0)?;
    let host = match host.strip_prefix('[') {
        Some(inside) => inside.strip_suffix(']').filter(|it| it.contains(':'))?,
        None if host.contains(':') => return None,
        None => host,
    };
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-' | b'_' | b':');
    (!host.is_empty() && host.bytes().all(is_plain)).then(|| (host.to_ascii_lowercase(), port))
}

/// Reads the password from the only line of a file.
///
/// # Errors
/// `Invalid` if the file cannot be read, or has no such line.
pub fn read_password(path: &Path) -> Result<String> {
    let about =
        |what: String| Error::invalid(format!("mail.password_file: {} {what}", path.display()));
    let rule = || about("must have the password on its only line".to_owned());
    let password = bounded_file::read_line(path).map_err(|error| {
        if error.kind() == ErrorKind::FileTooLarge {
            return rule();
        }
        about(format!("cannot be read: {error}")).caused_by(error)
    })?;
    if password.is_empty() || password.contains(char::is_control) {
        return Err(rule());
    }
    Ok(password)
}
