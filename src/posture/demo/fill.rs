//! The demonstration: fills an empty database with a realistic portfolio through the real ingest path.
//!
//! It is deterministic: the portfolio is the same each time, except for its dates.

use std::sync::{Arc, OnceLock};

use tokio::task::JoinSet;

use super::cloud::Cloud;
use super::desk::Desk;
use super::office::{self, Login};
use super::portfolio::{CLIENTS, DemoClient};
use super::run::{Duties, ToolRun};
use super::schedule::{self, N_LANES, SLOT_S, SPREAD_S, Slot, Work};
use super::story::N_WEEKS;
use crate::app::App;
use crate::app::access::key::NewKey;
use crate::app::decision::client::ClientChange;
use crate::app::intake::run::Intake;
use crate::auth::caller::{Caller, Principal};
use crate::auth::key::KeyText;
use crate::clock::{Clock, Time};
use crate::engine::catalog::Catalog;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::secret::Sealer;
use crate::serve::{ServeOptions, load_catalog};
use crate::store::global::key::Scope;
use crate::store::{ClientSnapshot, ClientStore, Store};

const HISTORY_DAYS: i64 = 7 * N_WEEKS.cast_signed();
/// The member of a client's settings that marks it as a demonstration client.
const MARK: &str = "demo";
const KEY_NAME: &str = "demo";
/// When the first client was added, in seconds of the first day.
const FIRST_CLIENT_S: i64 = 60;
/// How long before now the last assessment is.
const LAST_UPKEEP_S: i64 = 300;
/// The machines are listed every so many weeks.
const ASSET_WEEKS: u64 = 4;
/// Prowler on the second cloud of a client follows that on the first.
const NEXT_CLOUD_S: i64 = 210;

/// How to get into the demonstration.
pub struct Demo {
    /// A key with all scopes.
    pub key: KeyText,
    /// The key of the start before was revoked.
    pub replaces: bool,
    /// The users, after the portfolio was completed. Empty at later starts.
    pub logins: Vec<Login>,
}

/// Fills the database if it is empty or was not filled to the end, and issues a key with all scopes. `progress` is called
/// at the start of each week.
///
/// # Errors
/// `Conflict` if the database contains real clients; those of the store.
pub async fn fill(store: &Store, options: &ServeOptions, progress: impl Fn(u64)) -> Result<Demo> {
    let now = Clock::System.now();
    let catalog = load_catalog()?;
    let open = |at: Time| {
        let (sealer, clock) = (Sealer::random(), Clock::manual(at));
        App::open(store.clone(), catalog.clone(), sealer, clock, options.app.clone()).map(Arc::new)
    };
    let app = open(now)?;
    let known = app.clients.directory.list();
    if !known.iter().all(|it| it.settings.contains(MARK)) {
        return Err(Error::conflict(
            "the database contains real clients; use --demo with an empty database (another data.dir)",
        ));
    }
    let mut logins = Vec::new();
    if !is_finished(&app) {
        let begun = known.iter().map(|it| it.created_at).min();
        let started = begun.unwrap_or(now.plus_days(-HISTORY_DAYS));
        let started = Time::EPOCH.plus_days(i64::from(started.day()));
        let world = welcome(&app, started).await?;
        let branch = world.ids[0].get().copied().unwrap_or(ClientId::UNASSIGNED);
        let lanes = (0..N_LANES).map(|_| open(started)).collect::<Result<Vec<_>>>()?;
        let mut scanned = JoinSet::new();
        scanned.spawn(scan(store.clone(), options.clone(), catalog.clone(), now, branch));
        write(&Arc::new(world), &lanes, now, progress).await?;
        while let Some(done) = scanned.join_next().await {
            done.map_err(Error::internal)??;
        }
        app.clock.set(now);
        logins = office::hand_out(&app, &operator()).await?;
    }
    let (key, replaces) = issue(&app).await?;
    app.checkpoint_limits().await?;
    Ok(Demo { key, replaces, logins })
}

/// Returns true if the portfolio was begun but not completed.
#[must_use]
pub fn is_unfinished(app: &App) -> bool {
    let clients = app.clients.directory.list();
    clients.iter().any(|it| it.settings.contains(MARK)) && !is_finished(app)
}

/// The first key is issued once the portfolio is complete, and a revoked key stays listed.
fn is_finished(app: &App) -> bool {
    app.access.keyring.list().iter().any(|it| it.key.name == KEY_NAME)
}

/// Issues a key and revokes the one of the previous start: only the key that was just printed is valid. Returns whether
/// there was one.
async fn issue(app: &App) -> Result<(KeyText, bool)> {
    let by = operator();
    let mut replaces = false;
    for held in app.access.keyring.list() {
        if held.key.name == KEY_NAME && held.key.revoked_at.is_none() {
            app.revoke_key(&by, held.key.id).await?;
            replaces = true;
        }
    }
    let new = NewKey {
        name: KEY_NAME.to_owned(),
        scopes: Scope::ALL.into_iter().filter(|it| !it.as_str().starts_with("manage:")).collect(),
        clients: Vec::new(),
        networks: Vec::new(),
        quota: [None; 3],
        expires_at: None,
        source: None,
    };
    Ok((app.issue_key(&by, new).await?.1, replaces))
}

pub(super) fn operator() -> Caller {
    Caller::new(Principal::Operator { uid: 0 })
}

/// Everything that the visits share.
struct World {
    catalog: Arc<Catalog>,
    started: Time,
    /// Of each client of the portfolio, once it was added.
    ids: Vec<OnceLock<ClientId>>,
    duties: Vec<Duties>,
    /// Up to when an interrupted start had come.
    reached: Option<Time>,
}

/// Adds the clients with which the history begins, and the MSP's own people and rules.
async fn welcome(app: &App, started: Time) -> Result<World> {
    let known = app.clients.directory.list();
    let ids: Vec<OnceLock<ClientId>> = CLIENTS.iter().map(|_| OnceLock::new()).collect();
    let mut first = Vec::new();
    let mut reached = None;
    for ((profile, id), seconds) in CLIENTS.iter().zip(&ids).zip(FIRST_CLIENT_S..) {
        let client = match known.iter().find(|it| it.name == profile.name) {
            Some(client) => client.id,
            None if profile.story.starts_in() == 1 => {
                // Clients are listed in the order in which they were added.
                app.clock.set(started.plus_s(seconds));
                add(app, profile).await?
            }
            None => continue,
        };
        id.get_or_init(|| client);
        first.push((client, profile));
        let (_, rows) = app.reach_any(&operator(), client)?;
        let imports = rows.read(ClientSnapshot::list_imports).await?;
        reached = reached.max(imports.iter().map(|it| it.at).max());
    }
    app.clock.set(started.plus_s(FIRST_CLIENT_S * 10));
    office::furnish(app, &operator(), &first).await?;
    let duties = CLIENTS.iter().map(|it| Duties::of(it, &app.catalog())).collect();
    Ok(World { catalog: app.catalog(), started, ids, duties, reached })
}

async fn add(app: &App, profile: &'static DemoClient) -> Result<ClientId> {
    let change = ClientChange {
        references: None,
        name: Some(profile.name.to_owned()),
        industry: Some(Some(profile.industry.to_owned())),
        employee_count: Some(Some(profile.employees)),
        active: None,
        settings: Some(profile.settings(MARK)),
        allow_same_name: false,
    };
    Ok(app.add_client(&operator(), change).await?.id)
}

/// A scan needs networks that the configuration need not allow.
async fn scan(
    store: Store,
    options: ServeOptions,
    catalog: Catalog,
    now: Time,
    client: ClientId,
) -> Result<()> {
    let mut app_options = options.app;
    let allowed = ["127.0.0.1/32", "192.168.250.0/24"];
    app_options.scan.allowed = allowed.iter().filter_map(|it| it.parse().ok()).collect();
    let clock = Clock::manual(now.plus_days(-2).plus_s(-5_000));
    let app = App::open(store, catalog, Sealer::random(), clock, app_options)?;
    office::scan(Arc::new(app), operator(), client).await
}

/// Writes what is missing of the history. A fill that was interrupted goes on with the dates with which it began.
async fn write(
    world: &Arc<World>,
    lanes: &[Arc<App>],
    now: Time,
    progress: impl Fn(u64),
) -> Result<()> {
    let mut week = 0;
    let mut slots = schedule::slots(world.started);
    let last = slots.last().map_or(now, |it| it.at.plus_s(SLOT_S));
    let at = last.max(now.plus_s(-LAST_UPKEEP_S));
    let clients = (0..CLIENTS.len()).collect();
    slots.push(Slot { at, week: N_WEEKS, work: Work::Upkeep, clients });
    for slot in slots {
        if slot.week != week {
            week = slot.week;
            progress(week);
        }
        let is_done = |reached: Time| slot.at.plus_s(SLOT_S) < reached;
        if world.reached.is_some_and(is_done) && slot.work != Work::Welcome {
            continue;
        }
        let mut visits = JoinSet::new();
        for (lane, app) in lanes.iter().enumerate() {
            let mut clients = slot.clients.clone();
            clients.retain(|it| it % N_LANES == lane);
            if !clients.is_empty() {
                visits.spawn(visit_all(Arc::clone(world), Arc::clone(app), slot.clone(), clients));
            }
        }
        while let Some(done) = visits.join_next().await {
            done.map_err(Error::internal)??;
        }
    }
    Ok(())
}

async fn visit_all(
    world: Arc<World>,
    app: Arc<App>,
    slot: Slot,
    clients: Vec<usize>,
) -> Result<()> {
    for index in clients {
        let within = SPREAD_S.unsigned_abs() * 1_000;
        let ms = CLIENTS[index].chance(&format!("{:?}/{}", slot.work, slot.week), within);
        let at = slot.at.plus_ms(ms.cast_signed());
        app.clock.set(at);
        Visit { world: &world, app: &app, slot: &slot, index, at }.make().await?;
    }
    Ok(())
}

/// One client in one slot.
struct Visit<'a> {
    world: &'a World,
    app: &'a App,
    slot: &'a Slot,
    index: usize,
    at: Time,
}

impl Visit<'_> {
    async fn make(&self) -> Result<()> {
        let profile = &CLIENTS[self.index];
        if self.slot.work == Work::Welcome {
            return self.welcome().await;
        }
        let Some(id) = self.world.ids[self.index].get().copied() else {
            return Ok(()); // It is added later this week.
        };
        let by = operator();
        let (_, rows) = self.app.reach_any(&by, id)?;
        let (duties, week) = (&self.world.duties[self.index], self.slot.week);
        let (catalog, started) = (&*self.world.catalog, self.world.started);
        let run = ToolRun { client: profile, catalog, duties, week, at: self.at, started };
        match self.slot.work {
            Work::Welcome => Ok(()),
            Work::Rmm => {
                let is_first = week == profile.story.starts_in();
                let has_assets = is_first || week.is_multiple_of(ASSET_WEEKS) || week == N_WEEKS;
                self.ingest(&rows, run.device(has_assets)).await
            }
            Work::Accounts => self.ingest(&rows, run.accounts()).await,
            Work::Cloud => {
                self.ingest(&rows, run.cloud(Cloud::Suite)?).await?;
                if !profile.has_aws {
                    return Ok(());
                }
                let at = self.at.plus_s(NEXT_CLOUD_S);
                self.app.clock.set(at);
                let intake = ToolRun { at, ..run }.cloud(Cloud::Aws)?;
                self.ingest(&rows, intake).await
            }
            Work::Network => self.ingest(&rows, run.network()?).await,
            Work::Review => {
                let visit = schedule::review(self.index, week);
                self.ingest(&rows, run.review(visit)).await
            }
            Work::Desk => {
                let (app, controls) = (self.app, duties.review());
                let at = self.at;
                let (by, rows, client) = (&by, &rows, profile);
                Desk { app, catalog, by, rows, client, controls, week, at }.work().await
            }
            Work::Upkeep => self.app.sweep(id).await,
        }
    }

    async fn welcome(&self) -> Result<()> {
        let id = &self.world.ids[self.index];
        if id.get().is_none() {
            let client = add(self.app, &CLIENTS[self.index]).await?;
            id.get_or_init(|| client);
        }
        Ok(())
    }

    /// Ingests a run, unless that was done before an interruption.
    async fn ingest(&self, rows: &ClientStore, intake: Intake) -> Result<()> {
        let (source, at) = (intake.import.source.clone(), intake.import.at);
        if self.world.reached.is_some_and(|it| at <= it) {
            let done = rows.read(ClientSnapshot::list_imports).await?;
            if done.iter().any(|it| it.source == source && it.at == at) {
                return Ok(());
            }
        }
        self.app.ingest(rows, intake).await.map(|_| ())
    }
}
