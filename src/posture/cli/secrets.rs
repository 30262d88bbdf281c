//! `posture secrets rotate`: a new key file.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use super::call::with_session;
use super::print;
use crate::app::reseal::Resealed;
use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::secret::Sealer;
use crate::serve::key_file::{KEY_FILE, NEW_KEY_FILE, replace};

#[derive(Debug, Subcommand)]
pub(super) enum SecretsCommand {
    /// Make a new key file, and seal every secret in the database with it. The service must not run.
    Rotate(RotateArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
The signing secrets of webhooks stay the same: their receivers notice nothing. All users must log in
again. Backups made until now need the old key file, which is kept under another name. If somebody
may have read it together with the database or a backup, also give each webhook a new secret with
`posture webhook rotate`.

Examples:
  posture secrets rotate
  posture secrets rotate --to /root/posture.key")]
pub(super) struct RotateArgs {
    /// File for the new key, if `data.key_file` names the present one. It must not exist.
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

pub(super) fn run(options: &Config, json: bool, command: &SecretsCommand) -> Result<()> {
    let SecretsCommand::Rotate(RotateArgs { to }) = command;
    let dir = &options.data.dir;
    let provided = options.data.key_file.as_deref();
    let new = match (provided, to) {
        (None, None) => dir.join(NEW_KEY_FILE),
        (Some(_), Some(to)) => to.clone(),
        (None, Some(_)) => {
            let rule =
                "--to is for an installation whose data.key_file names the key file; leave it out";
            return Err(Error::invalid(rule));
        }
        (Some(_), None) => {
            let rule = "data.key_file names a key file that Posture does not write; pass --to FILE for the new one";
            return Err(Error::invalid(rule));
        }
    };
    let done = with_session(options, async |session| {
        let app = &session.alone()?.app;
        let own = || Sealer::open(&dir.join(KEY_FILE));
        let old = provided.map_or_else(own, Sealer::open_provided)?;
        app.reseal(old, Sealer::create(&new)?).await
    })?;
    let kept = to.is_none().then(|| replace(dir, Clock::System.now())).transpose()?;
    let key_file = if to.is_none() { dir.join(KEY_FILE) } else { new };
    show(json, done, &key_file, kept.as_deref())
}

fn show(json: bool, done: Resealed, key_file: &Path, kept: Option<&Path>) -> Result<()> {
    let Resealed { n_sealed, n_locked } = done;
    if json {
        let data = json!({
            "keyFile": key_file.display().to_string(),
            "keptAs": kept.map(|it| it.display().to_string()),
            "sealed": n_sealed,
            "locked": n_locked,
        });
        return print::json(&json!({ "data": data }));
    }
    let values = print::count(&json!(n_sealed), "value");
    print::line(&format!(
        "{values} of the database sealed with the new key in {}",
        key_file.display()
    ))?;
    if 0 < n_locked {
        let values = print::count(&json!(n_locked), "value");
        print::line(&format!(
            "{values} could not be opened with the old key either, and stay as they are; `posture status` names the webhooks"
        ))?;
    }
    match kept {
        Some(kept) => print::line(&format!(
            "the old key is now {}: backups made until now need it, so keep it with them and remove it here",
            kept.display()
        ))?,
        None => print::line(
            "the old key file stays where it is: backups made until now need it\n\
             next: have data.key_file name the new one, or what is made of it",
        )?,
    }
    print::line(
        "next: copy the new key to where you keep its copy, start the service, and make a backup; all users must log in again",
    )
}
