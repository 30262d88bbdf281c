//! Backups, drills, and checks of the whole database.

use std::path::PathBuf;
use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::Administer;
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::{Uid, When};
use crate::api::{Group, Web};
use crate::app::backup::{BackupState, Drill, WholeWork};
use crate::error::{Error, Result};
use crate::store::backup::{
    BackupReport, CheckReport, Contents, DamagedRow, DrillReport, N_DAMAGED_MAX, ProgressFigures,
};

/// Longer paths are refused, as the operating system refuses them.
const PATH_CHARS: std::ops::RangeInclusive<usize> = 1..=4_096;
/// Longer identity files are refused.
const IDENTITY_CHARS: std::ops::RangeInclusive<usize> = 1..=16_384;

/// A backup that was read again after it was written.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Backup")]
#[serde(rename_all = "camelCase")]
pub struct BackupView {
    /// When its snapshot was taken.
    at: When,
    /// Its name, without the folder.
    file_name: String,
    /// It is encrypted to `backup.recipients` of the configuration.
    encrypted: bool,
    /// The length of the file.
    bytes: u64,
    duration_ms: u64,
    contents: ContentsView,
}

/// What all rows of a database are together.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "DatabaseContents")]
#[serde(rename_all = "camelCase")]
pub struct ContentsView {
    /// Tables that have rows.
    tables: u64,
    rows: u64,
    /// The sequence of the last event.
    event_sequence: u64,
    /// The digest of all rows. Two databases with the same one hold the same.
    digest: String,
}

impl From<Contents> for ContentsView {
    fn from(it: Contents) -> Self {
        Self {
            tables: it.n_tables,
            rows: it.n_rows,
            event_sequence: it.event,
            digest: it.digest.to_string(),
        }
    }
}

impl From<BackupReport> for BackupView {
    fn from(it: BackupReport) -> Self {
        Self {
            at: When(it.at),
            file_name: it.file_name,
            encrypted: it.encrypted,
            bytes: it.n_bytes,
            duration_ms: it.duration_ms,
            contents: it.contents.into(),
        }
    }
}

/// A backup that was restored into a scratch folder, opened there, and removed again.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "BackupDrill")]
#[serde(rename_all = "camelCase")]
pub struct DrillView {
    /// When the drill began.
    at: When,
    /// The name of the backup, without the folder.
    file_name: String,
    /// When the backup was made. Null: it is a copy of a database, which does not say so.
    backup_at: Null<When>,
    /// The length of the restored database.
    bytes: u64,
    duration_ms: u64,
    contents: ContentsView,
}

impl From<DrillReport> for DrillView {
    fn from(it: DrillReport) -> Self {
        Self {
            at: When(it.at),
            file_name: it.file_name,
            backup_at: it.backup_at.map(When).into(),
            bytes: it.n_bytes,
            duration_ms: it.duration_ms,
            contents: it.contents.into(),
        }
    }
}

/// The state of backups.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "BackupState")]
#[serde(rename_all = "camelCase")]
pub struct BackupStateView {
    /// Null: nothing is in progress.
    running: Null<WholeWorkView>,
    last_backup: Null<BackupView>,
    last_drill: Null<DrillView>,
    /// Scheduled backups that failed since the start.
    failures: u64,
    /// When the next scheduled backup is due. Null: `backup.dir` is not set.
    next_at: Null<When>,
}

/// Work on the whole database that is in progress.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "DatabaseWork")]
#[serde(rename_all = "camelCase")]
pub struct WholeWorkView {
    /// `backup`, `drill` or `check`.
    what: String,
    /// `copy`, `verify`, `digest`, `encrypt` or `unpack`.
    phase: String,
    /// Rows in the phases `copy` and `verify`, else bytes.
    done: u64,
    total: u64,
}

impl WholeWorkView {
    fn of((what, figures): (WholeWork, ProgressFigures)) -> Self {
        Self {
            what: what.as_str().to_owned(),
            phase: figures.phase.as_str().to_owned(),
            done: figures.n_done,
            total: figures.n_total,
        }
    }
}

impl From<BackupState> for BackupStateView {
    fn from(it: BackupState) -> Self {
        Self {
            running: it.running.map(WholeWorkView::of).into(),
            last_backup: it.last_backup.map(BackupView::from).into(),
            last_drill: it.last_drill.map(DrillView::from).into(),
            failures: it.n_failures,
            next_at: it.next_at.map(When).into(),
        }
    }
}

/// Which backup to make.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "BackupCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct NewBackupBody {
    /// The absolute path of the file to write. It must not exist. Only the command line on the host may name one.
    /// Default: a file in `backup.dir` of the configuration.
    #[serde(default, deserialize_with = "present")]
    #[schemars(length(min = 1, max = 4096))]
    file: Option<String>,
}

example!(NewBackupBody, {});

/// Which backup to restore as a drill.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "BackupDrillCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct DrillBody {
    /// The absolute path of the backup. Only the command line on the host may name one. Default: the newest backup in
    /// `backup.dir` of the configuration.
    #[serde(default, deserialize_with = "present")]
    #[schemars(length(min = 1, max = 4096))]
    file: Option<String>,
    /// The text of the file with the secret key, for an encrypted backup. It is not stored.
    #[serde(default, deserialize_with = "present")]
    #[schemars(length(min = 1, max = 16384))]
    identity: Option<String>,
}

example!(DrillBody, {});

/// A record that is not what was written.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "DamagedRecord")]
#[serde(rename_all = "camelCase")]
pub struct DamagedRecordView {
    /// The table, and what the record is, for example `facts: observation`.
    table: String,
    /// Null: it belongs to no client.
    client_id: Null<Uid>,
    /// Null: it belongs to no client, or the client's own record is damaged.
    client_name: Null<String>,
    /// Empty: a whole part of the table cannot be read.
    key: String,
    reason: String,
}

/// What was found in the whole database.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "DatabaseCheck")]
#[serde(rename_all = "camelCase")]
pub struct CheckView {
    tables: u64,
    /// Records that could be read, damaged or not.
    rows: u64,
    damaged_count: u64,
    /// The first 10,000 of them.
    damaged: Vec<DamagedRecordView>,
    /// Null: the pages of the file were not verified, because the database is in use.
    pages_intact: Null<bool>,
}

const _: () = assert!(N_DAMAGED_MAX == 10_000, "the document says so");

impl From<DamagedRow> for DamagedRecordView {
    fn from(it: DamagedRow) -> Self {
        Self {
            table: it.table,
            client_id: it.client.map(|id| Uid::of(id.as_bytes())).into(),
            client_name: it.client_name.into(),
            key: it.key,
            reason: it.reason,
        }
    }
}

impl From<CheckReport> for CheckView {
    fn from(it: CheckReport) -> Self {
        Self {
            tables: it.n_tables,
            rows: it.n_rows,
            damaged_count: it.n_damaged,
            damaged: it.damaged.into_iter().map(DamagedRecordView::from).collect(),
            pages_intact: it.pages_intact.into(),
        }
    }
}

fn checked(
    field: &str,
    text: Option<String>,
    chars: &std::ops::RangeInclusive<usize>,
) -> Result<Option<String>> {
    match text {
        Some(text) if !chars.contains(&text.chars().count()) => {
            let rule = format!("must have {} to {} characters", chars.start(), chars.end());
            Err(Error::invalid_field(field, rule))
        }
        text => Ok(text),
    }
}

pub struct BackupOperations;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl BackupOperations {
    /// Get the state of backups
    ///
    /// The last backup, the last drill, and how far work in progress is.
    #[oai(path = "/backups", method = "get", operation_id = "get_backups")]
    async fn get_backups(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
    ) -> Result<Data<BackupStateView>, Failure> {
        Ok(Data::of(&BackupStateView::from(web.app.backup_state().await?)))
    }

    /// Make a backup
    ///
    /// Copies the whole database from one snapshot while the service goes on, and reads the copy again. It answers when
    /// that is done, which can take minutes. `posture.key` is not part of it. 409 while another backup, drill or check is in
    /// progress, and if a record is damaged.
    #[oai(path = "/backups", method = "post", operation_id = "create_backup")]
    async fn create_backup(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<NewBackupBody>,
    ) -> Result<Data<BackupView>, Failure> {
        let file = checked("file", body.read()?.file, &PATH_CHARS)?.map(PathBuf::from);
        let report = web.app.back_up(&by.0, file).await?;
        Ok(Data::of(&BackupView::from(report)))
    }

    /// Restore a backup as a drill
    ///
    /// Into a scratch folder, where it is verified, opened and removed. The service goes on. It answers when that is done,
    /// which can take minutes.
    #[oai(path = "/backups/drill", method = "post", operation_id = "drill_backup")]
    async fn drill_backup(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<DrillBody>,
    ) -> Result<Data<DrillView>, Failure> {
        let DrillBody { file, identity } = body.read()?;
        let drill = Drill {
            file: checked("file", file, &PATH_CHARS)?.map(PathBuf::from),
            identity: checked("identity", identity, &IDENTITY_CHARS)?,
        };
        Ok(Data::of(&DrillView::from(web.app.drill(&by.0, drill).await?)))
    }

    /// Check the database
    ///
    /// Reads every record and lists those that are not what was written. It answers when that is done, which can take
    /// minutes.
    #[oai(path = "/check", method = "get", operation_id = "check_database")]
    async fn check_database(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<Administer>,
    ) -> Result<Data<CheckView>, Failure> {
        Ok(Data::of(&CheckView::from(web.app.check_database().await?)))
    }
}
