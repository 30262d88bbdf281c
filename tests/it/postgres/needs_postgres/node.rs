//! One node at a time: what another one, a crash and a lost connection do.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{CONFIG, assets, events, folder, name, other_node, push};
use crate::harness::port::free_port;
use crate::harness::postgres::{Cluster, shared};
use crate::harness::process::{Line, signal, wait_until};

/// A node that was killed is waited for so long, and a little more.
const TAKES_OVER: Duration = Duration::from_secs(25);

#[test]
#[ignore = "needs PostgreSQL"]
fn a_second_node_is_refused_while_the_first_one_runs() {
    let url = shared().new_database();
    let first = folder(&url);
    let server = first.serve();
    let (client, key) = (first.client("Acme"), first.key("1000000"));
    let second = other_node(&first, &url);
    let done = second.run(&["client", "list"]);
    assert_eq!(done.code, 1, "{done:?}");
    let dir = first.path().join("data");
    let rule = format!("({}) has this database open; stop the service there first", dir.display());
    assert!(done.err.contains(&rule), "{}", done.err);
    assert_eq!(push(&server, &key, &client, "one"), 201);
    server.stop();
    let began = Instant::now();
    assert!(second.ok(&["client", "list"]).contains("Acme"), "the first has released it");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_killed_node_starts_again_at_once_and_another_one_after_the_lease() {
    let url = shared().new_database();
    let first = folder(&url);
    let mut server = first.serve();
    let (client, key) = (first.client("Acme"), first.key("1000000"));
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        for index in 0..20 {
            let name = format!("{round}-{index}");
            assert_eq!(push(&server, &key, &client, &name), 201);
            acknowledged.push(name);
        }
        server.kill();
        let began = Instant::now();
        server = first.serve();
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    }
    server.kill();
    let second = other_node(&first, &url);
    let server = second.serve();
    acknowledged.sort_unstable();
    assert_eq!(assets(&server, &key, &client), acknowledged);
    assert_eq!(push(&server, &key, &client, "last"), 201);
    let all = events(&second);
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>(), "no gap, none twice");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_standby_says_who_is_active_and_takes_over_when_that_node_is_killed() {
    let url = shared().new_database();
    let first = folder(&url);
    let server = first.serve();
    let (client, key) = (first.client("Acme"), first.key("1000000"));
    let standby = other_node(&first, &url);
    let address = format!("127.0.0.1:{}", free_port());
    let listen = CONFIG.replace("127.0.0.1:0", &address);
    standby.write("posture.toml", listen.as_bytes());
    let _waiting = standby.serve_beside();
    let get = |path: &str| {
        let mut line = Line::to(address.parse().unwrap()).ok()?;
        line.ask("GET", path, &key, "")
    };
    assert!(wait_until(TAKES_OVER, || get("/healthz").is_some_and(|it| it.status == 200)));
    let mut acknowledged: Vec<String> = (0..20).map(|index| format!("asset {index:02}")).collect();
    for name in &acknowledged {
        assert_eq!(push(&server, &key, &client, name), 201);
    }
    let metrics = get("/metrics").unwrap().text();
    assert!(
        metrics.contains("\nposture_node_active 0\n")
            && metrics.contains("\nposture_node_epoch 1\n"),
        "{metrics}"
    );
    let age = metrics.lines().find_map(|it| it.strip_prefix("posture_node_lease_age_seconds "));
    assert!((0.0..9.0).contains(&age.unwrap().parse::<f64>().unwrap()), "{metrics}");
    let said = standby.ok(&["status"]);
    assert!(said.starts_with("server            standby\nactive node       "), "{said}");
    assert!(said.contains("epoch 1, lease renewed "), "{said}");
    let refused = standby.run(&["client", "list"]);
    assert!(refused.err.contains("this node is a standby; "), "{refused:?}");
    let said = first.ok(&["status"]);
    assert!(said.starts_with("server            running\nactive node       "), "{said}");
    assert_eq!(server.metric("posture_node_active"), 1);
    for path in ["/readyz", "/api/v1/clients", "/api/clients", "/"] {
        let answer = get(path).unwrap();
        assert_eq!(answer.status, 503, "{path}");
        assert!(answer.header("retry-after").is_some(), "{path}");
        let text = answer.text();
        assert!(text.contains("this node is a standby; ") && text.contains(" is active"), "{text}");
        assert!(!text.contains("data"), "no folder: {text}");
    }
    server.kill();
    let began = Instant::now();
    assert!(wait_until(TAKES_OVER, || get("/readyz").is_some_and(|it| it.status == 200)));
    eprintln!("took over after {:?}", began.elapsed());
    assert!(Duration::from_secs(5) < began.elapsed(), "not before the lease has ended");
    let answer = get(&format!("/api/v1/clients/{client}/assets?limit=100")).unwrap().json();
    let found = answer["data"].as_array().unwrap().iter();
    let mut found: Vec<_> = found.map(|it| it["name"].as_str().unwrap().to_owned()).collect();
    found.sort_unstable();
    acknowledged.sort_unstable();
    assert_eq!(found, acknowledged);
    let all = events(&standby);
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>(), "no gap, none twice");
    // The killed one comes back as the standby.
    let address = format!("127.0.0.1:{}", free_port());
    first.write("posture.toml", CONFIG.replace("127.0.0.1:0", &address).as_bytes());
    let mut back = first.serve_beside();
    let healthy = || Line::to(address.parse().unwrap()).ok()?.ask("GET", "/readyz", "", "");
    assert!(wait_until(TAKES_OVER, || healthy().is_some_and(|it| it.status == 503)));
    signal(back.id(), "-TERM");
    assert!(back.wait().success(), "a standby stops in order");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_node_that_was_deposed_answers_nothing_and_ends() {
    let url = shared().new_database();
    let first = folder(&url);
    let server = first.serve();
    let (client, key) = (first.client("Acme"), first.key("1000000"));
    assert_eq!(push(&server, &key, &client, "before"), 201);
    // In memory, from where it must not be answered either.
    assert_eq!(assets(&server, &key, &client), ["before"]);
    signal(server.id(), "-STOP");
    let second = other_node(&first, &url);
    let taken = second.serve();
    assert_eq!(push(&taken, &key, &client, "after"), 201);
    signal(server.id(), "-CONT");
    let path = format!("/api/v1/clients/{client}/assets?limit=100&offset=0");
    let mut statuses = Vec::new();
    let ended = wait_until(TAKES_OVER, || {
        let Some(mut line) = Line::to(server.address).ok() else {
            return true;
        };
        let read = line.send("GET", &path, &key, "").map(|it| it.0);
        let body = json!({
            "clientId": client, "name": "stray", "externalId": "stray", "assetType": "server",
        });
        let written = line.send("POST", "/api/v1/assets", &key, &body.to_string()).map(|it| it.0);
        statuses.extend(read.into_iter().chain(written));
        false
    });
    assert!(ended, "it ends");
    assert!(statuses.iter().all(|it| *it == 503), "{statuses:?}");
    assert_eq!(assets(&taken, &key, &client), ["after", "before"]);
    let log = std::fs::read_to_string(first.path().join("serve.log")).unwrap();
    assert!(log.contains("another node has taken over the database"), "{log}");
    let all = events(&second);
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>(), "no gap, none twice");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_server_that_was_away_is_found_again() {
    let mut cluster = Cluster::start(&[]);
    let folder = folder(&cluster.new_database());
    let server = folder.serve();
    let (client, key) = (folder.client("Acme"), folder.key("1000000"));
    assert_eq!(push(&server, &key, &client, "before"), 201);
    assert_eq!(assets(&server, &key, &client), ["before"]);
    cluster.stop();
    let ready = || Line::to(server.address).unwrap().ask("GET", "/readyz", "", "").unwrap().status;
    assert!(wait_until(TAKES_OVER, || ready() == 503), "the lease ends");
    let path = format!("/clients/{client}/assets?limit=100&offset=0");
    assert_eq!(server.get(&key, &path).status, 503, "not even from memory");
    assert_eq!(push(&server, &key, &client, "meanwhile"), 503);
    cluster.start_again();
    assert!(wait_until(TAKES_OVER, || ready() == 200), "it goes on by itself");
    assert_eq!(push(&server, &key, &client, "after"), 201);
    assert_eq!(assets(&server, &key, &client), ["after", "before"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_commit_takes_its_time_whatever_timeout_the_role_has() {
    let cluster = shared();
    for sql in [
        "CREATE ROLE hurried LOGIN",
        "ALTER ROLE hurried SET statement_timeout = '300ms'",
        "CREATE DATABASE hurried OWNER hurried",
    ] {
        cluster.sql("postgres", sql);
    }
    let folder = folder(&cluster.url("hurried", "hurried"));
    let server = folder.serve();
    let (client, key) = (folder.client("Acme"), folder.key("1000000"));
    // Longer than a commit is tried again.
    let hold = "BEGIN; SELECT commit FROM posture_head FOR UPDATE; SELECT pg_sleep(8); COMMIT";
    std::thread::scope(|scope| {
        let holding = scope.spawn(|| cluster.sql("hurried", hold));
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(push(&server, &key, &client, "patient"), 201);
        holding.join().unwrap();
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn connections_that_are_cut_lose_and_repeat_nothing() {
    let url = shared().new_database();
    let name = name(&url);
    let folder = folder(&url);
    let server = folder.serve();
    let (client, key) = (folder.client("Acme"), folder.key("1000000"));
    let (address, client, key) = (server.address, client.as_str(), key.as_str());
    let until = Instant::now() + Duration::from_secs(6);
    let push_all = |prefix: u32| {
        let (mut line, mut done) = (Line::to(address).unwrap(), Vec::new());
        for index in 0.. {
            if until < Instant::now() {
                break;
            }
            let name = format!("{prefix}-{index}");
            let body = json!({
                "clientId": client, "name": name, "externalId": name, "assetType": "server",
            });
            let (status, body) = line.push(key, &body).unwrap();
            match status {
                201 => done.push(name),
                503 => (),
                _ => panic!("{status}: {body}"),
            }
        }
        done
    };
    let push_all = &push_all;
    let mut acknowledged: Vec<String> = std::thread::scope(|scope| {
        let pushers: Vec<_> = (0..4).map(|it| scope.spawn(move || push_all(it))).collect();
        while Instant::now() < until {
            let cut = format!(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}' AND application_name = 'posture'"
            );
            shared().sql("postgres", &cut);
            std::thread::sleep(Duration::from_millis(150));
        }
        pushers.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    assert!(wait_until(TAKES_OVER, || server.get(key, "/clients").status == 200));
    let found = assets(&server, key, client);
    acknowledged.sort_unstable();
    assert!(100 < acknowledged.len(), "{}", acknowledged.len());
    let lost: Vec<_> = acknowledged.iter().filter(|it| found.binary_search(it).is_err()).collect();
    assert_eq!(lost, Vec::<&String>::new());
    assert!(found.is_sorted_by(|a, b| a < b), "each once");
    let all = events(&folder);
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>(), "no gap, none twice");
}
