//! Thirty nights of an MSP with all that goes wrong at once: what its ticket system is told is what happened, once.

mod expected;
mod night;
mod receiver;

use std::collections::BTreeMap;

use crate::harness::Posture;
use night::{CATALOGUE_NIGHT, Kind, N_NIGHTS, Read, next_catalog, reads};
use receiver::{Receiver, Told};

/// With `POSTURE_STORY=long`.
const N_CLIENTS_LONG: usize = 200;

fn send(posture: &Posture, client: &str, read: &Read) {
    let answer = match read {
        Read::Facts(body) => {
            posture.operator("POST", &format!("/api/clients/{client}/facts"), body)
        }
        Read::Prowler(file) => posture.import(client, "fileName=nightly.csv", file),
    };
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn live(n_clients: usize) -> (Posture, Vec<String>, Receiver) {
    let mut posture = Posture::start();
    let clients: Vec<String> =
        (0..n_clients).map(|it| posture.client(&format!("{:?} {it}", Kind::of(it)))).collect();
    let mut receiver = Receiver::default();
    for night in 0..N_NIGHTS {
        if night == CATALOGUE_NIGHT {
            posture = posture.restart_with(next_catalog());
            receiver.pull(&posture, night);
        }
        for (n, client) in clients.iter().enumerate() {
            for read in reads(n, night, posture.now()) {
                send(&posture, client, &read);
            }
        }
        receiver.pull(&posture, night);
        posture.pass_days(1);
    }
    (posture, clients, receiver)
}

/// Events by type and kind of client.
fn table(clients: &[String], receiver: &Receiver) -> String {
    let mut sums: BTreeMap<&str, BTreeMap<Kind, usize>> = BTreeMap::new();
    for (n, client) in clients.iter().enumerate() {
        for (kind, count) in &receiver.told[client].counts {
            *sums.entry(kind).or_default().entry(Kind::of(n)).or_default() += count;
        }
    }
    let line = |name: &str, cells: Vec<String>, sum: &str| {
        let cells: Vec<_> = cells.iter().map(|it| format!("{it:>10}")).collect();
        format!("{name:34}{}{sum:>10}\n", cells.concat())
    };
    let head = Kind::ALL.iter().map(|it| format!("{it:?}")).collect();
    let rows = sums.into_iter().map(|(name, counts)| {
        let cells = Kind::ALL.map(|it| counts.get(&it).unwrap_or(&0).to_string());
        line(name, cells.into(), &counts.values().sum::<usize>().to_string())
    });
    line("", head, "all") + &rows.collect::<String>()
}

fn check(kind: Kind, told: &Told) {
    let mut log = told.log.clone();
    log.sort();
    assert_eq!(log, expected::log(kind), "{kind:?}");
    let moves: Vec<_> = told.moves.iter().cloned().collect();
    assert_eq!(moves, expected::moves(kind), "{kind:?}");
    let count = |it: &str| told.counts.get(it).copied().unwrap_or(0);
    let (n_completed, n_failed) = expected::runs(kind);
    let n_runs = (count("integration_sync_completed"), count("integration_sync_failed"));
    assert_eq!(n_runs, (n_completed, n_failed), "{kind:?}");
    // One after each run, one for the new catalogue, and one when a row that asks for a look each week had one at first only.
    let n_assessed = count("risk_assessment_completed");
    let n_lapsed = usize::from(kind.joins() == 0);
    assert_eq!(n_assessed, n_completed + n_failed + 1 + n_lapsed, "{kind:?}");
}

fn n_retired(posture: &Posture, key: &str, client: &str) -> usize {
    let mut n_retired = 0;
    for offset in [0, 100, 200] {
        let page =
            posture.read(key, &format!("/clients/{client}/assets?limit=100&offset={offset}"));
        let page = page["data"].as_array().unwrap();
        n_retired += page.iter().filter(|it| it["status"] == "retired").count();
    }
    n_retired
}

#[test]
fn thirty_nights_make_one_ticket_for_each_thing_that_is_wrong() {
    let is_long = std::env::var_os("POSTURE_STORY").is_some_and(|it| it == "long");
    let n_clients = if is_long { N_CLIENTS_LONG } else { Kind::ALL.len() };
    let (posture, clients, receiver) = live(n_clients);
    println!("{}", table(&clients, &receiver));
    let key = posture.key();
    for (n, client) in clients.iter().enumerate() {
        let kind = Kind::of(n);
        check(kind, &receiver.told[client]);
        assert_eq!(n_retired(&posture, &key, client), expected::n_retired(kind), "{kind:?}");
    }
}
