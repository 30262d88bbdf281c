//! One conversation with the server: one message, and an answer for each of its recipients.

use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::response::Response;
use tokio::time::{Instant, timeout_at};

use super::failure::{MailFailure, Step, of_step, unreachable};
use super::letter::Letter;
use super::trouble::MailTrouble;
use super::{MailOptions, MailTls, Mailer};
use crate::egress::time_for_each;
use crate::error::Code;
use crate::text::line;

/// Longer answers of a server are cut.
const ANSWER_CHARS_MAX: usize = 300;

/// What the server said of a message that it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub accepted: Vec<String>,
    /// Recipients that it did not take.
    pub refused: Vec<(String, MailFailure)>,
    /// Its last answer. Empty if it took no recipient.
    pub answer: String,
}

impl Mailer {
    /// Sends a message once. The server may take some recipients and refuse others. `token`: see [`Mailer::wants_token`].
    ///
    /// # Errors
    /// Why the message was sent to nobody. A server that is cut off at the deadline may have taken it.
    pub async fn send(&self, letter: &Letter, token: Option<&str>) -> Result<Sent, MailFailure> {
        let MailOptions { host, port, from, timeout, .. } = &self.options;
        let bytes = letter.bytes(from).map_err(|error| {
            let is_large = error.code == Code::TooLarge;
            let trouble = if is_large { MailTrouble::TooLarge } else { MailTrouble::Report };
            MailFailure::new(trouble, error.message().to_owned())
        })?;
        let server = format!("{host}:{port}");
        let deadline = Instant::now() + *timeout;
        let talk = self.talk(letter, &bytes, (&server, token), deadline);
        let late = |_| unreachable(&server, &format!("no answer in {} s", timeout.as_secs()));
        timeout_at(deadline, talk).await.map_err(late)?
    }

    async fn talk(
        &self,
        letter: &Letter,
        bytes: &[u8],
        (server, token): (&str, Option<&str>),
        deadline: Instant,
    ) -> Result<Sent, MailFailure> {
        let failed = |step| move |error| of_step(step, server, &error);
        let mut connection = self.connect(server, deadline).await?;
        self.log_in(&mut connection, server, token).await?;
        let from = Mail::new(Some(self.options.from.email.clone()), Vec::new());
        connection.command(from).await.map_err(failed(Step::Sender))?;
        let mut sent = Sent { accepted: Vec::new(), refused: Vec::new(), answer: String::new() };
        for to in &letter.to {
            let Ok(address) = to.parse() else { continue }; // `Letter::bytes` parsed it.
            match connection.command(Rcpt::new(address, Vec::new())).await {
                Ok(_) => sent.accepted.push(to.clone()),
                Err(error) => {
                    let failure = of_step(Step::Recipient, server, &error);
                    if failure.trouble == MailTrouble::Unreachable {
                        return Err(failure);
                    }
                    sent.refused.push((to.clone(), failure));
                }
            }
        }
        if !sent.accepted.is_empty() {
            connection.command(Data).await.map_err(failed(Step::Content))?;
            let answer = connection.message(bytes).await.map_err(failed(Step::Content))?;
            sent.answer = shown(&answer);
        }
        // The server has taken the message; how it says goodbye changes nothing.
        drop(connection.quit().await);
        Ok(sent)
    }

    async fn connect(
        &self,
        server: &str,
        deadline: Instant,
    ) -> Result<AsyncSmtpConnection, MailFailure> {
        let MailOptions { host, port, tls, greeting_name, .. } = &self.options;
        let found = self.egress.addresses(host, *port, deadline).await;
        let addresses = found.map_err(|error| {
            let message = format!("{}; check mail.server", error.message());
            MailFailure::new(MailTrouble::Unreachable, message)
        })?;
        if *tls == MailTls::None && !addresses.iter().all(|it| it.ip().is_loopback()) {
            let message = format!(
                "{server} is not this host, so nothing is sent there without TLS; set mail.tls"
            );
            return Err(MailFailure::new(MailTrouble::Tls, message));
        }
        let hello = ClientId::Domain(greeting_name.clone());
        let implicit = if *tls == MailTls::Implicit { Some(self.rules()?) } else { None };
        // As much is left for the conversation.
        let each =
            time_for_each(addresses.len() + 1, deadline.saturating_duration_since(Instant::now()));
        let connecting =
            AsyncSmtpConnection::connect_tokio1(&addresses[..], Some(each), &hello, implicit, None);
        let mut connection =
            connecting.await.map_err(|error| of_step(Step::Connect, server, &error))?;
        if *tls == MailTls::StartTls {
            let turned = connection.starttls(self.rules()?, &hello).await;
            turned.map_err(|error| of_step(Step::StartTls, server, &error))?;
        }
        Ok(connection)
    }

    /// Whom TLS trusts: the authorities of Mozilla's list, and those of the configuration.
    fn rules(&self) -> Result<TlsParameters, MailFailure> {
        let mut rules = TlsParameters::builder(self.options.host.clone());
        let unusable = |error: lettre::transport::smtp::Error| {
            MailFailure::new(MailTrouble::Tls, line(&error.to_string(), ANSWER_CHARS_MAX))
        };
        for root in self.options.roots.list() {
            let root = Certificate::from_der(root.to_vec()).map_err(unusable)?;
            rules = rules.add_root_certificate(root);
        }
        rules.build().map_err(unusable)
    }
}

fn shown(answer: &Response) -> String {
    let text = answer.message().collect::<Vec<_>>().join(" ");
    line(&format!("{} {text}", answer.code()), ANSWER_CHARS_MAX)
}
