//! The keys that sign documents. The service makes them, and seals them like its other secrets.
//!
//! The newest key that the key file opens signs. If it opens none, as after a restore without the key file, another key
//! is added. Those of before stay, and sign again once their key file is back.

use crate::app::App;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::paper::signature::{PublicKey, SEED_BYTES, SigningKey};
use crate::secret::{Sealer, random};
use crate::store::{Batch, ReportKey, Snapshot};

/// What the sealed values are for.
const PLACE: &str = "report signing key";
/// One more is refused. Nobody changes key files this often.
const N_KEYS_MAX: usize = 100;

/// Opens the keys that sign documents.
pub struct ReportKeys {
    sealer: Sealer,
}

/// A key with which documents were signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownKey {
    pub key: PublicKey,
    /// When it was made.
    pub at: Time,
    /// New documents are signed with it.
    pub signs: bool,
}

impl ReportKeys {
    pub(in crate::app) fn new(sealer: Sealer) -> Self {
        Self { sealer }
    }

    /// The newest that opens, with its place.
    fn find(&self, keys: &[ReportKey]) -> Option<(usize, SigningKey)> {
        let open = |it: &ReportKey| {
            let seed = self.sealer.open_sealed(PLACE, &it.seed).ok()?;
            SigningKey::of(&hex::decode(seed).ok()?)
        };
        keys.iter().enumerate().rev().find_map(|(index, it)| Some((index, open(it)?)))
    }

    /// Another key, if there is none that opens and room for one.
    pub(in crate::app) fn missing(&self, keys: &[ReportKey], at: Time) -> Option<ReportKey> {
        if self.find(keys).is_some() || N_KEYS_MAX <= keys.len() {
            return None;
        }
        if !keys.is_empty() {
            tracing::warn!(
                "posture.key opens no key that signs reports, so there is a new one from now on; those of before sign again once \
                 the original key file is back"
            );
        }
        let seed = random::<SEED_BYTES>();
        let public_key = SigningKey::of(&seed)?.public_key().0;
        Some(ReportKey { at, public_key, seed: self.sealer.seal(PLACE, &hex::encode(seed)) })
    }
}

/// Adds a key after those that are there.
pub(in crate::app) fn add_report_key(batch: &mut Batch, key: &ReportKey) -> Result<()> {
    let mut keys = batch.list_report_keys()?;
    keys.push(key.clone());
    batch.put_report_keys(&keys)
}

/// Hands each sealed value out, to be sealed anew.
pub(in crate::app) fn reseal(
    batch: &mut Batch,
    each: &mut dyn FnMut(&str, &mut Vec<u8>),
) -> Result<()> {
    let mut keys = batch.list_report_keys()?;
    if keys.is_empty() {
        return Ok(());
    }
    for it in &mut keys {
        each(PLACE, &mut it.seed);
    }
    batch.put_report_keys(&keys)
}

impl App {
    /// Lists the keys with which documents were signed, newest first.
    ///
    /// # Errors
    /// `Internal` if they are damaged.
    pub async fn list_report_keys(&self) -> Result<Vec<KnownKey>> {
        let keys = self.store.read(Snapshot::list_report_keys).await?;
        let current = self.report_keys.find(&keys).map(|it| it.0);
        let known = |(index, it): (usize, &ReportKey)| KnownKey {
            key: PublicKey(it.public_key),
            at: it.at,
            signs: Some(index) == current,
        };
        Ok(keys.iter().enumerate().rev().map(known).collect())
    }

    /// Returns the key that signs.
    ///
    /// # Errors
    /// `Unavailable` if there is none: the start could not make it.
    pub(super) async fn signing_key(&self) -> Result<SigningKey> {
        let keys = self.store.read(Snapshot::list_report_keys).await?;
        let found = self.report_keys.find(&keys).map(|it| it.1);
        let rule = "there is no key to sign reports with; put the original posture.key back, or restart the service";
        found.ok_or_else(|| Error::unavailable(rule))
    }
}
