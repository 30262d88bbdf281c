//! The use cases without a server around them.

use posture::app::client::loss::LossModel;
use posture::app::client::settings;
use posture::app::{self, App};
use posture::catalog::embedded;
use posture::clock::{Clock, Time};
use posture::engine::catalog::Catalog;
use posture::id::ClientId;
use posture::store::Store;
use posture::store::global::client::{Client, ClientState};

/// As a configuration without options has it.
pub(crate) fn open(store: &Store, clock: Clock) -> App {
    open_with(store, clock, embedded().unwrap())
}

pub(crate) fn open_with(store: &Store, clock: Clock, catalog: Catalog) -> App {
    let options = app::AppOptions {
        quota: [60, 1_000, 10_000],
        require_mfa: Vec::new(),
        oidc: None,
        msp_id: None,
        public_url: None,
        settings: settings::Defaults::default(),
        events_days: 90,
        loss: LossModel::default(),
        webhooks: app::webhook::delivery::DeliveryOptions::default(),
        scan: app::scan::request::ScanOptions::default(),
        backup: app::backup::BackupSettings::default(),
        connect: app::connect::registry::ConnectOptions::default(),
        letterhead: app::report::document::Letterhead::default(),
        time_zone: posture::clock::zone::Zone::UTC,
        configured: Vec::new(),
        mail: None,
        watch: None,
    };
    let sealer = posture::secret::Sealer::random();
    App::open(store.clone(), catalog, sealer, clock, options).unwrap()
}

pub(crate) fn client(id: ClientId, n: u32, now: Time) -> Client {
    Client {
        id,
        name: format!("Client {n:05}"),
        industry: Some("Retail".to_owned()),
        employee_count: Some(50),
        settings: "{}".to_owned(),
        state: ClientState::Active,
        created_at: now,
        updated_at: now,
    }
}
