//! API keys: issue, change, rotate, revoke.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use crate::app::App;
use crate::app::event::cause::require_free_name;
use crate::app::input::require_name;
use crate::auth::caller::Caller;
use crate::auth::key::KeyText;
use crate::auth::keyring::HeldKey;
use crate::auth::limit::Quota;
use crate::auth::network;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::{ClientId, KeyId};
use crate::store::Batch;
use crate::store::global::key::{Key, Previous, Scope};
use crate::text::looks;

/// More than this many networks or characters in one key are refused.
pub const N_NETWORKS_MAX: usize = 100;
pub const NAME_CHARS_MAX: usize = 200;
/// A window's limit beyond this is refused.
pub const QUOTA_MAX: u32 = 100_000_000;
/// How long the old secret of a rotated key stays valid by default.
pub const GRACE_S: u32 = 86_400;
/// A longer grace is refused.
pub const GRACE_S_MAX: u32 = 30 * 86_400;

/// How long a revoked key stays listed: as long as the audit log shows what it did.
pub const REVOKED_DAYS: i64 = 396;

/// A key to issue.
#[derive(Clone, Debug)]
pub struct NewKey {
    pub name: String,
    pub scopes: Vec<Scope>,
    pub clients: Vec<ClientId>,
    pub networks: Vec<String>,
    /// `None` in a place: the configured default.
    pub quota: [Option<u32>; 3],
    pub expires_at: Option<Time>,
    /// `None`: the key's name.
    pub source: Option<String>,
}

/// What to change of a key. `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct KeyChange {
    pub name: Option<String>,
    pub scopes: Option<Vec<Scope>>,
    pub clients: Option<Vec<ClientId>>,
    pub networks: Option<Vec<String>>,
    pub quota: [Option<u32>; 3],
    pub expires_at: Option<Option<Time>>,
}

/// The limits of a new key. A default gives way to a wanted limit: a longer window never allows less than a shorter one.
fn quota_of(wanted: [Option<u32>; 3], default: Quota) -> Quota {
    let mut quota: Quota = std::array::from_fn(|it| wanted[it].unwrap_or(default[it]));
    for (index, default) in default.into_iter().enumerate() {
        if wanted[index].is_none() {
            let least = wanted[..index].iter().flatten().max().copied().unwrap_or(0);
            let most = wanted[index..].iter().flatten().min().copied().unwrap_or(u32::MAX);
            quota[index] = default.min(most).max(least).max(1);
        }
    }
    quota
}

/// # Errors
/// `Invalid` if a longer window allows less than a shorter one, which makes the limit of the shorter one meaningless.
fn check_windows([per_minute, per_hour, per_day]: Quota) -> Result<()> {
    if per_hour < per_minute {
        return Err(Error::invalid_field(
            "perHour",
            format!("must not be less than perMinute ({per_minute})"),
        ));
    }
    if per_day < per_hour {
        return Err(Error::invalid_field(
            "perDay",
            format!("must not be less than perHour ({per_hour})"),
        ));
    }
    Ok(())
}

impl App {
    /// Issues a key. Its text is returned only this once.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule.
    pub async fn issue_key(&self, by: &Caller, new: NewKey) -> Result<(Arc<HeldKey>, KeyText)> {
        let now = self.clock.now();
        let text = KeyText::random();
        let quota = quota_of(new.quota, self.options.quota);
        let key = Key {
            id: KeyId::random(),
            prefix: text.prefix().to_owned(),
            source: new.source.unwrap_or_else(|| new.name.clone()),
            name: new.name,
            scopes: new.scopes,
            clients: new.clients,
            networks: new.networks,
            per_minute: quota[0],
            per_hour: quota[1],
            per_day: quota[2],
            expires_at: new.expires_at,
            digest: text.digest(),
            previous: None,
            created_at: now,
            revoked_at: None,
        };
        let changing = Arc::clone(&self.access.keyring.changing).lock_owned().await;
        self.check_key(&key, None, now)?;
        let held = self.store_key(by, key, changing).await?;
        Ok((held, text))
    }

    /// # Errors
    /// `NotFound`, or `Invalid` with the field that breaks a rule.
    pub async fn change_key(
        &self,
        by: &Caller,
        id: KeyId,
        change: impl FnOnce() -> Result<KeyChange>,
    ) -> Result<Arc<HeldKey>> {
        let changing = Arc::clone(&self.access.keyring.changing).lock_owned().await;
        let before = self.get_key(id)?;
        let change = change()?;
        let mut key = before.key.clone();
        key.name = change.name.unwrap_or(key.name);
        key.scopes = change.scopes.unwrap_or(key.scopes);
        key.clients = change.clients.unwrap_or(key.clients);
        key.networks = change.networks.unwrap_or(key.networks);
        key.expires_at = change.expires_at.unwrap_or(key.expires_at);
        key.per_minute = change.quota[0].unwrap_or(key.per_minute);
        key.per_hour = change.quota[1].unwrap_or(key.per_hour);
        key.per_day = change.quota[2].unwrap_or(key.per_day);
        self.check_key(&key, Some(&before.key), self.clock.now())?;
        self.store_key(by, key, changing).await
    }

    /// Gives the key a new secret. The old one works until the grace period ends (0: it stops working now).
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if it is revoked; `Invalid` if the grace period is too long.
    pub async fn rotate_key(
        &self,
        by: &Caller,
        id: KeyId,
        grace_s: impl FnOnce() -> Result<u32>,
    ) -> Result<(Arc<HeldKey>, KeyText)> {
        let changing = Arc::clone(&self.access.keyring.changing).lock_owned().await;
        let mut key = self.get_key(id)?.key.clone();
        let grace_s = grace_s()?;
        if GRACE_S_MAX < grace_s {
            let rule = format!("must be at most {GRACE_S_MAX}");
            return Err(Error::invalid_field("graceS", rule));
        }
        if key.revoked_at.is_some() {
            return Err(Error::conflict("the key is revoked; issue a new one"));
        }
        let now = self.clock.now();
        let text = KeyText::random();
        let until = now.plus_s(i64::from(grace_s));
        key.previous = Some(Previous { prefix: key.prefix, digest: key.digest, until });
        key.prefix = text.prefix().to_owned();
        key.digest = text.digest();
        let held = self.store_key(by, key, changing).await?;
        Ok((held, text))
    }

    /// Takes effect with the next request. Revoking a revoked key changes nothing.
    pub async fn revoke_key(&self, by: &Caller, id: KeyId) -> Result<()> {
        let changing = Arc::clone(&self.access.keyring.changing).lock_owned().await;
        let mut key = self.get_key(id)?.key.clone();
        if key.revoked_at.is_none() {
            key.revoked_at = Some(self.clock.now());
            self.store_key(by, key, changing).await?;
        }
        Ok(())
    }

    /// Removes keys that were revoked before the retention period. Returns true if more may remain.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn forget_keys(&self) -> Result<bool> {
        const N_AT_ONCE: usize = 200;
        let before = self.clock.now().plus_days(-REVOKED_DAYS);
        let changing = Arc::clone(&self.access.keyring.changing).lock_owned().await;
        let is_old = |it: &Arc<HeldKey>| it.key.revoked_at.is_some_and(|at| at < before);
        let old = self.access.keyring.list().into_iter().filter(is_old).map(|it| it.key.id);
        let old: Arc<[KeyId]> = old.take(N_AT_ONCE).collect();
        if old.is_empty() {
            return Ok(false);
        }
        let (kept, keyring) = (Arc::clone(&old), Arc::clone(&self.access.keyring));
        let remove = move |(): &()| {
            keyring.remove(&kept);
            drop(changing);
        };
        let more = old.len() == N_AT_ONCE;
        let write = move |batch: &mut Batch| old.iter().try_for_each(|it| batch.remove_key(*it));
        self.store.reserved().write_then(write, remove).await?;
        Ok(more)
    }

    pub fn get_key(&self, id: KeyId) -> Result<Arc<HeldKey>> {
        self.access.keyring.find(id).ok_or_else(|| Error::not_found("key not found"))
    }

    async fn store_key(
        &self,
        by: &Caller,
        key: Key,
        changing: OwnedMutexGuard<()>,
    ) -> Result<Arc<HeldKey>> {
        let held = HeldKey::of(key)?;
        let (row, kept, keyring) = (held.clone(), held.clone(), Arc::clone(&self.access.keyring));
        // After the commit: what memory grants must survive a restart.
        let put = move |(): &()| {
            keyring.put(&kept);
            drop(changing);
        };
        let write = move |batch: &mut Batch| {
            batch.note_object(&row.key.id);
            batch.put_key(&row.key)
        };
        by.acting_on(&self.store).reserved().write_then(write, put).await?;
        Ok(held)
    }

    /// # Errors
    /// `Conflict` if another key that is not revoked has the name, or one that looks like it.
    fn require_new_key_name(&self, key: &Key, before: Option<&Key>) -> Result<()> {
        if before.is_some_and(|it| it.name == key.name) {
            return Ok(());
        }
        let own = looks(&key.name);
        let is_same = |it: &Arc<HeldKey>| {
            it.key.id != key.id
                && it.key.revoked_at.is_none()
                && it.looks.iter().any(|it| own.contains(it))
        };
        if self.access.keyring.list().iter().any(is_same) {
            return Err(Error::conflict(
                "another key has this name, or one that looks like it; choose another name, or revoke that key first",
            ));
        }
        Ok(())
    }

    /// A value that the key had `before` is accepted: a client of its list may have been erased since, or its expiry
    /// time may have passed.
    fn check_key(&self, key: &Key, before: Option<&Key>, now: Time) -> Result<()> {
        if before.is_none_or(|it| it.name != key.name) {
            require_name("name", &key.name, NAME_CHARS_MAX)?;
        }
        if before.is_none_or(|it| it.source != key.source) {
            require_name("source", &key.source, NAME_CHARS_MAX)?;
            require_free_name(&key.source)?;
        }
        if key.scopes.is_empty() {
            return Err(Error::invalid_field("scopes", "name at least one scope"));
        }
        self.require_clients(&key.clients, before.map_or(&[], |it| &it.clients))?;
        if N_NETWORKS_MAX < key.networks.len() {
            return Err(Error::invalid_field(
                "networks",
                format!("must have at most {N_NETWORKS_MAX} entries"),
            ));
        }
        for text in &key.networks {
            network::parse(text).map_err(|it| it.about("networks"))?;
        }
        let limits =
            [("perMinute", key.per_minute), ("perHour", key.per_hour), ("perDay", key.per_day)];
        for (field, limit) in limits {
            if !(1..=QUOTA_MAX).contains(&limit) {
                return Err(Error::invalid_field(field, format!("must be 1 to {QUOTA_MAX}")));
            }
        }
        let quota = |it: &Key| [it.per_minute, it.per_hour, it.per_day];
        if before.is_none_or(|it| quota(it) != quota(key)) {
            check_windows(quota(key))?;
        }
        let is_new_time = before.is_none_or(|it| it.expires_at != key.expires_at);
        if is_new_time && key.expires_at.is_some_and(|it| it <= now) {
            return Err(Error::invalid_field("expiresAt", "must be in the future"));
        }
        self.require_new_key_name(key, before)
    }
}
