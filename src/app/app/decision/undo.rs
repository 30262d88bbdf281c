//! Undoes what was said by mistake: what counts is as if it had never been said, and the record of it stays.

use crate::app::App;
use crate::app::assessment::log::{self, Entry};
use crate::app::assessment::statement::{REASON_CHARS_MAX, Statement};
use crate::app::event::cause::{Cause, Undone};
use crate::app::input::require_text;
use crate::auth::caller::Caller;
use crate::error::{Error, Result};
use crate::store::per_client::statement::subject::SubjectStatement;
use crate::store::per_client::statement::{StatementNumber, StatementRecord, Topic};
use crate::store::{ClientSnapshot, ClientStore};

/// Later, a statement can be withdrawn, and what it decided until then stays decided.
pub const UNDO_DAYS: i64 = 30;

impl App {
    /// Records that a record of a client's log was a mistake. What it took the place of counts again.
    ///
    /// # Errors
    /// `NotFound` for the record; `Invalid` for the reason; `Conflict` if
    /// it is undone already, undoes another, or is older than [`UNDO_DAYS`]; those of [`App::reassess`].
    pub async fn undo_statement(
        &self,
        caller: &Caller,
        rows: &ClientStore,
        number: StatementNumber,
        reason: String,
    ) -> Result<()> {
        require_text("reason", &reason, REASON_CHARS_MAX)?;
        let now = self.clock.now();
        let find = move |snapshot: &ClientSnapshot| log::find(snapshot, number);
        let record = rows.read(find).await?;
        let record = record.ok_or_else(|| Error::not_found("statement not found"))?;
        if record.recorded_at.plus_days(UNDO_DAYS) < now {
            return Err(Error::conflict(format!(
                "statement {number} was recorded more than {UNDO_DAYS} days ago: withdraw it, or say what is true now"
            )));
        }
        let author = caller.own_author();
        let entry = Entry { topic: record.topic.clone(), reason, author };
        match record.topic {
            Topic::Profile(question) => {
                self.undo_answer(caller, rows, &question, (entry, number)).await
            }
            Topic::Import(_) => Err(Error::conflict(
                "an import that was undone does not come back: import the file again",
            )),
            Topic::Hold => Err(Error::conflict("a hold is not undone: lift it, or place it again")),
            Topic::Control(_)
            | Topic::Requirement { .. }
            | Topic::Risk(_)
            | Topic::Whole(_)
            | Topic::Member { .. }
            | Topic::Subjects { .. }
            | Topic::Part { .. } => self.undo_record(rows, entry, number).await,
        }
    }

    /// Undoes a record about a control, a requirement, a risk or the estate.
    pub(super) async fn undo_record(
        &self,
        rows: &ClientStore,
        entry: Entry,
        number: StatementNumber,
    ) -> Result<()> {
        if let Topic::Risk(id) = entry.topic {
            return self.undo_acceptance(rows, id, (entry, number)).await;
        }
        let lock = self.clients.lock(rows.id()).await;
        let topic = entry.topic.clone();
        let find = move |it: &ClientSnapshot| {
            let standing = log::standing_without(it, &topic, number)?;
            let subjects = standing.as_ref().map(|record| subjects_of(it, record)).transpose()?;
            Ok((standing.map(Box::new), subjects.flatten().map(Box::new)))
        };
        let (standing, subjects) = rows.read(find).await?;
        let statement = Statement::Undo { entry, record: number, standing, subjects };
        let cause = Cause::Undo(Undone::Statement(number));
        self.state(rows, statement, cause, &lock).await
    }
}

/// Returns the decision about subjects that a record says. `None`: it says something else.
fn subjects_of(
    rows: &ClientSnapshot,
    record: &StatementRecord,
) -> Result<Option<SubjectStatement>> {
    let Topic::Subjects { id, .. } = record.topic else { return Ok(None) };
    let until = record.content().and_then(|it| it.until);
    until.map_or(Ok(None), |until| rows.find_subject_statement(until, id))
}
