//! Reports by e-mail on schedule: list, add, change, remove, and send now.

pub mod rhythm;
pub mod send;
mod wording;

use std::collections::BTreeSet;

use crate::app::App;
use crate::app::notice::NoticeKind;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::engine::framework::FrameworkId;
use crate::error::{Error, Result};
use crate::id::{ClientId, ReportScheduleId};
use crate::mail::{ADDRESS_CHARS_MAX, is_address};
use crate::paper::Language;
use crate::store::global::report::schedule::{LastSending, NextSending, ReportSchedule, Rhythm};
use crate::store::{Batch, Snapshot};

pub const N_RECIPIENTS_MAX: usize = 20;
/// Of one client, and of those about all clients.
pub const N_OWN_MAX: usize = 20;
/// Of all clients together.
pub const N_ALL_MAX: usize = 10_000;

/// A schedule to add.
#[derive(Clone, Debug)]
pub struct NewSchedule {
    /// `None`: the report is about all clients.
    pub client: Option<ClientId>,
    /// `None`: it is the report about the client.
    pub framework: Option<FrameworkId>,
    pub recipients: Vec<String>,
    /// `None`: that of the configuration.
    pub language: Option<Language>,
    pub rhythm: Rhythm,
}

/// What to change of a schedule. `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct ScheduleChange {
    pub recipients: Option<Vec<String>>,
    pub language: Option<Language>,
    pub rhythm: Option<Rhythm>,
}

impl App {
    /// Oldest first, of the clients that the caller may access; those about all clients, only if the caller may access all.
    /// `client`: only of this one. `failing`: only those whose last message did not reach everybody.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access the client.
    pub async fn list_report_schedules(
        &self,
        by: &Caller,
        client: Option<ClientId>,
        failing: bool,
    ) -> Result<Vec<ReportSchedule>> {
        if let Some(client) = client {
            by.reach(&self.store, client)?;
        }
        let list = move |it: &Snapshot| match client {
            Some(client) => it.list_own_report_schedules(Some(client)),
            None => it.list_report_schedules(),
        };
        let mut all = by.acting_on(&self.store).read(list).await?;
        all.retain(|it| may_see(by, it) && (!failing || has_failed(it)));
        Ok(all)
    }

    /// # Errors
    /// `NotFound`, also if the caller may not access its client.
    pub async fn get_report_schedule(
        &self,
        by: &Caller,
        id: ReportScheduleId,
    ) -> Result<ReportSchedule> {
        let store = by.acting_on(&self.store);
        let found = store.read(move |it| it.find_report_schedule(id)).await?;
        found.filter(|it| may_see(by, it)).ok_or_else(absent)
    }

    /// Adds a schedule. It is due for the first time at its next due time.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access the client, or all clients; `NotFound` for the client; `Invalid` with the
    /// field that breaks a rule; `Conflict` if there are too many, or no server is configured.
    pub async fn add_report_schedule(
        &self,
        by: &Caller,
        new: NewSchedule,
    ) -> Result<ReportSchedule> {
        let NewSchedule { client, framework, recipients, language, rhythm } = new;
        match client {
            Some(client) => {
                self.reach_any(by, client)?;
            }
            None if by.allowed_clients().is_some() => {
                let rule = "a report about all clients is for those who may access all of them";
                return Err(Error::forbidden(rule));
            }
            None if framework.is_some() => {
                let rule = "a report about a framework is about one client; name it";
                return Err(Error::invalid_field("clientId", rule));
            }
            None => (),
        }
        check_recipients(&recipients)?;
        rhythm::check(&rhythm)?;
        self.mailing.mailer()?;
        let now = self.clock.now();
        let schedule = ReportSchedule {
            id: ReportScheduleId::made_at(now),
            client,
            framework,
            recipients,
            language: language.unwrap_or(self.letterhead().language),
            next: NextSending::at(rhythm::next(&rhythm, now)?),
            rhythm,
            created_at: now,
            updated_at: now,
            last: None,
        };
        let row = schedule.clone();
        let write = move |batch: &mut Batch| {
            if let Some(client) = row.client {
                batch.client(client).require_client()?;
            }
            let too_many = |n: usize, of: &str| {
                let rule = format!("there are already {n} schedules {of}; remove one first");
                Err(Error::conflict(rule))
            };
            if N_OWN_MAX <= batch.list_own_report_schedules(row.client)?.len() {
                let of = if row.client.is_some() { "of this client" } else { "about all clients" };
                return too_many(N_OWN_MAX, of);
            }
            if N_ALL_MAX <= batch.count_report_schedules()? {
                return too_many(N_ALL_MAX, "in all");
            }
            batch.note_object(&row.id);
            batch.put_report_schedule(&row)
        };
        by.acting_on(&self.store).write(write).await?;
        Ok(schedule)
    }

    /// Changes a schedule. What is being sent goes to the recipients of before.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` with the field that breaks a rule.
    pub async fn change_report_schedule(
        &self,
        by: &Caller,
        id: ReportScheduleId,
        change: impl FnOnce(Option<ClientId>) -> Result<ScheduleChange>,
    ) -> Result<ReportSchedule> {
        let client = self.get_report_schedule(by, id).await?.client;
        let change = change(client)?;
        change.recipients.as_deref().map_or(Ok(()), check_recipients)?;
        change.rhythm.as_ref().map_or(Ok(()), rhythm::check)?;
        let now = self.clock.now();
        let next = change.rhythm.as_ref().map(|it| rhythm::next(it, now)).transpose()?;
        let write = move |batch: &mut Batch| {
            let mut it = batch.find_report_schedule(id)?.ok_or_else(absent)?;
            let ScheduleChange { recipients, language, rhythm } = change.clone();
            it.recipients = recipients.unwrap_or(it.recipients);
            it.language = language.unwrap_or(it.language);
            it.rhythm = rhythm.unwrap_or(it.rhythm);
            it.updated_at = now;
            // One that is being sent, or tried again, is planned anew once it has ended.
            if let Some(at) = next.filter(|_| it.next.n_attempts == 0) {
                it.next = NextSending::at(at);
            }
            batch.put_report_schedule(&it)?;
            Ok(it)
        };
        by.acting_on(&self.store).write(write).await
    }

    /// # Errors
    /// `NotFound`, also if the caller may not access its client.
    pub async fn remove_report_schedule(&self, by: &Caller, id: ReportScheduleId) -> Result<()> {
        self.get_report_schedule(by, id).await?;
        let write = move |batch: &mut Batch| {
            let it = batch.find_report_schedule(id)?.ok_or_else(absent)?;
            batch.remove_report_schedule(&it)
        };
        by.acting_on(&self.store).reserved().write(write).await?;
        self.note_reports().await
    }

    /// Has a report sent at once, in the background. The schedule stays: it is due again at its next due time.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if it is being sent, or no server is configured.
    pub async fn hasten_report_schedule(
        &self,
        by: &Caller,
        id: ReportScheduleId,
    ) -> Result<ReportSchedule> {
        self.get_report_schedule(by, id).await?;
        self.mailing.mailer()?;
        let now = self.clock.now();
        let write = move |batch: &mut Batch| {
            let mut it = batch.find_report_schedule(id)?.ok_or_else(absent)?;
            if it.next.is_under_way && now < it.next.due {
                return Err(Error::conflict("the report is being sent; wait a moment"));
            }
            it.next = if it.next.n_attempts == 0 {
                NextSending::at(now)
            } else {
                NextSending { due: now, n_attempts: 0, is_under_way: false, ..it.next }
            };
            batch.put_report_schedule(&it)?;
            Ok(it)
        };
        by.acting_on(&self.store).write(write).await
    }

    /// Opens or closes the notice about reports that were not sent, by what the database has.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn note_reports(&self) -> Result<()> {
        let all = self.store.read(Snapshot::list_report_schedules).await?;
        let ends = all.iter().filter(|it| has_failed(it)).filter_map(|it| it.last.as_ref());
        let since: Option<Time> = ends.clone().map(|it| it.at).min();
        let reports =
            |n: usize| if n == 1 { "1 report".to_owned() } else { format!("{n} reports") };
        self.notices.close(NoticeKind::ReportsNotSent);
        if let (Err(error), Some(first)) = (self.mailing.mailer(), all.first()) {
            let what = reports(all.len());
            let message = format!("{what} on schedule cannot be sent: {}", error.message());
            self.notices.open(NoticeKind::ReportsNotSent, first.created_at, message);
        } else if let Some(since) = since {
            let what = reports(ends.count());
            let message = format!(
                "{what} on schedule did not reach everybody; `posture report schedule list --failing` says why"
            );
            self.notices.open(NoticeKind::ReportsNotSent, since, message);
        }
        Ok(())
    }
}

fn has_failed(it: &ReportSchedule) -> bool {
    it.last.as_ref().is_some_and(LastSending::has_failed)
}

fn may_see(by: &Caller, it: &ReportSchedule) -> bool {
    it.client.map_or(by.allowed_clients().is_none(), |it| by.may_reach(it))
}

fn absent() -> Error {
    Error::not_found("report schedule not found")
}

fn check_recipients(all: &[String]) -> Result<()> {
    let refuse = |rule: String| Err(Error::invalid_field("recipients", rule));
    if !(1..=N_RECIPIENTS_MAX).contains(&all.len()) {
        return refuse(format!("must have 1 to {N_RECIPIENTS_MAX} addresses"));
    }
    if let Some(bad) = all.iter().find(|it| !is_address(it)) {
        let shown = crate::text::line(bad, ADDRESS_CHARS_MAX);
        return refuse(format!("`{shown}` is not an e-mail address, such as ada@example.com"));
    }
    let different: BTreeSet<String> = all.iter().map(|it| it.to_lowercase()).collect();
    if different.len() != all.len() {
        return refuse("has an address twice".to_owned());
    }
    Ok(())
}
