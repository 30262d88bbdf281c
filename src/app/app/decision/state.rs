//! Stores what a person stated, and assesses the client with it.

use std::sync::Arc;

use crate::app::assessment::assess;
use crate::app::assessment::statement::{Statement, Statements};
use crate::app::event::cause::Cause;
use crate::app::{App, ClientLock};
use crate::error::Result;
use crate::store::{ClientBatch, ClientSnapshot, ClientStore};

impl App {
    /// Stores a statement and assesses the client with it, in one commit.
    ///
    /// # Errors
    /// `NotFound` if the client does not exist; `Unavailable` if the disk does not accept the write.
    pub(in crate::app) async fn state(
        &self,
        rows: &ClientStore,
        statement: Statement,
        cause: Cause,
        _: &ClientLock,
    ) -> Result<()> {
        let now = self.clock.now();
        let subject = self.subject(rows.id())?;
        let statement = Arc::new(statement);
        let (said, catalog) = (Arc::clone(&statement), Arc::clone(&subject.catalog));
        let plan = move |snapshot: &ClientSnapshot| {
            let statements = Statements::read_all(snapshot, &subject.catalog, now)?.with(&said);
            let seen = snapshot.read_source_facts()?;
            let plan = assess::plan(snapshot, &subject, &seen, &statements, None, &cause, now)?;
            Ok((plan, statements.carried))
        };
        let (plan, carried) = rows.read(plan).await?;
        let plan = Arc::new(plan);
        let decided = Arc::clone(&plan);
        let write = move |batch: &mut ClientBatch<'_>| {
            decided.require_unchanged(batch)?;
            let all = carried.iter().chain([&*statement]);
            all.into_iter().try_for_each(|it| it.write(batch, &catalog, now))?;
            batch.bump_facts_version()?;
            assess::apply(batch, &decided).map(|_| ())
        };
        rows.write(write).await?;
        self.touch_rest(rows, &plan).await
    }
}
