//! Tools that see many clients, through the front door: the map, what each fault leaves, and mappings of the MSP's own.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use posture::connect::mapping::EXAMPLE;
use serde_json::{Value, json};

use super::tool::{SECRET, Tool, fast, joined, ninja, now_s, own};
use crate::connect::tenant::assets;
use crate::connect::vendor::told;
use crate::harness::Answer;
use crate::harness::http::send_socket;
use crate::harness::process::{Folder, Server, wait_until};

const WAIT: Duration = Duration::from_mins(1);

fn shown(folder: &Folder, id: &str) -> Value {
    folder.ask(&format!("/api/connections/{id}"))["data"].clone()
}

fn ran(folder: &Folder, id: &str) -> Value {
    let mut last = Value::Null;
    let came = wait_until(WAIT, || {
        last = shown(folder, id);
        !last["lastRunAt"].is_null()
    });
    assert!(came, "{last}");
    last
}

/// Controls that are assessed, as `END-02 compliant, ...`.
fn controls(folder: &Folder, client: &str) -> String {
    let posture = folder.ask(&format!("/api/clients/{client}/posture"));
    let all = posture["data"]["controls"].as_array().unwrap().iter();
    let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
    let said = all.map(|it| format!("{} {}", text(it, "controlCode"), text(it, "status")));
    said.filter(|it| !it.ends_with("not_assessed")).collect::<Vec<_>>().join(", ")
}

fn stream(shown: &Value, name: &str) -> (String, String) {
    let parts = shown["parts"].as_array().unwrap().iter();
    let mut all = parts.flat_map(|it| it["streams"].as_array().unwrap());
    let found = all.find(|it| it["name"] == name).unwrap_or_else(|| panic!("{shown}"));
    let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    (text("state"), text("reason"))
}

fn n_events(folder: &Folder, kind: &str) -> usize {
    let events = folder.ask(&format!("/api/events?type={kind}&limit=100"));
    events["data"].as_array().unwrap().len()
}

/// What `posture connect map` says of each organization.
fn mapped(folder: &Folder, id: &str) -> Vec<(String, Value, bool, u64)> {
    let all = folder.json(&["connect", "map", id])["data"].as_array().unwrap().clone();
    let row = |it: Value| {
        let (id, n) = (it["externalId"].as_str().unwrap(), it["devices"].as_u64().unwrap());
        (id.to_owned(), it["clientId"].clone(), it["ignored"] == true, n)
    };
    all.into_iter().map(row).collect()
}

#[test]
fn a_tool_brings_each_client_what_its_organization_has() {
    let tool = ninja();
    let mut devices = tool.rows("/v2/devices-detailed");
    devices[4]["lastContact"] = json!(now_s() - 40 * 86_400); // Of organization 9.
    tool.set("/v2/devices-detailed", devices.into());
    let folder = tool.folder();
    let server = folder.serve();
    let [acme, gamma] = ["Acme", "Gamma"].map(|it| folder.client(it));
    let refused = folder.run(&["connect", "add", "ninjaone", "--set", "region=mars"]);
    assert!(refused.err.contains("settings.region: must be one of us, us2, eu"), "{}", refused.err);
    let refused = folder.run(&["connect", "add", "ninjaone", "--client", "Acme"]);
    assert!(refused.err.contains("this kind sees many clients"), "{}", refused.err);
    let args =
        ["connect", "add", "--no-wait", "ninjaone", "--set", "region=eu", "--set", "client_id=abc"];
    let refused = folder.run(&args);
    assert!(refused.err.contains("settings.client_secret: is required: Client secret."));
    let id = folder.ok(&[&args[..], &["--set-file", "client_secret=secret"]].concat());
    let id = id.trim_end();
    let now = ran(&folder, id);
    assert_eq!((&now["health"], &now["source"]), (&json!("healthy"), &json!("ninjaone")), "{now}");
    let open = |id: &str| (id.to_owned(), Value::Null, false, 2);
    assert_eq!(mapped(&folder, id), ["7", "8", "9"].map(open), "they are seen and not guessed");
    assert_eq!((controls(&folder, &acme), assets(&folder, &acme)), (String::new(), (0, 0)));

    folder.ok(&["connect", "map", id, "8", "--ignore"]);
    folder.ok(&["connect", "map", id, "--by-name"]);
    folder.ok(&["connect", "sync", id]);
    let is = |id: &str, client: &str| (id.to_owned(), json!(client), false, 2);
    let expected = [is("7", &acme), ("8".to_owned(), Value::Null, true, 2), is("9", &gamma)];
    assert_eq!(mapped(&folder, id), expected);
    let well = "DAT-01 compliant, END-02 compliant, END-04 compliant, END-05 compliant, END-06 compliant, END-07 compliant, \
                END-08 compliant, END-09 compliant, END-10 compliant, ID-21 partial";
    let in_order = |client: &str| {
        let said = controls(&folder, client);
        let mut all: Vec<String> = said.split(", ").map(str::to_owned).collect();
        all.sort();
        all.join(", ")
    };
    assert_eq!((in_order(&acme), assets(&folder, &acme)), (well.to_owned(), (2, 0)));
    let silent = well.replace("END-02 compliant", "END-02 partial");
    assert_eq!((in_order(&gamma), assets(&folder, &gamma)), (silent, (2, 0)));
    let tested = folder.ok(&["connect", "test", id]);
    assert!(tested.contains("Gamma") && tested.contains("END-02"), "{tested}");

    folder.ok(&["connect", "map", id, "9", "--clear"]);
    assert!(wait_until(WAIT, || controls(&folder, &gamma).is_empty()), "it is retracted");
    assert_eq!(assets(&folder, &gamma).1, 2);
    assert_eq!(in_order(&acme), well);
    folder.ok(&["connect", "remove", id]);
    assert!(wait_until(WAIT, || controls(&folder, &acme).is_empty()), "it is retracted");
    let asked = tool.asked();
    assert!(!asked.iter().any(|it| it.contains(SECRET)));
    assert!(server.stop().success());
    let bytes = std::fs::read(folder.path().join("data/posture.redb")).unwrap();
    assert!(!bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes()));
}

/// A connection to the MSP's own tool, whose two sites are clients, after a run that read everything.
fn connected(tool: &Tool, mapping: &str) -> (Folder, Server, [String; 2], String) {
    let folder = tool.folder();
    folder.write("own.toml", fast(mapping).as_bytes());
    let server = folder.serve();
    let clients = ["Acme", "Beta"].map(|it| folder.client(it));
    folder.ok(&["connect", "mapping", "add", "own.toml"]);
    let args =
        ["connect", "add", "--no-wait", "example_rmm", "--set", "origin=https://rmm.example"];
    let id = folder.ok(&[&args[..], &["--set-file", "key=secret"]].concat()).trim_end().to_owned();
    ran(&folder, &id);
    folder.ok(&["connect", "map", &id, "--by-name"]);
    folder.ok(&["connect", "sync", &id]);
    (folder, server, clients, id)
}

#[test]
fn what_breaks_changes_no_control_and_no_asset() {
    let tool = own();
    let (folder, _server, [acme, beta], id) = connected(&tool, EXAMPLE);
    let before = controls(&folder, &acme);
    assert_eq!(before, "END-02 compliant, END-04 compliant");
    assert_eq!(assets(&folder, &acme), (10, 0));
    let state = |code: u16, body: &'static str| {
        move |_: &_, _: usize| Some(told(code, &[("Retry-After", "1")], body))
    };
    for (path, name, code, body, words) in [
        ("/api/agents", "agents", 403, "{}", "grant the key the right to list agents"),
        ("/api/agents", "agents", 200, r#"{"total": 9, "data": []}"#, "9 rows and sent 0"),
        ("/api/agents", "agents", 200, r#"{"total": 1, "data": [7]}"#, "could not be read"),
        ("/api/sites", "sites", 403, "{}", "grant the key the right to list sites"),
    ] {
        tool.mend();
        tool.fail(path, state(code, body));
        let synced = folder.run(&["connect", "sync", &id]);
        assert_eq!(synced.code, 1, "{words}");
        let now = shown(&folder, &id);
        assert_eq!(now["health"], "degraded", "{words}");
        let (found, reason) = stream(&now, name);
        assert_ne!(found, "complete", "{words}");
        assert!(reason.contains(words), "{words}: {reason}");
        assert_eq!(
            (controls(&folder, &acme), assets(&folder, &acme)),
            (before.clone(), (10, 0)),
            "{words}"
        );
        let is = |id: &str, client: &str| (id.to_owned(), json!(client), false, 10);
        assert_eq!(mapped(&folder, &id), [is("1", &acme), is("2", &beta)], "{words}");
    }
    assert_eq!(n_events(&folder, "connector_health_changed"), 2, "of each client, once");
    tool.mend();
    tool.fail("/api/agents", |_, n| (n == 1).then(|| told(429, &[("Retry-After", "1")], "")));
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(n_events(&folder, "connector_health_changed"), 4);
    assert_eq!(shown(&folder, &id)["health"], "healthy");
    // The key is refused.
    tool.fail("/api/sites", |_, _| Some(told(401, &[], r#"{"detail":"Invalid token."}"#)));
    folder.run(&["connect", "sync", &id]);
    let now = shown(&folder, &id);
    assert_eq!(now["health"], "failing");
    assert!(stream(&now, "sign_in").1.contains("check API key and the origin"), "{now}");
    assert_eq!((controls(&folder, &acme), assets(&folder, &acme)), (before, (10, 0)));
    assert_eq!(n_events(&folder, "asset_discovered"), 0);
}

#[test]
fn a_list_that_shrinks_is_believed_when_a_second_run_agrees() {
    let tool = own();
    let agent = |it: &mut Value| it["disk_encrypted"] = json!(false);
    let mut all = tool.rows("/api/agents");
    all.iter_mut().take(3).for_each(agent); // Of site 1.
    tool.set("/api/agents", all.clone().into());
    let (folder, _server, [acme, beta], id) = connected(&tool, EXAMPLE);
    let before = "END-02 compliant, END-04 partial";
    assert_eq!((&*controls(&folder, &acme), assets(&folder, &acme)), (before, (10, 0)));
    // The key sees less: those that fail are hidden.
    tool.set("/api/agents", all[8..].to_vec().into());
    assert_eq!(folder.run(&["connect", "sync", &id]).code, 1);
    let now = shown(&folder, &id);
    let reason = "Acme has 2 devices and had 10; nothing of it counts until a second run agrees";
    assert_eq!(stream(&now, "device counts"), ("partial".to_owned(), reason.to_owned()));
    assert_eq!((&*controls(&folder, &acme), assets(&folder, &acme)), (before, (10, 0)));
    assert_eq!(&*controls(&folder, &beta), "END-02 compliant, END-04 compliant");
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(&*controls(&folder, &acme), "END-02 compliant, END-04 compliant");
    assert_eq!(assets(&folder, &acme), (10, 8));
    // The list of sites lacks one, once.
    let sites = tool.rows("/api/sites");
    tool.set("/api/sites", sites[1..].to_vec().into());
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(&*controls(&folder, &acme), "END-02 compliant, END-04 compliant");
    assert_eq!(mapped(&folder, &id).len(), 2);
    folder.ok(&["connect", "sync", &id]);
    assert!(controls(&folder, &acme).is_empty(), "{}", controls(&folder, &acme));
    assert_eq!(mapped(&folder, &id).len(), 1);
    assert_eq!(&*controls(&folder, &beta), "END-02 compliant, END-04 compliant");
}

#[test]
fn what_is_changed_during_a_run_is_read_by_one_more() {
    let tool = own();
    let (folder, _server, [_, beta], id) = connected(&tool, EXAMPLE);
    wait_until_idle(&folder, &id);
    let n_read = || tool.asked().iter().filter(|it| it.starts_with("/api/agents")).count();
    let n_before = n_read();
    let (go, begins) = hold_first_run(&tool);
    std::thread::scope(|scope| {
        let synced = scope.spawn(|| folder.run(&["connect", "sync", &id]));
        begins.recv().unwrap();
        folder.ok(&["connect", "map", &id, "2", "--ignore"]);
        go.send(()).unwrap();
        synced.join().unwrap();
        assert!(
            wait_until(WAIT, || n_before + 2 == n_read()),
            "the map changed after the run had begun"
        );
    });
    assert!(wait_until(WAIT, || controls(&folder, &beta).is_empty()), "it is retracted");
}

fn wait_until_idle(folder: &Folder, id: &str) {
    let is_idle = || {
        let next = shown(folder, id)["nextRunAt"].as_str().unwrap().to_owned();
        jiff::Timestamp::now() < next.parse().unwrap()
    };
    assert!(wait_until(WAIT, is_idle));
}

/// The next run waits for what is sent to the first end, once the second said that it has begun; the run after it is slow.
fn hold_first_run(tool: &Tool) -> (mpsc::Sender<()>, mpsc::Receiver<()>) {
    let (go, wait) = mpsc::channel();
    let (began, begins) = mpsc::channel();
    let channels = Mutex::new((wait, began));
    tool.fail("/api/agents", move |_, n| {
        if n == 1 {
            let (wait, began) = &*channels.lock().unwrap();
            began.send(()).unwrap();
            wait.recv().unwrap();
        } else {
            std::thread::sleep(Duration::from_millis(500));
        }
        None
    });
    (go, begins)
}

#[test]
fn sync_waits_for_a_run_that_began_after_it_was_asked_for() {
    let tool = own();
    let (folder, _server, _, id) = connected(&tool, EXAMPLE);
    wait_until_idle(&folder, &id);
    let n_read = || tool.asked().iter().filter(|it| it.starts_with("/api/agents")).count();
    let n_before = n_read();
    let (go, begins) = hold_first_run(&tool);
    let sync = || folder.run(&["connect", "sync", &id]);
    std::thread::scope(|scope| {
        scope.spawn(sync);
        begins.recv().unwrap();
        let first = shown(&folder, &id)["nextRunAt"].clone();
        let second = scope.spawn(sync);
        assert!(wait_until(WAIT, || shown(&folder, &id)["nextRunAt"] != first));
        go.send(()).unwrap();
        second.join().unwrap();
        assert_eq!(n_before + 2, n_read(), "the first run had begun before");
    });
}

/// `example_rmm`, whose devices say only the name of their organization.
fn by_name() -> String {
    EXAMPLE
        .replace("org = \"/site\"\n", "org = \"/site_name\"\norg_is_name = true\n")
        .replace("\"site\": 1", "\"site_name\": \"Acme Ltd\"")
}

#[test]
fn organizations_of_one_name_say_nothing_until_their_names_differ() {
    let tool = own();
    let named = |second: &str| {
        let mut agents = tool.rows("/api/agents");
        for it in &mut agents {
            it["site_name"] = json!(if it["site"] == 1 { "Acme" } else { second });
        }
        tool.set("/api/agents", agents.into());
        tool.set("/api/sites", json!([{"id": 1, "name": "Acme"}, {"id": 2, "name": second}]));
    };
    named("Beta");
    let (folder, _server, clients, id) = connected(&tool, &by_name());
    let seen = || clients.each_ref().map(|it| (controls(&folder, it), assets(&folder, it)));
    let before = seen();
    assert_eq!(before[1], ("END-02 compliant, END-04 compliant".to_owned(), (10, 0)));
    named("Acme");
    for _ in 0..3 {
        assert_eq!(folder.run(&["connect", "sync", &id]).code, 1);
        let now = shown(&folder, &id);
        let (state, reason) = stream(&now, "organization names");
        assert!(state == "partial" && reason.contains("is named \"Acme\", and devices"), "{now}");
        assert_eq!(seen(), before);
    }
    named("Beta");
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(seen(), before);
}

#[test]
fn a_mapping_that_is_replaced_leaves_nothing_of_the_one_before() {
    let tool = own();
    let disks =
        tool.rows("/api/agents").into_iter().map(|it| json!({"agent": it["id"], "on": false}));
    tool.set("/api/disks", disks.collect());
    let (folder, _server, [acme, _], id) = connected(&tool, &joined(""));
    assert_eq!(controls(&folder, &acme), "END-02 compliant, END-04 non_compliant");
    let before = shown(&folder, &id)["lastRunAt"].clone();
    folder.write("own.toml", fast(EXAMPLE).as_bytes());
    folder.ok(&["connect", "mapping", "add", "own.toml"]);
    let ran = || shown(&folder, &id)["lastRunAt"] != before;
    assert!(wait_until(WAIT, ran), "its connections run at once");
    assert_eq!(controls(&folder, &acme), "END-02 compliant, END-04 compliant");
}

const PROBLEM: &str = "example \"a server and a desktop that is not encrypted\": verdicts: END-04: expected \"compliant\", not \
                       \"non_compliant\"";

/// An example that does not hold.
fn wrong() -> String {
    EXAMPLE.replace("END-04 = \"non_compliant\"", "END-04 = \"compliant\"")
}

#[test]
fn a_mapping_is_checked_without_a_service() {
    let folder = own().folder();
    let example = folder.ok(&["connect", "mapping", "example"]);
    assert_eq!(example, EXAMPLE);
    assert!(folder.ok(&["connect", "mapping", "example", "tactical"]).contains("X-API-KEY"));
    let refused = folder.run(&["connect", "mapping", "example", "own"]);
    assert!(refused.err.contains("use one of ninjaone, datto, tactical, huntress"), "{refused:?}");
    let checked = folder.ok(&["connect", "check", "own.toml"]);
    assert!(checked.contains("unproven") && checked.contains("END-02, END-04"), "{checked}");
    let checked = folder.json(&["connect", "check", "own.toml"])["data"].clone();
    assert_eq!((&checked["kind"], &checked["problems"]), (&json!("example_rmm"), &json!([])));
    folder.write("wrong.toml", wrong().as_bytes());
    for args in
        [&["connect", "check", "wrong.toml"][..], &["connect", "mapping", "add", "wrong.toml"]]
    {
        let refused = folder.run(args);
        assert_eq!((refused.code, refused.err.contains("1 problem")), (1, true), "{refused:?}");
        let is_placed = refused.out.starts_with("wrong.toml:46: ");
        assert!(is_placed && refused.out.contains(PROBLEM), "{}", refused.out);
    }
    let refused = folder.run(&["connect", "check", "wrong.toml", "--json"]);
    let told: Value = serde_json::from_str(&refused.out).unwrap();
    assert!(told["data"]["problems"][0].as_str().unwrap().contains(PROBLEM), "{told}");
}

fn put(folder: &Folder, kind: &str, toml: &str) -> Answer {
    let (path, body) = (format!("/api/connection-mappings/{kind}"), json!({ "toml": toml }));
    let json = [("Content-Type", "application/json")];
    send_socket(&folder.socket(), "PUT", &path, &json, body.to_string().as_bytes())
}

fn named(kind: &str) -> String {
    EXAMPLE.replace("example_rmm", kind)
}

#[test]
fn what_is_wrong_with_a_mapping_is_said_and_their_number_is_limited() {
    let folder = own().folder();
    let _server = folder.serve();
    folder.ok(&["connect", "mapping", "add", "own.toml"]);
    let listed = folder.ok(&["connect", "mapping", "list"]);
    assert!(listed.contains("example_rmm") && listed.contains("unproven"), "{listed}");
    let kinds = folder.ok(&["connect", "kinds"]);
    for it in ["Example RMM (unproven)", "NinjaOne (unproven)", "Tactical RMM ", "origin"] {
        assert!(kinds.contains(it), "{it}: {kinds}");
    }
    for (kind, toml, status, words) in [
        ("example_rmm", EXAMPLE.to_owned(), 200, "example_rmm"),
        ("other", EXAMPLE.to_owned(), 400, "declares the kind example_rmm, not other"),
        ("example_rmm", wrong(), 400, "END-04"),
        ("datto", named("datto"), 409, "is a name of this release"),
        ("dns", named("dns"), 409, "is a name of this release"),
        ("prowler", named("prowler"), 409, "is a name of this release"),
        ("example_rmm", "x".repeat(250_000), 400, "must have at most 245760 bytes"),
    ] {
        let answer = put(&folder, kind, &toml);
        assert_eq!(answer.status, status, "{kind}: {}", answer.text());
        assert!(answer.text().contains(words), "{kind}: {}", answer.text());
    }
    let done = folder.ask("/api/audit?limit=1")["data"][0].clone();
    assert_eq!(done["action"], "PUT /api/connection-mappings/{kind}", "{done}");
    for nth in 2..=32 {
        let kind = format!("own{nth}");
        assert_eq!(put(&folder, &kind, &named(&kind)).status, 201);
    }
    let answer = put(&folder, "own33", &named("own33"));
    assert!(answer.status == 409 && answer.text().contains("there are already 32 mappings"));
}

#[test]
fn credentials_of_a_mapping_stay_where_they_were_entered_for() {
    let folder = own().folder();
    let _server = folder.serve();
    folder.ok(&["connect", "mapping", "add", "own.toml"]);
    let args =
        ["connect", "add", "--no-wait", "example_rmm", "--set", "origin=https://rmm.example"];
    let id = folder.ok(&[&args[..], &["--set-file", "key=secret"]].concat()).trim_end().to_owned();
    let refused = folder.run(&["connect", "mapping", "remove", "example_rmm"]);
    assert!(refused.err.contains(&format!("is used by \"Example RMM\" ({id})")), "{}", refused.err);
    let answer = put(&folder, "example_rmm", &EXAMPLE.replace("X-API-Key", "X-Other-Key"));
    assert_eq!(answer.status, 409, "{}", answer.text());
    assert!(answer.text().contains("credentials were entered for what they were"));
    let refused = folder.run(&["connect", "set", &id, "--set", "origin=https://evil.example"]);
    assert!(refused.err.contains("settings.key: is required again"), "{}", refused.err);
    let origin = ["connect", "set", &id, "--set", "origin=https://rmm2.example"];
    folder.ok(&[&origin[..], &["--set-file", "key=secret"]].concat());
    folder.ok(&["connect", "remove", &id]);
    folder.ok(&["connect", "mapping", "remove", "example_rmm"]);
    let refused = folder.run(&["connect", "mapping", "remove", "example_rmm"]);
    assert!(refused.err.contains("connection mapping not found"), "{}", refused.err);
    let refused = folder.run(&args);
    let is_gone = !refused.err.contains("example_rmm");
    assert!(refused.err.contains("must be one of dns, ") && is_gone, "{}", refused.err);
}
