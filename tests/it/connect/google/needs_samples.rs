//! The tests that need other people's samples: what `ScubaGoggles` read of a real organization, beside what it says of it.
//!
//! Its settings are reduced to one for each organizational unit and group already, and the names in each part of the file were
//! made up anew. So only what is said of the whole can be compared, and how many units and groups fail.

use posture::connect::google::Snapshot;
use posture::connect::reading::JudgedStatus::{self, Compliant};
use serde_json::{Value, json};

use super::workspace::{admin, find, of_group, policy, snapshot, user};
use crate::harness::sample;

/// Their policies and our checks for the same.
const PAIRS: &[(&str, &str)] = &[
    ("GWS.COMMONCONTROLS.1.2", "two_step_enforced"),
    ("GWS.COMMONCONTROLS.1.3", "no_codes_by_phone"),
    ("GWS.COMMONCONTROLS.5.1", "password_strength"),
    ("GWS.COMMONCONTROLS.5.2", "password_length"),
    ("GWS.COMMONCONTROLS.5.4", "password_at_sign_in"),
    ("GWS.COMMONCONTROLS.5.5", "password_reuse"),
    ("GWS.COMMONCONTROLS.5.6", "password_expiry"),
    ("GWS.COMMONCONTROLS.6.1", "admin_accounts"),
    ("GWS.COMMONCONTROLS.6.2", "super_admin_count"),
    ("GWS.COMMONCONTROLS.8.1", "super_admin_recovery"),
    ("GWS.COMMONCONTROLS.8.2", "user_recovery"),
    ("GWS.COMMONCONTROLS.10.4", "third_party_apps"),
    ("GWS.COMMONCONTROLS.10.5", "no_less_secure_apps"),
    ("GWS.COMMONCONTROLS.11.1", "marketplace_apps"),
    ("GWS.GMAIL.5.1", "attachments"),
    ("GWS.GMAIL.5.2", "attachments"),
    ("GWS.GMAIL.5.3", "attachments"),
    ("GWS.GMAIL.5.5", "attachment_action"),
    ("GWS.GMAIL.6.1", "links"),
    ("GWS.GMAIL.6.2", "links"),
    ("GWS.GMAIL.6.3", "links"),
    ("GWS.GMAIL.7.1", "spoofing"),
    ("GWS.GMAIL.7.2", "spoofing"),
    ("GWS.GMAIL.7.3", "spoofing"),
    ("GWS.GMAIL.7.4", "spoofing"),
    ("GWS.GMAIL.7.5", "spoofing"),
    ("GWS.GMAIL.7.6", "spoofing_action"),
    ("GWS.GMAIL.11.1", "auto_forwarding"),
    ("GWS.GMAIL.15.1", "pre_delivery_scan"),
    ("GWS.GMAIL.18.1", "no_bypass"),
    ("GWS.GMAIL.18.2", "no_bypass"),
    ("GWS.DRIVEDOCS.1.4", "drive_visitors"),
    ("GWS.DRIVEDOCS.1.5", "drive_links"),
    ("GWS.CALENDAR.1.1", "primary_calendars"),
    ("GWS.CALENDAR.1.2", "secondary_calendars"),
    ("GWS.CHAT.2.1", "chat_files"),
    ("GWS.GROUPS.1.1", "group_access"),
    ("GWS.GROUPS.1.2", "group_guests"),
];

/// Where both differ, and why ours stays.
///
/// - `GWS.COMMONCONTROLS.11.1`: one unit may install the organization's own apps. Our control is about those of others.
const DIFFERENT: &[&str] = &["GWS.COMMONCONTROLS.11.1"];

fn file() -> Value {
    let bytes = sample::foreign("scubagoggles/ScubaResults_v1.0.1.json");
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    serde_json::from_slice(bytes).unwrap()
}

/// `Unit (in Above/Below)` as a path, and the group.
fn place(name: &str, top: &str) -> (String, Option<String>) {
    let (name, group) = match name.split_once(" (group ") {
        Some((name, group)) => (name, Some(group.trim_end_matches(')').to_owned())),
        None => (name, None),
    };
    let path = match name.split_once(" (in ") {
        _ if name == top => "/".to_owned(),
        Some((name, above)) => format!("/{}/{name}", above.trim_end_matches(')')),
        None => format!("/{name}"),
    };
    (path, group)
}

/// The type of a setting: `drive_and_docs_external_sharing` is `drive_and_docs.external_sharing`.
fn kind(name: &str) -> String {
    let families =
        ["api_controls", "drive_and_docs", "groups_for_business", "workspace_marketplace"];
    let family = families.into_iter().find(|it| name.starts_with(it));
    let family = family.unwrap_or_else(|| name.split('_').next().unwrap());
    format!("{family}.{}", &name[family.len() + 1..])
}

/// The organization as Google's lists would show it, with one user in each organizational unit.
fn organization(raw: &Value) -> Snapshot {
    let top = raw["tenant_info"]["topLevelOU"].as_str().unwrap();
    let mut paths = vec!["/".to_owned()];
    let mut policies = Vec::new();
    for (name, settings) in raw["policies"].as_object().unwrap() {
        let (path, group) = place(name, top);
        for end in path.match_indices('/').skip(1).map(|it| it.0).chain([path.len()]) {
            paths.push(path[..end].to_owned());
        }
        let depth = if path == "/" { 0 } else { path.matches('/').count() };
        for (name, value) in settings.as_object().unwrap() {
            let kind = kind(name);
            let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            for value in values {
                let order = if group.is_some() { 300 } else { 200 + depth };
                let policy = policy(&kind, &path, &order.to_string(), value);
                policies.push(match &group {
                    Some(group) => of_group(group, policy),
                    None => policy,
                });
            }
        }
    }
    paths.sort();
    paths.dedup();
    let supers = raw["super_admins"].as_array().unwrap().len();
    let mut users: Vec<Value> = (0..supers).map(|it| admin(&format!("super{it}"))).collect();
    users.extend(paths.iter().enumerate().map(|(index, path)| user(&format!("u{index}"), path)));
    let mut sso = raw["inbound_sso_assignments"].clone();
    // It is said there that single sign-on is on for the top unit, which the made-up identifier does not show.
    sso[0]["targetOrgUnit"] = "orgUnits//".into();
    let units: Vec<Value> = paths
        .iter()
        .map(|it| json!({"orgUnitId": format!("id:{it}"), "orgUnitPath": it}))
        .collect();
    snapshot(
        json!({"users": users, "org_units": units, "policies": policies, "sso_assignments": sso}),
    )
}

/// Their verdicts: policy and whether it is met. Those that could not be decided are left out.
fn published(file: &Value) -> Vec<(String, bool)> {
    let groups =
        file["Results"].as_object().unwrap().values().flat_map(|it| it.as_array().unwrap());
    let controls = groups.flat_map(|it| it["Controls"].as_array().unwrap());
    let verdict = |it: &Value| {
        let id = it["Control ID"].as_str().unwrap();
        let met = match it["Result"].as_str().unwrap() {
            "Pass" => true,
            "Fail" | "Warning" => false,
            _ => return None,
        };
        Some((id.rsplit_once('v').unwrap().0.to_owned(), met))
    };
    controls.filter_map(verdict).collect()
}

#[test]
#[ignore = "needs samples of ScubaGoggles"]
fn a_real_organization_is_judged_as_by_its_judge() {
    let file = file();
    let snapshot = organization(&file["Raw"]);
    // Only without single sign-on does Google's two-step verification say anything of those who are not super administrators.
    let mut by_google = snapshot.clone();
    by_google.sso_assignments = Some(Vec::new());
    let published = published(&file);
    let (mut n_agreed, mut different) = (0, Vec::new());
    for (policy, check) in PAIRS {
        let theirs = published.iter().find(|it| it.0 == *policy).unwrap().1;
        let is_about_sso = *check == "admin_accounts";
        let ours = find(if is_about_sso { &snapshot } else { &by_google }, check);
        let ours: Option<JudgedStatus> = ours.map(|it| it.status);
        let agrees = ours.map(|it| it == Compliant) == Some(theirs);
        println!("{policy} {check}: {}/1 (theirs met: {theirs}, ours: {ours:?})", u8::from(agrees));
        if agrees {
            n_agreed += 1;
        } else {
            different.push(*policy);
        }
    }
    println!("total {n_agreed}/{}", PAIRS.len());
    assert_eq!(different, DIFFERENT);
}

/// They list each unit that has a setting of its own; we count the units below that inherit it too.
#[test]
#[ignore = "needs samples of ScubaGoggles"]
fn the_units_that_fail_are_theirs_and_those_below() {
    let file = file();
    let mut snapshot = organization(&file["Raw"]);
    snapshot.sso_assignments = Some(Vec::new());
    // With one user in each unit, a failing user is a failing unit.
    snapshot.users.as_mut().unwrap().retain(|it| it.is_admin == Some(false));
    for (check, n_theirs, n_below) in
        [("password_length", 1, 0), ("password_reuse", 2, 2), ("password_expiry", 2, 2)]
    {
        let n = find(&snapshot, check).unwrap().count.unwrap().failing.len();
        assert_eq!(n, n_theirs + n_below, "{check}");
    }
}
