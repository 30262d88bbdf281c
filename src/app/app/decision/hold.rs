//! Holds: while one stands, nothing about a client is removed, by age or by erasing it.

use std::collections::HashMap;

use crate::app::App;
use crate::app::assessment::log::{self, Entry};
use crate::app::assessment::statement::REASON_CHARS_MAX;
use crate::app::input::{require_future, require_text};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::store::per_client::statement::{StatementRecord, Topic};
use crate::store::{ClientBatch, ClientSnapshot, ClientStore, Snapshot};

impl App {
    /// Places a hold, or replaces the one that stands. `until`: `None`, until somebody lifts it.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule.
    pub async fn place_hold(
        &self,
        caller: &Caller,
        rows: &ClientStore,
        reason: String,
        until: Option<Time>,
    ) -> Result<()> {
        let now = self.clock.now();
        require_text("reason", &reason, REASON_CHARS_MAX)?;
        until.map_or(Ok(()), |it| require_future("until", it, now))?;
        let entry = Entry { topic: Topic::Hold, reason, author: caller.own_author() };
        let _lock = self.clients.lock(rows.id()).await;
        let state = move |batch: &mut ClientBatch<'_>| {
            log::state(batch, now, entry.clone(), None, log::of_hold(now, until))
        };
        rows.write(state).await
    }

    /// Lifts the hold.
    ///
    /// # Errors
    /// `Forbidden` for a caller who may not reach all clients; `Invalid` for the reason; `NotFound` if none stands.
    pub async fn lift_hold(
        &self,
        caller: &Caller,
        rows: &ClientStore,
        reason: String,
    ) -> Result<()> {
        if caller.allowed_clients().is_some() {
            return Err(Error::forbidden("only somebody who may reach all clients lifts a hold"));
        }
        require_text("reason", &reason, REASON_CHARS_MAX)?;
        let now = self.clock.now();
        let entry = Entry { topic: Topic::Hold, reason, author: caller.own_author() };
        let _lock = self.clients.lock(rows.id()).await;
        if rows.read(move |it| it.find_hold(now)).await?.is_none() {
            return Err(Error::not_found("the client is under no hold"));
        }
        rows.write(move |batch| log::withdraw(batch, now, entry.clone())).await
    }

    /// The holds that stand, of these clients.
    pub async fn find_holds(
        &self,
        clients: Vec<ClientId>,
    ) -> Result<HashMap<ClientId, StatementRecord>> {
        let now = self.clock.now();
        let find = move |snapshot: &Snapshot| {
            let mut holds = HashMap::new();
            for id in clients {
                holds.extend(snapshot.client(id).find_hold(now)?.map(|it| (id, it)));
            }
            Ok(holds)
        };
        self.store.read(find).await
    }

    /// Call it with the client locked. `what`: what somebody wants to do, as the start of a sentence.
    ///
    /// # Errors
    /// `Conflict` if the client is under a hold.
    pub(in crate::app) async fn require_no_hold(
        &self,
        rows: &ClientStore,
        what: &str,
    ) -> Result<()> {
        let now = self.clock.now();
        let find = move |it: &ClientSnapshot| it.find_hold(now);
        let Some(hold) = rows.read(find).await? else { return Ok(()) };
        let end = hold.content().and_then(|it| it.until);
        let end = end.map_or_else(String::new, |it| format!(" until {it}"));
        Err(Error::conflict(format!(
            "{what}: the client is under a hold{end} that {} placed ({}); an administrator who may reach all clients can lift it",
            hold.author.by, hold.reason
        )))
    }
}
