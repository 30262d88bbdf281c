//! The use cases without a server around them.

use posture::app::client::loss::LossModel;
use posture::app::client::settings;
use posture::app::{self, App};
use posture::catalog::embedded;
use posture::clock::Clock;
use posture::store::Store;

/// As a configuration without options has it.
pub(crate) fn open(store: &Store, clock: Clock) -> App {
    let options = app::AppOptions {
        quota: [60, 1_000, 10_000],
        require_mfa: Vec::new(),
        oidc: None,
        msp_id: None,
        public_url: None,
        settings: settings::Defaults::default(),
        loss: LossModel::default(),
        webhooks: app::webhook::delivery::DeliveryOptions::default(),
        scan: app::scan::request::ScanOptions::default(),
        backup: app::backup::BackupSettings::default(),
        connect: app::connect::registry::ConnectOptions::default(),
        letterhead: app::report::document::Letterhead::default(),
        configured: Vec::new(),
        mail: None,
        watch: None,
    };
    let sealer = posture::secret::Sealer::random();
    App::open(store.clone(), embedded().unwrap(), sealer, clock, options).unwrap()
}
