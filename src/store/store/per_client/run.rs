//! Runs that take more than one commit: what they staged, and what is left to do of them.

use bincode::{Decode, Encode};

use crate::error::Result;
use crate::id::ImportId;
use crate::layout::Layout;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{FACT_RUN, FACT_STEP, FACT_UNCOUNTED, FACTS};

fn run_key(run: ImportId) -> RowKey {
    RowKey::of(FACT_RUN).bytes(run.as_bytes())
}

fn uncounted_key(run: ImportId) -> RowKey {
    RowKey::of(FACT_UNCOUNTED).bytes(run.as_bytes())
}

fn step_key(run: ImportId, number: u32) -> RowKey {
    RowKey::of(FACT_STEP).bytes(run.as_bytes()).bytes(&number.to_be_bytes())
}

fn import_of(key: &[u8]) -> ImportId {
    ImportId::from_bytes(*key.last_chunk().expect("every key of a run ends with its import"))
}

impl<R: Rows> ClientTransaction<R> {
    /// The runs that are not finished.
    pub fn list_runs<T: Decode<Layout>>(&self) -> Result<Vec<(ImportId, T)>> {
        let span = Span::prefix(RowKey::of(FACT_RUN).as_slice());
        let table = FACTS.name(self.client);
        let mut found = Vec::new();
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            found.push((import_of(key), self.rows.open_row(&table, key, bytes)?));
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    pub fn find_run<T: Decode<Layout>>(&self, run: ImportId) -> Result<Option<T>> {
        self.find(FACTS, &run_key(run))
    }

    /// The runs whose observations do not count: not yet, because they are being staged, or no longer.
    pub fn list_uncounted(&self) -> Result<Vec<ImportId>> {
        let span = Span::prefix(RowKey::of(FACT_UNCOUNTED).as_slice());
        let keys = self.rows.list_keys_of(&FACTS.name(self.client), &span, usize::MAX)?;
        Ok(keys.iter().map(|it| import_of(it)).collect())
    }

    /// The steps of a run from a number on, in order: the first, and those after it that fit.
    pub fn list_steps<T: Decode<Layout>>(
        &self,
        run: ImportId,
        from: u32,
        mut fits: impl FnMut(&T) -> bool,
    ) -> Result<Vec<(u32, T)>> {
        let table = FACTS.name(self.client);
        let start = RowKey::of(FACT_STEP).bytes(run.as_bytes());
        let span = Span::prefix(start.as_slice()).starting(step_key(run, from).as_slice());
        let mut found = Vec::new();
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            let step = self.rows.open_row(&table, key, bytes)?;
            if !fits(&step) && !found.is_empty() {
                return Ok(std::ops::ControlFlow::Break(()));
            }
            found.push((step_number(key), step));
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// The numbers of up to `limit` steps of a run.
    pub fn list_step_numbers(&self, run: ImportId, limit: usize) -> Result<Vec<u32>> {
        let span = Span::prefix(RowKey::of(FACT_STEP).bytes(run.as_bytes()).as_slice());
        let keys = self.rows.list_keys_of(&FACTS.name(self.client), &span, limit)?;
        Ok(keys.iter().map(|it| step_number(it)).collect())
    }
}

fn step_number(key: &[u8]) -> u32 {
    u32::from_be_bytes(*key.last_chunk().expect("every key of a step ends with its number"))
}

impl ClientBatch<'_> {
    pub fn put_run(&mut self, run: ImportId, record: &impl Encode) -> Result<()> {
        self.put(FACTS, &run_key(run), record)
    }

    pub fn remove_run(&mut self, run: ImportId) -> Result<()> {
        self.remove(FACTS, &run_key(run)).map(|_| ())
    }

    /// Whether the observations of a run count.
    pub fn set_counted(&mut self, run: ImportId, is_counted: bool) -> Result<()> {
        if is_counted {
            return self.remove(FACTS, &uncounted_key(run)).map(|_| ());
        }
        self.put(FACTS, &uncounted_key(run), &())
    }

    pub fn put_step(&mut self, run: ImportId, number: u32, step: &impl Encode) -> Result<()> {
        self.put(FACTS, &step_key(run, number), step)
    }

    pub fn remove_step(&mut self, run: ImportId, number: u32) -> Result<()> {
        self.remove(FACTS, &step_key(run, number)).map(|_| ())
    }
}
