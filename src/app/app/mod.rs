//! Use cases. Each is one function and one commit, which then wakes the workers.

pub mod access;
pub mod assessment;
pub mod backup;
pub mod certificate;
pub mod client;
pub mod connect;
pub mod decision;
pub mod event;
pub mod exploited;
pub mod framework;
pub mod ingestion;
pub mod input;
pub mod intake;
pub mod inventory;

pub mod notice;
pub mod report;
pub mod reseal;
pub mod scan;
pub mod setting;
pub mod upkeep;
pub mod webhook;

use std::path::PathBuf;
use std::sync::Arc;

use crate::auth::limit::Quota;
use crate::clock::Clock;
use crate::clock::zone::Zone;
use crate::engine::assess;
use crate::engine::catalog::Catalog;
use crate::engine::fact::{Facts, Profile};
use crate::engine::posture::ControlOutcome;
use crate::error::Result;
use crate::mail::MailOptions;
use crate::poll::PollWatch;
use crate::scan::Pace;
use crate::secret::Sealer;
use crate::store::global::connection::credential::CredentialOwner;
use crate::store::global::user::Role;
use crate::store::{Batch, Snapshot, Store};
use access::Access;
use backup::{BackupSettings, Backups};
use certificate::Certificates;
use client::Clients;
use connect::registry::{ConnectOptions, Connects};
use decision::batch::Batches;
use framework::Frameworks;
use ingestion::Ingestions;
use intake::count::IntakeCounts;
use intake::upload::UploadLimits;
use intake::watch::Watch;
use notice::Notices;
use report::document::signing::{ReportKeys, add_report_key};
use report::known::Known;
use report::mail::Mailing;
use report::portfolio::PortfolioTurns;
use scan::registry::ScanRegistry;
use setting::Settings;
use upkeep::clock_watch::ClockWatch;
use webhook::Webhooks;

pub use client::ClientLock;

/// What the use cases need to know of the configuration.
#[derive(Clone, Debug)]
pub struct AppOptions {
    /// The limits of a key that was issued without its own.
    pub quota: Quota,
    /// Users of these roles must set up a second factor before anything else.
    pub require_mfa: Vec<Role>,
    /// The identity provider at which people sign in. `None`: there is none.
    pub oidc: Option<access::oidc::OidcOptions>,
    /// The managed service provider's id in events. `None`: made once and kept in the database.
    pub msp_id: Option<String>,
    /// The public address of this installation, without a slash at its end. If it is set, events contain links.
    pub public_url: Option<String>,
    pub settings: client::settings::Defaults,
    /// How long events and changes of requirements are kept.
    pub events_days: u32,
    pub loss: client::loss::LossModel,
    pub webhooks: webhook::delivery::DeliveryOptions,
    pub scan: scan::request::ScanOptions,
    pub backup: BackupSettings,
    pub connect: ConnectOptions,
    pub letterhead: report::document::Letterhead,
    /// Where days end, unless a client has a zone of its own.
    pub time_zone: Zone,
    /// Every option of the configuration, as people write it.
    pub configured: Vec<setting::Configured>,
    /// The server that sends messages. `None`: there is none, until somebody sets one.
    pub mail: Option<MailOptions>,
    /// The folder whose files are imported. `None`: there is none.
    pub watch: Option<PathBuf>,
}

/// The service: everything that a use case reaches, held once for the process. Each folder owns its part.
pub struct App {
    store: Store,
    frameworks: Arc<Frameworks>,
    pub clock: Clock,
    pub options: AppOptions,
    msp_id: String,
    /// What is shown of a client's controls until its first assessment.
    unassessed: Vec<ControlOutcome>,
    pub access: Access,
    pub clients: Clients,
    uploads: UploadLimits,
    intakes: IntakeCounts,
    watch: Watch,
    ingestions: Ingestions,
    scans: Arc<ScanRegistry>,
    webhooks: Webhooks,
    certificates: Certificates,
    report_keys: ReportKeys,
    portfolio_turns: PortfolioTurns,
    known: Known,
    mailing: Arc<Mailing>,
    backups: Backups,
    batches: Batches,
    pub notices: Notices,
    pub polls: Arc<PollWatch>,
    clock_watch: ClockWatch,
    connects: Connects,
    settings: Settings,
}

impl App {
    /// Loads what is kept in memory: clients, keys, counters.
    ///
    /// # Errors
    /// `Internal` if the database cannot be read, `Unavailable` if it cannot be written.
    pub fn open(
        store: Store,
        catalog: Catalog,
        sealer: Sealer,
        clock: Clock,
        options: AppOptions,
    ) -> Result<Self> {
        let snapshot = store.snapshot()?;
        let msp_id = match &options.msp_id {
            Some(id) => id.clone(),
            None => snapshot.installation()?.msp_id,
        };
        let access = Access::load(&snapshot, sealer.clone(), options.oidc.clone())?;
        let clients = Clients::of(snapshot.list_clients()?);
        let (keyring, people) = (Arc::clone(&access.keyring), Arc::clone(&access.people));
        let directory = Arc::clone(&clients.directory);
        let unassessed = assess(&catalog, &Facts::none(&Profile::new())).controls;
        let frameworks = Arc::new(Frameworks::of(catalog, &snapshot.list_own_frameworks()?));
        let own = Arc::clone(&frameworks);
        let settings = Settings::of(snapshot.list_settings()?);
        let chosen = settings.clone();
        let set = snapshot.find_credential(CredentialOwner::MailServer)?;
        let mailing = Arc::new(Mailing::of(&options, sealer.clone(), set.as_ref())?);
        let mails = Arc::clone(&mailing);
        store.on_reopened(move |snapshot| {
            own.replace_all(&snapshot.list_own_frameworks()?);
            chosen.replace_all(snapshot.list_settings()?);
            mails.replace(snapshot.find_credential(CredentialOwner::MailServer)?.as_ref());
            people.replace_all(
                snapshot.list_users()?,
                snapshot.list_second_factors()?,
                snapshot.list_passkeys()?,
                snapshot.list_identities()?,
            );
            directory.replace_all(snapshot.list_clients()?);
            keyring.replace_all(snapshot.list_keys()?)
        });
        let backups = settings.backup_settings(&options.backup);
        let notices = Notices::of(backup::notices_of(&backups, &snapshot));
        Ok(Self {
            access,
            clients,
            uploads: UploadLimits::default(),
            intakes: IntakeCounts::default(),
            watch: Watch::default(),
            ingestions: Ingestions::of(snapshot.list_open_ingestions()?),
            scans: Arc::new(ScanRegistry::new(Pace::of(options.scan.per_s))),
            certificates: Certificates::new(sealer.clone()),
            report_keys: ReportKeys::new(sealer.clone()),
            portfolio_turns: PortfolioTurns::default(),
            known: Known::default(),
            mailing,
            connects: Connects::of(&options.connect, sealer.clone())?,
            settings,
            webhooks: Webhooks::new(sealer, &options.webhooks)?,
            notices,
            backups: Backups::of(&options.backup, &snapshot),
            batches: Batches::default(),
            polls: Arc::default(),
            clock_watch: ClockWatch::of(clock.read()),
            unassessed,
            frameworks,
            store,
            clock,
            options,
            msp_id,
        })
    }

    /// Returns the id of the managed service provider, as events contain it.
    pub fn msp_id(&self) -> &str {
        &self.msp_id
    }

    /// Stores what future events say about the installation.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn settle_installation(&self) -> Result<()> {
        let known = self.store.read(Snapshot::installation).await?;
        let since = self.store.read(Snapshot::scoped_keys_since).await?;
        let (msp_id, public_url) = (self.msp_id.clone(), self.options.public_url.clone());
        let now = self.clock.now();
        let keys = self.store.read(Snapshot::list_report_keys).await?;
        let key = self.report_keys.missing(&keys, now);
        let release = self.new_release().await?;
        let is_same = known.msp_id == msp_id && known.public_url == public_url;
        if is_same && since.is_some() && key.is_none() && release.is_none() {
            return Ok(());
        }
        let write = move |batch: &mut Batch| {
            if let Some(key) = &key {
                add_report_key(batch, key)?;
            }
            batch.put_msp_id(&msp_id)?;
            batch.put_public_url(public_url.as_deref())?;
            release.as_ref().map_or(Ok(()), |it| batch.put_release(it))?;
            // Conditions that an earlier release opened keep the keys they were announced with.
            batch.put_scoped_keys_since(since.unwrap_or(now))
        };
        self.store.write(write).await
    }

    /// Whether the database still takes a write and reads it back, for the watchdog.
    ///
    /// # Errors
    /// Those of [`Store::self_test`].
    pub async fn self_test(&self) -> Result<()> {
        self.store.self_test().await
    }

    /// The store's state, for readiness and metrics.
    pub fn health(&self) -> crate::store::Health {
        self.store.health()
    }

    /// Whether what is in memory may be answered. False once another process may have taken over the database.
    pub fn is_current(&self) -> bool {
        self.store.is_current()
    }

    /// This process, if others could have the database open in its place.
    pub fn node(&self) -> Option<crate::store::ActiveNode> {
        self.store.node()
    }

    /// The length of the database file, for metrics.
    pub fn database_bytes(&self) -> u64 {
        self.store.file_bytes()
    }

    /// What the store keeps in memory, for metrics.
    pub fn store_memory(&self) -> crate::store::StoreMemory {
        self.store.memory()
    }
}
