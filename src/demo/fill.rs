//! The demonstration: fills an empty database with a realistic portfolio through the real ingest path.
//!
//! It is deterministic: the portfolio is the same each time, except for its dates.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use tokio::task::JoinSet;
use xxhash_rust::xxh3::xxh3_64;

use crate::app::App;
use crate::app::access::key::NewKey;
use crate::app::decision::client::ClientChange;
use crate::app::intake::run::{Intake, NewRun};
use crate::auth::caller::{Caller, Principal};
use crate::auth::key::KeyText;
use crate::clock::{Clock, Time};
use crate::demo::portfolio::{CLIENTS, DemoProfile};
use crate::engine::asset::{AssetType, ReportedFields, Seen};
use crate::engine::catalog::{Catalog, Decider};
use crate::engine::fact::{Observation, Subject, Verdict, subject_hash};
use crate::error::{Error, Result};
use crate::id::{ClientId, ImportId};
use crate::import::fold::Folded;
use crate::secret::Sealer;
use crate::serve::{ServeOptions, load_catalog};
use crate::store::global::key::Scope;
use crate::store::{ClientSnapshot, Store};

/// How many weeks of history the portfolio has.
pub const N_WEEKS: u64 = 26;
/// From the first week to the last one.
const HISTORY_DAYS: i64 = 7 * (N_WEEKS.cast_signed() - 1);
/// Sources that do not run every week run every fourth week.
const MONTH_WEEKS: u64 = 4;
/// The member of a client's settings that marks it as a demonstration client.
const MARK: &str = "demo";
const KEY_NAME: &str = "demo";

/// The sources of the demonstration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    /// The remote-management tool: endpoints and backups, every week.
    Rmm,
    /// Prowler on the cloud tenant, every month.
    Prowler,
    /// The network scan of the main site, every month.
    Nmap,
    /// The questionnaire that the account manager goes through with the client, twice.
    Review,
}

impl Tool {
    const ALL: [Self; 4] = [Self::Rmm, Self::Prowler, Self::Nmap, Self::Review];

    const fn source(self) -> &'static str {
        match self {
            Self::Rmm => "rmm",
            Self::Prowler => "prowler",
            Self::Nmap => "nmap",
            Self::Review => "quarterly-review",
        }
    }

    const fn runs_in(self, week: u64) -> bool {
        match self {
            Self::Rmm => true,
            Self::Prowler | Self::Nmap => week % MONTH_WEEKS == N_WEEKS % MONTH_WEEKS,
            Self::Review => week == 1 || week == N_WEEKS / 2,
        }
    }
}

/// A key with all scopes to try the demonstration with.
pub struct DemoKey {
    pub key: KeyText,
    /// The key of the start before was revoked.
    pub replaces: bool,
}

/// Fills the database if it is empty or was not filled to the end, and issues a key with all scopes. `progress` is called
/// at the start of each week.
///
/// # Errors
/// `Conflict` if the database contains real clients; those of the store.
pub async fn fill(
    store: &Store,
    options: &ServeOptions,
    progress: impl Fn(u64),
) -> Result<DemoKey> {
    let now = Clock::System.now();
    let clock = Clock::manual(now);
    let app =
        App::open(store.clone(), load_catalog()?, Sealer::random(), clock, options.app.clone())?;
    let app = Arc::new(app);
    if !app.clients.directory.list().iter().all(|it| it.settings.contains(MARK)) {
        return Err(Error::conflict(
            "the database contains real clients; use --demo with an empty database (another data.dir)",
        ));
    }
    if !is_finished(&app) {
        write(&app, now, progress).await?;
    }
    let key = issue(&app).await?;
    app.checkpoint_limits().await?;
    Ok(key)
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

/// Issues a key and revokes the one of the previous start: only the key that was just printed is valid.
async fn issue(app: &App) -> Result<DemoKey> {
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
        scopes: Scope::ALL.to_vec(),
        clients: Vec::new(),
        networks: Vec::new(),
        quota: [None; 3],
        expires_at: None,
        source: None,
    };
    Ok(DemoKey { key: app.issue_key(&by, new).await?.1, replaces })
}

fn operator() -> Caller {
    Caller::new(Principal::Operator { uid: 0 })
}

/// Writes what is missing of the portfolio. A fill that was interrupted goes on with the dates with which it began.
async fn write(app: &Arc<App>, now: Time, progress: impl Fn(u64)) -> Result<()> {
    let known = app.clients.directory.list();
    let begun = known.iter().map(|it| it.created_at).min();
    let start = begun.unwrap_or(now.plus_days(-HISTORY_DAYS));
    let mut clients = Vec::new();
    for (profile, seconds) in CLIENTS.iter().zip(0..) {
        app.clock.set(start.plus_s(seconds)); // Clients are listed in the order in which they were added.
        let id = match known.iter().find(|it| it.name == profile.name) {
            Some(client) => client.id,
            None => add(app, profile).await?,
        };
        clients.push((id, profile));
    }
    for (week, weeks_later) in (1..=N_WEEKS).zip(0..) {
        progress(week);
        let at = start.plus_days(7 * weeks_later);
        app.clock.set(at);
        let mut runs = JoinSet::new();
        for (id, profile) in clients.iter().copied() {
            let app = Arc::clone(app);
            runs.spawn(async move { run_week(&app, id, profile, week, at).await });
        }
        while let Some(ran) = runs.join_next().await {
            ran.map_err(Error::internal)??;
        }
    }
    app.clock.set(now);
    Ok(())
}

async fn add(app: &App, profile: &'static DemoProfile) -> Result<ClientId> {
    let settings = json!({
        MARK: true,
        "profile": {
            "m365": "used", "mobileDevices": "used", "servers": "used", "onPremNetwork": "used",
            "google": "unused", "aws": "unused", "azure": "unused", "gcp": "unused",
            "kubernetes": "unused",
            "customerWebApps": "unused", "softwareDevelopment": "unused", "cardPayments": "unused",
            "criminalJusticeInformation": "unused", "educationRecords": "unused",
        },
    });
    let change = ClientChange {
        name: Some(profile.name.to_owned()),
        industry: Some(Some(profile.industry.to_owned())),
        employee_count: Some(Some(profile.employees)),
        active: None,
        settings: settings.as_object().cloned(),
    };
    Ok(app.add_client(&operator(), change).await?.id)
}

async fn run_week(
    app: &App,
    id: ClientId,
    profile: &'static DemoProfile,
    week: u64,
    at: Time,
) -> Result<()> {
    let (_, rows) = app.reach_any(&operator(), id)?;
    let done = rows.read(ClientSnapshot::list_imports).await?;
    let is_done = |tool: &Tool| done.iter().any(|it| it.source == tool.source() && it.at == at);
    for tool in Tool::ALL.into_iter().filter(|it| it.runs_in(week) && !is_done(it)) {
        let intake = intake(&app.catalog(), tool, profile, week, at);
        app.ingest(&rows, intake).await?;
    }
    Ok(())
}

fn intake(catalog: &Catalog, tool: Tool, profile: &DemoProfile, week: u64, at: Time) -> Intake {
    let import = ImportId::random();
    let scope = scope(tool, profile);
    let observe = |(subject, check, severity, title): (Subject, String, _, String)| {
        let seen = Look { profile, week, check: &check, catalog, subject: &subject }.see();
        Observation {
            source: tool.source().to_owned(),
            scope: scope.clone(),
            observed_at: at,
            valid_until: None,
            import,
            verdict: seen.verdict,
            accepted: 0,
            severity,
            title,
            findings: None, // The counts say it.
            remediation: None,
            failing: seen.failing,
            subject,
            check,
        }
    };
    let observations: Vec<_> = checks(catalog, tool).into_iter().map(observe).collect();
    let assets = if tool == Tool::Rmm { machines(profile, &scope) } else { Vec::new() };
    let n_records = observations.len() as u64;
    let mut digest = [0; 32];
    digest[..16].copy_from_slice(import.as_bytes());
    let run = NewRun {
        id: import,
        name: String::new(),
        format: "demo".to_owned(),
        digest,
        source: tool.source().to_owned(),
        by: "demo".to_owned(),
        at,
    };
    let folded = Folded {
        observations,
        assets,
        skipped: BTreeMap::new(),
        n_records,
        scopes: vec![scope],
        observed_from: Some(at),
        observed_to: Some(at),
    };
    Intake::of(run, folded)
}

fn scope(tool: Tool, profile: &DemoProfile) -> String {
    match tool {
        Tool::Rmm => format!("site/{}", profile.domain()),
        Tool::Prowler => format!("m365/{}", profile.domain()),
        Tool::Nmap => "host/192.168.10.1".to_owned(),
        Tool::Review => "organization".to_owned(),
    }
}

type Checked = (Subject, String, crate::engine::severity::Severity, String);

/// The checks of a tool that decide controls of the catalog.
fn checks(catalog: &Catalog, tool: Tool) -> Vec<Checked> {
    let mapped = |name: &str, wanted: &dyn Fn(&str) -> bool| -> Vec<Checked> {
        let checks: BTreeMap<_, _> =
            catalog.tools.get(name).map(|it| it.checks.clone()).unwrap_or_default();
        let of = |(check, controls): (String, Vec<usize>)| {
            let control = &catalog.controls[controls[0]];
            let subject = Subject::Check { tool: name.to_owned() };
            let title = check.replace('_', " ");
            (subject, check, control.severity, title)
        };
        checks.into_iter().filter(|(check, _)| wanted(check)).map(of).collect()
    };
    let decided = |prefixes: &[&str], by: Decider| -> Vec<Checked> {
        let is_ours = |code: &str| prefixes.iter().any(|it| code.starts_with(it));
        let controls = catalog.controls.iter();
        let ours = controls.filter(|it| is_ours(&it.code) && it.decided_by.contains(&by));
        let of = |it: &crate::engine::catalog::Control| {
            let subject = Subject::Control(it.code.clone());
            (subject, "status".to_owned(), it.severity, it.title.clone())
        };
        ours.map(of).collect()
    };
    match tool {
        Tool::Rmm => decided(&["END", "DAT-01"], Decider::Connector),
        Tool::Prowler => mapped("prowler", &|it| {
            ["entra_", "exchange_", "defender_", "sharepoint_", "teams_", "admincenter_"]
                .iter()
                .any(|start| it.starts_with(start))
        }),
        Tool::Nmap => mapped("nmap", &|_| true),
        Tool::Review => {
            decided(&["GOV", "DAT", "ID-12", "LOG", "NET-05", "PHY", "PRV"], Decider::Attestation)
        }
    }
}

/// One check of one client in one week.
struct Look<'a> {
    profile: &'a DemoProfile,
    week: u64,
    check: &'a str,
    catalog: &'a Catalog,
    subject: &'a Subject,
}

struct Sight {
    verdict: Verdict,
    failing: Vec<u64>,
}

impl Look<'_> {
    /// A number from 0 to 99 that is always the same for this client, check and occasion.
    fn chance(&self, occasion: &str) -> u64 {
        let subject = match self.subject {
            Subject::Control(code) => code.as_str(),
            Subject::Check { tool } => tool.as_str(),
        };
        let text = format!("{}/{subject}/{}/{occasion}", self.profile.name, self.check);
        xxh3_64(text.as_bytes()) % 100
    }

    /// Clients improve over the weeks, check by check. Now and then a check fails for two weeks.
    fn see(&self) -> Sight {
        let weeks = self.week;
        let maturity =
            u64::from(self.profile.maturity) + weeks * u64::from(self.profile.effort) / 10;
        let is_good = self.chance("level") < maturity.min(97);
        let breaks = self.chance(&format!("break/{}", weeks / 2)) < 2;
        let n_subjects = self.n_subjects();
        if is_good && !breaks {
            return Sight {
                verdict: Verdict::Counted { passed: n_subjects, failed: 0 },
                failing: Vec::new(),
            };
        }
        let share = u32::try_from(self.chance("share")).unwrap_or(0);
        let failed = (n_subjects * share / 200).max(1);
        let machines = (0..failed.min(40)).map(|it| machine_id(self.profile, it * 3));
        let mut failing: Vec<u64> = match self.subject {
            Subject::Control(code) if code.starts_with("END") => {
                machines.map(|it| subject_hash(&it)).collect()
            }
            Subject::Control(_) | Subject::Check { .. } => Vec::new(),
        };
        failing.sort_unstable();
        let passed = n_subjects - failed;
        Sight { verdict: Verdict::Counted { passed, failed }, failing }
    }

    fn n_subjects(&self) -> u32 {
        match self.subject {
            Subject::Control(code) if code.starts_with("END") => self.profile.employees,
            Subject::Control(_) => 1,
            Subject::Check { tool } => {
                let mapped = self.catalog.controls_of_check(tool, self.check);
                let of_users =
                    mapped.iter().any(|it| self.catalog.controls[*it].code.starts_with("ID"));
                if of_users { self.profile.employees } else { 1 }
            }
        }
    }
}

fn machine_id(profile: &DemoProfile, index: u32) -> String {
    format!("{}-{index:04}", profile.short())
}

/// One machine per employee, some of them shared servers, network devices and phones.
fn machines(profile: &DemoProfile, scope: &str) -> Vec<Seen> {
    let kind = |index: u32| match index % 12 {
        0 => (AssetType::Server, "servers", "srv"),
        1 => (AssetType::NetworkDevice, "network", "net"),
        2 => (AssetType::Mobile, "phones", "mob"),
        _ => (AssetType::Workstation, "workstations", "ws"),
    };
    let machine = |index: u32| {
        let (asset_type, category, word) = kind(index);
        let name = format!("{}-{word}{index:03}", profile.short());
        Seen {
            external_id: machine_id(profile, index),
            hostname: Some(name.clone()),
            name,
            category: Some(category.to_owned()),
            asset_type,
            is_managed: index % 17 != 5,
            ip: None,
            mac: None,
            serial: Some(format!("SN-{}-{index:05}", profile.short().to_uppercase())),
            scope: scope.to_owned(),
            seen_at: None,
            reported: ReportedFields::default(),
        }
    };
    (0..profile.employees.min(150)).map(machine).collect()
}
