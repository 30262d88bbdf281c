//! The server that sends messages, and a message to try it.

use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use crate::app::{App, AppOptions};
use crate::clock::Time;
use crate::egress::EgressPolicy;
use crate::error::{Error, Result};
use crate::mail::failure::MailFailure;
use crate::mail::trouble::MailTrouble;
use crate::mail::{
    EXCHANGE_HOSTS, LOGINS, Letter, MailLogin, MailOptions, MailTls, Mailer, Sent, TIMEOUT, TLS,
    greeting_name, is_address, sender, server,
};
use crate::secret::{Sealer, random};
use crate::store::global::connection::credential::{Credential, CredentialOwner};

const ID_BYTES: usize = 12;
const OWNER: CredentialOwner = CredentialOwner::MailServer;

/// A server in place of the configuration's, without its password, as the configuration would name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailServer {
    pub server: String,
    pub tls: String,
    pub from: String,
    /// `None`: see [`greeting_name`].
    pub greeting_name: Option<String>,
    pub login: String,
    pub user: Option<String>,
    /// Who set it.
    pub by: String,
}

/// A server that somebody set.
pub(in crate::app) struct SetServer {
    pub(in crate::app) it: MailServer,
    pub(in crate::app) at: Time,
    /// Empty: it has none. `None`: the key file cannot open it.
    pub(in crate::app) password: Option<String>,
    mailer: Option<Arc<Mailer>>,
}

/// What sends messages.
pub struct Mailing {
    /// `None`: the configuration names no server.
    file: Option<Arc<Mailer>>,
    set: RwLock<Option<Arc<SetServer>>>,
    sealer: Sealer,
    /// Where a server may be that the configuration does not name.
    policy: EgressPolicy,
    public_url: Option<String>,
}

impl MailServer {
    /// `None`: by the rules of this release, it is none.
    fn options(
        &self,
        public_url: Option<&str>,
        policy: &EgressPolicy,
        password: String,
    ) -> Option<MailOptions> {
        let ((host, port), from) = (server(&self.server)?, sender(&self.from)?);
        let tls = TLS.iter().find(|it| it.0 == self.tls).map(|it| it.1);
        let has_app = LOGINS.iter().find(|it| it.0 == self.login)?.1;
        if has_app && !EXCHANGE_HOSTS.contains(&host.as_str()) {
            return None;
        }
        let user = self.user.clone();
        let login = if has_app {
            Some(MailLogin::MicrosoftApp { user: user.unwrap_or_else(|| from.email.to_string()) })
        } else {
            user.map(|user| MailLogin::Password { user, password })
        };
        Some(MailOptions {
            host,
            port,
            tls: tls.filter(|it| *it != MailTls::None)?,
            greeting_name: self
                .greeting_name
                .clone()
                .unwrap_or_else(|| greeting_name(public_url, &from)),
            from,
            login,
            roots: policy.roots.clone(),
            timeout: TIMEOUT,
        })
    }
}

impl Mailing {
    /// `set`: in place of what the options have.
    pub(in crate::app) fn of(
        options: &AppOptions,
        sealer: Sealer,
        set: Option<&Credential>,
    ) -> Result<Self> {
        // A server that the configuration names may be in any network.
        let file = options.mail.clone().map(|it| Mailer::new(it, EgressPolicy::for_mail()));
        let made = Self {
            file: file.transpose()?.map(Arc::new),
            set: RwLock::default(),
            sealer,
            policy: options.connect.egress.clone(),
            public_url: options.public_url.clone(),
        };
        made.replace(set);
        Ok(made)
    }

    /// What cannot be used any more, by the rules of this release, does not count and is logged.
    pub(in crate::app) fn replace(&self, set: Option<&Credential>) {
        let read = set.and_then(|it| {
            let read = self.read(it);
            read.inspect_err(|why| {
                tracing::error!("the mail server of the console does not count: {why}");
            })
            .ok()
        });
        *self.set.write().unwrap_or_else(PoisonError::into_inner) = read.map(Arc::new);
    }

    fn read(&self, it: &Credential) -> std::result::Result<SetServer, String> {
        let details: MailServer = serde_json::from_str(&it.details).map_err(|it| it.to_string())?;
        let password = self.sealer.open_sealed(&OWNER.key(), &it.sealed).ok();
        let mailer = match &password {
            Some(password) => {
                let options =
                    details.options(self.public_url.as_deref(), &self.policy, password.clone());
                let options = options.ok_or("it breaks a rule of this release")?;
                let made = Mailer::new(options, self.policy.clone());
                Some(Arc::new(made.map_err(|it| it.message().to_owned())?))
            }
            None => None,
        };
        Ok(SetServer { it: details, at: it.updated_at, password, mailer })
    }

    /// The record of a server. `password`: empty if it has none.
    pub(in crate::app) fn seal(&self, it: &MailServer, password: &str, at: Time) -> Credential {
        let owner = OWNER.key();
        let sealed = self.sealer.seal(&owner, password);
        let details = serde_json::to_string(it).expect("it has a form in JSON");
        Credential { owner, details, sealed, expires_at: None, updated_at: at }
    }

    /// What is set in place of the configuration.
    pub(in crate::app) fn set(&self) -> Option<Arc<SetServer>> {
        self.set.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// # Errors
    /// `Conflict` if there is no server, or its password cannot be opened.
    pub(super) fn mailer(&self) -> Result<Arc<Mailer>> {
        let unset = "there is no mail server; set one on the page Settings of the console, or mail.server and mail.from in \
                     posture.toml, and restart the service";
        let locked = "posture.key cannot open the password of the mail server; put the original key file back and restart, or \
                      enter the password again on the page Settings of the console";
        match self.set() {
            Some(it) => it.mailer.clone().ok_or_else(|| Error::conflict(locked)),
            None => self.file.clone().ok_or_else(|| Error::conflict(unset)),
        }
    }
}

impl App {
    /// Returns true if there is a server that sends mail.
    #[must_use]
    pub fn has_mail(&self) -> bool {
        self.mailing.mailer().is_ok()
    }

    /// Sends one message, and returns what the server said of it.
    ///
    /// # Errors
    /// `Invalid` if it is no address; `Conflict` if there is no server.
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
        Ok(match self.send_letter(&mailer, &letter).await {
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
