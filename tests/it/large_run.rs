//! Runs that take many commits: all of a run counts, or nothing of it is there, whenever the service is killed.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use posture::clock::Clock;
use posture::id::ClientId;
use serde_json::{Value, json};

use super::harness::backend::Random;
use super::harness::http::send_socket;
use super::harness::long::is_long;
use super::harness::open_store;
use super::harness::process::{Folder, Server, wait_until};

const N_OBSERVATIONS: usize = 12_000;
const N_ASSETS: usize = 1_200;
const N_IDENTITIES: usize = 3_000;
const HANGS_AFTER: Duration = Duration::from_mins(1);

fn body() -> Value {
    let observation =
        |i| json!({"control": "ID-01", "check": format!("c{i}"), "status": "compliant"});
    let identity =
        |i| json!({"user": format!("u{i}"), "admin": false, "mfa": true, "enabled": true});
    let asset =
        |i| json!({"externalId": format!("a{i}"), "name": format!("a{i}"), "assetType": "server"});
    json!({
        "source": "s", "scope": "", "complete": true,
        "observations": (0..N_OBSERVATIONS).map(observation).collect::<Vec<_>>(),
        "identities": (0..N_IDENTITIES).map(identity).collect::<Vec<_>>(),
        "assets": (0..N_ASSETS).map(asset).collect::<Vec<_>>(),
    })
}

fn n_events(folder: &Folder, client: &str, kind: &str) -> usize {
    let page = folder.ask(&format!("/api/events?limit=100&clientId={client}"));
    let events = page["data"].as_array().unwrap();
    assert!(events.len() < 100);
    events.iter().filter(|it| it["type"] == kind).count()
}

/// What anybody sees of the run: the import, assets, the event that says it is complete.
fn seen(folder: &Folder, client: &str) -> (usize, u64, usize) {
    let imports = folder.ask(&format!("/api/clients/{client}/imports"));
    let kpis = folder.ask(&format!("/api/clients/{client}"));
    let path = format!("/api/clients/{client}/export");
    let export = send_socket(&folder.socket(), "GET", &path, &[], b"").text();
    let n_assets = export.lines().filter(|it| it.contains("\"kind\":\"asset\"")).count();
    assert!(kpis["data"].is_object());
    let n_completed = n_events(folder, client, "integration_sync_completed");
    (imports["data"].as_array().unwrap().len(), n_assets as u64, n_completed)
}

/// Sends a request to a server that may be killed meanwhile.
fn send_into_the_void(mut stream: UnixStream, (method, path): (&str, &str), body: &[u8]) {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: posture\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    if sent.is_ok() {
        drop(stream.read(&mut [0; 1_024]));
    }
}

/// Kills the server so long after a request, and starts another.
fn kill_during(
    folder: &Folder,
    server: Server,
    after: Duration,
    call: (&str, &str),
    body: &[u8],
) -> Server {
    let stream = UnixStream::connect(folder.socket()).unwrap();
    std::thread::scope(|scope| {
        let sent = scope.spawn(|| send_into_the_void(stream, call, body));
        sleep(after);
        Server::kill(server);
        sent.join().unwrap();
    });
    folder.serve()
}

#[test]
fn a_large_run_counts_whole_or_leaves_nothing_when_the_service_is_killed() {
    let n_rounds = if is_long() { 60 } else { 5 };
    let folder = Folder::new();
    let seed = Clock::System.now().micros().unsigned_abs();
    let mut random = Random::from_seed(seed);
    let body = serde_json::to_vec(&body()).unwrap();
    let headers = [("Content-Type", "application/json")];
    let mut server = folder.serve();
    let whole = folder.client("whole");
    let path = |client: &str| format!("/api/clients/{client}/facts");
    let start = Instant::now();
    let answer = send_socket(&folder.socket(), "POST", &path(&whole), &headers, &body);
    let took = start.elapsed();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let expected = seen(&folder, &whole);
    assert_eq!((expected.0, expected.2), (1, 1));
    let mut clients = vec![(whole, true)];
    for round in 0..n_rounds {
        let client = folder.client(&format!("round {round}"));
        let after = took * u32::try_from(100 + random.below(900)).unwrap() / 1_000;
        server = kill_during(&folder, server, after, ("POST", &path(&client)), &body);
        let is_decided = seen(&folder, &client).0 == 1;
        let whole = if is_decided { expected } else { (0, 0, 0) };
        let is_settled = wait_until(HANGS_AFTER, || seen(&folder, &client) == whole);
        assert!(is_settled, "seed {seed}, round {round}: {:?}", seen(&folder, &client));
        clients.push((client, is_decided));
    }
    let n_decided = clients.iter().filter(|it| it.1).count();
    eprintln!("of {n_rounds} runs that were killed, {} counted", n_decided - 1);
    assert!(server.stop().success());
    let store = open_store(&folder.path().join("data"), Clock::System.now());
    for (client, is_decided) in clients {
        let rows = store.client_store(client.parse::<ClientId>().unwrap()).snapshot().unwrap();
        let n = rows.list_all_observations().unwrap().len();
        assert_eq!(N_OBSERVATIONS <= n, is_decided, "{n}");
        assert!(is_decided || n == 0, "{n}");
        assert_eq!(rows.list_uncounted().unwrap(), [], "nothing is left of what was staged");
    }
}

/// A complete list of accounts, by when it was read.
fn list(prefix: &str, at: &str) -> Vec<u8> {
    let identity =
        |i| json!({"user": format!("{prefix}{i}"), "admin": false, "mfa": true, "enabled": true});
    let identities: Vec<Value> = (0..N_IDENTITIES).map(identity).collect();
    let body = json!({"source": "s", "scope": "", "complete": true, "observedAt": at,
        "confirmShrink": true, "identities": identities});
    serde_json::to_vec(&body).unwrap()
}

#[test]
fn a_large_undo_is_whole_or_not_begun_when_the_service_is_killed() {
    let n_rounds = if is_long() { 60 } else { 8 };
    let folder = Folder::new();
    let seed = Clock::System.now().micros().unsigned_abs();
    let mut random = Random::from_seed(seed);
    let headers = [("Content-Type", "application/json")];
    let mut server = folder.serve();
    let hours_ago = |n: i64| Clock::System.now().plus_ms(-n * 3_600_000).to_string();
    let mut took = Duration::ZERO;
    let mut n_undone = 0;
    for round in 0..=n_rounds {
        let client = folder.client(&format!("round {round}"));
        let push = |body: &[u8]| {
            let path = format!("/api/clients/{client}/facts");
            let answer = send_socket(&folder.socket(), "POST", &path, &headers, body);
            assert_eq!(answer.status, 200, "{}", answer.text());
            answer.json()["data"].clone()
        };
        push(&list("a", &hours_ago(3)));
        let second = push(&list("b", &hours_ago(2)));
        let id = second["importId"].as_str().unwrap();
        let path = format!("/api/clients/{client}/imports/{id}");
        if round == 0 {
            let start = Instant::now();
            assert_eq!(send_socket(&folder.socket(), "DELETE", &path, &[], b"").status, 200);
            took = start.elapsed();
        } else {
            let after = took * u32::try_from(random.below(1_000)).unwrap() / 1_000;
            server = kill_during(&folder, server, after, ("DELETE", &path), b"");
        }
        let imports = folder.ask(&format!("/api/clients/{client}/imports"));
        let imports = imports["data"].as_array().unwrap();
        let is_undone = imports.iter().any(|it| it["id"] == id && it["undoneAt"].is_string());
        n_undone += u32::from(is_undone);
        let again = push(&list("a", &hours_ago(1)))["identities"].clone();
        let n_moved = if is_undone { 0 } else { N_IDENTITIES };
        let expected = json!({"added": n_moved, "changed": 0, "gone": n_moved, "held": false});
        assert_eq!(again, expected, "seed {seed}, round {round}");
    }
    eprintln!("of {n_rounds} undos that were killed, {} counted", n_undone - 1);
    assert!(server.stop().success());
}
