//! How the service logs in at the mail server.

use std::fmt;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS, Mechanism};
use lettre::transport::smtp::client::AsyncSmtpConnection;
use serde_json::Value;

use super::failure::{MailFailure, Step, of_login, of_step};
use super::trouble::MailTrouble;
use super::{MailLogin, Mailer};

/// The server asks for more, or says what is wrong before it refuses.
const MORE: u16 = 334;
/// The permission of the app, as its tokens name it.
const SEND_AS_APP: &str = "SMTP.SendAsApp";

/// A command of SMTP, on one line.
struct Line(String);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\r\n", self.0)
    }
}

impl Mailer {
    /// `token`: that of the Microsoft app, if the login wants one.
    pub(super) async fn log_in(
        &self,
        connection: &mut AsyncSmtpConnection,
        server: &str,
        token: Option<&str>,
    ) -> Result<(), MailFailure> {
        let failed = |error| of_step(Step::Login, server, &error);
        let refused = |why: String| MailFailure::new(MailTrouble::Login, why);
        let has_token_login = connection.server_info().supports_auth_mechanism(Mechanism::Xoauth2);
        let has_password_login =
            connection.server_info().get_auth_mechanism(DEFAULT_MECHANISMS).is_some();
        match &self.options.login {
            None => Ok(()),
            Some(MailLogin::Password { .. }) if has_token_login && !has_password_login => {
                Err(refused(format!(
                    "{server} takes no password, but OAuth 2.0 alone (XOAUTH2); set mail.login to \"microsoft_app\" if it is \
                     Exchange Online, or name a relay that wants no login"
                )))
            }
            Some(MailLogin::Password { user, password }) => {
                let credentials = Credentials::new(user.clone(), password.clone());
                let shown = connection.auth(DEFAULT_MECHANISMS, &credentials).await;
                shown.map(drop).map_err(failed)
            }
            Some(MailLogin::MicrosoftApp { .. }) if !has_token_login => Err(refused(format!(
                "{server} does not offer OAuth 2.0 (XOAUTH2); mail.login = \"microsoft_app\" is for Exchange Online: set \
                 mail.server to smtp.office365.com:587, or mail.login to \"password\""
            ))),
            Some(MailLogin::MicrosoftApp { user }) => {
                let token = token.unwrap_or_default();
                let shown = bear(connection, user, token).await;
                shown.map_err(|error| of_login(server, &error, &what_to_grant(user, token)))
            }
        }
    }
}

/// Shows a token (XOAUTH2).
async fn bear(
    connection: &mut AsyncSmtpConnection,
    user: &str,
    token: &str,
) -> Result<(), lettre::transport::smtp::Error> {
    let shown = BASE64_STANDARD.encode(format!("user={user}\x01auth=Bearer {token}\x01\x01"));
    let answer = connection.command(Line(format!("AUTH XOAUTH2 {shown}"))).await?;
    if answer.has_code(MORE) {
        // It says why it will refuse; an empty line lets it.
        connection.command(Line(String::new())).await?;
    }
    Ok(())
}

/// A token says which permissions it has, if it can be read.
fn what_to_grant(user: &str, token: &str) -> String {
    let what = match may_send(token) {
        Some(false) => {
            format!("the Microsoft app has no permission {SEND_AS_APP} in your tenant: grant it")
        }
        Some(true) | None => format!(
            "let the Microsoft app, which needs the permission {SEND_AS_APP}, into the mailbox {user}: run New-ServicePrincipal and \
             Add-MailboxPermission in Exchange Online"
        ),
    };
    format!("{what}, and wait some minutes; the guide Operate (Mail) has the commands")
}

/// `None`: it does not say.
fn may_send(token: &str) -> Option<bool> {
    let claims = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let roles = claims.get("roles").and_then(Value::as_array);
    Some(roles.is_some_and(|all| all.iter().any(|it| it.as_str() == Some(SEND_AS_APP))))
}
