//! The executable killed in the middle of its work: what it acknowledged is there afterwards.

use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use posture::clock::Clock;
use serde_json::{Value, json};

use super::harness::backend::Random;
use super::harness::http::send_socket;
use super::harness::process::{Folder, Line, Server, wait_until};

const N_PUSHERS: u64 = 8;
/// Fewer prove little.
const N_ACKNOWLEDGED_MIN: usize = 1_000;
/// A restart or a stop that takes longer hangs. How busy the machine is must not decide a test.
const HANGS_AFTER: Duration = Duration::from_secs(30);

/// An asset that was answered with 201.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Acknowledged {
    id: String,
    name: String,
}

/// Pushes assets until the server goes away.
fn push(address: SocketAddr, key: &str, client: &str, prefix: &str) -> Vec<Acknowledged> {
    let mut all = Vec::new();
    let Ok(mut line) = Line::to(address) else { return all };
    loop {
        let name = format!("{prefix}-{}", all.len());
        let body = json!({
            "clientId": client, "name": name, "externalId": name, "assetType": "server",
            "tags": ["a", "b"], "category": "pushed",
        });
        let Some((status, body)) = line.push(key, &body) else { return all };
        assert_eq!(status, 201, "{body}");
        let id = body["data"]["id"].as_str().unwrap().to_owned();
        all.push(Acknowledged { id, name });
    }
}

/// Pushes from several connections, and ends the server in the middle of it.
fn round(
    server: Server,
    (key, client): (&str, &str),
    (n, after): (u32, Duration),
    end: impl FnOnce(Server),
) -> Vec<Acknowledged> {
    let address = server.address;
    std::thread::scope(|scope| {
        let prefixes = (0..N_PUSHERS).map(|it| format!("r{n}-c{it}"));
        let pushers: Vec<_> =
            prefixes.map(|it| scope.spawn(move || push(address, key, client, &it))).collect();
        sleep(after);
        end(server);
        pushers.into_iter().flat_map(|it| it.join().unwrap()).collect()
    })
}

/// Assets from this place of the list on, as they are read.
fn listed(server: &Server, key: &str, client: &str, from: usize) -> Vec<Acknowledged> {
    let mut all = Vec::new();
    loop {
        let offset = from + all.len();
        let path = format!("/clients/{client}/assets?limit=100&offset={offset}");
        let answer = server.get(key, &path);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let page = answer.json();
        let rows = page["data"].as_array().unwrap();
        let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
        all.extend(
            rows.iter().map(|it| Acknowledged { id: text(it, "id"), name: text(it, "name") }),
        );
        if rows.is_empty() {
            let total = page["pagination"]["total"].as_u64().unwrap();
            assert_eq!(total, (from + all.len()) as u64, "the total is the list's length");
            return all;
        }
    }
}

/// How many assets were announced; an event that is there without its asset would be torn.
fn n_discovered(folder: &Folder) -> usize {
    let (mut n, mut after) = (0, 0);
    loop {
        let path = format!("/api/events?after={after}&limit=100");
        let page = send_socket(&folder.socket(), "GET", &path, &[], b"").json();
        let events = page["data"].as_array().unwrap();
        let Some(last) = events.last() else { return n };
        after = last["data"]["object"]["sequence"].as_u64().unwrap();
        n += events.iter().filter(|it| it["type"] == "asset_discovered").count();
    }
}

fn n_rounds() -> u32 {
    let named = std::env::var_os("POSTURE_KILL_ROUNDS");
    named.map_or(15, |it| it.to_str().and_then(|it| it.parse().ok()).expect("a number of rounds"))
}

#[test]
fn no_acknowledged_asset_is_lost_to_kill_9() {
    let folder = Folder::new();
    let seed = Clock::System.now().micros().unsigned_abs();
    let mut random = Random::from_seed(seed);
    let n_rounds = n_rounds();
    let mut server = folder.serve();
    let (client, key) = (folder.client("Acme"), folder.key("100000000"));
    let (mut all, mut n_checked): (Vec<Acknowledged>, usize) = (Vec::new(), 0);
    let mut slowest = Duration::ZERO;
    let mut n = 0;
    // On a slow machine more kills make as much work of it.
    while n < n_rounds || (n < 4 * n_rounds && all.len() < N_ACKNOWLEDGED_MIN) {
        let after = Duration::from_millis(20 + random.below(500));
        let new = round(server, (&key, &client), (n, after), Server::kill);
        assert!(folder.socket().exists(), "nobody removed the socket");
        let start = Instant::now();
        server = folder.serve();
        slowest = slowest.max(start.elapsed());
        let mut found = listed(&server, &key, &client, n_checked);
        n_checked += found.len();
        found.sort_unstable();
        let lost: Vec<_> = new.iter().filter(|it| found.binary_search(it).is_err()).collect();
        assert!(lost.is_empty(), "round {n}, seed {seed}: lost {} ({:?})", lost.len(), lost[0]);
        all.extend(new);
        n += 1;
    }
    let mut found = listed(&server, &key, &client, 0);
    let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
    assert!(found.is_sorted_by(|a, b| a.id < b.id), "in the order of ids, each once");
    assert!(found.len() as u64 <= all.len() as u64 + N_PUSHERS * u64::from(n));
    assert_eq!(n_discovered(&folder), names.len(), "each was announced once");
    found.sort_unstable();
    assert!(all.iter().all(|it| found.binary_search(it).is_ok()), "seed {seed}");
    let again = all.iter().step_by(all.len().div_ceil(50).max(1));
    let mut line = Line::to(server.address).unwrap();
    for Acknowledged { id, name } in again {
        let body = json!({
            "clientId": client, "name": name, "externalId": name, "assetType": "server",
        });
        let (status, body) = line.push(&key, &body).unwrap();
        assert_eq!((status, body["data"]["id"].as_str()), (200, Some(id.as_str())), "known");
    }
    eprintln!(
        "{n} kills, seed {seed}: {} acknowledged, 0 lost, slowest restart {slowest:?}",
        all.len()
    );
    assert!(slowest < HANGS_AFTER, "{slowest:?}");
    assert!(n < 20 || N_ACKNOWLEDGED_MIN <= all.len(), "only {} acknowledged", all.len());
}

#[test]
fn a_stop_under_load_is_in_order_and_loses_nothing() {
    let folder = Folder::new();
    let server = folder.serve();
    let (client, key) = (folder.client("Acme"), folder.key("100000000"));
    let all = round(server, (&key, &client), (0, Duration::from_millis(300)), |server| {
        assert_eq!(server.stop().code(), Some(0));
    });
    assert!(!folder.socket().exists());
    let server = folder.serve();
    let found = listed(&server, &key, &client, 0);
    assert!(all.len() <= found.len() && !all.is_empty());
    assert!(all.iter().all(|it| found.contains(it)));
    let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap();
    assert!(!log.contains("ERROR") && !log.contains("WARN"), "{log}");
}

#[test]
fn keys_and_the_day_s_counter_survive_kill_9() {
    let folder = Folder::new();
    let server = folder.serve();
    let key = folder.key("5000");
    let remaining = |server: &Server| -> u32 {
        let answer = server.get(&key, "/clients");
        assert_eq!(answer.status, 200);
        answer.header("RateLimit-Remaining").unwrap().parse().unwrap()
    };
    for used in 1..=40 {
        assert_eq!(remaining(&server), 5_000 - used);
    }
    // Nothing else writes, so the next commit is the counters'.
    let before = server.metric("posture_store_commits_total");
    let kept = wait_until(2 * HANGS_AFTER, || {
        sleep(Duration::from_millis(50));
        before < server.metric("posture_store_commits_total")
    });
    assert!(kept, "the counters were not stored in time");
    let rotated = folder.key("1000");
    let keys = folder.json(&["key", "list"]);
    let (first, second) = (&keys["data"][0]["id"], &keys["data"][1]["id"]);
    let second = if keys["data"][0]["perDay"] == 1_000 { first } else { second };
    let id = second.as_str().unwrap();
    let fresh = folder.ok(&["key", "rotate", id, "--grace", "0", "--quiet"]);
    let revoked = folder.key("1000");
    let keys = folder.json(&["key", "list"]);
    let is_new = |it: &&Value| it["perDay"] == 1_000 && it["id"].as_str() != Some(id);
    let last = keys["data"].as_array().unwrap().iter().find(is_new).unwrap();
    folder.ok(&["key", "revoke", last["id"].as_str().unwrap()]);
    server.kill();
    let server = folder.serve();
    assert_eq!(remaining(&server), 5_000 - 41, "a restart does not refill the day");
    for (key, status) in [(fresh.trim_end(), 200), (&rotated, 401), (&revoked, 401)] {
        assert_eq!(server.get(key, "/clients").status, status);
    }
}

#[test]
fn after_a_kill_commands_work_without_a_server_and_a_server_starts_again() {
    let folder = Folder::new();
    let server = folder.serve();
    let id = folder.client("Acme");
    server.kill();
    assert!(folder.socket().exists(), "the dead server's socket");
    assert!(folder.ok(&["client", "list"]).contains(&id));
    assert!(folder.ok(&["client", "show", &id]).contains("Acme"));
    let server = folder.serve();
    assert!(folder.ok(&["client", "list"]).contains(&id));
    assert!(server.stop().success());
    assert!(!folder.socket().exists());
}
