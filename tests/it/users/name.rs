//! Names of users: which are the same, and what tries tell of them.

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
