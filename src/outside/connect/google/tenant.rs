//! Who is where in the organization, and which settings hold there.
//!
//! Policies are set for organizational units and groups. Of those that reach a user, the one with the greatest sort order
//! holds. Members of groups are not read, except of the one of all administrators: what other groups have is told apart.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::row::{OrgUnit, Policy, User};
use super::setting::{Field, Fixed};
use super::snapshot::Snapshot;
use crate::clock::Time;

/// Google's own group.
const ALL_ADMINS: &str = "WORKSPACE_ALL_ADMIN_GROUP";

/// Active users with the same settings.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) path: &'a str,
    pub(super) is_admin: bool,
    pub(super) is_super: bool,
    /// The identifiers of its unit and those above. `None`: unknown.
    pub(super) units: Option<Vec<&'a str>>,
    pub(super) users: Vec<&'a User>,
}

#[derive(Debug)]
pub(super) struct Tenant<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// Names in lower case.
    pub(super) sanctioned_apps: &'a [String],
    pub(super) at: Time,
    /// By path. `None`: a user is not told, so that nothing is known of all.
    pub(super) places: Option<Vec<Place<'a>>>,
    /// `None`: not listed.
    top_unit: Option<&'a str>,
    /// By type of setting, greatest sort order first.
    policies: BTreeMap<&'a str, Vec<&'a Policy>>,
}

/// The settings at a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings<'t> {
    pub(super) tenant: &'t Tenant<'t>,
    pub(super) place: &'t Place<'t>,
    /// Those of its members.
    group: Option<&'t str>,
}

impl<'a> Tenant<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, sanctioned_apps: &'a [String], at: Time) -> Self {
        let paths = paths(snapshot.org_units.as_deref().unwrap_or_default());
        let users = snapshot.users.as_deref().unwrap_or_default();
        let places = places(users, &paths);
        let mut policies: BTreeMap<&str, Vec<&Policy>> = BTreeMap::new();
        for policy in snapshot.policies.iter().flatten() {
            policies.entry(policy.kind()).or_default().push(policy);
        }
        for of_kind in policies.values_mut() {
            of_kind.sort_by(|a, b| by_order(b, a));
        }
        let top_unit = paths.get("/").copied();
        Self { snapshot, sanctioned_apps, at, places, top_unit, policies }
    }

    pub(super) fn top_unit(&self) -> Option<&'a str> {
        self.top_unit
    }

    /// Returns true if there is any policy, and each says what it sets. A list without any was not really read: Google
    /// always sets some.
    pub(super) fn has_policies(&self) -> bool {
        !self.policies.is_empty() && !self.policies.contains_key("")
    }

    pub(super) fn policies_of(&self, kind: &str) -> &[&'a Policy] {
        self.policies.get(kind).map_or(&[], Vec::as_slice)
    }

    /// The groups with settings of these types, without that of all administrators.
    pub(super) fn groups(&self, kinds: &[&str]) -> BTreeSet<&'a str> {
        let of_kinds = kinds.iter().flat_map(|it| self.policies_of(it));
        of_kinds.filter_map(|it| it.group()).filter(|it| *it != ALL_ADMINS).collect()
    }

    pub(super) fn settings<'t>(&'t self, place: &'t Place<'t>) -> Settings<'t>
    where
        'a: 't,
    {
        Settings { tenant: self, place, group: None }
    }
}

/// The identifier of the unit at each path.
fn paths(units: &[OrgUnit]) -> BTreeMap<&str, &str> {
    let mut paths = BTreeMap::new();
    for unit in units {
        if let (Some(path), Some(id)) = (&unit.org_unit_path, &unit.org_unit_id) {
            paths.insert(path.as_str(), bare(id));
        }
        // The top unit is named by its children where the list does not have it.
        if let (Some("/"), Some(id)) =
            (unit.parent_org_unit_path.as_deref(), &unit.parent_org_unit_id)
        {
            paths.entry("/").or_insert_with(|| bare(id));
        }
    }
    paths
}

/// Identifiers are written `id:1`, `orgUnits/1` and `1`.
pub(super) fn bare(id: &str) -> &str {
    let id = id.strip_prefix("id:").unwrap_or(id);
    id.strip_prefix("orgUnits/").unwrap_or(id)
}

fn places<'a>(users: &'a [User], paths: &BTreeMap<&'a str, &'a str>) -> Option<Vec<Place<'a>>> {
    let mut by_key: BTreeMap<(&str, bool, bool), Vec<&User>> = BTreeMap::new();
    for user in users.iter().filter(|it| it.is_active()) {
        if user.id.is_none() || user.primary_email.is_none() {
            return None;
        }
        let path = user.org_unit_path.as_deref().unwrap_or_default();
        by_key.entry((path, user.is_any_admin(), user.is_super())).or_default().push(user);
    }
    let place = |((path, is_admin, is_super), users)| {
        let units = units_of(path, paths);
        Place { path, is_admin, is_super, units, users }
    };
    Some(by_key.into_iter().map(place).collect())
}

/// `None` if the unit or one above is not listed.
fn units_of<'a>(path: &str, paths: &BTreeMap<&'a str, &'a str>) -> Option<Vec<&'a str>> {
    let below = path.strip_prefix('/')?;
    let mut units = vec![*paths.get("/")?];
    if !below.is_empty() {
        let ends = path.match_indices('/').skip(1).map(|(at, _)| at).chain([path.len()]);
        for end in ends {
            units.push(*paths.get(&path[..end])?);
        }
    }
    Some(units)
}

fn by_order(a: &Policy, b: &Policy) -> Ordering {
    a.order().total_cmp(&b.order())
}

impl Policy {
    /// Without `settings/`.
    pub(super) fn kind(&self) -> &str {
        let kind = self.setting.as_ref().and_then(|it| it.kind.as_deref()).unwrap_or_default();
        kind.strip_prefix("settings/").unwrap_or(kind)
    }

    pub(super) fn is_readable(&self) -> bool {
        self.setting.as_ref().is_some_and(|it| it.value.is_some())
    }

    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        let value = self.setting.as_ref()?.value.as_ref()?.get(name)?;
        (!value.is_null()).then_some(value)
    }

    pub(super) fn unit(&self) -> Option<&str> {
        let id = self.policy_query.as_ref()?.org_unit.as_deref()?;
        Some(bare(id)).filter(|it| !it.is_empty())
    }

    pub(super) fn group(&self) -> Option<&str> {
        let id = self.policy_query.as_ref()?.group.as_deref()?;
        Some(id.strip_prefix("groups/").unwrap_or(id)).filter(|it| !it.is_empty())
    }

    /// Unknown counts as greatest.
    fn order(&self) -> f64 {
        let order = self.policy_query.as_ref().and_then(|it| it.sort_order);
        order.map_or(f64::INFINITY, |it| it.0)
    }

    /// Returns true if it may not hold for all of its unit or group: it depends on a license or is a list of conditions.
    pub(super) fn is_conditional(&self) -> bool {
        let Some(query) = &self.policy_query else { return true };
        let text = query.query.as_deref().unwrap_or_default();
        query.sort_order.is_none()
            || ["licenses", "||", "!"].iter().any(|it| text.contains(it))
            || (self.unit().is_none() && text.contains("org_unit"))
            || (self.group().is_none() && text.contains("entity.groups"))
    }
}

impl<'t> Settings<'t> {
    /// The settings of those here who are members of a group.
    pub(super) fn in_group(self, group: &'t str) -> Self {
        Self { group: Some(group), ..self }
    }

    /// The policies of a type that reach here, greatest sort order first.
    pub(super) fn policies_of(self, kind: &str) -> impl Iterator<Item = &'t Policy> {
        let reaches = move |it: &&Policy| self.is_reached(it);
        self.tenant.policies_of(kind).iter().copied().filter(reaches)
    }

    fn is_reached(self, policy: &Policy) -> bool {
        let units = self.place.units.as_deref().unwrap_or_default();
        let is_unit = policy.unit().is_none_or(|it| units.contains(&it));
        let is_group = match policy.group() {
            None => true,
            Some(ALL_ADMINS) => self.place.is_admin,
            group => group == self.group,
        };
        is_unit && is_group
    }

    /// What may hold: values of policies, `None` for the default. All of them are to be considered: some policies hold for a
    /// license only.
    fn candidates(self, field: &Field) -> Vec<Option<&'t Value>> {
        let mut found = Vec::new();
        let mut last = None;
        for policy in self.policies_of(field.kind) {
            if last.is_some_and(|last| by_order(policy, last) == Ordering::Less) {
                return found;
            }
            let value = policy.value(field.name);
            if field.merges && value.is_none() {
                continue;
            }
            found.push(value);
            if !policy.is_conditional() {
                last = Some(policy);
            }
        }
        if last.is_none() {
            found.push(None);
        }
        found
    }

    /// The value in which all candidates agree. `None`: unknown.
    fn agreed<T: Copy + PartialEq>(
        self,
        field: &Field,
        read: impl Fn(&'t Value) -> Option<T>,
        default: Option<T>,
    ) -> Option<T> {
        let is_readable = self.policies_of(field.kind).all(Policy::is_readable);
        self.place.units.as_ref().filter(|_| is_readable)?;
        let mut agreed = None;
        for candidate in self.candidates(field) {
            let value = candidate.map_or(default, &read)?;
            if agreed.is_some_and(|it| it != value) {
                return None;
            }
            agreed = Some(value);
        }
        agreed
    }

    /// `None`: unknown.
    pub(super) fn flag(self, field: &Field) -> Option<bool> {
        let default = match field.default {
            Some(Fixed::Flag(flag)) => Some(flag),
            Some(Fixed::Word(_)) | None => None,
        };
        self.agreed(field, Value::as_bool, default)
    }

    /// `None`: unknown.
    pub(super) fn word(self, field: &Field) -> Option<&'t str> {
        let default = match field.default {
            Some(Fixed::Word(word)) => Some(word),
            Some(Fixed::Flag(_)) | None => None,
        };
        self.agreed(field, Value::as_str, default)
    }

    /// A whole number. `None`: unknown.
    pub(super) fn number(self, field: &Field) -> Option<i64> {
        let read = |it: &Value| it.as_i64().or_else(|| it.as_str()?.parse().ok());
        self.agreed(field, read, None)
    }

    /// Whether a service is on. `None`: unknown.
    pub(super) fn is_on(self, service: &Field) -> Option<bool> {
        match self.word(service)? {
            "ENABLED" => Some(true),
            "DISABLED" => Some(false),
            _ => None,
        }
    }
}
