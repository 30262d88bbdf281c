//! One run of a connection: read, ingest, and note how it went.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::feed::Feed;
use super::registry::Turn;
use crate::app::App;
use crate::app::intake::source::Run;
use crate::clock::Time;
use crate::connect::reading::{Group, Reading, StreamState};
use crate::error::{Chain, Code, Result};
use crate::id::ConnectionId;
use crate::store::Batch;
use crate::store::global::client::ClientState;
use crate::store::global::connection::{
    Connection, ConnectionHealth, ConnectionRun, ConnectionState, ConnectionWithRun, GroupRun,
    StreamRun,
};

/// A run that failed or did not read everything is repeated after this, then after twice as long, and so on.
const RETRY_S: i64 = 3_600;
/// While a client has not consented, it is asked for so often, for some days.
const CONSENT_S: i64 = 900;
const CONSENT_MAX_S: i64 = 7 * S_PER_DAY;
/// In the first hour, while somebody may be about to consent, more often.
const CONSENT_SOON_S: i64 = 120;
const CONSENT_SOON_FOR_S: i64 = 3_600;
/// How long a connection waits that the database cannot plan.
const PAUSE: Duration = Duration::from_mins(1);
const S_PER_DAY: i64 = 86_400;
/// What a run could not read is named up to this length.
const MESSAGE_CHARS_MAX: usize = 500;

impl App {
    /// Runs a connection if it is due and active. A failure is logged and tried again later.
    pub async fn run_connection(&self, id: ConnectionId) {
        let Err(error) = self.try_run_connection(id).await else { return };
        if error.code == Code::NotFound {
            return; // The client was erased meanwhile.
        }
        let why = Chain(&error).to_string();
        tracing::error!(connection.id = %id, error = why, "connection `{id}` did not run and is tried again later: {why}");
        let later = self.clock.now().plus_s(RETRY_S);
        if let Err(error) = self.put_due(id, Some(later)).await {
            let why = Chain(&error).to_string();
            tracing::error!(
                error = why,
                "the next run of connection `{id}` could not be planned: {why}"
            );
            sleep(PAUSE).await;
        }
    }

    async fn try_run_connection(&self, id: ConnectionId) -> Result<()> {
        let find = move |it: &crate::store::Snapshot| {
            let found = it.find_connection(id)?;
            found.map(|connection| it.with_run(connection)).transpose()
        };
        let Some(found) = self.store.read(find).await? else { return Ok(()) };
        let place = self.connects.running.begin(Turn::of(&found));
        if place.is_none() {
            return Ok(()); // It stays due.
        }
        // A run that ended since it was listed may have been the one that was due.
        let now = self.clock.now();
        let due = self.store.read(move |it| it.find_due_connection(id)).await?;
        if due.is_none_or(|it| now < it) {
            return Ok(());
        }
        match found.connection.state {
            ConnectionState::Paused => self.put_due(id, None).await,
            ConnectionState::Removing => self.finish_removal(&found).await,
            ConnectionState::Active => {
                let client = found.connection.client;
                let is_active = |client| {
                    let found = self.clients.directory.find(client);
                    found.is_some_and(|it| it.state == ClientState::Active)
                };
                if !client.is_none_or(is_active) {
                    let tomorrow = self.clock.now().plus_s(S_PER_DAY);
                    return self.put_due(id, Some(tomorrow)).await;
                }
                self.run_active(found).await
            }
        }
    }

    async fn run_active(&self, found: ConnectionWithRun) -> Result<()> {
        let (began, began_at) = (Instant::now(), self.clock.now());
        let (connection, before) = (found.connection, found.run);
        let mut reading = self.read_environment(connection.id).await?;
        let now = self.clock.now();
        match connection.client {
            Some(client) => {
                self.hold_shrunk(Feed::of(&connection, client, now), &mut reading).await?;
            }
            None => self.hold_shrunk_orgs(&connection, &mut reading, now).await?,
        }
        let outcome = outcome(&reading);
        match connection.client {
            Some(client) => {
                let feed = Feed::of(&connection, client, now);
                let was_read = before.as_ref().is_some_and(|it| it.last_success_at.is_some());
                if was_read || !reading.awaits_consent {
                    let known = before.iter().flat_map(|it| &it.groups);
                    let known = known.map(|it| it.scope.as_str());
                    self.feed_client(feed, known, &reading, outcome.run()).await?;
                }
            }
            None => self.feed_orgs(&connection, &reading, &outcome, now).await?,
        }
        self.note_connection_run(&connection, before, (reading, &outcome, now), (began, began_at))
            .await
    }

    /// Ingests a reading of one client. `known`: the scopes of the run before.
    async fn feed_client(
        &self,
        feed: Feed<'_>,
        known: impl Iterator<Item = &str>,
        reading: &Reading,
        run: Run,
    ) -> Result<()> {
        let read: BTreeSet<&str> = reading.groups.iter().map(|it| it.scope.as_str()).collect();
        let gone = known.filter(|it| !it.is_empty() && !read.contains(it));
        // An environment that could not be read at all has not lost its parts.
        let gone = gone.filter(|_| !read.contains("")).map(str::to_owned).collect();
        self.retract(feed, gone).await?;
        self.feed(feed, &reading.groups.iter().collect::<Vec<_>>(), run).await
    }

    async fn finish_removal(&self, found: &ConnectionWithRun) -> Result<()> {
        let connection = &found.connection;
        let now = self.clock.now();
        match connection.client {
            Some(client) => {
                let feed = Feed::of(connection, client, now);
                let groups = found.run.iter().flat_map(|it| &it.groups);
                let scopes = groups.map(|it| it.scope.clone()).filter(|it| !it.is_empty());
                self.retract(feed, scopes.collect()).await?;
                self.forget_connection(feed).await?;
            }
            None => self.retract_orgs(connection, now).await?,
        }
        let id = connection.id;
        self.store.reserved().write(move |batch: &mut Batch| batch.remove_connection(id)).await
    }

    async fn note_connection_run(
        &self,
        connection: &Connection,
        before: Option<ConnectionRun>,
        (reading, outcome, now): (Reading, &Outcome, Time),
        (began, began_at): (Instant, Time),
    ) -> Result<()> {
        let is_well = outcome.health == ConnectionHealth::Healthy;
        let n_before = before.as_ref().map_or(0, |it| it.n_failures);
        let n_failures = if is_well { 0 } else { n_before.saturating_add(1) };
        let age_s = now.s_since(connection.created_at);
        let due = if !reading.awaits_consent || CONSENT_MAX_S <= age_s {
            next_run(connection.id, n_failures, now)
        } else {
            now.plus_s(if age_s < CONSENT_SOON_FOR_S { CONSENT_SOON_S } else { CONSENT_S })
        };
        let noted = ConnectionRun {
            at: now,
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            health: outcome.health,
            awaits_consent: reading.awaits_consent,
            n_failures,
            last_success_at: if is_well {
                Some(now)
            } else {
                before.as_ref().and_then(|it| it.last_success_at)
            },
            groups: noted_groups(reading.groups, before.map_or_else(Vec::new, |it| it.groups)),
        };
        let (id, updated_at) = (connection.id, connection.updated_at);
        let write = move |batch: &mut Batch| {
            let Some(known) = batch.find_connection(id)? else { return Ok(()) };
            batch.put_connection_run(id, &noted)?;
            // What was changed meanwhile is still to be read.
            let is_asked_again = batch.find_due_connection(id)?.is_some_and(|it| began_at < it);
            let is_same = known.state == ConnectionState::Active && known.updated_at == updated_at;
            if is_same && !is_asked_again {
                batch.put_due_connection(id, Some(due))?;
            }
            Ok(())
        };
        self.store.reserved().write(write).await
    }
}

/// Each connection runs once a day at a time of its own, so that not all run at once. One that could not read everything
/// runs sooner.
fn next_run(id: ConnectionId, n_failures: u32, now: Time) -> Time {
    let random = u32::from_be_bytes(*id.as_bytes().last_chunk().expect("an id has 16 bytes"));
    let of_day_s = i64::from(random) % S_PER_DAY;
    let today = Time::from_s(now.s() - now.s() % S_PER_DAY + of_day_s);
    // Not twice within half a day.
    let is_near = |it: Time| it.s_since(now) < S_PER_DAY / 2;
    let daily = if is_near(today) { today.plus_s(S_PER_DAY) } else { today };
    if n_failures == 0 {
        return daily;
    }
    daily.min(now.plus_s(RETRY_S << (n_failures - 1).min(5)))
}

/// How a run went, as a whole.
pub(super) struct Outcome {
    health: ConnectionHealth,
    /// What was not read, and why.
    message: Option<String>,
}

impl Outcome {
    /// As the client is told.
    pub(super) fn run(&self) -> Run {
        let message = self.message.clone();
        match self.health {
            ConnectionHealth::Healthy => Run::Completed,
            ConnectionHealth::Degraded => Run::Degraded { message },
            ConnectionHealth::Failing => Run::Failed { message },
        }
    }
}

fn outcome(reading: &Reading) -> Outcome {
    let streams = || reading.groups.iter().flat_map(|it| &it.streams);
    let mut missing: Vec<&str> = Vec::new();
    // A client without a license has read all that it can.
    let is_settled =
        |it: &StreamState| matches!(it, StreamState::Complete | StreamState::Unlicensed);
    for it in streams().filter(|it| !is_settled(&it.state)) {
        if !missing.contains(&it.reason.as_str()) {
            missing.push(&it.reason);
        }
    }
    if missing.is_empty() {
        return Outcome { health: ConnectionHealth::Healthy, message: None };
    }
    let message = Some(missing.join("; ").chars().take(MESSAGE_CHARS_MAX).collect());
    let is_anything_read =
        streams().any(|it| matches!(it.state, StreamState::Complete | StreamState::Partial));
    let health =
        if is_anything_read { ConnectionHealth::Degraded } else { ConnectionHealth::Failing };
    Outcome { health, message }
}

/// What could not be read as a whole keeps the parts that were read before: what was said of them still stands, and is
/// retracted when the connection is removed.
fn noted_groups(read: Vec<Group>, fed: Vec<GroupRun>) -> Vec<GroupRun> {
    let is_unread = read.iter().any(|it| it.scope.is_empty());
    let fed = fed.into_iter().filter(|it| is_unread && !it.scope.is_empty());
    let fed = fed.map(|it| GroupRun { streams: Vec::new(), ..it });
    read.into_iter().map(noted_group).chain(fed).collect()
}

fn noted_group(group: Group) -> GroupRun {
    let stream = |it: crate::connect::reading::Stream| StreamRun {
        name: it.name,
        state: it.state.as_str().to_owned(),
        reason: it.reason,
        n_rows: it.n_rows,
    };
    GroupRun {
        scope: group.scope,
        streams: group.streams.into_iter().map(stream).collect(),
        notes: group.notes,
    }
}
