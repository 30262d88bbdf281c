//! The largest legal value of every field of every operation and form: none of them holds an async thread for long.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use posture::poll::LONG_POLL;
use serde_json::{Value, json};

use crate::console::browser::{Browser, add_user};
use crate::harness::long::is_long;
use crate::harness::{Answer, Posture, send};
use crate::openapi::operations;
use crate::strangers::world::World;

/// Of a text whose length nothing limits but the body's.
const TEXT_BYTES: usize = 60_000;
/// Of a query parameter: a target may have 8 KiB.
const QUERY_BYTES: usize = 7_000;
/// What is compared with all of them.
const N_CLIENTS: usize = 1_000;
/// So many pages of one kind are looked at.
const N_PAGES_MAX: usize = 150;
/// In the long form, `/healthz` is asked so often, first while nothing else goes on for this long.
const HEALTH_PAUSE: Duration = Duration::from_millis(5);
const IDLE: Duration = Duration::from_secs(10);
/// What holds a thread so often in a row is too long.
const N_TRIES: usize = 3;

fn add_clients(posture: &Posture) {
    let mut list = "name\n".to_owned();
    for n in 0..N_CLIENTS {
        writeln!(list, "Client {n:05} Northwind Ltd").unwrap();
    }
    let added = posture.operator_bytes("POST", "/api/clients/list", "text/csv", list.as_bytes());
    assert_eq!(added.status, 200, "{}", added.text());
}

/// Asks, and asserts that this holds no thread. What does so for what it computes does so each time, and what a busy machine
/// made long does not.
#[track_caller]
fn ask_short(posture: &Posture, about: &str, mut ask: impl FnMut() -> Answer) -> Answer {
    let polls = &posture.app.polls;
    let short = (0..N_TRIES).find_map(|_| {
        let n_before = polls.n_long();
        let answer = ask();
        (polls.n_long() == n_before).then_some(answer)
    });
    let longest = polls.longest();
    short.unwrap_or_else(|| panic!("{about}: up to {longest:?}, more than {LONG_POLL:?}"))
}

/// The body with each of its texts in turn as long as it may be, and then all lists.
fn largest(body: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let mut places = Vec::new();
    find_texts(body, String::new(), &mut places);
    for place in places {
        for text in [
            "x".repeat(TEXT_BYTES),
            "\u{1f600}".repeat(TEXT_BYTES / 4),
            "a1 ".repeat(TEXT_BYTES / 3),
        ] {
            let mut changed = body.clone();
            *changed.pointer_mut(&place).unwrap() = json!(text);
            all.push(changed);
        }
        for n_chars in [64, 254, 500, 512] {
            let mut changed = body.clone();
            *changed.pointer_mut(&place).unwrap() = json!("x9".repeat(n_chars / 2));
            all.push(changed);
        }
    }
    all
}

fn find_texts(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::String(_) => places.push(at),
        Value::Array(items) => {
            for (index, it) in items.iter().enumerate() {
                find_texts(it, format!("{at}/{index}"), places);
            }
        }
        Value::Object(members) => {
            for (name, it) in members {
                find_texts(it, format!("{at}/{name}"), places);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
}

/// The slowest answer of `/healthz` while something goes on.
fn slowest_health(address: SocketAddr, meanwhile: impl FnOnce()) -> Duration {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut slowest = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                let began = Instant::now();
                assert_eq!(send(address, "GET", "/healthz", &[], b"").status, 200);
                slowest = slowest.max(began.elapsed());
                std::thread::sleep(HEALTH_PAUSE);
            }
            slowest
        });
        meanwhile();
        is_over.store(true, Ordering::Relaxed);
        asking.join().unwrap()
    })
}

#[test]
fn no_field_of_an_operation_holds_an_async_thread() {
    let world = World::new();
    add_clients(&world.posture);
    if !is_long() {
        return send_all(&world);
    }
    let address = world.posture.address;
    let idle = slowest_health(address, || std::thread::sleep(IDLE));
    let busy = slowest_health(address, || send_all(&world));
    println!("slowest /healthz: {idle:?} idle, {busy:?} beside the largest values");
}

fn send_all(world: &World) {
    for operation in operations().iter().filter(|it| it.id != "log_out") {
        let (path, body) = world.filled(operation, None, &world.client);
        let parameters = operation.described["parameters"].as_array().cloned().unwrap_or_default();
        for name in parameters.iter().filter(|it| it["in"] == "query") {
            let sign = if path.contains('?') { '&' } else { '?' };
            let name = name["name"].as_str().unwrap();
            let path = format!("{path}{sign}{name}={}", "x".repeat(QUERY_BYTES));
            let about = format!("{} {name}", operation.id);
            let ask = || world.operator(operation, &path, &body);
            let answer = ask_short(&world.posture, &about, ask);
            assert!(answer.status < 500, "{about}: {}", answer.text());
        }
        let Ok(body) = serde_json::from_slice::<Value>(&body) else { continue };
        for body in largest(&body) {
            let ask = || world.operator(operation, &path, body.to_string().as_bytes());
            let answer = ask_short(&world.posture, &operation.id, ask);
            let (id, is_answered) = (&operation.id, answer.status < 500 || answer.status == 503);
            assert!(is_answered, "{id}: {}", answer.text());
        }
    }
}

/// A form of a page: where it is sent, its fields with their values, and which of them are texts.
struct Form {
    action: String,
    fields: Vec<(String, String)>,
    texts: BTreeSet<String>,
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next()
}

fn forms(page: &str) -> Vec<Form> {
    let parts = page.split("<form ").skip(1).map(|it| it.split("</form>").next().unwrap());
    let of = |part: &str| {
        let head = format!(" {}", part.split('>').next().unwrap());
        let mut form = Form {
            action: attribute(&head, "action")?.replace("&amp;", "&"),
            fields: Vec::new(),
            texts: BTreeSet::new(),
        };
        for tag in part
            .split('<')
            .filter(|it| ["input", "textarea", "select"].iter().any(|kind| it.starts_with(kind)))
        {
            let tag = format!(" {}", tag.split_once(' ').map_or("", |it| it.1));
            let Some(name) = attribute(&tag, "name") else { continue };
            let kind = attribute(&tag, "type").unwrap_or("text");
            form.fields.push((
                name.to_owned(),
                attribute(&tag, "value").unwrap_or_default().replace("&amp;", "&"),
            ));
            if kind != "hidden" && kind != "checkbox" && kind != "file" {
                form.texts.insert(name.to_owned());
            }
        }
        head.contains("method=\"post\"").then_some(form)
    };
    parts.filter_map(of).collect()
}

/// Sends a form with each of its texts in turn as long as it may be. Returns how often.
fn send_largest(posture: &Posture, browser: &mut Browser, form: &Form) -> usize {
    let mut n_sent = 0;
    for name in &form.texts {
        for text in ["x".repeat(TEXT_BYTES), "x9".repeat(250)] {
            let fields = form.fields.iter().map(|it| {
                (it.0.as_str(), if it.0 == *name { text.as_str() } else { it.1.as_str() })
            });
            let fields: Vec<_> = fields.collect();
            let about = format!("{} {name} {}", form.action, text.len());
            let answer = ask_short(posture, &about, || browser.post(&form.action, &fields));
            assert!(answer.status < 500 || answer.status == 503, "{about}: {}", answer.text());
            n_sent += 1;
        }
    }
    n_sent
}

/// Where pages are that no link leads to.
const STARTS: [&str; 14] = [
    "/",
    "/start",
    "/keys",
    "/users",
    "/webhooks",
    "/scans",
    "/reports",
    "/alerts",
    "/system",
    "/clients/add",
    "/connections/add/dns",
    "/connections/add/m365",
    "/connections/add/ad",
    "/connections/add/aws",
];

#[test]
fn no_field_of_a_form_holds_an_async_thread() {
    let posture = Posture::start_with(crate::webhook::allow_loopback);
    add_user(&posture, "ada", "admin", &[]);
    let mut browser = Browser::signed_in(posture.address, "ada");
    add_clients(&posture);
    let client = posture.client("Acme");
    let file = crate::manage::prowler(crate::manage::MIXED);
    assert_eq!(posture.import(&client, "observedAt=now", &file).status, 200);
    let mut todo = vec![format!("/clients/{client}")];
    todo.extend(STARTS.map(str::to_owned));
    let (mut seen, mut sent, mut n_sent) = (BTreeSet::new(), BTreeSet::new(), 0);
    while let Some(path) = todo.pop() {
        // Other clients have the same pages.
        let is_other = path.starts_with("/clients/") && path.len() > 40 && !path.contains(&client);
        let is_file = path.contains("/files/") || path.contains("/csv/");
        if is_other || is_file || N_PAGES_MAX < seen.len() || !seen.insert(path.clone()) {
            continue;
        }
        let page = ask_short(&posture, &path, || browser.get(&path));
        if page.status != 200 {
            continue;
        }
        let html = page.text();
        let links = html
            .match_indices("href=\"/")
            .map(|(at, _)| html[at + 6..].split(['"', '#', '?']).next().unwrap().to_owned());
        todo.extend(links.filter(|it| !it.starts_with("/docs") && !it.starts_with("/console/")));
        for form in forms(&html) {
            let is_own = ["/sign", "/me"].iter().any(|it| form.action.starts_with(it));
            let kind = form.action.split('?').next().unwrap().replace(&client, "ID");
            if !is_own && !form.texts.is_empty() && sent.insert(kind) {
                n_sent += send_largest(&posture, &mut browser, &form);
            }
        }
    }
    assert!(100 < n_sent, "only {n_sent} forms were sent");
}
