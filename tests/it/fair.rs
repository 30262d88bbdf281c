//! Fair shares: large bodies, uploads, reads and assessments of one caller do not stop those of others.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use posture::auth::caller::{Caller, Principal};
use posture::fair_limit::{Exhausted, FairLimit};
use posture::id::ClientId;
use posture::store::ClientStore;
use serde_json::json;

use crate::harness::process::{Folder, wait_until};
use crate::harness::{Answer, Posture, send};

/// More than an answer takes that waits for nothing.
const SOON: Duration = Duration::from_secs(5);
/// What waits longer waits for ever.
const PATIENCE: Duration = Duration::from_mins(2);
const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// A connection over which a test sends a request piece by piece.
struct Sender(TcpStream);

impl Sender {
    /// Sends the head of a POST whose body has this length. `None`: in chunks.
    fn begin(
        posture: &Posture,
        path: &str,
        headers: &[(&str, &str)],
        length: Option<usize>,
    ) -> Self {
        let mut stream = TcpStream::connect(posture.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let framing = match length {
            Some(length) => format!("Content-Length: {length}"),
            None => "Transfer-Encoding: chunked".to_owned(),
        };
        let mut lines = vec![format!("POST {path} HTTP/1.1"), framing];
        lines.extend(
            ["Host: posture", "Connection: close", "Expect: 100-continue"].map(str::to_owned),
        );
        lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
        stream.write_all(format!("{}\r\n\r\n", lines.join("\r\n")).as_bytes()).unwrap();
        Self(stream)
    }

    /// Waits until the server asks for the body, which it does once it has a place for it.
    fn waits_for_body(&mut self) {
        let asked = b"HTTP/1.1 100 Continue\r\n\r\n";
        let mut found = [0; 25];
        self.0.read_exact(&mut found).unwrap();
        assert_eq!(found, *asked, "{:?}", String::from_utf8_lossy(&found));
    }

    fn send(&mut self, bytes: &[u8]) {
        // A server that refuses early may close before it took everything.
        drop(self.0.write_all(bytes));
    }

    fn send_chunk(&mut self, bytes: &[u8]) {
        self.send(format!("{:x}\r\n", bytes.len()).as_bytes());
        self.send(bytes);
        self.send(b"\r\n");
    }

    /// The answer's status, head in lower case, and body.
    fn answer(mut self) -> (u16, String) {
        let mut bytes = Vec::new();
        drop(self.0.read_to_end(&mut bytes));
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        let text = text.trim_start_matches("http/1.1 100 continue\r\n\r\n").to_owned();
        let status = text.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {text:?}"));
        (status.parse().unwrap(), text)
    }
}

/// A body of facts with this length. Without its last byte it is not complete.
fn facts_of(source: &str, n_bytes: usize) -> Vec<u8> {
    let body = format!(
        r#"{{"source":"{source}","scope":"a","observations":[{{"control":"DAT-01","status":"compliant"}}]"#
    );
    let mut body = body.into_bytes();
    body.resize(n_bytes - 1, b' ');
    body.push(b'}');
    body
}

/// A key; its text, and the label that its facts must have.
fn source(posture: &Posture, name: &str) -> (String, String) {
    let issued = posture.issue(&json!({ "name": name, "source": name }));
    (issued["key"].as_str().unwrap().to_owned(), issued["source"].as_str().unwrap().to_owned())
}

fn push(posture: &Posture, client: &str, key: &str, body: &[u8]) -> Answer {
    let headers = [("X-API-Key", key), ("Content-Type", "application/json")];
    send(posture.address, "POST", &format!("/api/clients/{client}/facts"), &headers, body)
}

fn begin_push(posture: &Posture, client: &str, key: &str, length: Option<usize>) -> Sender {
    let headers = [("X-API-Key", key), ("Content-Type", "application/json")];
    Sender::begin(posture, &format!("/api/clients/{client}/facts"), &headers, length)
}

fn analyst(posture: &Posture, name: &str) -> String {
    let (email, password) = (format!("{name}@example.com"), "ochre kettle, nine moths");
    let body = json!({ "email": email, "role": "analyst", "password": password });
    let made = posture.operator("POST", "/api/users", &body);
    assert_eq!(made.status, 201, "{}", made.text());
    posture.log_in(&email, password)
}

fn begin_import(posture: &Posture, client: &str, token: &str, length: usize) -> Sender {
    let bearer = format!("Bearer {token}");
    let path = format!("/api/clients/{client}/imports?observedAt=now");
    Sender::begin(posture, &path, &[("Authorization", bearer.as_str())], Some(length))
}

fn import(posture: &Posture, client: &str, token: &str, file: &[u8]) -> (u16, String) {
    let mut sender = begin_import(posture, client, token, file.len());
    sender.send(file);
    sender.answer()
}

fn prowler() -> Vec<u8> {
    crate::harness::process::prowler_file(1_773_130_000, &[("s3_bucket_default_encryption", true)])
}

/// A report that takes long to read, and holds nothing.
fn long_report(n_bytes: usize) -> Vec<u8> {
    let head = r#"<?xml version="1.0"?><nmaprun scanner="nmap" start="1795167000">"#;
    let tail = r#"<runstats><finished time="1795167855" exit="success"/></runstats></nmaprun>"#;
    let mut file = head.as_bytes().to_vec();
    while file.len() + tail.len() < n_bytes {
        file.extend_from_slice(b"<x/>");
    }
    file.extend_from_slice(tail.as_bytes());
    file
}

#[test]
fn one_account_sends_one_large_body_at_a_time_and_others_go_on() {
    let posture = Posture::start();
    let client = posture.client("A");
    let (key, label) = source(&posture, "first");
    let (other, other_label) = source(&posture, "second");
    let mut held = begin_push(&posture, &client, &key, Some(64 * KIB + 1));
    held.waits_for_body();
    held.send(&facts_of(&label, 64 * KIB + 1)[..KIB]);
    let begin = Instant::now();
    thread::scope(|scope| {
        let refused = [(true, 64 * KIB + 1), (true, MIB), (false, 64 * KIB + 1)];
        let refused = refused.map(|(has_length, n_bytes)| {
            let (posture, client, key, body) = (&posture, &client, &key, facts_of(&label, n_bytes));
            scope.spawn(move || {
                let mut sender = begin_push(posture, client, key, has_length.then_some(n_bytes));
                if has_length {
                    sender.send(&body);
                } else {
                    sender.send_chunk(&body);
                    sender.send(b"0\r\n\r\n");
                }
                sender.answer()
            })
        });
        // What is not large takes no place, and the places of one account are not those of another.
        assert_eq!(push(&posture, &client, &key, &facts_of(&label, 64 * KIB)).status, 200);
        let mut in_chunks = begin_push(&posture, &client, &key, None);
        in_chunks.send_chunk(&facts_of(&label, 64 * KIB));
        in_chunks.send(b"0\r\n\r\n");
        assert_eq!(in_chunks.answer().0, 200);
        assert_eq!(push(&posture, &client, &other, &facts_of(&other_label, MIB)).status, 200);
        assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
        for refused in refused {
            let (status, text) = refused.join().unwrap();
            assert_eq!(status, 429, "{text}");
            assert!(text.contains("\r\nretry-after: 10\r\n"), "{text}");
            assert!(text.contains("another upload of this account is in progress"), "{text}");
        }
    });
    held.send(&facts_of(&label, 64 * KIB + 1)[KIB..]);
    assert_eq!(held.answer().0, 200, "the one that was first");
    assert_eq!(
        push(&posture, &client, &key, &facts_of(&label, MIB)).status,
        200,
        "the place is free"
    );
}

#[test]
fn a_large_body_that_may_not_be_sent_is_refused_before_it_arrives() {
    let posture = Posture::start();
    let (mine, other) = (posture.client("A"), posture.client("B"));
    let key = posture.key_with(&json!({ "clientIds": [mine] }));
    for (client, length, status) in [(&other, 16 * MIB, 403), (&mine, 16 * MIB + 1, 413)] {
        let (found, text) = begin_push(&posture, client, &key, Some(length)).answer();
        assert_eq!(found, status, "{text}");
    }
}

#[test]
fn facts_are_taken_up_to_16_mib_and_no_further() {
    let posture = Posture::start();
    let client = posture.client("A");
    let (key, label) = source(&posture, "first");
    for (n_bytes, status) in [(16 * MIB, 200), (16 * MIB + 1, 413)] {
        let mut in_chunks = begin_push(&posture, &client, &key, None);
        in_chunks.send_chunk(&facts_of(&label, n_bytes));
        in_chunks.send(b"0\r\n\r\n");
        let (found, text) = in_chunks.answer();
        assert_eq!(found, status, "{text}");
    }
}

#[test]
fn a_limit_counts_in_all_and_for_each_holder() {
    let posture = Posture::start();
    let limit = FairLimit::new(3, 2);
    let acquire = |holder| posture.block_on(limit.acquire(holder, Duration::from_millis(50)));
    let held = [acquire(Some(1)).unwrap(), acquire(Some(1)).unwrap()];
    assert_eq!(acquire(Some(1)).unwrap_err(), Exhausted::ByHolder);
    let third = acquire(Some(2)).unwrap();
    for holder in [Some(2), Some(3), None] {
        assert_eq!(acquire(holder).unwrap_err(), Exhausted::ByAll);
    }
    drop(third);
    drop(acquire(None).unwrap());
    drop(held);
    let all = [None; 3].map(|it| acquire(it).unwrap());
    assert_eq!(all.len(), 3, "without a limit of its own");
}

#[test]
fn reading_large_bodies_does_not_stop_the_service() {
    let posture = Posture::start();
    let client = posture.client("A");
    // It is wrong at its very end.
    let accounts = r#"{"user":"ada","admin":true,"enabled":true},"#.repeat(100_000);
    let body = format!(r#"{{"source":"a","identities":[{accounts}{{}}]}}"#).into_bytes();
    let (start, last) = body.split_at(body.len() - 1);
    let mut senders: Vec<Sender> = (0..4)
        .map(|_| {
            let mut sender = begin_push(&posture, &client, &posture.key(), Some(body.len()));
            sender.send(start);
            sender
        })
        .collect();
    let begin = Instant::now();
    for sender in &mut senders {
        sender.send(last);
    }
    let (done, all_done) = channel();
    let reading = thread::spawn(move || {
        let statuses: Vec<u16> = senders.into_iter().map(|it| it.answer().0).collect();
        done.send(()).unwrap();
        statuses
    });
    let mut longest = Duration::ZERO;
    while all_done.try_recv().is_err() {
        let asked = Instant::now();
        assert_eq!(send(posture.address, "GET", "/healthz", &[], b"").status, 200);
        longest = longest.max(asked.elapsed());
        thread::sleep(Duration::from_millis(5));
    }
    let all = begin.elapsed();
    assert_eq!(reading.join().unwrap(), [400; 4]);
    assert!(longest * 4 < all, "/healthz waited {longest:?} of {all:?}");
}

#[test]
fn slow_uploads_keep_nobody_elses_waiting() {
    let posture = Posture::start();
    let client = posture.client("A");
    let tokens = [0, 1, 2, 3, 4].map(|it| analyst(&posture, &format!("user{it}")));
    let file = prowler();
    let mut slow: Vec<Sender> = tokens[..4]
        .iter()
        .map(|token| {
            let mut sender = begin_import(&posture, &client, token, file.len());
            sender.waits_for_body();
            sender.send(&file[..100]);
            sender
        })
        .collect();
    let begin = Instant::now();
    let (status, text) = import(&posture, &client, &tokens[4], &file);
    assert_eq!(status, 200, "{text}");
    assert_eq!(posture.import(&client, "observedAt=now", &file).status, 200, "nor the operator's");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    let (status, text) = import(&posture, &client, &tokens[0], &file);
    assert_eq!(status, 429, "one upload of an account at a time: {text}");
    let names = std::fs::read_dir(posture.dir()).unwrap();
    let names: Vec<_> = names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert!(
        !names.iter().any(|it| it.starts_with("upload-")),
        "nothing to leave behind: {names:?}"
    );
    drop(slow.remove(0));
    let is_free = || import(&posture, &client, &tokens[0], &file).0 == 200;
    assert!(wait_until(SOON, is_free), "an upload that broke off holds nothing");
    for mut sender in slow {
        sender.send(&file[100..]);
        assert_eq!(sender.answer().0, 200, "slow, but complete");
    }
}

#[test]
fn files_that_a_crash_left_are_removed_at_the_start() {
    let posture = Posture::start();
    let left = "upload-00000000000000000000000000000000";
    let posture =
        posture.restart_after(|dir| std::fs::write(dir.join(left), "half").unwrap(), |_| ());
    assert!(!posture.dir().join(left).exists());
}

#[test]
fn reading_a_file_stops_when_its_caller_is_gone() {
    let posture = Posture::start();
    let client = posture.client("A");
    let file = long_report(80 * MIB);
    let tokens = [0, 1, 2, 3].map(|it| analyst(&posture, &format!("user{it}")));
    let senders = tokens.map(|token| {
        let mut sender = begin_import(&posture, &client, &token, file.len());
        sender.send(&file);
        sender
    });
    thread::sleep(Duration::from_secs(2));
    drop(senders);
    let begin = Instant::now();
    let answer = posture.import(&client, "observedAt=now", &prowler());
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
}

/// Whether a process has a file of so many bytes open that has no name anymore.
fn holds_nameless_file(process: u32, n_bytes: usize) -> bool {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    files.filter_map(Result::ok).any(|it| {
        let is_nameless = std::fs::read_link(it.path())
            .is_ok_and(|to| to.to_string_lossy().ends_with("(deleted)"));
        is_nameless && std::fs::metadata(it.path()).is_ok_and(|it| it.len() == n_bytes as u64)
    })
}

#[test]
fn a_stop_ends_in_time_whatever_is_being_read() {
    let folder = Folder::new();
    let server = folder.serve();
    let client = folder.client("A");
    let report = long_report(160 * MIB);
    folder.write("report.xml", &report);
    thread::scope(|scope| {
        let import = scope.spawn(|| folder.run(&["import", "--client", &client, "report.xml"]));
        let has_arrived = || holds_nameless_file(server.id(), report.len());
        assert!(wait_until(PATIENCE, has_arrived), "the report arrives");
        thread::sleep(Duration::from_secs(1));
        assert!(!import.is_finished(), "it must take longer");
        let begin = Instant::now();
        assert!(server.stop().success());
        assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
        let done = import.join().unwrap();
        assert_ne!(done.code, 0);
        assert!(done.err.contains("the service is stopping"), "{}", done.err);
    });
}

/// Occupies reads of a caller until the returned sender is dropped.
fn occupy(posture: &Posture, rows: &ClientStore, n_reads: usize) -> std::sync::mpsc::Sender<()> {
    let (release, released) = channel::<()>();
    let released = std::sync::Arc::new(std::sync::Mutex::new(released));
    let (started, starts) = channel();
    for _ in 0..n_reads {
        let (rows, released, started) = (rows.clone(), released.clone(), started.clone());
        let read = async move {
            let wait = move |_: &_| {
                started.send(()).unwrap();
                let _ = released.lock().unwrap().recv();
                Ok(())
            };
            rows.read(wait).await
        };
        posture.spawn(async move { drop(read.await) });
    }
    for _ in 0..n_reads {
        starts.recv_timeout(PATIENCE).unwrap();
    }
    release
}

#[test]
fn one_account_cannot_have_all_reads() {
    let posture = Posture::start();
    let client = posture.client("A");
    let id: ClientId = client.parse().unwrap();
    let (key, other) = (posture.key(), posture.key());
    let warm = format!("/clients/{client}/scores");
    assert_eq!(posture.get(&key, &warm).status, 200);
    let held = posture.app.access.keyring.verify(&key, posture.now()).unwrap();
    let caller = Caller::new(Principal::Key(held));
    let (_, rows) = posture.app.reach_any(&caller, id).unwrap();
    let release = occupy(&posture, &rows, 8);
    let begin = Instant::now();
    assert_eq!(posture.get(&key, &warm).status, 200, "a page in memory needs no read");
    let cold = format!("/clients/{client}/risks");
    assert_eq!(posture.get(&other, &cold).status, 200, "another account");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    let refused = posture.get(&key, &format!("/clients/{client}/assets"));
    let (code, message) = refused.problem();
    assert_eq!((refused.status, code.as_str()), (429, "RATE_LIMITED"), "{message}");
    assert!(message.contains("more than 8 reads of this account"), "{message}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    drop(release);
    assert_eq!(posture.get(&key, &format!("/clients/{client}/assets")).status, 200);
}

#[test]
fn a_client_whose_assessment_takes_long_does_not_keep_others_waiting() {
    let posture = Posture::start();
    let key = posture.key();
    let mut clients = ["A", "B", "C"].map(|it| posture.client(it));
    clients.sort_unstable(); // They are due in this order.
    for client in &clients {
        let facts = json!({"source": "test", "observations": [{"control": "DAT-01", "status": "compliant"}]});
        let path = format!("/api/clients/{client}/facts");
        assert_eq!(posture.operator("POST", &path, &facts).status, 200);
    }
    let score = |client: &str| {
        posture.read(&key, &format!("/clients/{client}/scores"))["data"]["current"]["overallScore"]
            .clone()
    };
    assert_ne!(score(&clients[2]), 0);
    let slow: Vec<_> = clients[..2]
        .iter()
        .map(|it| posture.block_on(posture.app.clients.lock(it.parse().unwrap())))
        .collect();
    // Everything has lapsed, and all are due.
    posture.clock.set(posture.now().plus_days(400));
    let has_lapsed = || score(&clients[2]) == 0;
    assert!(wait_until(Duration::from_secs(20), has_lapsed), "it waited for the others");
    assert_ne!(score(&clients[0]), 0, "which are still being assessed");
    drop(slow);
    assert!(wait_until(Duration::from_secs(20), || score(&clients[0]) == 0));
}
