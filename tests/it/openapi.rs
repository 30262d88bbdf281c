//! The document says what the service does, and the service does what it says.

mod body;
mod law;
mod needs_generators;
mod needs_npm;
mod needs_schemathesis;
mod own;

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::harness::{Answer, Posture, send};

/// One operation of the document.
pub(crate) struct Operation {
    pub(crate) method: String,
    /// With `{parameters}`.
    pub(crate) path: String,
    pub(crate) id: String,
    /// Of a key. `None`: any key or none does.
    pub(crate) scope: Option<String>,
    /// Each of them is enough. The first is `scope`.
    pub(crate) scopes: Vec<String>,
    pub(crate) takes_keys: bool,
    /// Of a user, as the document's scheme says it. `None`: the versioned interface, or open to all.
    pub(crate) role: Option<String>,
    pub(crate) described: Value,
}

/// The document of an installation without `server.public_url`.
pub(crate) static DOCUMENT: LazyLock<String> =
    LazyLock::new(|| posture::api::document::write(None));

pub(crate) fn document() -> Value {
    serde_json::from_str(&DOCUMENT).unwrap()
}

/// Every operation, in the document's order.
pub(crate) fn operations() -> Vec<Operation> {
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, item): (&String, &Value)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(|(method, it)| operation(method, path, it)).collect::<Vec<_>>()
    };
    paths.iter().flat_map(of_path).collect()
}

fn operation(method: &str, path: &str, described: &Value) -> Operation {
    let text = described["description"].as_str().unwrap_or_default();
    let schemes: Vec<&str> = described["security"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|it| it.as_object().unwrap().keys().map(String::as_str))
        .collect();
    let named = text.split("Scope: ").nth(1).and_then(|it| it.split('.').next());
    let words = named.into_iter().flat_map(|it| it.split('`').skip(1).step_by(2));
    let scopes: Vec<String> = words.map(str::to_owned).collect();
    Operation {
        method: method.to_uppercase(),
        path: path.to_owned(),
        id: described["operationId"].as_str().unwrap_or_default().to_owned(),
        scope: scopes.first().cloned(),
        scopes,
        takes_keys: schemes.contains(&"ApiKey"),
        role: schemes.iter().find(|it| **it != "ApiKey").map(|it| it.to_lowercase()),
        described: described.clone(),
    }
}

/// What outside systems rely on. A change here is a change of the contract.
const GOLDEN: &str = include_str!("openapi/operations.txt");

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn paths_ids_and_scopes_are_as_they_were_promised() {
    let line = |it: Operation| {
        let key = if it.takes_keys { it.scope.as_deref().unwrap_or("any") } else { "none" };
        let role = it.role.as_deref().unwrap_or("none");
        format!("{} {} {} {key} {role}\n", it.method, it.path, it.id)
    };
    let shown: String = operations().into_iter().map(line).collect();
    assert_eq!(sorted(&shown), sorted(GOLDEN));
    let document = document();
    assert_eq!(document["info"]["version"], "1.0.0");
    let tags = document["tags"].as_array().unwrap();
    let tags: Vec<_> = tags.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(tags, ["Versioned", "Sessions, users, scans, dashboard", "Management"]);
    let text = &*DOCUMENT;
    let place = |path: &str| text.find(&format!("\"{path}\": {{")).unwrap();
    let places = ["/api/v1/clients", "/auth/login", "/api/scan", "/api/clients"].map(place);
    assert!(places.is_sorted(), "the contract's operations come first: {places:?}");
}

#[test]
fn every_operation_says_who_may_and_what_goes_wrong() {
    let schemes = &document()["components"]["securitySchemes"];
    for operation in operations() {
        let Operation { id, described, .. } = &operation;
        assert!(!id.is_empty() && described["summary"].is_string(), "{}", operation.path);
        let requirements = described["security"].as_array().into_iter().flatten();
        let named: Vec<_> = requirements.flat_map(|it| it.as_object().unwrap().keys()).collect();
        assert_eq!(named.is_empty(), id == "log_in", "{id} is open to all");
        for scheme in named {
            assert!(schemes[scheme]["type"].is_string(), "{id} has an unknown scheme {scheme}");
        }
        let text = described["description"].as_str().unwrap_or_default();
        let names_keys = operation.scope.is_some() || text.contains("Any valid API key.");
        assert_eq!(operation.takes_keys, names_keys, "{id}");
        for status in ["400", "401", "403", "404", "408", "414", "429", "500", "503"] {
            let content = &described["responses"][status]["content"];
            let body = &content["application/json; charset=utf-8"]["schema"];
            assert_eq!(body["$ref"], "#/components/schemas/ErrorBody", "{id} {status}");
        }
        let responses = described["responses"].as_object().unwrap();
        for (status, response) in responses {
            assert!(response["description"].is_string(), "{id} {status}");
            let is_success = status.starts_with('2');
            let is_told = response["headers"]["RateLimit-Remaining"].is_object();
            assert!(!is_success || is_told, "{id} {status} tells no limits");
        }
        assert!(responses.keys().any(|it| it.starts_with('2')), "{id} never succeeds");
    }
}

#[test]
fn parameters_of_a_path_are_described_and_required() {
    for operation in operations() {
        let described = operation.described["parameters"].as_array().cloned().unwrap_or_default();
        let in_path = described.iter().filter(|it| it["in"] == "path");
        let mut named: Vec<_> = in_path.map(|it| it["name"].as_str().unwrap()).collect();
        let parts = operation.path.split('/');
        let mut wanted: Vec<_> =
            parts.filter_map(|it| it.strip_prefix('{')?.strip_suffix('}')).collect();
        named.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(named, wanted, "{}", operation.id);
        for parameter in &described {
            let schema = &parameter["schema"];
            let is_described = schema["type"].is_string() || schema["$ref"].is_string();
            assert!(is_described, "{}: {parameter}", operation.id);
            let is_required = parameter["required"] == true;
            assert!(is_required || parameter["in"] != "path", "{}: {parameter}", operation.id);
        }
    }
}

#[test]
fn operation_ids_are_unique() {
    let mut ids: Vec<_> = operations().into_iter().map(|it| it.id).collect();
    let n_operations = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), n_operations);
}

#[test]
fn every_reference_resolves() {
    let document = document();
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                references.push(reference.clone());
            }
            members.values().for_each(|it| collect(it, references));
        }
        Value::Array(items) => items.iter().for_each(|it| collect(it, references)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

#[test]
fn generators_can_join_the_parts_of_every_schema() {
    let document = document();
    let mut n_nullable = 0;
    each_object(&document, &mut |schema| {
        let parts = schema["allOf"].as_array().into_iter().flatten();
        let names = |it: &Value| it.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let mut parts = parts.map(names);
        assert!(!parts.any(|it| it == ["description"]), "a description is no type: {schema}");
        // Null would have to be allowed by each part.
        let is_nullable = schema["nullable"] == true;
        assert!(!is_nullable || schema["allOf"].is_null(), "null is not allowed: {schema}");
        let is_null = schema["enum"] == json!([null]);
        assert!(!is_null || is_nullable, "null is not of the type: {schema}");
        n_nullable += usize::from(is_null);
    });
    assert!(10 < n_nullable, "{n_nullable}");
}

fn each_object(value: &Value, each: &mut dyn FnMut(&Value)) {
    if value.is_object() {
        each(value);
    }
    let members = value.as_object().into_iter().flat_map(|it| it.values());
    members.for_each(|it| each_object(it, each));
    value.as_array().into_iter().flatten().for_each(|it| each_object(it, each));
}

#[test]
fn the_document_is_served_as_it_is() {
    let posture = Posture::start();
    let answer = send(posture.address, "GET", "/openapi.json", &[], b"");
    assert_eq!(answer.status, 200);
    assert!(answer.json() == document(), "the served document is another");
}

/// Where a value is not what a schema says.
pub(crate) fn faults(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let found = document.pointer(reference.trim_start_matches('#')).unwrap();
        return faults(document, found, value, at);
    }
    if schema == &json!({}) {
        return Vec::new();
    }
    if let Some(one) = schema["oneOf"].as_array() {
        let tried: Vec<_> = one.iter().map(|it| faults(document, it, value, at)).collect();
        return match tried.iter().filter(|it| it.is_empty()).count() {
            1 => Vec::new(),
            0 => tried.into_iter().min_by_key(Vec::len).unwrap_or_default(),
            n => vec![format!("{at} is {n} of its alternatives")],
        };
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let tried = any.iter().map(|it| faults(document, it, value, at));
        return tried.min_by_key(Vec::len).unwrap_or_default();
    }
    if value.is_null() {
        let nullable = schema["nullable"] == true;
        return if nullable { Vec::new() } else { vec![format!("{at} is null")] };
    }
    let mut found = Vec::new();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        found.extend(faults(document, part, value, at));
    }
    let fits = match schema["type"].as_str() {
        None => true,
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some(other) => panic!("{at}: a type {other}"),
    };
    if !fits {
        found.push(format!("{at} is no {}", schema["type"]));
    }
    if schema["enum"].as_array().is_some_and(|it| !it.contains(value)) {
        found.push(format!("{at} is not among {}", schema["enum"]));
    }
    let is_formed = |text: &str| match schema["format"].as_str() {
        Some("uuid") => {
            text.len() == 36 && text.bytes().all(|it| b"0123456789abcdef-".contains(&it))
        }
        Some("date-time") => text.len() == 24 && text.ends_with('Z') && text.contains('T'),
        _ => true,
    };
    if value.as_str().is_some_and(|it| !is_formed(it)) {
        found.push(format!("{at} is no {}", schema["format"]));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(faults(document, &schema["items"], item, &format!("{at}[{index}]")));
    }
    found.extend(faults_of_members(document, schema, value, at));
    found
}

fn faults_of_members(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Some(members) = value.as_object() else { return found };
    for name in schema["required"].as_array().into_iter().flatten() {
        if !members.contains_key(name.as_str().unwrap()) {
            found.push(format!("{at} has no {name}"));
        }
    }
    let known = schema["properties"].as_object();
    let more = &schema["additionalProperties"];
    for (name, member) in members {
        let at = format!("{at}.{name}");
        match known.and_then(|it| it.get(name)) {
            Some(schema) => found.extend(faults(document, schema, member, &at)),
            None if more.is_object() => found.extend(faults(document, more, member, &at)),
            None if known.is_some() => found.push(format!("{at} is not documented")),
            None => (),
        }
    }
    found
}

/// Holds an answer against what the document says of the operation.
fn check(document: &Value, id: &str, answer: &Answer) {
    let operation = operations().into_iter().find(|it| it.id == id).unwrap();
    let response = &operation.described["responses"][answer.status.to_string()];
    assert!(response.is_object(), "{id} answers {}, not documented", answer.status);
    if response["content"].is_null() {
        assert!(answer.body.is_empty(), "{id} {}: a body that is not documented", answer.status);
        return;
    }
    let kind = answer.header("content-type").unwrap();
    let schema = &response["content"][kind]["schema"];
    assert!(schema.is_object(), "{id} {}: {kind} is not documented", answer.status);
    let found = faults(document, schema, &answer.json(), id);
    assert!(found.is_empty(), "{} faults, such as {:?}", found.len(), &found[..found.len().min(3)]);
}

#[test]
fn the_validator_finds_faults() {
    let document = document();
    let schema = json!({"$ref": "#/components/schemas/RiskItem"});
    let good = json!({
        "id": "0199e0a0-0000-7000-8000-000000000000", "title": "", "description": "",
        "category": "", "severity": "low", "dollarImpact": null, "riskScore": 1,
        "sourceType": "control", "createdAt": "2026-03-10T09:00:00.000Z",
    });
    assert_eq!(faults(&document, &schema, &good, "it"), Vec::<String>::new());
    for (member, bad) in [
        ("id", json!("ID")),
        ("title", json!(1)),
        ("severity", json!("huge")),
        ("riskScore", json!(1.5)),
        ("riskScore", json!(null)),
        ("createdAt", json!("2026-03-10")),
        ("more", json!(1)),
    ] {
        let mut value = good.clone();
        value[member] = bad;
        assert_eq!(faults(&document, &schema, &value, "it").len(), 1, "{member}");
    }
    let mut value = good;
    value.as_object_mut().unwrap().remove("title");
    assert_eq!(faults(&document, &schema, &value, "it").len(), 1);
}

#[test]
fn answers_of_the_versioned_interface_are_as_documented() {
    let (document, posture) = (document(), Posture::start());
    let key = posture.key();
    let client = posture.client_with(&json!({"name": "A", "industry": "Legal"}));
    let none = Value::Null;
    let asset = json!({
        "clientId": client, "name": "a", "externalId": "a", "assetType": "server",
        "tags": ["t"], "owner": null,
    });
    let file = crate::manage::prowler(crate::manage::MIXED);
    assert_eq!(posture.import(&client, "observedAt=now", &file).status, 200);
    let made = posture.send("POST", &key, "/assets", &asset);
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    check(&document, "create_asset", &made);
    check(&document, "create_asset", &posture.send("POST", &key, "/assets", &asset));
    check(&document, "create_asset", &posture.send("POST", &key, "/assets", &json!({})));
    let change = json!({"displayName": "x"});
    check(&document, "update_asset", &posture.send("PUT", &key, &format!("/assets/{id}"), &change));
    check(&document, "update_asset", &posture.send("PUT", &key, "/assets/x", &change));
    let of = |rest: &str| format!("/clients/{client}{rest}");
    for (operation, path) in [
        ("list_clients", "/clients".to_owned()),
        ("list_clients", "/clients?limit=0".to_owned()),
        ("get_client", of("")),
        ("list_assets", of("/assets")),
        ("get_scores", of("/scores")),
        ("list_risks", of("/risks")),
        ("list_compliance", of("/compliance")),
        ("get_compliance", of("/compliance/soc2")),
        ("get_compliance", of("/compliance/FERPA")),
        ("get_compliance", of("/compliance/NIST_CSF?level=detail")),
        ("get_compliance", of("/compliance/none")),
    ] {
        let answer = posture.send("GET", &key, &path, &none);
        check(&document, operation, &answer);
        check(&document, operation, &posture.get("", &path));
    }
}

#[test]
fn answers_of_the_management_interface_are_as_documented() {
    let (document, posture) = (document(), Posture::start());
    let none = Value::Null;
    let ask = |id: &str, method: &str, path: &str, body: &Value| {
        let answer = posture.operator(method, path, body);
        check(&document, id, &answer);
        if answer.body.is_empty() { none.clone() } else { answer.json()["data"].clone() }
    };
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let settings = json!({"profile": {"aws": "unused"}, "own": [1]});
    let body = json!({"name": "A", "employeeCount": 3, "settings": settings});
    let client = text(&ask("add_client", "POST", "/api/clients", &body)["id"]);
    let of = |rest: &str| format!("/api/clients/{client}{rest}");
    ask("add_client", "POST", "/api/clients", &json!({}));
    ask("manage_list_clients", "GET", "/api/clients", &none);
    ask("manage_get_client", "GET", &of(""), &none);
    ask("change_client", "PATCH", &of(""), &json!({"industry": null}));
    let body = json!({"name": "k", "scopes": ["read:clients"], "clientIds": [client]});
    let key = text(&ask("issue_key", "POST", "/api/keys", &body)["id"]);
    let of_key = |rest: &str| format!("/api/keys/{key}{rest}");
    ask("rotate_key", "POST", &of_key("/rotate"), &json!({"graceS": 5}));
    ask("change_key", "PATCH", &of_key(""), &json!({"expiresAt": "2030-01-01T00:00:00Z"}));
    ask("revoke_key", "DELETE", &of_key(""), &none);
    ask("rotate_key", "POST", &of_key("/rotate"), &json!({}));
    ask("list_keys", "GET", "/api/keys", &none);
    let file = crate::manage::prowler(crate::manage::MIXED);
    let taken = posture.import(&client, "observedAt=now&fileName=a.csv", &file);
    check(&document, "add_import", &taken);
    check(&document, "add_import", &posture.import(&client, "", &file));
    check(&document, "add_import", &posture.import(&client, "", b"nothing known"));
    ask("list_imports", "GET", &of("/imports"), &none);
    ask("get_posture", "GET", &of("/posture"), &none);
    let body = json!({
        "controlCode": "GOV-14", "title": "t", "reference": "r", "sha256": "ab".repeat(32),
        "validUntil": "2027-01-01T00:00:00Z", "by": "Ada",
    });
    let evidence = text(&ask("add_evidence", "POST", &of("/evidence"), &body)["id"]);
    ask("add_evidence", "POST", &of("/evidence"), &body);
    ask("add_evidence", "POST", &of("/evidence"), &json!({}));
    ask("list_evidence", "GET", &of("/evidence"), &none);
    let body = json!({
        "status": "compliant", "reason": "r", "evidenceId": evidence, "override": true,
        "until": "2027-01-01T00:00:00Z", "by": "Ada",
    });
    ask("attest_control", "PUT", &of("/controls/GOV-14"), &body);
    ask("attest_control", "PUT", &of("/controls/GOV-15"), &json!({"status": null}));
    ask("attest_control", "PUT", &of("/controls/x"), &body);
    ask("list_client_controls", "GET", &of("/controls"), &none);
    let body = json!({"all": true, "reason": "counted", "by": "Ada"});
    ask("say_estate_whole", "PUT", &of("/estate/cloud_accounts"), &body);
    ask("decide_estate", "POST", &of("/estate/decisions"), &body);
    ask("get_estate", "GET", &of("/estate"), &none);
    let row = of("/compliance/HIPAA/164.308(a)(2)");
    let body = json!({"decision": "attested", "evidence": "e", "reason": "r", "by": "Ada"});
    ask("decide_requirement", "PUT", &row, &body);
    ask("decide_requirement", "PUT", &row, &json!({"decision": null}));
    ask("remove_evidence", "DELETE", &of(&format!("/evidence/{evidence}")), &none);
    let import = text(&taken.json()["data"]["import"]["id"]);
    ask("get_import", "GET", &of(&format!("/imports/{import}")), &none);
    ask("undo_import", "DELETE", &of(&format!("/imports/{import}")), &none);
    ask("undo_import", "DELETE", &of(&format!("/imports/{import}")), &none);
    let events = ask("list_events", "GET", "/api/events?limit=100", &none);
    assert!(1 < events.as_array().unwrap().len());
    ask("get_system", "GET", "/api/system", &none);
    ask("remove_client", "DELETE", &of(""), &none);
    ask("remove_client", "DELETE", &of(""), &none);
}

#[test]
fn answers_to_files_are_as_documented() {
    let (document, posture) = (document(), Posture::start());
    for list in ["name\nListed\n", "name\nListed\n", ""] {
        let kind = "text/csv";
        let answer = posture.operator_bytes("POST", "/api/clients/list", kind, list.as_bytes());
        check(&document, "add_client_list", &answer);
    }
    let client = posture.client("A");
    let query = "?controlCode=GOV-14&fileName=a.pdf&by=Ada";
    for (query, file) in [(query, "a"), (query, "a"), (query, ""), ("?fileName=a", "a")] {
        let answer = posture.bring_evidence(&client, query, file.as_bytes());
        check(&document, "add_evidence_file", &answer);
    }
    let of = |rest: &str| format!("/api/clients/{client}{rest}");
    let ask = |id: &str, path: &str| {
        let answer = posture.operator("GET", path, &Value::Null);
        check(&document, id, &answer);
        answer.json()["data"].clone()
    };
    let evidence = ask("list_evidence", &of("/evidence"))[0]["id"].clone();
    let evidence = evidence.as_str().unwrap();
    let file = posture.operator("GET", &of(&format!("/evidence/{evidence}/file")), &Value::Null);
    let described = &operations().into_iter().find(|it| it.id == "get_evidence_file").unwrap();
    let content = &described.described["responses"]["200"]["content"];
    assert_eq!(
        content.as_object().unwrap().keys().collect::<Vec<_>>(),
        [file.header("content-type").unwrap()]
    );
    ask("get_evidence_file", &of("/evidence/0195a000-0000-7000-8000-000000000000/file"));
    let identities = json!([{"user": "ann", "admin": true, "enabled": true, "mfa": null}]);
    let facts = json!({"source": "s", "scope": "x", "complete": true, "identities": identities});
    posture.operator("POST", &of("/facts"), &facts);
    ask("list_accounts", &of("/accounts"));
    ask("list_client_assets", &of("/assets"));
    ask("list_portfolio_scores", "/api/portfolio/scores");
    ask("list_connections", "/api/connections?limit=1");
}
