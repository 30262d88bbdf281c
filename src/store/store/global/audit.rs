//! The audit log: who changed what, in the commit of the change, and who was denied. Each entry's hash covers the entry
//! before it, so that changed or missing entries are detected.

use crate::store::kernel::audit_head::AuditHead;
use std::sync::{Arc, Mutex, MutexGuard};

use bincode::{Decode, Encode};
use sha2::{Digest, Sha256};

use crate::clock::Time;
use crate::error::Result;
use crate::id::ClientId;
use crate::request::{self, RequestId};
use crate::store::kernel::meta;
use crate::store::kernel::transaction::{Reading, Rows, Transaction, Writing};
use crate::store::row_key::Span;
use crate::store::table::AUDIT;
use crate::store::{Batch, ClientBatch};
use crate::text::visible;

/// Longer texts are truncated.
const TEXT_CHARS_MAX: usize = 300;
const N_FIELDS_MAX: usize = 32;
/// The actor of what the service does by itself.
pub const SERVICE: &str = "service";

/// An act to record.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Act {
    pub at: Time,
    /// Who does it, for example `user ada@example.com`, `key <prefix>`, `operator uid 0` or `service`. Empty: not known yet.
    pub by: String,
    /// The address of the caller.
    pub address: Option<String>,
    /// The operation, for example `PATCH /api/keys/{keyId}`.
    pub action: String,
    /// The path of the request, or the user who was to log in.
    pub about: String,
    /// The names of the fields in the request body, without their values.
    pub fields: Vec<String>,
}

/// The outcome of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum AuditOutcome {
    Done,
    /// Denied with this HTTP status.
    Refused(u16),
}

impl AuditOutcome {
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Done => "done".to_owned(),
            Self::Refused(status) => format!("refused {status}"),
        }
    }
}

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AuditEntry {
    /// Rises by one. The first is 1.
    pub sequence: u64,
    pub at: Time,
    pub by: String,
    pub address: Option<String>,
    pub action: String,
    pub about: String,
    /// The id of what was added or changed.
    pub object: Option<String>,
    pub fields: Vec<String>,
    pub outcome: AuditOutcome,
    /// How many equal acts the entry stands for.
    pub count: u32,
    pub hash: [u8; 32],
}

impl AuditEntry {
    /// What the hash covers: the previous hash in lower-case hexadecimal, then a JSON array of strings.
    #[must_use]
    pub fn canonical(&self, previous: &[u8; 32]) -> String {
        let texts = [
            self.sequence.to_string(),
            self.at.to_string(),
            self.by.clone(),
            self.address.clone().unwrap_or_default(),
            self.action.clone(),
            self.about.clone(),
            self.object.clone().unwrap_or_default(),
            self.fields.join(","),
            self.outcome.text(),
            self.count.to_string(),
        ];
        format!("{}{}", hex::encode(previous), serde_json::json!(texts))
    }

    #[must_use]
    pub fn follows(&self, previous: &[u8; 32]) -> bool {
        self.hash == digest(&self.canonical(previous))
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The text with its invisible characters escaped, cut to [`TEXT_CHARS_MAX`].
fn plain(text: &str) -> String {
    visible(text).chars().take(TEXT_CHARS_MAX).collect()
}

/// What an act changed.
#[derive(Debug, Default)]
pub(in crate::store) struct Changed {
    pub(in crate::store) client: Option<ClientId>,
    /// The id of what was added or changed, if it is not the client itself.
    pub(in crate::store) object: Option<String>,
}

/// The act of one request. It is recorded once, in the commit of the first change that [`Store::acting`] makes for it, if
/// its actor is known. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct PendingAct(Arc<Mutex<PendingState>>);

#[derive(Debug, Default)]
struct PendingState {
    act: Act,
    /// For the log line, which another thread writes.
    request_id: Option<RequestId>,
    is_recorded: bool,
}

impl PendingAct {
    #[must_use]
    pub fn new(act: Act) -> Self {
        let request_id = request::id();
        Self(Arc::new(Mutex::new(PendingState { act, request_id, is_recorded: false })))
    }

    fn lock(&self) -> MutexGuard<'_, PendingState> {
        self.0.lock().expect("no holder of this lock panics")
    }

    /// Sets who does it.
    pub fn set_actor(&self, by: &str) {
        by.clone_into(&mut self.lock().act.by);
    }

    /// Sets what is done, for requests that are no operations of the API.
    pub fn set_action(&self, action: &'static str) {
        action.clone_into(&mut self.lock().act.action);
    }

    #[must_use]
    pub fn action(&self) -> String {
        self.lock().act.action.clone()
    }

    /// Sets what the act is about, if the path of its request does not say.
    pub fn set_subject(&self, about: &str) {
        about.clone_into(&mut self.lock().act.about);
    }

    /// Sets the names of the fields that were sent.
    pub fn set_fields(&self, fields: Vec<String>) {
        self.lock().act.fields = fields;
    }

    #[must_use]
    pub fn has_actor(&self) -> bool {
        !self.lock().act.by.is_empty()
    }

    #[must_use]
    pub fn subject(&self) -> String {
        self.lock().act.about.clone()
    }

    /// Returns true if the act is still to be recorded.
    pub(in crate::store) fn is_due(&self) -> bool {
        let it = self.lock();
        !it.is_recorded && !it.act.by.is_empty()
    }

    #[must_use]
    pub fn act(&self) -> Act {
        self.lock().act.clone()
    }

    /// Logs the act, once it is durable: who did what, to which client.
    pub(in crate::store) fn log(&self, changed: &Changed) {
        let Act { by, address, action, .. } = self.act();
        let client = changed.client.map(tracing::field::display);
        let (by, action) = (plain(&by), plain(&action));
        let id = self.lock().request_id;
        tracing::info!(
            client.id = client,
            object = changed.object,
            address,
            request_id = id.as_deref(),
            "{by}: {action}"
        );
    }

    /// Marks the act as recorded: its commit is durable.
    pub(in crate::store) fn set_recorded(&self) {
        self.lock().is_recorded = true;
    }
}

/// Appends to the log.
pub(in crate::store) fn add(
    rows: &mut Writing,
    act: &Act,
    object: Option<String>,
    outcome: AuditOutcome,
    count: u32,
) -> Result<()> {
    let head = rows.counts.audit;
    let mut entry = AuditEntry {
        sequence: head.sequence + 1,
        at: act.at,
        by: plain(&act.by),
        address: act.address.as_deref().map(plain),
        action: plain(&act.action),
        about: plain(&act.about),
        object,
        fields: act.fields.iter().take(N_FIELDS_MAX).map(|it| plain(it)).collect(),
        outcome,
        count,
        hash: [0; 32],
    };
    entry.hash = digest(&entry.canonical(&head.hash));
    rows.counts.audit = AuditHead { sequence: entry.sequence, hash: entry.hash };
    rows.put_row(AUDIT, &entry.sequence.to_be_bytes(), &entry)
}

pub(in crate::store) fn find_head(rows: &Reading) -> Result<AuditHead> {
    let Some(last) = rows.last_key::<8>(AUDIT)? else { return Ok(AuditHead::default()) };
    let entry: Option<AuditEntry> = rows.find_row(AUDIT, &last)?;
    Ok(entry
        .map_or_else(AuditHead::default, |it| AuditHead { sequence: it.sequence, hash: it.hash }))
}

impl<R: Rows> Transaction<R> {
    /// Up to `limit` entries after a sequence, oldest first.
    pub fn list_audit(&self, after: u64, limit: usize) -> Result<Vec<AuditEntry>> {
        self.rows.list_rows(AUDIT, &Span::all().after(&after.to_be_bytes()), limit)
    }
}

impl Transaction<Reading> {
    /// Up to `limit` entries before a sequence (`None`: from the newest), newest first.
    pub fn list_audit_before(&self, before: Option<u64>, limit: usize) -> Result<Vec<AuditEntry>> {
        let end = self.audit_head()?.sequence + 1;
        let end = before.map_or(end, |it| it.min(end));
        let after = end.saturating_sub(limit as u64 + 1);
        let mut found = self.list_audit(after, limit)?;
        found.retain(|it| it.sequence < end);
        found.reverse();
        Ok(found)
    }

    /// The entry before the first stored one.
    pub fn audit_start(&self) -> Result<AuditHead> {
        Ok(meta::find_audit_start(&self.rows)?.unwrap_or_default())
    }

    pub fn audit_head(&self) -> Result<AuditHead> {
        find_head(&self.rows)
    }
}

impl ClientBatch<'_> {
    /// [`Batch::note_object`].
    pub fn note_object(&mut self, id: &impl std::fmt::Display) {
        self.rows.object = Some(id.to_string());
    }
}

impl Batch {
    /// Adds an entry about something that is not a change, such as a denied request or a start.
    pub fn add_audit(&mut self, act: &Act, outcome: AuditOutcome, count: u32) -> Result<()> {
        add(&mut self.rows, act, None, outcome, count)
    }

    /// Sets the id of what the current act adds or changes.
    pub fn note_object(&mut self, id: &impl std::fmt::Display) {
        self.rows.object = Some(id.to_string());
    }

    /// Removes up to `limit` entries from before `time`, oldest first, but never the last one. Returns true if more remain.
    pub fn remove_audit_before(&mut self, time: Time, limit: usize) -> Result<bool> {
        let old = self.list_audit(0, limit)?;
        let n_old = old.iter().filter(|it| it.at < time).count();
        let last = self.rows.counts.audit.sequence;
        for entry in old.iter().take(n_old).filter(|it| it.sequence != last) {
            self.rows.remove_row(AUDIT, &entry.sequence.to_be_bytes())?;
            let start = AuditHead { sequence: entry.sequence, hash: entry.hash };
            meta::put_audit_start(&mut self.rows, start)?;
        }
        Ok(n_old == limit)
    }
}
