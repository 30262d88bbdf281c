//! The dashboard's figures, held against everything that they sum up.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{GOOD, MIXED, import, patched, posted, prowler, read};
use crate::harness::Posture;
use crate::harness::backend::Random;
use crate::harness::long::is_long;

const PASSWORD: &str = "ochre kettle, nine moths";

fn kpis(posture: &Posture) -> Value {
    read(posture, "/api/dashboard/kpis")
}

fn pages(posture: &Posture, key: &str, path: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let page = posture.read(key, &format!("{path}?limit=100&offset={}", all.len()));
        let page = page["data"].as_array().unwrap().clone();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

fn count(all: &[Value], member: &str, value: &Value) -> usize {
    all.iter().filter(|it| it[member] == *value).count()
}

fn mean(all: &[u64]) -> Value {
    (!all.is_empty()).then(|| all.iter().sum::<u64>() / all.len() as u64).into()
}

/// The same figures from the lists that anybody can read.
fn counted(posture: &Posture, key: &str) -> Value {
    let clients = pages(posture, key, "/clients");
    let all = read(posture, "/api/clients?limit=100");
    let (mut scores, mut coverages) = (Vec::new(), Vec::new());
    let (mut risks, mut assets, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
    let (mut sources, mut exposures) = (Vec::new(), Vec::new());
    let mut readiness: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for client in &clients {
        let id = client["id"].as_str().unwrap();
        let score = posture.read(key, &format!("/clients/{id}/scores"))["data"]["current"].clone();
        let rollup = posture.read(key, &format!("/clients/{id}/compliance"))["data"].clone();
        for it in rollup.as_array().unwrap() {
            let known = readiness.entry(it["framework"].as_str().unwrap().to_owned()).or_default();
            known.extend(score["overallScore"].as_u64().and(it["readinessScore"].as_u64()));
        }
        scores.extend(score["overallScore"].as_u64());
        let explained = read(posture, &format!("/api/clients/{id}/posture"));
        coverages.extend(explained["coverage"].as_u64());
        exposures.extend(explained["expectedLoss"]["exposure"].as_u64());
        risks.extend(pages(posture, key, &format!("/clients/{id}/risks")));
        assets.extend(pages(posture, key, &format!("/clients/{id}/assets")));
        let own = read(posture, &format!("/api/tasks?limit=100&clientId={id}"));
        tasks.extend(own.as_array().unwrap().clone());
        let open = read(posture, &format!("/api/conditions?limit=100&clientId={id}"));
        let open = open.as_array().unwrap().iter();
        let silent = open.filter(|it| it["type"] == "connector_health_changed");
        sources.extend(silent.map(|it| it["object"].clone()));
    }
    assets.retain(|it| it["status"] != "retired");
    tasks.retain(|it| it["status"] == "open" || it["status"] == "in_progress");
    let grade = |from: u64, to: u64| scores.iter().filter(|it| (from..=to).contains(it)).count();
    let severity = |it: &str| count(&risks, "severity", &json!(it));
    let ready = posture::engine::framework::FrameworkId::CONTRACT.map(|it| {
        let known = readiness.get(it.as_str()).cloned().unwrap_or_default();
        json!({ "framework": it.as_str(), "clients": known.len(), "mean": mean(&known) })
    });
    json!({
        "clients": {
            "total": all.as_array().unwrap().len(), "active": clients.len(), "scored": scores.len(),
            "unscored": clients.len() - scores.len(),
        },
        "meanScore": mean(&scores),
        "grades": {
            "A": grade(90, 100), "B": grade(80, 89), "C": grade(70, 79), "D": grade(60, 69),
            "F": grade(0, 59),
        },
        "coverage": mean(&coverages),
        "readiness": ready,
        "risks": {
            "critical": severity("critical"), "high": severity("high"),
            "medium": severity("medium"), "low": severity("low"),
        },
        "exposure": {
            "sum": exposures.iter().sum::<u64>(),
            "unknown": count(&risks, "dollarImpact", &Value::Null),
        },
        "assets": {
            "total": assets.len(), "critical": count(&assets, "isCritical", &json!(true)),
            "unmanaged": count(&assets, "isManaged", &json!(false)),
        },
        "tasks": { "open": tasks.len(), "overdue": count(&tasks, "overdue", &json!(true)) },
        "sources": {
            "failing": count(&sources, "status", &json!("failing")),
            "silent": count(&sources, "status", &json!("silent")),
        },
    })
}

fn check(posture: &Posture, key: &str, step: &str) {
    let (mut shown, counted) = (kpis(posture), counted(posture, key));
    let members = shown.as_object_mut().unwrap();
    members.remove("attention").unwrap();
    members.remove("webhooksFailing").unwrap();
    assert_eq!(members.remove("scansRunning"), Some(json!(0)));
    assert_eq!(shown, counted, "after {step}");
}

struct World {
    posture: Posture,
    key: String,
    clients: Vec<String>,
    random: Random,
}

impl World {
    fn pick(&mut self, n: usize) -> usize {
        usize::try_from(self.random.below(n as u64)).unwrap()
    }

    fn push(&self, client: &str, facts: &Value) {
        let mut body = json!({ "source": "entra", "scope": "tenant" });
        body.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
        let answer = self.posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    fn add_client(&mut self) {
        let employees = [json!(null), json!(40)][self.pick(2)].clone();
        let name = format!("Client {}", self.clients.len());
        let body = json!({ "name": name, "employeeCount": employees, "industry": "Legal" });
        self.clients.push(self.posture.client_with(&body));
    }

    /// Something of a client, if it has any of it.
    fn one(&mut self, path: &str) -> Option<String> {
        let all = pages(&self.posture, &self.key, path);
        let n = all.len().max(1);
        let index = self.pick(n);
        all.get(index).map(|it| it["id"].as_str().unwrap().to_owned())
    }

    /// Sends a complete list of assets, some of them not there the next time.
    fn list_assets(&mut self, client: &str) {
        let asset = |n: usize| {
            json!({
                "externalId": format!("a{n}"), "name": format!("pc {n}"), "assetType": "server",
                "isCritical": n.is_multiple_of(3), "isManaged": n.is_multiple_of(2),
            })
        };
        let n = self.pick(5);
        let all: Vec<_> = (0..n).map(asset).collect();
        self.push(client, &json!({ "complete": true, "assets": all, "observations": [] }));
    }

    fn accept_or_not(&mut self, client: &str) {
        let Some(risk) = self.one(&format!("/clients/{client}/risks")) else { return };
        let path = format!("/api/clients/{client}/risks/{risk}");
        let until = self.posture.now().plus_days(2).to_string();
        let accepted = json!({ "accepted": true, "until": until, "reason": "r" });
        patched(&self.posture, &path, &accepted);
        if self.pick(3) == 0 {
            patched(&self.posture, &path, &json!({ "accepted": false }));
        }
    }

    fn work_on_tasks(&mut self, client: &str) {
        let all = read(&self.posture, &format!("/api/tasks?limit=100&clientId={client}"));
        let all = all.as_array().unwrap();
        if all.is_empty() || self.pick(2) == 0 {
            let hours = i64::try_from(self.pick(72)).unwrap() - 12;
            let due_at = self.posture.now().plus_s(3_600 * hours).to_string();
            posted(
                &self.posture,
                "/api/tasks",
                &json!({ "clientId": client, "title": "t", "dueAt": due_at }),
            );
            return;
        }
        let task = all[self.pick(all.len())]["id"].as_str().unwrap().to_owned();
        let status = ["open", "in_progress", "done", "cancelled"][self.pick(4)];
        patched(&self.posture, &format!("/api/tasks/{task}"), &json!({ "status": status }));
    }

    fn change_asset(&mut self, client: &str) {
        let n = self.pick(4);
        let asset = json!({
            "clientId": client, "externalId": format!("p{n}"), "name": "pushed", "assetType": "server",
            "isCritical": n == 0,
        });
        assert!(self.posture.send("POST", &self.key, "/assets", &asset).status < 300);
        if let Some(id) = self.one(&format!("/clients/{client}/assets")) {
            let is_critical = self.pick(2) == 0;
            let change = json!({ "isCritical": is_critical });
            let answer = self.posture.send("PUT", &self.key, &format!("/assets/{id}"), &change);
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    }

    fn undo_import(&mut self, client: &str) {
        let all = read(&self.posture, &format!("/api/clients/{client}/imports"));
        let Some(import) = all.as_array().unwrap().first() else { return };
        let path = format!("/api/clients/{client}/imports/{}", import["id"].as_str().unwrap());
        let answer = self.posture.operator("DELETE", &path, &Value::Null);
        assert!([200, 409].contains(&answer.status), "{}", answer.text());
    }

    /// One random change; what it was.
    fn step(&mut self) -> &'static str {
        let index = self.pick(self.clients.len());
        let client = self.clients[index].clone();
        let path = format!("/api/clients/{client}");
        let statuses = ["compliant", "partial", "non_compliant"];
        let is_active = read(&self.posture, &path)["active"] == true;
        match if is_active { self.pick(13) } else { 9 } {
            0 | 1 => {
                let all = if self.pick(2) == 0 { GOOD } else { MIXED };
                import(&self.posture, &client, "again=true", all);
                "an import"
            }
            2 | 3 => {
                let status = statuses[self.pick(3)];
                let observation = json!({ "control": "DAT-01", "status": status });
                self.push(&client, &json!({ "complete": true, "observations": [observation] }));
                "facts"
            }
            4 => (self.list_assets(&client), "a list of assets").1,
            5 => {
                self.push(&client, &json!({ "sync": { "status": "failed" } }));
                "a failed run"
            }
            6 => (self.accept_or_not(&client), "an acceptance").1,
            7 | 8 => (self.work_on_tasks(&client), "a task").1,
            9 => {
                let is_active = self.pick(3) != 0;
                patched(&self.posture, &path, &json!({ "active": is_active }));
                "a client's state"
            }
            10 => {
                if self.pick(4) == 0 {
                    assert_eq!(self.posture.operator("DELETE", &path, &Value::Null).status, 200);
                    self.clients.remove(index);
                    self.add_client();
                }
                "a removal"
            }
            11 => (self.undo_import(&client), "an import taken back").1,
            _ => {
                let days = [1, 1, 2, 3, 9][self.pick(5)];
                self.posture.pass_days(days);
                "time"
            }
        }
    }
}

#[test]
fn the_figures_are_those_of_the_lists_whatever_happened() {
    for seed in 1..=if is_long() { 2 } else { 1 } {
        let posture = Posture::start();
        let (key, random) = (posture.key(), Random::from_seed(seed));
        let mut world = World { posture, key, clients: Vec::new(), random };
        (0..4).for_each(|_| world.add_client());
        check(&world.posture, &world.key, "nothing");
        for n in 0..80 {
            world.posture.pass_s(60);
            let index = world.pick(world.clients.len());
            let client = world.clients[index].clone();
            if read(&world.posture, &format!("/api/clients/{client}"))["active"] == true {
                world.change_asset(&client);
            }
            let step = world.step();
            world.posture.sweep();
            check(&world.posture, &world.key, &format!("{step}, {n} of seed {seed}"));
        }
    }
}

#[test]
fn without_clients_there_is_nothing_to_show() {
    let posture = Posture::start();
    let shown = kpis(&posture);
    assert_eq!(shown["clients"], json!({ "total": 0, "active": 0, "scored": 0, "unscored": 0 }));
    assert_eq!((&shown["meanScore"], &shown["coverage"]), (&Value::Null, &Value::Null));
    assert_eq!((&shown["attention"], &shown["webhooksFailing"]), (&json!([]), &json!(0)));
}

#[test]
fn clients_that_need_attention_come_with_their_reasons() {
    let posture = Posture::start();
    let [fine, risky, late] = ["Fine", "Risky", "Late"].map(|it| posture.client(it));
    let answer = posture.import(&risky, "observedAt=now", &prowler(MIXED));
    assert_eq!(answer.status, 200);
    let due_at = posture.now().to_string();
    posted(&posture, "/api/tasks", &json!({ "clientId": late, "title": "t", "dueAt": due_at }));
    posture.sweep();
    let shown = kpis(&posture)["attention"].clone();
    let names: Vec<_> = shown.as_array().unwrap().iter().map(|it| &it["clientName"]).collect();
    assert_eq!(names, ["Risky", "Late"], "not {fine}");
    assert_eq!(shown[0]["clientId"], risky);
    let reasons = shown[0]["reasons"].as_array().unwrap();
    assert_eq!((&reasons[0], &reasons[2]), (&json!("1 critical risk"), &json!("1 high risk")));
    assert!(reasons[1].as_str().unwrap().starts_with("score "), "{reasons:?}");
    assert_eq!(shown[1]["reasons"], json!(["1 task overdue"]));
}

#[test]
fn a_user_sees_the_figures_of_the_own_clients_alone() {
    let posture = Posture::start();
    let [mine, theirs] = ["Mine", "Theirs"].map(|it| posture.client(it));
    for client in [&mine, &theirs] {
        import(&posture, client, "", MIXED);
    }
    let body = json!({
        "email": "ada@example.com", "role": "viewer", "password": PASSWORD, "clientIds": [mine],
    });
    assert_eq!(posture.operator("POST", "/api/users", &body).status, 201);
    let token = posture.log_in("ada@example.com", PASSWORD);
    let get = |path: &str| posture.as_user(&token, "GET", path, &Value::Null);
    let shown = get("/api/dashboard/kpis").json()["data"].clone();
    assert_eq!(shown["clients"]["total"], 1);
    assert_eq!((&shown["risks"]["critical"], &shown["webhooksFailing"]), (&json!(1), &Value::Null));
    assert_eq!(shown["attention"].as_array().unwrap().len(), 1);
    assert_eq!(kpis(&posture)["risks"]["critical"], 2);
    let lines = get("/api/portfolio/compliance?framework=SOC2").json();
    assert_eq!(lines["pagination"]["total"], 1);
    assert_eq!(lines["data"][0]["clientId"], mine);
    let statuses: Vec<_> = (0..30).map(|_| get("/api/dashboard/kpis").status).collect();
    assert_eq!((&statuses[..29], statuses[29]), (&[200; 29][..], 429), "thirty a minute");
}
