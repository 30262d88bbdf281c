//! Messages by SMTP, through one server.

pub mod failure;
mod letter;
mod login;
mod refusal;
mod send;
pub mod trouble;

use std::fmt;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::ops::RangeInclusive;
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
/// Names of hosts are no longer, and neither are their parts.
const DOMAIN_CHARS_MAX: usize = 253;
const LABEL_CHARS_MAX: usize = 63;
/// How the encryption of a connection is called.
pub const TLS: [(&str, MailTls); 3] =
    [("starttls", MailTls::StartTls), ("implicit", MailTls::Implicit), ("none", MailTls::None)];
/// How a login is called. `true`: with a token of the Microsoft app.
pub const LOGINS: [(&str, bool); 2] = [(PASSWORD_LOGIN, false), ("microsoft_app", true)];
pub const PASSWORD_LOGIN: &str = "password";
/// Where tokens of Exchange Online are sent, and nowhere else: worldwide, of governments, and of China.
pub const EXCHANGE_HOSTS: [&str; 4] =
    ["smtp.office365.com", "outlook.office365.com", "smtp.office365.us", "smtp.partner.outlook.cn"];
pub const USER_CHARS: RangeInclusive<usize> = 1..=254;
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
    /// `policy`: where the server may be.
    ///
    /// # Errors
    /// `Internal` if the system starts no threads.
    pub fn new(options: MailOptions, policy: EgressPolicy) -> Result<Self> {
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

/// Returns true for a name in lower case with at least two parts.
#[must_use]
pub fn is_domain(name: &str) -> bool {
    let is_label = |it: &str| {
        let fits = |it: u8| it.is_ascii_alphanumeric() || it == b'-';
        (1..=LABEL_CHARS_MAX).contains(&it.len())
            && it.bytes().all(fits)
            && !it.starts_with('-')
            && !it.ends_with('-')
    };
    let is_name = name.len() <= DOMAIN_CHARS_MAX && name.split('.').all(is_label);
    is_name && name.contains('.') && name.parse::<IpAddr>().is_err()
}

/// What the service calls itself if nobody says: the host of its public address, or else the domain of the sender.
#[must_use]
pub fn greeting_name(public_url: Option<&str>, from: &Mailbox) -> String {
    public_url.and_then(host_name).unwrap_or_else(|| from.email.domain().to_owned())
}

/// The host of a URL, if it is a name that means the same everywhere.
fn host_name(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split([':', '/']).next().unwrap_or(rest).to_ascii_lowercase();
    is_domain(&host).then_some(host)
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
