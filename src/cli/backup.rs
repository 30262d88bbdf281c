//! `posture backup`, `restore`, `check` and `compact`.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use serde_json::{Value, json};
use tokio::time::interval;

use super::call::{Call, ServerSession, with_session};
use super::serve::stop_signal;
use super::{engine_options, input, print};
use crate::clock::Clock;
use crate::config::{Config, DatabaseConfig};
use crate::error::{Code, Error, Result};
use crate::secret::Sealer;
use crate::serve::key_file::KEY_FILE;
use crate::store::EngineOptions;
use crate::store::backup::{
    CheckReport, DamagedRow, Job, RestoreOptions, Restored, check_file, compact_file,
    restore as restore_file, restore_on_server,
};

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
#[command(after_help = "\
Every record of the backup is verified before the database changes. A backup of an earlier release
is migrated at the next start.

Examples:
  posture restore /var/backups/posture/posture-20261123T101500Z.redb
  posture restore posture-20261123T101500Z.redb.age --identity key.txt --replace")]
pub(super) struct RestoreArgs {
    /// A backup, or a copy of posture.redb that was made while the service did not run.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    identity: IdentityArgs,
    /// Replace the database if there is one. It is kept under another name.
    #[arg(long)]
    replace: bool,
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
        Some(file) => json!({ "file": absolute(file)? }),
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
        body["file"] = json!(absolute(file)?);
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

/// The server may run in another directory.
fn absolute(file: &Path) -> Result<String> {
    let path = std::path::absolute(file).map_err(Error::internal)?;
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

pub(super) fn restore(options: &Config, json: bool, args: &RestoreArgs) -> Result<()> {
    let dir = &options.data.dir;
    let identity = args.identity.read()?;
    let wanted = RestoreOptions {
        file: &args.file,
        dir,
        identity: identity.as_deref(),
        replace: args.replace,
    };
    let job = Job::default();
    let now = Clock::System.now();
    let restored = match engine_options(&options.database)? {
        EngineOptions::File => watch_here(&job, || restore_file(&wanted, &job, now))?,
        EngineOptions::Postgres(server) => {
            watch_here(&job, || restore_on_server(&wanted, &server, &job, now))?
        }
    };
    let provided = options.data.key_file.as_deref();
    let key_file = KeyFile::of(&restored, provided, &dir.join(KEY_FILE));
    if json {
        return print::json(&json!({ "data": restored_json(&restored, dir, key_file) }));
    }
    let Restored { manifest, contents, n_bytes, kept, .. } = &restored;
    let of = manifest.as_ref().map_or_else(String::new, |it| {
        format!(" as it was at {} with release {}", it.at, it.release)
    });
    match options.database {
        DatabaseConfig::Redb => print::line(&format!("restored {}{of}", dir.display()))?,
        DatabaseConfig::Postgres { .. } => {
            print::line(&format!("restored the database on the server{of}"))?;
        }
    }
    print::line(&format!(
        "  {} rows in {} tables, {n_bytes} bytes, last event {}",
        contents.n_rows, contents.n_tables, contents.event
    ))?;
    if let Some(kept) = kept {
        print::line(&format!("the database that was there is now {kept}"))?;
    }
    if let Some(words) = key_file.words() {
        print::line(words)?;
    }
    print::line("next: start the service, then look at `posture status`")
}

fn restored_json(restored: &Restored, dir: &Path, key_file: KeyFile) -> Value {
    let Restored { manifest, contents, n_bytes, kept, .. } = restored;
    json!({
        "dataDir": dir.display().to_string(),
        "backupAt": manifest.as_ref().map(|it| it.at.to_string()),
        "release": manifest.as_ref().map(|it| it.release.clone()),
        "bytes": n_bytes,
        "contents": {
            "tables": contents.n_tables,
            "rows": contents.n_rows,
            "eventSequence": contents.event,
            "digest": contents.digest.to_string(),
        },
        "keptAs": kept,
        "keyFile": key_file.as_str(),
    })
}

/// The key file beside a restored database.
#[derive(Clone, Copy, Debug)]
enum KeyFile {
    /// It opens the secrets of the database.
    Same,
    /// It belongs to another database.
    Other,
    /// There is none.
    Missing,
    /// The user who restores cannot read it, or it is not a key file.
    Unreadable,
    /// The database does not say which one it needs.
    Unknown,
}

impl KeyFile {
    /// `provided`: the one that the configuration names; otherwise it is `own`.
    fn of(restored: &Restored, provided: Option<&Path>, own: &Path) -> Self {
        let Some(needed) = restored.key_file else { return Self::Unknown };
        if provided.is_none() && !own.exists() {
            return Self::Missing;
        }
        match provided.map_or_else(|| Sealer::open(own), Sealer::open_provided) {
            Ok(sealer) if sealer.id() == needed => Self::Same,
            Ok(_) => Self::Other,
            Err(_) => Self::Unreadable,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Other => "other",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
            Self::Unknown => "unknown",
        }
    }

    const fn words(self) -> Option<&'static str> {
        match self {
            Self::Same | Self::Unknown => None,
            Self::Other => Some(
                "posture.key there is not the key file of this database: put the right one there before the start, or give \
                 each webhook that `posture status` names a new secret",
            ),
            Self::Missing => Some(
                "posture.key is not there, and no backup contains it: put your copy there before the start, or give each \
                 webhook that `posture status` names a new secret",
            ),
            Self::Unreadable => Some(
                "the key file cannot be read now, so whether it belongs to this database is not known: posture.key must belong \
                 to the user of the service, and a file of systemd is there only while the service runs",
            ),
        }
    }
}

/// Reads every record: over the running server's snapshot, or else from the file, whose pages are then verified too.
///
/// # Errors
/// `Invalid` if a record is damaged.
pub(super) fn check(options: &Config, json: bool) -> Result<()> {
    let dir = &options.data.dir;
    let job = Job::default();
    let cache_bytes = options.data.cache_bytes();
    let checked = match options.database {
        DatabaseConfig::Redb => watch_here(&job, || check_file(dir, cache_bytes, &job)),
        // It is read as the running server would.
        DatabaseConfig::Postgres { .. } => Err(Error::conflict("a server has the pages")),
    };
    let answer = match checked {
        Ok(report) => json!({ "data": report_json(&report) }),
        // A server has it open, or else a command: that one cannot be asked.
        Err(error) if error.code == Code::Conflict => {
            with_session(options, async |session| watch(session, Call::get("/api/check")).await)?
        }
        Err(error) => return Err(error.at(&dir.display().to_string())),
    };
    let data = &answer["data"];
    if json {
        print::json(&answer)?;
    } else {
        show_check(data, &options.database)?;
    }
    let n_damaged = data["damagedCount"].as_u64().unwrap_or(0);
    match (n_damaged, data["pagesIntact"].as_bool()) {
        (0, Some(true) | None) => Ok(()),
        (0, Some(false)) => Err(Error::invalid("the database file is damaged; restore a backup")),
        (1, _) => Err(Error::invalid("1 record is damaged; restore a backup")),
        (n, _) => Err(Error::invalid(format!("{n} records are damaged; restore a backup"))),
    }
}

fn report_json(report: &CheckReport) -> Value {
    let row = |it: &DamagedRow| {
        json!({
            "table": it.table,
            "clientId": it.client.map(|it| it.to_string()),
            "clientName": it.client_name,
            "key": it.key,
            "reason": it.reason,
        })
    };
    json!({
        "tables": report.n_tables,
        "rows": report.n_rows,
        "damagedCount": report.n_damaged,
        "damaged": report.damaged.iter().map(row).collect::<Vec<_>>(),
        "pagesIntact": report.pages_intact,
    })
}

fn show_check(data: &Value, database: &DatabaseConfig) -> Result<()> {
    let (rows, tables) =
        (print::count(&data["rows"], "record"), print::count(&data["tables"], "table"));
    print::line(&format!("read {rows} in {tables}"))?;
    match data["pagesIntact"].as_bool() {
        Some(true) => print::line("the pages of the file are intact")?,
        Some(false) => print::line("the pages of the file are damaged")?,
        None if matches!(database, DatabaseConfig::Redb) => {
            print::line("the pages of the file were not verified, because the service runs")?;
        }
        None => {
            print::line("the pages are the server's: pg_amcheck and data checksums verify them")?;
        }
    }
    let damaged = print::rows(&data["damaged"]);
    if damaged.is_empty() {
        return print::line("no record is damaged");
    }
    let heading = ["TABLE", "CLIENT", "KEY", "REASON"];
    let rows = damaged.iter().map(|it| {
        let client = if it["clientName"].is_null() { &it["clientId"] } else { &it["clientName"] };
        vec![
            print::cell(&it["table"]),
            print::cell(client),
            print::cell(&it["key"]),
            print::cell(&it["reason"]),
        ]
    });
    print::table(&heading, &rows.collect::<Vec<_>>())
}

pub(super) fn compact(options: &Config, json: bool) -> Result<()> {
    if let DatabaseConfig::Postgres { .. } = options.database {
        return Err(Error::invalid(
            "database.engine is \"postgres\": the server uses free space again by itself (autovacuum)",
        ));
    }
    let dir = &options.data.dir;
    let job = Job::default();
    let cache_bytes = options.data.cache_bytes();
    let (before, after) = watch_here(&job, || compact_file(dir, cache_bytes)).map_err(|it| {
        // That the database is in use already names the directory.
        if it.code == Code::Conflict { it } else { it.at(&dir.display().to_string()) }
    })?;
    if json {
        return print::json(&json!({ "data": { "bytesBefore": before, "bytesAfter": after } }));
    }
    print::line(&format!("compacted the database: {before} bytes before, {after} bytes after"))
}
