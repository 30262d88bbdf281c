//! `assets/docs/connect.md`, followed from a fresh installation against each vendor's stand-in.

mod chapter;
mod permission;
mod vendor;
mod walk;

use std::collections::BTreeSet;

use self::chapter::CONNECT;
use super::google::server::ADMIN;
use super::mapping::tool::OWN;
use crate::harness::process::Folder;

/// Each kind, and the headings below which it is described.
const CHAPTERS: [(&str, &[&str]); 11] = [
    ("dns", &["A first connection", "DNS"]),
    ("m365", &["Microsoft 365"]),
    ("google", &["Google Workspace"]),
    ("ninjaone", &["NinjaOne (`ninjaone`, unproven)"]),
    ("datto", &["Datto RMM (`datto`, unproven)"]),
    ("tactical", &["Tactical RMM (`tactical`)"]),
    ("huntress", &["Huntress (`huntress`, unproven)"]),
    ("azure", &["Azure"]),
    ("ad", &["Active Directory"]),
    ("aws", &["AWS"]),
    ("example_rmm", &["Mappings of your own"]),
];

/// Kind, what the guide writes, and what is entered instead, because the stand-in has other names.
const ENTERED: [(&str, &str, &str); 9] = [
    ("google", "domain=acme.example", "domain=example.com"),
    ("google", "admin@acme.example", ADMIN),
    ("ninjaone", "client_id=...", "client_id=abc"),
    ("datto", "APIKEY", "AK"),
    ("datto", "7", "s1"),
    ("tactical", "https://api.example.com", OWN),
    ("tactical", "7", "4"),
    ("huntress", "APIKEY", "AK"),
    ("huntress", "7", "30"),
];

#[test]
fn every_kind_has_a_chapter_and_every_command_is_in_one() {
    let kinds = Folder::new().json(&["connect", "kinds"])["data"].clone();
    let kinds = kinds.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned());
    let kinds: BTreeSet<String> = kinds.collect();
    let listed = CONNECT.names(&["kind"]);
    assert_eq!(kinds, listed, "the first table");
    let with_chapter = CHAPTERS.iter().map(|it| it.0.to_owned()).filter(|it| it != "example_rmm");
    assert_eq!(kinds, with_chapter.collect());
    let blocks = |it: &chapter::Chapter| it.blocks("sh").into_iter().collect::<BTreeSet<_>>();
    let followed: BTreeSet<String> =
        CHAPTERS.iter().flat_map(|it| blocks(&CONNECT.below(it.1))).collect();
    assert_eq!(blocks(&CONNECT), followed);
    assert!(ENTERED.iter().all(|it| CHAPTERS.iter().any(|chapter| chapter.0 == it.0)));
}
