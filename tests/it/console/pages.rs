//! Every page, as it is found by following links: with the demonstration and with an empty installation.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::browser::{Browser, PASSWORD, add_user};
use super::with_admin;
use crate::harness::http::send_socket;
use crate::harness::process::{Folder, Server};
use crate::harness::{Answer, Posture, send};

/// A page must be shorter.
const PAGE_BYTES_MAX: usize = 60_000;
/// So many pages of one kind are looked at.
const N_PER_KIND: usize = 3;
/// What everybody must find by following links.
const KINDS: [&str; 28] = [
    "/",
    "/alerts",
    "/catalog",
    "/catalog/frameworks/FRAMEWORK",
    "/clients",
    "/clients/ID",
    "/clients/ID/accounts",
    "/clients/ID/assets",
    "/clients/ID/connections",
    "/clients/ID/controls",
    "/clients/ID/controls/NAME",
    "/clients/ID/evidence",
    "/clients/ID/frameworks/FRAMEWORK",
    "/clients/ID/frameworks/FRAMEWORK/REQUIREMENT",
    "/clients/ID/imports",
    "/clients/ID/imports/ID",
    "/clients/ID/observations",
    "/clients/ID/risks",
    "/clients/ID/risks/ID",
    "/clients/ID/settings",
    "/clients/ID/tasks",
    "/clients/ID/timeline",
    "/clients/ID/vulnerabilities",
    "/connections/ID",
    "/me",
    "/me/passkeys",
    "/risks",
    "/tasks",
];
const ADMINS_ONLY: [&str; 7] =
    ["/start", "/webhooks", "/keys", "/users", "/audit", "/system", "/settings"];

/// Looks at all pages; the kinds of pages that were seen.
fn walk(browser: &Browser, role: &str) -> BTreeSet<String> {
    let (mut todo, mut seen) = (vec!["/".to_owned()], BTreeSet::new());
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    todo.extend(ADMINS_ONLY.map(str::to_owned));
    while let Some(path) = todo.pop() {
        let kind = kind_of(&path);
        let n_seen = kinds.entry(kind.clone()).or_default();
        if *n_seen == N_PER_KIND || !seen.insert(path.clone()) {
            continue;
        }
        *n_seen += 1;
        let answer = browser.get(&path);
        let is_barred = role != "admin" && ADMINS_ONLY.iter().any(|it| path.starts_with(it));
        if is_barred {
            assert_eq!(answer.status, 403, "{role} {path}");
            continue;
        }
        assert_eq!(answer.status, 200, "{role} {path}: {}", answer.text());
        if path.contains("/csv/") {
            assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8"));
            assert!(
                !csv::Reader::from_reader(&*answer.body).headers().unwrap().is_empty()
                    || answer.body.is_empty()
            );
        }
        if path.contains("/files/") || path.contains("/csv/") {
            assert!(answer.header("content-disposition").unwrap().starts_with("attachment"));
            continue;
        }
        todo.extend(check(&path, &answer));
    }
    kinds.into_keys().collect()
}

/// Checks what all pages have in common; where its links lead.
fn check(path: &str, answer: &Answer) -> Vec<String> {
    let html = answer.text();
    assert!(html.len() < PAGE_BYTES_MAX, "{path}: {} bytes", html.len());
    assert_eq!(html.matches("<h1>").count(), 1, "{path}");
    assert!(html.ends_with("</html>"), "{path}");
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'self'; script-src 'self';"));
    assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    for word in ["style=\"", "onclick", "<script>", "undefined", "none,", "&amp;amp;"] {
        assert!(!html.contains(word), "{path}: {word}");
    }
    // Every field has a label around it, but for hidden ones.
    for (at, _) in html.match_indices("<input").chain(html.match_indices("<select")) {
        let is_hidden = html[at..].starts_with("<input type=\"hidden\"");
        let before = &html[..at];
        let is_labeled = before.rfind("<label") > before.rfind("</label>");
        assert!(is_hidden || is_labeled, "{path}: {}", &html[at..(at + 80).min(html.len())]);
    }
    let links = html.match_indices("href=\"/").map(|(at, _)| {
        let link = html[at + 6..].split(['"', '#']).next().unwrap();
        link.replace("&amp;", "&")
    });
    links.filter(|it| !it.starts_with("/docs") && !it.starts_with("/console/")).collect()
}

/// A path with the names of its parts in place of them.
fn kind_of(path: &str) -> String {
    let path = path.split('?').next().unwrap();
    let parts: Vec<_> = path.split('/').collect();
    let named = parts.iter().enumerate().map(|(at, part)| {
        let after = at.checked_sub(1).map_or("", |it| parts[it]);
        let is_id = part.len() == 36 && part.matches('-').count() == 4;
        match after {
            _ if is_id => "ID",
            "controls" | "add" => "NAME",
            "frameworks" => "FRAMEWORK",
            _ if at == 5 && parts[3] == "frameworks" => "REQUIREMENT",
            _ => part,
        }
    });
    named.collect::<Vec<_>>().join("/")
}

/// The demonstration, in its folder, and its users, who have the password of all users of these tests.
pub(super) fn demonstration() -> (Folder, Server, Vec<Value>) {
    let folder = Folder::demonstration();
    let server = folder.serve_with(&["--demo"]);
    while !server.line().contains("X-API-Key") {}
    let users = folder.ask("/api/users")["data"].as_array().unwrap().clone();
    for user in &users {
        let path = format!("/api/users/{}", user["id"].as_str().unwrap());
        let body = json!({ "password": PASSWORD }).to_string();
        let headers = [("Content-Type", "application/json")];
        let done = send_socket(&folder.socket(), "PATCH", &path, &headers, body.as_bytes());
        assert_eq!(done.status, 200, "{}", done.text());
    }
    (folder, server, users)
}

#[test]
fn every_page_of_the_demonstration_is_shown() {
    let (_folder, server, users) = demonstration();
    for user in users {
        let browser = Browser::signed_in(server.address, user["username"].as_str().unwrap());
        let role = user["role"].as_str().unwrap();
        let kinds = walk(&browser, role);
        let missing: Vec<_> = KINDS.iter().filter(|it| !kinds.contains(**it)).collect();
        assert!(missing.is_empty(), "{role} finds no link to {missing:?}");
    }
}

#[test]
fn every_page_of_an_empty_installation_is_shown() {
    let posture = Posture::start();
    for role in ["admin", "analyst", "viewer"] {
        add_user(&posture, role, role, &[]);
        let browser = Browser::signed_in(posture.address, role);
        let kinds = walk(&browser, role);
        assert!(18 < kinds.len(), "{role}: {kinds:?}");
    }
    let client = posture.client("A");
    let admin = Browser::signed_in(posture.address, "admin");
    let page = admin.get(&format!("/clients/{client}")).text();
    assert!(page.contains("Nothing is known yet"), "{page}");
    walk(&admin, "admin");
}

#[test]
fn an_address_without_a_page_says_so_to_each_in_its_own_way() {
    let posture = Posture::start();
    for path in ["/none", "/clients/x/y/z", "/.env"] {
        let html = send(posture.address, "GET", path, &[("Accept", "text/html,*/*")], b"");
        assert_eq!(html.status, 404, "{path}");
        assert!(html.text().contains("There is nothing at this address."), "{path}");
        let json = send(posture.address, "GET", path, &[], b"");
        assert_eq!((json.status, json.problem().0.as_str()), (404, "NOT_FOUND"), "{path}");
    }
}

#[test]
fn what_is_said_of_a_part_is_shown_with_it() {
    let (posture, mut browser) = with_admin();
    let client = posture.client("A");
    let page = format!("/clients/{client}/controls/ID-15");
    let token = browser.token(&page);
    let attest = [
        ("token", token.as_str()),
        ("status", "compliant"),
        ("reason", "looked at it"),
        ("facet", "length"),
        ("platform", "m365"),
    ];
    let attested = browser.post(&format!("{page}/attest"), &attest);
    assert_eq!(attested.status, 303, "{}", attested.text());
    for path in [page, format!("/clients/{client}/statements")] {
        let text = browser.get(&path).text();
        assert!(text.contains("<td>length, m365: compliant"), "{text}");
    }
}
