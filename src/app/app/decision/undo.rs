//! Undoes what was said by mistake: what counts is as if it had never been said, and the record of it stays.

use crate::app::App;
use crate::app::assessment::log::{self, Entry};
use crate::app::assessment::statement::{REASON_CHARS_MAX, Statement};
use crate::app::event::cause::Cause;
use crate::app::input::require_text;
use crate::auth::caller::Caller;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::store::ClientSnapshot;
use crate::store::per_client::statement::{StatementNumber, Topic};

/// Later, a statement can be withdrawn, and what it decided until then stays decided.
pub const UNDO_DAYS: i64 = 30;

impl App {
    /// Records that a record of a client's log was a mistake. What it took the place of counts again.
    ///
    /// # Errors
    /// `Forbidden` and `NotFound` as [`App::reach_any`]; `NotFound` for the record; `Invalid` for the reason; `Conflict` if
    /// it is undone already, undoes another, or is older than [`UNDO_DAYS`]; those of [`App::reassess`].
    pub async fn undo_statement(
        &self,
        caller: &Caller,
        client: ClientId,
        number: StatementNumber,
        reason: String,
    ) -> Result<()> {
        let (_, rows) = self.reach_any(caller, client)?;
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
        let author = caller.author(caller.own_signature());
        let entry = Entry { topic: record.topic.clone(), reason, author };
        match record.topic {
            Topic::Risk(id) => self.undo_acceptance(caller, client, id, (entry, number)).await,
            Topic::Profile(question) => {
                self.undo_answer(caller, client, &question, (entry, number)).await
            }
            Topic::Import(_) => Err(Error::conflict(
                "an import that was undone does not come back: import the file again",
            )),
            topic @ (Topic::Control(_) | Topic::Requirement { .. }) => {
                let lock = self.clients.lock(client).await;
                let standing =
                    rows.read(move |it| log::standing_without(it, &topic, number)).await?;
                let standing = standing.map(Box::new);
                let statement = Statement::Undo { entry, record: number, standing };
                self.state(&rows, statement, Cause::Attestation, &lock).await
            }
        }
    }
}
