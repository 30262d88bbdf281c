//! `posture init`, `status`, `health`, `openapi`, `config`, `completions`, `man` and `licenses`.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{CommandFactory, Subcommand};
use serde_json::{Value, json};

use super::call::{Call, ask_server, with_session};
use super::{Cli, failure, oidc_options, print, proxy_check, serve_options};
use crate::api::document;
use crate::api::edge::metrics_token::MetricsToken;
use crate::app::intake::watch;
use crate::config::{self, Config};
use crate::error::{Error, Result};
use crate::oidc::{ClientSecret, OidcProvider, Survey};
use crate::scan::attached_networks;
use crate::serve::certificate::{CertificateSource, Presented, files};
use crate::text::is_visible;

/// A host with more networks is probably a router: `attached` is not replaced by their names.
const N_NETWORKS_NAMED: usize = 16;

/// What is inside: a line with name, version and license for each. `packaging/licenses` writes both files.
const LICENSES: &str = include_str!("../../../assets/licenses/list.tsv");
const LICENSE_TEXTS: &str = include_str!("../../../assets/licenses/texts.txt");

/// How long `posture health` waits for an answer.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Check the configuration and list every problem in it.
    #[command(after_help = "\
Examples:
  posture config check
  posture config check --proxy https://posture.example.com")]
    Check {
        /// Also ask the running service through the proxy in front of it, at the address that people open, and list what the
        /// proxy does not send.
        #[arg(long, value_name = "URL")]
        proxy: Option<String>,
        /// PEM file of the authority that the proxy's certificate comes from, if it is a private one.
        #[arg(long, value_name = "FILE", requires = "proxy")]
        ca_file: Option<PathBuf>,
    },
    /// Show the values in effect and where they come from.
    Show,
}

/// Creates what is missing of an installation: the configuration with every default, the data directory, and the first
/// administrator. A configuration that exists is kept and used.
pub(super) fn init(path: Option<&Path>, json: bool) -> Result<()> {
    let path = config::destination(path);
    let path = path.as_path();
    let shown = path.display();
    let is_written = write_new(path, &first_config())
        .map_err(|error| Error::invalid(format!("cannot write {shown}: {error}")))?;
    let options = config::load(Some(path))?;
    let dir = &options.data.dir;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| {
        Error::invalid(format!("cannot create the data directory {}: {error}", dir.display()))
    })?;
    let admin = with_session(&options, async |session| session.add_first_admin().await)?;
    if json {
        let (file, dir) = (shown.to_string(), dir.display().to_string());
        let admin = admin.map(|(name, password)| json!({ "username": name, "password": password }));
        let data = json!({ "file": file, "written": is_written, "dataDir": dir, "admin": admin });
        return print::json(&json!({ "data": data }));
    }
    let wrote = if is_written { "wrote" } else { "kept" };
    print::line(&format!("{wrote} {shown}; the data directory is {}", dir.display()))?;
    if admin.is_none() {
        print::line("there are users already; no administrator was added")?;
    }
    if let Some((name, password)) = admin {
        print::line(&format!(
            "the first administrator is `{name}` with password `{password}`; save it now: it is not shown again and must be \
             changed at first login"
        ))?;
    }
    print::line("next: run `posture serve`, then `posture client add --name 'Acme Ltd'`")
}

/// Returns false if the file exists. It is not changed then.
fn write_new(path: &Path, text: &str) -> std::io::Result<bool> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o640).open(path);
    let mut file = match file {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(false),
        file => file?,
    };
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    Ok(true)
}

/// The example, with two lines that say what holds on this host now. The data directory is absolute, so that commands
/// find it from everywhere. The networks that the host is attached to stand in place of `attached`: networks that it joins
/// later are not to be scanned without a decision.
fn first_config() -> String {
    let mut text = config::EXAMPLE.to_owned();
    let dir = std::path::absolute("data").ok();
    if let Some(dir) = dir.as_deref().and_then(Path::to_str).filter(|it| is_plain(it)) {
        text = text.replacen("\ndir = \"./data\"\n", &format!("\ndir = \"{dir}\"\n"), 1);
    }
    let attached = attached_networks();
    if attached.is_empty() || N_NETWORKS_NAMED < attached.len() {
        return text;
    }
    let named: Vec<String> = attached.iter().map(|it| format!("\"{it}\"")).collect();
    let line = format!("\nallowed_networks = [{}]\n", named.join(", "));
    text.replacen("\nallowed_networks = [\"attached\"]\n", &line, 1)
}

/// Returns true for a text that TOML takes between quotes as it is.
fn is_plain(text: &str) -> bool {
    text.chars().all(|it| is_visible(it) && it != '"' && it != '\\')
}

/// Shows the state of the service. Without a server, what the database says is shown all the same.
///
/// # Errors
/// `Unavailable` if no server is running, so that scripts notice.
pub(super) fn status(options: &Config, json: bool) -> Result<()> {
    let (mut answer, is_running) = with_session(options, async |session| {
        let answer = session.call(Call::get("/api/system")).await?;
        Ok((answer, session.is_server()))
    })?;
    answer["data"]["serverRunning"] = json!(is_running);
    if !is_running {
        // This process could read and write the database, but nobody else is answered.
        answer["data"]["ready"] = json!(false);
    }
    if json {
        print::json(&answer)?;
    } else {
        show_status(&answer["data"], is_running)?;
    }
    if is_running {
        return Ok(());
    }
    Err(Error::unavailable("the server is not running; start it with `posture serve`"))
}

/// Asks the running server, and nobody else, whether it is ready.
///
/// # Errors
/// `Unavailable` if no server is running, it does not answer in time, or it cannot read and write.
pub(super) fn health(options: &Config, json: bool) -> Result<()> {
    let answer = ask_server(options, HEALTH_TIMEOUT, Call::get("/readyz"))?;
    if json { print::json(&answer) } else { print::line("ready") }
}

fn show_status(system: &Value, is_running: bool) -> Result<()> {
    let node = &system["node"];
    let server = match (is_running, node["role"].as_str()) {
        (true, Some("standby")) => "standby",
        (true, _) => "running",
        (false, _) => "not running (database opened directly)",
    };
    print::line(&format!("server            {server}"))?;
    if !node.is_null() {
        let name = if node["active"].is_null() { &node["name"] } else { &node["active"] };
        let age = Duration::from_millis(node["leaseAgeMs"].as_u64().unwrap_or(0));
        print::line(&format!("active node       {}", print::cell(name)))?;
        print::line(&format!(
            "                  epoch {}, lease renewed {age:.1?} ago",
            print::cell(&node["epoch"])
        ))?;
    }
    if server == "standby" {
        if !node["problem"].is_null() {
            print::line(&format!("cannot take over  {}", print::cell(&node["problem"])))?;
        }
        return print::line(&format!("version           {}", print::cell(&system["version"])));
    }
    print::fields(
        system,
        &[
            ("version", "version"),
            ("ready", "ready"),
            ("active clients", "clientsActive"),
            ("inactive clients", "clientsInactive"),
            ("API keys", "keys"),
            ("frameworks", "frameworks"),
            ("controls", "controls"),
            ("mapped checks", "checksMapped"),
            ("damaged records", "damagedRecords"),
            ("disk full", "diskFull"),
        ],
    )?;
    if let Some(until) = system["certificateExpiresAt"].as_str() {
        print::line(&format!("certificate       expires {until}"))?;
    }
    show_backups(system)?;
    for it in print::rows(&system["frameworksNotInUse"]) {
        let id = print::cell(it);
        print::line(&format!(
            "framework {id} is not in use, because this release cannot read it; `posture framework list` says why"
        ))?;
    }
    for it in print::rows(&system["orphans"]) {
        let (kind, about) = (print::cell(&it["kind"]), print::cell(&it["about"]));
        let of = match it["clientId"].as_str() {
            Some(client) => format!(" of client {client}"),
            None => String::new(),
        };
        print::line(&format!(
            "{kind}{of} is about {about}, which this release does not have: it counts for nothing"
        ))?;
    }
    match system["webhooksNeedingSecret"].as_array() {
        Some(ids) if !ids.is_empty() => print::line(&format!(
            "posture.key cannot open the signing secrets of these webhooks; run `posture webhook rotate ID` for each: {}",
            print::cell(&system["webhooksNeedingSecret"])
        )),
        Some(_) | None => Ok(()),
    }
}

/// The last backup and drill, and what is wrong with the installation itself.
fn show_backups(system: &Value) -> Result<()> {
    let shown = |it: &Value| {
        if it.is_null() {
            return "none".to_owned();
        }
        format!("{} ({})", print::cell(&it["at"]), print::cell(&it["fileName"]))
    };
    print::line(&format!("last backup       {}", shown(&system["lastBackup"])))?;
    print::line(&format!("last drill        {}", shown(&system["lastDrill"])))?;
    for it in print::rows(&system["notices"]) {
        let (kind, at) = (print::cell(&it["kind"]), print::cell(&it["at"]));
        print::line(&format!("notice since {at}: {kind}: {}", print::cell(&it["message"])))?;
    }
    Ok(())
}

pub(super) fn openapi(options: &Config) -> Result<()> {
    print::line(&document::write(options.server.public_url.as_deref()))
}

pub(super) fn config(path: Option<&Path>, json: bool, command: &ConfigCommand) -> Result<()> {
    match command {
        ConfigCommand::Check { proxy, ca_file } => {
            check(path, json, proxy.as_deref(), ca_file.as_deref())
        }
        ConfigCommand::Show => {
            let text = config::show(&config::load(path)?);
            if json {
                print::json(&json!({ "data": { "toml": text } }))
            } else {
                print::line(&text)
            }
        }
    }
}

/// `proxy`: where people reach the service through one. `ca_file`: see [`ConfigCommand::Check`].
fn check(
    path: Option<&Path>,
    json: bool,
    proxy: Option<&str>,
    ca_file: Option<&Path>,
) -> Result<()> {
    let problems = config::check(path)?;
    let mut lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let mut data = json!({ "notes": [] });
    if lines.is_empty() {
        let options = config::load(path)?;
        lines = file_problems(&options);
        if lines.is_empty() {
            let survey = survey(&options)?;
            lines = survey.problems;
            data["notes"] = json!(survey.notes);
        }
        if let Some(url) = proxy {
            let checked = proxy_check::check(&options, url, ca_file)?;
            lines.extend(checked.problems);
            data["seen"] = checked.seen;
        }
    }
    data["problems"] = json!(lines);
    if json {
        print::json(&json!({ "data": data }))?;
    } else {
        let notes = data["notes"].as_array().into_iter().flatten().map(print::cell);
        lines.iter().cloned().chain(notes).try_for_each(|it| print::line(&it))?;
    }
    match lines.len() {
        0 if json => Ok(()),
        0 if proxy.is_some() => {
            print::line("the configuration is valid, and the proxy sends what it must")
        }
        0 if config::is_found(path) => print::line("the configuration is valid"),
        0 => print::line("no configuration file was found; the defaults apply"),
        1 => Err(Error::invalid("1 problem")),
        n => Err(Error::invalid(format!("{n} problems"))),
    }
}

/// What the identity provider says of itself, if the configuration names one.
fn survey(options: &Config) -> Result<Survey> {
    let Some(oidc) = &options.oidc else { return Ok(Survey::default()) };
    let provider = OidcProvider::new(oidc_options(oidc, options)?.settings)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime
        .map_err(Error::internal)?
        .block_on(provider.survey(oidc.client_secret_file.is_some())))
}

/// What is wrong with the files that the configuration names. A key file is left out: systemd may provide it to the service
/// alone.
fn file_problems(options: &Config) -> Vec<String> {
    let server = &options.server;
    let read = serve_options(options).and_then(|it| match it.certificate {
        Some(CertificateSource::Files(named)) => files::present(&named, &Presented::default()),
        Some(CertificateSource::Acme(_)) | None => Ok(()),
    });
    let token = server
        .metrics_token_file
        .as_deref()
        .map_or(Ok(()), |it| MetricsToken::read(it).map(|_| ()));
    let secret = options.oidc.as_ref().and_then(|it| it.client_secret_file.as_deref());
    let secret = secret.map_or(Ok(()), |it| ClientSecret::read(it).map(|_| ()));
    let dir = options
        .backup
        .dir
        .as_deref()
        .filter(|it| !it.is_dir())
        .map(|dir| format!("backup.dir: {} is not a folder; create it", dir.display()));
    let watch = options.import_watch.as_deref().map_or(Ok(()), watch::check);
    let errors =
        [read, token, secret, watch].into_iter().filter_map(|it| it.err().map(|it| failure(&it)));
    errors.chain(dir).collect()
}

pub(super) fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "posture", &mut script);
    print::line(&String::from_utf8_lossy(&script))
}

/// Writes `posture.1`, `posture-client.1` and so on.
pub(super) fn man(folder: &Path) -> Result<()> {
    let cannot = |error: std::io::Error| {
        Error::invalid(format!("cannot write to {}: {error}", folder.display()))
    };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(cannot)
}

pub(super) fn licenses(json: bool, texts: bool) -> Result<()> {
    let rows = LICENSES.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    if json {
        let row = |it: Vec<&str>| json!({ "name": it[0], "version": it[1], "license": it[2] });
        let data: Vec<Value> = rows.map(row).collect();
        let texts = texts.then_some(LICENSE_TEXTS);
        return print::json(&json!({ "data": data, "texts": texts }));
    }
    for row in rows {
        print::line(&row.join("  "))?;
    }
    if texts { print::line(&format!("\n{LICENSE_TEXTS}")) } else { Ok(()) }
}
