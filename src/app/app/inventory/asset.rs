//! Assets: pushed by integrators, discovered by sources, changed by people.

use crate::app::App;
use crate::app::event;
use crate::app::input::{require_length, require_written};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::engine::asset::{
    Asset, AssetStatus, AssetType, Kept, N_ALIASES_MAX, ReportedFields, Seen,
};
use crate::engine::estate::SystemCounts;
use crate::engine::fact::subject_hash;
use crate::error::{Error, Result};
use crate::id::{AssetId, ClientId};
use crate::store::global::client::ClientState;
use crate::store::per_client::asset::IdentityKey;
use crate::store::{ClientBatch, ClientStore};

pub const NAME_CHARS_MAX: usize = 500;
pub const CATEGORY_CHARS_MAX: usize = 100;
pub const OWNER_CHARS_MAX: usize = 255;
pub const DESCRIPTION_BYTES_MAX: usize = 16 * 1024;
pub const N_TAGS_MAX: usize = 64;
pub const TAG_CHARS_MAX: usize = 128;
/// A pushed asset's reassessment waits this long, so that many pushes share one.
const REASSESS_AFTER_S: i64 = 3;

/// The contract's `AssetCreate`. `None`: not sent.
#[derive(Clone, Debug)]
pub struct NewAsset {
    pub client: ClientId,
    pub name: String,
    pub external_id: String,
    pub asset_type: AssetType,
    pub change: AssetChange,
}

/// The optional fields of `AssetCreate`, and all of `AssetUpdate`. `None` leaves a field.
#[derive(Clone, Debug, Default)]
pub struct AssetChange {
    pub name: Option<String>,
    pub display_name: Option<Option<String>>,
    pub category: Option<Option<String>>,
    pub is_critical: Option<bool>,
    pub owner: Option<Option<String>>,
    pub description: Option<Option<String>>,
    pub tags: Option<Vec<String>>,
}

/// The result of a push.
#[derive(Clone, Debug)]
pub enum PushedAsset {
    Added(Asset),
    Known(Asset),
}

impl App {
    /// Adds an asset, or changes the one that this caller's source already pushed with that external id. Two pushes at
    /// once add one asset. A new asset is announced.
    ///
    /// # Errors
    /// `Forbidden` and `NotFound` for the client; `Invalid` with the field that breaks a rule.
    pub async fn push_asset(&self, caller: &Caller, new: NewAsset) -> Result<PushedAsset> {
        require_written("externalId", &new.external_id, NAME_CHARS_MAX)?;
        require_written("name", &new.name, NAME_CHARS_MAX)?;
        check_change(&new.change)?;
        let (_, rows) = self.reach_active(caller, new.client)?;
        let now = self.clock.now();
        let source = caller.source().to_owned();
        let write = move |batch: &mut ClientBatch<'_>| {
            if batch.find_profile()?.is_none_or(|it| it.state != ClientState::Active) {
                return Err(Error::not_found("client not found")); // Its erasure came before this write.
            }
            if let Some(mut asset) = batch.find_asset_by_external(&source, &new.external_id)? {
                asset.name.clone_from(&new.name);
                asset.kept.name = true;
                asset.asset_type = new.asset_type;
                asset.kept.asset_type = true;
                apply(&mut asset, &new.change);
                touch(&mut asset, now);
                batch.put_asset(&asset)?;
                batch.put_due(now.plus_s(REASSESS_AFTER_S))?;
                return Ok(PushedAsset::Known(asset));
            }
            let mut asset = pushed(&source, &new, now);
            apply(&mut asset, &new.change);
            let asset = batch.add_asset(asset)?;
            match batch.find_first_push(&source)? {
                Some(first) if first.day() < now.day() => mark_new(batch, &asset)?,
                Some(_) => (),
                None => batch.put_first_push(&source, now)?,
            }
            event::asset::discovered(&asset, now).add(batch)?;
            batch.put_due(now.plus_s(REASSESS_AFTER_S))?;
            Ok(PushedAsset::Added(asset))
        };
        rows.write(write).await
    }

    /// Changes only what the change names. What a person or integrator set survives scans and syncs.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` when the asset is of a client that the caller may not see.
    pub async fn change_asset(
        &self,
        caller: &Caller,
        id: AssetId,
        change: impl FnOnce() -> Result<AssetChange>,
    ) -> Result<(ClientId, Asset)> {
        let rows = self.reach_asset(caller, id).await?;
        let change = change()?;
        check_change(&change)?;
        let now = self.clock.now();
        let write = move |batch: &mut ClientBatch<'_>| {
            let absent = || Error::not_found("asset not found");
            let before = batch.find_asset(id)?.ok_or_else(absent)?;
            let mut asset = before.clone();
            apply(&mut asset, &change);
            if asset == before {
                return Ok(asset); // Nothing was updated.
            }
            asset.last_updated_at = now;
            batch.put_asset(&asset)?;
            batch.put_due(now.plus_s(REASSESS_AFTER_S))?;
            Ok(asset)
        };
        Ok((rows.id(), rows.write(write).await?))
    }

    /// Returns the rows of the client that an asset belongs to.
    async fn reach_asset(&self, caller: &Caller, id: AssetId) -> Result<ClientStore> {
        let absent = || Error::not_found("asset not found");
        let client = caller
            .acting_on(&self.store)
            .read(move |snapshot| snapshot.find_asset_client(id))
            .await?;
        let (_, rows) = self.reach_active(caller, client.ok_or_else(absent)?).map_err(|error| {
            if error.code == crate::error::Code::NotFound { absent() } else { error }
        })?;
        Ok(rows)
    }
}

pub(in crate::app) fn check_change(change: &AssetChange) -> Result<()> {
    if let Some(name) = &change.name {
        require_written("name", name, NAME_CHARS_MAX)?;
    }
    let flat = |it: &Option<Option<String>>| it.clone().flatten();
    require_length("displayName", flat(&change.display_name).as_deref(), NAME_CHARS_MAX)?;
    require_length("category", flat(&change.category).as_deref(), CATEGORY_CHARS_MAX)?;
    require_length("owner", flat(&change.owner).as_deref(), OWNER_CHARS_MAX)?;
    if flat(&change.description).is_some_and(|it| DESCRIPTION_BYTES_MAX < it.len()) {
        let rule = format!("must be at most {DESCRIPTION_BYTES_MAX} bytes");
        return Err(Error::invalid_field("description", rule));
    }
    let tags = change.tags.as_deref().unwrap_or_default();
    if N_TAGS_MAX < tags.len() {
        return Err(Error::invalid_field("tags", format!("must be at most {N_TAGS_MAX}")));
    }
    for (index, tag) in tags.iter().enumerate() {
        require_length(&format!("tags[{index}]"), Some(tag), TAG_CHARS_MAX)?;
    }
    Ok(())
}

/// The writer replaces this id.
const NO_ID: AssetId = AssetId::from_bytes([0; 16]);

/// An asset with only the fields that every asset has.
fn fresh(source: &str, external_id: &str, name: &str, asset_type: AssetType, at: Time) -> Asset {
    Asset {
        id: NO_ID,
        source: source.to_owned(),
        external_id: external_id.to_owned(),
        aliases: Vec::new(),
        name: name.to_owned(),
        display_name: None,
        category: None,
        asset_type,
        status: AssetStatus::Active,
        is_critical: false,
        is_managed: false,
        owner: None,
        description: None,
        tags: Vec::new(),
        kept: Kept::default(),
        hostname: None,
        ip: None,
        mac: None,
        serial: None,
        first_discovered_at: at,
        last_updated_at: at,
        last_seen_at: at,
    }
}

fn pushed(source: &str, new: &NewAsset, now: Time) -> Asset {
    Asset {
        is_managed: true,
        kept: Kept { name: true, asset_type: true, ..Kept::default() },
        ..fresh(source, &new.external_id, &new.name, new.asset_type, now)
    }
}

fn discovered(source: &str, seen: &Seen, at: Time) -> Asset {
    let reported = &seen.reported;
    Asset {
        display_name: reported.display_name.clone(),
        is_critical: reported.is_critical.unwrap_or(false),
        owner: reported.owner.clone(),
        description: reported.description.clone(),
        tags: reported.tags.clone().unwrap_or_default(),
        category: seen.category.clone(),
        is_managed: seen.is_managed,
        hostname: seen.hostname.clone(),
        ip: seen.ip.clone(),
        mac: seen.mac.clone(),
        serial: seen.serial.clone(),
        ..fresh(source, &seen.external_id, &seen.name, seen.asset_type, at)
    }
}

/// Writes what the change names and marks it as kept.
fn apply(asset: &mut Asset, change: &AssetChange) {
    fn set<T: Clone>(value: &mut T, kept: &mut bool, change: Option<&T>) {
        if let Some(new) = change {
            value.clone_from(new);
            *kept = true;
        }
    }
    let kept = &mut asset.kept;
    set(&mut asset.name, &mut kept.name, change.name.as_ref());
    set(&mut asset.display_name, &mut kept.display_name, change.display_name.as_ref());
    set(&mut asset.category, &mut kept.category, change.category.as_ref());
    set(&mut asset.is_critical, &mut kept.is_critical, change.is_critical.as_ref());
    set(&mut asset.owner, &mut kept.owner, change.owner.as_ref());
    set(&mut asset.description, &mut kept.description, change.description.as_ref());
    set(&mut asset.tags, &mut kept.tags, change.tags.as_ref());
}

fn touch(asset: &mut Asset, seen_at: Time) {
    asset.status = AssetStatus::Active;
    asset.last_updated_at = asset.last_updated_at.max(seen_at);
    asset.last_seen_at = asset.last_seen_at.max(seen_at);
}

/// The result of merging a seen asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    Added(Box<Asset>),
    Updated,
    Unchanged,
}

/// Which source saw assets, and when.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    pub source: &'a str,
    /// The time of assets without their own.
    pub seen_at: Time,
    pub now: Time,
    /// The source had looked before, so that an asset that is seen first is new.
    pub is_late: bool,
}

/// Notes that a device is new, so that it is not asked for at once.
fn mark_new(batch: &mut ClientBatch<'_>, asset: &Asset) -> Result<()> {
    if asset.device_counts() == SystemCounts::NONE { Ok(()) } else { batch.mark_new(asset) }
}

/// Merges what a source saw into the inventory. An asset is found by external id of the same source, then serial, MAC,
/// hostname, IP.
///
/// `is_met`: whether the same run already saw an asset. Serial, MAC, hostname and IP never match such an asset, because
/// two assets of one run are different.
pub fn merge(
    batch: &mut ClientBatch<'_>,
    sight: &Sighting<'_>,
    seen: &Seen,
    is_met: impl Fn(&AssetId) -> bool,
) -> Result<(AssetId, Merged)> {
    let source = sight.source;
    let at = seen.seen_at.unwrap_or(sight.seen_at);
    let Some(before) = find_seen(batch, source, seen, is_met)? else {
        let asset = batch.add_asset(discovered(source, seen, at))?;
        if sight.is_late {
            mark_new(batch, &asset)?;
        }
        ask_if_counted(batch, None, &asset, sight.now)?;
        return Ok((asset.id, Merged::Added(Box::new(asset))));
    };
    let mut after = refreshed(&before, seen, at);
    if (before.source.as_str(), before.external_id.as_str()) != (source, &seen.external_id) {
        batch.link_external(source, &seen.external_id, before.id)?;
        let alias = subject_hash(&seen.external_id);
        let is_known = alias == subject_hash(&before.external_id) || after.aliases.contains(&alias);
        if !is_known && after.aliases.len() < N_ALIASES_MAX {
            after.aliases.push(alias);
            if after.is_critical {
                // The assessment in progress did not know that these findings are about a critical asset.
                batch.put_due(sight.now.plus_s(REASSESS_AFTER_S))?;
            }
        }
    }
    if after == before {
        return Ok((before.id, Merged::Unchanged));
    }
    batch.put_asset(&after)?;
    ask_if_counted(batch, Some(&before), &after, sight.now)?;
    Ok((before.id, Merged::Updated))
}

/// Requests an assessment if the client has more devices then, or fewer: a run assesses before its assets are written.
pub fn ask_if_counted(
    batch: &mut ClientBatch<'_>,
    before: Option<&Asset>,
    after: &Asset,
    now: Time,
) -> Result<()> {
    if before.map_or(SystemCounts::NONE, Asset::device_counts) == after.device_counts() {
        return Ok(());
    }
    batch.put_due(now.plus_s(REASSESS_AFTER_S))
}

fn find_seen(
    batch: &ClientBatch<'_>,
    source: &str,
    seen: &Seen,
    is_met: impl Fn(&AssetId) -> bool,
) -> Result<Option<Asset>> {
    if let Some(asset) = batch.find_asset_by_external(source, &seen.external_id)? {
        return Ok(Some(asset));
    }
    let keys = [
        seen.serial.as_deref().map(IdentityKey::Serial),
        seen.mac.as_deref().map(IdentityKey::Mac),
        seen.hostname.as_deref().map(IdentityKey::Hostname),
        seen.ip.as_deref().map(IdentityKey::Ip),
    ];
    for key in keys.into_iter().flatten() {
        let Some(asset) = batch.find_asset_by(key)? else { continue };
        if !contradicts(&asset, seen, key) && !is_met(&asset.id) {
            return Ok(Some(asset));
        }
    }
    Ok(None)
}

/// Returns true if a stronger key than the one that matched shows that these are different assets.
fn contradicts(asset: &Asset, seen: &Seen, by: IdentityKey<'_>) -> bool {
    let differ = |a: &Option<String>, b: &Option<String>| match (a, b) {
        (Some(a), Some(b)) => !a.eq_ignore_ascii_case(b),
        (Some(_) | None, _) => false,
    };
    let serial = differ(&asset.serial, &seen.serial);
    let mac = serial || differ(&asset.mac, &seen.mac);
    match by {
        IdentityKey::Serial(_) => false,
        IdentityKey::Mac(_) => serial,
        IdentityKey::Hostname(_) => mac,
        IdentityKey::Ip(_) => mac || differ(&asset.hostname, &seen.hostname),
    }
}

/// Applies what the source reported, except for what a person or integrator set.
fn apply_reported(asset: &mut Asset, reported: &ReportedFields) {
    fn set<T: Clone>(value: &mut T, kept: bool, reported: Option<T>) {
        if let (Some(new), false) = (reported, kept) {
            *value = new;
        }
    }
    let kept = asset.kept;
    set(&mut asset.display_name, kept.display_name, reported.display_name.clone().map(Some));
    set(&mut asset.is_critical, kept.is_critical, reported.is_critical);
    set(&mut asset.owner, kept.owner, reported.owner.clone().map(Some));
    set(&mut asset.description, kept.description, reported.description.clone().map(Some));
    set(&mut asset.tags, kept.tags, reported.tags.clone());
}

/// Returns the seen asset's new state. It is equal to `before` if no change is worth a write.
fn refreshed(before: &Asset, seen: &Seen, at: Time) -> Asset {
    // A read within this time of the last one is not written if nothing else changed.
    const SIGHT_S: i64 = 12 * 3_600;
    let mut asset = before.clone();
    if at < before.last_seen_at {
        return asset; // A late report changes nothing about an asset that was seen since.
    }
    if !asset.kept.name {
        asset.name.clone_from(&seen.name);
    }
    if !asset.kept.category && seen.category.is_some() {
        asset.category.clone_from(&seen.category);
    }
    if !asset.kept.asset_type {
        asset.asset_type = seen.asset_type;
    }
    asset.is_managed |= seen.is_managed;
    apply_reported(&mut asset, &seen.reported);
    for (mark, new) in [
        (&mut asset.hostname, &seen.hostname),
        (&mut asset.ip, &seen.ip),
        (&mut asset.mac, &seen.mac),
        (&mut asset.serial, &seen.serial),
    ] {
        if new.is_some() {
            mark.clone_from(new);
        }
    }
    let changed = asset != *before;
    if changed || SIGHT_S <= at.s_since(asset.last_seen_at) || asset.status != AssetStatus::Active {
        touch(&mut asset, at);
    }
    asset
}
