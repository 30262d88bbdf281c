//! Lists of pages as CSV.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::browser::{Browser, add_user};
use super::with_admin;
use crate::harness::{Answer, Posture};

/// A file has at most so many rows.
const ROWS_MAX: usize = 10_000;

/// The rows of a file by its headings.
fn read(answer: &Answer) -> (Vec<String>, Vec<Vec<String>>) {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8"));
    let mut file = csv::Reader::from_reader(&*answer.body);
    let headings = file.headers().unwrap().iter().map(str::to_owned).collect();
    let rows = file.records().map(|it| it.unwrap().iter().map(str::to_owned).collect());
    (headings, rows.collect())
}

fn add_clients(posture: &Posture, names: impl Iterator<Item = String>) {
    let mut list = "name\n".to_owned();
    names.for_each(|it| writeln!(list, "{it}").unwrap());
    let added = posture.operator_bytes("POST", "/api/clients/list", "text/csv", list.as_bytes());
    assert_eq!(added.status, 200, "{}", added.text());
}

#[test]
fn a_file_has_all_rows_of_its_list_as_filtered_and_in_its_order() {
    let (posture, browser) = with_admin();
    let cold = (0..70).map(|n| format!("Cold {n:02}"));
    add_clients(&posture, cold.chain(["=cmd()".to_owned(), "Warm".to_owned()]));
    let page = browser.get("/clients?search=cold&order=name").text();
    assert!(page.contains("More") && !page.contains("Cold 69"), "{page}");
    assert!(
        page.contains("href=\"/clients/csv/clients?order=name&amp;search=cold\"")
            || page.contains("href=\"/clients/csv/clients?search=cold&amp;order=name\""),
        "{page}"
    );
    let file = browser.get("/clients/csv/clients?search=cold&order=name");
    let name = file.header("content-disposition").unwrap();
    assert!(name.starts_with("attachment; filename=\"clients-20") && name.ends_with(".csv\""));
    let (headings, rows) = read(&file);
    assert_eq!(headings[..2], ["clientId", "clientName"]);
    assert!(headings.contains(&"frameworks".to_owned()), "{headings:?}");
    let names: Vec<_> = rows.iter().map(|it| it[1].clone()).collect();
    assert_eq!(names, (0..70).map(|n| format!("Cold {n:02}")).collect::<Vec<_>>());
    // Where the page stands in its list says nothing about the file.
    let later = format!("/clients/csv/clients?search=cold&order=name&after={}", rows[49][0]);
    assert_eq!(read(&browser.get(&later)).1, rows);
    // A spreadsheet does not compute a name.
    let all = read(&browser.get("/clients/csv/clients")).1;
    assert!(all.iter().any(|it| it[1] == "'=cmd()"), "{all:?}");
}

#[test]
fn a_file_has_what_its_list_holds_of_each_kind() {
    let (posture, browser) = with_admin();
    let client = posture.client("A");
    let assets = json!({"source": "rmm", "observations": [
        {"control": "END-04", "passed": 3, "failed": 1},
    ]});
    let sent = posture.operator("POST", &format!("/api/clients/{client}/facts"), &assets);
    assert_eq!(sent.status, 200, "{}", sent.text());
    for list in ["", "/controls", "/timeline", "/observations", "/risks"] {
        let name = list.rsplit('/').next().filter(|it| !it.is_empty()).unwrap_or("frameworks");
        let name = if name == "timeline" { "events" } else { name };
        let (_, rows) = read(&browser.get(&format!("/clients/{client}{list}/csv/{name}")));
        assert!(!rows.is_empty(), "{list}");
    }
    let (headings, rows) = read(&browser.get(&format!("/clients/{client}/timeline/csv/events")));
    let sequence = headings.iter().position(|it| it == "data.object.sequence");
    let sequences: Vec<u64> =
        rows.iter().map(|it| it[sequence.unwrap()].parse().unwrap()).collect();
    assert!(sequences.is_sorted(), "{sequences:?}");
}

#[test]
fn a_list_that_is_too_long_is_refused_and_says_what_to_do() {
    let (posture, browser) = with_admin();
    for first in (0..ROWS_MAX).step_by(1_000) {
        add_clients(&posture, (first..first + 1_000).map(|it| format!("Client {it}")));
    }
    let file = browser.get("/clients/csv/clients");
    assert_eq!(read(&file).1.len(), ROWS_MAX);
    add_clients(&posture, ["One more".to_owned()].into_iter());
    posture.pass_s(60);
    let refused = browser.get("/clients/csv/clients");
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("too long for one file"), "{}", refused.text());
    let few = browser.get("/clients/csv/clients?search=one+more");
    assert_eq!(read(&few).1.len(), 1);
}

#[test]
fn ones_own_sessions_and_passkeys_are_lists_too() {
    let (posture, browser) = with_admin();
    let _other = Browser::signed_in(posture.address, "ada");
    add_user(&posture, "vi", "viewer", &[]);
    let viewer = Browser::signed_in(posture.address, "vi");
    for (browser, n_sessions) in [(&browser, 2), (&viewer, 1)] {
        let page = browser.get("/me/sessions").text();
        assert!(page.contains("href=\"/me/sessions/csv/sessions\""), "{page}");
        let (headings, rows) = read(&browser.get("/me/sessions/csv/sessions"));
        assert_eq!(headings, ["id", "browser", "address", "provedBy", "createdAt", "lastUsedAt"]);
        assert_eq!(rows.len(), n_sessions);
        let page = browser.get("/me/passkeys").text();
        assert!(page.contains("href=\"/me/passkeys/csv/passkeys\""), "{page}");
        assert_eq!(read(&browser.get("/me/passkeys/csv/passkeys")).1.len(), 0);
    }
    let nobody = Browser::new(posture.address).get("/me/sessions/csv/sessions");
    assert_eq!(nobody.status, 303);
}

#[test]
fn a_file_shows_no_more_than_its_page() {
    let (posture, admin) = with_admin();
    let (mine, other) = (posture.client("Mine"), posture.client("Other"));
    add_user(&posture, "vi", "viewer", &[&mine]);
    let viewer = Browser::signed_in(posture.address, "vi");
    let rows = read(&viewer.get("/clients/csv/clients")).1;
    assert_eq!(rows.iter().map(|it| &*it[1]).collect::<Vec<_>>(), ["Mine"]);
    for (path, status) in [
        (format!("/clients/{other}/controls/csv/controls"), 403),
        ("/audit/csv/audit".to_owned(), 403),
        ("/clients/csv/keys".to_owned(), 404),
    ] {
        let answer = viewer.get(&path);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert!(answer.text().starts_with("<!doctype html>"), "{path}");
    }
    // Nobody who is not signed in sees one.
    let nobody = Browser::new(posture.address).get("/clients/csv/clients");
    assert_eq!(nobody.status, 303);
    assert_eq!(read(&admin.get("/audit/csv/audit")).1.len().min(1), 1);
    // Keys are shown only to who gave the password a short while ago, as on their page.
    posture.pass_s(3_600);
    let keys = admin.get("/keys/csv/keys");
    assert_eq!(
        (keys.status, keys.header("location").map(|it| it.starts_with("/confirm"))),
        (303, Some(true))
    );
    assert_eq!(posture.operator("GET", "/api/keys", &Value::Null).status, 200);
}
