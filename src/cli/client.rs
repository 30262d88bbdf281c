//! `posture client`.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::call::{Call, call, with_session};
use super::print;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::page::LIMIT_MAX;

#[derive(Debug, Subcommand)]
pub(super) enum ClientCommand {
    /// Add a client organization and print its id.
    Add(ClientAddArgs),
    /// List all clients.
    List,
    /// Show a client.
    Show {
        /// Client id, as shown by `posture client list`.
        id: String,
    },
    /// Change a client.
    Set(ClientSetArgs),
    /// Erase a client and all of its data. Only a backup can bring it back.
    Remove {
        /// Client id, as shown by `posture client list`.
        id: String,
        /// Confirm the erasure. Without it, nothing is erased.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(super) struct ClientAddArgs {
    /// Name of the client.
    #[arg(long)]
    name: String,
    /// Industry, such as Healthcare.
    #[arg(long)]
    industry: Option<String>,
    /// Number of employees.
    #[arg(long)]
    employees: Option<u32>,
    /// What the client uses: QUESTION=used|unused|unknown, such as m365=used,aws=unused. Can be repeated.
    #[arg(long = "profile", value_name = "QUESTION=USAGE", value_delimiter = ',')]
    profile: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct ClientSetArgs {
    /// Client id, as shown by `posture client list`.
    id: String,
    /// Name of the client.
    #[arg(long)]
    name: Option<String>,
    /// Industry, such as Healthcare. An empty value clears it.
    #[arg(long)]
    industry: Option<String>,
    /// Number of employees.
    #[arg(long)]
    employees: Option<u32>,
    /// `false` leaves the client out of the API; its data is kept.
    #[arg(long)]
    active: Option<bool>,
    /// What the client uses: QUESTION=used|unused|unknown, such as aws=unused,gcp=unused. Can be repeated.
    #[arg(long = "profile", value_name = "QUESTION=USAGE", value_delimiter = ',')]
    profile: Vec<String>,
    /// A setting: NAME=JSON, such as staleAssetDays=14. Can be repeated.
    #[arg(long = "setting", value_name = "NAME=JSON")]
    settings: Vec<String>,
}

pub(super) fn run(options: &Config, json: bool, command: ClientCommand) -> Result<()> {
    match command {
        ClientCommand::Add(args) => {
            let answer = call(options, Call::of("POST", "/api/clients", &args.body()?))?;
            show_id(json, &answer)
        }
        ClientCommand::List => list(options, json),
        ClientCommand::Show { id } => show(json, &call(options, Call::get(path(&id)?))?),
        ClientCommand::Set(args) => {
            let answer = call(options, Call::of("PATCH", path(&args.id)?, &args.body()?))?;
            show(json, &answer)
        }
        ClientCommand::Remove { id, yes } => {
            if !yes {
                let how =
                    "this erases the client and all of its data; repeat with --yes to confirm";
                return Err(Error::invalid(how));
            }
            let answer = call(options, Call::delete(path(&id)?))?;
            print::done(json, &answer, &format!("erased client {id}"))
        }
    }
}

/// The path of one client. Only an id is accepted: other text could name another path.
pub(super) fn path(id: &str) -> Result<String> {
    let id: crate::id::ClientId = id.parse().map_err(|_| {
        Error::invalid(format!("`{id}` is not a client id; `posture client list` shows the ids"))
    })?;
    Ok(format!("/api/clients/{id}"))
}

impl ClientAddArgs {
    fn body(&self) -> Result<Value> {
        let mut body = Map::new();
        body.insert("name".into(), json!(self.name));
        if let Some(industry) = &self.industry {
            body.insert("industry".into(), json!(industry));
        }
        if let Some(employees) = self.employees {
            body.insert("employeeCount".into(), json!(employees));
        }
        if !self.profile.is_empty() {
            body.insert("settings".into(), json!({ "profile": profile(&self.profile)? }));
        }
        Ok(Value::Object(body))
    }
}

impl ClientSetArgs {
    fn body(&self) -> Result<Value> {
        let mut body = Map::new();
        if let Some(name) = &self.name {
            body.insert("name".into(), json!(name));
        }
        if let Some(industry) = &self.industry {
            let cleared = industry.is_empty();
            body.insert("industry".into(), if cleared { Value::Null } else { json!(industry) });
        }
        if let Some(employees) = self.employees {
            body.insert("employeeCount".into(), json!(employees));
        }
        if let Some(active) = self.active {
            body.insert("active".into(), json!(active));
        }
        let mut settings = Map::new();
        for pair in &self.settings {
            let (name, value) = split(pair)?;
            let value = serde_json::from_str(value)
                .map_err(|_| Error::invalid(format!("--setting {pair}: `{value}` is not JSON")))?;
            settings.insert(name.to_owned(), value);
        }
        if !self.profile.is_empty() {
            settings.insert("profile".into(), profile(&self.profile)?);
        }
        if !settings.is_empty() {
            body.insert("settings".into(), Value::Object(settings));
        }
        if body.is_empty() {
            return Err(Error::invalid("nothing to change; pass at least one option"));
        }
        Ok(Value::Object(body))
    }
}

fn profile(pairs: &[String]) -> Result<Value> {
    let answers =
        pairs.iter().map(|it| split(it).map(|(name, usage)| (name.to_owned(), json!(usage))));
    Ok(Value::Object(answers.collect::<Result<Map<_, _>>>()?))
}

fn split(pair: &str) -> Result<(&str, &str)> {
    pair.split_once('=')
        .ok_or_else(|| Error::invalid(format!("`{pair}` must have the form NAME=VALUE")))
}

fn list(options: &Config, json: bool) -> Result<()> {
    let clients = with_session(options, async |session| {
        let mut clients = Vec::new();
        loop {
            let offset = clients.len();
            let path = format!("/api/clients?limit={LIMIT_MAX}&offset={offset}");
            let page = session.call(Call::get(path)).await?;
            let rows = page["data"].as_array().cloned().unwrap_or_default();
            let n = rows.len();
            clients.extend(rows);
            if n < LIMIT_MAX as usize {
                return Ok(clients);
            }
        }
    })?;
    if json {
        return print::json(&json!({ "data": clients }));
    }
    let row = |it: &Value| {
        ["id", "name", "industry", "employeeCount", "active"]
            .map(|name| print::cell(&it[name]))
            .to_vec()
    };
    let rows: Vec<_> = clients.iter().map(row).collect();
    print::table(&["ID", "NAME", "INDUSTRY", "EMPLOYEES", "ACTIVE"], &rows)
}

fn show(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    print::fields(
        &answer["data"],
        &[
            ("id", "id"),
            ("name", "name"),
            ("industry", "industry"),
            ("employees", "employeeCount"),
            ("active", "active"),
            ("added", "createdAt"),
            ("changed", "updatedAt"),
            ("settings", "settings"),
        ],
    )
}

fn show_id(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    print::line(&print::cell(&answer["data"]["id"]))
}
