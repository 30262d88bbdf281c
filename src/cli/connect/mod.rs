//! `posture connect`.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::call::{Call, ServerSession, call, with_session};
use super::option::{body, query, require_change};
use super::{client_name, option, print};
use crate::config::Config;
use crate::error::{Code, Error, Result};
use crate::id::ConnectionId;

/// Time between two looks at a connection that runs.
const LOOK_EVERY: Duration = Duration::from_millis(300);

#[derive(Debug, Subcommand)]
pub(super) enum ConnectCommand {
    /// Add a connection. It runs at once, and then once a day.
    #[command(subcommand)]
    Add(AddCommand),
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
    /// Remove a connection, and retract what it found.
    Remove {
        /// Connection id, as shown by `posture connect list`.
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum AddCommand {
    /// The public DNS records of a client's domains: SPF, DKIM, DMARC and others. It needs no credential.
    #[command(after_help = "\
Example:
  posture connect add dns --client 'Acme Ltd' --domain acme.example --domain acme.test")]
    Dns {
        /// The client, by name or id.
        #[arg(long, value_name = "CLIENT")]
        client: String,
        /// A domain that sends or receives the client's mail. Can be repeated.
        #[arg(long = "domain", value_name = "DOMAIN", required = true)]
        domains: Vec<String>,
        /// Name of the connection. Default: DNS.
        #[arg(long)]
        name: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(super) struct SetArgs {
    /// Connection id, as shown by `posture connect list`.
    id: String,
    /// Read these domains instead. Can be repeated: name all of them.
    #[arg(long = "domain", value_name = "DOMAIN")]
    domains: Vec<String>,
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
        ConnectCommand::Add(AddCommand::Dns { client, domains, name }) => {
            let answer = with_session(options, async |session| {
                let client = client_name::find(session, &client).await?;
                let new = body(vec![
                    ("clientId", Some(json!(client.to_string()))),
                    ("kind", Some(json!("dns"))),
                    ("domains", Some(json!(domains))),
                    ("name", name.map(Value::from)),
                ]);
                session.call(Call::of("POST", "/api/connections", &new)).await
            })?;
            print::id(json, &answer)
        }
        ConnectCommand::List { client } => list(options, json, client.as_deref()),
        ConnectCommand::Show { id } => show(json, &call(options, Call::get(path(&id)?))?),
        ConnectCommand::Test { id } => test(options, json, &id),
        ConnectCommand::Sync { id } => sync(options, json, &id),
        ConnectCommand::Set(args) => set(options, json, args),
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

fn list(options: &Config, json: bool, client: Option<&str>) -> Result<()> {
    let answer = with_session(options, async |session| {
        let of = client_name::filter(session, client).await?;
        session.call(Call::get(format!("/api/connections{}", query(&of)))).await
    })?;
    if json {
        return print::json(&answer);
    }
    let row = |it: &Value| {
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            cell("id"),
            cell("kind"),
            cell("health"),
            print::minute(&it["lastRunAt"]),
            print::minute(&it["nextRunAt"]),
            cell("clientId"),
            cell("domains"),
        ]
    };
    let heading = ["ID", "KIND", "HEALTH", "LAST RUN", "NEXT RUN", "CLIENT", "DOMAINS"];
    print::list(false, print::rows(&answer["data"]), ("no connections", &heading), row)
}

fn show(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let data = &answer["data"];
    print::fields(
        data,
        &[
            ("id", "id"),
            ("client", "clientId"),
            ("kind", "kind"),
            ("name", "name"),
            ("health", "health"),
            ("paused", "paused"),
            ("last run", "lastRunAt"),
            ("last complete run", "lastSuccessAt"),
            ("next run", "nextRunAt"),
        ],
    )?;
    show_parts(data)
}

fn show_parts(data: &Value) -> Result<()> {
    let parts = print::rows(&data["parts"]);
    if parts.is_empty() {
        return Ok(());
    }
    let mut rows = Vec::new();
    for part in parts {
        for it in print::rows(&part["streams"]) {
            let cell = |name: &str| print::cell(&it[name]);
            rows.push(vec![
                print::cell(&part["scope"]),
                cell("name"),
                cell("state"),
                cell("rows"),
                cell("reason"),
            ]);
        }
    }
    print::table(&["PART", "STREAM", "STATE", "ROWS", "REASON"], &rows)?;
    for part in parts {
        for note in print::rows(&part["notes"]) {
            let [scope, name, text] =
                [&part["scope"], &note["name"], &note["text"]].map(print::cell);
            print::line(&format!("{scope}: {name}: {text}"))?;
        }
    }
    Ok(())
}

/// # Errors
/// `Invalid` if not everything could be read, so that scripts notice.
fn test(options: &Config, json: bool, id: &str) -> Result<()> {
    let answer = call(options, Call::of("POST", format!("{}/test", path(id)?), &json!({})))?;
    if json {
        print::json(&answer)?;
    } else {
        show_parts(&answer["data"])?;
        let mut rows = Vec::new();
        for part in print::rows(&answer["data"]["parts"]) {
            for it in print::rows(&part["controls"]) {
                let cell = |name: &str| print::cell(&it[name]);
                rows.push(vec![cell("controlCode"), cell("status"), cell("findings")]);
            }
        }
        print::table(&["CONTROL", "STATUS", "BECAUSE"], &rows)?;
    }
    if answer["data"]["complete"] == true {
        return Ok(());
    }
    Err(Error::invalid("not everything could be read; nothing is concluded from what is missing"))
}

fn sync(options: &Config, json: bool, id: &str) -> Result<()> {
    let path = path(id)?;
    with_session(options, async |session| {
        if !session.is_server() {
            let rule = "no server is running to run the connection; start `posture serve` first";
            return Err(Error::unavailable(rule));
        }
        let before = session.call(Call::get(path.as_str())).await?;
        session.call(Call::of("POST", format!("{path}/sync"), &json!({}))).await?;
        let ended = tokio::select! {
            ended = wait(session, &path, &before["data"]["lastRunAt"]) => ended?,
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

/// Waits until a run has ended. Returns the connection.
async fn wait(session: &ServerSession, path: &str, before: &Value) -> Result<Value> {
    let spinner = print::progress(0, "{spinner} reading {elapsed}");
    loop {
        let now = session.call(Call::get(path)).await.map_err(|error| {
            if error.code != Code::Unavailable {
                return error;
            }
            Error::unavailable("the server stopped; the connection runs after its next start")
                .caused_by(error)
        })?;
        if now["data"]["lastRunAt"] != *before {
            spinner.finish_and_clear();
            return Ok(now);
        }
        spinner.tick();
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn set(options: &Config, json: bool, args: SetArgs) -> Result<()> {
    let paused = (args.pause || args.resume).then_some(json!(args.pause));
    let domains = (!args.domains.is_empty()).then(|| json!(args.domains));
    let change = require_change(body(vec![
        ("name", args.name.map(Value::from)),
        ("domains", domains),
        ("paused", paused),
    ]))?;
    let answer = call(options, Call::of("PATCH", path(&args.id)?, &change))?;
    print::done(json, &answer, "changed")
}
