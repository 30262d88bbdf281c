//! All API keys in memory. They are verified without disk access and changed after the commit.

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
use crate::text::looks;

/// A key, with its networks parsed.
#[derive(Debug)]
pub struct HeldKey {
    pub key: Key,
    /// Empty: any network.
    pub networks: Vec<IpNetwork>,
    /// How its name [`looks`].
    pub looks: Vec<String>,
}

impl HeldKey {
    /// # Errors
    /// `Internal` if a network of the key cannot be parsed.
    pub fn of(key: Key) -> Result<Arc<Self>> {
        let networks = key.networks.iter().map(|it| network::parse(it)).collect::<Result<_>>();
        let networks = networks.map_err(Error::internal)?;
        let looks = looks(&key.name);
        Ok(Arc::new(Self { key, networks, looks }))
    }
}

#[derive(Debug, Default)]
pub struct Keyring {
    by_prefix: RwLock<HashMap<String, Arc<HeldKey>>>,
    version: AtomicU64,
    /// Locked from reading a key until its new state is stored, even if the caller has disconnected meanwhile, so that
    /// concurrent changes cannot undo each other and a revocation is final.
    pub changing: Arc<tokio::sync::Mutex<()>>,
}

impl Keyring {
    /// # Errors
    /// `Internal` if a stored network cannot be parsed.
    pub fn of(keys: Vec<Key>) -> Result<Self> {
        let ring = Self::default();
        for key in keys {
            ring.put(&HeldKey::of(key)?);
        }
        Ok(ring)
    }

    /// Replaces all keys.
    pub fn replace_all(&self, keys: Vec<Key>) -> Result<()> {
        let new = Self::of(keys)?.by_prefix.into_inner().expect("no holder of this lock panics");
        *self.by_prefix.write().expect("no holder of this lock panics") = new;
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Replaces the key with the same id. Takes effect with the next request.
    pub fn put(&self, held: &Arc<HeldKey>) {
        let mut all = self.by_prefix.write().expect("no holder of this lock panics");
        all.retain(|_, it| it.key.id != held.key.id);
        all.insert(held.key.prefix.clone(), Arc::clone(held));
        if let Some(previous) = &held.key.previous {
            all.insert(previous.prefix.clone(), Arc::clone(held));
        }
        drop(all);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Forgets keys that were revoked long ago.
    pub fn remove(&self, ids: &[KeyId]) {
        let mut all = self.by_prefix.write().expect("no holder of this lock panics");
        all.retain(|_, it| !ids.contains(&it.key.id));
        drop(all);
        self.version.fetch_add(1, Ordering::Release);
    }

    pub fn find(&self, id: KeyId) -> Option<Arc<HeldKey>> {
        let all = self.by_prefix.read().expect("no holder of this lock panics");
        all.values().find(|it| it.key.id == id).cloned()
    }

    /// The key whose secret begins so, or began so before it was replaced.
    pub fn find_by_prefix(&self, prefix: &str) -> Option<Arc<HeldKey>> {
        let all = self.by_prefix.read().expect("no holder of this lock panics");
        all.get(prefix).cloned()
    }

    /// A key that was verified, as it is now. `None`: its secret would no longer be accepted.
    pub fn current(&self, held: &HeldKey, now: Time) -> Option<Arc<HeldKey>> {
        let all = self.by_prefix.read().expect("no holder of this lock panics");
        let current = all.get(&held.key.prefix).filter(|it| it.key.id == held.key.id)?;
        live_digest(&current.key, &held.key.prefix, now).map(|_| Arc::clone(current))
    }

    /// Each key once, oldest first.
    pub fn list(&self) -> Vec<Arc<HeldKey>> {
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
    /// `Unauthenticated` if the key is malformed, unknown, wrong, expired, revoked, or was rotated out. The message is the
    /// same for all of them, so that it reveals nothing about a key.
    pub fn verify(&self, presented: &str, now: Time) -> Result<Arc<HeldKey>> {
        let refused = || Error::unauthenticated("API key missing or invalid");
        let text = KeyText::parse(presented).ok_or_else(refused)?;
        let held = {
            let all = self.by_prefix.read().expect("no holder of this lock panics");
            all.get(text.prefix()).cloned()
        };
        let digest = text.digest();
        let expected = held.as_ref().and_then(|it| live_digest(&it.key, text.prefix(), now));
        // An unknown prefix takes the same comparison as a known one.
        let matches = digest.ct_eq(&expected.unwrap_or([0; 32]));
        match held {
            Some(held) if bool::from(matches) && expected.is_some() => Ok(held),
            _ => Err(refused()),
        }
    }
}

/// The digest that a key with this prefix must have. `None`: no valid key has this prefix.
fn live_digest(key: &Key, prefix: &str, now: Time) -> Option<[u8; 32]> {
    if key.revoked_at.is_some() || key.expires_at.is_some_and(|it| it <= now) {
        return None;
    }
    if key.prefix == prefix {
        return Some(key.digest);
    }
    key.previous.as_ref().filter(|it| it.prefix == prefix && now < it.until).map(|it| it.digest)
}
