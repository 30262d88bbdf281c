//! Use cases: one function each, one commit each, then the wake.

pub mod access;
pub mod assessment;
pub mod client;
pub mod decision;
pub mod event;
pub mod input;
pub mod intake;
pub mod inventory;
pub mod report;
pub mod scan;
pub mod upkeep;
pub mod webhook;

use std::collections::HashMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, Weak};

use crate::auth::caller::Account;
use crate::auth::keyring::Keyring;
use crate::auth::limit::{Limiter, Operation, Quota};
use crate::auth::password::Hasher;
use crate::auth::people::People;
use crate::auth::throttle::Throttle;
use crate::auth::token::TokenKey;
use crate::clock::{Clock, Time};
use crate::egress::Egress;
use crate::engine::catalog::Catalog;
use crate::engine::fact::{Facts, Profile};
use crate::engine::posture::Posture;
use crate::error::Result;
use crate::id::ClientId;
use crate::secret::Sealer;
use crate::store::{Batch, Snapshot, Store};
use client::directory::Directory;

/// What the key that signs session tokens is for.
const SESSIONS: &str = "posture sessions 1";

/// What the use cases need to know of the configuration.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of a key that was issued without limits of its own.
    pub quota: Quota,
    /// The managed service provider's id in events. `None`: made once and kept in the database.
    pub msp_id: Option<String>,
    /// Where people reach this installation, without a slash at its end: events then carry links.
    pub public_url: Option<String>,
    pub settings: client::settings::Defaults,
    pub webhooks: webhook::delivery::Options,
    pub scan: scan::request::Options,
}

/// Holds off every other assessment of a client.
pub type ClientLock = tokio::sync::OwnedMutexGuard<()>;

/// The service: everything that a use case reaches, held once for the process.
pub struct App {
    store: Store,
    pub catalog: Arc<Catalog>,
    pub clock: Clock,
    pub keyring: Arc<Keyring>,
    /// Of the versioned interface.
    pub limiter: Limiter,
    /// Of the management API. Begins anew with the process.
    pub management_limiter: Limiter<Account>,
    /// Of operations with a limit of their own. Begins anew with the process.
    pub operation_limiter: Limiter<(Account, Operation)>,
    pub people: Arc<People>,
    hasher: Hasher,
    throttle: Throttle,
    token_key: TokenKey,
    tally: access::audit::Tally,
    strangers: access::audit::Tally,
    /// The day on which the journal was last told of the audit log's end.
    audit_told_on: AtomicU32,
    pub directory: Arc<Directory>,
    sealer: Sealer,
    egress: Egress,
    attempt_counts: webhook::delivery::AttemptCounts,
    /// Scans that run now, and their common pace.
    scans: Arc<scan::request::Desk>,
    pub options: Options,
    msp_id: String,
    /// What every client shows until its first assessment.
    unassessed: Posture,
    /// The day on which the sweep last looked for stale assets and old rows of each client.
    kept_up: Mutex<HashMap<ClientId, u32>>,
    /// One assessment at a time for each client: two would only plan twice.
    assessing: Mutex<HashMap<ClientId, Weak<tokio::sync::Mutex<()>>>>,
}

impl App {
    /// Loads what is kept in memory: clients, keys, counters.
    ///
    /// # Errors
    /// `Internal` when the database does not read, `Unavailable` when it does not write.
    pub fn open(
        store: Store,
        catalog: Catalog,
        sealer: Sealer,
        clock: Clock,
        options: Options,
    ) -> Result<Self> {
        let snapshot = store.snapshot()?;
        let directory = Arc::new(Directory::of(snapshot.list_clients()?));
        let keyring = Arc::new(Keyring::of(snapshot.list_keys()?)?);
        let people = Arc::new(People::of(snapshot.list_users()?));
        let limiter = Limiter::resume(snapshot.list_windows()?);
        let egress = webhook::delivery::egress(&options.webhooks)?;
        let msp_id = match &options.msp_id {
            Some(id) => id.clone(),
            None => snapshot.msp_id()?,
        };
        let unassessed = unassessed(&catalog);
        Ok(Self {
            store,
            catalog: Arc::new(catalog),
            clock,
            keyring,
            limiter,
            management_limiter: Limiter::default(),
            operation_limiter: Limiter::default(),
            people,
            hasher: Hasher::default(),
            throttle: Throttle::default(),
            token_key: TokenKey::of(sealer.derive(SESSIONS)),
            tally: access::audit::Tally::default(),
            strangers: access::audit::Tally::default(),
            audit_told_on: AtomicU32::default(),
            directory,
            sealer,
            egress,
            attempt_counts: webhook::delivery::AttemptCounts::default(),
            scans: Arc::new(scan::request::Desk::of(&options.scan)),
            options,
            msp_id,
            unassessed,
            kept_up: Mutex::default(),
            assessing: Mutex::default(),
        })
    }

    /// Which managed service provider this installation belongs to, as events say it.
    pub fn msp_id(&self) -> &str {
        &self.msp_id
    }

    /// Lets events to come say what the configuration says of the installation.
    ///
    /// # Errors
    /// `Unavailable` when the disk does not take it.
    pub async fn settle_installation(&self) -> Result<()> {
        let known = self.store.read(Snapshot::installation).await?;
        let since = self.store.read(Snapshot::scoped_keys_since).await?;
        let (msp_id, public_url) = (self.msp_id.clone(), self.options.public_url.clone());
        if known.msp_id == msp_id && known.public_url == public_url && since.is_some() {
            return Ok(());
        }
        let now = self.clock.now();
        let write = move |batch: &mut Batch| {
            batch.put_msp_id(&msp_id)?;
            batch.put_public_url(public_url.as_deref())?;
            // Conditions that an earlier release opened keep the keys they were announced with.
            batch.put_scoped_keys_since(since.unwrap_or(now))
        };
        self.store.write(write).await
    }

    /// The store's state, for readiness and metrics.
    pub fn health(&self) -> crate::store::Health {
        self.store.health()
    }

    /// The lock that lets one assessment of a client run at a time.
    fn assessing(&self, client: ClientId) -> Arc<tokio::sync::Mutex<()>> {
        let mut all = self.assessing.lock().expect("no holder of this lock panics");
        if let Some(lock) = all.get(&client).and_then(Weak::upgrade) {
            return lock;
        }
        all.retain(|_, it| 0 < it.strong_count());
        let lock = Arc::new(tokio::sync::Mutex::new(()));
        all.insert(client, Arc::downgrade(&lock));
        lock
    }
}

/// The posture of a client of whom nothing is known.
fn unassessed(catalog: &Catalog) -> Posture {
    let facts = Facts {
        observations: &[],
        attestations: &[],
        decisions: &[],
        profile: &Profile::new(),
        critical_subjects: &[],
        annual_loss: None,
        now: Time::EPOCH,
    };
    crate::engine::assess(catalog, &facts)
}
