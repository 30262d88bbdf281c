//! The requests and operations in the documents, compared with the API document.

use std::collections::BTreeSet;

use serde_json::Value;

use super::markdown::documents;
use super::shell;
use crate::openapi::{self, Operation, operations};

/// Answered without being operations of the API document.
const PAGES: [&str; 5] = ["/", "/healthz", "/metrics", "/openapi.json", "/readyz"];

/// The operation that a method and a path without its query name.
fn find<'a>(operations: &'a [Operation], method: &str, path: &str) -> Option<&'a Operation> {
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |operation: &&Operation| {
        let template: Vec<&str> = operation.path.split('/').collect();
        let same = |(t, p): (&&str, &&str)| t == p || (t.starts_with('{') && !p.is_empty());
        template.len() == parts.len() && template.iter().zip(&parts).all(same)
    };
    operations.iter().filter(|it| it.method == method).find(fits)
}

/// What a `curl` command asks for.
struct Request {
    method: String,
    path: String,
    /// The names of the parameters in the query.
    query: Vec<String>,
    body: Option<String>,
}

impl Request {
    fn of(words: &[String]) -> Self {
        let mut request =
            Self { method: String::new(), path: String::new(), query: Vec::new(), body: None };
        let mut data = Vec::new();
        let (mut is_get, mut is_head) = (false, false);
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "-X" => words.next().unwrap().clone_into(&mut request.method),
                "-d" | "--data-urlencode" | "--data-binary" => data.extend(words.next()),
                "-H" | "-o" | "-w" | "--retry" | "--unix-socket" => drop(words.next()),
                "-G" => is_get = true,
                "-sI" => is_head = true,
                "|" | ">" => break,
                word if word.starts_with('-') => (),
                url => {
                    let path = url.find("://").map_or(url, |at| &url[at + 3..]);
                    let path = path.find('/').map_or("/", |at| &path[at..]);
                    let (path, query) = path.split_once('?').unwrap_or((path, ""));
                    assert!(request.path.is_empty(), "two addresses: {path}");
                    path.clone_into(&mut request.path);
                    request.query =
                        query.split('&').filter(|it| !it.is_empty()).map(name).collect();
                }
            }
        }
        if is_get {
            request.query.extend(data.drain(..).map(name));
        }
        if request.method.is_empty() {
            let method = if data.is_empty() { "GET" } else { "POST" };
            method.clone_into(&mut request.method);
        }
        assert!(!is_head || request.method == "GET");
        request.body = data.first().map(|it| (*it).to_owned());
        request
    }
}

fn name(parameter: &str) -> String {
    parameter.split('=').next().unwrap().to_owned()
}

/// The members that the body of an operation may have. `None`: the document does not list them.
fn members(document: &Value, operation: &Operation) -> Option<BTreeSet<String>> {
    let content = operation.described["requestBody"]["content"].as_object()?;
    let schema = &content.iter().find(|it| it.0.starts_with("application/json"))?.1["schema"];
    let schema = match schema["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    Some(schema["properties"].as_object()?.keys().cloned().collect())
}

#[test]
fn every_request_in_the_documents_is_one_of_the_api() {
    let (described, operations) = (openapi::document(), operations());
    let mut n_requests = 0;
    for document in documents() {
        let commands = document.blocks_in("sh").flat_map(shell::commands);
        for words in commands.filter(|it| it[0] == "curl" || it[0] == "api") {
            // What defines `api`.
            if words.len() == 1 || words.iter().any(|it| it == "$@") {
                continue;
            }
            let Request { method, path, query, body } = Request::of(&words[1..]);
            let place = format!("{}: {method} {path}", document.name());
            n_requests += 1;
            if method == "GET" && PAGES.contains(&path.as_str()) {
                continue;
            }
            let operation = find(&operations, &method, &path).unwrap_or_else(|| panic!("{place}"));
            let parameters =
                operation.described["parameters"].as_array().cloned().unwrap_or_default();
            for name in query {
                let found = parameters.iter().any(|it| it["in"] == "query" && it["name"] == *name);
                assert!(found, "{place} has no parameter {name}");
            }
            let Some(body) = body.filter(|it| it.starts_with('{')) else { continue };
            let body: Value =
                serde_json::from_str(&body).unwrap_or_else(|it| panic!("{place}: {it}"));
            let known =
                members(&described, operation).unwrap_or_else(|| panic!("{place} has no body"));
            for member in body.as_object().unwrap().keys() {
                assert!(known.contains(member), "{place} has no member {member}");
            }
        }
    }
    assert!(25 < n_requests, "{n_requests}");
}

/// The interface of Prowler, which has no operations in the API document.
const BESIDE: &str = "/api/v1/ingestions";
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

#[test]
fn every_operation_that_a_sentence_names_exists() {
    let operations = operations();
    let mut named = BTreeSet::new();
    for document in documents() {
        for span in &document.spans {
            let mut words: Vec<&str> = span.split(' ').collect();
            let path = words.pop().unwrap_or_default();
            let is_operation = words.iter().all(|it| METHODS.contains(it)) && !words.is_empty();
            let is_beside = path.starts_with(BESIDE) || PAGES.contains(&path);
            if !is_operation || !path.starts_with('/') || is_beside {
                continue;
            }
            let path = path.split('?').next().unwrap();
            let is_whole = path.starts_with("/api/") || path.starts_with("/auth/");
            let path = if is_whole { path.to_owned() } else { format!("/api/v1{path}") };
            for method in words {
                let found = find(&operations, method, &path);
                let found = found.unwrap_or_else(|| panic!("{}: {method} {path}", document.name()));
                assert_eq!(found.path, path, "{}: a parameter has another name", document.name());
                named.insert(found.id.clone());
            }
        }
    }
    assert!(50 < named.len(), "{named:?}");
}
