//! The commands that show results, with a server and without, by the client's name and by its id.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{NOBODY, now_s, on_terminal, refusal, some_checks};
use crate::harness::http::send_socket;
use crate::harness::process::{Folder, Server};

const NAME: &str = "Acme Ltd";

/// A command with `CLIENT` and `RISK` in the place of what they name, and the path that answers the same.
const READS: [(&str, &str); 20] = [
    ("risk list CLIENT", "/api/clients/CLIENT/risks?accepted=false&limit=100"),
    ("risk list CLIENT --all", "/api/clients/CLIENT/risks?limit=100"),
    (
        "risk list CLIENT --all --severity high --severity low",
        "/api/clients/CLIENT/risks?severity=low&severity=high&limit=100",
    ),
    ("risk show CLIENT RISK", "/api/clients/CLIENT/risks/RISK"),
    ("control list CLIENT", "/api/clients/CLIENT/controls"),
    (
        "control list CLIENT --status partial,non_compliant",
        "/api/clients/CLIENT/controls?status=partial&status=non_compliant",
    ),
    ("control show CLIENT end-04", "/api/clients/CLIENT/controls/END-04"),
    ("control subjects CLIENT end-04", "/api/clients/CLIENT/controls/END-04/subjects"),
    ("requirement list CLIENT soc2", "/api/clients/CLIENT/compliance/SOC2"),
    (
        "requirement list CLIENT soc2 --status partial",
        "/api/clients/CLIENT/compliance/SOC2?status=partial",
    ),
    (
        "requirement list CLIENT NIST_CSF --details",
        "/api/clients/CLIENT/compliance/NIST_CSF?level=detail",
    ),
    ("requirement show CLIENT soc2 CC6.7", "/api/clients/CLIENT/compliance/SOC2/CC6.7"),
    ("observation list CLIENT", "/api/clients/CLIENT/observations?limit=1000"),
    (
        "observation list CLIENT --failing --control END-04",
        "/api/clients/CLIENT/observations?failing=true&control=END-04",
    ),
    ("evidence list CLIENT", "/api/clients/CLIENT/evidence"),
    ("task list --client CLIENT --all", "/api/tasks?clientId=CLIENT"),
    ("alert list --client CLIENT", "/api/alerts?clientId=CLIENT"),
    ("condition list --client CLIENT", "/api/conditions?clientId=CLIENT&limit=1000"),
    ("event list --client CLIENT --limit 2", "/api/events?clientId=CLIENT&newest=true&limit=2"),
    ("change list --client CLIENT", "/api/changes?clientId=CLIENT&newest=true&limit=50"),
];

/// Adds a client that has a little of everything; the ids of the client and of its worst risk.
fn prepare(folder: &Folder) -> (String, String) {
    let args = ["client", "add", "--name", NAME, "--industry", "Healthcare", "--employees", "40"];
    let client = folder.ok(&args).trim_end().to_owned();
    folder.write("some.json", &some_checks(now_s()));
    let facts = json!({
        "source": "rmm",
        "observations": [
            {"control": "END-04", "passed": 38, "failed": 2, "findings": "pc-7, pc-9"},
            {"control": "ID-20", "status": "non_compliant"},
        ],
    });
    folder.write("facts.json", facts.to_string().as_bytes());
    folder.ok(&["alert", "rule", "add", "--name", "Low", "--score-below", "99"]);
    folder.ok(&["import", "--client", NAME, "some.json"]);
    folder.ok(&["import", "--client", NAME, "--format", "facts", "facts.json"]);
    folder.ok(&["task", "add", NAME, "--title", "Encrypt pc-7", "--control", "END-04"]);
    let add = ["--title", "Plan", "--location", "Shelf 3", "--by", "Ada"];
    folder.ok(&[&["evidence", "add", NAME, "GOV-14"], &add[..]].concat());
    let risks = folder.json(&["risk", "list", NAME]);
    let risk = risks["data"][0]["id"].as_str().unwrap().to_owned();
    (client, risk)
}

/// A folder that is prepared, and its server.
fn served() -> (Folder, Server) {
    let folder = Folder::new();
    let server = folder.serve();
    prepare(&folder);
    (folder, server)
}

/// The words of a line. The name of the client has a space, so it replaces a whole word.
fn words<'a>(line: &'a str, client: &'a str, risk: &'a str) -> Vec<&'a str> {
    let word = |it: &'a str| match it {
        "CLIENT" => client,
        "RISK" => risk,
        it => it,
    };
    line.split(' ').map(word).collect()
}

#[test]
fn a_result_is_the_answer_of_the_api_however_it_is_asked() {
    let folder = Folder::new();
    let server = folder.serve();
    let (client, risk) = prepare(&folder);
    let lines = READS.iter().map(|it| it.0).chain(["show CLIENT", "portfolio"]);
    let said = lines.map(|line| {
        let by_name = folder.ok(&words(line, NAME, &risk));
        assert_eq!(folder.ok(&words(line, &client, &risk)), by_name, "{line}");
        assert!(!by_name.trim().is_empty(), "{line}");
        (line, folder.json(&words(line, "aCME lTD", &risk)))
    });
    let said: Vec<(&str, Value)> = said.collect();
    let asked = |path: &str| folder.ask(path)["data"].take();
    for ((line, path), (_, json)) in READS.iter().zip(&said) {
        let path = path.replace("CLIENT", &client).replace("RISK", &risk);
        assert_eq!(json["data"], asked(&path), "{line}");
        let data = &json["data"];
        let list = if data.is_array() { data } else { &data["requirements"] };
        let is_list = line.split(' ').nth(1) == Some("list");
        let has_rows = list.as_array().is_some_and(|it| !it.is_empty());
        assert!(has_rows || !is_list, "{line}: no rows prove nothing");
    }
    let [.., (_, show), (_, portfolio)] = &said[..] else { panic!("{said:?}") };
    assert_eq!(portfolio["data"], asked("/api/portfolio/scores"));
    let of_client = format!("/api/clients/{client}");
    for (member, path) in [
        ("client", of_client.clone()),
        ("posture", format!("{of_client}/posture")),
        ("tasks", "/api/tasks".to_owned()),
        ("risks", format!("{of_client}/risks?accepted=false&limit=5")),
    ] {
        assert_eq!(show["data"][member], asked(&path), "{member}");
    }
    assert!(server.stop().success());
    let mut commands = BTreeSet::new();
    for (line, json) in &said {
        // What follows the command is sent in the same request.
        if commands.insert(line.split(' ').take(2).collect::<Vec<_>>()) {
            assert_eq!(folder.json(&words(line, NAME, &risk)), *json, "{line}");
        }
    }
}

#[test]
fn a_requirement_names_what_keeps_it_from_being_compliant_and_which_subjects_fail() {
    let (folder, _server) = served();
    let out = folder.ok(&["requirement", "show", NAME, "SOC2", "CC6.7"]);
    for says in ["what keeps it from being compliant:", "END-04", "pc-7, pc-9", "2 of 40 failed"] {
        assert!(out.contains(says), "{says}: {out}");
    }
    let out = folder.ok(&["control", "show", NAME, "END-04"]);
    assert!(out.contains("partly met") && out.contains("pc-7, pc-9"), "{out}");
    let out = folder.ok(&["show", NAME]);
    for says in
        [NAME, "provisional, coverage ", "HIPAA", "open risks: ", "1 open task; 1 open alert"]
    {
        assert!(out.contains(says), "{says}: {out}");
    }
    assert!(out.contains("does the client use: "), "{out}");
    let out = folder.ok(&["portfolio"]);
    assert!(out.contains(NAME) && out.contains('*'), "{out}");
    let attention = folder.json(&["portfolio"])["data"][0]["attention"].clone();
    let reasons = attention.as_array().unwrap().iter().map(|it| it.as_str().unwrap());
    let reasons: Vec<&str> = reasons.collect();
    assert!(reasons.iter().any(|it| it.starts_with("score ")), "{reasons:?}");
    assert!(out.contains(&reasons.join(", ")), "{out}");
}

#[test]
fn a_row_fits_the_terminal_and_is_one_line_in_a_pipe() {
    let (folder, _server) = served();
    let in_pipe = folder.ok(&["observation", "list", NAME]);
    assert_eq!(in_pipe.lines().count(), 6, "a heading and a line for each: {in_pipe}");
    let widest = |text: &str| text.lines().map(|it| it.chars().count()).max().unwrap();
    let whole = widest(&in_pipe);
    for (n_columns, is_wrapped) in [(whole, false), (whole - 1, true)] {
        let n_shown = u32::try_from(n_columns).unwrap();
        let done = on_terminal(&folder, n_shown, &["observation", "list", NAME]);
        assert_eq!(done.code, 0, "{}", done.out);
        assert!(widest(&done.out) <= n_columns, "{}", done.out);
        assert_eq!(done.out != in_pipe, is_wrapped, "{n_columns}: {}", done.out);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&done.out), words(&in_pipe));
    }
}

#[test]
fn the_portfolio_is_in_the_order_that_was_asked_for() {
    let (folder, _server) = served();
    folder.client("Birch");
    folder.client("aaron");
    let order = |sort: &[&str]| -> Vec<String> {
        let out = folder.json(&[&["portfolio"], sort].concat());
        let names = out["data"].as_array().unwrap().iter();
        names.map(|it| it["clientName"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(order(&[]), [NAME, "aaron", "Birch"], "those without a score come last");
    assert_eq!(order(&["--sort", "name"]), ["aaron", NAME, "Birch"]);
    assert_eq!(order(&["--sort", "coverage"]), ["aaron", "Birch", NAME]);
    assert_eq!(order(&["--sort", "risks"]), [NAME, "aaron", "Birch"]);
}

#[test]
fn what_is_empty_is_said_in_words() {
    let folder = Folder::new();
    let _server = folder.serve();
    let check = |line: &str, says: &str| {
        assert_eq!(folder.ok(&words(line, NAME, "")), format!("{says}\n"), "{line}");
    };
    check("portfolio", "no clients; `posture client add` adds one");
    check("key list", "no keys");
    check("webhook list", "no webhooks");
    folder.client(NAME);
    for (line, says) in [
        ("risk list CLIENT", "no open risks; --all includes accepted ones"),
        ("risk list CLIENT --all", "no open or accepted risks"),
        (
            "risk list CLIENT --severity low",
            "no open risks with this severity; --all includes accepted ones",
        ),
        ("risk list CLIENT --all --severity low", "no open or accepted risks with this severity"),
        ("control list CLIENT --status compliant", "no controls like that"),
        ("requirement list CLIENT SOC2 --status partial", "no requirements with this status"),
        ("observation list CLIENT", "no observations"),
        ("observation list CLIENT --failing", "no failing observations"),
        ("evidence list CLIENT", "no evidence"),
        ("task list", "no open tasks; --all includes the others"),
        ("task list --status open", "no tasks with this status"),
        ("task list --client CLIENT --all", "no tasks"),
        ("alert list", "no open alerts"),
        ("alert list --all", "no alerts in the last seven days"),
        ("condition list", "no open conditions"),
        ("event list", "no events"),
        ("change list", "no changes in the last 90 days"),
        ("import list --client CLIENT", "no imports"),
    ] {
        check(line, says);
    }
    assert!(folder.ok(&["show", NAME]).contains("score       none yet"));
}

#[test]
fn what_cannot_be_shown_is_refused_in_a_line() {
    let (folder, server) = served();
    let misspell = |line: &str| {
        let done = folder.run(&words(line, "Acme Lt", NOBODY));
        let said = refusal(&done);
        assert_eq!(said, "no client is named `Acme Lt`; did you mean `Acme Ltd`?", "{line}");
    };
    let name_nobody = || {
        for (line, says) in [
            ("show CLIENT", "client not found"),
            ("risk list CLIENT", "client not found"),
            ("export --client CLIENT", "client not found"),
        ] {
            assert_eq!(refusal(&folder.run(&words(line, NOBODY, ""))), says, "{line}");
        }
    };
    for (line, _) in READS {
        misspell(line);
    }
    name_nobody();
    for (line, says) in [
        (
            "risk show CLIENT nonsense",
            "`nonsense` is not a risk id; `posture risk list` shows the ids",
        ),
        (
            "risk list CLIENT --severity worst",
            "severity: must be one of critical, high, medium, low",
        ),
        ("control show CLIENT XX-99", "control not found"),
        ("control list CLIENT --status bad", "status: must be one of "),
        ("requirement show CLIENT SOC2 CC99", "not found"),
        ("requirement list CLIENT SOC3", "SOC2"),
        ("requirement list CLIENT SOC2 --details", "level: SOC2 has no detail rows"),
        ("event list --type nothing", "type: must be one of "),
        ("event list --limit 0", "limit: must be an integer from 1 to 1000"),
        ("task list --status late", "status: must be one of "),
    ] {
        let done = folder.run(&words(line, NAME, ""));
        assert!(refusal(&done).contains(says), "{line}: {}", done.err);
    }
    for line in [
        "show",
        "risk",
        "risk list",
        "risk show CLIENT",
        "control show CLIENT",
        "requirement list CLIENT",
        "portfolio --sort size",
        "alert",
        "event list --limit many",
        "export all",
        "task",
    ] {
        let done = folder.run(&words(line, NAME, ""));
        assert_eq!((done.code, &*done.out), (2, ""), "{line}");
    }
    assert!(server.stop().success());
    misspell(READS[0].0);
    name_nobody();
    assert!(refusal(&folder.run(&["event", "list", "--follow"])).contains("no server is running"));
}

/// As many tasks as do not fit on a page, from several threads, so that commits are shared.
fn add_tasks(folder: &Folder, client: &str, n_tasks: usize) {
    const N_THREADS: usize = 8;
    let headers = [("Content-Type", "application/json")];
    std::thread::scope(|scope| {
        for first in 0..N_THREADS {
            scope.spawn(move || {
                for index in (first..n_tasks).step_by(N_THREADS) {
                    let body = json!({ "clientId": client, "title": format!("task {index}") });
                    let body = body.to_string();
                    let socket = folder.socket();
                    let answer =
                        send_socket(&socket, "POST", "/api/tasks", &headers, body.as_bytes());
                    assert_eq!(answer.status, 201, "{}", answer.text());
                }
            });
        }
    });
}

#[test]
fn a_list_is_read_beyond_its_first_page() {
    let folder = Folder::new();
    let _server = folder.serve();
    let client = folder.client(NAME);
    add_tasks(&folder, &client, 1_010);
    assert_eq!(folder.ok(&["task", "list"]).lines().count(), 1_011, "a heading and all");
    let sequences = |args: &[&str]| -> Vec<u64> {
        let data = folder.json(&[&["event", "list"], args].concat())["data"].clone();
        let sequence = |it: &Value| it["data"]["object"]["sequence"].as_u64().unwrap();
        data.as_array().unwrap().iter().map(sequence).collect()
    };
    assert_eq!(sequences(&["--limit", "3"]), [1_008, 1_009, 1_010], "the last, in their order");
    assert_eq!(sequences(&["--type", "security_score_changed"]), [0; 0]);
    let created = ["--type", "remediation_task_created", "--limit", "1000"];
    assert_eq!(sequences(&created), (11..=1_010).collect::<Vec<_>>());
    let both = ["--type", "mfa_disabled", "--type", "remediation_task_created", "--limit", "2"];
    assert_eq!(sequences(&both), [1_009, 1_010]);
    let shown = |line: &str| folder.ok(&words(line, NAME, ""));
    let out = shown("event list --limit 3");
    assert!(out.ends_with("\nthese are the last 3; --limit shows more\n"), "{out}");
    assert_eq!(out.lines().count(), 5, "{out}");
    let out = shown("event list --limit 1000");
    let says = "\nat most 1000 are listed; narrow the list with --client or --type\n";
    assert!(out.ends_with(says), "{out}");
    assert_eq!(out.lines().count(), 1_002);
}

#[test]
fn a_list_that_is_whole_says_nothing_of_more() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client(NAME);
    let add = || folder.ok(&["task", "add", NAME, "--title", "Encrypt pc-7"]);
    add();
    add();
    let n_lines = || folder.ok(&["event", "list", "--limit", "2"]).lines().count();
    assert_eq!(n_lines(), 3, "a heading and two events");
    add();
    assert_eq!(n_lines(), 4, "and a line that says that there are more");
}

#[test]
fn a_filter_leaves_only_what_was_asked_for() {
    let (folder, _server) = served();
    let all = |line: &str, list: &str, field: &str| -> Vec<String> {
        let data = folder.json(&words(line, NAME, ""))["data"].clone();
        let rows = if list.is_empty() { data } else { data[list].clone() };
        let rows = rows.as_array().unwrap().iter();
        rows.map(|it| it[field].as_str().unwrap().to_owned()).collect()
    };
    for (line, wanted, list, field) in [
        ("risk list CLIENT", "--severity high", "", "severity"),
        ("control list CLIENT", "--status partial --status compliant", "", "status"),
        ("requirement list CLIENT SOC2", "--status partial", "requirements", "overallStatus"),
    ] {
        let whole = all(line, list, field);
        let kept = all(&format!("{line} {wanted}"), list, field);
        let is_wanted = |it: &&String| wanted.split(' ').any(|word| word == it.as_str());
        let expected: Vec<&String> = whole.iter().filter(is_wanted).collect();
        assert!(!kept.is_empty() && kept.len() < whole.len(), "{line}: {whole:?}");
        assert_eq!(kept.iter().collect::<Vec<_>>(), expected, "{line}");
    }
}
