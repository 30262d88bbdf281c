//! The mail settings.

mod server;
mod setting;

use std::time::Duration;

use posture::egress::TrustedRoots;
use posture::mail::{MailOptions, MailTls, sender};
use serde_json::{Value, json};

use crate::harness::Posture;

/// A server on this host, without TLS.
pub(crate) fn options(port: u16) -> MailOptions {
    MailOptions {
        host: "localhost".to_owned(),
        port,
        tls: MailTls::None,
        from: sender("Northwind <reports@northwind.example>").unwrap(),
        login: None,
        roots: TrustedRoots::default(),
        timeout: Duration::from_secs(20),
    }
}

fn test_mail(posture: &Posture) -> Value {
    let answer = posture.operator("POST", "/api/mail/test", &json!({"to": "ada@example.com"}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

#[test]
fn without_a_server_it_is_said_what_to_set() {
    let posture = Posture::start();
    let to = json!({"to": "ada@example.com"});
    let answer = posture.operator("POST", "/api/mail/test", &to);
    assert_eq!(answer.status, 409);
    let said = answer.problem().1;
    assert!(said.contains("set mail.server and mail.from in posture.toml"), "{said}");
}
