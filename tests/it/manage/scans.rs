//! Network scans through the front door: what they find becomes assets and facts.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::process::wait_until;
use crate::harness::sink::Sink;
use crate::harness::{Answer, Posture};

const PASSWORD: &str = "four words nobody expects";
const PATIENCE: Duration = Duration::from_mins(2);

/// Loopback may be scanned, as fast as it goes.
pub(super) fn loopback(options: &mut posture::serve::ServeOptions) {
    options.app.scan.allowed = vec!["127.0.0.0/8".parse().unwrap()];
    options.app.scan.per_s = 100_000;
    options.app.scan.per_host = 64;
}

fn slow_loopback(options: &mut posture::serve::ServeOptions) {
    loopback(options);
    options.app.scan.per_s = 1;
}

pub(super) fn start(posture: &Posture, body: &Value) -> Answer {
    posture.operator("POST", "/api/scan", body)
}

fn status(posture: &Posture, id: &str) -> Value {
    let answer = posture.operator("GET", &format!("/api/scan/{id}/status"), &Value::Null);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

/// Waits until the scan is over.
fn over(posture: &Posture, id: &str) -> Value {
    let mut scan = Value::Null;
    let is_over = wait_until(PATIENCE, || {
        scan = status(posture, id);
        !["queued", "running"].contains(&scan["status"].as_str().unwrap())
    });
    assert!(is_over, "{scan}");
    scan
}

/// Scans to the end.
fn scan(posture: &Posture, body: &Value) -> Value {
    let answer = start(posture, body);
    assert_eq!(answer.status, 202, "{}", answer.text());
    let scan = answer.json()["data"].clone();
    assert_eq!(scan["status"], "queued");
    let scan = over(posture, scan["id"].as_str().unwrap());
    assert_eq!(scan["status"], "completed", "{scan}");
    scan
}

fn list(posture: &Posture, path: &str) -> Vec<Value> {
    let answer = posture.operator("GET", path, &Value::Null);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].as_array().unwrap().clone()
}

fn id_of(asset: &Value) -> &str {
    asset["id"].as_str().unwrap()
}

fn telnet(at: &str) -> Sink {
    Sink::raw(at, |mut stream| {
        let _ = stream.write_all(b"\xff\xfb\x01login:");
        let _ = stream.read(&mut [0; 8]);
    })
}

#[test]
fn what_a_scan_finds_becomes_assets_and_facts() {
    let posture = Posture::start_with(loopback);
    let client = posture.client("Acme");
    let _telnet = telnet("127.33.0.1:23");
    let body = json!({"targets": ["127.33.0.1"], "ports": "20-30,3389", "threads": 99_999});
    let scan = scan(&posture, &body);
    assert_eq!((&scan["clientId"], &scan["threads"]), (&json!(client), &json!(1_024)));
    assert_eq!(scan["targets"], json!(["127.33.0.1/32"]));
    let progress = json!({"hostsTotal": 1, "hostsDone": 1, "hostsUp": 1, "portsOpen": 1});
    assert_eq!((&scan["progress"], &scan["note"]), (&progress, &Value::Null));
    let hosts = list(&posture, &format!("/api/scan/{}/results", scan["id"].as_str().unwrap()));
    assert_eq!(hosts[0]["address"], "127.33.0.1");
    assert_eq!(hosts[0]["ports"][0]["service"], "telnet");
    assert_eq!(hosts[0]["ports"][0]["banner"], "\\xff\\xfb\\x01login:");
    let found = list(&posture, "/api/assets");
    assert_eq!((found.len(), &found[0]["ip"]), (1, &json!("127.33.0.1")));
    assert_eq!((&found[0]["clientId"], &found[0]["isManaged"]), (&json!(client), &json!(false)));
    let key = posture.key();
    let assets = posture.read(&key, &format!("/clients/{client}/assets"));
    assert_eq!(assets["data"][0]["id"], found[0]["id"]);
    let controls = list(&posture, &format!("/api/clients/{client}/controls"));
    let control = controls.iter().find(|it| it["controlCode"] == "NET-02").unwrap();
    assert_eq!(control["status"], "non_compliant", "cleartext: {control}");
}

#[test]
fn a_scan_of_few_ports_heals_nothing_that_another_saw() {
    let posture = Posture::start_with(loopback);
    let client = posture.client("Acme");
    let controls = || -> Vec<Value> {
        let controls = list(&posture, &format!("/api/clients/{client}/controls"));
        let of = |code: &str| controls.iter().find(|it| it["controlCode"] == code).unwrap().clone();
        ["NET-01", "NET-02"].map(|it| of(it)["status"].clone()).to_vec()
    };
    let services = [2323, 3306].map(|it| TcpListener::bind(("127.33.9.1", it)).unwrap());
    scan(&posture, &json!({"targets": ["127.33.9.1"]}));
    assert_eq!(controls(), ["non_compliant", "non_compliant"]);
    drop(services);
    posture.clock.set(posture.now().plus_s(60));
    scan(&posture, &json!({"targets": ["127.33.9.1"], "ports": "23,1433"}));
    assert_eq!(controls(), ["non_compliant", "non_compliant"], "2323 and 3306 were not asked");
    posture.clock.set(posture.now().plus_s(60));
    scan(&posture, &json!({"targets": ["127.33.9.1"]}));
    assert_eq!(controls(), ["partial", "partial"], "no list says that it is the only system");
}

#[test]
fn one_client_cannot_take_all_places_of_scans() {
    let posture = Posture::start_with(slow_loopback);
    let (client, other) = (posture.client("Acme"), posture.client("Beta"));
    let ask = |client: &str| {
        start(&posture, &json!({"clientId": client, "targets": ["127.33.8.0/28"], "ports": "80"}))
    };
    let taken: Vec<_> = (0..4).map(|_| ask(&client)).collect();
    assert!(taken.iter().all(|it| it.status == 202), "{}", taken[3].text());
    let (code, message) = ask(&client).problem();
    let rule =
        "4 scans of this client are already queued or running; wait until one ends, or cancel one";
    assert_eq!((code.as_str(), message.as_str()), ("CONFLICT", rule));
    assert_eq!(ask(&other).status, 202, "another client has places of its own");
    let last = taken[3].json()["data"]["id"].as_str().unwrap().to_owned();
    let cancel = posture.operator("POST", &format!("/api/scan/{last}/cancel"), &json!({}));
    assert_eq!(cancel.status, 200, "{}", cancel.text());
    over(&posture, &last);
    assert_eq!(ask(&client).status, 202, "there is a place again");
}

#[test]
fn a_host_that_is_new_since_the_first_scan_is_announced() {
    let posture = Posture::start_with(loopback);
    posture.client("Acme");
    let body = |last: u8| json!({"targets": [format!("127.33.1.{last}")], "ports": "80"});
    scan(&posture, &body(1));
    let discovered = || {
        let events = posture.events();
        events.iter().filter(|it| it["type"] == "asset_discovered").count()
    };
    assert_eq!(discovered(), 0, "the first scan is the baseline");
    scan(&posture, &body(2));
    assert_eq!(discovered(), 1);
    scan(&posture, &body(2));
    assert_eq!(discovered(), 1);
}

/// What nmap writes of hosts with an open telnet port: `nmap -sT -n -p 20-30 -oX - <targets>`.
fn nmap_file(targets: &[&str]) -> Vec<u8> {
    let host = |address: &&str| {
        format!(
            r#"<host starttime="1795160000" endtime="1795160001"><status state="up" reason="syn-ack" reason_ttl="0"/>
<address addr="{address}" addrtype="ipv4"/>
<hostnames>
</hostnames>
<ports><extraports state="closed" count="10">
<extrareasons reason="conn-refused" count="10" proto="tcp" ports="20-22,24-30"/>
</extraports>
<port protocol="tcp" portid="23"><state state="open" reason="syn-ack" reason_ttl="0"/><service name="telnet" method="table" conf="3"/></port>
</ports>
</host>
"#
        )
    };
    let hosts: String = targets.iter().map(host).collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE nmaprun>
<nmaprun scanner="nmap" start="1795160000" version="7.93" xmloutputversion="1.05">
<scaninfo type="connect" protocol="tcp" numservices="11" services="20-30"/>
{hosts}<runstats><finished time="1795160002" exit="success"/></runstats>
</nmaprun>
"#
    )
    .into_bytes()
}

/// A file about these hosts, whose telnet port is open, is about the same assets as our scan of them.
fn is_about_the_same_assets(targets: [&str; 3], make_file: impl Fn(&[&str]) -> Vec<u8>) {
    let _listeners: Vec<Sink> = targets.iter().map(|it| telnet(&format!("{it}:23"))).collect();
    let file = make_file(&targets);
    for is_scan_first in [true, false] {
        let posture = Posture::start_with(loopback);
        let client = posture.client("Acme");
        let import = || {
            let answer = posture.import(&client, "observedAt=now", &file);
            assert_eq!(answer.status, 200, "{}", answer.text());
            answer.json()["data"]["import"].clone()
        };
        let key = posture.key();
        let assets = || {
            let assets = posture.read(&key, &format!("/clients/{client}/assets"))["data"].clone();
            let fields = ["id", "name", "assetType", "category"];
            let some = |it: &Value| fields.map(|name| it[name].clone());
            assets.as_array().unwrap().iter().map(some).collect::<Vec<_>>()
        };
        let checks = || {
            let controls = list(&posture, &format!("/api/clients/{client}/controls"));
            let some =
                |it: &Value| (it["controlCode"].clone(), it["status"].clone(), it["score"].clone());
            controls.iter().map(some).collect::<Vec<_>>()
        };
        let body = json!({"targets": targets, "ports": "20-30"});
        if is_scan_first {
            scan(&posture, &body);
        } else {
            import();
        }
        let (first, first_checks) = (assets(), checks());
        assert_eq!(first.len(), 3);
        if is_scan_first {
            assert_eq!(import()["assetsAdded"], 0);
            assert_eq!(checks(), first_checks, "the file says nothing else of them");
        } else {
            let is_silent = |it: &(Value, Value, Value)| it.1 == "not_assessed";
            assert!(first_checks.iter().all(is_silent), "a loopback address is not exposed");
            scan(&posture, &body);
        }
        assert_eq!(assets(), first, "merged, not doubled");
        assert_eq!(list(&posture, "/api/assets").len(), 3);
    }
}

#[test]
fn a_file_of_nmap_about_the_same_hosts_is_about_the_same_assets() {
    is_about_the_same_assets(["127.33.12.1", "127.33.12.2", "127.33.12.3"], nmap_file);
}

mod needs_nmap {
    use std::process::Command;

    use super::is_about_the_same_assets;

    #[test]
    #[ignore = "needs nmap"]
    fn its_file_of_the_same_hosts_is_about_the_same_assets() {
        is_about_the_same_assets(["127.33.2.1", "127.33.2.2", "127.33.2.3"], |targets| {
            let args = ["-sT", "-n", "-p", "20-30", "-oX", "-"];
            Command::new("nmap").args(args).args(targets).output().unwrap().stdout
        });
    }
}

#[test]
fn what_changed_since_the_scan_before_is_told() {
    let posture = Posture::start_with(loopback);
    posture.client("Acme");
    let body = |ports: &str| json!({"targets": ["127.33.3.1"], "ports": ports});
    let listener = TcpListener::bind("127.33.3.1:8701").unwrap();
    let first = scan(&posture, &body("8700-8709"));
    assert_eq!(first["difference"], Value::Null);
    drop(listener);
    posture.pass_s(1);
    let _listeners = [8_702, 8_799].map(|it| TcpListener::bind(("127.33.3.1", it)).unwrap());
    let second = scan(&posture, &body("8700-8799"));
    let difference = &second["difference"];
    assert_eq!(difference["previousScanId"], first["id"]);
    let counts = ["hostsNew", "hostsGone", "portsOpened", "portsClosed"].map(|it| &difference[it]);
    assert_eq!(counts, [0, 0, 1, 1], "8799 was not asked before");
    let changes = json!(["127.33.3.1: tcp/8702 opened", "127.33.3.1: tcp/8701 closed"]);
    assert_eq!(difference["changes"], changes);
    posture.pass_s(1);
    assert_eq!(scan(&posture, &body("8700-8799"))["difference"]["changes"], json!([]));
}

#[test]
fn a_cancelled_scan_brings_no_assets_and_stays_listed() {
    let posture = Posture::start_with(slow_loopback);
    posture.client("Acme");
    let body = json!({"targets": ["127.33.4.0/24"], "ports": "1-1000", "name": "by mistake"});
    let id = start(&posture, &body).json()["data"]["id"].as_str().unwrap().to_owned();
    assert!(wait_until(PATIENCE, || status(&posture, &id)["status"] == "running"));
    let cancel = || posture.operator("POST", &format!("/api/scan/{id}/cancel"), &json!({}));
    assert_eq!(cancel().status, 200);
    let scan = over(&posture, &id);
    assert_eq!((&scan["status"], &scan["name"]), (&json!("cancelled"), &json!("by mistake")));
    assert!(scan["finishedAt"].is_string());
    assert_eq!(cancel().status, 200, "once more changes nothing");
    assert_eq!(list(&posture, "/api/scan").len(), 1);
    assert_eq!(list(&posture, "/api/assets").len(), 0);
}

#[test]
fn scans_beyond_those_at_once_wait_and_all_go_on_after_a_restart() {
    let posture = Posture::start_with(slow_loopback);
    posture.client("Acme");
    let ids: Vec<String> = (0..3)
        .map(|it| {
            let body = json!({"targets": [format!("127.33.5.{it}")], "ports": "1-1000"});
            start(&posture, &body).json()["data"]["id"].as_str().unwrap().to_owned()
        })
        .collect();
    let states = |posture: &Posture| -> Vec<String> {
        ids.iter().map(|it| status(posture, it)["status"].as_str().unwrap().to_owned()).collect()
    };
    assert!(wait_until(PATIENCE, || states(&posture) == ["running", "running", "queued"]));
    let posture = posture.restart_after(|_| (), loopback);
    for id in &ids {
        assert_eq!(over(&posture, id)["status"], "completed");
    }
    assert_eq!(list(&posture, "/api/assets").len(), 3);
}

#[test]
fn a_scan_that_is_no_longer_allowed_after_a_restart_fails_and_says_so() {
    let posture = Posture::start_with(slow_loopback);
    posture.client("Acme");
    let body = json!({"targets": ["127.33.6.1"], "ports": "1-1000"});
    let id = start(&posture, &body).json()["data"]["id"].as_str().unwrap().to_owned();
    let posture = posture.restart();
    let scan = over(&posture, &id);
    assert_eq!(scan["status"], "failed");
    let error = scan["error"].as_str().unwrap();
    assert!(error.contains("scan.allowed_networks"), "{scan}");
    assert!(
        !error.contains("now:"),
        "a caller who sees one client does not learn the networks: {scan}"
    );
}

#[test]
fn one_client_s_scans_do_not_hold_up_another_s() {
    let posture = Posture::start_with(slow_loopback);
    let clients = ["Acme", "Beta"].map(|it| posture.client(it));
    let start = |client: usize, last: u8| {
        let target = format!("127.33.10.{last}");
        let body = json!({"targets": [target], "ports": "1-1000", "clientId": clients[client]});
        start(&posture, &body).json()["data"]["id"].as_str().unwrap().to_owned()
    };
    let [first, second, third, other] =
        [(0, 1), (0, 2), (0, 3), (1, 4)].map(|it| start(it.0, it.1));
    let is = |id: &str, word: &str| status(&posture, id)["status"] == word;
    assert!(wait_until(PATIENCE, || is(&first, "running") && is(&second, "running")));
    assert!(is(&third, "queued") && is(&other, "queued"));
    let cancel = format!("/api/scan/{first}/cancel");
    assert_eq!(posture.operator("POST", &cancel, &Value::Null).status, 200);
    assert!(wait_until(PATIENCE, || is(&other, "running")));
    assert!(is(&third, "queued"), "it is older, but its client has one under way");
}

#[test]
fn a_scan_that_takes_too_long_fails_and_says_how_far_it_came() {
    let posture = Posture::start_with(slow_loopback);
    posture.client("Acme");
    let body = json!({"targets": ["127.33.7.1"], "ports": "1-1000"});
    let id = start(&posture, &body).json()["data"]["id"].as_str().unwrap().to_owned();
    assert!(wait_until(PATIENCE, || status(&posture, &id)["status"] == "running"));
    posture.clock.set(posture.now().plus_s(6 * 3_600));
    let scan = over(&posture, &id);
    assert_eq!(scan["status"], "failed");
    let error = scan["error"].as_str().unwrap();
    assert!(
        error.starts_with("the scan did not finish within 6 hours: 0 of 1 addresses"),
        "{error}"
    );
}

#[test]
fn a_scan_of_nobody_s_network_is_kept_and_changes_no_client() {
    let posture = Posture::start_with(loopback);
    let clients = [posture.client("Acme"), posture.client("Beta")];
    let body = json!({"targets": ["127.33.8.1"], "ports": "80"});
    let found = scan(&posture, &body);
    assert_eq!((&found["clientId"], &found["progress"]["hostsUp"]), (&Value::Null, &json!(1)));
    let before = list(&posture, "/api/assets");
    assert_eq!((before.len(), &before[0]["ip"]), (1, &json!("127.33.8.1")));
    assert_eq!((&before[0]["clientId"], &before[0]["status"]), (&Value::Null, &json!("active")));
    scan(&posture, &body);
    let again = list(&posture, "/api/assets");
    assert_eq!((again.len(), &again[0]["id"]), (1, &before[0]["id"]), "the same host");
    let kpis = posture.operator("GET", "/api/dashboard/kpis", &Value::Null).json();
    assert_eq!(kpis["data"]["assets"]["total"], 0, "{kpis}");
    assert!(posture.events().iter().all(|it| it["type"] != "asset_discovered"));

    let key = posture.key();
    let of_nobody =
        posture.send("PUT", &key, &format!("/assets/{}", id_of(&again[0])), &json!({"name": "x"}));
    assert_eq!(of_nobody.status, 404, "{}", of_nobody.text());
    let nobody = format!("/api/assets?clientId={}", uuid::Uuid::nil());
    assert_eq!(posture.operator("GET", &nobody, &Value::Null).status, 404);

    scan(&posture, &json!({"targets": ["127.33.8.1"], "ports": "80", "clientId": clients[1]}));
    let both = list(&posture, "/api/assets");
    assert_eq!((&both[0]["clientId"], &both[1]["clientId"]), (&Value::Null, &json!(clients[1])));
    let user = json!({
        "email": "ada@example.com", "role": "analyst", "password": PASSWORD, "clientIds": [clients[1]],
    });
    assert_eq!(posture.operator("POST", "/api/users", &user).status, 201);
    let limited = posture.log_in("ada@example.com", PASSWORD);
    let seen = posture.as_user(&limited, "GET", "/api/assets", &Value::Null).json();
    assert_eq!(seen["data"], json!([both[1]]), "who is limited sees nobody's no more than others'");

    posture.clock.set(posture.now().plus_days(31));
    let is_stale = || list(&posture, "/api/assets")[0]["status"] == "stale";
    assert!(wait_until(PATIENCE, is_stale), "nobody's age too");
    let of_client = |it: &str| list(&posture, &format!("/api/scan?clientId={it}")).len();
    assert_eq!((of_client(&clients[0]), of_client(&clients[1])), (0, 1));
    assert_eq!(
        posture.operator("DELETE", &format!("/api/clients/{}", clients[1]), &Value::Null).status,
        200
    );
    assert_eq!(list(&posture, "/api/scan").len(), 2, "a client's scans are erased with it");
}

#[test]
fn our_own_listener_is_not_among_what_is_found_unless_its_address_is_allowed() {
    // The options name the port. Nobody else is at this address, and no free port is given away below 32768.
    let open = |port: u16, change: fn(&mut posture::serve::ServeOptions)| {
        let posture = Posture::start_with(|options| {
            options.listen = format!("127.33.9.7:{port}").parse().unwrap();
            change(options);
        });
        posture.client("Acme");
        let body = json!({"targets": ["127.33.9.7"], "ports": port.to_string()});
        scan(&posture, &body)["progress"]["portsOpen"].clone()
    };
    assert_eq!(open(8_704, loopback), 0);
    let named = |options: &mut posture::serve::ServeOptions| {
        loopback(options);
        options.app.scan.allowed.push("127.33.9.7/32".parse().unwrap());
    };
    assert_eq!(open(8_705, named), 1);
}

#[test]
fn a_scan_that_may_not_be_is_refused_with_the_reason() {
    let posture = Posture::start();
    posture.client("Acme");
    for (body, status, expected) in [
        (json!({"targets": ["127.0.0.1"]}), 403, "scan.allowed_networks"),
        (json!({"targets": ["8.8.8.8"]}), 403, "add \\\"8.8.8.8/32\\\" to allowed_networks"),
        (json!({"targets": []}), 400, "targets: must have 1 to 32 items"),
        (json!({"targets": ["10.0.0.1/24"]}), 400, "did you mean 10.0.0.0/24?"),
        (
            json!({"targets": ["10.0.0.1"], "ports": "80-70"}),
            400,
            "the first port of a range must not be greater than the last",
        ),
        (json!({"targets": ["10.0.0.1"], "threads": "many"}), 400, "threads"),
        (json!({"targets": ["10.0.0.1"], "clientId": "x"}), 400, "clientId: must be a UUID"),
        (json!({"targets": ["10.0.0.1"], "rate": 9}), 400, "rate"),
        (json!({}), 400, "targets: is required"),
    ] {
        let answer = start(&posture, &body);
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        assert!(answer.text().contains(expected), "{body}: {}", answer.text());
    }
    assert_eq!(list(&posture, "/api/scan").len(), 0);
}

#[test]
fn the_fifty_newest_scans_of_a_client_are_kept() {
    let posture = Posture::start_with(loopback);
    posture.client("Acme");
    let body = json!({"targets": ["127.33.9.1"], "ports": "80"});
    let first = scan(&posture, &body);
    for _ in 0..51 {
        posture.pass_s(1);
        scan(&posture, &body);
    }
    while posture.block_on(posture.app.forget_scans()).unwrap() {}
    assert_eq!(list(&posture, "/api/scan?limit=100").len(), 50);
    let path = format!("/api/scan/{}/results", first["id"].as_str().unwrap());
    assert_eq!(posture.operator("GET", &path, &Value::Null).status, 404);
}
