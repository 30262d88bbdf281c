//! The mail server of the configuration, and a message to try it.

use crate::app::App;
use crate::error::{Error, Result};
use crate::mail::failure::MailFailure;
use crate::mail::trouble::MailTrouble;
use crate::mail::{Letter, MailOptions, Mailer, Sent, is_address};
use crate::secret::random;

const ID_BYTES: usize = 12;

/// What sends messages. `None`: the configuration names no server.
pub struct Mailing(Option<Mailer>);

impl Mailing {
    pub(in crate::app) fn of(options: Option<&MailOptions>) -> Result<Self> {
        options.cloned().map(Mailer::new).transpose().map(Self)
    }

    /// # Errors
    /// `Conflict` if no server is configured.
    pub(super) fn mailer(&self) -> Result<&Mailer> {
        let rule = "mail is not configured; set mail.server and mail.from in posture.toml, and restart the service";
        self.0.as_ref().ok_or_else(|| Error::conflict(rule))
    }
}

impl App {
    /// Returns true if there is a server that sends mail.
    #[must_use]
    pub fn has_mail(&self) -> bool {
        self.mailing.0.is_some()
    }

    /// Sends one message, and returns what the server said of it.
    ///
    /// # Errors
    /// `Invalid` if it is no address; `Conflict` if no server is configured.
    pub async fn test_mail(
        &self,
        to: impl FnOnce() -> Result<String>,
    ) -> Result<std::result::Result<String, MailFailure>> {
        let to = to()?;
        if !is_address(&to) {
            let rule = "must be an e-mail address, such as ada@example.com";
            return Err(Error::invalid_field("to", rule));
        }
        let mailer = self.mailing.mailer()?;
        let text =
            "This message was sent to test the mail settings. Scheduled reports can arrive here.\n";
        let letter = Letter {
            id: format!("test.{}", hex::encode(random::<ID_BYTES>())),
            to: vec![to],
            subject: "Test of the mail settings of Posture".to_owned(),
            text: text.to_owned(),
            attachment: None,
            at: self.clock.now(),
        };
        Ok(match self.send_letter(mailer, &letter).await {
            Err(failure) => Err(failure),
            Ok(mut sent) => match sent.refused.pop() {
                Some((_, failure)) => Err(failure),
                None => Ok(sent.answer),
            },
        })
    }

    /// Sends a message once, with a token if the server wants one.
    ///
    /// # Errors
    /// Why the message was sent to nobody.
    pub(super) async fn send_letter(
        &self,
        mailer: &Mailer,
        letter: &Letter,
    ) -> std::result::Result<Sent, MailFailure> {
        if !mailer.wants_token() {
            return mailer.send(letter, None).await;
        }
        let token = self.mail_token().await.map_err(|unread| {
            let why = format!("there is no token to log in with: {}", unread.reason);
            MailFailure::new(MailTrouble::Login, why)
        })?;
        let sent = mailer.send(letter, Some(&token)).await;
        if sent.as_ref().is_err_and(|it| it.trouble == MailTrouble::Login) {
            self.forget_mail_token().await;
        }
        sent
    }
}
