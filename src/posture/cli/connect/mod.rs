//! `posture connect`.

mod m365;
mod mapping;
mod organization;
mod show;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use self::show::{show, show_test};
use super::call::{Call, ServerSession, call, with_session};
use super::option::{body, query, require_change};
use super::{client_name, input, option, print};
use crate::config::Config;
use crate::connect::kind::VALUE_BYTES_MAX;
use crate::error::{Code, Error, Result};
use crate::id::ConnectionId;
use crate::page::PULL_LIMIT_MAX;

/// Time between two looks at a connection that runs.
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// So long a new connection is waited for. Large environments take longer, which is said.
const FIRST_READ_MAX: Duration = Duration::from_secs(3);

#[derive(Debug, Subcommand)]
pub(super) enum ConnectCommand {
    /// List the kinds of connections, and what is to be entered for each.
    Kinds,
    /// Add a connection. It runs at once, and then once a day.
    #[command(after_help = "\
Examples:
  posture connect add dns --client 'Acme Ltd' --domain acme.example --domain acme.test
  posture connect add m365 --client 'Acme Ltd' --set tenant=acme.example
  posture connect add google --client 'Acme Ltd' --set domain=acme.example --set admin=admin@acme.example \
      --set-file service_account_key=key.json
  posture connect add tactical --set origin=https://api.msp.example --set-file key=key.txt")]
    Add(AddArgs),
    /// List connections and their health.
    List {
        /// Only connections of this client, by name or id.
        #[arg(long, value_name = "CLIENT")]
        client: Option<String>,
    },
    /// Show a connection: what its last run read, and what it could not read.
    Show {
        /// Connection id, as shown by `posture connect list`.
        id: String,
    },
    /// Read everything that a run reads, and show what that would decide. Nothing is stored.
    Test {
        /// Connection id, as shown by `posture connect list`.
        id: String,
    },
    /// Run a connection now, and wait until the run has ended.
    Sync {
        /// Connection id, as shown by `posture connect list`.
        id: String,
    },
    /// Change, pause or resume a connection.
    #[command(after_help = "\
Examples:
  posture connect set 018f6f2e-7a53-7cc0-9b53-1f2a3c4d5e6f --domain acme.example --domain acme.test
  posture connect set 018f6f2e-7a53-7cc0-9b53-1f2a3c4d5e6f --pause")]
    Set(SetArgs),
    /// Show or say which clients the organizations of a tool are.
    Map(organization::MapArgs),
    /// Set up Microsoft 365: the app that you register once, and the consents of many clients. The console has a page for it.
    #[command(subcommand)]
    M365(m365::M365Command),
    /// Check a mapping of a tool: whether it is right, and whether its examples hold. Needs no service.
    Check {
        /// File with the mapping as TOML, or - for standard input.
        file: PathBuf,
    },
    /// Manage your own mappings, which let connections read tools that Posture does not know.
    #[command(subcommand)]
    Mapping(mapping::MappingCommand),
    /// Remove a connection, and retract what it found.
    Remove {
        /// Connection id, as shown by `posture connect list`.
        id: String,
    },
}

/// What is entered for a connection.
#[derive(Debug, Args)]
pub(super) struct SettingArgs {
    /// Of kind dns, a domain that sends or receives the client's mail. Can be repeated.
    #[arg(long = "domain", value_name = "DOMAIN")]
    domains: Vec<String>,
    /// A setting, as `posture connect kinds` lists them. Can be repeated. `set` removes an optional one by `NAME=`.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    values: Vec<String>,
    /// A setting from a file, or from standard input (`-`), so that a secret is not in the list of processes. Can be repeated.
    #[arg(long = "set-file", value_name = "NAME=FILE")]
    files: Vec<String>,
}

impl SettingArgs {
    /// The members `domains` and `settings` of a body.
    fn members(self) -> Result<Vec<(&'static str, Option<Value>)>> {
        let mut settings = Map::new();
        let split = |it: &str| {
            let parts = it.split_once('=').filter(|(name, _)| !name.is_empty());
            let parts = parts.map(|(name, value)| (name.to_owned(), value.to_owned()));
            parts.ok_or_else(|| Error::invalid(format!("{it}: must be a name, `=` and a value")))
        };
        for it in &self.values {
            let (name, value) = split(it)?;
            settings.insert(name, value.into());
        }
        for it in &self.files {
            let (name, file) = split(it)?;
            settings.insert(name, input::text(&PathBuf::from(file), VALUE_BYTES_MAX)?.into());
        }
        let domains = (!self.domains.is_empty()).then(|| json!(self.domains));
        let settings = (!settings.is_empty()).then_some(Value::Object(settings));
        Ok(vec![("domains", domains), ("settings", settings)])
    }
}

#[derive(Debug, Args)]
pub(super) struct AddArgs {
    /// What to read, as `posture connect kinds` lists them.
    kind: String,
    /// The client, by name or id. Without it, the connection is your own tool, which sees many clients.
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    #[command(flatten)]
    settings: SettingArgs,
    /// Name of the connection. Default: what it reads.
    #[arg(long)]
    name: Option<String>,
    /// Do not wait some seconds for the first read, to say whether it failed.
    #[arg(long)]
    no_wait: bool,
}

#[derive(Debug, Args)]
pub(super) struct SetArgs {
    /// Connection id, as shown by `posture connect list`.
    id: String,
    #[command(flatten)]
    settings: SettingArgs,
    /// Another name.
    #[arg(long)]
    name: Option<String>,
    /// Do not run. What it found stays until it is too old to count.
    #[arg(long, conflicts_with = "resume")]
    pause: bool,
    /// Run again.
    #[arg(long)]
    resume: bool,
}

pub(super) fn run(options: &Config, json: bool, command: ConnectCommand) -> Result<()> {
    match command {
        ConnectCommand::Kinds => show::kinds(options, json),
        ConnectCommand::Add(args) => add(options, json, args),
        ConnectCommand::List { client } => list(options, json, client.as_deref()),
        ConnectCommand::Show { id } => show(json, &call(options, Call::get(path(&id)?))?),
        ConnectCommand::Test { id } => test(options, json, &id),
        ConnectCommand::Sync { id } => sync(options, json, &id),
        ConnectCommand::Set(args) => set(options, json, args),
        ConnectCommand::Map(args) => organization::run(options, json, &args),
        ConnectCommand::M365(command) => m365::run(options, json, command),
        ConnectCommand::Check { file } => mapping::run_check(json, &file),
        ConnectCommand::Mapping(command) => mapping::run(options, json, command),
        ConnectCommand::Remove { id } => {
            let answer = call(options, Call::delete(path(&id)?))?;
            print::done(json, &answer, "removed")
        }
    }
}

fn path(id: &str) -> Result<String> {
    let id: ConnectionId = option::id(id, "a connection id", "connect list")?;
    Ok(format!("/api/connections/{id}"))
}

fn add(options: &Config, json: bool, args: AddArgs) -> Result<()> {
    let AddArgs { kind, client, settings, name, no_wait } = args;
    let members = settings.members()?;
    with_session(options, async |session| {
        let client = match client {
            Some(client) => Some(client_name::find(session, &client).await?),
            None => None,
        };
        let mut all = vec![
            ("clientId", client.map(|it| json!(it.to_string()))),
            ("kind", Some(json!(kind))),
            ("name", name.map(Value::from)),
        ];
        all.extend(members);
        let answer = session.call(Call::of("POST", "/api/connections", &body(all))).await?;
        print::id(json, &answer)?;
        if let (false, Some(link)) = (json, answer["data"]["consentUrl"].as_str()) {
            print::line(&format!("an administrator of the client consents at: {link}"))?;
        }
        if !session.is_server() {
            print::warn("no server is running; the connection runs once `posture serve` does");
        }
        if m365::lacks_app_of(&answer["data"]) {
            print::warn(m365::NO_APP);
        } else if session.is_server() && !no_wait {
            say_first_read(session, &answer["data"]["id"]).await?;
        }
        Ok(())
    })
}

/// Says on standard error that the first read of a new connection failed, or goes on.
async fn say_first_read(session: &ServerSession, id: &Value) -> Result<()> {
    let id = print::cell(id);
    let path = format!("/api/connections/{id}");
    let spinner = print::progress(0, "{spinner} reading {elapsed}");
    let until = Instant::now() + FIRST_READ_MAX;
    let now = loop {
        let now = session.call(Call::get(path.as_str())).await?["data"].clone();
        if !now["lastRunAt"].is_null() || until <= Instant::now() {
            break now;
        }
        spinner.tick();
        tokio::time::sleep(LOOK_EVERY).await;
    };
    spinner.finish_and_clear();
    let parts = print::rows(&now["parts"]).iter().flat_map(|it| print::rows(&it["streams"]));
    let reason = parts.map(|it| print::cell(&it["reason"])).find(|it| it != "-");
    let why = reason.map_or_else(String::new, |it| format!(": {it}"));
    match now["health"].as_str().unwrap_or_default() {
        _ if now["lastRunAt"].is_null() => print::warn(&format!(
            "the first read is under way; `posture connect show {id}` shows what came of it"
        )),
        "failing" => print::warn(&format!("the first read failed{why}")),
        "pending" => print::warn(&format!("nothing could be read yet{why}")),
        "degraded" => print::warn(&format!("the first read was not complete{why}")),
        _ => (),
    }
    Ok(())
}

fn list(options: &Config, json: bool, client: Option<&str>) -> Result<()> {
    let all = with_session(options, async |session| {
        let of = client_name::filter(session, client).await?;
        session.list(&format!("/api/connections{}", query(&of)), PULL_LIMIT_MAX).await
    })?;
    let row = |it: &Value| {
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            cell("id"),
            cell("kind"),
            cell("health"),
            print::minute(&it["lastRunAt"]),
            print::minute(&it["nextRunAt"]),
            cell("clientId"),
            cell("name"),
        ]
    };
    let heading = ["ID", "KIND", "HEALTH", "LAST RUN", "NEXT RUN", "CLIENT", "NAME"];
    print::list(json, &all, ("no connections", &heading), row)
}

fn test(options: &Config, json: bool, id: &str) -> Result<()> {
    let answer = call(options, Call::of("POST", format!("{}/test", path(id)?), &json!({})))?;
    show_test(json, &answer)
}

fn sync(options: &Config, json: bool, id: &str) -> Result<()> {
    let path = path(id)?;
    with_session(options, async |session| {
        if !session.is_server() {
            let rule = "no server is running to run the connection; start `posture serve` first";
            return Err(Error::unavailable(rule));
        }
        let before = session.call(Call::get(path.as_str())).await?;
        let asked = session.call(Call::of("POST", format!("{path}/sync"), &json!({}))).await?;
        let ended = tokio::select! {
            ended = wait(session, &path, [&before["data"], &asked["data"]]) => ended?,
            _ = tokio::signal::ctrl_c() => return Err(Error::unavailable(
                "stopped waiting; the run goes on, and `posture connect show` shows it"
            )),
        };
        show(json, &ended)?;
        if ended["data"]["health"] == "healthy" {
            return Ok(());
        }
        Err(Error::invalid(
            "not everything could be read; nothing is concluded from what is missing",
        ))
    })
}

/// Waits until the run that was asked for has ended, not one that was going on then. Returns the connection.
async fn wait(session: &ServerSession, path: &str, [before, asked]: [&Value; 2]) -> Result<Value> {
    let spinner = print::progress(0, "{spinner} reading {elapsed}");
    loop {
        let now = session.call(Call::get(path)).await.map_err(|error| {
            if error.code != Code::Unavailable {
                return error;
            }
            Error::unavailable("the server stopped; the connection runs after its next start")
                .caused_by(error)
        })?;
        let has_run = now["data"]["lastRunAt"] != before["lastRunAt"];
        if has_run && now["data"]["nextRunAt"] != asked["nextRunAt"] {
            spinner.finish_and_clear();
            return Ok(now);
        }
        spinner.tick();
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn set(options: &Config, json: bool, args: SetArgs) -> Result<()> {
    let paused = (args.pause || args.resume).then_some(json!(args.pause));
    let mut members = args.settings.members()?;
    members.extend([("name", args.name.map(Value::from)), ("paused", paused)]);
    let change = require_change(body(members))?;
    let answer = call(options, Call::of("PATCH", path(&args.id)?, &change))?;
    print::done(json, &answer, "changed")
}
