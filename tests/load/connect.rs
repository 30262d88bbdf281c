//! A night of 200 tenants of Microsoft 365, which a scripted Graph plays, at the pace that Microsoft documents; alone, and beside
//! tenants that do not answer. `POSTURE_LOAD=connect` runs it.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::figure::{Report, memory_kib, quotient};
use super::graph::{Graph, Told, registration, user};
use super::harness::http::send_socket;
use super::harness::process::Folder;
use super::measure::cpu_ms;

const N_TENANTS: usize = 200;
/// Of each tenant.
const N_PEOPLE: usize = 100;
const N_SILENT: usize = 20;
/// A silent tenant answers a request for a token after this, with an error.
const SILENCE: Duration = Duration::from_secs(20);
const NIGHT_MAX: Duration = Duration::from_mins(30);
const LOOK_EVERY: Duration = Duration::from_millis(500);

struct Night<'a> {
    folder: &'a Folder,
    graph: &'a Graph,
    id: u32,
}

impl Night<'_> {
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let headers = [("Content-Type", "application/json")];
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let answer = send_socket(&self.folder.socket(), method, path, &headers, &body);
        assert!((200..300).contains(&answer.status), "{path}: {}", answer.text());
        answer.json()["data"].clone()
    }

    /// Adds a client with a connection, and returns the id of the connection.
    fn add(&self, name: &str, tenant: &str) -> String {
        let client = self.call("POST", "/api/clients", &json!({"name": name}));
        let connection =
            json!({"clientId": client["id"], "kind": "m365", "settings": {"tenant": tenant}});
        self.call("POST", "/api/connections", &connection)["id"].as_str().unwrap().to_owned()
    }

    /// Waits until each of them has run after it was asked to, and returns their healths.
    fn wait(&self, ids: &[String], before: &[Value]) -> Vec<String> {
        let start = Instant::now();
        loop {
            let all = self.call("GET", "/api/connections?limit=1000", &Value::Null);
            let find = |id: &String| all.as_array().unwrap().iter().find(|it| it["id"] == **id);
            let found: Vec<&Value> = ids.iter().map(|it| find(it).unwrap()).collect();
            let has_run = |(it, before): (&&Value, &Value)| it["lastRunAt"] != *before;
            if found.iter().zip(before).all(has_run) {
                return found.iter().map(|it| it["health"].as_str().unwrap().to_owned()).collect();
            }
            assert!(start.elapsed() < NIGHT_MAX, "the night does not end");
            sleep(LOOK_EVERY);
        }
    }

    /// Runs all of `ids` once, beside `others`, and says what it took. Returns the seconds.
    fn run(&self, name: &str, ids: &[String], others: &[String]) -> u64 {
        let all = self.call("GET", "/api/connections?limit=1000", &Value::Null);
        let last = |id: &String| {
            let found = all.as_array().unwrap().iter().find(|it| it["id"] == **id);
            found.unwrap()["lastRunAt"].clone()
        };
        let before: Vec<Value> = ids.iter().map(last).collect();
        let (start, cpu, n_asked) = (Instant::now(), cpu_ms(self.id), self.graph.asked().len());
        for id in others.iter().chain(ids) {
            self.call("POST", &format!("/api/connections/{id}/sync"), &Value::Null);
        }
        let healths = self.wait(ids, &before);
        assert!(healths.iter().all(|it| it == "healthy"), "{healths:?}");
        let seconds = start.elapsed().as_secs();
        let n = self.graph.asked().len() - n_asked;
        Report::note(&format!("{name}, time"), format!("{seconds} s"));
        Report::note("requests to Graph for each tenant", quotient(n as u64, ids.len() as u64));
        Report::note("processor time", format!("{} ms", cpu_ms(self.id) - cpu));
        Report::note("resident memory", format!("{} MiB", memory_kib(self.id, "VmRSS") / 1_024));
        Report::note("peak", format!("{} MiB", memory_kib(self.id, "VmHWM") / 1_024));
        seconds
    }
}

pub(crate) fn measure(report: &mut Report) {
    Report::section("200 tenants of Microsoft 365, each with 100 people");
    let graph = Graph::start_with(N_PEOPLE);
    let people = || (0..N_PEOPLE).map(|n| (format!("u{n}"), format!("p{n}")));
    let users = people().map(|(id, name)| user(&id, &name)).collect();
    graph.answers.set("/users", Told::List(users));
    let registered = people().map(|(id, _)| registration(&id, true)).collect();
    let registrations = "/reports/authenticationMethods/userRegistrationDetails";
    graph.answers.set(registrations, Told::List(registered));
    graph.answers.set("token of silent.example", Told::Late(SILENCE));
    let folder = graph.folder();
    let server = folder.serve();
    folder.ok(&[
        "connect",
        "m365",
        "init",
        "--app-id",
        super::graph::APP,
        "--tenant",
        "msp.example",
        "--secret-file",
        "secret",
    ]);
    let night = Night { folder: &folder, graph: &graph, id: server.id() };
    let name = |n: usize| format!("Client {n}");
    let ids: Vec<String> = (0..N_TENANTS).map(|n| night.add(&name(n), "acme.example")).collect();
    night.wait(&ids, &vec![Value::Null; ids.len()]);
    let alone = night.run("a night", &ids, &[]);
    let silent: Vec<String> =
        (0..N_SILENT).map(|n| night.add(&name(N_TENANTS + n), "silent.example")).collect();
    let healths = night.wait(&silent, &vec![Value::Null; silent.len()]);
    assert!(healths.iter().all(|it| it == "failing"), "{healths:?}");
    let beside = night.run("beside 20 tenants that do not answer", &ids, &silent);
    let is_met = 4 * beside <= 5 * alone;
    report.goal("compared with the night alone", quotient(beside, alone), "1.25", is_met);
}
