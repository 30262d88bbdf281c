//! The acceptance of a risk: a person's decision to tolerate the risk until a given time.

use super::{Said, reference};
use crate::app::App;
use crate::app::assessment::condition;
use crate::app::assessment::log::{self, Entry};
use crate::app::event;
use crate::app::event::risk::Return;
use crate::app::input::{require_future, require_length, require_name, require_text};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::{ClientId, RiskId};
use crate::store::per_client::posture::{Acceptance, OpenRisk};
use crate::store::per_client::reference::{ExternalReference, Referenced};
use crate::store::per_client::statement::{Author, StatementNumber, Topic};
use crate::store::{ClientBatch, ClientSnapshot, ClientStore};

pub const REASON_CHARS_MAX: usize = 500;
pub const BY_CHARS_MAX: usize = 255;
/// The longest acceptance: two years, one of them a leap year.
pub const ACCEPTED_DAYS_MAX: i64 = 731;

/// An acceptance to add.
#[derive(Clone, Debug)]
pub struct NewAcceptance {
    pub until: Time,
    pub reason: String,
    pub by: Author,
}

/// What to change of a risk. `None` leaves it as it is.
#[derive(Clone, Debug, Default)]
pub struct RiskChange {
    pub acceptance: Option<Said<NewAcceptance>>,
    pub references: Option<Vec<ExternalReference>>,
}

type References = Option<Vec<ExternalReference>>;

impl App {
    /// Returns an open risk, accepted or not.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access the client; `NotFound` for the client or the risk.
    pub async fn get_risk(
        &self,
        caller: &Caller,
        client: ClientId,
        id: RiskId,
    ) -> Result<OpenRisk> {
        let (_, rows) = self.reach_any(caller, client)?;
        let found = rows.read(move |it: &ClientSnapshot| it.find_risk_by_id(id)).await?;
        found.filter(|it| it.closed.is_none()).ok_or_else(absent)
    }

    /// Accepts a risk until a given time, or changes the time and reason of its acceptance. The risk is not shown
    /// meanwhile. Its control keeps its score. Or revokes the acceptance, or says what other systems call the risk.
    ///
    /// # Errors
    /// As [`App::get_risk`]; `Invalid` with the field that breaks a rule.
    pub async fn change_risk(
        &self,
        caller: &Caller,
        client: ClientId,
        id: RiskId,
        change: impl FnOnce() -> Result<RiskChange>,
    ) -> Result<OpenRisk> {
        let condition = self.get_risk(caller, client, id).await?.risk.condition;
        let RiskChange { acceptance, references } = change()?;
        reference::check(references.as_ref())?;
        let risk = (id, condition);
        match acceptance {
            Some(Said::Stated(new)) => {
                let (_, rows) = self.reach_any(caller, client)?;
                self.accept_risk(&rows, risk, new, references).await
            }
            Some(Said::Withdrawn { reason }) => {
                self.unaccept_risk(caller, client, risk, reason, references).await
            }
            None => {
                let write = move |batch: &mut ClientBatch<'_>| {
                    let open = find(batch, &risk)?;
                    refer(batch, id, &references)?;
                    Ok(open)
                };
                let (_, rows) = self.reach_any(caller, client)?;
                self.write_risk(&rows, write).await
            }
        }
    }

    pub(super) async fn accept_risk(
        &self,
        rows: &ClientStore,
        risk: (RiskId, String),
        new: NewAcceptance,
        references: References,
    ) -> Result<OpenRisk> {
        let now = self.clock.now();
        check(&new, now)?;
        let (topic, reason) = (Topic::Risk(risk.0), new.reason.clone());
        let entry = Entry { topic, reason, author: new.by.clone() };
        let write = move |batch: &mut ClientBatch<'_>| {
            let mut open = find(batch, &risk)?;
            refer(batch, open.id, &references)?;
            let (until, reason, by) = (new.until, new.reason.clone(), new.by.by.clone());
            let severity = open.risk.severity;
            let extent = Some(open.risk.extent);
            let accepted = Acceptance { until, reason, by, at: now, severity, extent };
            let (content, wording) = (log::of_acceptance(&accepted), log::risk_wording(&open));
            log::state(batch, now, entry.clone(), Some(&wording), content)?;
            set_acceptance(batch, &mut open, Some(accepted), &entry.author.account, now)?;
            Ok(open)
        };
        self.write_risk(rows, write).await
    }

    /// The risk is shown again, as old as it is. A risk that is not accepted is not changed.
    async fn unaccept_risk(
        &self,
        caller: &Caller,
        client: ClientId,
        risk: (RiskId, String),
        reason: String,
        references: References,
    ) -> Result<OpenRisk> {
        require_length("reason", Some(&reason), REASON_CHARS_MAX)?;
        let (now, by) = (self.clock.now(), caller.name());
        let entry = Entry { topic: Topic::Risk(risk.0), reason, author: caller.own_author() };
        let write = move |batch: &mut ClientBatch<'_>| {
            let mut open = find(batch, &risk)?;
            refer(batch, open.id, &references)?;
            if open.accepted.is_none() {
                return Ok(open);
            }
            log::withdraw(batch, now, entry.clone())?;
            set_acceptance(batch, &mut open, None, &by, now)?;
            Ok(open)
        };
        let (_, rows) = self.reach_any(caller, client)?;
        self.write_risk(&rows, write).await
    }

    /// Undoes a record about the acceptance of a risk. What counts then is the risk's acceptance, if it is still open.
    pub(super) async fn undo_acceptance(
        &self,
        rows: &ClientStore,
        id: RiskId,
        (entry, record): (Entry, StatementNumber),
    ) -> Result<()> {
        let now = self.clock.now();
        let _alone = self.clients.lock(rows.id()).await;
        let read = move |it: &ClientSnapshot| {
            let standing = log::standing_without(it, &Topic::Risk(id), record)?;
            Ok((it.find_risk_by_id(id)?, standing))
        };
        let (found, standing) = rows.read(read).await?;
        let condition = found.filter(|it| it.closed.is_none()).map(|it| it.risk.condition);
        let write = move |batch: &mut ClientBatch<'_>| {
            let restored = standing.as_ref().map(|it| it.number);
            log::undo(batch, now, entry.clone(), (record, restored))?;
            let Some(condition) = condition.clone() else { return Ok(()) };
            let mut open = find(batch, &(id, condition))?;
            let accepted = standing.as_ref().and_then(log::acceptance_of);
            let accepted = accepted.filter(|it| now < it.until);
            set_acceptance(batch, &mut open, accepted, &entry.author.account, now)
        };
        rows.write(write).await
    }

    /// Waits for an assessment of the client in progress, which would overwrite the risk.
    async fn write_risk(
        &self,
        rows: &ClientStore,
        write: impl FnMut(&mut ClientBatch<'_>) -> Result<OpenRisk> + Send + 'static,
    ) -> Result<OpenRisk> {
        let _alone = self.clients.lock(rows.id()).await;
        rows.write(write).await
    }
}

/// Finds an open risk by its id and condition.
fn find(batch: &ClientBatch<'_>, (id, condition): &(RiskId, String)) -> Result<OpenRisk> {
    let found = batch.find_risk(condition)?;
    found.filter(|it| it.id == *id && it.closed.is_none()).ok_or_else(absent)
}

/// Accepts a risk, changes its acceptance or ends it, and announces what that changes.
fn set_acceptance(
    batch: &mut ClientBatch<'_>,
    open: &mut OpenRisk,
    accepted: Option<Acceptance>,
    by: &str,
    now: Time,
) -> Result<()> {
    let was_shown = open.is_shown();
    let until = accepted.as_ref().map(|it| it.until);
    open.accepted = accepted;
    let is_shown_again = !was_shown && open.is_shown();
    if is_shown_again {
        open.occurrence += 1;
    }
    batch.put_risk(open)?;
    if is_shown_again {
        for event in event::risk::shown_again(open, Return::EndedBy(by), now) {
            event.add(batch)?;
        }
    } else if was_shown && let Some(event) = event::risk::resolved(open, now) {
        event.add(batch)?;
        event::summary::close_one(batch, event.key(), now)?;
    }
    if let Some(until) = until {
        batch.hasten_due(until)?;
    }
    condition::reevaluate_and_schedule(batch, now)
}

/// Replaces the references of a risk if others are given.
fn refer(batch: &mut ClientBatch<'_>, id: RiskId, references: &References) -> Result<()> {
    let Some(references) = references else { return Ok(()) };
    batch.put_references(Referenced::Risk(id), references)
}

fn absent() -> Error {
    Error::not_found("risk not found, or no longer open")
}

pub(super) fn check(new: &NewAcceptance, now: Time) -> Result<()> {
    require_future("until", new.until, now)?;
    if now.plus_days(ACCEPTED_DAYS_MAX) < new.until {
        return Err(Error::invalid_field("until", "must be at most two years from now"));
    }
    require_text("reason", &new.reason, REASON_CHARS_MAX)?;
    require_name("by", &new.by.by, BY_CHARS_MAX)
}
