//! The section of the mail server.

use std::path::PathBuf;

use super::reader::ConfigReader;
use super::rule::{domain, mail_sender, mail_server, path};
use crate::egress::is_loopback;
use crate::mail::{self, LOGINS, MailTls, Mailbox, TLS, USER_CHARS};
use crate::toml_reader::{text, word};

/// The server that sends messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailConfig {
    pub host: String,
    pub port: u16,
    pub tls: MailTls,
    pub from: Mailbox,
    /// What the service calls itself.
    pub greeting_name: String,
    /// `None`: the server wants no login.
    pub login: Option<LoginConfig>,
    /// Authorities that the certificate of the server may come from, besides the known ones.
    pub ca_file: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginConfig {
    Password {
        user: String,
        file: PathBuf,
    },
    /// With a token that the Microsoft app of the connections gets.
    MicrosoftApp {
        /// The mailbox to send from.
        user: String,
    },
}

/// `None`: no message is sent. Call it after the server's section.
pub(super) fn mail(it: &mut ConfigReader<'_>, public_url: Option<&str>) -> Option<MailConfig> {
    let server = it.find("mail.server", mail_server);
    let tls = it.get("mail.tls", word(&TLS));
    let from = it.find("mail.from", mail_sender);
    let greeting_name = it.find("mail.greeting_name", domain);
    let has_app = it.get("mail.login", word(&LOGINS));
    let user = it.find("mail.user", text(USER_CHARS));
    let password_file = it.find("mail.password_file", path);
    let ca_file = it.find("mail.ca_file", path);
    if server.is_some() != from.is_some() {
        it.clash(&["mail.server", "mail.from"], "must be set together with mail.from");
    }
    if has_app && password_file.is_some() {
        let rule =
            "must not be set with mail.login = \"microsoft_app\": the app gets a token instead";
        it.clash(&["mail.password_file", "mail.login"], rule);
    } else if !has_app && user.is_some() != password_file.is_some() {
        let rule = "must be set together with mail.password_file";
        it.clash(&["mail.user", "mail.password_file"], rule);
    }
    let ((host, port), from) = (server?, from?);
    if tls == MailTls::None && !is_loopback(&host) {
        let rule = "\"none\" is only for a server on this host, such as localhost:25";
        it.clash(&["mail.tls", "mail.server"], rule);
    }
    let login = if has_app {
        Some(LoginConfig::MicrosoftApp { user: user.unwrap_or_else(|| from.email.to_string()) })
    } else {
        user.zip(password_file).map(|(user, file)| LoginConfig::Password { user, file })
    };
    let greeting_name = greeting_name.unwrap_or_else(|| mail::greeting_name(public_url, &from));
    Some(MailConfig { host, port, tls, from, greeting_name, login, ca_file })
}
