//! The lists that a source reported about a client: accounts, apps and assets, as of the last read.

use std::ops::ControlFlow;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::layout::Layout;
use crate::store::ClientBatch;
use crate::store::kernel::transaction::{ClientTransaction, Rows};
use crate::store::row_key::{RowKey, Span, after_text};
use crate::store::table::{FACT_HEALTH, FACT_MEMBER, FACT_PART, FACTS};

/// What a list contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum ListKind {
    Observations,
    Identities,
    Apps,
    Assets,
    Leavers,
}

impl ListKind {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observations => "observations",
            Self::Identities => "identities",
            Self::Apps => "apps",
            Self::Assets => "assets",
            Self::Leavers => "leavers",
        }
    }
}

/// Which list of which source.
#[derive(Clone, Copy, Debug)]
pub struct Roster<'a> {
    pub source: &'a str,
    pub scope: &'a str,
    pub part: ListKind,
}

/// The history of reads of a list, from the first complete one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Reads {
    /// The length of the last complete read that was accepted.
    pub n: u32,
    /// When the source last read the list, in full or in part.
    pub at: Time,
    /// The length of a later complete read that was far shorter and was treated as partial.
    pub held: Option<u32>,
}

/// The health of a source.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SourceHealth {
    pub source: String,
    pub state: HealthState,
    /// Failed runs since the last successful one.
    pub n_failures: u32,
    pub last_run_at: Time,
    pub last_success_at: Option<Time>,
    /// Seconds between its last runs, newest last, at most [`N_GAPS_KEPT`].
    pub gaps_s: Vec<i64>,
    /// The message of the last run, if it failed or was partial.
    pub message: Option<String>,
}

pub const N_GAPS_KEPT: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum HealthState {
    Healthy,
    Degraded,
    Failing,
    /// It has not reported within its interval.
    Silent,
}

impl HealthState {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Failing => "failing",
            Self::Silent => "silent",
        }
    }
}

impl Roster<'_> {
    fn key(self, kind: u8) -> RowKey {
        RowKey::of(kind).text(self.source).text(self.scope).text(self.part.as_str())
    }
}

impl<R: Rows> ClientTransaction<R> {
    /// `None` before the first complete read.
    pub fn find_reads(&self, roster: Roster<'_>) -> Result<Option<Reads>> {
        self.find(FACTS, &roster.key(FACT_PART))
    }

    /// The members of a list.
    pub fn list_members<T: Decode<Layout>>(&self, roster: Roster<'_>) -> Result<Vec<T>> {
        self.list(FACTS, &roster.key(FACT_MEMBER))
    }

    /// Visits the members of a list after the one with this id, in the order of their ids, until `each` has enough.
    pub fn visit_members<T: Decode<Layout>>(
        &self,
        roster: Roster<'_>,
        after: Option<&str>,
        mut each: impl FnMut(T) -> ControlFlow<()>,
    ) -> Result<()> {
        let table = FACTS.name(self.client);
        let all = Span::prefix(roster.key(FACT_MEMBER).as_slice());
        let span = match after {
            Some(id) => all.after(roster.key(FACT_MEMBER).last_text(id).as_slice()),
            None => all,
        };
        self.rows.visit_rows(&table, &span, &mut |key, bytes| {
            Ok(each(self.rows.open_row(&table, key, bytes)?))
        })
    }

    /// How many members all lists of this kind have, over all sources and scopes.
    pub fn count_members(&self, part: ListKind) -> Result<usize> {
        let mut n = 0;
        let span = Span::prefix(RowKey::of(FACT_MEMBER).as_slice());
        self.rows.visit_rows(&FACTS.name(self.client), &span, &mut |key, _| {
            let rest = after_text(after_text(&key[1..]));
            n += usize::from(RowKey::empty().text(part.as_str()).is_start_of(rest));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(n)
    }

    pub fn list_source_health(&self) -> Result<Vec<SourceHealth>> {
        self.list(FACTS, &RowKey::of(FACT_HEALTH))
    }

    pub fn find_source_health(&self, source: &str) -> Result<Option<SourceHealth>> {
        self.find(FACTS, &RowKey::of(FACT_HEALTH).last_text(source))
    }
}

impl ClientBatch<'_> {
    pub fn put_reads(&mut self, roster: Roster<'_>, reads: &Reads) -> Result<()> {
        self.put(FACTS, &roster.key(FACT_PART), reads)
    }

    pub fn remove_reads(&mut self, roster: Roster<'_>) -> Result<bool> {
        self.remove(FACTS, &roster.key(FACT_PART))
    }

    pub fn put_member(&mut self, roster: Roster<'_>, id: &str, member: &impl Encode) -> Result<()> {
        self.put(FACTS, &roster.key(FACT_MEMBER).last_text(id), member)
    }

    pub fn remove_member(&mut self, roster: Roster<'_>, id: &str) -> Result<bool> {
        self.remove(FACTS, &roster.key(FACT_MEMBER).last_text(id))
    }

    pub fn put_source_health(&mut self, health: &SourceHealth) -> Result<()> {
        let before = self.find_source_health(&health.source)?;
        self.count_source(before.as_ref(), Some(health))?;
        self.put(FACTS, &RowKey::of(FACT_HEALTH).last_text(&health.source), health)
    }

    /// The source is expected to report no longer.
    pub fn remove_source_health(&mut self, source: &str) -> Result<()> {
        let before = self.find_source_health(source)?;
        self.count_source(before.as_ref(), None)?;
        self.remove(FACTS, &RowKey::of(FACT_HEALTH).last_text(source)).map(|_| ())
    }
}
