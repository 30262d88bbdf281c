//! Google Workspace, read from a server that breaks a stream at a time, and judged by every part of what there is.

use posture::connect::google::{RULES, Snapshot, StreamKind, accounts, devices, judge_devices};
use posture::connect::reading::Group;
use serde_json::{Value, json};

use super::{Fault, Law, World, body, drive, each, faults, groups};
use crate::connect::google::front::add;
use crate::connect::google::question::failures;
use crate::connect::google::server::{ADMIN, Google, LISTS, answer, error};
use crate::connect::google::workspace::{at, good_wire, judged, policy, snapshot, token};
use crate::connect::tenant::{controls, ran};
use crate::connect::vendor::{json as page, parameter};
use crate::harness::long::is_long;

/// A name, and how it differs from an organization in good order.
type Change = (&'static str, fn(&mut Value));

const WORLDS: [Change; 5] = [
    ("everything is wrong", |wire| {
        weaken(wire, "top");
        people(wire);
    }),
    ("settings are wrong for one of seven", |wire| weaken(wire, "interns")),
    ("settings are wrong, and some senders are not filtered", |wire| {
        weaken(wire, "top");
        bypass(wire);
    }),
    ("some senders are not filtered", bypass),
    ("in good order", |_| ()),
];

/// Streams of which every subset is tried. The others decide a control each, or none.
const JOINED: [StreamKind; 8] = [
    StreamKind::Users,
    StreamKind::OrgUnits,
    StreamKind::Policies,
    StreamKind::SsoAssignments,
    StreamKind::Roles,
    StreamKind::RoleAssignments,
    StreamKind::TokenEvents,
    StreamKind::AuditEvents,
];

fn set(wire: &mut Value, policies: impl IntoIterator<Item = Value>) {
    wire["policies"].as_array_mut().unwrap().extend(policies);
}

/// Every setting fails in a unit.
fn weaken(wire: &mut Value, unit: &str) {
    let mut settings: Vec<(&str, Value)> = Vec::new();
    for (_, kind, value, _) in failures() {
        match settings.iter_mut().find(|it| it.0 == kind) {
            Some((_, known)) => {
                known.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
            }
            None => settings.push((kind, value)),
        }
    }
    set(wire, settings.into_iter().map(|(kind, value)| policy(kind, unit, "201", value)));
    let is_dlp = |it: &Value| it["setting"]["type"] == "settings/rule.dlp";
    wire["policies"].as_array_mut().unwrap().retain(|it| !is_dlp(it));
}

fn bypass(wire: &mut Value) {
    let listed = json!({"allowedIpAddresses": ["192.0.2.1"]});
    set(wire, [policy("gmail.email_spam_filter_ip_allowlist", "top", "201", listed)]);
}

/// One super administrator, with a mailbox and without a second factor, a guest who administers, and devices and apps that
/// nobody should have.
fn people(wire: &mut Value) {
    let users = wire["users"].as_array_mut().unwrap();
    for (nth, user) in users.iter_mut().enumerate() {
        user["isAdmin"] = (nth == 0).into();
        user["isEnrolledIn2Sv"] = false.into();
        user["isMailboxSetup"] = true.into();
        user["isGuestUser"] = (nth == 1).into();
        user["isDelegatedAdmin"] = (nth == 1).into();
    }
    users[2]["lastLoginTime"] = "2024-01-01T00:00:00.000Z".into();
    wire["token_events"] = json!([token(
        "authorize",
        "Other",
        "ben",
        "2026-11-01T08:00:00Z",
        &["https://mail.google.com/"]
    )]);
    let devices = wire["mobile_devices"].as_array_mut().unwrap();
    if let Some(first) = devices.first_mut() {
        first["deviceCompromisedStatus"] = "Compromised".into();
        let mut lost = first.clone();
        (lost["resourceId"], lost["lastSync"]) = ("m3".into(), "2024-01-01T00:00:00Z".into());
        devices.push(lost);
    }
    let is_admin = |it: &Value| it["id"]["applicationName"] == "admin";
    wire["audit_events"].as_array_mut().unwrap().retain(is_admin);
    for user in wire["users"].as_array_mut().unwrap().iter_mut().take(1) {
        user["lastLoginTime"] = long_enough_ago().into();
    }
}

/// A sign-in that the log must have by now.
fn long_enough_ago() -> String {
    (jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * 10)).to_string()
}

fn read(change: fn(&mut Value), fault: Option<(StreamKind, Fault)>) -> Vec<Group> {
    let google = Google::start();
    google.script.change(change);
    match fault {
        None => (),
        Some((kind, Fault::Denied)) => {
            google.script.fail(kind, "*", usize::MAX, error(403, "insufficientPermissions", "x"));
        }
        Some((kind, Fault::Failing)) => {
            google.script.fail(kind, "*", usize::MAX, answer(500, &[("Retry-After", "0")], "oops"));
        }
        Some((kind, Fault::Cut)) => {
            google.script.fail(kind, "cut", usize::MAX, error(400, "invalid", "Bad."));
            google.sink.put_before(move |request, server| {
                let whole = server(request);
                let path = request.line.split([' ', '?']).nth(1).unwrap();
                let is_first = LISTS.iter().any(|it| it.0 == path && it.1 == kind)
                    && parameter(request, "pageToken").is_empty();
                if !is_first {
                    return whole;
                }
                let mut first: Value = serde_json::from_slice(body(&whole)).unwrap();
                first["nextPageToken"] = "cut".into();
                page(&first)
            });
        }
    }
    groups(google.read())
}

/// What the rules decide, and what follows from accounts and devices.
fn decided() -> impl Iterator<Item = &'static str> {
    let others = ["ID-02", "ID-03", "ID-10", "ID-11", "END-02", "END-11"];
    RULES.iter().map(|it| it.control).chain(others)
}

#[test]
fn a_stream_less_shows_no_more() {
    let faults = faults(&StreamKind::ALL, |it| it.as_str().to_owned());
    let worlds = if is_long() { WORLDS.to_vec() } else { vec![WORLDS[0], WORLDS[4]] };
    let law =
        drive("Google Workspace", &worlds, &faults, |change, fault| read(*change, fault.copied()));
    law.end(decided());
}

/// What is judged without a server, in one part.
fn parts(snapshot: &Snapshot) -> Vec<Group> {
    let mut observations = judged(snapshot);
    observations.extend(judge_devices(&devices(snapshot).unwrap_or_default(), at()));
    let accounts = accounts(snapshot, at());
    vec![Group { scope: "all".to_owned(), observations, accounts, ..Group::default() }]
}

#[test]
fn no_part_of_the_streams_shows_more_than_all() {
    let mut law = Law::of("Google, every subset");
    let joined: &[StreamKind] = if is_long() { &StreamKind::ALL } else { &JOINED };
    for (name, change) in WORLDS {
        let mut wire = good_wire();
        change(&mut wire);
        let mut whole = parts(&snapshot(wire.clone()));
        whole[0].streams = read(change, None).into_iter().flat_map(|it| it.streams).collect();
        law.add(World::new(name, whole, at()));
        let subsets: Vec<Vec<&str>> = (1..1_usize << joined.len())
            .map(|bits| {
                let all = joined.iter().enumerate();
                all.filter(|it| bits & 1 << it.0 != 0).map(|it| it.1.as_str()).collect()
            })
            .collect();
        let found = each(&subsets, |without| {
            let mut wire = wire.clone();
            for name in without {
                wire[*name] = Value::Null;
            }
            parts(&snapshot(wire))
        });
        for (without, groups) in subsets.iter().zip(found) {
            law.hold_first(&format!("without {}", without.join(", ")), &groups);
        }
    }
    law.end(decided().filter(|it| !it.starts_with("END")));
}

/// A number for each status of a control, worst first.
fn height(status: &str) -> usize {
    ["not_assessed", "non_compliant", "partial", "compliant"]
        .iter()
        .position(|it| *it == status)
        .unwrap_or(0)
}

#[test]
fn a_first_run_without_a_stream_shows_no_more_at_the_front_door() {
    let cases =
        [None, Some(StreamKind::Users), Some(StreamKind::OrgUnits), Some(StreamKind::Policies)];
    let found = each(&cases, |denied| {
        let google = Google::start();
        google.script.change(WORLDS[0].1);
        if let Some(kind) = denied {
            google.script.fail(*kind, "*", usize::MAX, error(403, "insufficientPermissions", "x"));
        }
        let folder = google.folder();
        let _server = folder.serve();
        let client = folder.client("Acme");
        let id = add(&folder, "example.com", ADMIN);
        ran(&folder, &id, &Value::Null);
        controls(&folder, &client)
    });
    let (truth, rest) = found.split_first().unwrap();
    assert!(truth.iter().any(|it| *it == ("EML-05".to_owned(), "non_compliant".to_owned())));
    for (denied, shown) in cases[1..].iter().zip(rest) {
        let better = truth.iter().zip(shown).filter(|it| height(&it.0.1) < height(&it.1.1));
        let better: Vec<_> = better.map(|it| it.1).collect();
        assert!(better.is_empty(), "{denied:?}: {better:?}");
    }
}
