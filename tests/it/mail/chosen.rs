//! A mail server that is set in the browser, in place of the configuration's.

mod needs_aiosmtpd;

use serde_json::{Value, json};

use super::test_mail;
use crate::harness::{Answer, Posture};

const PASSWORD: &str = "ochre kettle";

fn set(posture: &Posture, change: &Value) -> Answer {
    let mut body = json!({"server": "smtp.example.com:587", "from": "reports@example.com"});
    body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    posture.operator("PUT", "/api/mail", &body)
}

/// The options of mail that are set here, as they are in effect.
fn chosen(posture: &Posture) -> Vec<(String, Value)> {
    let all = posture.operator("GET", "/api/settings", &Value::Null).json()["data"].clone();
    let all = all.as_array().unwrap().clone().into_iter();
    all.filter(|it| it["source"] == "console")
        .map(|it| (it["key"].as_str().unwrap().to_owned(), it["value"].clone()))
        .collect()
}

#[test]
fn each_rule_of_a_mail_server_is_told_by_its_field() {
    let posture = Posture::start();
    let user = json!({"user": "u"});
    assert_eq!(set(&posture, &user).problem().1, "password: is required with user");
    for (change, said) in [
        (json!({"server": "smtp.example.com"}), "server: must be a host and a port"),
        (json!({"tls": "none"}), "tls: must be starttls or implicit"),
        (json!({"from": "Northwind"}), "from: must be an address"),
        (json!({"from": "a\nb@example.com"}), "from: must not contain line breaks"),
        (
            json!({"from": format!("{} <a@example.com>", "n".repeat(485))}),
            "from: must be 1 to 500 characters",
        ),
        (json!({"greetingName": "host"}), "greetingName: must be a domain name"),
        (json!({"login": "oauth"}), "login: must be password or microsoft_app"),
        (json!({"user": "u".repeat(255), "password": "p"}), "user: must be at most 254"),
        (json!({"user": "u", "password": "p".repeat(1_001)}), "password: must be one line of at"),
        (json!({"user": "u", "password": "p\nq"}), "password: must be one line of at"),
        (json!({"password": "p"}), "user: is required with password"),
        (json!({"login": "microsoft_app"}), "server: must be one of smtp.office365.com"),
        (json!({"login": "microsoft_app", "password": "p"}), "password: must be absent"),
    ] {
        let refused = set(&posture, &change);
        assert_eq!(refused.status, 400, "{change}: {}", refused.text());
        assert!(refused.problem().1.starts_with(said), "{change}: {}", refused.text());
    }
    assert!(chosen(&posture).is_empty());
    let largest = json!({"user": "u".repeat(254), "password": "p".repeat(1_000)});
    let all = set(&posture, &largest);
    assert_eq!(all.status, 200, "{}", all.text());
    assert!(!all.text().contains("ppp"), "{}", all.text());
}

/// Another server would get the password of this one.
#[test]
fn a_password_stays_for_the_same_user_of_the_same_server_alone() {
    let posture = Posture::start();
    let user = json!({"user": "u", "password": PASSWORD});
    assert_eq!(set(&posture, &user).status, 200);
    let same = json!({"user": "u", "from": "other@example.com"});
    assert_eq!(set(&posture, &same).status, 200);
    for other in [json!({"user": "v"}), json!({"user": "u", "server": "other.example.com:587"})] {
        assert_eq!(set(&posture, &other).problem().1, "password: is required with user");
    }
    let shown = chosen(&posture);
    assert!(shown.contains(&("mail.password_file".to_owned(), json!("(set)"))), "{shown:?}");
    assert!(shown.contains(&("mail.from".to_owned(), json!("\"other@example.com\""))), "{shown:?}");
    // Without a login there is none to keep.
    assert_eq!(set(&posture, &json!({})).status, 200);
    assert!(!chosen(&posture).iter().any(|it| it.0 == "mail.password_file" && !it.1.is_null()));
    assert_eq!(set(&posture, &json!({"user": "u"})).problem().1, "password: is required with user");
}

#[test]
fn a_server_in_a_private_network_is_for_the_configuration() {
    let posture = Posture::start_with(|it| it.app.connect.egress.allow_private_networks.clear());
    assert_eq!(set(&posture, &json!({"server": "127.77.0.1:25"})).status, 200);
    let tested = test_mail(&posture);
    assert_eq!(tested["delivered"], false);
    let said = tested["message"].as_str().unwrap();
    assert!(said.contains("add it to `connect.allow_private_networks` to allow it"), "{said}");
    let removed = posture.operator("DELETE", "/api/mail", &Value::Null);
    assert_eq!(removed.status, 204);
    assert!(chosen(&posture).is_empty());
    let to = json!({"to": "ada@example.com"});
    assert_eq!(posture.operator("POST", "/api/mail/test", &to).status, 409);
}
