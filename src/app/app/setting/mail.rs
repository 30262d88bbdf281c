//! The mail server that is set in place of the configuration's. Its options count together.

use std::sync::Arc;

use super::{Source, as_toml, require_all_clients};
use crate::app::App;
use crate::app::input::{refuse_invisible, require_name};
use crate::app::report::mail::{MailServer, SetServer};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::mail::{
    EXCHANGE_HOSTS, LOGINS, MailTls, PASSWORD_LOGIN, TLS, USER_CHARS, is_domain, sender, server,
};
use crate::store::Batch;
use crate::store::global::connection::credential::{Credential, CredentialOwner};

/// A longer sender, with its name, is refused.
pub const FROM_CHARS_MAX: usize = 500;
/// A longer password is refused.
pub const PASSWORD_CHARS_MAX: usize = 1_000;

const OWNER: CredentialOwner = CredentialOwner::MailServer;

/// The server to use from now on.
pub struct NewMailServer {
    pub server: String,
    pub tls: Option<String>,
    pub from: String,
    pub greeting_name: Option<String>,
    pub login: Option<String>,
    pub user: Option<String>,
    /// `None`: the one that was set for this user of this server.
    pub password: Option<String>,
}

/// Returns the value of the option if it is one of the server's.
pub(super) fn option(set: Option<&SetServer>, key: &str) -> Option<(Option<String>, Source)> {
    let SetServer { it, at, password, .. } = set?;
    let value = match key.strip_prefix("mail.")? {
        "server" => Some(&it.server),
        "tls" => Some(&it.tls),
        "from" => Some(&it.from),
        "greeting_name" => it.greeting_name.as_ref(),
        "login" => Some(&it.login),
        "user" => it.user.as_ref(),
        _ => None,
    };
    let has_password = key == "mail.password_file" && password.as_deref() != Some("");
    let value = value.map(|it| as_toml(it, false)).or(has_password.then(|| "(set)".to_owned()));
    Some((value, Source::Console { by: it.by.clone(), at: *at }))
}

fn refused(field: &str, rule: impl Into<String>) -> Error {
    Error::invalid_field(field, rule)
}

/// Checks all but the password. It is not there if it is blank.
fn check(new: &NewMailServer, by: &Caller) -> Result<MailServer> {
    let given = |it: &Option<String>| {
        it.as_ref().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty())
    };
    let named = new.server.trim().to_ascii_lowercase();
    let Some((host, _)) = server(&named) else {
        return Err(refused("server", "must be a host and a port, such as smtp.example.com:587"));
    };
    let tls = given(&new.tls).unwrap_or_else(|| "starttls".to_owned());
    if !TLS.iter().any(|it| it.0 == tls && it.1 != MailTls::None) {
        let rule = "must be starttls or implicit; only posture.toml names a server without TLS";
        return Err(refused("tls", rule));
    }
    let from = new.from.trim();
    require_name("from", from, FROM_CHARS_MAX)?;
    if sender(from).is_none() {
        let rule = "must be an address, or a name with the address, such as Northwind <reports@northwind.example>";
        return Err(refused("from", rule));
    }
    let greeting_name = given(&new.greeting_name).map(|it| it.to_lowercase());
    if greeting_name.as_deref().is_some_and(|it| !is_domain(it)) {
        return Err(refused("greetingName", "must be a domain name, such as posture.example.com"));
    }
    let login = given(&new.login).unwrap_or_else(|| PASSWORD_LOGIN.to_owned());
    let Some((_, has_app)) = LOGINS.iter().find(|it| it.0 == login) else {
        return Err(refused("login", "must be password or microsoft_app"));
    };
    let user = given(&new.user);
    if let Some(user) = &user {
        refuse_invisible("user", user)?;
        if !USER_CHARS.contains(&user.chars().count()) {
            let max = USER_CHARS.end();
            return Err(refused("user", format!("must be at most {max} characters")));
        }
    }
    let has_password = new.password.as_ref().is_some_and(|it| !it.is_empty());
    if *has_app && has_password {
        return Err(refused("password", "must be absent: the Microsoft app gets a token instead"));
    }
    if *has_app && !EXCHANGE_HOSTS.contains(&host.as_str()) {
        let hosts = EXCHANGE_HOSTS.join(", ");
        let rule = format!(
            "must be one of {hosts} with microsoft_app: a token of the Microsoft app goes nowhere else"
        );
        return Err(refused("server", rule));
    }
    if has_password && user.is_none() {
        return Err(refused("user", "is required with password"));
    }
    let from = from.to_owned();
    Ok(MailServer { server: named, tls, from, greeting_name, login, user, by: by.name() })
}

/// The password to log in with: the new one, or the one before, which is sent nowhere else than where it was entered for. Empty:
/// the login has none.
fn password(
    new: Option<String>,
    it: &MailServer,
    before: Option<Arc<SetServer>>,
) -> Result<String> {
    if it.user.is_none() || it.login != PASSWORD_LOGIN {
        return Ok(String::new());
    }
    if let Some(new) = new.filter(|it| !it.is_empty()) {
        if PASSWORD_CHARS_MAX < new.chars().count() || new.contains(char::is_control) {
            let rule = format!("must be one line of at most {PASSWORD_CHARS_MAX} characters");
            return Err(refused("password", rule));
        }
        return Ok(new);
    }
    let same = before.filter(|was| was.it.server == it.server && was.it.user == it.user);
    let kept = same.and_then(|it| it.password.clone()).filter(|it| !it.is_empty());
    kept.ok_or_else(|| refused("password", "is required with user"))
}

impl App {
    /// Sets the mail server in place of the configuration's. It counts at once.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access all clients; `Invalid` about a field.
    pub async fn set_mail(&self, by: &Caller, new: NewMailServer) -> Result<()> {
        require_all_clients(by)?;
        let server = check(&new, by)?;
        let known = self.store.read(|it| it.find_credential(OWNER)).await?;
        let password = password(new.password, &server, self.mailing.set())?;
        let row = self.mailing.seal(&server, &password, self.clock.now());
        self.write_mail(by, Some((row, known.map(|it| it.updated_at)))).await
    }

    /// The configuration counts again.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access all clients.
    pub async fn remove_mail(&self, by: &Caller) -> Result<()> {
        require_all_clients(by)?;
        self.write_mail(by, None).await
    }

    /// `row`: with the time of the one that it replaces, whose password it may have.
    async fn write_mail(&self, by: &Caller, row: Option<(Credential, Option<Time>)>) -> Result<()> {
        let write = move |batch: &mut Batch| {
            let Some((row, known)) = &row else {
                batch.remove_credential(OWNER)?;
                return Ok(None);
            };
            if batch.find_credential(OWNER)?.map(|it| it.updated_at) != *known {
                return Err(Error::conflict("the mail server changed meanwhile; try again"));
            }
            batch.put_credential(row)?;
            Ok(Some(row.clone()))
        };
        let mailing = Arc::clone(&self.mailing);
        // In the order of the commits, and also if the caller has left.
        let put = move |row: &Option<Credential>| mailing.replace(row.as_ref());
        by.acting_on(&self.store).write_then(write, put).await?;
        // Reports that waited for a server.
        self.note_reports().await
    }
}
