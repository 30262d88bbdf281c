//! The pages of the console with 10,000 clients, one of them with a million assets. `POSTURE_LOAD=console` runs it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use posture::store::EngineOptions;
use serde_json::{Value, json};

use super::figure::{Report, memory_kib, time};
use super::fill;
use super::harness::http::{send, send_socket};
use super::harness::process::{Folder, Server};
use super::measure::elapsed_micros;

const N_CLIENTS: usize = 10_000;
/// Of a list that is sent at once.
const N_LISTED: usize = 1_000;
const N_ASSETS: u32 = 1_000_000;
const N_ASKED: usize = 200;
/// They ask in turns, and rest after each page: a user may read 600 times a minute.
const N_USERS: usize = 15;
const REST: Duration = Duration::from_secs(6);
const P99_MICROS_MAX: u64 = 50_000;
const PAGE_BYTES_MAX: usize = 60_000;
const PASSWORD: &str = "ochre kettle, nine moths";

/// Pages about all clients.
const PAGES: [&str; 21] = [
    "/",
    "/clients",
    "/clients?order=score",
    "/clients?search=client+0999",
    "/clients?framework=SOC2&order=risks",
    "/risks",
    "/risks?severity=critical",
    "/tasks",
    "/across",
    "/across?framework=SOC2",
    "/across?framework=SOC2&requirement=CC6.1&status=non_compliant",
    "/scans",
    "/connections",
    "/alerts",
    "/catalog",
    "/keys",
    "/users",
    "/webhooks",
    "/audit",
    "/system",
    "/me",
];
/// Pages about the client with the many assets.
const CLIENT_PAGES: [&str; 15] = [
    "",
    "/controls",
    "/controls/END-04",
    "/frameworks/SOC2",
    "/frameworks/SOC2/CC6.1",
    "/risks",
    "/tasks",
    "/observations",
    "/vulnerabilities",
    "/accounts",
    "/assets",
    "/assets?offset=900000",
    "/imports",
    "/timeline",
    "/settings",
];

pub(crate) fn measure(report: &mut Report) {
    Report::section("Pages of the console: 10,000 clients, one with 1,000,000 assets");
    let folder = Folder::new();
    let large = fill::client(&folder.path().join("data"), EngineOptions::File, N_ASSETS);
    let server = folder.serve();
    let call = |method: &str, path: &str, body: &[u8]| {
        let headers = [("Content-Type", "application/json")];
        let answer = send_socket(&folder.socket(), method, path, &headers, body);
        assert!((200..300).contains(&answer.status), "{path}: {}", answer.text());
        answer.json()["data"].clone()
    };
    let start = Instant::now();
    let mut ids = vec![large.clone()];
    for first in (1..N_CLIENTS).step_by(N_LISTED) {
        let end = (first + N_LISTED).min(N_CLIENTS);
        let rows: Vec<_> = (first..end).map(|n| format!("Client {n:05},Retail,50")).collect();
        let list = format!("name,industry,employees\n{}\n", rows.join("\n"));
        let added = call("POST", "/api/clients/list", list.as_bytes())["added"].clone();
        let id = |it: &Value| it["id"].as_str().expect("an id").to_owned();
        ids.extend(added.as_array().expect("a list").iter().map(id));
    }
    assert_eq!(ids.len(), N_CLIENTS);
    for (n, id) in ids.iter().enumerate() {
        let observations = json!([
            {"control": "END-04", "passed": n % 7, "failed": n % 5},
            {"control": "ID-01", "passed": 9, "failed": n % 2},
            {"control": "CLD-01", "status": if n % 3 == 0 { "compliant" } else { "non_compliant" }},
        ]);
        let facts = json!({"source": "rmm", "observations": observations}).to_string();
        call("POST", &format!("/api/clients/{id}/facts"), facts.as_bytes());
    }
    Report::note("(filling in took)", time(elapsed_micros(start)));
    let cookies: Vec<String> = (0..N_USERS)
        .map(|n| {
            let email = format!("user{n}@example.com");
            let user = json!({"email": email, "role": "admin", "password": PASSWORD});
            call("POST", "/api/users", user.to_string().as_bytes());
            sign_in(&server, &email)
        })
        .collect();
    let mut worst = (0, String::new());
    let of_client = CLIENT_PAGES.iter().map(|it| format!("/clients/{large}{it}"));
    for path in PAGES.iter().map(|it| (*it).to_owned()).chain(of_client) {
        let (p50, p99, n_bytes) = ask(&server, &cookies, &path);
        let name = path.replace(&large, "LARGE");
        let shown = format!("{} / {} / {n_bytes} B", time(p50), time(p99));
        let is_met = p99 < P99_MICROS_MAX && n_bytes < PAGE_BYTES_MAX;
        report.goal(&name, shown, "p99 < 50 ms, < 60 KB", is_met);
        worst = worst.max((p99, name));
    }
    Report::note("slowest page, p99", format!("{} {}", worst.1, time(worst.0)));
    let resident = memory_kib(server.id(), "VmRSS") / 1_024;
    Report::note("resident memory", format!("{resident} MiB"));
    assert!(server.stop().success());
}

fn sign_in(server: &Server, email: &str) -> String {
    let (host, origin) = (server.address.to_string(), format!("http://{}", server.address));
    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    let (name, password) = (email.replace('@', "%40"), PASSWORD.replace(' ', "+"));
    let body = format!("name={name}&password={password}");
    let headers = [kind, ("Host", host.as_str()), ("Origin", origin.as_str())];
    let answer = send(server.address, "POST", "/sign-in", &headers, body.as_bytes());
    let cookie = answer.header("set-cookie").expect("it is signed in");
    cookie.split(';').next().unwrap_or_default().to_owned()
}

/// The median, the 99th percentile and the size of a page.
fn ask(server: &Server, cookies: &[String], path: &str) -> (u64, u64, usize) {
    let host = server.address.to_string();
    let mut n_bytes = 0;
    let mut micros = Vec::new();
    for cookie in cookies.iter().cycle().take(N_ASKED) {
        let headers = [("Host", host.as_str()), ("Cookie", cookie), ("Accept", "text/html")];
        let before = Instant::now();
        let answer = send(server.address, "GET", path, &headers, b"");
        micros.push(elapsed_micros(before));
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        n_bytes = answer.body.len();
    }
    sleep(REST);
    micros.sort_unstable();
    (micros[N_ASKED / 2], micros[N_ASKED * 99 / 100], n_bytes)
}
