//! A standby that could not take over, and a server that has lost what it acknowledged.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use super::{CONFIG, assets, events, folder, name, other_node, push};
use crate::harness::port::free_port;
use crate::harness::postgres::shared;
use crate::harness::process::{Folder, Line, finish, signal, wait_until};

/// A standby takes over within this time, and a little more.
const TAKES_OVER: Duration = Duration::from_secs(25);
/// Until a request for the lease is given up, on a busy machine.
const GIVES_UP: Duration = Duration::from_mins(2);
/// Longer than a lease.
const LEASE: Duration = Duration::from_secs(13);

/// A node with an address of its own; the status of its `/readyz`, and the whole of `/metrics`.
fn at_address(node: &Folder) -> impl Fn(&str) -> Option<(u16, String)> + use<> {
    let address = format!("127.0.0.1:{}", free_port());
    node.write("posture.toml", CONFIG.replace("127.0.0.1:0", &address).as_bytes());
    move |path| {
        let answer = Line::to(address.parse().unwrap()).ok()?.ask("GET", path, "", "")?;
        Some((answer.status, answer.text()))
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_standby_without_the_key_does_not_take_over_and_says_why() {
    let (cluster, url) = (shared(), shared().new_database());
    let first = folder(&url);
    let server = first.serve();
    let (client, key) = (first.client("Acme"), first.key("1000000"));
    assert_eq!(push(&server, &key, &client, "before"), 201);
    let refused = folder(&url);
    let done = finish(&mut refused.command(&["serve"]));
    let rule = ", and there is no posture.key here; copy posture.key from the node that has used";
    assert!(done.code == 1 && done.err.contains(rule), "{done:?}");
    let standby = other_node(&first, &url);
    let get = at_address(&standby);
    let mut waiting = standby.serve_beside();
    let said = |words: &str| get("/metrics").is_some_and(|it| it.1.contains(words));
    assert!(wait_until(TAKES_OVER, || said("\nposture_node_can_take_over 1\n")));
    let key_file = standby.path().join("data/posture.key");
    let kept = standby.path().join("kept");
    fs::rename(&key_file, &kept).unwrap();
    assert!(wait_until(TAKES_OVER, || said("\nposture_node_can_take_over 0\n")));
    let status = standby.ok(&["status"]);
    assert!(status.contains("cannot take over  the database belongs to the key file"), "{status}");
    server.kill();
    sleep(LEASE);
    assert_eq!(get("/readyz").unwrap().0, 503);
    let epoch = cluster.sql(name(&url), "SELECT epoch FROM posture_head");
    assert_eq!(epoch.trim(), "1", "it has not tried");
    fs::rename(&kept, &key_file).unwrap();
    assert!(wait_until(TAKES_OVER, || get("/readyz").is_some_and(|it| it.0 == 200)));
    signal(waiting.id(), "-TERM");
    assert!(waiting.wait().success());
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_standby_that_cannot_open_the_database_yet_tries_again() {
    let (cluster, url) = (shared(), shared().new_database());
    let first = folder(&url);
    let server = first.serve();
    // A copy of the whole machine has the file that names a node, too.
    let standby = other_node(&first, &url);
    let node_file = "data/posture.node";
    fs::copy(first.path().join(node_file), standby.path().join(node_file)).unwrap();
    let get = at_address(&standby);
    let waiting = standby.serve_beside();
    assert!(wait_until(TAKES_OVER, || get("/readyz").is_some_and(|it| it.0 == 503)));
    signal(waiting.id(), "-HUP");
    server.kill();
    let held = cluster.hold(name(&url), "UPDATE posture_head SET mark = mark");
    let words = "this standby cannot take over: ";
    let log = || fs::read_to_string(standby.path().join("serve.log")).unwrap_or_default();
    assert!(wait_until(GIVES_UP, || log().contains(words)), "{}", log());
    assert_eq!(get("/readyz").unwrap().0, 503);
    drop(held);
    assert!(wait_until(TAKES_OVER, || get("/readyz").is_some_and(|it| it.0 == 200)));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn commits_that_the_server_has_lost_are_counted_and_logged() {
    let (cluster, url) = (shared(), shared().new_database());
    let folder = folder(&url);
    let server = folder.serve();
    let (client, key) = (folder.client("Acme"), folder.key("1000000"));
    assert_eq!(push(&server, &key, &client, "before"), 201);
    assert_eq!(server.metric("posture_node_lost_commits_total"), 0);
    cluster.sql(name(&url), "UPDATE posture_head SET commit = commit - 2");
    let is_served = || push(&server, &key, &client, "after") != 503;
    assert!(wait_until(TAKES_OVER, is_served), "it goes on");
    assert_eq!(server.metric("posture_node_lost_commits_total"), 2);
    let log = fs::read_to_string(folder.path().join("serve.log")).unwrap();
    assert!(log.contains("the database server has lost commits that were acknowledged"), "{log}");
    assert_eq!(assets(&server, &key, &client), ["after", "before"]);
    let all = events(&folder);
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>());
}
