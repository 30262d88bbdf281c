//! `posture export` and `posture event list --follow`: what is handed out piece by piece.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::{now_s, on_terminal, refusal, some_checks};
use crate::harness::http::send_socket;
use crate::harness::process::{Beside, Folder, signal, wait_until};

/// What is in the folder besides what was there before.
fn left(folder: &Folder) -> Vec<String> {
    let all = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> =
        all.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|it| it.starts_with("all.ndjson"));
    names
}

#[test]
fn an_export_is_what_the_api_exports_whole() {
    let folder = Folder::new();
    let client = folder.client("Acme Ltd");
    folder.client("Birch");
    folder.write("some.json", &some_checks(now_s()));
    folder.ok(&["import", "--client", &client, "some.json"]);
    let alone = folder.ok(&["export"]);
    let _server = folder.serve();
    let asked = |path: &str| send_socket(&folder.socket(), "GET", path, &[], b"").text();
    assert_eq!(alone, asked("/api/export"));
    assert_eq!(folder.ok(&["export", "--output", "-"]), alone);
    let of_one = asked(&format!("/api/clients/{client}/export"));
    for named in [&*client, "acme ltd"] {
        assert_eq!(folder.ok(&["export", "--client", named]), of_one);
    }
    let out = folder.ok(&["export", "--output", "all.ndjson"]);
    let n_lines = alone.lines().count() - 1;
    assert_eq!(out, format!("all.ndjson: {n_lines} lines\n"));
    assert_eq!(std::fs::read_to_string(folder.path().join("all.ndjson")).unwrap(), alone);
    assert_eq!(left(&folder), ["all.ndjson"]);
    let nowhere = folder.run(&["export", "--output", "no/such/all.ndjson"]);
    assert!(refusal(&nowhere).contains("cannot be written"), "{}", nowhere.err);
    std::fs::create_dir(folder.path().join("all.ndjson.d")).unwrap();
    let onto_folder = folder.run(&["export", "--output", "all.ndjson.d"]);
    assert!(refusal(&onto_folder).contains("all.ndjson.d is a directory"), "{}", onto_folder.err);
    let onto_device = folder.run(&["export", "--output", "/dev/null"]);
    assert!(refusal(&onto_device).contains("is not a regular file"), "{}", onto_device.err);
    let mut reader = folder.command(&["export"]);
    let mut child = reader.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), &*done.stderr), (Some(0), &b""[..]), "nobody reads it");
}

/// A server that answers one request with these bytes, and ends the connection after `then`.
fn answering(
    folder: &Folder,
    answer: &'static str,
    then: impl FnOnce(&mut UnixStream) + Send + 'static,
) -> std::thread::JoinHandle<()> {
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    drop(std::fs::remove_file(folder.socket()));
    let listener = UnixListener::bind(folder.socket()).unwrap();
    std::thread::spawn(move || {
        // The first connection only finds out whether a server is running.
        drop(listener.accept().unwrap());
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while lines.next().is_some_and(|it| it.is_ok_and(|it| !it.is_empty())) {}
        // A command that was interrupted may be gone already.
        drop(stream.write_all(answer.as_bytes()));
        then(&mut stream);
    })
}

/// Waits until the other side goes away.
fn until_closed(stream: &mut UnixStream) {
    drop(stream.read(&mut [0; 1]));
}

/// The beginning of an export.
const TORN: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n";
/// An answer that is complete, of an export that is not.
const SHORT: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n0\r\n\r\n";

#[test]
fn an_export_that_does_not_arrive_whole_leaves_no_file() {
    let folder = Folder::new();
    for (answer, says) in [
        ("", "the server closed the connection before it responded"),
        (TORN, "the server closed the connection before the end of its response"),
        (SHORT, "the export ended before its last line; try again"),
    ] {
        let server = answering(&folder, answer, |_| ());
        let done = folder.run(&["export", "--output", "all.ndjson"]);
        assert!(refusal(&done).contains(says), "{}", done.err);
        assert_eq!(left(&folder), [""; 0]);
        server.join().unwrap();
    }
}

/// An answer that is whole, with characters that a terminal obeys.
const UNSAFE: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"data\":\"\u{9b}31m\"}\n";
/// The end of an export with one line.
const END: &str = "{\"kind\":\"end\",\"data\":{\"lines\":1}}\n";

#[test]
fn an_export_to_a_terminal_is_escaped() {
    let folder = Folder::new();
    let server = answering(&folder, UNSAFE, |stream| stream.write_all(END.as_bytes()).unwrap());
    let done = on_terminal(&folder, 200, &["export"]);
    assert_eq!((done.code, done.out), (0, format!("{{\"data\":\"\\u009b31m\"}}\n{END}")));
    server.join().unwrap();
}

#[test]
fn an_export_with_a_line_beyond_the_limit_is_refused() {
    const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
    let folder = Folder::new();
    for (n_bytes, says) in [
        (LINE_BYTES_MAX, "the export ended before its last line"),
        (LINE_BYTES_MAX + 1, "the export has a line of more than 16777216 bytes"),
    ] {
        let put = move |stream: &mut UnixStream| drop(stream.write_all(&vec![b'x'; n_bytes]));
        let server = answering(&folder, UNSAFE, put);
        let done = folder.run(&["export", "--output", "all.ndjson"]);
        assert!(refusal(&done).contains(says), "{}", done.err);
        assert_eq!(left(&folder), [""; 0]);
        server.join().unwrap();
    }
}

#[test]
fn an_export_that_cannot_get_its_name_leaves_no_file() {
    let folder = Folder::new();
    let target = folder.path().join("all.ndjson");
    let become_folder = move |stream: &mut UnixStream| {
        std::fs::create_dir(&target).unwrap();
        stream.write_all(END.as_bytes()).unwrap();
    };
    let server = answering(&folder, UNSAFE, become_folder);
    let done = folder.run(&["export", "--output", "all.ndjson"]);
    assert!(refusal(&done).contains("all.ndjson: cannot be written"), "{}", done.err);
    assert_eq!(left(&folder), ["all.ndjson"], "the directory");
    server.join().unwrap();
}

#[test]
fn an_interrupted_export_leaves_no_file() {
    for name in ["-INT", "-TERM"] {
        interrupt_export(name);
    }
}

fn interrupt_export(name: &str) {
    let folder = Folder::new();
    let server = answering(&folder, TORN, until_closed);
    let mut command = folder.command(&["export", "--output", "all.ndjson"]);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    assert!(wait_until(Duration::from_mins(1), || !left(&folder).is_empty()), "it has begun");
    assert_ne!(left(&folder), ["all.ndjson"], "under another name");
    signal(child.id(), name);
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert_eq!(done.stderr, b"posture: the export was interrupted\n");
    assert_eq!(left(&folder), [""; 0]);
    server.join().unwrap();
}

#[test]
fn events_are_followed_as_they_are_announced() {
    let folder = Folder::new();
    let _server = folder.serve();
    let client = folder.client("Acme Ltd");
    let add = |title: &str| folder.ok(&["task", "add", "Acme Ltd", "--title", title]);
    add("first");
    let follow = ["event", "list", "--follow", "--json", "--client", &client];
    let mut following = Beside::start(&mut folder.command(&follow));
    let mut next = || -> Value { serde_json::from_str(&following.line()).unwrap() };
    assert_eq!(next()["data"]["object"]["title"], "first");
    for title in ["second", "third"] {
        add(title);
        let event = next();
        assert_eq!(event["type"], "remediation_task_created");
        assert_eq!(event["data"]["object"]["title"], json!(title));
    }
    following.close();
    assert_eq!(following.wait().code(), Some(0), "nobody reads it");
}

/// A server that answers one request after the other with these. Returns the paths that were asked for.
fn answering_each(folder: &Folder, answers: Vec<Value>) -> std::thread::JoinHandle<Vec<String>> {
    std::fs::create_dir_all(folder.path().join("data")).unwrap();
    let listener = UnixListener::bind(folder.socket()).unwrap();
    std::thread::spawn(move || {
        // The first connection only finds out whether a server is running.
        drop(listener.accept().unwrap());
        let mut paths = Vec::new();
        for body in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            paths.push(first.split(' ').nth(1).unwrap().to_owned());
            while lines.next().is_some_and(|it| it.is_ok_and(|it| !it.is_empty())) {}
            write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{body}").unwrap();
        }
        paths
    })
}

#[test]
fn an_old_event_is_never_followed_as_a_new_one() {
    let folder = Folder::new();
    let end =
        |sequence: u64| json!({ "data": [{ "data": { "object": { "sequence": sequence } } }] });
    let none = json!({ "data": [], "next": null });
    let answers = vec![end(200_000), none.clone(), end(200_000), end(200_007), none, end(200_007)];
    let server = answering_each(&folder, answers);
    let done = folder.run(&["event", "list", "--follow", "--type", "mfa_disabled"]);
    assert!(refusal(&done).contains("does not answer on its control socket"), "{}", done.err);
    let log_end = "/api/events?newest=true&limit=1";
    assert_eq!(
        server.join().unwrap(),
        [
            log_end,
            "/api/events?newest=true&limit=50&type=mfa_disabled",
            log_end,
            log_end,
            "/api/events?after=200000&limit=1000&type=mfa_disabled",
            log_end,
        ]
    );
}
