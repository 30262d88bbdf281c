//! What clients take in the database over the years: nightly runs of Microsoft 365, remote management and DNS, a scan every
//! week, and somebody's word every month. `POSTURE_LOAD=years` runs it; `POSTURE_CLIENTS` and `POSTURE_DAYS` say how many
//! (20 and 1095), `POSTURE_ENGINE` (`file` or `postgresql`) where if not on both.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Instant;

use posture::app::App;
use posture::app::assessment::statement::Statements;
use posture::app::intake::list::Lists;
use posture::app::intake::run::{Intake, NewRun};
use posture::catalog::embedded;
use posture::clock::{Clock, Time};
use posture::engine::fact::{Observation, Subject, Verdict};
use posture::engine::memory::sparse::SparseMemory;
use posture::engine::severity::Severity;
use posture::id::{ClientId, ImportId};
use posture::import::fold::Folded;
use posture::import::fold::outcome::SubjectOutcomes;
use posture::store::global::client::Client;
use posture::store::{ClientSnapshot, Store, StoreOptions};

use crate::app;
use crate::engines::{Database, Engine, SETTINGS};
use crate::figure::Report;
use crate::harness::backend::Random;
use crate::harness::postgres::Cluster;
use crate::mib;

const DAYS_A_YEAR: u32 = 365;
const GOAL_KIB: u64 = 2 * 1024;
/// Of 100 controls a night, so many change their result.
const CHANGED_PERCENT: u64 = 1;
/// Counts of failing accounts or machines change more often.
const COUNTED_PERCENT: u64 = 10;

/// A tool and which of the catalog's controls it reports every so many days.
struct Tool {
    source: &'static str,
    controls: std::ops::Range<usize>,
    every_days: u32,
}

const TOOLS: [Tool; 4] = [
    Tool { source: "microsoft_365", controls: 0..60, every_days: 1 },
    Tool { source: "ninjaone", controls: 60..90, every_days: 1 },
    Tool { source: "dns", controls: 90..95, every_days: 1 },
    Tool { source: "nessus", controls: 95..125, every_days: 7 },
];

pub(crate) fn number(name: &str, default: u32) -> u32 {
    let given = std::env::var_os(name);
    given.map_or(default, |it| it.to_str().unwrap().parse().expect("a number"))
}

pub(crate) fn measure(report: &mut Report) {
    let n_clients = number("POSTURE_CLIENTS", 20);
    let n_days = number("POSTURE_DAYS", 3 * DAYS_A_YEAR);
    let only = std::env::var_os("POSTURE_ENGINE");
    let cluster = Cluster::start(&SETTINGS);
    let engines = [("file", Engine::File), ("postgresql", Engine::Server(&cluster, cluster.port))];
    let is_known = |wanted: &OsString| engines.iter().any(|it| wanted == it.0);
    assert!(only.as_ref().is_none_or(is_known), "POSTURE_ENGINE is file or postgresql");
    for (name, engine) in engines {
        if only.as_ref().is_none_or(|it| it == name) {
            Report::section(&format!("{name}: {n_clients} clients, {n_days} nights"));
            live(&engine, &engine.database(), (n_clients, n_days), report);
        }
    }
}

/// The clients' life, and what the database takes at the end of each year.
fn live(
    engine: &Engine<'_>,
    database: &Database,
    (n_clients, n_days): (u32, u32),
    report: &mut Report,
) {
    let folder = database.folder();
    let options = StoreOptions {
        dir: folder.path().join("data"),
        cache_bytes: 512 << 20,
        engine: database.options.clone(),
    };
    let start = Time::EPOCH.plus_days(i64::from(Clock::System.now().day()));
    let clock = Clock::manual(start);
    let store = Store::open(&options, start).unwrap();
    let ids: Vec<ClientId> = (0..n_clients).map(|_| ClientId::random()).collect();
    let clients: Vec<Client> =
        ids.iter().zip(0..).map(|(id, n)| app::client(*id, n, start)).collect();
    store.write_now(move |it| clients.iter().try_for_each(|one| it.put_client(one))).unwrap();
    let app = Arc::new(app::open(&store, clock.clone()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut sizes = vec![engine.bytes(database, &folder)];
    let mut lives: Vec<Life> = ids.iter().zip(1..).map(|(id, seed)| Life::of(*id, seed)).collect();
    for first in (0..n_days).step_by(DAYS_A_YEAR as usize) {
        let begun = Instant::now();
        let end = n_days.min(first + DAYS_A_YEAR);
        for day in first..end {
            clock.set(start.plus_days(i64::from(day)).plus_s(2 * 3_600));
            lives = runtime.block_on(night(&app, &store, lives, day));
        }
        let seconds = begun.elapsed().as_secs_f64();
        sizes.push(engine.settled_bytes(database, &folder));
        let grown = sizes[sizes.len() - 1].saturating_sub(sizes[sizes.len() - 2]);
        let kib = grown / 1024 / u64::from(n_clients);
        Report::note(&format!("nights {first} to {end}: a client takes"), mib(kib));
        Report::note("(it took)", format!("{seconds:.0} s"));
    }
    let kib = sizes[sizes.len() - 1].saturating_sub(sizes[0]) / 1024 / u64::from(n_clients);
    let kib_a_year = kib * u64::from(DAYS_A_YEAR) / u64::from(n_days);
    report.goal("a client and year", mib(kib_a_year), "< 2 MiB", kib_a_year < GOAL_KIB);
    let last = store.client_store(ids[0]);
    let reading = Instant::now();
    let n = runtime.block_on(last.read(|it: &ClientSnapshot| {
        let statements = Statements::read(it, &embedded().unwrap())?;
        Ok(it.count_facts()? + statements.attested.len() as u64)
    }));
    Report::note("rows of facts of a client then", n.unwrap());
    Report::note("(counting took)", format!("{} ms", reading.elapsed().as_millis()));
    drop(app);
    store.close();
}

/// One night of all clients: their runs, and what became due.
pub(crate) async fn night(app: &Arc<App>, store: &Store, lives: Vec<Life>, day: u32) -> Vec<Life> {
    let mut tasks = tokio::task::JoinSet::new();
    for (order, mut life) in lives.into_iter().enumerate() {
        let (app, store) = (Arc::clone(app), store.clone());
        tasks.spawn(async move {
            let rows = store.client_store(life.id);
            for intake in life.runs(day, app.clock.now()) {
                app.ingest(&rows, intake).await.unwrap();
            }
            app.sweep(life.id).await.unwrap();
            (order, life)
        });
    }
    let mut lives: Vec<_> = tasks.join_all().await;
    lives.sort_by_key(|(order, _)| *order);
    while app.forget_events().await.unwrap() {}
    lives.into_iter().map(|(_, life)| life).collect()
}

/// What is so at a client: how many fail of each control.
pub(crate) struct Life {
    id: ClientId,
    random: Random,
    codes: Vec<String>,
    n_failing: Vec<u32>,
}

impl Life {
    pub(crate) fn of(id: ClientId, seed: u64) -> Self {
        let catalog = embedded().unwrap();
        let codes: Vec<String> = catalog.controls.iter().map(|it| it.code.clone()).collect();
        Self { id, random: Random::from_seed(seed), n_failing: vec![0; codes.len()], codes }
    }

    /// What the tools report in a night.
    fn runs(&mut self, day: u32, at: Time) -> Vec<Intake> {
        let due = TOOLS.iter().filter(|it| day.is_multiple_of(it.every_days));
        due.map(|tool| {
            let import = ImportId::random();
            let all = tool.controls.clone();
            let observations = all.map(|it| self.observe(tool, it, at, import)).collect();
            intake(tool.source, import, observations, at)
        })
        .collect()
    }

    fn observe(&mut self, tool: &Tool, index: usize, at: Time, import: ImportId) -> Observation {
        const N_SUBJECTS: u32 = 40;
        let is_counted = index.is_multiple_of(4);
        let percent = if is_counted { COUNTED_PERCENT } else { CHANGED_PERCENT };
        if self.random.below(100) < percent {
            let n = u32::try_from(self.random.below(8)).unwrap();
            self.n_failing[index] = if self.n_failing[index] == 0 || is_counted { n } else { 0 };
        }
        let failed = self.n_failing[index];
        let code = self.codes[index].clone();
        let what = if failed == 0 { "All pass." } else { "Some do not pass." };
        Observation {
            subject: Subject::Control(code.clone()),
            source: tool.source.to_owned(),
            scope: "tenant/11111111-2222-3333-4444-555555555555".to_owned(),
            check: format!("check_of_{code}"),
            observed_at: at,
            valid_until: None,
            import,
            verdict: Verdict::Counted { passed: N_SUBJECTS - failed, failed },
            accepted: 0,
            severity: Severity::High,
            title: format!("{code} as {} sees it", tool.source),
            findings: Some(format!("{failed} of {N_SUBJECTS}. {what}")),
            remediation: Some("Open the admin center, and turn it on for all of them.".to_owned()),
            failing: (0..u64::from(failed)).map(|it| it * 7_919 + index as u64).collect(),
            memory: SparseMemory::default(),
            facets: Vec::new(),
            platform: None,
        }
    }
}

fn intake(source: &str, id: ImportId, observations: Vec<Observation>, at: Time) -> Intake {
    let mut digest = [0; 32];
    digest[..16].copy_from_slice(id.as_bytes());
    let scope = observations[0].scope.clone();
    let run = NewRun {
        id,
        name: String::new(),
        format: "facts".to_owned(),
        digest,
        source: source.to_owned(),
        by: "connection".to_owned(),
        at,
    };
    let folded = Folded {
        outcomes: SubjectOutcomes::default(),
        scans: Vec::new(),
        leavers: Vec::new(),
        n_records: observations.len() as u64,
        observations,
        assets: Vec::new(),
        silent: Vec::new(),
        skipped: BTreeMap::new(),
        scopes: vec![scope.clone()],
        observed_from: Some(at),
        observed_to: Some(at),
        file_observed_at: None,
    };
    let lists = Lists { scope, at, complete: true, ..Lists::default() };
    Intake { seen_at: at, lists: Some(lists), ..Intake::of(run, folded) }
}
