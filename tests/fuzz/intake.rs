//! What is written to a client: the files of assessors, and the facts of a connector.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::BufReader;

use posture::app::intake::push::{FactsBody, FactsPush, Push};
use posture::app::{App, AppOptions};
use posture::catalog::embedded;
use posture::clock::{Clock, Time};
use posture::engine::fact::{Observation, Verdict};
use posture::error::{Code, Result};
use posture::id::{ClientId, ImportId};
use posture::import::fold::{Fold, ImportOrigin, Observed};
use posture::import::{self, Format, Record};
use posture::page::Cut;
use posture::secret::Sealer;
use posture::store::global::client::{Client, ClientState};
use posture::store::per_client::asset::AssetFilter;
use posture::store::{ClientStore, Store};
use posture::text::is_visible;
use tokio::runtime::Runtime;

/// 2026-12-01.
const NOW_S: i64 = 1_796_083_200;
const CACHE_BYTES: usize = 1 << 20;
/// Clients of one database. Each gets one body.
const N_CLIENTS: u8 = 200;

pub fn prowler(bytes: &[u8]) {
    for format in [Format::ProwlerOcsf, Format::ProwlerCsv, Format::ProwlerJson] {
        report(format, bytes);
    }
}

pub fn asff(bytes: &[u8]) {
    report(Format::Asff, bytes);
    report(Format::SecurityHubOcsf, bytes);
}

pub fn nmap(bytes: &[u8]) {
    report(Format::Nmap, bytes);
    report(Format::Masscan, bytes);
}

/// Reports about one tenant, domain or host.
pub fn about(bytes: &[u8]) {
    for format in [
        Format::Scuba,
        Format::Maester,
        Format::SecureScore,
        Format::ZeroTrust,
        Format::DefenderCloud,
        Format::ScoutSuite,
        Format::Lynis,
        Format::PingCastle,
        Format::Xccdf,
        Format::StigChecklist,
        Format::StigChecklist3,
        Format::Oscal,
        Format::Inspec,
        Format::WazuhSca,
        Format::KubeBench,
        Format::HardeningKitty,
        Format::Powerpipe,
        Format::Sarif,
        Format::Inventory,
        Format::Leavers,
    ] {
        report(format, bytes);
    }
}

/// Reports of vulnerability scanners.
pub fn vulnerability(bytes: &[u8]) {
    for format in [
        Format::Nessus,
        Format::NessusCsv,
        Format::OpenVas,
        Format::OpenVasCsv,
        Format::Qualys,
        Format::Trivy,
        Format::Grype,
        Format::DefenderVulnerabilities,
        Format::WazuhVulnerabilities,
    ] {
        report(format, bytes);
    }
}

fn records(format: Format, n_at_once: usize, bytes: &[u8]) -> (Vec<Record>, Result<()>) {
    let mut records = Vec::new();
    let mut input = BufReader::with_capacity(n_at_once, bytes);
    let result = import::read(format, &mut input, &mut |record| {
        records.push(record);
        Ok(())
    });
    (records, result)
}

/// Any bytes are a report or are refused as invalid, however they arrive. Every record is taken or is skipped for a
/// reason, and no text of it is hidden.
fn report(format: Format, bytes: &[u8]) {
    let _ = import::detect(bytes);
    let (all, result) = records(format, 8 << 10, bytes);
    let (same, again) = records(format, 7, bytes);
    let message = |it: &Result<()>| it.as_ref().err().map(|it| it.message().to_owned());
    assert_eq!((&all, message(&result)), (&same, message(&again)), "in small pieces");
    if let Err(error) = result {
        assert_eq!(error.code, Code::Invalid, "{error}");
        assert!(error.message().chars().all(is_visible), "{error}");
        return;
    }
    let mut fold = Fold::new(ImportOrigin {
        tool: format.tool(),
        source: format.tool().to_owned(),
        import: ImportId::from_bytes([7; 16]),
        valid_until: None,
        observed: Observed::File { now: Time::from_s(NOW_S) },
    });
    let (mut n_checks, mut n_found, mut n_skipped) = (0, 0, 0);
    for record in all {
        match &record {
            Record::Check(it) => {
                n_checks += 1;
                assert!(!it.check.is_empty() && !it.scope.is_empty(), "{it:?}");
                is_shown(&[&it.title, &it.subject.name]);
            }
            Record::Asset(it) => {
                n_found += u64::from(format == Format::Inventory);
                is_shown(&[&it.name]);
            }
            Record::System(it) => {
                n_found += 1;
                is_shown(&[&it.seen.name]);
            }
            Record::Vulnerability(it) => {
                n_found += 1;
                assert!(!it.id.is_empty() && !it.system.is_empty(), "{it:?}");
                is_shown(&[&it.id, &it.title]);
            }
            Record::Leaver(it) => {
                // One without a last day comes with a skipped record.
                n_found += u64::from(it.last_day.is_some());
                assert!(!it.names.is_empty());
            }
            Record::Silent { scope, check, .. } => assert!(!scope.is_empty() && !check.is_empty()),
            Record::Skipped { reason, .. } => {
                n_skipped += 1;
                assert!(!reason.is_empty());
                is_shown(&[reason]);
            }
        }
        fold.add(record).expect("the input is far below the limits");
    }
    let folded = fold.finish();
    assert_eq!(folded.n_records, n_checks + n_found + n_skipped);
    assert_eq!(folded.skipped.values().map(|it| u64::from(*it)).sum::<u64>(), n_skipped);
    let n_counted: u64 = folded.observations.iter().map(n_subjects).sum();
    assert!(n_counted <= n_checks && (n_checks == 0) == folded.observations.is_empty());
    let key = |it: &Observation| (it.scope.clone(), it.check.clone(), it.subject.clone());
    assert!(folded.observations.is_sorted_by(|a, b| key(a) < key(b)), "each once");
    assert!(folded.assets.is_sorted_by(|a, b| a.external_id < b.external_id), "each once");
}

fn is_shown(texts: &[&str]) {
    assert!(texts.iter().all(|it| it.chars().all(is_visible)), "{texts:?}");
}

fn n_subjects(it: &Observation) -> u64 {
    let Verdict::Counted { passed, failed } = it.verdict else { panic!("importers count: {it:?}") };
    u64::from(passed) + u64::from(failed)
}

/// A service on a database in memory, with clients that nothing is known of.
struct Service {
    app: App,
    store: Store,
    runtime: Runtime,
    n_used: u8,
}

thread_local! {
    static SERVICE: RefCell<Option<Service>> = const { RefCell::new(None) };
}

fn client_of(number: u8) -> ClientId {
    ClientId::from_bytes([number; 16])
}

impl Service {
    fn start() -> Self {
        let clock = Clock::manual(Time::from_s(NOW_S));
        let backend = redb::backends::InMemoryBackend::new();
        let store = Store::on_backend(backend, CACHE_BYTES).expect("memory is sound");
        for number in 0..N_CLIENTS {
            let client = Client {
                id: client_of(number),
                name: format!("Client {number}"),
                industry: None,
                employee_count: None,
                settings: "{}".to_owned(),
                state: ClientState::Active,
                created_at: clock.now(),
                updated_at: clock.now(),
            };
            let put = store.write_now(move |batch| batch.put_client(&client));
            put.expect("memory takes it");
        }
        let options = AppOptions {
            quota: [60, 1_000, 10_000],
            require_mfa: Vec::new(),
            oidc: None,
            msp_id: None,
            public_url: None,
            settings: posture::app::client::settings::Defaults::default(),
            events_days: 90,
            loss: posture::app::client::loss::LossModel::default(),
            webhooks: posture::app::webhook::delivery::DeliveryOptions::default(),
            scan: posture::app::scan::request::ScanOptions::default(),
            backup: posture::app::backup::BackupSettings::default(),
            connect: posture::app::connect::registry::ConnectOptions::default(),
            letterhead: posture::app::report::document::Letterhead::default(),
            time_zone: posture::clock::zone::Zone::UTC,
            configured: Vec::new(),
            mail: None,
            watch: None,
        };
        let catalog = embedded().expect("the catalog is valid");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.expect("threads can be made");
        let app = runtime.block_on(async {
            App::open(store.clone(), catalog, Sealer::random(), clock, options)
        });
        Self { app: app.expect("the database is new"), store, runtime, n_used: 0 }
    }

    fn push(&self, rows: &ClientStore, body: &FactsBody) -> Result<FactsPush> {
        let push = Push {
            body: body.clone(),
            file_name: String::new(),
            digest: [0; 32],
            by: "fuzz".to_owned(),
            once: None,
            is_file: false,
        };
        let push = self.app.check_push(rows.id(), push)?;
        self.runtime.block_on(self.app.push_facts(rows, push))
    }
}

/// What a client has: observations without the run that they come from, and the number of assets.
fn state_of(rows: &ClientStore) -> (BTreeMap<String, String>, u64) {
    let snapshot = rows.snapshot().expect("memory is sound");
    let all = snapshot.list_observations().expect("memory is sound");
    let texts = all.into_iter().map(|it| {
        let it = Observation { import: ImportId::from_bytes([0; 16]), ..it };
        (format!("{:?} {} {} {}", it.subject, it.source, it.scope, it.check), format!("{it:?}"))
    });
    let n_assets = rows.page_assets(&AssetFilter::default(), Cut { limit: 0, offset: 0 });
    (texts.collect(), n_assets.expect("memory is sound").total)
}

/// Any body is taken as a whole or is refused as the caller's mistake and leaves nothing. Sent again, it changes nothing.
pub fn facts(bytes: &[u8]) {
    let Ok(body) = serde_json::from_slice::<FactsBody>(bytes) else { return };
    SERVICE.with_borrow_mut(|service| {
        if service.as_ref().is_some_and(|it| it.n_used == N_CLIENTS) {
            *service = None;
        }
        let service = service.get_or_insert_with(Service::start);
        let id = client_of(service.n_used);
        service.n_used += 1;
        let rows = service.store.client_store(id);
        let empty = state_of(&rows);
        match service.push(&rows, &body) {
            Err(error) => {
                let is_callers = matches!(error.code, Code::Invalid | Code::Conflict);
                assert!(is_callers, "{:?}: {error}", error.code);
                assert_eq!(state_of(&rows), empty);
            }
            Ok(FactsPush::Replayed(_)) => panic!("it has no key"),
            Ok(FactsPush::Taken(outcome)) => {
                let (observations, n_assets) = state_of(&rows);
                assert_eq!(u64::from(outcome.import.n_assets_new), n_assets);
                service.push(&rows, &body).expect("it was taken before");
                assert_eq!(state_of(&rows), (observations, n_assets));
            }
        }
    });
}
