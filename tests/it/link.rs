//! The links that events carry: stable addresses that lead to pages of the console.

use std::collections::BTreeMap;

use crate::console::browser::{Browser, add_user, encode};
use crate::harness::{Answer, Posture, send};
use crate::manage::all_events;

const A: &str = "019cd6f9-1c20-7a41-8c5e-3f1b2d4c6a70";
const B: &str = "2fa9da36-ce97-48c7-a40c-3782dabb1e05";

fn get(posture: &Posture, path: &str) -> Answer {
    send(posture.address, "GET", path, &[], b"")
}

/// These addresses are in tickets of others. Do not change or remove a line on the left; what it leads to may change.
#[test]
fn links_lead_where_they_always_led() {
    let posture = Posture::start();
    for (link, wanted) in [
        (format!("/go/client/{A}"), format!("/clients/{A}")),
        (format!("/go/risk/{A}/{B}"), format!("/clients/{A}/risks/{B}")),
        (format!("/go/task/{B}"), "/tasks".to_owned()),
        (format!("/go/requirement/{A}/PCI_DSS"), format!("/clients/{A}/frameworks/PCI%5FDSS")),
        (
            format!("/go/requirement/{A}/HIPAA/164.308(a)(2)"),
            format!("/clients/{A}/frameworks/HIPAA/164%2E308%28a%29%282%29"),
        ),
        (format!("/go/scan/{B}"), format!("/scans/{B}")),
        (format!("/go/source/{A}/entra"), format!("/clients/{A}/observations?source=entra")),
        (
            format!("/go/source/{A}/nmap%20%2F%C3%A9"),
            format!("/clients/{A}/observations?source=nmap%20%2F%C3%A9"),
        ),
    ] {
        for method in ["GET", "HEAD"] {
            let answer = send(posture.address, method, &link, &[], b"");
            assert_eq!((answer.status, answer.body.len()), (303, 0), "{link}");
            assert_eq!(answer.header("location"), Some(wanted.as_str()), "{link}");
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{link}");
        }
    }
}

#[test]
fn the_form_of_a_link_is_checked_and_what_it_names_is_not() {
    let posture = Posture::start();
    let upper = A.to_uppercase();
    let known = posture.client("A");
    for (link, wanted) in [
        (format!("/go/client/{known}"), format!("/clients/{known}")),
        (format!("/go/client/{upper}"), format!("/clients/{A}")),
        (format!("/go/client/{A}?x=1"), format!("/clients/{A}")),
        (
            format!("/go/requirement/{A}/hipaa/%22%0d%0a%26x%3d1"),
            format!("/clients/{A}/frameworks/HIPAA/%22%0D%0A%26x%3D1"),
        ),
        (
            format!("/go/source/{A}/{}", "s".repeat(200)),
            format!("/clients/{A}/observations?source={}", "s".repeat(200)),
        ),
    ] {
        let answer = get(&posture, &link);
        assert_eq!((answer.status, answer.header("location")), (303, Some(&*wanted)), "{link}");
    }
    for link in [
        "/go".to_owned(),
        "/go/".to_owned(),
        format!("/go/{A}"),
        format!("/go/none/{A}"),
        format!("/go/Client/{A}"),
        "/go/client".to_owned(),
        "/go/client/".to_owned(),
        "/go/client/x".to_owned(),
        format!("/go/client/{A}/"),
        format!("/go/client/{A}/{B}"),
        format!("/go/client/{}", A.replace('-', "")),
        format!("/go//client/{A}"),
        format!("/go/risk/{A}"),
        format!("/go/risk/{A}/x"),
        format!("/go/risk/x/{B}"),
        "/go/task/%2e%2e".to_owned(),
        format!("/go/requirement/{A}"),
        format!("/go/requirement/{A}/a-b"),
        "/go/requirement/x/HIPAA".to_owned(),
        format!("/go/requirement/{A}/HIPAA/"),
        format!("/go/requirement/{A}/HIPAA/%ff"),
        format!("/go/requirement/{A}/HIPAA/{}", "r".repeat(101)),
        format!("/go/requirement/{A}/HIPAA/a/b"),
        "/go/scan/x".to_owned(),
        format!("/go/source/{A}"),
        format!("/go/source/{A}/"),
        format!("/go/source/{A}/%ff"),
        format!("/go/source/{A}/{}", "s".repeat(201)),
        "/go/source/x/entra".to_owned(),
    ] {
        let answer = get(&posture, &link);
        assert_eq!(answer.status, 404, "{link}");
        assert_eq!(
            answer.problem(),
            ("NOT_FOUND".to_owned(), "path not found".to_owned()),
            "{link}"
        );
    }
}

#[test]
fn the_link_of_every_event_type_opens_with_a_login_and_not_without() {
    let posture = Posture::start_with(|it| {
        it.app.public_url = Some("https://posture.example.com".to_owned());
    });
    let story = all_events::tell(posture);
    let posture = &story.posture;
    add_user(posture, "ann", "viewer", &[]);
    let browser = Browser::signed_in(posture.address, "ann");
    let mut links = BTreeMap::new();
    for event in posture.events() {
        let kind = event["type"].as_str().unwrap().to_owned();
        links.insert(kind, event["data"]["object"]["url"].as_str().unwrap().to_owned());
    }
    assert_eq!(links.len(), 22);
    for (kind, url) in links {
        let link = url.strip_prefix("https://posture.example.com").unwrap();
        let answer = get(posture, link);
        assert_eq!(answer.status, 303, "{kind}: {link}");
        let target = answer.header("location").unwrap();
        let sign_in = get(posture, target);
        let next = format!("/sign-in?next={}", encode(target));
        assert_eq!(sign_in.header("location"), Some(&*next), "{kind}: {target}");
        let shown = browser.get(target);
        assert_eq!(shown.status, 200, "{kind}: {target}: {}", shown.text());
    }
}
