//! `posture user`.

use std::io::Read;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::call::{Call, call, with_session};
use super::option::body;
use super::{client_name, print};
use crate::auth::password::BYTES_MAX;
use crate::config::Config;
use crate::encoding::{self, MARK};
use crate::error::{Error, Result};

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// Add a user. Without --password-stdin, a password is generated and printed once; it must be changed at first login.
    #[command(after_help = "\
Example:
  posture user add --email ada@example.com --role analyst --client 'Acme Ltd'")]
    Add(UserAddArgs),
    /// List all users.
    List,
    /// Change a user. Takes effect with the user's next request.
    Set(UserSetArgs),
    /// Set a new password and end all sessions of a user. Without --password-stdin, it is generated and printed once.
    Password {
        /// Id, email or user name.
        user: String,
        /// Read the password from the first line of standard input.
        #[arg(long)]
        password_stdin: bool,
    },
    /// Remove the second factor and the passkeys of a user who lost them, and end all sessions of the user.
    ResetMfa {
        /// Id, email or user name.
        user: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct UserAddArgs {
    /// Email address, with which the user logs in.
    #[arg(long)]
    email: String,
    /// viewer (reads), analyst (also works on clients) or admin (also manages the installation).
    #[arg(long)]
    role: String,
    /// Additional name to log in with.
    #[arg(long)]
    username: Option<String>,
    /// Name that is displayed.
    #[arg(long)]
    name: Option<String>,
    /// Restrict the user to this client, by name or id. Can be repeated. Default: all clients.
    #[arg(long = "client", value_name = "CLIENT")]
    clients: Vec<String>,
    /// Read the password from the first line of standard input.
    #[arg(long)]
    password_stdin: bool,
}

#[derive(Debug, Args)]
pub(super) struct UserSetArgs {
    /// Id, email or user name.
    user: String,
    /// Email address, with which the user logs in.
    #[arg(long)]
    email: Option<String>,
    /// viewer, analyst or admin.
    #[arg(long)]
    role: Option<String>,
    /// Additional name to log in with.
    #[arg(long)]
    username: Option<String>,
    /// Name that is displayed.
    #[arg(long)]
    name: Option<String>,
    /// Restrict the user to this client, by name or id. Can be repeated.
    #[arg(long = "client", value_name = "CLIENT", conflicts_with = "all_clients")]
    clients: Vec<String>,
    /// Let the user reach all clients.
    #[arg(long)]
    all_clients: bool,
    /// End all sessions of the user and refuse further logins.
    #[arg(long, conflicts_with = "enable")]
    disable: bool,
    /// Let a disabled user log in again.
    #[arg(long)]
    enable: bool,
}

pub(super) fn run(options: &Config, json: bool, command: UserCommand) -> Result<()> {
    match command {
        UserCommand::Add(args) => {
            let answer = client_name::add(options, "/api/users", args.body()?, &args.clients)?;
            show(json, &answer)
        }
        UserCommand::List => list(json, &call(options, Call::get("/api/users"))?),
        UserCommand::Set(args) => change(options, json, &args.user, args.body(), &args.clients),
        UserCommand::Password { user, password_stdin } => {
            let password = if password_stdin { json!(read_password()?) } else { Value::Null };
            change(options, json, &user, json!({ "password": password }), &[])
        }
        UserCommand::ResetMfa { user } => reset_mfa(options, json, &user),
    }
}

/// `clients`: those that the user may see, as they are named. Empty: `body` has them, or they do not change.
fn change(
    options: &Config,
    json: bool,
    user: &str,
    mut body: Value,
    clients: &[String],
) -> Result<()> {
    let answer = with_session(options, async |session| {
        let all = session.call(Call::get("/api/users")).await?;
        let path = format!("/api/users/{}", id_of(&all, user)?);
        if !clients.is_empty() {
            // Here, `all` is a name like any other.
            body["clientIds"] = json!(client_name::find_all(session, clients).await?);
        }
        client_name::change(session, &path, body, &[]).await
    })?;
    show(json, &answer)
}

fn reset_mfa(options: &Config, json: bool, user: &str) -> Result<()> {
    let answer = with_session(options, async |session| {
        let all = session.call(Call::get("/api/users")).await?;
        session.call(Call::delete(format!("/api/users/{}/mfa", id_of(&all, user)?))).await
    })?;
    print::done(json, &answer, &format!("removed the second factor and the passkeys of {user}"))
}

/// The id of the user with this id, email or user name.
fn id_of(all: &Value, wanted: &str) -> Result<String> {
    let is_wanted = |it: &&Value| {
        let names = ["id", "email", "username"].map(|name| it[name].as_str());
        names.into_iter().flatten().any(|it| it.to_lowercase() == wanted.to_lowercase())
    };
    let found = print::rows(&all["data"]).iter().find(is_wanted);
    let absent = || {
        Error::not_found(format!("unknown user `{wanted}`; `posture user list` shows all users"))
    };
    found.map(|it| print::cell(&it["id"])).ok_or_else(absent)
}

impl UserAddArgs {
    /// What is added, apart from the clients.
    fn body(&self) -> Result<Value> {
        let password = if self.password_stdin { Some(read_password()?) } else { None };
        Ok(body(vec![
            ("email", Some(json!(self.email))),
            ("role", Some(json!(self.role))),
            ("username", self.username.as_deref().map(Value::from)),
            ("displayName", self.name.as_deref().map(Value::from)),
            ("password", password.map(Value::from)),
        ]))
    }
}

impl UserSetArgs {
    /// What is to change, apart from the clients that are named.
    fn body(&self) -> Value {
        body(vec![
            ("email", self.email.as_deref().map(Value::from)),
            ("role", self.role.as_deref().map(Value::from)),
            ("username", self.username.as_deref().map(Value::from)),
            ("displayName", self.name.as_deref().map(Value::from)),
            ("clientIds", self.all_clients.then(|| json!([]))),
            ("enabled", (self.disable || self.enable).then_some(json!(self.enable))),
        ])
    }
}

/// The first line of standard input, without its line break.
fn read_password() -> Result<String> {
    let mut bytes = Vec::new();
    let unreadable = |error| Error::invalid(format!("cannot read the password: {error}"));
    // With a byte order mark before and a line break behind.
    let most = (BYTES_MAX + MARK.len() + 2) as u64;
    std::io::stdin().take(most).read_to_end(&mut bytes).map_err(unreadable)?;
    let text = encoding::text(&bytes)
        .map_err(|why| Error::invalid(format!("standard input {why}, and send it again")))?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() {
        return Err(Error::invalid("standard input contains no password"));
    }
    Ok(line.to_owned())
}

fn show(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let mut user = answer["data"].clone();
    print::name_all(&mut user["clientIds"], "all");
    user["signsInWith"] = json!(signs_in_with(&user));
    print::fields(
        &user,
        &[
            ("id", "id"),
            ("email", "email"),
            ("user name", "username"),
            ("role", "role"),
            ("clients", "clientIds"),
            ("enabled", "enabled"),
            ("second factor", "mfa"),
            ("passkeys", "passkeys"),
            ("signs in with", "signsInWith"),
        ],
    )?;
    match user["password"].as_str() {
        Some(password) => print::line(&format!(
            "\n{password}\n\nSave the password now: it is not shown again and must be changed at the next login."
        )),
        None => Ok(()),
    }
}

/// A password, or the issuer of the identity provider.
fn signs_in_with(user: &Value) -> &str {
    user["identity"]["issuer"].as_str().unwrap_or("password")
}

fn list(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let row = |it: &Value| {
        let mut user = it.clone();
        print::name_all(&mut user["clientIds"], "all");
        user["signsInWith"] = json!(signs_in_with(&user));
        let names =
            ["id", "email", "username", "role", "clientIds", "enabled", "signsInWith", "mfa"];
        names
            .into_iter()
            .chain(["passkeys", "lastLoginAt"])
            .map(|name| print::cell(&user[name]))
            .collect()
    };
    let heading = [
        "ID",
        "EMAIL",
        "USER NAME",
        "ROLE",
        "CLIENTS",
        "ENABLED",
        "SIGNS IN WITH",
        "MFA",
        "PASSKEYS",
        "LAST LOGIN",
    ];
    print::list(false, print::rows(&answer["data"]), ("no users", &heading), row)
}
