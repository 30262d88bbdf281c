//! All API keys in memory: verified without the disk, changed after the commit.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use ipnetwork::IpNetwork;
use subtle::ConstantTimeEq;

use super::key::KeyText;
use super::network;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::KeyId;
use crate::store::global::key::Key;

/// A key and what was computed from it once.
#[derive(Debug)]
pub struct Held {
    pub key: Key,
    /// Empty: from anywhere.
    pub networks: Vec<IpNetwork>,
}

impl Held {
    /// # Errors
    /// `Internal` when a network of the key does not parse.
    pub fn of(key: Key) -> Result<Arc<Self>> {
        let networks = key.networks.iter().map(|it| network::parse(it)).collect::<Result<_>>();
        let networks = networks.map_err(Error::internal)?;
        Ok(Arc::new(Self { key, networks }))
    }
}

#[derive(Debug, Default)]
pub struct Keyring {
    by_prefix: RwLock<HashMap<String, Arc<Held>>>,
    version: AtomicU64,
    /// Held from the reading of a key to the keeping of its next state, also when the caller has left meanwhile, so that no
    /// change undoes another: a revocation stays.
    pub changing: Arc<tokio::sync::Mutex<()>>,
}

impl Keyring {
    /// # Errors
    /// `Internal` when a stored network does not parse.
    pub fn of(keys: Vec<Key>) -> Result<Self> {
        let ring = Self::default();
        for key in keys {
            ring.put(&Held::of(key)?);
        }
        Ok(ring)
    }

    /// Takes the place of the key with the same id. Acts on the next request.
    pub fn put(&self, held: &Arc<Held>) {
        let mut all = self.by_prefix.write().expect("no holder of this lock panics");
        all.retain(|_, it| it.key.id != held.key.id);
        all.insert(held.key.prefix.clone(), Arc::clone(held));
        if let Some(previous) = &held.key.previous {
            all.insert(previous.prefix.clone(), Arc::clone(held));
        }
        drop(all);
        self.version.fetch_add(1, Ordering::Release);
    }

    pub fn find(&self, id: KeyId) -> Option<Arc<Held>> {
        let all = self.by_prefix.read().expect("no holder of this lock panics");
        all.values().find(|it| it.key.id == id).cloned()
    }

    /// Each key once, oldest first.
    pub fn list(&self) -> Vec<Arc<Held>> {
        let all = self.by_prefix.read().expect("no holder of this lock panics");
        let mut keys: Vec<_> = all
            .iter()
            .filter(|(prefix, it)| **prefix == it.key.prefix)
            .map(|(_, it)| Arc::clone(it))
            .collect();
        keys.sort_by_key(|it| (it.key.created_at, it.key.id));
        keys
    }

    /// # Errors
    /// `Unauthenticated` when the key is malformed, unknown, wrong, expired, revoked or past its grace. One sentence
    /// for all of them: which it was is nobody's business who does not hold the key.
    pub fn verify(&self, presented: &str, now: Time) -> Result<Arc<Held>> {
        let refused = || Error::unauthenticated("API key missing or invalid");
        let text = KeyText::parse(presented).ok_or_else(refused)?;
        let held = {
            let all = self.by_prefix.read().expect("no holder of this lock panics");
            all.get(text.prefix()).cloned()
        };
        let digest = text.digest();
        let expected = held.as_ref().and_then(|it| live_digest(&it.key, text.prefix(), now));
        // An unknown prefix costs the same comparison as a known one.
        let matches = digest.ct_eq(&expected.unwrap_or([0; 32]));
        match held {
            Some(held) if bool::from(matches) && expected.is_some() => Ok(held),
            _ => Err(refused()),
        }
    }
}

/// `None` when nothing with this prefix is alive.
fn live_digest(key: &Key, prefix: &str, now: Time) -> Option<[u8; 32]> {
    if key.revoked_at.is_some() || key.expires_at.is_some_and(|it| it <= now) {
        return None;
    }
    if key.prefix == prefix {
        return Some(key.digest);
    }
    key.previous.as_ref().filter(|it| it.prefix == prefix && now < it.until).map(|it| it.digest)
}
