//! What the document says about request bodies is what the service accepts: fields, types, null, words, lengths, bounds.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Operation, check, document, faults, operations};
use crate::harness::Answer;
use crate::strangers::world::{OF_A_SESSION, PASSWORD, World, in_order};

/// Operations that ignore fields they do not know.
const IGNORING: [&str; 4] = ["create_asset", "update_asset", "log_in", "put_exploited_list"];
/// Fields that the document does not require, because they are required only together with others.
const CONDITIONAL: [(&str, &str); 21] = [
    ("change_risk", "accepted"),
    ("change_risk", "until"),
    ("change_risk", "reason"),
    ("attest_control", "reason"),
    ("attest_control", "by"),
    ("decide_requirement", "reason"),
    ("say_estate_whole", "reason"),
    ("say_estate_whole", "by"),
    ("decide_estate", "reason"),
    ("decide_estate", "by"),
    ("decide_requirement", "evidence"),
    ("decide_requirement", "by"),
    ("add_evidence", "by"),
    ("recover_deliveries", "since"),
    ("add_task", "title"),
    ("try_batch", "by"),
    ("begin_batch", "by"),
    ("try_batch", "clientIds"),
    ("begin_batch", "clientIds"),
    ("decide_control_subjects", "ids"),
    ("decide_control_subjects", "by"),
];
/// Fields that are read only to say why they cannot be sent.
const UNDOCUMENTED: [(&str, &str); 1] = [("change_key", "source")];

/// A schema with its references and the parts of its `allOf` taken in.
fn flat(document: &Value, schema: &Value) -> Value {
    let mut flat = json!({});
    let mut take = |part: &Value| {
        for (name, value) in part.as_object().unwrap() {
            match (name.as_str(), flat.get_mut(name)) {
                ("properties", Some(known)) => {
                    known.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
                }
                ("required", Some(known)) => {
                    known.as_array_mut().unwrap().extend(value.as_array().unwrap().clone());
                }
                _ => flat[name] = value.clone(),
            }
        }
    };
    if let Some(reference) = schema["$ref"].as_str() {
        let found = document.pointer(reference.trim_start_matches('#')).unwrap();
        take(&self::flat(document, found));
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        take(&self::flat(document, part));
    }
    let null = json!([null]);
    let or_null = schema["anyOf"].as_array().filter(|it| it.iter().any(|it| it["enum"] == null));
    for part in or_null.into_iter().flatten() {
        if part["enum"] == null {
            take(&json!({"nullable": true}));
        } else {
            take(&self::flat(document, part));
        }
    }
    // All alternatives are objects; each has members of its own.
    if schema["oneOf"].is_array() {
        take(&json!({"type": "object"}));
    }
    let mut taken = vec!["$ref", "allOf"];
    taken.extend(or_null.map(|_| "anyOf"));
    let own = schema.as_object().unwrap().iter().filter(|it| !taken.contains(&it.0.as_str()));
    take(&own.map(|(name, value)| (name.clone(), value.clone())).collect());
    flat
}

/// One operation with a JSON body, and a body that it accepts.
struct Trial<'a> {
    world: &'a World,
    document: &'a Value,
    operation: &'a Operation,
    token: &'a str,
    /// Whether it ignores unknown fields.
    ignores: bool,
    lies: &'a RefCell<Vec<String>>,
    n_asked: Cell<u32>,
}

impl Trial<'_> {
    fn ask(&self, body: &Value) -> Answer {
        let (path, _) = self.world.filled(self.operation, None, &self.world.client);
        let n = self.n_asked.replace(self.n_asked.get() + 1);
        // Every accepted user needs an email of its own.
        let body = body.to_string().replace("new@example.com", &format!("new{n}@example.com"));
        let body = body.into_bytes();
        if OF_A_SESSION.contains(&self.operation.id.as_str()) {
            return self.world.tell_as(self.operation, self.token, &path, &body);
        }
        self.world.operator(self.operation, &path, &body)
    }

    /// The field that the answer names, and what it says about it.
    fn told(answer: &Answer) -> Option<(String, String)> {
        if answer.status != 400 {
            return None;
        }
        let detail = answer.json()["error"]["details"][0].clone();
        Some((detail["field"].as_str()?.to_owned(), detail["message"].as_str()?.to_owned()))
    }

    fn refuses(&self, body: &Value, path: &str, why: &str) {
        let answer = self.ask(body);
        let id = &self.operation.id;
        let told = Self::told(&answer);
        let about = format!("{id} {path} {why}: {} {:.300}", answer.status, answer.text());
        let field = told.map(|it| it.0).unwrap_or_default();
        let is_inside =
            field.starts_with(&format!("{path}[")) || field.starts_with(&format!("{path}."));
        // serde does not know where it is inside of a condition.
        let is_around = field == "condition" && path.starts_with("condition.");
        if !(field == path || is_inside || is_around) {
            self.lies.borrow_mut().push(about);
        }
    }

    /// Other rules may still refuse the body, but not this one about the field.
    fn does_not_refuse(&self, body: &Value, path: &str, rules: &[&str], why: &str) {
        let answer = self.ask(body);
        let Some((field, message)) = Self::told(&answer) else { return };
        let is_refused = field == path && rules.iter().any(|it| message.contains(it));
        if is_refused {
            let about = format!("{} {path} {why}: {message}", self.operation.id);
            self.lies.borrow_mut().push(about);
        }
    }

    /// Tries all fields of the object at `at` in `body`, where the schema is that of the object.
    fn walk(&self, schema: &Value, body: &Value, at: &str) {
        let schema = flat(self.document, schema);
        let pointer = pointer(at);
        let base = body.pointer(&pointer).unwrap();
        let with = |name: &str, value: Option<Value>| {
            let mut body = body.clone();
            let object = body.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
            match value {
                Some(value) => drop(object.insert(name.to_owned(), value)),
                None => drop(object.remove(name)),
            }
            body
        };
        let path =
            |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        self.walk_names(&schema, &with("unknownField", Some(json!(1))), &path("unknownField"));
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, of_field) in schema["properties"].as_object().unwrap() {
            let (path, of_field) = (path(name), flat(self.document, of_field));
            if required.contains(&json!(name)) {
                self.refuses(&with(name, None), &path, "is absent");
            } else if !CONDITIONAL.contains(&(&self.operation.id, name)) {
                self.does_not_refuse(&with(name, None), &path, &["is required"], "is absent");
            }
            let null = with(name, Some(Value::Null));
            if of_field["nullable"] == true {
                self.does_not_refuse(&null, &path, &["null"], "is null");
            } else {
                self.refuses(&null, &path, "is null");
            }
            for (bad, why) in bad_values(&of_field) {
                self.refuses(&with(name, Some(bad)), &path, why);
            }
            for good in good_values(&of_field) {
                let rules = ["characters", "bytes", "at most", "integer from", "must be 1 to"];
                self.does_not_refuse(&with(name, Some(good)), &path, &rules, "is at a bound");
            }
            let item = flat(
                self.document,
                &of_field["items"].as_object().map_or(json!({}), |it| json!(it)),
            );
            if item["properties"].is_object() && base[name].is_array() {
                self.walk(&item, body, &format!("{path}[0]"));
            }
            if of_field["properties"].is_object() && base[name].is_object() {
                self.walk(&of_field, body, &path);
            }
        }
    }

    /// serde lists the fields that it knows when it meets one that it does not know.
    fn walk_names(&self, schema: &Value, body: &Value, path: &str) {
        if self.ignores {
            return self.does_not_refuse(body, path, &[""], "is unknown");
        }
        let answer = self.ask(body);
        let id = &self.operation.id;
        let told = Self::told(&answer);
        let (_, message) =
            told.unwrap_or_else(|| panic!("{id} {path} is taken: {:.200}", answer.text()));
        let known = message.split_once(", expected ").map(|it| it.1);
        let none = message.ends_with(", there are no fields").then_some("");
        let known = known.or(none).unwrap_or_else(|| panic!("{message}"));
        let mut known: BTreeSet<&str> = known.split('`').skip(1).step_by(2).collect();
        let is_known = |it: &&(&str, &str)| it.0 == self.operation.id;
        known.retain(|name| !UNDOCUMENTED.iter().filter(is_known).any(|it| it.1 == *name));
        let documented = schema["properties"].as_object().unwrap().keys().map(String::as_str);
        // The word that tells which of several objects it is was read before.
        let documented: BTreeSet<_> =
            documented.filter(|it| !(*it == "type" && path.starts_with("condition."))).collect();
        if known != documented {
            let about = format!("{} {path}: {known:?} {documented:?}", self.operation.id);
            self.lies.borrow_mut().push(about);
        }
    }
}

/// `a[0].b` as a JSON pointer.
fn pointer(path: &str) -> String {
    let parts = path.split(['.', '[']).map(|it| it.trim_end_matches(']'));
    parts.filter(|it| !it.is_empty()).flat_map(|it| ["/", it]).collect()
}

fn bound(schema: &Value, name: &str) -> Option<i64> {
    schema[name].as_f64().map(|it| format!("{it:.0}").parse().unwrap())
}

fn size(schema: &Value, name: &str) -> Option<usize> {
    schema[name].as_u64().map(|it| usize::try_from(it).unwrap())
}

/// Values that break a rule of the schema.
fn bad_values(schema: &Value) -> Vec<(Value, &'static str)> {
    let mut bad = vec![match schema["type"].as_str() {
        Some("string") => (json!(5), "is a number"),
        Some("array") => (json!({}), "is an object"),
        Some(_) => (json!("x"), "is a text"),
        None => panic!("{schema} has no type"),
    }];
    if schema["enum"].is_array() {
        bad.push((json!("no-such-word"), "is another word"));
    }
    if schema["format"].is_string() && schema["type"] == "string" {
        bad.push((json!("x"), "has another format"));
    }
    if schema["pattern"].is_string() {
        bad.push((json!("x".repeat(64)), "does not match the pattern"));
    }
    if size(schema, "minLength").is_some_and(|it| 0 < it) {
        bad.push((json!(""), "is empty"));
    }
    if let Some(n) = size(schema, "maxLength") {
        bad.push((json!("x".repeat(n + 1)), "is too long"));
    }
    if let Some(least) = bound(schema, "minimum") {
        bad.push((json!(least - 1), "is too small"));
    }
    if let Some(most) = bound(schema, "maximum") {
        bad.push((json!(most + 1), "is too large"));
    }
    if size(schema, "minItems").is_some_and(|it| 0 < it) {
        bad.push((json!([]), "has no items"));
    }
    if let Some(n) = size(schema, "maxItems") {
        let id = |it: usize| format!("0195a000-0000-7000-8000-{it:012}");
        let items: Vec<_> = (0..=n)
            .map(|it| if schema["items"]["format"] == "uuid" { id(it) } else { "x".to_owned() })
            .collect();
        bad.push((json!(items), "has too many items"));
    }
    bad
}

/// Values at the bounds of the schema.
fn good_values(schema: &Value) -> Vec<Value> {
    let is_free =
        schema["format"].is_null() && schema["enum"].is_null() && schema["pattern"].is_null();
    let longest = size(schema, "maxLength").filter(|_| is_free).map(|n| json!("x".repeat(n)));
    let bounds = ["minimum", "maximum"].map(|it| bound(schema, it).map(|it| json!(it)));
    longest.into_iter().chain(bounds.into_iter().flatten()).collect()
}

/// A body with something in every list, for those operations whose shortest body tries too little.
fn fuller(id: &str) -> Option<Value> {
    Some(match id {
        "change_risk" => {
            json!({"accepted": true, "until": "2026-04-01T00:00:00Z", "reason": "r", "by": "b"})
        }
        "decide_requirement" => {
            json!({"decision": "attested", "evidence": "e", "reason": "r", "by": "b"})
        }
        "change_own_password" => {
            json!({"currentPassword": PASSWORD, "newPassword": "nine ochre moths, kettle"})
        }
        "push_facts" => json!({
            "source": "test",
            "observations": [{"control": "CLD-01", "status": "compliant"}],
            "identities": [{"user": "u", "admin": false, "enabled": true}],
            "assets": [{"externalId": "e", "name": "n", "assetType": "server"}],
            "apps": [{"name": "n", "users": 1}],
            "evidence": [{"control": "CLD-01", "title": "t", "reference": "r"}],
            "sync": {"status": "completed"},
        }),
        _ => return None,
    })
}

#[test]
fn bodies_are_read_as_they_are_documented() {
    let (world, document) = (World::new(), document());
    let token = world.token("analyst", &[]);
    let lies = RefCell::default();
    let mut n_bodies = 0;
    for operation in operations() {
        let content = &operation.described["requestBody"]["content"];
        let schema = &content["application/json"]["schema"];
        if schema.is_null() {
            continue;
        }
        n_bodies += 1;
        let (_, body) = world.filled(&operation, None, &world.client);
        let body = fuller(&operation.id).unwrap_or_else(|| serde_json::from_slice(&body).unwrap());
        let mut found = faults(&document, schema, &body, &operation.id);
        found.retain(|it| !it.contains("date-time")); // That is how answers write times.
        assert!(found.is_empty(), "{found:?}");
        let (operation, document) = (&operation, &document);
        let ignores = IGNORING.contains(&operation.id.as_str());
        let lies = &lies;
        let trial = Trial {
            world: &world,
            document,
            operation,
            token: &token,
            ignores,
            lies,
            n_asked: Cell::new(0),
        };
        trial.walk(schema, &body, "");
        if operation.id == "add_alert_rule" {
            walk_conditions(&trial, &body);
        }
    }
    assert_eq!(n_bodies, 54);
    let lies = lies.into_inner();
    assert!(lies.is_empty(), "{}", lies.join("\n"));
}

/// Each kind of condition, with a value for each of its fields.
fn walk_conditions(trial: &Trial<'_>, rule: &Value) {
    let all = &trial.document["components"]["schemas"]["AlertCondition"]["oneOf"];
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 7);
    for schema in all {
        let flat = self::flat(trial.document, schema);
        let value = |(name, schema): (&String, &Value)| {
            let schema = self::flat(trial.document, schema);
            let value = match (&schema["enum"][0], bound(&schema, "minimum"), &schema["example"]) {
                (Value::Null, Some(least), _) => json!(least),
                (Value::Null, None, Value::Null) => json!("CLD-01"),
                (Value::Null, None, example) => example.clone(),
                (word, _, _) => word.clone(),
            };
            (name.clone(), value)
        };
        let condition: Value = flat["properties"].as_object().unwrap().iter().map(value).collect();
        let mut rule = rule.clone();
        rule["condition"] = condition;
        trial.walk(schema, &rule, "condition");
    }
}

#[test]
fn every_operation_answers_as_it_is_documented() {
    let (world, document) = (World::new(), document());
    // The lines of an export are not one JSON text, and tables and documents are none.
    let no_json = ["get_evidence_file", "get_logo", "get_portfolio_report", "get_posture_report"];
    let is_json =
        |it: &Operation| !it.path.ends_with("/export") && !no_json.contains(&it.id.as_str());
    let operations = operations().into_iter().filter(is_json);
    for operation in in_order(operations.collect()) {
        let (mut path, body) = world.filled(&operation, None, &world.client);
        if operation.id == "get_client_report" {
            path.push_str("?format=oscal");
        }
        check(&document, &operation.id, &world.operator(&operation, &path, &body));
    }
}
