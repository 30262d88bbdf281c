//! Operation 3.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::{ASSET, assert_invalid, assert_shape, column, import_sample, new_asset, push, rows};
use crate::harness::Posture;

#[test]
fn a_new_client_has_no_assets() {
    let posture = Posture::start();
    let client = posture.client("New");
    let body = posture.read(&posture.key(), &format!("/clients/{client}/assets"));
    let none = json!({"data": [], "pagination": {"total": 0, "limit": 50, "offset": 0}});
    assert_eq!(body, none);
}

#[test]
fn pushed_and_discovered_assets_are_listed_in_id_order_with_the_contracts_fields() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Both"));
    let pushed = push(&posture, &key, &client, "a", &json!({}));
    let path = format!("/clients/{client}/assets?limit=100");
    assert_eq!(rows(&posture.read(&key, &path)), std::slice::from_ref(&pushed));
    import_sample(&posture, &client, "prowler/aws.csv");
    let last = push(&posture, &key, &client, "b", &json!({}));
    let body = posture.read(&key, &path);
    assert_eq!(body.as_object().unwrap().len(), 2, "data and pagination");
    for asset in rows(&body) {
        assert_shape(asset, ASSET);
    }
    let ids = column(&body, "id");
    assert!(3 < ids.len());
    assert!(ids.is_sorted_by(|a, b| a < b), "rising ids");
    assert_eq!(rows(&body)[0]["id"], pushed["id"]);
    assert_eq!(rows(&body).last(), Some(&last));
    let scores = rows(&body).iter().filter_map(|it| it["riskScore"].as_u64());
    assert!(scores.clone().all(|it| it <= 100));
    assert!(0 < scores.count(), "some discovered asset is at risk");
}

#[test]
fn filters_cut_the_list_and_its_total_alike() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Filtered"));
    for (name, more) in [
        ("a", json!({"category": "Mail Server", "isCritical": true})),
        ("b", json!({"category": "mail server"})),
        ("c", json!({"category": "Mail", "isCritical": true, "assetType": "database"})),
        ("d", json!({"category": "\u{c9}cole", "assetType": "saas_app"})),
        ("e", json!({"assetType": "database"})),
    ] {
        push(&posture, &key, &client, name, &more);
    }
    for (query, names) in [
        ("", vec!["a", "b", "c", "d", "e"]),
        ("category=MAIL%20SERVER", vec!["a", "b"]),
        ("category=mail", vec!["c"]),
        ("category=%C3%A9COLE", vec!["d"]),
        ("category=", vec![]),
        ("category=ail", vec![]),
        ("assetType=database", vec!["c", "e"]),
        ("assetType=mailbox", vec![]),
        ("isCritical=true", vec!["a", "c"]),
        ("isCritical=true&assetType=database", vec!["c"]),
        ("isCritical=true&category=mail+server&assetType=server", vec!["a"]),
        ("limit=1&offset=1&isCritical=true", vec!["c"]),
    ] {
        let body = posture.read(&key, &format!("/clients/{client}/assets?{query}"));
        assert_eq!(column(&body, "name"), names, "{query}");
        let total = if query.starts_with("limit") { 2 } else { names.len() };
        assert_eq!(body["pagination"]["total"], total, "{query}");
    }
}

#[test]
fn filters_follow_a_change_of_the_asset() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Moving"));
    let asset = push(&posture, &key, &client, "a", &json!({"category": "old", "isCritical": true}));
    let total = |query: &str| {
        let body = posture.read(&key, &format!("/clients/{client}/assets?{query}"));
        body["pagination"]["total"].as_u64().unwrap()
    };
    assert_eq!((total("category=old"), total("isCritical=true")), (1, 1));
    let path = format!("/assets/{}", asset["id"].as_str().unwrap());
    posture.send("PUT", &key, &path, &json!({"category": "NEW", "isCritical": false}));
    assert_eq!((total("category=old"), total("category=new")), (0, 1));
    assert_eq!((total("isCritical=true"), total("assetType=server")), (0, 1));
    let mut again = new_asset(&client, "a");
    again["assetType"] = json!("user");
    posture.send("POST", &key, "/assets", &again);
    assert_eq!((total("assetType=server"), total("assetType=user")), (0, 1));
    posture.send("PUT", &key, &path, &json!({"category": null}));
    assert_eq!((total("category=new"), total("")), (0, 1));
}

#[test]
fn an_unknown_asset_type_and_any_is_critical_but_true_are_refused() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Strict"));
    let get = |query: &str| posture.get(&key, &format!("/clients/{client}/assets?{query}"));
    for bad in ["printer", "Server", "", "server%20", "server,user"] {
        let rule = assert_invalid(&get(&format!("assetType={bad}")), "assetType");
        assert!(rule.contains("user, device, server"), "{rule}");
    }
    for bad in ["false", "TRUE", "True", "1", "", "yes"] {
        let rule = assert_invalid(&get(&format!("isCritical={bad}")), "isCritical");
        assert!(rule.contains("true"), "{rule}");
    }
}

#[test]
fn an_asset_that_is_not_seen_for_30_days_is_stale_until_it_is_seen_again() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Ageing"));
    let pushed = push(&posture, &key, &client, "a", &json!({}));
    posture.pass_s(5);
    let status = || {
        let body = posture.read(&key, &format!("/clients/{client}/assets"));
        column(&body, "status").concat()
    };
    posture.pass_days(29);
    assert_eq!(status(), "active");
    posture.pass_days(2);
    assert_eq!(status(), "stale");
    let answer = posture.send("POST", &key, "/assets", &new_asset(&client, "a"));
    assert_eq!(answer.json()["data"]["status"], "active");
    assert_eq!(answer.json()["data"]["id"], pushed["id"]);
    assert_eq!(status(), "active");
}

#[test]
fn assets_that_a_scan_found_are_not_managed() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Scanned"));
    import_sample(&posture, &client, "nmap/network.xml");
    let body = posture.read(&key, &format!("/clients/{client}/assets"));
    assert!(!rows(&body).is_empty());
    assert!(rows(&body).iter().all(|it| it["isManaged"] == false && it["status"] == "active"));
}

#[test]
fn pages_join_up_to_the_whole_list() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Paged"));
    let made: Vec<Value> =
        (0..23).map(|n| push(&posture, &key, &client, &format!("{n}"), &json!({}))).collect();
    let mut joined = Vec::new();
    for offset in [0, 10, 20, 30] {
        let path = format!("/clients/{client}/assets?limit=10&offset={offset}");
        let body = posture.read(&key, &path);
        assert_eq!(body["pagination"], json!({"total": 23, "limit": 10, "offset": offset}));
        joined.extend(rows(&body).clone());
    }
    assert!(joined == made);
}

const N_WRITERS: usize = 64;
const N_PUSHES: usize = 3;

/// Every id of the list, read page by page.
fn walk(posture: &Posture, key: &str, client: &str) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let path = format!("/clients/{client}/assets?limit=20&offset={}", ids.len());
        let page = column(&posture.read(key, &path), "id");
        if page.is_empty() {
            return ids;
        }
        ids.extend(page);
    }
}

#[test]
fn pages_read_while_64_writers_push_neither_repeat_nor_skip_a_row() {
    let posture = Posture::start();
    let (key, client) = (posture.key(), posture.client("Busy"));
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (posture, key, client) = (&posture, &key, &client);
            scope.spawn(move || {
                for m in 0..25 {
                    push(posture, key, client, &format!("{n}-{m}"), &json!({}));
                }
            });
        }
    });
    let start = walk(&posture, &key, &client);
    assert_eq!(start.len(), 100);
    let n_done = AtomicUsize::new(0);
    let n_walks = std::thread::scope(|scope| {
        for n in 0..N_WRITERS {
            let (posture, key, client, n_done) = (&posture, &key, &client, &n_done);
            scope.spawn(move || {
                for m in 0..N_PUSHES {
                    push(posture, key, client, &format!("w{n}-{m}"), &json!({}));
                }
                n_done.fetch_add(1, Ordering::Relaxed);
            });
        }
        let mut n_walks = 0;
        loop {
            let is_last = n_done.load(Ordering::Relaxed) == N_WRITERS;
            let ids = walk(&posture, &key, &client);
            assert!(ids.is_sorted_by(|a, b| a < b), "no row comes twice");
            assert!(ids.starts_with(&start), "no row of the start is skipped");
            n_walks += 1;
            if is_last {
                return n_walks;
            }
        }
    });
    assert!(1 < n_walks, "pages were read while others wrote");
    let all: BTreeSet<String> = walk(&posture, &key, &client).into_iter().collect();
    assert_eq!(all.len(), 100 + N_WRITERS * N_PUSHES);
}
