//! What a facts body lists: accounts, apps and assets.

use std::collections::HashSet;

use super::body::{AppBody, AssetBody, FactsBody, IdentityBody};
use super::field::{TEXT_CHARS_MAX, bad, optional, text, time};
use crate::app::inventory::asset::{AssetChange, check_change};
use crate::engine::asset::{AssetType, ReportedFields, Seen};
use crate::engine::identity::{AppUse, Identity, LastSignIn, UserType};
use crate::error::{Error, Result};

const N_ROLES_MAX: usize = 200;

pub(super) fn identities(all: &[IdentityBody]) -> Result<Vec<Identity>> {
    let mut ids = HashSet::new();
    let mut identities = Vec::with_capacity(all.len());
    for (index, it) in all.iter().enumerate() {
        let field = |name: &str| format!("identities[{index}].{name}");
        let user = text(&field("user"), &it.user, TEXT_CHARS_MAX)?;
        let external_id = it.external_id.as_ref().unwrap_or(&it.user);
        let external_id = text(&field("externalId"), external_id, TEXT_CHARS_MAX)?;
        if !ids.insert(external_id.clone()) {
            return bad(field("externalId"), "is a duplicate");
        }
        if N_ROLES_MAX < it.roles.len() {
            return bad(field("roles"), format!("must have at most {N_ROLES_MAX} entries"));
        }
        let role = |role: &String| text(&field("roles"), role, TEXT_CHARS_MAX);
        let mut roles = it.roles.iter().map(role).collect::<Result<Vec<_>>>()?;
        roles.sort_unstable();
        roles.dedup();
        let last_sign_in = match it.last_sign_in.as_deref() {
            None => LastSignIn::Unknown,
            Some("never") => LastSignIn::Never,
            Some(at) => LastSignIn::At(time(&field("lastSignIn"), at)?),
        };
        let created_at = it.created_at.as_ref();
        identities.push(Identity {
            external_id,
            user,
            display_name: optional(&field("displayName"), it.display_name.as_ref())?,
            user_type: it
                .user_type
                .as_ref()
                .map_or(UserType::Unknown, |it| UserType::of(it.eq_ignore_ascii_case("guest"))),
            is_admin: it.admin,
            roles,
            mfa: it.mfa,
            mfa_enforced: it.mfa_enforced,
            is_enabled: it.enabled,
            created_at: created_at.map(|it| time(&field("createdAt"), it)).transpose()?,
            last_sign_in,
            listed_at: None,
            mfa_known_at: None,
        });
    }
    Ok(identities)
}

pub(super) fn apps(all: &[AppBody]) -> Result<Vec<AppUse>> {
    let mut names = HashSet::new();
    let mut apps = Vec::with_capacity(all.len());
    for (index, it) in all.iter().enumerate() {
        let field = |name: &str| format!("apps[{index}].{name}");
        let name = text(&field("name"), &it.name, TEXT_CHARS_MAX)?;
        if !names.insert(name.clone()) {
            return bad(field("name"), "is a duplicate");
        }
        apps.push(AppUse {
            name,
            publisher: optional(&field("publisher"), it.publisher.as_ref())?,
            n_users: it.users,
            is_sanctioned: it.sanctioned,
        });
    }
    Ok(apps)
}

pub(super) fn assets(body: &FactsBody) -> Result<Vec<Seen>> {
    let mut ids = HashSet::new();
    let mut assets = Vec::new();
    for (index, it) in body.assets.iter().flatten().enumerate() {
        let field = |name: &str| format!("assets[{index}].{name}");
        let external_id = text(&field("externalId"), &it.external_id, TEXT_CHARS_MAX)?;
        if !ids.insert(external_id.clone()) {
            return bad(field("externalId"), "is a duplicate");
        }
        let asset_type = AssetType::ALL.into_iter().find(|word| word.as_str() == it.asset_type);
        let Some(asset_type) = asset_type else {
            let known = AssetType::ALL.map(AssetType::as_str).join(", ");
            return bad(field("assetType"), format!("must be one of {known}"));
        };
        let last_seen_at = it.last_seen_at.as_ref();
        assets.push(Seen {
            external_id,
            name: text(&field("name"), &it.name, TEXT_CHARS_MAX)?,
            category: optional(&field("category"), it.category.as_ref())?,
            asset_type,
            is_managed: it.is_managed,
            hostname: optional(&field("hostname"), it.hostname.as_ref())?,
            ip: optional(&field("ip"), it.ip.as_ref())?,
            mac: optional(&field("mac"), it.mac.as_ref())?
                .map(|it| it.to_lowercase().replace('-', ":")),
            serial: optional(&field("serial"), it.serial.as_ref())?,
            scope: body.scope.clone(),
            seen_at: last_seen_at.map(|it| time(&field("lastSeenAt"), it)).transpose()?,
            reported: reported(it, index)?,
        });
    }
    Ok(assets)
}

fn reported(it: &AssetBody, index: usize) -> Result<ReportedFields> {
    let change = AssetChange {
        display_name: it.display_name.clone().map(Some),
        category: it.category.clone().map(Some),
        owner: it.owner.clone().map(Some),
        description: it.description.clone().map(Some),
        tags: it.tags.clone(),
        ..AssetChange::default()
    };
    check_change(&change).map_err(|error| match error.details.first() {
        Some(it) => Error::invalid_field(format!("assets[{index}].{}", it.field), &*it.message),
        None => error,
    })?;
    Ok(ReportedFields {
        display_name: it.display_name.clone(),
        is_critical: it.is_critical,
        owner: it.owner.clone(),
        description: it.description.clone(),
        tags: it.tags.clone(),
    })
}
