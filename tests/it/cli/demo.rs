//! The demonstration: what there is to show, and that it is there after a restart.

use std::collections::{BTreeMap, BTreeSet};

use posture::engine::event::EventKind;
use serde_json::{Value, json};

use crate::harness::http::send_socket;
use crate::harness::process::{Folder, Server, wait_until};

const WAIT: std::time::Duration = std::time::Duration::from_mins(2);
/// From this many clients on a grade is not an exception.
const N_PER_GRADE_MIN: usize = 3;

/// A server with the demonstration, and what it printed.
struct Demo<'a> {
    folder: &'a Folder,
    server: Server,
    lines: Vec<String>,
}

impl<'a> Demo<'a> {
    fn start(folder: &'a Folder) -> Self {
        let server = folder.serve_with(&["--demo"]);
        let mut lines = Vec::new();
        while !lines.iter().any(|it: &String| it.contains("X-API-Key")) {
            lines.push(server.line());
        }
        Self { folder, server, lines }
    }

    fn key(&self) -> &str {
        let (_, rest) = self.lines.last().unwrap().split_once("X-API-Key: ").unwrap();
        rest.split_once('\'').unwrap().0
    }

    fn get(&self, path: &str) -> Value {
        self.folder.ask(path)["data"].take()
    }

    fn list(&self, path: &str) -> Vec<Value> {
        self.get(path).as_array().unwrap().clone()
    }

    /// All events, oldest first.
    fn events(&self) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let after =
                all.last().map_or(0, |it| it["data"]["object"]["sequence"].as_u64().unwrap());
            let page = self.list(&format!("/api/events?after={after}&limit=100"));
            if page.is_empty() {
                return all;
            }
            all.extend(page);
        }
    }

    fn of(&self, client: &Value, path: &str) -> Value {
        self.get(&format!("/api/clients/{}{path}", text(&client["id"])))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn named<'a>(clients: &'a [Value], name: &str) -> &'a Value {
    clients.iter().find(|it| text(&it["name"]).starts_with(name)).unwrap()
}

#[test]
fn the_demonstration_is_a_portfolio_that_one_can_show() {
    let folder = Folder::demonstration();
    let demo = Demo::start(&folder);
    let clients = demo.list("/api/clients?limit=100");
    assert_eq!(clients.len(), 40);
    let answer = demo.server.get(demo.key(), "/clients");
    assert_eq!((answer.status, &answer.json()["pagination"]["total"]), (200, &json!(40)));
    let mut grades: BTreeMap<String, usize> = BTreeMap::new();
    let mut n_unlike = 0;
    for client in &clients {
        let id = text(&client["id"]);
        let scores = demo.get(&format!("/api/v1/clients/{id}/scores?limit=100"));
        let grade = scores["current"]["grade"].as_str().unwrap_or("none");
        *grades.entry(grade.to_owned()).or_default() += 1;
        let n_days = scores["history"].as_array().unwrap().len();
        let is_new = ["Elmstead", "Kingsmere", "Ormsby"]
            .iter()
            .any(|it| text(&client["name"]).starts_with(it));
        assert!(if is_new { n_days < 8 } else { 26 <= n_days }, "{}: {n_days}", client["name"]);
        let frameworks = client["settings"]["frameworks"].as_array().unwrap();
        assert!((1..=3).contains(&frameworks.len()), "{}: {frameworks:?}", client["name"]);
        let assets = demo.folder.ask(&format!("/api/v1/clients/{id}/assets?limit=1"));
        n_unlike += usize::from(assets["pagination"]["total"] != client["employeeCount"]);
    }
    assert!(35 <= n_unlike, "assets as many as employees at {} clients", 40 - n_unlike);
    assert_eq!(grades.remove("none"), Some(1), "one was added yesterday");
    let often: Vec<&str> =
        grades.iter().filter(|it| N_PER_GRADE_MIN <= *it.1).map(|it| it.0.as_str()).collect();
    assert_eq!(often, ["A", "B", "C", "D", "F"], "{grades:?}");
    profiles_are_respected(&demo, &clients);
    serious_gaps_are_described(&demo, &clients);
    work_is_under_way(&demo, &clients);
    every_event_was_raised(&demo);
    the_msp_is_there(&demo);
    it_starts_again(demo, &folder);
}

fn profiles_are_respected(demo: &Demo<'_>, clients: &[Value]) {
    let scopes = |name: &str| -> BTreeSet<String> {
        let imports = demo.of(named(clients, name), "/imports?limit=100");
        let all =
            imports.as_array().unwrap().iter().flat_map(|it| it["scopes"].as_array().unwrap());
        all.map(|it| text(it).split('/').next().unwrap().to_owned()).collect()
    };
    let school = scopes("Yarrow");
    assert!(school.contains("google") && !school.contains("m365"), "{school:?}");
    assert!(scopes("Pemberton").contains("aws") && !scopes("Baypoint").contains("aws"));
    let status = |name: &str, code: &str| {
        let controls = demo.of(named(clients, name), "/controls");
        let mut controls = controls.as_array().unwrap().iter();
        text(&controls.find(|it| it["controlCode"] == code).unwrap()["status"]).to_owned()
    };
    assert_eq!(status("Yarrow", "ID-17"), "not_applicable", "no Entra in a Google client");
    assert_eq!(status("Aldercrest", "PRV-21"), "not_applicable", "a dentist has no school records");
    assert_eq!(status("Aldercrest", "DAT-14"), "not_applicable");
    assert_ne!(status("Valewood", "PRV-21"), "not_applicable");
    let frameworks = |name: &str| named(clients, name)["settings"]["frameworks"].clone();
    assert_eq!(frameworks("Pinecroft"), json!(["CMMC_L1", "CMMC_L2"]));
    assert_eq!(frameworks("Ashdown"), json!(["CJIS", "NIST_CSF"]));
}

fn serious_gaps_are_described(demo: &Demo<'_>, clients: &[Value]) {
    for client in clients {
        let controls = demo.of(client, "/controls");
        for control in controls.as_array().unwrap() {
            let is_serious = matches!(text(&control["severity"]), "critical" | "high");
            if is_serious && matches!(text(&control["status"]), "partial" | "non_compliant") {
                let findings = text(&control["findings"]);
                let is_bare = findings.starts_with("Reported as") && findings.ends_with(" met.");
                assert!(!is_bare, "{}: {}: {findings}", client["name"], control["controlCode"]);
            }
        }
    }
}

fn work_is_under_way(demo: &Demo<'_>, clients: &[Value]) {
    let tasks = demo.list("/api/tasks?limit=100");
    let states: BTreeSet<&str> = tasks.iter().map(|it| text(&it["status"])).collect();
    assert!(states.contains("open") && states.contains("done"), "{states:?}");
    assert!(!demo.list("/api/alerts").is_empty());
    assert!(5 <= demo.list("/api/alert-rules").len());
    let model = named(clients, "Fairwater");
    let evidence = demo.of(model, "/evidence?limit=100");
    assert!(20 <= evidence.as_array().unwrap().len());
    let mut controls = demo.of(model, "/controls");
    let controls = controls.as_array_mut().unwrap();
    controls.retain(|it| it["attestation"]["by"] == "Priya Raman");
    assert!(5 <= controls.len(), "attestations");
    let n_accepted: usize = clients
        .iter()
        .map(|client| {
            let risks = demo.of(client, "/risks?limit=100");
            let is_accepted = |it: &&Value| !it["acceptance"].is_null();
            risks.as_array().unwrap().iter().filter(is_accepted).count()
        })
        .sum();
    assert!(5 <= n_accepted, "{n_accepted} accepted risks");
}

fn every_event_was_raised(demo: &Demo<'_>) {
    let events = demo.events();
    let kinds: BTreeSet<&str> = events.iter().map(|it| text(&it["type"])).collect();
    let all: BTreeSet<&str> = EventKind::ALL.map(EventKind::as_str).into();
    assert_eq!(kinds, all);
    let hours: BTreeSet<&str> = events.iter().map(|it| &text(&it["created"])[11..13]).collect();
    assert!(12 < hours.len(), "{hours:?}");
    let minutes: BTreeSet<&str> = events.iter().map(|it| &text(&it["created"])[14..16]).collect();
    assert!(40 < minutes.len(), "{minutes:?}");
}

fn the_msp_is_there(demo: &Demo<'_>) {
    let roles = |list: &[Value]| -> BTreeSet<String> {
        list.iter().map(|it| text(&it["role"]).to_owned()).collect()
    };
    let users = demo.list("/api/users");
    assert_eq!(roles(&users), ["admin", "analyst", "viewer"].map(str::to_owned).into());
    let scans = demo.list("/api/scan");
    let states: BTreeSet<&str> = scans.iter().map(|it| text(&it["status"])).collect();
    assert_eq!(states, ["cancelled", "completed"].into());
    let webhook = &demo.list("/api/webhooks")[0];
    let path = format!("/api/webhooks/{}/deliveries?limit=100", text(&webhook["id"]));
    let are_delivered = || {
        let all = demo.list(&path);
        !all.is_empty() && all.iter().all(|it| it["status"] == "delivered")
    };
    assert!(wait_until(WAIT, are_delivered), "{:?}", demo.list(&path));
}

fn it_starts_again(demo: Demo<'_>, folder: &Folder) {
    let clients = demo.list("/api/clients?limit=100");
    let of = |demo: &Demo<'_>| {
        let n_imports = |it: &Value| demo.of(it, "/imports?limit=100").as_array().unwrap().len();
        let counts: Vec<usize> = clients.iter().map(n_imports).collect();
        (counts, demo.list("/api/users"), demo.list("/api/alert-rules"), demo.list("/api/scan"))
    };
    let (before, key) = (of(&demo), demo.key().to_owned());
    assert!(demo.server.stop().success());
    let demo = Demo::start(folder);
    assert_eq!(of(&demo), before);
    assert_eq!(demo.list("/api/clients?limit=100").len(), 40);
    assert_ne!(demo.key(), key);
    assert_eq!(demo.server.get(&key, "/clients").status, 401);
    let webhooks = demo.list("/api/webhooks");
    assert_eq!((webhooks.len(), &webhooks[0]["enabled"]), (1, &json!(true)));
    let path = format!("/api/webhooks/{}/test", text(&webhooks[0]["id"]));
    let kind = [("Content-Type", "application/json")];
    let tested = send_socket(&folder.socket(), "POST", &path, &kind, b"{}").json();
    assert_eq!(tested["data"]["status"], 204, "the receiver knows the new secret: {tested}");
}
