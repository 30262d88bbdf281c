//! `posture key`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::call::{Call, call};
use super::option::{body, seconds};
use super::{client_name, option, print};
use crate::app::access::key::GRACE_S;
use crate::clock::Clock;
use crate::config::Config;
use crate::error::Result;
use crate::id::KeyId;

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Issue a key and print it. It is shown only once.
    #[command(after_help = "\
Examples:
  posture key issue --name grc --scope read:scores,read:risks,read:compliance
  posture key issue --name rmm --scope write:assets --client 'Acme Ltd' --ip 203.0.113.0/24 --expires-in 90d --quiet")]
    Issue(IssueArgs),
    /// List all keys.
    List,
    /// Replace the secret of a key and print the new key. It is shown only once. Id, scopes and limits stay.
    Rotate {
        /// Key id, as shown by `posture key list`.
        id: String,
        /// How long the old secret stays valid, such as 90m, 24h or 7d; 0 for not at all. Default: 24h.
        #[arg(long)]
        grace: Option<String>,
        /// Print only the key.
        #[arg(long, short)]
        quiet: bool,
    },
    /// Revoke a key. Takes effect with its next request.
    Revoke {
        /// Key id, as shown by `posture key list`.
        id: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct IssueArgs {
    /// Name of the key.
    #[arg(long)]
    name: String,
    /// read:clients, read:assets, write:assets, read:scores, read:risks, read:compliance, write:assessments,
    /// read:events, read:portfolio, read:export, manage:clients, manage:decisions. Can be repeated or comma-separated.
    #[arg(long = "scope", required = true, value_delimiter = ',')]
    scopes: Vec<String>,
    /// Restrict the key to this client, by name or id. Can be repeated. Default: all clients.
    #[arg(long = "client", value_name = "CLIENT")]
    clients: Vec<String>,
    /// Accept the key only from this network. Can be repeated. Default: any address.
    #[arg(long = "ip", value_name = "CIDR")]
    networks: Vec<String>,
    /// Name of the source of assets and facts that are pushed with the key. Default: the key's name.
    #[arg(long, value_name = "LABEL")]
    source: Option<String>,
    /// Requests per minute. Default: the limit in the configuration.
    #[arg(long)]
    per_minute: Option<u32>,
    /// Requests per hour. Default: the limit in the configuration.
    #[arg(long)]
    per_hour: Option<u32>,
    /// Requests per day. Default: the limit in the configuration.
    #[arg(long)]
    per_day: Option<u32>,
    /// Time until the key expires, such as 12h or 90d. Default: never.
    #[arg(long)]
    expires_in: Option<String>,
    /// Print only the key.
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(options: &Config, json: bool, command: KeyCommand) -> Result<()> {
    match command {
        KeyCommand::Issue(args) => {
            let answer = client_name::add(options, "/api/keys", args.body()?, &args.clients)?;
            show_key(json, args.quiet, &answer)
        }
        KeyCommand::List => list(json, &call(options, Call::get("/api/keys"))?),
        KeyCommand::Rotate { id, grace, quiet } => {
            let grace_s = grace.map_or(Ok(i64::from(GRACE_S)), |it| seconds(&it))?;
            let path = format!("{}/rotate", path(&id)?);
            let answer = call(options, Call::of("POST", path, &json!({ "graceS": grace_s })))?;
            show_key(json, quiet, &answer)
        }
        KeyCommand::Revoke { id } => {
            let answer = call(options, Call::delete(path(&id)?))?;
            print::done(json, &answer, &format!("revoked key {id}"))
        }
    }
}

fn path(id: &str) -> Result<String> {
    let id: KeyId = option::id(id, "a key id", "key list")?;
    Ok(format!("/api/keys/{id}"))
}

impl IssueArgs {
    /// What is issued, apart from the clients.
    fn body(&self) -> Result<Value> {
        let expires = self.expires_in.as_deref().map(seconds).transpose()?;
        let expires = expires.map(|it| Clock::System.now().plus_s(it).to_string());
        Ok(body(vec![
            ("name", Some(json!(self.name))),
            ("scopes", Some(json!(self.scopes))),
            ("networks", Some(json!(self.networks))),
            ("source", self.source.as_deref().map(Value::from)),
            ("perMinute", self.per_minute.map(Value::from)),
            ("perHour", self.per_hour.map(Value::from)),
            ("perDay", self.per_day.map(Value::from)),
            ("expiresAt", expires.map(Value::from)),
        ]))
    }
}

fn show_key(json: bool, quiet: bool, answer: &Value) -> Result<()> {
    let key = print::cell(&answer["data"]["key"]);
    if quiet {
        return print::line(&key);
    }
    if json {
        return print::json(answer);
    }
    let mut shown = answer["data"].clone();
    print::name_all(&mut shown["clientIds"], "all");
    print::name_all(&mut shown["networks"], "any");
    print::fields(
        &shown,
        &[
            ("id", "id"),
            ("name", "name"),
            ("scopes", "scopes"),
            ("clients", "clientIds"),
            ("networks", "networks"),
            ("per minute", "perMinute"),
            ("per hour", "perHour"),
            ("per day", "perDay"),
            ("expires", "expiresAt"),
        ],
    )?;
    print::line(&format!("\n{key}\n\nSave the key now: it is not shown again."))
}

fn list(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let row = |it: &Value| {
        let mut key = it.clone();
        print::name_all(&mut key["clientIds"], "all");
        print::name_all(&mut key["networks"], "any");
        let limits = ["perMinute", "perHour", "perDay"].map(|name| print::cell(&it[name]));
        key["limits"] = json!(limits.join("/"));
        [
            "id",
            "prefix",
            "name",
            "scopes",
            "clientIds",
            "networks",
            "limits",
            "lastUsedAt",
            "expiresAt",
            "revokedAt",
        ]
        .map(|name| print::cell(&key[name]))
        .to_vec()
    };
    let heading = [
        "ID",
        "PREFIX",
        "NAME",
        "SCOPES",
        "CLIENTS",
        "NETWORKS",
        "LIMITS",
        "LAST USED",
        "EXPIRES",
        "REVOKED",
    ];
    print::list(false, print::rows(&answer["data"]), ("no keys", &heading), row)
}
