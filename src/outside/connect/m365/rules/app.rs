//! Applications of others: which are in use (APP-03), what they may do (APP-02), and who publishes them (APP-04).

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Time;
use crate::connect::m365::tenant::{Field, ServicePrincipal, Tenant};
use crate::connect::reading::JudgedStatus::Compliant;
use crate::connect::reading::{Judged, Member};
use crate::engine::fact::failing_line;
use crate::engine::identity::AppUse;

const MICROSOFT_GRAPH: &str = "00000003-0000-0000-c000-000000000000";
/// The tenants in which Microsoft keeps its own applications.
const MICROSOFT: [&str; 2] =
    ["f8cdef31-a31e-4b4a-93e4-5f571e91255a", "72f988bf-86f1-41af-91ab-2d7cd011db47"];

/// Whose an application is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Microsoft,
    Own,
    Other,
}

/// What an application may do.
#[derive(Default)]
struct Access<'a> {
    /// Names of permissions. Empty text: one whose name is not known.
    permissions: BTreeSet<&'a str>,
    /// Who let it act for them.
    users: BTreeSet<&'a str>,
    is_tenant_wide: bool,
}

/// Applications that have any access, but for Microsoft's.
fn in_use(tenant: &Tenant) -> Option<Vec<(&ServicePrincipal, Owner, Access<'_>)>> {
    let own = tenant.organization.as_ref()?.id.as_deref()?;
    let principals = tenant.service_principals.as_deref()?;
    // An assignment that does not name its service is one of Microsoft Graph.
    let service = |id: Option<&str>| {
        principals.iter().find(|it| match id {
            Some(id) => it.id.as_deref() == Some(id),
            None => it.app_id.as_deref() == Some(MICROSOFT_GRAPH),
        })
    };
    let mut all: BTreeMap<&str, Access> = BTreeMap::new();
    for grant in tenant.grants.as_deref()? {
        let access = all.entry(grant.client_id.as_deref().unwrap_or_default()).or_default();
        access.permissions.extend(grant.scopes());
        access.users.extend(grant.principal_id.as_deref());
        access.is_tenant_wide |= grant.is_tenant_wide();
    }
    for role in tenant.app_roles.as_deref()? {
        let access = all.entry(role.principal_id.as_deref().unwrap_or_default()).or_default();
        let service = service(role.resource_id.as_deref());
        let name = service.and_then(|it| it.role_value(role.app_role_id.as_deref()?));
        access.permissions.insert(name.unwrap_or_default());
        access.is_tenant_wide = true;
    }
    let found = principals.iter().filter_map(|it| {
        let access = all.remove(it.id.as_deref()?)?;
        let owner = match it.app_owner_organization_id.as_deref() {
            Some(id) if MICROSOFT.contains(&id) => Owner::Microsoft,
            Some(id) if id == own => Owner::Own,
            // A managed identity is a resource of the tenant's own.
            None if it.service_principal_type.as_deref() == Some("ManagedIdentity") => Owner::Own,
            Some(_) | None => Owner::Other,
        };
        (owner != Owner::Microsoft).then_some((it, owner, access))
    });
    Some(found.collect())
}

fn name(it: &ServicePrincipal) -> &str {
    let names = [&it.display_name, &it.app_id, &it.id];
    names.into_iter().flatten().next().map_or("without a name", String::as_str)
}

/// `None`: not read.
fn publisher(it: &ServicePrincipal) -> Option<Option<&str>> {
    match &it.verified_publisher {
        Field::Absent => None,
        Field::Null => Some(None),
        Field::Is(publisher) => {
            Some(publisher.verified_publisher_id.as_ref().and(publisher.display_name.as_deref()))
        }
    }
}

/// Returns the applications of others that have access. `None`: not read completely.
#[must_use]
pub fn apps(tenant: &Tenant) -> Option<Vec<AppUse>> {
    let users = tenant.users.as_deref()?.iter();
    let n_enabled = users.filter(|it| it.account_enabled != Some(false)).count();
    let others = in_use(tenant)?.into_iter().filter(|it| it.1 == Owner::Other);
    let apps = others.map(|(it, _, access)| {
        let n_users = if access.is_tenant_wide { n_enabled } else { access.users.len() };
        AppUse {
            name: name(it).to_owned(),
            publisher: publisher(it).flatten().map(str::to_owned),
            n_users: u32::try_from(n_users).unwrap_or(u32::MAX),
            is_sanctioned: None,
        }
    });
    Some(apps.collect())
}

/// Returns true if a permission opens all mail or files, or changes the directory. `None`: its name is not known.
pub(super) fn is_high_risk(permission: &str) -> Option<bool> {
    let (family, right) = permission.split_once('.').unwrap_or((permission, ""));
    let writes = ["Write", "FullControl", "Manage", "Create", "AccessAsUser", "Impersonate"]
        .iter()
        .any(|it| right.contains(it));
    match family {
        "" => None,
        "full_access_as_app" | "full_access_as_user" | "EWS" | "IMAP" | "POP" | "SMTP" => {
            Some(true)
        }
        "Mail" => Some(!right.starts_with("ReadBasic")),
        "Files" | "Sites" | "Notes" | "Chat" | "ChannelMessage" => {
            Some(right.ends_with(".All") || family == "Sites" && writes)
        }
        "openid" | "profile" | "email" | "offline_access" => Some(false),
        "Directory" => Some(true),
        // Names of others, such as one's own calendar or tasks, open only what belongs to the user.
        _ => Some(writes && (right.ends_with(".All") || right.ends_with(".Directory"))),
    }
}

fn risky<'a>(access: &Access<'a>) -> Option<&'a str> {
    access.permissions.iter().copied().find(|it| is_high_risk(it) != Some(false))
}

/// APP-02. Whether an application is approved is not known here, so those that hold such permissions are unknown.
pub(super) fn high_risk(tenant: &Tenant, _: Time) -> Option<Judged> {
    let all = in_use(tenant)?;
    let (control, check) = ("APP-02", "high_risk_permissions");
    let named: Vec<String> = all
        .iter()
        .filter_map(|(it, _, access)| {
            let permission = risky(access)?;
            let permission = if permission.is_empty() { "unknown" } else { permission };
            Some(format!("{} ({permission})", name(it)))
        })
        .collect();
    if named.is_empty() {
        let findings = "No application but Microsoft's own holds a high-risk permission.";
        return Some(Judged::whole(control, check, Compliant, findings));
    }
    let members = all.iter().map(|(it, _, access)| {
        let passes = risky(access).is_none().then_some(true);
        Member { id: it.id.as_deref().unwrap_or_default(), name: name(it), passes }
    });
    let judged = Judged::population(control, check, members, "")?;
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let findings = format!(
        "With high-risk permissions: {}. Remove those without a purpose, and attest that the others are approved.",
        failing_line(&named, named.len())
    );
    Some(Judged::whole(control, check, judged.status, findings))
}

/// APP-03. Whether an application is approved is not known here, so nothing is said of any.
pub(super) fn unsanctioned(tenant: &Tenant, _: Time) -> Option<Judged> {
    let is_none = in_use(tenant)?.iter().all(|it| it.1 != Owner::Other);
    let findings = "No application of another organization has access to accounts.";
    is_none.then(|| Judged::whole("APP-03", "third_party_apps", Compliant, findings))
}

/// APP-04.
pub(super) fn publishers(tenant: &Tenant, _: Time) -> Option<Judged> {
    let all = in_use(tenant)?;
    let wide = all.iter().filter(|it| it.1 == Owner::Other && it.2.is_tenant_wide);
    let members: Vec<Member> = wide
        .map(|(it, ..)| {
            let passes = publisher(it).map(|it| it.is_some());
            Member { id: it.id.as_deref().unwrap_or_default(), name: name(it), passes }
        })
        .collect();
    let (control, check) = ("APP-04", "verified_publishers");
    if members.is_empty() {
        let findings =
            "No application of another organization holds a permission for the whole tenant.";
        return Some(Judged::whole(control, check, Compliant, findings));
    }
    let what = "Their publishers are not verified, and they hold permissions for the whole tenant. Remove those that are not needed, \
                or grant access only to the users who need it.";
    Judged::population(control, check, members, what)
}
