//! `posture scan`.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::call::{Call, ServerSession, call, with_session};
use super::option::{body, query};
use super::{client_name, option, print};
use crate::config::Config;
use crate::error::{Code, Error, Result};
use crate::id::{ClientId, ScanId};
use crate::page::LIMIT_MAX;

/// Time between two requests for the status of a scan.
const LOOK_EVERY: Duration = Duration::from_millis(500);

#[derive(Debug, Subcommand)]
pub(super) enum ScanCommand {
    /// Start a scan. The running server performs it.
    #[command(after_help = "\
Example:
  posture scan start 10.0.0.0/24 --client 'Acme Ltd' --exclude 10.0.0.7 --wait")]
    Start(StartArgs),
    /// List scans, newest first.
    List {
        /// Only scans of this client, by name or id.
        #[arg(long, value_name = "CLIENT")]
        client: Option<String>,
    },
    /// Show a scan and its results.
    Show {
        /// Scan id, as shown by `posture scan list`.
        id: String,
    },
    /// Cancel a queued or running scan.
    Cancel {
        /// Scan id, as shown by `posture scan list`.
        id: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct StartArgs {
    /// Networks in CIDR notation, or addresses.
    #[arg(required = true, value_name = "NETWORK")]
    targets: Vec<String>,
    /// The client that the networks belong to, by name or id. Default: the only client, if there is just one.
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// Ports to scan, such as 22,80,8000-8100. Default: 200 common ports.
    #[arg(long)]
    ports: Option<String>,
    /// Simultaneous probes, 1 to 1024. Default: 256.
    #[arg(long)]
    threads: Option<u64>,
    /// Network to exclude. Can be repeated.
    #[arg(long, value_name = "NETWORK")]
    exclude: Vec<String>,
    /// Name of the scan.
    #[arg(long)]
    name: Option<String>,
    /// Wait until the scan ends, then show its results.
    #[arg(long)]
    wait: bool,
}

pub(super) fn run(options: &Config, json: bool, command: ScanCommand) -> Result<()> {
    match command {
        ScanCommand::Start(args) => start(options, json, &args),
        ScanCommand::List { client } => list(options, json, client.as_deref()),
        ScanCommand::Show { id } => {
            let path = path(&id)?;
            with_session(options, async |session| {
                let scan = session.call(Call::get(format!("{path}/status"))).await?;
                show(session, json, &scan).await
            })
        }
        ScanCommand::Cancel { id } => {
            let answer =
                call(options, Call::of("POST", format!("{}/cancel", path(&id)?), &Value::Null))?;
            if json { print::json(&answer) } else { print::line(&format!("canceled scan {id}")) }
        }
    }
}

fn path(id: &str) -> Result<String> {
    let id: ScanId = option::id(id, "a scan id", "scan list")?;
    Ok(format!("/api/scan/{id}"))
}

impl StartArgs {
    fn body(&self, client: Option<ClientId>) -> Value {
        body(vec![
            ("targets", Some(json!(self.targets))),
            ("exclude", Some(json!(self.exclude))),
            ("clientId", client.map(|it| json!(it.to_string()))),
            ("ports", self.ports.as_deref().map(Value::from)),
            ("threads", self.threads.map(Value::from)),
            ("name", self.name.as_deref().map(Value::from)),
        ])
    }
}

fn start(options: &Config, json: bool, args: &StartArgs) -> Result<()> {
    with_session(options, async |session| {
        let is_served = session.is_server();
        if args.wait && !is_served {
            return Err(Error::unavailable(
                "no server is running to perform the scan; start `posture serve` first",
            ));
        }
        let client = match &args.client {
            Some(it) => Some(client_name::find(session, it).await?),
            None => None,
        };
        let mut scan = session.call(Call::of("POST", "/api/scan", &args.body(client))).await?;
        let id = print::cell(&scan["data"]["id"]);
        if args.wait {
            scan = tokio::select! {
                ended = wait(session, &id) => ended?,
                _ = tokio::signal::ctrl_c() => return Err(Error::unavailable(format!(
                    "stopped waiting; scan {id} goes on: `posture scan show {id}` shows it, `posture scan cancel {id}` cancels it"
                ))),
            };
            return show(session, json, &scan).await;
        }
        if json {
            return print::json(&scan);
        }
        print::line(&id)?;
        if !is_served {
            print::line("the scan is queued; it starts when `posture serve` runs")?;
        }
        Ok(())
    })
}

/// Waits for the end of a scan. Returns its last status.
async fn wait(session: &ServerSession, id: &str) -> Result<Value> {
    let path = format!("{}/status", path(id)?);
    let bar = print::progress(0, "{bar:40} {pos}/{len} addresses, {msg} {elapsed}");
    loop {
        let scan = session.call(Call::get(path.as_str())).await.map_err(|error| {
            if error.code != Code::Unavailable {
                return error;
            }
            Error::unavailable(format!(
                "the server stopped before scan {id} ended; it goes on when `posture serve` runs again, and `posture scan show {id}` \
                 shows it"
            ))
            .caused_by(error)
        })?;
        let number = |name: &str| scan["data"]["progress"][name].as_u64().unwrap_or(0);
        bar.set_length(number("hostsTotal"));
        bar.set_position(number("hostsDone"));
        let open = print::count(&json!(number("portsOpen")), "open port");
        bar.set_message(format!("{} up, {open}", number("hostsUp")));
        let status = scan["data"]["status"].as_str().unwrap_or_default();
        if !["queued", "running"].contains(&status) {
            bar.finish_and_clear();
            return Ok(scan);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn list(options: &Config, json: bool, client: Option<&str>) -> Result<()> {
    let all = with_session(options, async |session| {
        let of = client_name::filter(session, client).await?;
        session.list(&format!("/api/scan{}", query(&of)), LIMIT_MAX).await
    })?;
    let heading = ["ID", "CREATED", "STATUS", "TARGETS", "DONE", "UP", "OPEN"];
    print::list(json, &all, ("no scans", &heading), |it| {
        let progress = &it["progress"];
        vec![
            print::cell(&it["id"]),
            print::cell(&it["createdAt"]),
            print::cell(&it["status"]),
            print::cell(&it["targets"]),
            format!("{}/{}", progress["hostsDone"], progress["hostsTotal"]),
            print::cell(&progress["hostsUp"]),
            print::cell(&progress["portsOpen"]),
        ]
    })
}

/// Prints a scan and its hosts. With `json`, the hosts are a member of the scan.
async fn show(session: &ServerSession, json: bool, scan: &Value) -> Result<()> {
    let data = &scan["data"];
    let path = path(&print::cell(&data["id"]))?;
    let hosts = session.list(&format!("{path}/results"), LIMIT_MAX).await?;
    if json {
        let mut body = scan.clone();
        body["data"]["hosts"] = Value::Array(hosts);
        return print::json(&body);
    }
    let fields = [
        ("id", "id"),
        ("client", "clientId"),
        ("name", "name"),
        ("status", "status"),
        ("targets", "targets"),
        ("ports", "ports"),
        ("created", "createdAt"),
        ("finished", "finishedAt"),
        ("error", "error"),
        ("note", "note"),
    ];
    print::fields(data, &fields)?;
    let row = |it: &Value| {
        let ports = print::rows(&it["ports"]).iter();
        let ports: Vec<String> = ports.map(|it| it["port"].to_string()).collect();
        let mut row = ["address", "hostname", "mac", "assetType", "because"]
            .map(|name| print::cell(&it[name]))
            .to_vec();
        row.push(ports.join(","));
        row
    };
    let rows: Vec<_> = hosts.iter().map(row).collect();
    print::table(&["ADDRESS", "HOSTNAME", "MAC", "TYPE", "BECAUSE", "OPEN"], &rows)?;
    for change in print::rows(&data["difference"]["changes"]) {
        print::line(&format!("since the previous scan: {}", print::cell(change)))?;
    }
    Ok(())
}
