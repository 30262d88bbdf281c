//! What is wrong at clients now: what opens and closes beside their posture, and the list of all that is open.

use serde_json::{Value, json};

use super::alert;
use crate::app::App;
use crate::app::decision::task;
use crate::app::event::announce;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::engine::fact::Severity;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::global::client::ClientState;
use crate::store::per_client::condition::Condition;
use crate::store::{ClientBatch, ClientSnapshot};

/// One open condition.
#[derive(Clone, Debug)]
pub struct Open {
    pub client: ClientId,
    /// The same in every event about it.
    pub dedup_key: String,
    /// The event type that announces it.
    pub kind: String,
    pub opened_at: Time,
    pub occurrence: u32,
    /// As it was announced.
    pub object: Value,
}

/// Where a list over all clients goes on: behind this condition of this client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub client: ClientId,
    pub dedup_key: String,
}

/// Announces tasks that are overdue now and alerts whose condition became true, and closes those that are over. When
/// time alone may change any of it again.
///
/// Belongs at the end of every commit that changes what alert rules look at.
pub(in crate::app) fn look(batch: &mut ClientBatch<'_>, now: Time) -> Result<Option<Time>> {
    let tasks = task::announce_overdue(batch, now)?;
    let next_due = tasks.iter().filter_map(|it| it.due_at).filter(|it| now < *it).min();
    let next_alert = alert::evaluate(batch, &tasks, now)?;
    Ok(next_due.into_iter().chain(next_alert).min())
}

/// [`look`] in a commit that does not itself say when the client is due.
pub(in crate::app) fn look_again(batch: &mut ClientBatch<'_>, now: Time) -> Result<()> {
    look(batch, now)?.map_or(Ok(()), |at| batch.hasten_due(at))
}

impl App {
    /// What is open now, of one client or all, by client and then by `dedupKey`.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the one client.
    pub async fn list_conditions(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        after: Option<Mark>,
        limit: u32,
    ) -> Result<Vec<Open>> {
        let of_client = |rows: &ClientSnapshot| {
            Ok(open(rows)?.into_iter().map(|it| (it.dedup_key.clone(), it)).collect())
        };
        self.list_over_clients(caller, client, after, limit, of_client).await
    }

    /// Alerts that are open or were lately, in the same order.
    ///
    /// # Errors
    /// As [`App::list_conditions`].
    pub async fn list_alerts(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        after: Option<Mark>,
        limit: u32,
    ) -> Result<Vec<(ClientId, Condition)>> {
        let of_client = |rows: &ClientSnapshot| {
            let all = rows.list_conditions_of(alert::KEY_START)?.into_iter();
            Ok(all.map(|it| (it.key.clone(), (rows.id(), it))).collect())
        };
        self.list_over_clients(caller, client, after, limit, of_client).await
    }

    /// Up to `limit` things behind `after`, each with its key, of each client in turn.
    async fn list_over_clients<T: Send + 'static>(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        after: Option<Mark>,
        limit: u32,
        of_client: impl Fn(&ClientSnapshot) -> Result<Vec<(String, T)>> + Send + 'static,
    ) -> Result<Vec<T>> {
        let mut clients: Vec<ClientId> = if let Some(id) = client {
            vec![self.reach_any(caller, id)?.0.id]
        } else {
            let all = self.directory.list();
            let there = all.iter().filter(|it| it.state != ClientState::Erasing);
            there.map(|it| it.id).filter(|it| caller.may_reach(*it)).collect()
        };
        clients.retain(|it| after.as_ref().is_none_or(|mark| mark.client <= *it));
        let limit = limit as usize;
        let list = self.store.read(move |snapshot| {
            let mut found = Vec::new();
            for id in clients {
                if limit <= found.len() {
                    break;
                }
                let mut some = of_client(&snapshot.client(id))?;
                some.sort_by(|a, b| a.0.cmp(&b.0));
                let mark = after.as_ref().filter(|it| it.client == id);
                some.retain(|(key, _)| mark.is_none_or(|it| it.dedup_key < *key));
                found.extend(some.into_iter().map(|(_, it)| it));
            }
            found.truncate(limit);
            Ok(found)
        });
        list.await
    }
}

/// Everything that is open at one client, in no order.
fn open(rows: &ClientSnapshot) -> Result<Vec<Open>> {
    let client = rows.id();
    let mut all = Vec::new();
    for risk in rows.list_risks()? {
        if risk.closed.is_some() || risk.accepted.is_some() {
            continue;
        }
        let kind = if risk.risk.severity == Severity::Critical {
            EventKind::CriticalRiskDetected
        } else {
            EventKind::RiskItemCreated
        };
        let (opened_at, occurrence) = (risk.opened_at, risk.occurrence);
        let object = announce::risk_object(&risk);
        let kind = kind.as_str().to_owned();
        let dedup_key = announce::risk_key(risk.id);
        all.push(Open { client, dedup_key, kind, opened_at, occurrence, object });
    }
    for it in rows.list_conditions()?.into_iter().filter(|it| it.closed_at.is_none()) {
        let object = serde_json::from_str(&it.object).unwrap_or_else(|_| json!({}));
        let (dedup_key, kind) = (it.key, it.kind);
        let (opened_at, occurrence) = (it.opened_at, it.occurrence);
        all.push(Open { client, dedup_key, kind, opened_at, occurrence, object });
    }
    for it in rows.list_open_tasks()? {
        let Some(opened_at) = it.missed.filter(|at| it.due_at == Some(*at)) else { continue };
        let kind = EventKind::RemediationTaskOverdue.as_str().to_owned();
        let (dedup_key, object) = (task::dedup_key(it.id), task::object(&it));
        let occurrence = it.n_missed;
        all.push(Open { client, dedup_key, kind, opened_at, occurrence, object });
    }
    Ok(all)
}
