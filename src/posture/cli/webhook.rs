//! `posture webhook`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::call::{Call, call, with_session};
use super::option::{body, seconds};
use super::{client_name, input, option, print};
use crate::app::webhook::endpoint::OVERLAP_S;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::id::WebhookId;
use crate::page::LIMIT_MAX;
use crate::webhook::sign::SigningSecret;

/// A file with header lines or a secret is not longer. The API takes far less.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// No delivery has a larger body.
const BODY_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug, Subcommand)]
pub(super) enum WebhookCommand {
    /// Register an endpoint and print its signing secret. It is shown only once.
    Add(WebhookAddArgs),
    /// List all endpoints and their state.
    List,
    /// Change, enable or disable an endpoint.
    Set(WebhookSetArgs),
    /// Send a test delivery and show the response.
    Test {
        /// Endpoint id, as shown by `posture webhook list`.
        id: String,
        /// Event type of the test delivery. Default: the first that the endpoint subscribes to.
        #[arg(long, value_name = "TYPE")]
        event: Option<String>,
    },
    /// Replace the signing secret of an endpoint and print the new one. It is shown only once.
    Rotate {
        /// Endpoint id, as shown by `posture webhook list`.
        id: String,
        /// How long deliveries are also signed with the old secret, such as 24h; 0 for not at all. Default: 24h.
        #[arg(long)]
        overlap: Option<String>,
        /// Print only the secret.
        #[arg(long, short)]
        quiet: bool,
    },
    /// Remove an endpoint and its deliveries.
    Remove {
        /// Endpoint id, as shown by `posture webhook list`.
        id: String,
    },
    /// List an endpoint's deliveries, with the last attempt of each.
    Deliveries {
        /// Endpoint id, as shown by `posture webhook list`.
        id: String,
        /// Only deliveries that have not succeeded.
        #[arg(long)]
        failed: bool,
    },
    /// Queue events for delivery again, with the same ids and bodies.
    Recover(RecoverArgs),
    /// Verify the signature of a delivery, as a receiver must. Reads the raw body from a file or standard input.
    Verify {
        /// File that contains only the secret.
        #[arg(long, value_name = "FILE")]
        secret_file: PathBuf,
        /// The value of X-Service-Signature.
        #[arg(long, value_name = "HEX")]
        signature: String,
        /// File with the raw body. Default: standard input.
        body: Option<PathBuf>,
    },
}

/// Headers of the receiver's own, such as `Authorization`.
#[derive(Debug, Args)]
pub(super) struct HeaderArgs {
    /// Header to send with each delivery. Can be repeated. The shell keeps it in its history, and all local users can see it in
    /// the list of processes; --header-file avoids both.
    #[arg(long = "header", value_name = "NAME:VALUE")]
    lines: Vec<String>,
    /// File with one NAME:VALUE on each line, or - for standard input.
    #[arg(long = "header-file", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl HeaderArgs {
    /// As the API takes them. `None`: no option was given. One empty value stands for an empty list.
    fn json(&self) -> Result<Option<Value>> {
        let mut lines = self.lines.clone();
        if let Some(file) = &self.file {
            lines.extend(header_lines(file)?);
        } else if lines.is_empty() {
            return Ok(None);
        }
        let header = |line: &String| {
            // The value may be a secret: the message does not repeat it.
            let rule = || Error::invalid("a header must have the form NAME:VALUE");
            let (name, value) = line.split_once(':').ok_or_else(rule)?;
            Ok(json!({ "name": name.trim(), "value": value.trim() }))
        };
        let given = lines.iter().filter(|it| !it.trim().is_empty());
        Ok(Some(Value::Array(given.map(header).collect::<Result<_>>()?)))
    }
}

/// The lines of a file with headers, or of standard input.
///
/// # Errors
/// `Invalid` if the file has no header: what should have written it has failed, and an empty list would remove all headers.
fn header_lines(file: &Path) -> Result<Vec<String>> {
    let text = input::text(file, TEXT_BYTES_MAX)?;
    if text.trim().is_empty() {
        return Err(Error::invalid(format!(
            "{} has no header; to remove all headers, pass --header ''",
            input::name(file)
        )));
    }
    Ok(text.lines().map(str::to_owned).collect())
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture webhook add --url https://psa.example/hooks --event all
  posture webhook add --url https://flow.example/x --event risk_item_created --client 'Acme Ltd' --header-file auth.txt")]
pub(super) struct WebhookAddArgs {
    /// URL of the endpoint.
    #[arg(long)]
    url: String,
    /// Event type, or `all`. Can be repeated.
    #[arg(long = "event", value_name = "TYPE", required = true)]
    events: Vec<String>,
    /// Send only events of this client, by name or id. Can be repeated. Default: all clients.
    #[arg(long = "client", value_name = "CLIENT")]
    clients: Vec<String>,
    /// Send only events about this framework, or `all`. Can be repeated. Default: those of the contract.
    #[arg(long = "framework", value_name = "ID", value_delimiter = ',')]
    frameworks: Vec<String>,
    /// What the endpoint is for.
    #[arg(long, default_value = "")]
    description: String,
    #[command(flatten)]
    headers: HeaderArgs,
    /// Print only the secret.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Args)]
pub(super) struct WebhookSetArgs {
    /// Endpoint id, as shown by `posture webhook list`.
    id: String,
    /// URL of the endpoint.
    #[arg(long)]
    url: Option<String>,
    /// Event type, or `all`. Can be repeated.
    #[arg(long = "event", value_name = "TYPE")]
    events: Vec<String>,
    /// Send only events of this client, by name or id, or `all`. Can be repeated.
    #[arg(long = "client", value_name = "CLIENT")]
    clients: Vec<String>,
    /// Send only events about this framework, or `contract` or `all`. Can be repeated.
    #[arg(long = "framework", value_name = "ID", value_delimiter = ',')]
    frameworks: Vec<String>,
    /// What the endpoint is for.
    #[arg(long)]
    description: Option<String>,
    #[command(flatten)]
    headers: HeaderArgs,
    /// Whether events are sent to the endpoint.
    #[arg(long)]
    enabled: Option<bool>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(super) struct RecoverArgs {
    /// Endpoint id, as shown by `posture webhook list`.
    #[arg(group = "webhook")]
    id: String,
    /// Recover the event with this sequence number.
    #[arg(long, conflicts_with_all = ["since", "until"])]
    sequence: Option<u64>,
    /// Recover the events since this time (RFC 3339) that the endpoint has not received.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Recover only events before this time. Default: now.
    #[arg(long, value_name = "TIME", requires = "since")]
    until: Option<String>,
}

pub(super) fn run(options: &Config, json: bool, command: WebhookCommand) -> Result<()> {
    match command {
        WebhookCommand::Add(args) => {
            let answer = client_name::add(options, "/api/webhooks", args.body()?, &args.clients)?;
            show_secret(json, args.quiet, &answer)
        }
        WebhookCommand::List => list(json, &call(options, Call::get("/api/webhooks"))?),
        WebhookCommand::Set(args) => {
            let (path, body) = (path(&args.id)?, args.body()?);
            let answer = with_session(options, async |session| {
                client_name::change(session, &path, body, &args.clients).await
            })?;
            show(json, &answer)
        }
        WebhookCommand::Test { id, event } => {
            let body = event.map_or(json!({}), |it| json!({ "type": it }));
            let answer = call(options, Call::of("POST", format!("{}/test", path(&id)?), &body))?;
            show_tested(json, &answer)
        }
        WebhookCommand::Rotate { id, overlap, quiet } => {
            let overlap_s = overlap.map_or(Ok(i64::from(OVERLAP_S)), |it| seconds(&it))?;
            let path = format!("{}/rotate-secret", path(&id)?);
            let body = json!({ "overlapS": overlap_s });
            show_secret(json, quiet, &call(options, Call::of("POST", path, &body))?)
        }
        WebhookCommand::Remove { id } => {
            let answer = call(options, Call::delete(path(&id)?))?;
            print::done(json, &answer, &format!("removed webhook {id}"))
        }
        WebhookCommand::Deliveries { id, failed } => deliveries(options, json, &path(&id)?, failed),
        WebhookCommand::Recover(args) => recover(options, json, args),
        WebhookCommand::Verify { secret_file, signature, body } => {
            verify(json, &secret_file, &signature, body.as_deref())
        }
    }
}

fn path(id: &str) -> Result<String> {
    let id: WebhookId = option::id(id, "a webhook id", "webhook list")?;
    Ok(format!("/api/webhooks/{id}"))
}

impl WebhookAddArgs {
    /// What is added, apart from the clients.
    fn body(&self) -> Result<Value> {
        Ok(body(vec![
            ("url", Some(json!(self.url))),
            ("events", Some(json!(self.events))),
            ("description", Some(json!(self.description))),
            ("frameworks", given(&self.frameworks)),
            ("headers", self.headers.json()?),
        ]))
    }
}

impl WebhookSetArgs {
    /// What is to change, apart from the clients.
    fn body(&self) -> Result<Value> {
        Ok(body(vec![
            ("url", self.url.as_deref().map(Value::from)),
            ("description", self.description.as_deref().map(Value::from)),
            ("enabled", self.enabled.map(Value::from)),
            ("frameworks", given(&self.frameworks)),
            ("events", given(&self.events)),
            ("headers", self.headers.json()?),
        ]))
    }
}

/// The values of an option that was given.
fn given(values: &[String]) -> Option<Value> {
    (!values.is_empty()).then(|| json!(values))
}

fn show_secret(json: bool, quiet: bool, answer: &Value) -> Result<()> {
    let secret = print::cell(&answer["data"]["secret"]);
    if quiet {
        return print::line(&secret);
    }
    show(json, answer)?;
    if json {
        return Ok(());
    }
    print::line(&format!("\n{secret}\n\nSave the secret now: it is not shown again."))
}

fn show(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let mut webhook = answer["data"].clone();
    print::name_all(&mut webhook["clientIds"], "all");
    print::fields(
        &webhook,
        &[
            ("id", "id"),
            ("url", "url"),
            ("events", "events"),
            ("clients", "clientIds"),
            ("frameworks", "frameworks"),
            ("headers", "headers"),
            ("enabled", "enabled"),
            ("disabled because", "disabledBecause"),
            ("waiting", "waiting"),
        ],
    )
}

fn list(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let row = |it: &Value| {
        let state = if it["needsSecret"] == true {
            "needs a new secret".to_owned()
        } else if it["enabled"] == true {
            "enabled".to_owned()
        } else {
            format!("disabled ({})", print::cell(&it["disabledBecause"]))
        };
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            cell("id"),
            state,
            cell("waiting"),
            cell("failures"),
            cell("lastSuccessAt"),
            cell("url"),
        ]
    };
    let heading = ["ID", "STATE", "WAITING", "FAILURES", "LAST SUCCESS", "URL"];
    print::list(false, print::rows(&answer["data"]), ("no webhooks", &heading), row)
}

/// # Errors
/// `Invalid` when the endpoint did not accept the delivery, so that scripts notice.
fn show_tested(json: bool, answer: &Value) -> Result<()> {
    let data = &answer["data"];
    if json {
        print::json(answer)?;
    } else {
        print::fields(
            data,
            &[
                ("event", "eventId"),
                ("type", "type"),
                ("status", "status"),
                ("ms", "ms"),
                ("answer", "answer"),
            ],
        )?;
    }
    if data["delivered"] == true {
        return Ok(());
    }
    Err(Error::invalid("the endpoint did not accept the test delivery"))
}

fn deliveries(options: &Config, json: bool, path: &str, failed: bool) -> Result<()> {
    let path = format!("{path}/deliveries");
    let mut all = with_session(options, async |session| session.list(&path, LIMIT_MAX).await)?;
    all.retain(|it| !failed || it["status"] != "delivered");
    if json {
        return print::json(&json!({ "data": all }));
    }
    let row = |it: &Value| {
        let last = print::rows(&it["attempts"]).last().unwrap_or(&Value::Null);
        let cell = |value: &Value| print::cell(value);
        vec![
            cell(&it["sequence"]),
            cell(&it["eventId"]),
            cell(&it["type"]),
            cell(&it["status"]),
            cell(&it["attemptCount"]),
            cell(&it["dueAt"]),
            cell(&last["status"]),
            cell(&last["answer"]).chars().take(60).collect(),
        ]
    };
    let heading =
        ["SEQUENCE", "EVENT", "TYPE", "STATUS", "ATTEMPTS", "NEXT", "LAST STATUS", "LAST ANSWER"];
    let empty = if failed { "no deliveries that failed or wait" } else { "no deliveries" };
    print::list(false, &all, (empty, &heading), row)
}

fn recover(options: &Config, json: bool, args: RecoverArgs) -> Result<()> {
    let path = format!("{}/recover", path(&args.id)?);
    let mut body = body(vec![
        ("since", args.since.map(Value::from)),
        ("until", args.until.map(Value::from)),
        ("sequence", args.sequence.map(Value::from)),
    ]);
    let n_queued = with_session(options, async |session| {
        let mut n_queued = 0;
        loop {
            let answer = session.call(Call::of("POST", &*path, &body)).await?;
            n_queued += answer["data"]["queued"].as_u64().unwrap_or(0);
            if answer["data"]["next"].is_null() {
                return Ok(n_queued);
            }
            body["after"] = answer["data"]["next"].clone();
        }
    })?;
    if json {
        return print::json(&json!({ "data": { "queued": n_queued } }));
    }
    let noun = if n_queued == 1 { "delivery" } else { "deliveries" };
    print::line(&format!("{n_queued} {noun} queued"))
}

fn verify(json: bool, secret_file: &Path, signature: &str, body: Option<&Path>) -> Result<()> {
    let secret = SigningSecret::parse(input::text(secret_file, TEXT_BYTES_MAX)?.trim())?;
    let bytes = input::bytes(body.unwrap_or(Path::new("-")), BODY_BYTES_MAX)?;
    if bytes.is_empty() {
        return Err(Error::invalid("the body is empty"));
    }
    if !secret.verifies(signature.trim(), &bytes) {
        let how = "the signature does not match the secret and the body; make sure that the body is the raw bytes as received";
        return Err(Error::invalid(how));
    }
    if json { print::json(&json!({ "data": { "valid": true } })) } else { print::line("valid") }
}
