//! `posture backup`, and other work on the whole database.

pub(super) mod check;
pub(super) mod moving;
pub(super) mod restore;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use tokio::time::interval;

use super::call::{Call, ServerSession, with_session};
use super::serve::stop_signal;
use super::{input, print};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::store::backup::{Contents, Job};

/// A longer file is not one of secret keys.
const IDENTITY_BYTES_MAX: usize = 16 * 1024;
/// How often the server is asked how far it is.
const ASK_EVERY: Duration = Duration::from_millis(250);
/// How often work in this process is looked at. It also ends this late.
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
The service goes on meanwhile. The backup is read again before it counts. It does not contain
posture.key, which seals the secrets in it: keep a copy of that file in another place.

Examples:
  posture backup /var/backups/posture/before-upgrade.redb
  posture backup
  posture backup drill")]
pub(super) struct BackupArgs {
    #[command(subcommand)]
    command: Option<BackupCommand>,
    /// File to write, which must not exist. Default: a new file in `backup.dir` of the configuration.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum BackupCommand {
    /// Restore a backup into a scratch folder, open it there, and remove it again.
    Drill {
        /// Backup to restore. Default: the newest in `backup.dir` of the configuration.
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        #[command(flatten)]
        identity: IdentityArgs,
    },
}

#[derive(Debug, Args)]
pub(super) struct IdentityArgs {
    /// File with the secret key of age, for an encrypted backup.
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

impl IdentityArgs {
    /// The text of the file, if one is named.
    ///
    /// # Errors
    /// `Invalid` if it cannot be read.
    pub(super) fn read(&self) -> Result<Option<String>> {
        self.identity.as_deref().map(|it| input::text(it, IDENTITY_BYTES_MAX)).transpose()
    }
}

pub(super) fn run(options: &Config, json: bool, args: BackupArgs) -> Result<()> {
    match args.command {
        None => back_up(options, json, args.file.as_deref()),
        Some(BackupCommand::Drill { file, identity }) => {
            drill(options, json, file.as_deref(), &identity)
        }
    }
}

fn back_up(options: &Config, json: bool, file: Option<&Path>) -> Result<()> {
    let body = match file {
        Some(file) => json!({ "file": absolute_text(file)? }),
        None => json!({}),
    };
    let call = Call::of("POST", "/api/backups", &body);
    let answer = with_session(options, async |session| watch(session, call).await)?;
    if json {
        return print::json(&answer);
    }
    let data = &answer["data"];
    print::line(&format!("wrote and verified {}", print::cell(&data["fileName"])))?;
    show_contents(data)?;
    if data["encrypted"] == Value::Bool(true) {
        print::line(
            "it is encrypted to backup.recipients; `posture restore` needs the secret key",
        )?;
    }
    print::line("posture.key is not in it: keep a copy of that file in another place")
}

fn drill(options: &Config, json: bool, file: Option<&Path>, identity: &IdentityArgs) -> Result<()> {
    let mut body = json!({});
    if let Some(file) = file {
        body["file"] = json!(absolute_text(file)?);
    }
    if let Some(identity) = identity.read()? {
        body["identity"] = json!(identity);
    }
    let call = Call::of("POST", "/api/backups/drill", &body);
    let answer = with_session(options, async |session| watch(session, call).await)?;
    if json {
        return print::json(&answer);
    }
    let data = &answer["data"];
    let of = print::given(", made at ", &data["backupAt"], print::cell);
    print::line(&format!("{}{of}, can be restored", print::cell(&data["fileName"])))?;
    show_contents(data)
}

fn show_contents(data: &Value) -> Result<()> {
    let contents = &data["contents"];
    let seconds = Duration::from_millis(data["durationMs"].as_u64().unwrap_or(0));
    print::line(&format!(
        "  {} in {}, {} bytes, last event {}, {seconds:.1?}",
        print::count(&contents["rows"], "row"),
        print::count(&contents["tables"], "table"),
        print::cell(&data["bytes"]),
        print::cell(&contents["eventSequence"]),
    ))
}

/// What all records are together, as the API writes it.
fn contents_json(contents: &Contents) -> Value {
    json!({
        "tables": contents.n_tables,
        "rows": contents.n_rows,
        "eventSequence": contents.event,
        "digest": contents.digest.to_string(),
    })
}

/// The service may run in another directory.
fn absolute(file: &Path) -> Result<PathBuf> {
    std::path::absolute(file).map_err(Error::internal)
}

fn absolute_text(file: &Path) -> Result<String> {
    let path = absolute(file)?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Error::invalid(format!("{}: the path must be UTF-8", file.display())))
}

/// Makes a call that takes long, and shows how far it is.
async fn watch(session: &ServerSession, call: Call) -> Result<Value> {
    let mut stop = pin!(stop_signal()?);
    let mut answer = pin!(session.call(call));
    let bar = progress();
    let mut ticks = interval(ASK_EVERY);
    loop {
        tokio::select! {
            answer = &mut answer => {
                bar.finish_and_clear();
                return answer;
            }
            () = &mut stop => {
                bar.finish_and_clear();
                return Err(Error::unavailable("interrupted before the end"));
            }
            _ = ticks.tick(), if !bar.is_hidden() => {
                let Ok(state) = session.call(Call::get("/api/backups")).await else { continue };
                let running = &state["data"]["running"];
                let number = |name: &str| running[name].as_u64().unwrap_or(0);
                let phase = running["phase"].as_str().unwrap_or_default();
                show_progress(&bar, phase, number("done"), number("total"));
            }
        }
    }
}

fn progress() -> ProgressBar {
    print::progress(0, "{bar:40} {percent}% {msg} {elapsed}")
}

fn show_progress(bar: &ProgressBar, phase: &str, done: u64, total: u64) {
    bar.set_length(total);
    bar.set_position(done.min(total));
    bar.set_message(phase.to_owned());
}

/// Runs long work in this process, and shows how far it is.
pub(super) fn watch_here<T: Send>(job: &Job, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let bar = progress();
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(work);
        while !worker.is_finished() {
            let figures = job.figures();
            show_progress(&bar, figures.phase.as_str(), figures.n_done, figures.n_total);
            std::thread::sleep(LOOK_EVERY);
        }
        worker.join()
    });
    bar.finish_and_clear();
    done.unwrap_or_else(|_| Err(Error::internal("the work panicked")))
}
