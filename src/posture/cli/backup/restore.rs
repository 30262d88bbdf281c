//! `posture restore`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::{IdentityArgs, contents_json, watch_here};
use crate::cli::{engine_options, print};
use crate::clock::Clock;
use crate::config::{Config, DatabaseConfig};
use crate::error::Result;
use crate::secret::Sealer;
use crate::serve::key_file::KEY_FILE;
use crate::store::EngineOptions;
use crate::store::backup::{
    Job, RestoreOptions, Restored, restore as restore_file, restore_on_server,
};

#[derive(Debug, Args)]
#[command(after_help = "\
Every record of the backup is verified before the database changes. A backup of an earlier release
is migrated at the next start.

Examples:
  posture restore /var/backups/posture/posture-20261123T101500Z.redb
  posture restore posture-20261123T101500Z.redb.age --identity key.txt --replace")]
pub(in crate::cli) struct RestoreArgs {
    /// A backup, or a copy of posture.redb that was made while the service did not run.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    identity: IdentityArgs,
    /// Replace the database if there is one. It is kept under another name.
    #[arg(long)]
    replace: bool,
}

pub(in crate::cli) fn run(options: &Config, json: bool, args: &RestoreArgs) -> Result<()> {
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
        "contents": contents_json(contents),
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
