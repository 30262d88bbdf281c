//! The executable killed in the middle of a scan: it goes on where it was, and nothing is stuck.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::process::{Folder, wait_until};

const PATIENCE: Duration = Duration::from_mins(2);
const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
[data]
dir = "data"
[scan]
allowed_networks = ["127.0.0.0/8"]
packets_per_s = 60000
per_host_connections = 64
"#;

fn done(scan: &Value) -> u64 {
    scan["data"]["progress"]["hostsDone"].as_u64().unwrap()
}

#[test]
fn a_scan_goes_on_behind_what_was_kept_before_the_kill() {
    let listeners: Vec<_> = (0..4)
        .map(|it| TcpListener::bind((std::net::Ipv4Addr::new(127, 34, it, 9), 30_500)).unwrap())
        .collect();
    let folder = Folder::new();
    folder.write("posture.toml", CONFIG.as_bytes());
    let server = folder.serve();
    folder.client("Acme");
    let start = ["scan", "start", "127.34.0.0/22", "--ports", "30300-30599", "--name", "weekly"];
    let id = folder.ok(&start).trim_end().to_owned();
    let show = || folder.json(&["scan", "show", &id]);
    let listed = || json!({ "data": folder.json(&["scan", "list"])["data"][0] });
    assert!(wait_until(PATIENCE, || 256 <= done(&listed())), "{}", listed());
    server.kill();
    let before = listed();
    assert_eq!(before["data"]["status"], "running", "nobody said otherwise");
    let kept = done(&before);
    assert!((256..1_024).contains(&kept), "some blocks are kept, not all: {kept}");
    let server = folder.serve();
    assert!(kept <= done(&listed()), "what was kept counts");
    assert!(wait_until(PATIENCE, || listed()["data"]["status"] == "completed"), "{}", listed());
    let scan = show();
    assert_eq!(done(&scan), 1_024);
    let hosts = scan["data"]["hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), 1_024, "each host once");
    let own: Vec<&Value> = hosts.iter().filter(|it| it["openPorts"] == 1).collect();
    assert_eq!(own.len(), 4, "those that listened before the kill and after it");
    assert!(server.stop().success());
    // Without a server the same words work on the file, and a new scan waits.
    assert_eq!(folder.json(&["scan", "list"])["data"].as_array().unwrap().len(), 1);
    let queued = folder.ok(&["scan", "start", "127.34.0.9", "--ports", "80"]);
    assert!(queued.contains("starts when `posture serve` runs"), "{queued}");
    let id = queued.lines().next().unwrap();
    assert_eq!(folder.ok(&["scan", "cancel", id]).trim_end(), format!("canceled scan {id}"));
    let list = folder.ok(&["scan", "list"]);
    assert!(list.contains("cancelled") && list.contains("completed"), "{list}");
    drop(listeners);
}

#[test]
fn a_scan_can_be_waited_for_on_the_command_line() {
    let listener = TcpListener::bind("127.34.8.1:30501").unwrap();
    let folder = Folder::new();
    folder.write("posture.toml", CONFIG.as_bytes());
    let start = ["scan", "start", "--wait", "127.34.8.1", "--ports", "30500-30510"];
    let refused = folder.run(&start);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("start `posture serve` first"), "{}", refused.err);
    let server = folder.serve();
    folder.client("Acme");
    let shown = folder.ok(&start);
    assert!(shown.contains("completed") && shown.contains("127.34.8.1"), "{shown}");
    assert!(shown.trim_end().ends_with("30501"), "{shown}");
    let json = folder.json(&start);
    assert_eq!(json["data"]["hosts"][0]["ports"][0]["port"], 30_501);
    assert!(server.stop().success());
    drop(listener);
}
