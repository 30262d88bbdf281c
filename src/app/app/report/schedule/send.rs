//! Scheduled reports: claimed, sent, settled.
//!
//! A report that is being sent when the service is killed is sent again: nobody knows whether the server took it. It has the
//! same Message-ID then.

use std::sync::Arc;

use super::{rhythm, wording};
use crate::app::App;
use crate::app::report::document::{Document, DocumentFormat};
use crate::auth::caller::{Caller, Principal};
use crate::clock::Time;
use crate::error::{Chain, Code, Result};
use crate::mail::failure::MailFailure;
use crate::mail::trouble::MailTrouble;
use crate::mail::{Attachment, Letter, Sent};
use crate::secret::random;
use crate::store::global::audit::{Act, AuditOutcome, SERVICE};
use crate::store::global::client::ClientState;
use crate::store::global::report::schedule::{
    LastSending, NextSending, RefusedRecipient, ReportSchedule, SendingFailure,
};
use crate::store::{Batch, Snapshot};
use crate::text::file_word;
use crate::webhook::schedule::{DeliveryFailure, next_ms};

/// Reports that are made and sent at the same time.
pub const N_AT_ONCE_MAX: usize = 4;
/// Before each attempt, the first included. All of them end long before the next due time of any schedule.
pub const RETRY_GAPS_S: [u32; 8] = [0, 300, 900, 3_600, 7_200, 14_400, 28_800, 43_200];
/// How long an attempt may take before it counts as lost, with the time to make the report.
pub const LEASE_S: i64 = 600;

impl App {
    /// Begins attempts at reports that are due: each is counted and durable.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn claim_reports(&self) -> Result<Vec<ReportSchedule>> {
        if self.mailing.mailer().is_err() {
            return Ok(Vec::new());
        }
        let now = self.clock.now();
        let list = move |it: &Snapshot| it.list_due_report_schedules(now, N_AT_ONCE_MAX);
        let due = self.store.read(list).await?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let directory = Arc::clone(&self.clients.directory);
        let claim = move |batch: &mut Batch| {
            let mut claimed = Vec::new();
            for id in &due {
                let Some(mut it) = batch.find_report_schedule(*id)? else { continue };
                if now < it.next.due {
                    continue;
                }
                let client = it.client.map(|id| directory.find(id));
                let is_active = client
                    .is_none_or(|it| it.is_some_and(|client| client.state == ClientState::Active));
                if is_active && begin(&mut it, now) {
                    claimed.push(it.clone());
                }
                if !is_active {
                    it.next = planned(&it, now);
                }
                batch.put_report_schedule(&it)?;
            }
            Ok(claimed)
        };
        self.store.reserved().write(claim).await
    }

    /// Makes the attempt, and stores its result.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available. The attempt is then repeated later.
    pub async fn send_report(self: &Arc<Self>, claimed: ReportSchedule) -> Result<()> {
        let sent = match self.report_of(&claimed).await {
            Ok(document) => self.mail_report(&claimed, document).await,
            Err(error) if error.code == Code::Unavailable => return Err(error),
            Err(error) => {
                tracing::error!(report_schedule.id = %claimed.id, error = %Chain(&error), "a scheduled report cannot be made");
                let message = format!("the report cannot be made: {}", error.message());
                Err(MailFailure::new(MailTrouble::Report, message))
            }
        };
        self.settle_report(claimed, sent).await
    }

    /// Writes the report: of one client from its own rows alone.
    async fn report_of(self: &Arc<Self>, it: &ReportSchedule) -> Result<Document> {
        // The service reads as the administrator of this machine does.
        let by = Caller::new(Principal::Operator { uid: 0 });
        let (pdf, language) = (DocumentFormat::Pdf, Some(it.language));
        match (it.client, it.framework) {
            (None, _) => self.portfolio_document(&by, pdf, language).await,
            (Some(client), None) => self.posture_document(&by, client, pdf, language).await,
            (Some(client), Some(framework)) => {
                self.framework_document(&by, (client, framework), pdf, language).await
            }
        }
    }

    async fn mail_report(
        &self,
        it: &ReportSchedule,
        document: Document,
    ) -> std::result::Result<Sent, MailFailure> {
        let now = self.clock.now();
        let path = it.client.map_or("clients".to_owned(), |it| format!("clients/{it}"));
        let link = self.options.public_url.as_ref().map(|url| format!("{url}/{path}"));
        let text = wording::text(it, &document, link.as_deref(), (it.next.slot, now));
        let letter = Letter {
            id: format!("{}.{}", it.id, it.next.slot.micros()),
            to: waiting(it),
            subject: document.name,
            text,
            attachment: Some(Attachment {
                name: format!(
                    "{}-report-{}.pdf",
                    file_word(&document.subject),
                    it.language.as_str()
                ),
                content: document.content,
            }),
            at: now,
        };
        let mailer = self.mailing.mailer();
        let mailer =
            mailer.map_err(|it| MailFailure::new(MailTrouble::Report, it.message().to_owned()))?;
        self.send_letter(&mailer, &letter).await
    }

    async fn settle_report(
        &self,
        claimed: ReportSchedule,
        sent: std::result::Result<Sent, MailFailure>,
    ) -> Result<()> {
        let now = self.clock.now();
        let chance = u32::from_le_bytes(random());
        let (accepted, refused, failure) = match sent {
            Ok(sent) => (sent.accepted, sent.refused, None),
            Err(failure) => (Vec::new(), Vec::new(), Some(failure)),
        };
        let (later, refused): (Vec<_>, Vec<_>) =
            refused.into_iter().partition(|it| it.1.trouble.is_temporary());
        let failure = failure.or_else(|| later.into_iter().next().map(|it| it.1));
        let kind = failure.as_ref().map_or("none", |it| it.trouble.as_str());
        let (n_accepted, n_refused) = (accepted.len(), refused.len());
        tracing::info!(
            report_schedule.id = %claimed.id,
            failure = kind,
            "a scheduled report went to {n_accepted} recipients; {n_refused} were refused for good"
        );
        let settle = move |batch: &mut Batch| {
            let outcome = (&accepted[..], &refused[..], failure.as_ref());
            if !accepted.is_empty() {
                let to = accepted.join(", ");
                record(batch, &claimed, "send a scheduled report", &to, now)?;
            }
            let Some(mut it) = batch.find_report_schedule(claimed.id)? else { return Ok(()) };
            let is_same =
                it.next.slot == claimed.next.slot && it.next.n_attempts == claimed.next.n_attempts;
            if !is_same {
                return Ok(()); // It took so long that it counts as lost.
            }
            settle(&mut it, outcome, (now, chance));
            if let Some(why) = it.last.as_ref().filter(|it| it.has_failed()).map(problem) {
                record(batch, &it, "a scheduled report was not sent", &why, now)?;
            }
            batch.put_report_schedule(&it)
        };
        self.store.reserved().write(settle).await
    }
}

/// Begins an attempt. Returns false if there were too many: the service stopped during each of them.
fn begin(it: &mut ReportSchedule, now: Time) -> bool {
    let is_first = it.next.n_attempts == 0;
    if usize::try_from(it.next.n_attempts).is_ok_and(|n| RETRY_GAPS_S.len() <= n) {
        let message = "the service stopped during the attempts; send it now to try again";
        let failure = MailFailure::new(MailTrouble::Report, message);
        settle(it, (&[], &[], Some(&failure)), (now, 0));
        return false;
    }
    if is_first {
        it.next.n_missed = rhythm::skip(&it.rhythm, it.next.slot, now).map_or(0, |it| it.1);
    }
    it.next.n_attempts += 1;
    it.next.is_under_way = true;
    it.next.due = now.plus_s(LEASE_S);
    true
}

/// The next message. A time zone that this host does not know any more is looked for again every day.
fn planned(it: &ReportSchedule, now: Time) -> NextSending {
    NextSending::at(rhythm::next(&it.rhythm, now).unwrap_or_else(|_| now.plus_days(1)))
}

/// The recipients that neither got the report nor were refused.
fn waiting(it: &ReportSchedule) -> Vec<String> {
    let NextSending { delivered, refused, .. } = &it.next;
    let is_done =
        |to: &String| delivered.contains(to) || refused.iter().any(|it| it.recipient == *to);
    it.recipients.iter().filter(|it| !is_done(it)).cloned().collect()
}

type Outcome<'a> = (&'a [String], &'a [(String, MailFailure)], Option<&'a MailFailure>);

/// What an attempt came to, and when the next one is made.
fn settle(it: &mut ReportSchedule, outcome: Outcome<'_>, (now, chance): (Time, u32)) {
    let (accepted, refused, failure) = outcome;
    it.next.delivered.extend_from_slice(accepted);
    it.next.refused.extend(refused.iter().map(|(recipient, why)| RefusedRecipient {
        recipient: recipient.clone(),
        why: stored(why),
    }));
    let failure = failure.filter(|_| !waiting(it).is_empty());
    let retry = failure.filter(|it| it.trouble.is_temporary()).and_then(|_| {
        next_ms(&RETRY_GAPS_S, it.next.n_attempts, DeliveryFailure::Other, None, chance)
    });
    it.last = Some(LastSending {
        slot: it.next.slot,
        at: now,
        n_missed: it.next.n_missed,
        delivered: it.next.delivered.clone(),
        refused: it.next.refused.clone(),
        failure: failure.map(stored),
        is_retried: retry.is_some(),
    });
    match retry {
        Some(ms) => {
            it.next.is_under_way = false;
            it.next.due = now.plus_ms(ms);
        }
        None => it.next = planned(it, now),
    }
}

fn stored(it: &MailFailure) -> SendingFailure {
    SendingFailure { kind: it.trouble.as_str().to_owned(), message: it.message.clone() }
}

/// Why somebody got nothing.
fn problem(it: &LastSending) -> String {
    let refused = it.refused.first().map(|it| format!("{}: {}", it.recipient, it.why.message));
    let failure = it.failure.as_ref().map(|it| it.message.clone());
    failure.or(refused).unwrap_or_default()
}

/// Writes an act of the service to the audit log.
fn record(
    batch: &mut Batch,
    it: &ReportSchedule,
    action: &str,
    what: &str,
    at: Time,
) -> Result<()> {
    let of = it.client.map_or("all clients".to_owned(), |it| format!("client {it}"));
    let about = format!("report schedule {} of {of}: {what}", it.id);
    let (by, action) = (SERVICE.to_owned(), action.to_owned());
    batch.add_audit(&Act { at, by, action, about, ..Act::default() }, AuditOutcome::Done, 1)
}
