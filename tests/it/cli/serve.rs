//! The server as a process: how it starts, what it says, how it ends.

use std::process::Command;

use super::{now_s, refusal, some_checks};
use crate::harness::process::{Folder, binary, finish, signal};
use crate::harness::send;

#[test]
fn the_first_start_says_what_to_do_next_and_it_works_as_said() {
    let folder = Folder::new();
    folder.write("prowler-output.ocsf.json", &some_checks(now_s()));
    std::os::unix::fs::symlink(binary(), folder.path().join("posture")).unwrap();
    let server = folder.serve();
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let docs = server.line();
    let url = docs.strip_prefix("Guides and API reference: http://").expect("where the docs are");
    let (host, at) = url.split_once('/').unwrap();
    assert_eq!(host, server.address.to_string());
    assert_eq!(send(server.address, "GET", &format!("/{at}"), &[], b"").status / 100, 2);
    let (mut client, mut key) = (String::new(), String::new());
    loop {
        let line = server.line();
        let Some(command) = line.strip_prefix("  ") else { continue };
        let command = command.replace("KEY", &key);
        if let Some(rest) = command.strip_prefix("curl -H '") {
            let (header, url) = rest.split_once("' http://").unwrap();
            let (name, value) = header.split_once(": ").unwrap();
            let (host, path) = url.split_once('/').unwrap();
            assert_eq!(host, server.address.to_string());
            let answer = send(server.address, "GET", &format!("/{path}"), &[(name, value)], b"");
            assert_eq!(answer.status, 200, "{command}");
            assert_eq!(answer.json()["data"][0]["id"], *client);
            return;
        }
        let mut shell = Command::new("sh");
        shell.current_dir(folder.path()).env_remove("POSTURE_CONFIG").env("PATH", &path);
        let done = finish(shell.args(["-c", &command]));
        assert_eq!((done.code, &*done.err), (0, ""), "{command}");
        match done.out.split_whitespace().find(|it| it.starts_with("service_")) {
            Some(text) => text.clone_into(&mut key),
            None if client.is_empty() => done.out.trim().clone_into(&mut client),
            None if command.contains(" import ") => {
                assert!(done.out.contains("imported as"), "{command}: {}", done.out);
            }
            None => assert!(done.out.contains("provisional, coverage "), "{}", done.out),
        }
    }
}

#[test]
fn the_demonstration_is_not_mixed_into_a_database_of_real_clients() {
    let folder = Folder::new();
    let mine = folder.client("Mine");
    let done = folder.run(&["serve", "--demo"]);
    refusal(&done);
    let clients = folder.json(&["client", "list"]);
    assert_eq!(clients["data"].as_array().unwrap().len(), 1, "nothing was mixed into it");
    assert_eq!(clients["data"][0]["id"], *mine);
}

#[test]
fn a_stop_by_sigterm_is_in_order_and_keeps_keys_and_counters() {
    let folder = Folder::new();
    let server = folder.serve();
    let key = folder.key("5000");
    assert!(folder.socket().exists());
    let remaining = |answer: &crate::harness::Answer| {
        answer.header("RateLimit-Remaining").unwrap().parse::<u32>().unwrap()
    };
    for used in 1..=40 {
        assert_eq!(remaining(&server.get(&key, "/clients")), 5_000 - used);
    }
    let status = server.stop();
    assert_eq!(status.code(), Some(0));
    assert!(!folder.socket().exists(), "the socket is gone");
    let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap();
    assert!(log.contains("stopping") && log.contains("stopped"), "{log}");
    assert!(!log.contains('\u{1b}'), "a log in a file has no colours");
    let server = folder.serve();
    assert_eq!(remaining(&server.get(&key, "/clients")), 5_000 - 41);
}

#[test]
fn a_stop_lets_an_idle_connection_go_at_once() {
    let folder = Folder::new();
    let server = folder.serve();
    let _idle = std::net::TcpStream::connect(server.address).unwrap();
    assert!(server.stop().success());
    let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap();
    assert!(!log.contains("not done in time"), "it was waited for: {log}");
}

#[test]
fn a_second_server_on_the_same_data_is_refused_in_one_line() {
    let folder = Folder::new();
    let server = folder.serve();
    let done = folder.run(&["serve"]);
    assert!(refusal(&done).contains("another posture process"), "{}", done.err);
    assert!(folder.socket().exists(), "the first one's socket stays");
    assert!(folder.ok(&["status"]).contains("ready"));
    let other = Folder::new();
    let text = format!("[server]\nlisten = \"{}\"\n[data]\ndir = \"d\"\n", server.address);
    other.write("posture.toml", text.as_bytes());
    for args in [&["serve"][..], &["serve", "--demo"]] {
        let done = other.run(args);
        assert!(refusal(&done).contains("in use by another process"), "{}", done.err);
        assert!(!other.path().join("d").exists(), "nothing was done before the port was there");
    }
}

#[test]
fn a_demonstration_that_was_killed_is_completed_by_the_next_start() {
    // It was killed, and stopped, while it was made.
    let folder = Folder::demonstration();
    let server = folder.serve_with(&["--demo"]);
    let mut lines = vec![server.line()];
    while !lines.last().unwrap().contains("X-API-Key") {
        lines.push(server.line());
    }
    assert!(lines.iter().any(|it| it.contains("is revoked")), "{lines:?}");
    let (_, rest) = lines.last().unwrap().split_once("X-API-Key: ").unwrap();
    let key = rest.split_once('\'').unwrap().0;
    let clients = server.get(key, "/clients?limit=100").json();
    assert_eq!(clients["pagination"]["total"], 40);
    let mut n_whole = 0;
    for client in clients["data"].as_array().unwrap() {
        let path = format!("/clients/{}/scores?limit=100", client["id"].as_str().unwrap());
        let scores = server.get(key, &path).json();
        let days = scores["data"]["history"].as_array().unwrap().iter();
        let days: Vec<_> =
            days.map(|it| it["calculatedAt"].as_str().unwrap()[..10].to_owned()).collect();
        n_whole += usize::from(26 <= days.len());
    }
    assert_eq!(n_whole, 37, "all weeks, except of the three clients that are new");
}

#[test]
fn the_status_says_whether_a_server_runs() {
    let folder = Folder::new();
    folder.client("A");
    let done = folder.run(&["status"]);
    assert_eq!(done.code, 1, "{}", done.out);
    assert!(done.err.starts_with("posture: the server is not running"), "{}", done.err);
    let line = |out: &str, name: &str| {
        let line = out.lines().find(|it| it.split("  ").next() == Some(name));
        line.map(|it| it[name.len()..].trim().to_owned()).unwrap_or_default()
    };
    assert_eq!(line(&done.out, "server"), "not running (database opened directly)");
    assert_eq!(line(&done.out, "ready"), "false");
    assert_eq!(line(&done.out, "active clients"), "1", "the figures are shown all the same");
    let done = folder.run(&["status", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let is = |name: &str| said["data"][name].as_bool().unwrap();
    assert_eq!((done.code, is("serverRunning"), is("ready")), (1, false, false));

    let server = folder.serve();
    let out = folder.ok(&["status"]);
    assert_eq!((&*line(&out, "server"), &*line(&out, "ready")), ("running", "true"));
    let said = folder.json(&["status"]);
    assert_eq!(
        (&said["data"]["serverRunning"], &said["data"]["ready"]),
        (&true.into(), &true.into())
    );
    assert!(server.stop().success());
}

#[test]
fn the_health_is_asked_of_the_running_server_only() {
    let folder = Folder::new();
    let done = folder.run(&["health"]);
    assert_eq!((done.code, &*done.err), (1, "posture: the server is not running\n"));
    assert!(!folder.path().join("data").exists(), "no database is made");
    let server = folder.serve();
    assert_eq!(folder.ok(&["health"]), "ready\n");
    assert_eq!(folder.json(&["health"]), serde_json::json!({"data": {"status": "ready"}}));
    signal(server.id(), "-STOP");
    let done = folder.run(&["health"]);
    signal(server.id(), "-CONT");
    assert_eq!(
        (done.code, &*done.err),
        (1, "posture: the server did not answer within 5 seconds\n")
    );
}

#[test]
fn other_hosts_read_the_metrics_with_a_token() {
    let folder = Folder::new();
    let config = |more: &str| {
        let text = format!("[server]\nlisten = \"127.0.0.1:0\"\n{more}[data]\ndir = \"data\"\n");
        folder.write("posture.toml", text.as_bytes());
    };
    let token = "f".repeat(32);
    // What comes through a proxy comes from another host.
    let ask = |server: &crate::harness::process::Server, authorization: &str| {
        let headers = [("X-Forwarded-For", "192.0.2.1"), ("Authorization", authorization)];
        let answer = crate::harness::send(server.address, "GET", "/metrics", &headers, b"");
        (answer.status, answer.text())
    };
    let server = folder.serve();
    assert_eq!(ask(&server, &format!("Bearer {token}")).0, 404, "without a token nobody else");
    drop(server);
    config("metrics_token_file = \"token\"\n");
    for (text, why) in [
        (None, "token cannot be read: No such file"),
        (Some("f".repeat(31)), "must have one line of 32 to 512 letters"),
        (Some("f".repeat(513)), "must have one line of 32 to 512 letters"),
        (Some(format!("{token}\n{token}")), "must have one line of 32 to 512 letters"),
        (Some(format!("{token} {token}")), "must have one line of 32 to 512 letters"),
    ] {
        if let Some(text) = text {
            folder.write("token", text.as_bytes());
        }
        let done = folder.run(&["serve"]);
        assert_eq!(done.code, 1);
        assert!(done.err.contains(why), "{}", done.err);
        assert!(!done.err.contains(&token), "the token is not shown");
    }
    folder.write("token", format!("{token}\n").as_bytes());
    let server = folder.serve();
    let (status, text) = ask(&server, &format!("Bearer {token}"));
    assert!(status == 200 && text.contains("posture_ready 1"), "{status} {text}");
    for wrong in ["", "Bearer ", &token, &format!("Bearer {token}f"), &format!("Basic {token}")] {
        let (status, text) = ask(&server, wrong);
        assert!(status == 401 && text.contains("server.metrics_token_file"), "{status} {text}");
    }
    assert!(server.metric("posture_ready") == 1, "this host needs none");
}

#[test]
fn the_start_names_what_another_key_file_breaks() {
    let folder = Folder::new();
    let lines = |start: usize| -> Vec<String> {
        let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap();
        log.lines().skip(start).filter(|it| it.contains("posture.key")).map(str::to_owned).collect()
    };
    let n_lines =
        || std::fs::read_to_string(folder.path().join("serve.log")).unwrap().lines().count();
    assert!(folder.serve().stop().success());
    let url = "https://hooks.example.com/posture";
    let added = folder.json(&["webhook", "add", "--url", url, "--event", "all"]);
    let id = added["data"]["id"].as_str().unwrap();
    assert!(folder.serve().stop().success());
    assert_eq!(lines(0), [""; 0], "nothing is broken");

    std::fs::remove_file(folder.path().join("data/posture.key")).unwrap();
    folder.client("A");
    let start = n_lines();
    let server = folder.serve();
    let said = lines(start);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().all(|it| it.contains("WARN")), "{said:?}");
    assert!(said[0].contains("session tokens issued until now are void"), "{said:?}");
    assert!(said[1].contains(id) && said[1].contains("webhook rotate"), "{said:?}");
    assert_eq!(folder.json(&["status"])["data"]["webhooksNeedingSecret"][0], id);
    assert!(folder.ok(&["status"]).lines().last().unwrap().contains(id));
    assert!(server.stop().success());

    let start = n_lines();
    let server = folder.serve();
    assert_eq!(lines(start).len(), 1, "tokens of after are not void");
    folder.ok(&["webhook", "rotate", id]);
    assert_eq!(folder.json(&["status"])["data"]["webhooksNeedingSecret"], serde_json::json!([]));
    assert!(server.stop().success());
    let start = n_lines();
    assert!(folder.serve().stop().success());
    assert_eq!(lines(start), [""; 0]);
}

#[test]
fn data_that_cannot_be_used_is_refused_in_one_line() {
    let folder = Folder::new();
    folder.write("posture.toml", b"[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"file\"\n");
    folder.write("file", b"not a folder");
    for args in [&["serve"][..], &["client", "list"]] {
        refusal(&folder.run(args));
    }
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    folder.write("data/posture.redb", &vec![7; 50_000]);
    for args in [&["serve"][..], &["client", "list"]] {
        let done = folder.run(args);
        refusal(&done);
    }
    let kept = std::fs::read(folder.path().join("data/posture.redb")).unwrap();
    assert!(kept == vec![7; 50_000], "a foreign file stays as it was");
}

#[test]
fn a_damaged_database_is_reported_in_one_line_with_its_place() {
    let folder = Folder::new();
    folder.client("A");
    let whole = std::fs::read(folder.path().join("data/posture.redb")).unwrap();
    let mut n_damaged = 0;
    for from in [300, 4_096, 8_192, 40_000] {
        let mut bytes = whole.clone();
        bytes[from..].iter_mut().for_each(|it| *it ^= 0x5a);
        folder.write("data/posture.redb", &bytes);
        for args in [&["serve"][..], &["client", "list"]] {
            let done = folder.run(args);
            assert!(refusal(&done).starts_with("data: posture.redb is "), "{}", done.err);
            n_damaged += usize::from(done.err.contains("is damaged; restore a backup"));
        }
    }
    assert!(0 < n_damaged, "none of them was taken for a damaged database");
}

#[test]
fn a_database_that_may_not_be_written_is_named() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let folder = Folder::new();
    folder.client("A");
    let data = folder.path().join("data");
    let file = data.join("posture.redb");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o400)).unwrap();
    let mut command = folder.command(&["client", "list"]);
    if std::fs::metadata(&data).unwrap().uid() == 0 {
        // Permissions do not bind root.
        let names = ["", "posture.toml", "data", "data/posture.redb", "data/posture.key"];
        for name in names {
            chown(folder.path().join(name), Some(NOBODY), None).unwrap();
        }
        command.uid(NOBODY);
    }
    let done = finish(&mut command);
    assert_eq!(refusal(&done), "data: this user may not read and write posture.redb");
}

#[test]
fn the_address_on_the_command_line_holds_before_the_configured_one() {
    let folder = Folder::new();
    let server = folder.serve();
    let other = Folder::new();
    let text = format!("[server]\nlisten = \"{}\"\n[data]\ndir = \"data\"\n", server.address);
    other.write("posture.toml", text.as_bytes());
    let second = other.serve_with(&["--listen", "127.0.0.1:0"]);
    assert_ne!(second.address, server.address);
    assert_eq!(send(second.address, "GET", "/healthz", &[], b"").status, 200);
}

#[test]
fn the_log_has_a_line_for_each_change() {
    let folder = Folder::new();
    let server = folder.serve();
    let client = folder.client("Acme");
    folder.ok(&["client", "show", "Acme"]);
    let task = folder.ok(&["task", "add", "Acme", "--title", "secret title"]);
    let key = folder.ok(&["key", "issue", "--quiet", "--name", "k", "--scope", "manage:decisions"]);
    folder.run(&["client", "add", "--name", ""]);
    assert!(server.stop().success());
    let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap();
    let lines: Vec<&str> = log.lines().filter(|it| it.contains("operator uid ")).collect();
    let [added, tasked, issued] = lines[..] else { panic!("three changes: {log}") };
    assert!(added.contains(": POST /api/clients object=") && added.contains(&*client), "{added}");
    let task = task.trim_end();
    for says in ["POST /api/tasks", &format!("client.id={client}"), task, " INFO "] {
        assert!(tasked.contains(says), "{says}: {tasked}");
    }
    assert!(issued.contains("POST /api/keys object="), "{issued}");
    assert!(!log.contains("secret title") && !log.contains(key.trim_end()), "no content");
}
