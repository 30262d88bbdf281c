//! What vulnerability scanners found on systems: the newest scans of each system and source.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::vulnerability::{SystemScan, Vulnerability};
use crate::error::Result;
use crate::id::ImportId;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::per_client::fact::key::is_of;
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{FACT_SCAN, FACTS};

/// How many vulnerabilities one row has at most.
const N_ROW_FOUND: usize = 250;

/// A scan as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StoredScan {
    pub source: String,
    /// The import that contained it.
    pub import: ImportId,
    pub scan: SystemScan,
}

/// A part of a stored scan: some of what it found.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ScanRow {
    part: StoredScan,
    number: u16,
}

impl ScanRow {
    /// How many vulnerabilities it has.
    #[must_use]
    pub fn n_found(&self) -> usize {
        self.part.scan.found.len()
    }
}

impl StoredScan {
    /// Splits it into rows: at least one, also if it found nothing.
    pub fn into_rows(mut self) -> impl Iterator<Item = ScanRow> {
        let found = std::mem::take(&mut self.scan.found);
        let parts: Vec<Vec<Vulnerability>> = if found.is_empty() {
            vec![found]
        } else {
            found.chunks(N_ROW_FOUND).map(<[Vulnerability]>::to_vec).collect()
        };
        (0..).zip(parts).map(move |(number, found)| {
            let scan = SystemScan { found, ..self.scan.clone() };
            ScanRow { part: Self { scan, ..self.clone() }, number }
        })
    }
}

/// Names a scan.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ScanKey {
    pub system: String,
    pub source: String,
    pub at: Time,
    pub import: ImportId,
}

impl From<&StoredScan> for ScanKey {
    fn from(it: &StoredScan) -> Self {
        Self {
            system: it.scan.system.clone(),
            source: it.source.clone(),
            at: it.scan.at,
            import: it.import,
        }
    }
}

fn system_start(system: &str) -> RowKey {
    RowKey::of(FACT_SCAN).text(system)
}

fn row_key(key: &ScanKey, number: u16) -> RowKey {
    let scans = system_start(&key.system).text(&key.source).falling(key.at);
    scans.bytes(&number.to_be_bytes()).bytes(key.import.as_bytes())
}

impl<R: Rows> ClientTransaction<R> {
    /// The stored scans of a system by a source, newest first.
    pub fn list_scans(&self, system: &str, source: &str) -> Result<Vec<StoredScan>> {
        let span = Span::prefix(system_start(system).text(source).as_slice());
        let mut found: Vec<StoredScan> = Vec::new();
        let uncounted = self.list_uncounted()?;
        self.visit_scan_rows(&span, |key| !is_of(&uncounted, key), &mut |part| {
            match found.iter_mut().find(|it| it.import == part.import) {
                Some(known) => known.scan.found.extend(part.scan.found),
                None => found.push(part),
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Visits each system from this one on, with the newest scan of each source. Scans of `without` do not count.
    pub fn visit_systems(
        &self,
        from: Option<&str>,
        without: Option<ImportId>,
        mut visit: impl FnMut(Vec<StoredScan>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let whole = Span::prefix(RowKey::of(FACT_SCAN).as_slice());
        let span = match from {
            Some(system) => whole.starting(system_start(system).as_slice()),
            None => whole,
        };
        let mut newest: BTreeMap<String, StoredScan> = BTreeMap::new();
        let mut failed = None;
        let mut flush = |newest: &mut BTreeMap<String, StoredScan>| {
            let scans: Vec<StoredScan> = std::mem::take(newest).into_values().collect();
            if scans.is_empty() {
                return ControlFlow::Continue(());
            }
            visit(scans).unwrap_or_else(|error| {
                failed = Some(error);
                ControlFlow::Break(())
            })
        };
        let mut is_over = false;
        let uncounted = [&self.list_uncounted()?, without.as_slice()].concat();
        self.visit_scan_rows(&span, |key| !is_of(&uncounted, key), &mut |part| {
            let is_next =
                newest.values().next().is_some_and(|it| it.scan.system != part.scan.system);
            if is_next && flush(&mut newest).is_break() {
                is_over = true;
                return ControlFlow::Break(());
            }
            match newest.get_mut(&part.source) {
                Some(known) if (known.scan.at, known.import) == (part.scan.at, part.import) => {
                    known.scan.found.extend(part.scan.found);
                }
                Some(_) => (), // An older one.
                None => {
                    newest.insert(part.source.clone(), part);
                }
            }
            ControlFlow::Continue(())
        })?;
        if !is_over {
            let _ = flush(&mut newest);
        }
        failed.map_or(Ok(()), Err)
    }

    /// The scans of an import. Reads all keys of scans of the client: call it on a snapshot.
    pub fn find_scans_of_import(&self, import: ImportId) -> Result<Vec<ScanKey>> {
        let span = Span::prefix(RowKey::of(FACT_SCAN).as_slice());
        let mut found: Vec<ScanKey> = Vec::new();
        self.visit_scan_rows(&span, |key| is_of(&[import], key), &mut |part| {
            let key = ScanKey::from(&part);
            if found.last() != Some(&key) {
                found.push(key);
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    fn visit_scan_rows(
        &self,
        span: &Span,
        is_wanted: impl Fn(&[u8]) -> bool,
        visit: &mut dyn FnMut(StoredScan) -> ControlFlow<()>,
    ) -> Result<()> {
        let table = FACTS.name(self.client);
        self.rows.visit_rows(&table, span, &mut |key, bytes| {
            if !is_wanted(key) {
                return Ok(ControlFlow::Continue(()));
            }
            Ok(visit(self.rows.open_row::<ScanRow>(&table, key, bytes)?.part))
        })
    }
}

impl ClientBatch<'_> {
    pub fn put_scan_row(&mut self, row: &ScanRow) -> Result<()> {
        self.put(FACTS, &row_key(&ScanKey::from(&row.part), row.number), row)
    }

    /// Removes all rows of a scan.
    pub fn remove_scan(&mut self, key: &ScanKey) -> Result<()> {
        let mut number = 0;
        while self.remove(FACTS, &row_key(key, number))? {
            number += 1;
        }
        Ok(())
    }
}
