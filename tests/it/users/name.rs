//! Names of users: which are the same, and what tries tell of them.

use std::net::{IpAddr, Ipv4Addr};

use posture::auth::throttle::{N_FIRST_IN_ALL, N_IN_ALL, N_PER_NETWORK, Throttle};
use posture::clock::Time;
use posture::store::global::audit::PendingAct;
use serde_json::json;

use super::{OTHER, PASSWORD, add, with_ada};

#[test]
fn tries_do_not_tell_which_names_belong_together() {
    let (posture, _) = with_ada();
    for (email, name) in [("ada@example.com", "ada"), ("nobody@example.com", "nobody")] {
        let statuses = |name: &str| [(); 6].map(|()| posture.try_log_in(name, OTHER).status);
        let free = [401, 401, 401, 401, 401, 429];
        assert_eq!(statuses(email), free, "{email}");
        assert_eq!(statuses(&name.to_uppercase()), free, "{name}");
        assert_eq!(posture.try_log_in(name, OTHER).status, 429, "case does not count");
        posture.pass_s(60); // A network has 20 tries a minute.
    }
    posture.pass_s(3_600);
    assert_eq!(posture.try_log_in("ada", PASSWORD).status, 200);
}

#[test]
fn names_that_look_the_same_are_the_same() {
    let (posture, _) = with_ada();
    for email in [
        "Ada@example.com",
        "\u{430}d\u{430}@example.com", // Cyrillic.
        "ada@ex\u{e4}mple.com",        // Another letter, and not taken.
        "\u{ff41}da@example.com",      // Full width.
    ] {
        let status = if email.contains('\u{e4}') { 201 } else { 409 };
        let answer = add(&posture, &json!({"email": email, "username": null}));
        assert_eq!(answer.status, status, "{email}: {}", answer.text());
    }
    for email in ["ada\u{200b}@example.com", "\u{202e}ada@example.com", "a\u{ad}da@example.com"] {
        let answer = add(&posture, &json!({"email": email, "username": null}));
        assert_eq!(answer.status, 400, "{email:?}");
        assert!(answer.text().contains("not visible"), "{}", answer.text());
    }
    let answer = add(&posture, &json!({"email": "b@example.com", "username": "\u{430}da"}));
    assert_eq!(answer.status, 409, "{}", answer.text());
}

#[test]
fn one_subscriber_of_ipv6_leaves_tries_to_others() {
    let (posture, _) = with_ada();
    let try_from = |from: String, name: &str, password: &str| {
        let from = from.parse().unwrap();
        let act = PendingAct::default();
        posture.block_on(posture.app.log_in(name, password, None, Some(from), act)).is_ok()
    };
    for n in 0..20_u32 {
        for _ in 0..20 {
            let name = format!("nobody{n}");
            assert!(!try_from(format!("2001:db8:0:{n}::1"), &name, OTHER));
        }
    }
    assert!(try_from("2001:db8:1::1".to_owned(), "ada", PASSWORD), "200 tries in all are not used");
}

/// Each password takes the processor's time, so there is a limit in total. The first try of a network has another one.
#[test]
fn those_who_try_often_keep_no_other_network_out() {
    let throttle = Throttle::default();
    let now: Time = "2026-03-10T09:00:00Z".parse().unwrap();
    let network = |n: u32| Some(IpAddr::V4(Ipv4Addr::from(0xc633_0000 + n)));
    let takes = |n: u32, name: String| throttle.take(&name, None, network(n), now).is_ok();
    // The first of each, and then as many as there may be in total.
    let n_each = N_PER_NETWORK - 1;
    for n in 0..=N_IN_ALL / n_each {
        for try_n in 0..N_PER_NETWORK {
            let is_within = try_n == 0 || n * n_each + try_n <= N_IN_ALL;
            assert_eq!(takes(n, format!("{n} {try_n}")), is_within, "{n} {try_n}");
        }
    }
    let n_begun = N_IN_ALL / n_each + 1;
    for n in n_begun..N_FIRST_IN_ALL {
        assert!(takes(n, format!("first {n}")), "{n}");
        assert!(!takes(n, format!("second {n}")), "{n}");
    }
    assert!(!takes(N_FIRST_IN_ALL, "one too many".to_owned()));
}
