//! Apps of others: whether users may connect them (APP-01), and which of them they connected (APP-02, APP-03).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::row::Activity;
use super::setting::{GOOGLE_SERVICES, MARKETPLACE, THIRD_PARTY_APPS};
use super::snapshot::Snapshot;
use super::survey::{Question, Who};
use super::tenant::{Settings, Tenant};
use crate::clock::Time;
use crate::connect::reading::{Judged, Member, Sight};
use crate::engine::identity::AppUse;
use crate::text::line;

const NAME_CHARS_MAX: usize = 120;

/// Scopes with which an app reads or changes everything of a kind. Those that end in a dot or slash: whatever follows.
///
/// Google's restricted scopes of Gmail and Drive, and those that administer.
const HIGH_RISK_SCOPES: &[&str] = &[
    "https://mail.google.com/",
    "https://www.googleapis.com/auth/gmail.readonly",
    "https://www.googleapis.com/auth/gmail.modify",
    "https://www.googleapis.com/auth/gmail.compose",
    "https://www.googleapis.com/auth/gmail.insert",
    "https://www.googleapis.com/auth/gmail.metadata",
    "https://www.googleapis.com/auth/gmail.settings.",
    "https://www.googleapis.com/auth/drive",
    "https://www.googleapis.com/auth/drive.readonly",
    "https://www.googleapis.com/auth/drive.activity",
    "https://www.googleapis.com/auth/drive.activity.readonly",
    "https://www.googleapis.com/auth/drive.metadata",
    "https://www.googleapis.com/auth/drive.metadata.readonly",
    "https://www.googleapis.com/auth/drive.scripts",
    "https://www.googleapis.com/auth/admin.",
    "https://www.googleapis.com/auth/apps.",
    "https://www.googleapis.com/auth/cloud-identity.",
    "https://www.googleapis.com/auth/cloud-platform",
    "https://www.googleapis.com/auth/ediscovery",
];

pub(super) const THIRD_PARTY: Question = Question {
    control: "APP-01",
    check: "third_party_apps",
    who: Who::Everyone,
    service: None,
    kinds: &[THIRD_PARTY_APPS.kind, GOOGLE_SERVICES.kind],
    passes: |here| match (unconfigured(here), are_services_restricted(here)) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        (None, _) | (_, None) => None,
    },
    gap: "Users may give any third-party app access to company data",
    remedy: "Under Security > Access and data control > API controls, let unconfigured third-party apps sign users in at \
             most, and trust the apps that you approve.",
};

pub(super) const MARKETPLACE_APPS: Question = Question {
    check: "marketplace_apps",
    kinds: &[MARKETPLACE.kind],
    passes: |here| match here.word(&MARKETPLACE)? {
        "ALLOW_NONE" | "ALLOW_LISTED_APPS" => Some(true),
        "ALLOW_ALL" => Some(false),
        _ => None,
    },
    gap: "Users may install any app of the Marketplace",
    remedy: "Allow only selected apps under Apps > Google Workspace Marketplace apps > Settings.",
    ..THIRD_PARTY
};

/// Whether apps that nobody configured get no data. `None`: unknown.
fn unconfigured(here: Settings<'_>) -> Option<bool> {
    match here.word(&THIRD_PARTY_APPS)? {
        "ALLOW_SIGN_IN_ONLY" | "BLOCK_ALL" | "BLOCK_ALL_SCOPES" => Some(true),
        "ALLOW_ALL" | "ALLOW_ALL_SCOPES" => Some(false),
        _ => None,
    }
}

/// Whether every service is closed to apps that are not trusted. `None`: unknown. One that is open in any policy is open.
fn are_services_restricted(here: Settings<'_>) -> Option<bool> {
    let mut is_any = false;
    for policy in here.policies_of(GOOGLE_SERVICES.kind) {
        for service in policy.value(GOOGLE_SERVICES.name)?.as_array()? {
            is_any = true;
            if service.get("isEnabled").and_then(Value::as_bool)? {
                return Some(false);
            }
        }
    }
    Some(is_any)
}

/// An app that users gave access.
#[derive(Debug, Default)]
struct Grant<'a> {
    name: &'a str,
    users: BTreeSet<&'a str>,
    /// `None`: of some grant they are unknown.
    scopes: Option<BTreeSet<&'a str>>,
}

/// The grants that the log shows and that were not revoked since, by client id. `None`: an event is not readable.
fn grants(events: &[Activity]) -> Option<BTreeMap<&str, Grant<'_>>> {
    let mut rows = Vec::new();
    for activity in events {
        let at = activity.id.as_ref()?.time?.0;
        let user = activity.actor.as_ref()?.email.as_deref();
        for event in activity.events.as_ref()? {
            let name = event.name.as_deref()?;
            if name == "authorize" || name == "revoke" {
                rows.push((at, name == "revoke", event.text("client_id")?, user?, event));
            }
        }
    }
    // A revocation at the same moment is of what was granted then.
    rows.sort_by_key(|it: &(Time, bool, _, _, _)| (it.0, it.1));
    let mut held: BTreeMap<(&str, &str), _> = BTreeMap::new();
    for (_, is_revoked, client, user, event) in rows {
        if is_revoked {
            held.remove(&(client, user));
        } else {
            held.entry((client, user)).or_insert_with(Vec::new).push(event);
        }
    }
    let mut grants: BTreeMap<&str, Grant<'_>> = BTreeMap::new();
    for ((client, user), events) in held {
        let grant = grants.entry(client).or_insert_with(|| Grant {
            name: client,
            scopes: Some(BTreeSet::new()),
            ..Grant::default()
        });
        grant.users.insert(user);
        for event in events {
            if let Some(name) = event.text("app_name").filter(|it| !it.trim().is_empty()) {
                grant.name = name;
            }
            let scopes = event.parameter("scope").and_then(|it| it.multi_value.as_ref());
            match (&mut grant.scopes, scopes) {
                (Some(all), Some(scopes)) => all.extend(scopes.iter().map(String::as_str)),
                (_, None) => grant.scopes = None,
                (None, Some(_)) => (),
            }
        }
    }
    Some(grants)
}

/// Returns the apps that users gave access, as far back as the log goes. `None`: it was not read completely.
#[must_use]
pub fn apps(snapshot: &Snapshot) -> Option<Vec<AppUse>> {
    let grants = grants(snapshot.token_events.as_ref()?)?;
    let app = |it: Grant<'_>| AppUse {
        name: line(it.name, NAME_CHARS_MAX),
        publisher: None,
        n_users: u32::try_from(it.users.len()).unwrap_or(u32::MAX),
        is_sanctioned: None,
    };
    Some(grants.into_values().map(app).collect())
}

/// APP-03.
pub(super) fn sanctioned(tenant: &Tenant<'_>) -> Option<Judged> {
    let grants = grants(tenant.snapshot.token_events.as_ref()?)?;
    let app = |(client, it): (&&str, &Grant<'_>)| {
        ((*client).to_owned(), line(it.name, NAME_CHARS_MAX), Some(is_sanctioned(tenant, it)))
    };
    let apps: Vec<App> = grants.iter().map(app).collect();
    let what = "Users connected these apps, and they are not on the list of approved apps. Approve them, or revoke their \
                access under Security > Access and data control > API controls.";
    judged("APP-03", "connected_apps", &apps, what, "third-party app that users connected")
}

/// APP-02.
pub(super) fn high_risk(tenant: &Tenant<'_>) -> Option<Judged> {
    let grants = grants(tenant.snapshot.token_events.as_ref()?)?;
    let app = |(client, it): (&&str, &Grant<'_>)| {
        let is_high_risk = is_high_risk(it);
        let passes =
            if is_sanctioned(tenant, it) { Some(true) } else { is_high_risk.map(|it| !it) };
        let app = ((*client).to_owned(), line(it.name, NAME_CHARS_MAX), passes);
        (is_high_risk != Some(false)).then_some(app)
    };
    let apps: Vec<App> = grants.iter().filter_map(app).collect();
    let what = "These apps may read or change all mail, all files or the directory, and they are not on the list of \
                approved apps. Approve them, or revoke their access under Security > Access and data control > API controls.";
    judged(
        "APP-02",
        "high_risk_apps",
        &apps,
        what,
        "app with high-risk permissions that users connected",
    )
}

/// Client id, name, and whether it passes.
type App = (String, String, Option<bool>);

fn is_sanctioned(tenant: &Tenant<'_>, grant: &Grant<'_>) -> bool {
    tenant.sanctioned_apps.contains(&grant.name.to_lowercase())
}

/// `None`: unknown.
fn is_high_risk(grant: &Grant<'_>) -> Option<bool> {
    let is_high = |scope: &&str| {
        let is = |it: &&str| scope == it || (it.ends_with(['.', '/']) && scope.starts_with(it));
        HIGH_RISK_SCOPES.iter().any(is)
    };
    grant.scopes.as_ref().map(|it| it.iter().any(is_high))
}

/// The log is kept for 180 days. So it never shows that there is nothing else, and nothing is fully met.
fn judged(
    control: &'static str,
    check: &str,
    apps: &[App],
    what: &str,
    noun: &str,
) -> Option<Judged> {
    if apps.iter().all(|it| it.2 == Some(true)) {
        let found = match apps.len() {
            0 => format!("No {noun} is in Google's log"),
            n => format!("In Google's log, every {noun} is on the list of approved apps ({n})"),
        };
        let findings = format!(
            "{found}, which goes back 180 days. Look at older ones under Security > Access and data control > API \
             controls > Accessed apps."
        );
        return Some(Judged::part(control, check, Sight::Short, findings));
    }
    let members = apps.iter().map(|(id, name, passes)| Member { id, name, passes: *passes });
    Judged::population(control, check, members, what)
}
