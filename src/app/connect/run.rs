//! One run of a connection: read, ingest, and note how it went.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::facts::{RunLabel, is_complete, is_judged};
use crate::app::App;
use crate::app::intake::list::Lists;
use crate::app::intake::run::Intake;
use crate::app::intake::source::{Run, forget_source};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::connect::dns::{self, Domain};
use crate::connect::reading::{Group, Reading, StreamState};
use crate::connect::settings::Settings;
use crate::error::{Chain, Code, Error, Result};
use crate::id::ConnectionId;
use crate::store::global::client::ClientState;
use crate::store::global::connection::{
    Connection, ConnectionHealth, ConnectionRun, ConnectionState, ConnectionWithRun, GroupRun,
    StreamRun,
};
use crate::store::{Batch, ClientBatch};

/// A run that takes longer is ended, and is tried again.
const RUN_MAX: Duration = Duration::from_mins(10);
/// A run that failed or did not read everything is repeated after this, then after twice as long, and so on.
const RETRY_S: i64 = 3_600;
/// How long a connection waits that the database cannot plan.
const PAUSE: Duration = Duration::from_mins(1);
const S_PER_DAY: i64 = 86_400;
/// What a run could not read is named up to this length.
const MESSAGE_CHARS_MAX: usize = 500;

impl App {
    /// Runs a connection if it is active. A failure is logged and tried again later.
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
        let place = self.connects.running.begin(id, found.connection.client);
        if place.is_none() {
            return Ok(()); // It stays due.
        }
        match found.connection.state {
            ConnectionState::Paused => self.put_due(id, None).await,
            ConnectionState::Removing => self.finish_removal(&found).await,
            ConnectionState::Active => {
                let client = self.clients.directory.find(found.connection.client);
                if client.is_none_or(|it| it.state != ClientState::Active) {
                    let tomorrow = self.clock.now().plus_s(S_PER_DAY);
                    return self.put_due(id, Some(tomorrow)).await;
                }
                self.run_active(found).await
            }
        }
    }

    async fn run_active(&self, found: ConnectionWithRun) -> Result<()> {
        let began = Instant::now();
        let (connection, before) = (found.connection, found.run);
        let settings = Settings::parse(&connection.settings)?;
        let reading = self.read_environment(&settings).await?;
        let now = self.clock.now();
        let label = RunLabel { source: &connection.source, name: &connection.name, at: now };
        let run = outcome(&reading);
        let read: BTreeSet<&str> = reading.groups.iter().map(|it| it.scope.as_str()).collect();
        let known = before.iter().flat_map(|it| &it.groups).map(|it| it.scope.as_str());
        let gone: Vec<String> = known.filter(|it| !read.contains(it)).map(str::to_owned).collect();
        self.retract(&connection, label, gone).await?;
        self.take(&connection, label, &reading, &run).await?;
        self.note_connection_run(&connection, before, (reading, &run, now), began).await
    }

    /// Ingests what was read. Only what was read to the end replaces all that was known of its scope.
    async fn take(
        &self,
        connection: &Connection,
        label: RunLabel<'_>,
        reading: &Reading,
        run: &Run,
    ) -> Result<()> {
        let (whole, part): (Vec<&Group>, Vec<&Group>) =
            reading.groups.iter().partition(|it| is_complete(it));
        let (judged, silent): (Vec<&Group>, Vec<&Group>) =
            whole.into_iter().partition(|it| is_judged(it));
        self.retract(connection, label, silent.iter().map(|it| it.scope.clone()).collect()).await?;
        let catalog = self.catalog();
        let rows = self.store.client_store(connection.client);
        let mut run = Some(run.clone());
        for (groups, complete) in [(judged, true), (part, false)] {
            if groups.is_empty() && (complete || run.is_none()) {
                continue; // Unless nothing else tells how the run went.
            }
            let scopes = groups.iter().map(|it| it.scope.clone()).collect();
            let told = run.take().unwrap_or(Run::Quiet);
            let intake = label.intake(scopes, complete, told, |import| {
                label.observations(&catalog, &groups, import)
            });
            self.ingest(&rows, intake).await?;
        }
        Ok(())
    }

    /// Retracts what the connection found in scopes where it finds nothing any more.
    async fn retract(
        &self,
        connection: &Connection,
        label: RunLabel<'_>,
        scopes: Vec<String>,
    ) -> Result<()> {
        let rows = self.store.client_store(connection.client);
        for scope in scopes {
            let lists = Lists {
                scope: scope.clone(),
                at: label.at,
                complete: true,
                confirm_shrink: true,
                ..Lists::default()
            };
            let intake = label.intake(vec![scope], true, Run::Quiet, |_| Vec::new());
            let intake = Intake { confirm_shrink: true, lists: Some(lists), ..intake };
            self.ingest(&rows, intake).await?;
        }
        Ok(())
    }

    async fn finish_removal(&self, found: &ConnectionWithRun) -> Result<()> {
        let connection = &found.connection;
        let now = self.clock.now();
        let label = RunLabel { source: &connection.source, name: &connection.name, at: now };
        let groups = found.run.iter().flat_map(|it| &it.groups);
        self.retract(connection, label, groups.map(|it| it.scope.clone()).collect()).await?;
        let rows = self.store.client_store(connection.client).reserved();
        let source = connection.source.clone();
        rows.write(move |batch: &mut ClientBatch<'_>| forget_source(batch, &source, now)).await?;
        let id = connection.id;
        self.store.reserved().write(move |batch: &mut Batch| batch.remove_connection(id)).await
    }

    /// Reads everything, and keeps nothing of it.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if it is being tested, or too many others are; `Unavailable` if it takes too long.
    pub async fn test_connection(&self, by: &Caller, id: ConnectionId) -> Result<Reading> {
        let found = self.get_connection(by, id).await?;
        let place = self.connects.testing.begin(id, found.connection.client);
        if place.is_none() {
            let rule = "it is being tested, or too many others are; try again when that has ended";
            return Err(Error::conflict(rule));
        }
        self.read_environment(&Settings::parse(&found.connection.settings)?).await
    }

    async fn read_environment(&self, settings: &Settings) -> Result<Reading> {
        let read = async {
            match settings {
                Settings::Dns { domains } => {
                    let domains = domains.iter().map(|it| Domain::parse(it));
                    let domains = domains.collect::<Result<Vec<_>>>()?;
                    Ok(dns::read(&domains, &self.connects.resolver()?).await)
                }
            }
        };
        let late = |_| {
            let minutes = RUN_MAX.as_secs() / 60;
            Error::unavailable(format!("the environment was not read within {minutes} minutes"))
        };
        timeout(RUN_MAX, read).await.map_err(late)?
    }

    async fn note_connection_run(
        &self,
        connection: &Connection,
        before: Option<ConnectionRun>,
        (reading, run, now): (Reading, &Run, Time),
        began: Instant,
    ) -> Result<()> {
        let health = match run {
            Run::Completed | Run::Quiet => ConnectionHealth::Healthy,
            Run::Degraded { .. } => ConnectionHealth::Degraded,
            Run::Failed { .. } => ConnectionHealth::Failing,
        };
        let is_well = health == ConnectionHealth::Healthy;
        let n_before = before.as_ref().map_or(0, |it| it.n_failures);
        let n_failures = if is_well { 0 } else { n_before.saturating_add(1) };
        let noted = ConnectionRun {
            at: now,
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            health,
            n_failures,
            last_success_at: if is_well {
                Some(now)
            } else {
                before.and_then(|it| it.last_success_at)
            },
            groups: reading.groups.into_iter().map(noted_group).collect(),
        };
        let (id, updated_at) = (connection.id, connection.updated_at);
        let due = next_run(id, n_failures, now);
        let write = move |batch: &mut Batch| {
            let Some(known) = batch.find_connection(id)? else { return Ok(()) };
            batch.put_connection_run(id, &noted)?;
            // What was changed meanwhile is still to be read.
            if known.state == ConnectionState::Active && known.updated_at == updated_at {
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

/// How the run of the source went, as a whole.
fn outcome(reading: &Reading) -> Run {
    let streams = || reading.groups.iter().flat_map(|it| &it.streams);
    let mut missing: Vec<&str> = Vec::new();
    for it in streams().filter(|it| it.state != StreamState::Complete) {
        if !missing.contains(&it.reason.as_str()) {
            missing.push(&it.reason);
        }
    }
    if missing.is_empty() {
        return Run::Completed;
    }
    let message = Some(missing.join("; ").chars().take(MESSAGE_CHARS_MAX).collect());
    let is_anything_read =
        streams().any(|it| matches!(it.state, StreamState::Complete | StreamState::Partial));
    if is_anything_read { Run::Degraded { message } } else { Run::Failed { message } }
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
