//! Runs a vendor through all faults, and says what each left.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::fault::{Fault, Leaves, PAIRS};
use super::vendor::{Connected, Seen, Vendor};
use crate::connect::tenant::{stream, streams};

/// No run takes as long, whatever the fault.
const RUN_MAX: Duration = Duration::from_mins(1);
/// What the service holds at most, whatever the fault.
const MEMORY_KIB_MAX: u64 = 1_024 * 1_024;
/// What is told of a run that read something, and of one that read nothing.
const TOLD: [&str; 2] = ["integration_sync_completed", "integration_sync_failed"];
/// What may be told beside it. Everything else says that something of the client changed.
const TOLD_BESIDE: [&str; 2] = ["connector_health_changed", "risk_assessment_completed"];

/// Runs the vendor through all faults and prints its rows of the table.
pub fn run<V: Vendor>() {
    let rows = thread::scope(|scope| {
        let lanes: Vec<_> =
            (0..V::N_LANES).map(|nth| scope.spawn(move || lane::<V>(nth))).collect();
        lanes.into_iter().flat_map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    let mut table = String::new();
    for fault in PAIRS.as_flattened() {
        let (_, said) = rows.iter().find(|it| it.0 == *fault).unwrap();
        writeln!(table, "{:<18} | {:<28} | {said}", V::NAME, fault.name()).unwrap();
    }
    eprint!("{table}");
}

/// Some of the pairs of faults, on a vendor and a service of its own.
fn lane<V: Vendor>(nth: usize) -> Vec<(Fault, String)> {
    let vendor = V::start();
    let client = vendor.connect();
    let before = client.seen();
    before.assert_telling(V::NAME);
    assert_read::<V>(&client);
    let mut rows = Vec::new();
    let mut is_well = true;
    for fault in PAIRS.iter().skip(nth).step_by(V::N_LANES).flatten() {
        let leaves = V::leaves(*fault);
        if let Leaves::NoSuchFault(why) = leaves {
            rows.push((*fault, format!("no such fault: {why}")));
            continue;
        }
        if !is_well && !matches!(leaves, Leaves::Everything) {
            assert_mended::<V>(&client, &before);
        }
        vendor.break_by(*fault);
        rows.push((*fault, cell::<V>(&client, &before, *fault, leaves)));
        vendor.mend();
        is_well = matches!(leaves, Leaves::Everything);
    }
    if !is_well {
        assert_mended::<V>(&client, &before);
    }
    rows
}

/// One run with a fault. Returns what it left, in words.
fn cell<V: Vendor>(client: &Connected, before: &Seen, fault: Fault, leaves: Leaves) -> String {
    let at = format!("{}, {}", V::NAME, fault.name());
    let known = client.events();
    let began = Instant::now();
    let synced = client.folder.run(&["connect", "sync", &client.connection]);
    assert!(began.elapsed() < RUN_MAX, "{at}: {:?}", began.elapsed());
    let now = client.shown();
    let (health, name, words) = match leaves {
        Leaves::Everything | Leaves::FewerRows => ("healthy", V::LIST, ""),
        Leaves::OneListLess(words) => ("degraded", V::LIST, words),
        Leaves::Doubt(name, words) => ("degraded", name, words),
        Leaves::Nothing(words) => ("failing", "sign_in", words),
        Leaves::NoSuchFault(_) => unreachable!("it is not run"),
    };
    let (state, reason) = stream(&now, name);
    let is_well = health == "healthy";
    assert_eq!(now["health"], health, "{at}: {now}");
    assert_eq!(synced.code, i32::from(!is_well), "{at}");
    assert_eq!(state == "complete", is_well, "{at}: {state}: {reason}");
    assert!(reason.contains(words), "{at}: {state}: {reason}");
    assert_plain(&reason, &at);
    let n_rows = rows_of(&now, V::LIST);
    match leaves {
        Leaves::Everything => assert_eq!(n_rows, V::N_ROWS, "{at}"),
        Leaves::FewerRows => assert!(n_rows < V::N_ROWS, "{at}"),
        Leaves::OneListLess(_)
        | Leaves::Doubt(..)
        | Leaves::Nothing(_)
        | Leaves::NoSuchFault(_) => (),
    }
    assert_eq!(client.seen(), *before, "{at}");
    let new: BTreeSet<_> = client.events().difference(&known).cloned().collect();
    let (runs, others): (Vec<&str>, Vec<&str>) =
        new.iter().map(|it| it.1.as_str()).partition(|it| TOLD.contains(it));
    assert_eq!(runs, [TOLD[usize::from(health == "failing")]], "{at}");
    assert!(others.iter().all(|it| TOLD_BESIDE.contains(it)), "{at}: {others:?}");
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!("{health}, {name} {state} in {:.1} s{why}", began.elapsed().as_secs_f32())
}

/// The fault is gone, and everything is as it was.
fn assert_mended<V: Vendor>(client: &Connected, before: &Seen) {
    let synced = client.folder.run(&["connect", "sync", &client.connection]);
    assert_eq!(synced.code, 0, "{}: {synced:?}", V::NAME);
    assert_eq!(client.seen(), *before, "{}", V::NAME);
    assert_read::<V>(client);
}

/// Everything was read.
fn assert_read<V: Vendor>(client: &Connected) {
    let now = client.shown();
    assert_eq!(now["health"], "healthy", "{}: {now}", V::NAME);
    assert_eq!(rows_of(&now, V::LIST), V::N_ROWS, "{}", V::NAME);
    let all = streams(&now);
    let is_settled = |it: &str| it == "complete" || it == "unlicensed";
    assert!(all.iter().all(|it| is_settled(&it.1)), "{}: {all:?}", V::NAME);
    let memory_kib = client.server.memory_kib_max();
    assert!(memory_kib < MEMORY_KIB_MAX, "{}: {memory_kib} KiB", V::NAME);
}

/// A sentence for people, without code, the body of an answer or more than a line.
fn assert_plain(reason: &str, at: &str) {
    let is_plain = !reason.contains(['<', '{', '\n']) && !reason.contains("Error(");
    assert!(is_plain && reason.chars().count() <= 500, "{at}: {reason}");
}

fn rows_of(shown: &Value, name: &str) -> u64 {
    let parts = shown["parts"].as_array().unwrap().iter();
    let mut all = parts.flat_map(|it| it["streams"].as_array().unwrap());
    all.find(|it| it["name"] == name).map_or(0, |it| it["rows"].as_u64().unwrap())
}
