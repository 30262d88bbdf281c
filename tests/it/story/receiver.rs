//! The ticket system of an MSP: it pulls the log of events and opens and closes tickets by `dedupKey`, as the README
//! tells it to. It panics where it would have to ask somebody.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::harness::Posture;

/// Types whose conditions close without an event: what is open is listed.
const SILENT_ENDS: [&str; 5] = [
    "mfa_disabled",
    "admin_mfa_missing",
    "privilege_escalation",
    "dormant_account_detected",
    "shadow_it_detected",
];

#[derive(Clone, Debug)]
struct Ticket {
    /// As a person reads it.
    name: String,
    kind: String,
    occurrence: u64,
}

/// What one client's events came to.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Tickets and other news that somebody looks at: night and what.
    pub log: Vec<(usize, String)>,
    /// Events by type.
    pub counts: BTreeMap<String, usize>,
    /// Nights with changes of readiness or score, or drift, and why.
    pub moves: BTreeSet<(usize, String)>,
    /// Readiness by framework and the score, as they were last told.
    shown: BTreeMap<String, Value>,
}

#[derive(Default)]
pub struct Receiver {
    last: u64,
    tickets: BTreeMap<(String, String), Ticket>,
    discovered: BTreeSet<String>,
    pub told: BTreeMap<String, Told>,
}

impl Receiver {
    /// Reads what is new, then what is open.
    pub fn pull(&mut self, posture: &Posture, night: usize) {
        loop {
            let path = format!("/api/events?after={}&limit=100", self.last);
            let page = posture.operator("GET", &path, &Value::Null).json()["data"].clone();
            let page = page.as_array().unwrap();
            if page.is_empty() {
                break;
            }
            for event in page {
                self.last = event["data"]["object"]["sequence"].as_u64().unwrap();
                self.hear(event, night);
            }
        }
        self.compare(posture, night);
    }

    fn hear(&mut self, event: &Value, night: usize) {
        let (kind, data) = (event["type"].as_str().unwrap(), &event["data"]);
        let (client, object) = (data["clientId"].as_str().unwrap(), &data["object"]);
        let told = self.told.entry(client.to_owned()).or_default();
        *told.counts.entry(kind.to_owned()).or_default() += 1;
        match kind {
            "risk_item_resolved" => {
                self.close(client, object, night, object["resolution"].as_str());
            }
            "connector_health_changed" if object["status"] == "healthy" => {
                self.close(client, object, night, None);
            }
            "asset_discovered" => {
                let id = object["id"].as_str().unwrap().to_owned();
                assert!(self.discovered.insert(id), "discovered twice: {object}");
                told.log.push((night, format!("discovered {}", object["name"].as_str().unwrap())));
            }
            "compliance_status_changed" => told.moved(object, data, "readinessScore", night),
            "security_score_changed" => told.moved(object, data, "overallScore", night),
            "compliance_drift_detected" => _ = told.moves.insert((night, "drift".to_owned())),
            "risk_assessment_completed" => {
                if object["baseline"] == true {
                    told.shown.clear(); // Its changes are not told.
                }
            }
            "security_score_threshold_crossed" | "integration_sync_completed" => (),
            "integration_sync_failed" => told.log.push((night, "sync failed".to_owned())),
            _ => self.open(client, kind, object, night),
        }
    }

    fn open(&mut self, client: &str, kind: &str, object: &Value, night: usize) {
        let occurrence = object["occurrence"].as_u64().unwrap();
        let key = (client.to_owned(), object["dedupKey"].as_str().unwrap().to_owned());
        let ticket = Ticket { name: name(kind, object), kind: kind.to_owned(), occurrence };
        let log = &mut self.told.get_mut(client).unwrap().log;
        match self.tickets.insert(key, ticket) {
            None => log.push((night, format!("open {} #{occurrence}", name(kind, object)))),
            Some(before) => {
                let is_news = matches!(kind, "critical_risk_detected" | "connector_health_changed");
                assert!(is_news, "a second ticket for {before:?}: {object}");
                assert_eq!(before.occurrence, occurrence, "{object}");
                // A critical risk is told of as a risk too; a source is told of when it does otherwise.
                let is_other = before.name != name(kind, object);
                assert_eq!(is_other, kind == "connector_health_changed", "told twice: {object}");
                if is_other {
                    log.push((night, format!("now {}", name(kind, object))));
                }
            }
        }
    }

    fn close(&mut self, client: &str, object: &Value, night: usize, how: Option<&str>) {
        let key = (client.to_owned(), object["dedupKey"].as_str().unwrap().to_owned());
        let ticket = self.tickets.remove(&key);
        let ticket = ticket.unwrap_or_else(|| panic!("nothing is open for {object}"));
        assert_eq!(object["occurrence"], ticket.occurrence, "{object}");
        let how = how.map(|it| format!(" ({it})")).unwrap_or_default();
        let log = &mut self.told.get_mut(client).unwrap().log;
        log.push((night, format!("close {} #{}{how}", ticket.name, ticket.occurrence)));
    }

    /// Closes what is no longer open, and takes over what a first look found.
    fn compare(&mut self, posture: &Posture, night: usize) {
        let mut open = BTreeSet::new();
        let mut after = String::new();
        loop {
            let path = format!("/api/conditions?limit=100{after}");
            let page = posture.operator("GET", &path, &Value::Null).json()["data"].clone();
            let Some(last) = page.as_array().unwrap().last() else { break };
            after =
                format!("&after={}/{}", text(last, "clientId"), escaped(&text(last, "dedupKey")));
            for it in page.as_array().unwrap() {
                let key = (text(it, "clientId"), text(it, "dedupKey"));
                open.insert(key.clone());
                let (kind, occurrence) = (text(it, "type"), it["occurrence"].as_u64().unwrap());
                let named = name(&kind, &it["object"]);
                let told = self.told.entry(key.0.clone()).or_default();
                match self.tickets.get(&key) {
                    Some(ticket) => assert_eq!(ticket.occurrence, occurrence, "{it}"),
                    None => told.log.push((night, format!("found {named} #{occurrence}"))),
                }
                self.tickets.insert(key, Ticket { name: named, kind, occurrence });
            }
        }
        let over: Vec<_> = self.tickets.extract_if(.., |key, _| !open.contains(key)).collect();
        for ((client, _), ticket) in over {
            assert!(SILENT_ENDS.contains(&&*ticket.kind), "{ticket:?} ended without a word");
            let log = &mut self.told.get_mut(&client).unwrap().log;
            log.push((night, format!("close {} #{}", ticket.name, ticket.occurrence)));
        }
    }
}

impl Told {
    /// A number moved from what was told before.
    fn moved(&mut self, object: &Value, data: &Value, member: &str, night: usize) {
        let (to, from) = (&object[member], &data["previous"][member]);
        assert_ne!(to, from, "{data}");
        let key = object["dedupKey"].as_str().unwrap().to_owned();
        if let Some(before) = self.shown.insert(key, to.clone()) {
            assert_eq!(before, *from, "{data}");
        }
        self.moves.insert((night, object["cause"].as_str().unwrap().to_owned()));
    }
}

fn text(it: &Value, member: &str) -> String {
    it[member].as_str().unwrap().to_owned()
}

fn escaped(key: &str) -> String {
    key.replace('%', "%25").replace(' ', "%20")
}

/// A condition as the log names it.
fn name(kind: &str, object: &Value) -> String {
    let what = ["title", "user", "app", "source"].map(|it| &object[it]);
    let what = what.into_iter().find(|it| **it != json!(null)).unwrap().as_str().unwrap();
    let what = what.trim_end_matches("@example.com");
    let kind = if kind.contains("risk") { "risk" } else { kind };
    let status = object["status"].as_str().filter(|_| kind == "connector_health_changed");
    format!("{kind}: {what}{}", status.map(|it| format!(" {it}")).unwrap_or_default())
}
