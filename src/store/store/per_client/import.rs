//! Imports of files, and the sources that facts come from.

pub mod undone;

use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::fact::Status;
use crate::error::{Error, Result};
use crate::id::ImportId;
use crate::page::{Cut, Page};
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::per_client::read::reads_key;
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{
    FACT_IMPORT, FACT_IMPORT_AGE, FACT_IMPORT_CHANGE, FACT_IMPORT_COUNT, FACT_IMPORT_DIGEST,
    FACT_IMPORT_TIME, FACT_LIST, FACT_MEMBER, FACT_PART, FACT_SOURCE, FACTS,
};

/// One imported file, push of facts, scan or connector run.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Import {
    pub id: ImportId,
    /// The name that the caller sent.
    pub file_name: String,
    /// The format, which is the importer's name.
    pub format: String,
    /// SHA-256 of the file.
    pub digest: [u8; 32],
    pub source: String,
    /// The first parts of the client that it is about.
    pub scopes: Vec<String>,
    /// How many parts it is about.
    pub n_scopes: u32,
    /// The time of its first observation. `None`: it has none.
    pub observed_from: Option<Time>,
    pub observed_to: Option<Time>,
    pub n_records: u64,
    pub n_facts: u32,
    pub n_assets_new: u32,
    pub n_assets_updated: u32,
    /// Why records were not used, and how many for each reason.
    pub skipped: Vec<(String, u32)>,
    /// Who did it.
    pub by: String,
    pub at: Time,
    /// The source reported its scopes in full: what is missing was removed.
    pub complete: bool,
    /// When the import was undone.
    pub retracted_at: Option<Time>,
}

/// How current the facts of an import were when it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ImportAge {
    pub dating: Dating,
    /// The newest time in the file itself, whatever time its observations were given. `None`: it has none.
    pub file_observed_at: Option<Time>,
    /// How many facts were too old to count.
    pub n_outdated: u32,
}

/// Who said when the observations of an import were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Dating {
    /// What was imported.
    #[default]
    File,
    /// Who imported it declared that it shows the state at the time of the import.
    Now,
    /// Who imported it gave another time.
    Given,
}

/// How a posture moved, for the caller who caused it. Kept of imports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct PostureChange {
    /// The controls whose status changed, by code, with the status before and after.
    pub controls: Vec<(String, Status, Status)>,
    pub n_frameworks: u32,
    pub n_risks_opened: u32,
    pub n_risks_closed: u32,
    /// `None`: it did not move, or there was none.
    pub score_before: Option<u8>,
    /// `None`: it did not move.
    pub score_after: Option<u8>,
    pub n_events: u32,
}

/// A source in one scope, registered by first use.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SourceScope {
    pub source: String,
    pub scope: String,
    pub first_seen_at: Time,
    pub last_seen_at: Time,
    /// `None`: it was never complete.
    pub last_complete_at: Option<Time>,
}

const ID_BYTES: usize = 16;

fn import_key(at: Time, id: ImportId) -> RowKey {
    RowKey::of(FACT_IMPORT).falling(at).bytes(id.as_bytes())
}

fn time_key(id: ImportId) -> RowKey {
    RowKey::of(FACT_IMPORT_TIME).bytes(id.as_bytes())
}

fn change_key(id: ImportId) -> RowKey {
    RowKey::of(FACT_IMPORT_CHANGE).bytes(id.as_bytes())
}

fn age_key(id: ImportId) -> RowKey {
    RowKey::of(FACT_IMPORT_AGE).bytes(id.as_bytes())
}

fn digest_start(digest: &[u8; 32]) -> RowKey {
    RowKey::of(FACT_IMPORT_DIGEST).bytes(digest)
}

fn digest_key(it: &Import) -> RowKey {
    digest_start(&it.digest).falling(it.at).bytes(it.id.as_bytes())
}

fn source_key(source: &str, scope: &str) -> RowKey {
    RowKey::of(FACT_SOURCE).text(source).last_text(scope)
}

impl<R: Rows> ClientTransaction<R> {
    pub fn find_import(&self, id: ImportId) -> Result<Option<Import>> {
        match self.find(FACTS, &time_key(id))? {
            Some(at) => self.find(FACTS, &import_key(at, id)),
            None => Ok(None),
        }
    }

    /// What it changed. `None`: it is of a release that did not keep it.
    pub fn find_import_change(&self, id: ImportId) -> Result<Option<PostureChange>> {
        self.find(FACTS, &change_key(id))
    }

    /// How current it was. `None`: it is of a release that did not keep it.
    pub fn find_import_age(&self, id: ImportId) -> Result<Option<ImportAge>> {
        self.find(FACTS, &age_key(id))
    }

    /// The newest import of exactly these bytes that was not undone.
    pub fn find_import_by_digest(&self, digest: &[u8; 32]) -> Result<Option<Import>> {
        let span = Span::prefix(digest_start(digest).as_slice());
        for key in self.rows.list_keys_of(&FACTS.name(self.client), &span, usize::MAX)? {
            let id = key.last_chunk().expect("every key of this kind ends with an import id");
            let import = self.find_import(ImportId::from_bytes(*id))?;
            if let Some(import) = import.filter(|it| it.retracted_at.is_none()) {
                return Ok(Some(import));
            }
        }
        Ok(None)
    }

    /// All of them, newest first.
    pub fn list_imports(&self) -> Result<Vec<Import>> {
        self.list(FACTS, &RowKey::of(FACT_IMPORT))
    }

    /// A page of them, newest first. The cost depends on the page, not on how many there are.
    pub fn page_imports(&self, cut: Cut) -> Result<Page<Import>> {
        let table = FACTS.name(self.client);
        let span = Span::prefix(RowKey::of(FACT_IMPORT).as_slice());
        let (mut n_passed, mut items) = (0, Vec::new());
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            if cut.offset <= n_passed {
                items.push(self.rows.open_row(&table, key, bytes)?);
            }
            n_passed += 1;
            Ok(if items.len() < cut.limit as usize {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            })
        })?;
        Ok(Page { items, total: self.count_imports()?, cut })
    }

    fn count_imports(&self) -> Result<u64> {
        if let Some(stored) = self.find(FACTS, &RowKey::of(FACT_IMPORT_COUNT))? {
            return Ok(stored);
        }
        let span = Span::prefix(RowKey::of(FACT_IMPORT).as_slice());
        let keys = self.rows.list_keys_of(&FACTS.name(self.client), &span, usize::MAX)?;
        Ok(keys.len() as u64)
    }

    /// The imports from before `time`, newest first.
    pub fn list_imports_before(&self, time: Time) -> Result<Vec<ImportId>> {
        // After all ids of that time.
        let from = RowKey::of(FACT_IMPORT).falling(time).bytes(&[u8::MAX; ID_BYTES + 1]);
        let span = Span::prefix(RowKey::of(FACT_IMPORT).as_slice()).starting(from.as_slice());
        let keys = self.rows.list_keys_of(&FACTS.name(self.client), &span, usize::MAX)?;
        let id = |key: &Vec<u8>| {
            let id = key.last_chunk().expect("every key of this kind ends with an import id");
            ImportId::from_bytes(*id)
        };
        Ok(keys.iter().map(id).collect())
    }

    pub fn find_source(&self, source: &str, scope: &str) -> Result<Option<SourceScope>> {
        self.find(FACTS, &source_key(source, scope))
    }

    /// Returns true if the source reported any scope before.
    pub fn has_source(&self, source: &str) -> Result<bool> {
        let span = Span::prefix(RowKey::of(FACT_SOURCE).text(source).as_slice());
        let keys = self.rows.list_keys_of(&FACTS.name(self.client), &span, 1)?;
        Ok(!keys.is_empty())
    }

    pub fn list_sources(&self) -> Result<Vec<SourceScope>> {
        self.list(FACTS, &RowKey::of(FACT_SOURCE))
    }
}

impl ClientBatch<'_> {
    /// # Errors
    /// `Conflict` if an import with this id exists.
    pub fn add_import(&mut self, import: &Import) -> Result<()> {
        if self.find::<Time>(FACTS, &time_key(import.id))?.is_some() {
            return Err(Error::conflict("an import with this id already exists"));
        }
        self.put_import(import)
    }

    pub fn put_import(&mut self, import: &Import) -> Result<()> {
        if let Some(before) = self.find_import(import.id)? {
            if before.at != import.at {
                self.remove(FACTS, &import_key(before.at, before.id))?;
            }
            if digest_key(&before) != digest_key(import) {
                self.remove(FACTS, &digest_key(&before))?;
            }
        } else {
            let n = self.count_imports()? + 1;
            self.put(FACTS, &RowKey::of(FACT_IMPORT_COUNT), &n)?;
        }
        self.put(FACTS, &time_key(import.id), &import.at)?;
        self.put(FACTS, &digest_key(import), &())?;
        self.put(FACTS, &import_key(import.at, import.id), import)
    }

    pub fn put_import_change(&mut self, id: ImportId, change: &PostureChange) -> Result<()> {
        self.put(FACTS, &change_key(id), change)
    }

    pub fn put_import_age(&mut self, id: ImportId, age: &ImportAge) -> Result<()> {
        self.put(FACTS, &age_key(id), age)
    }

    /// Whether it was there.
    pub fn remove_import(&mut self, id: ImportId) -> Result<bool> {
        let Some(import) = self.find_import(id)? else { return Ok(false) };
        let n = self.count_imports()?.saturating_sub(1);
        self.put(FACTS, &RowKey::of(FACT_IMPORT_COUNT), &n)?;
        self.remove(FACTS, &time_key(id))?;
        self.remove(FACTS, &change_key(id))?;
        self.remove(FACTS, &age_key(id))?;
        self.remove(FACTS, &digest_key(&import))?;
        self.remove(FACTS, &import_key(import.at, id))
    }

    /// Removes up to `n_max` rows of a scope: its lists, its complete reads but the newest, and then the record of its
    /// source. Returns how many. If it is `n_max`, more may remain.
    pub fn remove_scope(&mut self, source: &str, scope: &str, n_max: usize) -> Result<usize> {
        let table = FACTS.name(self.client);
        let mut n = 0;
        for kind in [FACT_MEMBER, FACT_PART, FACT_LIST] {
            let span = Span::prefix(RowKey::of(kind).text(source).text(scope).as_slice());
            for key in self.rows.list_keys_of(&table, &span, n_max - n)? {
                self.rows.remove_row(&table, &key)?;
                self.moved(FACTS.part);
                n += 1;
            }
        }
        for is_of_accounts in [false, true] {
            let span = Span::prefix(reads_key(source, scope, is_of_accounts).as_slice());
            // What the newest one lacks stays gone.
            for key in self.rows.list_keys_of(&table, &span, n_max - n + 1)?.into_iter().skip(1) {
                self.rows.remove_row(&table, &key)?;
                self.moved(FACTS.part);
                n += 1;
            }
        }
        if n < n_max {
            n += usize::from(self.remove(FACTS, &source_key(source, scope))?);
        }
        Ok(n)
    }

    /// Its lists stay.
    pub fn remove_source(&mut self, source: &str, scope: &str) -> Result<()> {
        self.remove(FACTS, &source_key(source, scope)).map(|_| ())
    }

    pub fn put_source(&mut self, source: &SourceScope) -> Result<()> {
        self.put(FACTS, &source_key(&source.source, &source.scope), source)
    }
}
