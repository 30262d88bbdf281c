//! Operation 1.

use serde_json::json;

use super::{assert_invalid, column, deactivate, rows};
use crate::harness::Posture;

#[test]
fn clients_are_listed_in_the_order_in_which_they_were_added() {
    let posture = Posture::start();
    let key = posture.key();
    let first = posture.client("First");
    posture.pass_s(1);
    let second =
        posture.client_with(&json!({"name": "Second", "industry": "Legal", "employeeCount": 7}));
    let body = posture.read(&key, "/clients");
    assert_eq!(
        body,
        json!({
            "data": [
                {
                    "id": first, "name": "First", "industry": null, "employeeCount": null,
                    "createdAt": "2026-03-10T09:00:00.000Z",
                },
                {
                    "id": second, "name": "Second", "industry": "Legal", "employeeCount": 7,
                    "createdAt": "2026-03-10T09:00:01.000Z",
                },
            ],
            "pagination": {"total": 2, "limit": 50, "offset": 0},
        })
    );
}

#[test]
fn an_installation_without_clients_lists_none() {
    let posture = Posture::start();
    let body = posture.read(&posture.key(), "/clients");
    let none = json!({"data": [], "pagination": {"total": 0, "limit": 50, "offset": 0}});
    assert_eq!(body, none);
}

#[test]
fn inactive_clients_are_not_listed_and_come_back_when_active() {
    let posture = Posture::start();
    let key = posture.key();
    let sleeping = posture.client("Sleeping");
    posture.pass_s(1);
    posture.client("Awake");
    deactivate(&posture, &sleeping);
    let body = posture.read(&key, "/clients");
    assert_eq!(column(&body, "name"), ["Awake"]);
    assert_eq!(body["pagination"]["total"], 1);
    let path = format!("/api/clients/{sleeping}");
    posture.operator("PATCH", &path, &json!({"active": true}));
    assert_eq!(column(&posture.read(&key, "/clients"), "name"), ["Sleeping", "Awake"]);
}

#[test]
fn a_restricted_key_sees_only_its_clients() {
    let posture = Posture::start();
    let mine = posture.client("Mine");
    posture.pass_s(1);
    let yours = posture.client("Yours");
    let key = posture.key_with(&json!({"clientIds": [mine]}));
    let other = posture.key_with(&json!({"clientIds": [yours]}));
    let both = posture.key_with(&json!({"clientIds": [yours, mine]}));
    for _ in 0..2 {
        // The second time from the cache.
        assert_eq!(column(&posture.read(&key, "/clients"), "name"), ["Mine"]);
        assert_eq!(column(&posture.read(&other, "/clients"), "name"), ["Yours"]);
        assert_eq!(column(&posture.read(&both, "/clients"), "name"), ["Mine", "Yours"]);
        assert_eq!(posture.read(&key, "/clients")["pagination"]["total"], 1);
    }
}

#[test]
fn the_industry_filter_is_equality_without_regard_to_case() {
    let posture = Posture::start();
    let key = posture.key();
    for (name, industry) in [
        ("A", json!("Health Care")),
        ("B", json!("health care")),
        ("C", json!("Health")),
        ("D", json!("\u{c9}nergie")),
        ("E", json!(null)),
    ] {
        posture.client_with(&json!({"name": name, "industry": industry}));
        posture.pass_s(1);
    }
    for (asked, names) in [
        ("HEALTH%20CARE", vec!["A", "B"]),
        ("health+care", vec!["A", "B"]),
        ("health", vec!["C"]),
        ("%C3%A9nergie", vec!["D"]),
        ("ealth", vec![]),
        ("", vec![]),
    ] {
        let body = posture.read(&key, &format!("/clients?industry={asked}"));
        assert_eq!(column(&body, "name"), names, "{asked}");
        assert_eq!(body["pagination"]["total"], names.len(), "{asked}");
    }
}

#[test]
fn pages_of_clients_join_up_to_the_whole_list() {
    let posture = Posture::start();
    let key = posture.key();
    for n in 0..5 {
        posture.client_with(&json!({"name": format!("c{n}"), "industry": "Legal"}));
        posture.pass_s(1);
    }
    let mut names = Vec::new();
    for offset in [0, 2, 4] {
        let path = format!("/clients?limit=2&offset={offset}&industry=legal");
        let body = posture.read(&key, &path);
        assert_eq!(body["pagination"], json!({"total": 5, "limit": 2, "offset": offset}));
        names.extend(column(&body, "name"));
    }
    assert_eq!(names, ["c0", "c1", "c2", "c3", "c4"]);
    let beyond = posture.read(&key, "/clients?offset=5");
    assert_eq!(rows(&beyond).len(), 0);
    assert_eq!(beyond["pagination"], json!({"total": 5, "limit": 50, "offset": 5}));
}

#[test]
fn a_bad_limit_is_refused_by_name() {
    let posture = Posture::start();
    let rule = assert_invalid(&posture.get(&posture.key(), "/clients?limit=101"), "limit");
    assert!(rule.contains('1') && rule.contains("100"), "{rule}");
}
