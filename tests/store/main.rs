//! The store, through its front door.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on says so")]
#![allow(unreachable_pub, reason = "nothing here leaves the crate; `pub` says what a file gives")]

mod changes;
mod durability;
mod group;
mod index;
mod log;
mod opening;
mod overlay;
mod queue;
mod rows;
mod statements;
mod verdicts;

#[allow(dead_code, reason = "which of these a package needs is its own affair")]
mod harness;

use posture_core::clock::Time;
use posture_core::engine::asset::{Asset, AssetStatus, AssetType, Kept};
use posture_core::engine::event::EventKind;
use posture_core::engine::fact::{Observation, Subject, Verdict};
use posture_core::engine::memory::sparse::SparseMemory;
use posture_core::engine::severity::Severity;
use posture_core::id::{AssetId, ClientId, EventId, ImportId};
use posture_core::page::Cut;
use posture_store::store::per_client::asset::AssetFilter;
use posture_store::store::{ClientBatch, ClientStore, Store, StoreOptions};

use crate::harness::backend::Disk;
use crate::harness::postgres;

/// Enough for these tests, little enough that pages are read from the disk again.
const CACHE_BYTES: usize = 1024 * 1024;

fn noon() -> Time {
    Time::from_s(1_790_000_000)
}

fn memory() -> Store {
    if postgres::is_wanted() {
        let dir = tempfile::tempdir().expect("the system has a place for temporary files");
        // What is left of the folder is removed with those of the system.
        return open_in(&dir.keep()).expect("a new database opens");
    }
    Store::on_backend(Disk::default(), CACHE_BYTES).expect("a sound disk opens")
}

fn open_in(dir: &std::path::Path) -> posture_core::error::Result<Store> {
    let engine = postgres::engine(dir);
    Store::open(&StoreOptions { dir: dir.to_owned(), cache_bytes: CACHE_BYTES, engine }, noon())
}

fn some_client(number: u8) -> ClientId {
    ClientId::from_bytes([number; 16])
}

/// An asset of source `rmm` before it is added.
fn new_asset(external_id: &str) -> Asset {
    Asset {
        id: AssetId::from_bytes([0; 16]),
        source: "rmm".to_owned(),
        external_id: external_id.to_owned(),
        aliases: Vec::new(),
        name: format!("name of {external_id}"),
        display_name: None,
        category: None,
        asset_type: AssetType::Server,
        status: AssetStatus::Active,
        is_critical: false,
        is_managed: true,
        owner: None,
        description: None,
        tags: vec!["tag".to_owned()],
        kept: Kept::default(),
        hostname: None,
        ip: None,
        mac: None,
        serial: None,
        first_discovered_at: noon(),
        last_updated_at: noon(),
        last_seen_at: noon(),
    }
}

/// How many assets a filter finds.
fn count_assets(rows: &ClientStore, filter: &AssetFilter) -> posture_core::error::Result<u64> {
    Ok(rows.page_assets(filter, Cut { limit: 0, offset: 0 })?.total)
}

/// Adds an event whose object has this name.
fn add_event(batch: &mut ClientBatch<'_>, name: &str) -> posture_core::error::Result<u64> {
    let kind = EventKind::AssetDiscovered;
    let body = serde_json::json!({"data": {"object": {"name": name}}});
    batch.add_event(EventId::random(), kind, noon(), |_| Ok(body.to_string()))
}

/// One observation of `check` at `noon` plus so many seconds.
fn observation(check: &str, at_s: i64, verdict: Verdict) -> Observation {
    Observation {
        subject: Subject::Check { tool: "prowler".to_owned() },
        source: "prowler".to_owned(),
        scope: "123456789012".to_owned(),
        check: check.to_owned(),
        observed_at: noon().plus_s(at_s),
        valid_until: None,
        import: ImportId::from_bytes([7; 16]),
        verdict,
        accepted: 0,
        severity: Severity::High,
        title: format!("title of {check}"),
        findings: Some("findings".to_owned()),
        remediation: None,
        failing: vec![1, 2, 3],
        memory: SparseMemory::default(),
        facets: Vec::new(),
        platform: None,
    }
}

const PASSED: Verdict = Verdict::Counted { passed: 1, failed: 0 };
const SILENT: Verdict = Verdict::Counted { passed: 0, failed: 0 };

/// A write that touches many tables: an asset with its ways, its event, an observation, a due time.
fn mixed(batch: &mut ClientBatch<'_>, name: &str) -> posture_core::error::Result<Asset> {
    let asset = batch.add_asset(Asset {
        hostname: Some(format!("host-{name}")),
        serial: Some(format!("serial-{name}")),
        ..new_asset(name)
    })?;
    add_event(batch, name)?;
    batch.add_observation(&observation(name, 0, PASSED))?;
    batch.bump_facts_version()?;
    batch.put_due(noon())?;
    Ok(asset)
}

/// How many of the rows of [`mixed`] are there: 0 or [`N_MIXED`], unless the write was torn.
fn n_mixed(store: &Store, client: ClientId, name: &str) -> usize {
    use posture_store::store::per_client::asset::IdentityKey;

    let snapshot = store.snapshot().expect("open");
    let rows = snapshot.client(client);
    let asset = rows.find_asset_by_external("rmm", name).expect("sound");
    let by_host = rows.find_asset_by(IdentityKey::Hostname(&format!("host-{name}")));
    let by_serial = rows.find_asset_by(IdentityKey::Serial(&format!("serial-{name}")));
    let owner = asset.as_ref().and_then(|it| snapshot.find_asset_client(it.id).expect("sound"));
    let events = snapshot.list_events(0, usize::MAX, Some(&[client])).expect("sound");
    let observations = rows.list_observations().expect("sound");
    [
        asset.is_some(),
        by_host.expect("sound") == asset && asset.is_some(),
        by_serial.expect("sound") == asset && asset.is_some(),
        owner == Some(client),
        events.iter().any(|it| it.body.contains(&format!("\"name\":\"{name}\""))),
        observations.iter().any(|it| it.check == name),
    ]
    .into_iter()
    .filter(|it| *it)
    .count()
}

const N_MIXED: usize = 6;
