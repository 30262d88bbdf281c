//! What typed clients, which programs make of the document, rely on.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{document, operations};
use crate::harness::{Posture, send};
use crate::strangers::world::World;

/// The schema that a reference leads to.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

/// What generators make a type of.
fn type_of(schema: &Value) -> Value {
    json!([schema["type"], schema["format"], schema["enum"]])
}

/// The members of an answer that say where a list continues, by their type.
fn cursors<'a>(document: &'a Value, schema: &'a Value, found: &mut Vec<&'a Value>) {
    for (name, member) in resolved(document, schema)["properties"].as_object().into_iter().flatten()
    {
        if name.starts_with("next") && member["format"] != "date-time" {
            let is_a_time = member["$ref"].is_string() || member["anyOf"].is_array();
            assert!(!is_a_time, "{name} has a type of its own");
            found.push(member);
        }
        cursors(document, member, found);
    }
}

#[test]
fn a_cursor_has_the_type_of_the_parameter_that_it_is_for() {
    let document = document();
    let (mut n_lists, mut n_others) = (0, 0);
    for operation in operations() {
        let content = &operation.described["responses"]["200"]["content"];
        let answer = &content["application/json; charset=utf-8"]["schema"];
        let mut found = Vec::new();
        cursors(&document, answer, &mut found);
        let [next] = found[..] else {
            assert!(found.is_empty(), "{} has several cursors", operation.id);
            continue;
        };
        let parameters = operation.described["parameters"].as_array().into_iter().flatten();
        let is_cursor = |it: &&Value| it["name"] == "after" || it["name"] == "before";
        let taken: Vec<_> = parameters.filter(is_cursor).map(|it| &it["schema"]).collect();
        let body = &operation.described["requestBody"]["content"]["application/json"]["schema"];
        let in_body = &resolved(&document, body)["properties"]["after"];
        if taken.is_empty() {
            assert_eq!(type_of(next), type_of(in_body), "{}", operation.id);
            n_others += 1;
        } else {
            for it in taken {
                assert_eq!(type_of(next), type_of(it), "{}", operation.id);
            }
            n_lists += 1;
        }
    }
    assert_eq!((n_lists, n_others), (17, 1));
}

#[test]
fn generators_can_hold_the_names_of_schemas_apart() {
    let document = document();
    let names: Vec<&String> =
        document["components"]["schemas"].as_object().unwrap().keys().collect();
    let known: BTreeSet<&str> = names.iter().map(|it| it.as_str()).collect();
    for name in &known {
        // Go has a function of that name, which makes the other, and a type.
        for start in ["New", "Nullable"] {
            let other = name.strip_prefix(start).filter(|it| known.contains(it));
            assert_eq!(other, None, "{name} is {start} and the name of another schema");
        }
        let other = name.strip_suffix("WithDefaults").filter(|it| known.contains(it));
        assert_eq!(other, None, "{name}");
    }
    // Some file systems, and languages that write all names alike, do not tell `Aws` from `AWS`.
    let plain: BTreeSet<String> = names.iter().map(|it| it.to_lowercase()).collect();
    assert_eq!(plain.len(), names.len());
    for operation in operations() {
        let id = operation.id.replace('_', "");
        for status in ["200", "201", "202"] {
            let made = format!("{id}{status}response");
            assert!(!plain.contains(&made), "{made} is what generators call an answer of {id}");
        }
    }
}

#[test]
fn answers_about_a_body_are_those_of_operations_with_a_body() {
    for operation in operations() {
        let has_body = operation.described["requestBody"].is_object();
        for status in ["413", "415"] {
            let is_told = operation.described["responses"][status].is_object();
            assert_eq!(is_told, has_body, "{} {status}", operation.id);
        }
    }
}

#[test]
fn what_is_no_json_and_no_text_is_a_file() {
    let file = json!({"type": "string", "format": "binary"});
    for operation in operations() {
        for response in operation.described["responses"].as_object().unwrap().values() {
            for (kind, content) in response["content"].as_object().into_iter().flatten() {
                let is_file = !kind.starts_with("application/json") && !kind.starts_with("text/");
                assert_eq!(content["schema"] == file, is_file, "{} {kind}", operation.id);
            }
        }
    }
}

#[test]
fn parameters_without_which_a_request_is_refused_are_required() {
    let world = World::new();
    for operation in operations() {
        let described = operation.described["parameters"].as_array().into_iter().flatten();
        let required = described.filter(|it| it["in"] == "query" && it["required"] == true);
        let required: BTreeSet<String> =
            required.map(|it| it["name"].as_str().unwrap().to_owned()).collect();
        let (path, body) = world.filled(&operation, None, &world.client);
        let Some((path, query)) = path.split_once('?') else {
            // Other tests see that it is not refused without any.
            assert_eq!(required, BTreeSet::new(), "{}", operation.id);
            continue;
        };
        let sent: Vec<&str> = query.split('&').collect();
        let mut missed = BTreeSet::new();
        for left_out in &sent {
            let rest: Vec<_> = sent.iter().copied().filter(|it| it != left_out).collect();
            let answer = world.operator(&operation, &format!("{path}?{}", rest.join("&")), &body);
            let name = left_out.split('=').next().unwrap();
            // Who is signed in need not say it.
            if answer.status == 400 && name != "by" {
                assert_eq!(answer.json()["error"]["details"][0]["field"], name);
                missed.insert(name.to_owned());
            }
        }
        assert_eq!(missed, required, "{}", operation.id);
    }
}

#[test]
fn the_first_server_is_where_the_configuration_says_that_the_service_is() {
    let servers = |posture: &Posture| {
        let answer = send(posture.address, "GET", "/openapi.json", &[], b"");
        answer.json()["servers"].as_array().unwrap().clone()
    };
    let urls = |all: &[Value]| all.iter().map(|it| it["url"].clone()).collect::<Vec<_>>();
    assert_eq!(urls(&servers(&Posture::start())), ["/"]);
    let url = "https://posture.example.com:8443";
    let posture = Posture::start_with(|it| it.app.public_url = Some(url.to_owned()));
    assert_eq!(urls(&servers(&posture)), [url, "/"]);
}
