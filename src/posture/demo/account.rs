//! The accounts and apps of the clients, as the connector of their cloud lists them.

use super::person;
use super::portfolio::{DemoClient, SANCTIONED_APPS, Suite};
use super::story::Story;
use super::view::{self, Gap};
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::identity::{AppUse, Identity, LastSignIn, UserType};

/// The controls that follow from a list of accounts.
pub(super) const CONTROLS: [&str; 4] = ["ID-02", "ID-03", "ID-10", "ID-11"];

const ADMIN_ROLES: [&str; 2] = ["Global Administrator", "Exchange Administrator"];
/// The role that someone is given one day.
const GAINED_ROLE: &str = "User Administrator";
/// For how many weeks the new administrator has no second factor.
const UNPROTECTED_WEEKS: u64 = 4;
/// How many days before the first read old accounts were created.
const CREATED_DAYS: i64 = 400;
/// Apps that nobody approved.
const SHADOW_APPS: [(&str, &str); 6] = [
    ("ChatGPT", "OpenAI"),
    ("Dropbox", "Dropbox Inc."),
    ("Grammarly", "Grammarly Inc."),
    ("Otter.ai Notetaker", "Otter.ai"),
    ("Trello", "Atlassian"),
    ("WeTransfer", "WeTransfer B.V."),
];

pub(super) fn source(client: &DemoClient) -> &'static str {
    match client.suite {
        Suite::Microsoft => "entra-connector",
        Suite::Google => "google-connector",
    }
}

pub(super) fn scope(client: &DemoClient) -> String {
    format!("tenant/{}", client.domain())
}

/// Why a read fails in a week, if it does.
pub(super) fn failure(client: &DemoClient, week: u64) -> Option<&'static str> {
    let first = 8 + client.chance("outage", 14);
    let n = 2 + client.chance("outage/length", 3);
    let is_out = client.chance("outage/any", 5) == 0 && (first..first + n).contains(&week);
    let reason = match client.suite {
        Suite::Microsoft => "AADSTS7000222: the client secret of the connector has expired",
        Suite::Google => "403: the service account no longer has domain-wide delegation",
    };
    is_out.then_some(reason)
}

/// All accounts in a week. `started`: when the history begins.
pub(super) fn identities(
    client: &DemoClient,
    catalog: &Catalog,
    (week, at): (u64, Time),
    started: Time,
) -> Vec<Identity> {
    let gap = |code: &str| {
        let control = &catalog.controls[catalog.find_control(code)?];
        Gap::of(client, control, week)
    };
    let n = person::n_accounts(client);
    let n_admins = person::administrators(client).len();
    let without_mfa = view::failing(client, "ID-02", gap("ID-02"), n - n_admins);
    let admins_without = view::failing(client, "ID-03", gap("ID-03"), n_admins);
    let dormant = view::failing(client, "ID-11", gap("ID-11"), n);
    let (promoted, promoted_in) = (n_admins + 1, promotion(client));
    let is_promoted = promoted_in.is_some_and(|it| it <= week);
    let is_unprotected = client.story != Story::Model
        && promoted_in.is_some_and(|it| (it..it + UNPROTECTED_WEEKS).contains(&week));
    let mut all: Vec<Identity> = Vec::with_capacity(n + 3);
    for index in 0..n {
        let is_admin = index < n_admins;
        let has_mfa = if is_admin {
            !admins_without.contains(&index)
        } else {
            !(index == promoted && is_unprotected)
                && without_mfa.binary_search(&(index - n_admins)).is_err()
        };
        let user = person::account(client, index);
        let idle = dormant.binary_search(&index).is_ok() && !is_admin;
        // Everyone else signs in every few days.
        let days_ago = i64::try_from(client.chance(&user, 5)).unwrap_or(0);
        let last = if idle {
            started.plus_days(-10 * (1 + days_ago))
        } else {
            at.plus_s(-86_400 * days_ago - 3_600)
        };
        all.push(Identity {
            external_id: format!("{:016x}", client.chance(&user, u64::MAX)),
            display_name: Some(person::name(client, index)),
            user_type: UserType::Member,
            is_admin,
            roles: roles(index, n_admins, index == promoted && is_promoted),
            mfa: Some(has_mfa),
            mfa_enforced: Some(has_mfa),
            is_enabled: true,
            created_at: Some(started.plus_days(-CREATED_DAYS)),
            last_sign_in: LastSignIn::At(last),
            listed_at: None,
            mfa_known_at: None,
            user,
        });
    }
    all.extend(guest(client, gap("ID-10").is_some(), at, started));
    all
}

/// The week in which someone at the client is promoted, if anyone is.
fn promotion(client: &DemoClient) -> Option<u64> {
    (client.chance("gain/any", 3) == 0).then(|| 8 + client.chance("gain", 16))
}

fn roles(index: usize, n_admins: usize, is_promoted: bool) -> Vec<String> {
    match index {
        0 => vec![ADMIN_ROLES[0].to_owned()],
        _ if index < n_admins => vec![ADMIN_ROLES[1].to_owned()],
        _ if is_promoted => vec![GAINED_ROLE.to_owned()],
        _ => Vec::new(),
    }
}

/// An outside accountant.
fn guest(client: &DemoClient, is_privileged: bool, at: Time, started: Time) -> Option<Identity> {
    (client.suite == Suite::Microsoft).then(|| Identity {
        external_id: format!("{:016x}", client.chance("guest", u64::MAX)),
        user: "books_ledgerworks.example#EXT#".to_owned(),
        display_name: Some("Ledgerworks Bookkeeping".to_owned()),
        user_type: UserType::Guest,
        is_admin: false,
        roles: if is_privileged { vec!["Billing Administrator".to_owned()] } else { Vec::new() },
        mfa: Some(true),
        mfa_enforced: Some(true),
        is_enabled: true,
        created_at: Some(started.plus_days(-CREATED_DAYS)),
        last_sign_in: LastSignIn::At(at.plus_days(-6)),
        listed_at: None,
        mfa_known_at: None,
    })
}

/// All apps in a week: the approved ones, and those that someone began to use.
pub(super) fn apps(client: &DemoClient, week: u64) -> Vec<AppUse> {
    let approved = SANCTIONED_APPS.iter().map(|name| AppUse {
        name: (*name).to_owned(),
        publisher: None,
        n_users: 1 + u32::try_from(client.chance(name, 12)).unwrap_or(0),
        is_sanctioned: Some(true),
    });
    let found = SHADOW_APPS.iter().filter(|(name, _)| {
        let first = client.chance(&format!("app/{name}"), 110);
        let last = first + 6 + client.chance(&format!("app/last/{name}"), 30);
        (first..last).contains(&week)
    });
    let found = found.map(|(name, publisher)| AppUse {
        name: (*name).to_owned(),
        publisher: Some((*publisher).to_owned()),
        n_users: 1 + u32::try_from(client.chance(name, 9)).unwrap_or(0),
        is_sanctioned: Some(false),
    });
    approved.chain(found).collect()
}
