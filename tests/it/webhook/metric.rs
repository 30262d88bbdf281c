//! What `/metrics` says of deliveries.

use serde_json::{Value, json};

use super::{Receiver, SOON, add, allow_loopback, change, push, start};
use crate::harness::Posture;
use crate::harness::process::wait_until;

#[test]
fn the_metrics_count_attempts_and_what_waits() {
    let (posture, receiver) = (start(), Receiver::start());
    let metrics = |delivered: u32, failed: u32, waiting: u32, disabled: u32| {
        let lines = [
            format!("posture_webhook_attempts_total{{outcome=\"delivered\"}} {delivered}"),
            format!("posture_webhook_attempts_total{{outcome=\"failed\"}} {failed}"),
            format!("posture_webhook_waiting {waiting}"),
            format!("posture_webhook_disabled {disabled}"),
        ];
        let mut text = String::new();
        let are_there = wait_until(SOON, || {
            text = posture.operator("GET", "/metrics", &Value::Null).text();
            lines.iter().all(|line| text.lines().any(|it| it == line))
        });
        assert!(are_there, "not {lines:?}: {text}");
    };
    metrics(0, 0, 0, 0);
    receiver.answer_with(500);
    let webhook = add(&posture, &receiver.sink.url());
    push(&posture, &posture.client("A"), "one");
    metrics(0, 1, 1, 0);
    posture.pass_s(6);
    metrics(0, 2, 1, 0);
    receiver.answer_with(200);
    posture.pass_s(360);
    metrics(1, 2, 0, 0);
    receiver.answer_with(410);
    push(&posture, &posture.client("B"), "two");
    metrics(1, 3, 0, 1);
    posture.pass_s(10);
    change(&posture, &webhook, &json!({ "enabled": true }));
    metrics(1, 3, 0, 0);
}

#[test]
fn what_only_grows_is_a_counter_and_the_rest_is_a_gauge() {
    let posture = start();
    let scrape = || posture.operator("GET", "/metrics", &Value::Null).text();
    let types = |text: &str| {
        let types = text.lines().filter_map(|it| it.strip_prefix("# TYPE posture_"));
        types.map(str::to_owned).collect::<Vec<_>>()
    };
    let first = scrape();
    for name in
        ["resident_memory_bytes ", "database_bytes ", "memory_bytes{part=\"database_cache\"} "]
    {
        let lines = first.lines().filter_map(|it| it.strip_prefix("posture_")?.strip_prefix(name));
        let n_bytes: Vec<u64> = lines.map(|it| it.parse().unwrap()).collect();
        assert!(n_bytes.len() == 1 && 0 < n_bytes[0], "{name}: {first}");
    }
    let expected = [
        "ready gauge",
        "clients gauge",
        "store_queue gauge",
        "store_disk_full gauge",
        "clock_ahead_seconds gauge",
        "database_bytes gauge",
        "resident_memory_bytes gauge",
        "memory_bytes gauge",
        "long_polls counter",
        "store_commits counter",
        "store_writes counter",
        "store_damaged counter",
        "store_failures counter",
        "certificate_failures counter",
        "requests counter",
        "request_duration_seconds histogram",
        "scans_running gauge",
        "scans_ended counter",
        "source_runs counter",
        "imports counter",
        "source_records counter",
        "watch_files counter",
        "watch_waiting gauge",
        "webhook_waiting gauge",
        "webhook_oldest_due_seconds gauge",
        "webhook_disabled gauge",
        "webhook_attempts counter",
        "connections gauge",
        "backup_last_success_timestamp_seconds gauge",
        "backup_last_bytes gauge",
        "backup_drill_last_success_timestamp_seconds gauge",
        "backup_last_duration_seconds gauge",
        "backup_failures counter",
        "backup_command_failures counter",
    ];
    assert_eq!(types(&first), expected);
    let writes = |text: &str| {
        let line = text.lines().find_map(|it| it.strip_prefix("posture_store_writes_total "));
        line.unwrap().parse::<u64>().unwrap()
    };
    posture.client("A");
    let second = scrape();
    assert_eq!(types(&second), expected, "no metric is registered twice");
    assert!(writes(&first) < writes(&second));
    assert!(second.ends_with("# EOF\n"));
}

#[test]
fn the_metrics_say_how_long_a_delivery_has_been_due() {
    let (posture, receiver) = (start(), Receiver::start());
    let client = posture.client("A");
    let webhook = add(&posture, &receiver.sink.url());
    let due_s = |posture: &Posture| {
        let text = posture.operator("GET", "/metrics", &Value::Null).text();
        let name = "posture_webhook_oldest_due_seconds ";
        let line = text.lines().find_map(|it| it.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{text}")).parse::<u64>().unwrap()
    };
    assert_eq!(due_s(&posture), 0);
    // Without its key file nothing is sent, and the queue waits for a new secret.
    let posture = posture.restart_after(
        |dir| std::fs::remove_file(dir.join("posture.key")).unwrap(),
        allow_loopback,
    );
    push(&posture, &client, "one");
    for (pass_s, expected) in [(0, 0), (600, 600), (3_000, 3_600)] {
        posture.clock.set(posture.now().plus_s(pass_s));
        assert_eq!(due_s(&posture), expected);
    }
    change(&posture, &webhook, &json!({ "enabled": false }));
    assert_eq!(due_s(&posture), 0, "nothing is due at a disabled endpoint");
}
