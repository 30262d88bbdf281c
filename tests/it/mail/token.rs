//! A login with a token of the Microsoft app, at Exchange Online.

use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use posture::connect::call::Endpoints;
use posture::mail::{MailLogin, MailOptions};
use serde_json::{Value, json};

use super::relay::Relay;
use super::{options, test_mail};
use crate::egress::local;
use crate::harness::Posture;
use crate::harness::sink::Sink;

const USER: &str = "reports@northwind.example";

/// Where tokens are issued: the status and the body of its answer.
struct Microsoft {
    sink: Sink,
    answer: Arc<Mutex<(u16, Value)>>,
}

impl Microsoft {
    fn start() -> Self {
        let answer = Arc::new(Mutex::new((200, Value::Null)));
        let told = Arc::clone(&answer);
        let sink = Sink::scripted("127.0.0.1:0", move |_| {
            let (status, body) = told.lock().unwrap().clone();
            let body = body.to_string();
            let n = body.len();
            format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {n}\r\nConnection: close\r\n\r\n{body}")
                .into_bytes()
        });
        Self { sink, answer }
    }

    /// Issues a token of these permissions from now on.
    fn issue(&self, roles: &Value) -> String {
        let part = |it: Value| BASE64_URL_SAFE_NO_PAD.encode(it.to_string());
        let token = format!("{}.{}.AAAA", part(json!({})), part(json!({ "roles": roles })));
        *self.answer.lock().unwrap() = (200, json!({"access_token": token, "expires_in": 3599}));
        token
    }

    fn n_asked(&self) -> usize {
        self.sink.requests().len()
    }

    fn posture(&self, relay: &Relay) -> Posture {
        let login = MailLogin::MicrosoftApp { user: USER.to_owned() };
        let mail = MailOptions { login: Some(login), ..options(relay.port()) };
        let origin = "https://login.microsoftonline.com".to_owned();
        let endpoints = Endpoints([(origin, format!("http://{}", self.sink.address))].into());
        Posture::start_with(move |it| {
            it.app.mail = Some(mail);
            it.app.connect.egress = local();
            it.app.connect.endpoints = endpoints;
        })
    }
}

fn set_app(posture: &Posture, secret: &str) {
    let app = json!({"appId": "5f6a2b1c-0000-4000-8000-000000000001", "tenant": "northwind.example", "clientSecret": secret});
    let set = posture.operator("PUT", "/api/microsoft-app", &app);
    assert_eq!(set.status, 200, "{}", set.text());
}

fn refused(posture: &Posture) -> String {
    let tested = test_mail(posture);
    assert_eq!((&tested["delivered"], &tested["kind"]), (&json!(false), &json!("login")));
    tested["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_message_is_sent_with_a_token_that_is_kept_until_it_is_refused() {
    let (microsoft, relay) = (Microsoft::start(), Relay::start());
    let posture = microsoft.posture(&relay);
    let said = refused(&posture);
    assert!(said.contains("there is no Microsoft app yet; set it up on the page"), "{said}");
    assert!(relay.lines().is_empty(), "nothing to log in with");
    set_app(&posture, "first");
    let token = microsoft.issue(&json!(["SMTP.SendAsApp"]));
    for _ in 0..2 {
        relay.forget();
        assert_eq!(test_mail(&posture)["delivered"], true);
        let lines = relay.lines();
        let shown = lines[1].strip_prefix("AUTH XOAUTH2 ").unwrap();
        let shown = String::from_utf8(BASE64_STANDARD.decode(shown).unwrap()).unwrap();
        assert_eq!(shown, format!("user={USER}\u{1}auth=Bearer {token}\u{1}\u{1}"));
    }
    assert_eq!(microsoft.n_asked(), 1, "the token is kept");
    let asked = microsoft.sink.requests().remove(0);
    assert_eq!(asked.line, "POST /northwind.example/oauth2/v2.0/token");
    let body = String::from_utf8(asked.body).unwrap();
    assert!(body.contains("scope=https%3A%2F%2Foutlook.office365.com%2F.default"), "{body}");
    assert!(body.contains("grant_type=client_credentials") && body.contains("client_secret=first"));
    // The app is not let into the mailbox, which some servers say only after they are asked.
    for answer in ["535 5.7.3 Authentication unsuccessful", "334 eyJzdGF0dXMiOiI0MDEifQ=="] {
        relay.answer("AUTH", answer);
        let said = refused(&posture);
        assert!(said.contains("New-ServicePrincipal and Add-MailboxPermission"), "{said}");
        assert!(said.contains(USER) && !said.contains(&token), "{said}");
    }
    assert_eq!(microsoft.n_asked(), 2, "a refused token is not kept");
    microsoft.issue(&json!([]));
    relay.answer("AUTH", "535 5.7.3 Authentication unsuccessful");
    let said = refused(&posture);
    assert!(said.contains("has no permission SMTP.SendAsApp in your tenant: grant it"), "{said}");
    relay.answer("AUTH", "535 5.7.139 Authentication unsuccessful, SmtpClientAuthentication is disabled for the Tenant.");
    assert!(refused(&posture).contains("Set-CASMailbox"));
    // Another secret asks anew.
    microsoft.issue(&json!(["SMTP.SendAsApp"]));
    relay.forget();
    posture.pass_s(1);
    let n_asked = microsoft.n_asked();
    set_app(&posture, "second");
    assert_eq!(test_mail(&posture)["delivered"], true);
    assert_eq!(microsoft.n_asked(), n_asked + 1);
}

#[test]
fn without_a_token_or_a_server_that_takes_it_nothing_is_sent_and_the_step_is_named() {
    let (microsoft, relay) = (Microsoft::start(), Relay::start());
    let posture = microsoft.posture(&relay);
    set_app(&posture, "old");
    let description = "AADSTS7000222: The provided client secret keys are expired.";
    let body = json!({"error": "invalid_client", "error_description": description, "error_codes": [7_000_222]});
    *microsoft.answer.lock().unwrap() = (401, body);
    for n in 1..=2 {
        let said = refused(&posture);
        assert!(
            said.starts_with("there is no token to log in with: the client secret of the"),
            "{said}"
        );
        assert_eq!(microsoft.n_asked(), n, "it is asked again");
    }
    assert!(relay.lines().is_empty());
    microsoft.issue(&json!(["SMTP.SendAsApp"]));
    relay.answer("EHLO", "250-relay.example\n250 AUTH PLAIN LOGIN");
    assert!(refused(&posture).contains("does not offer OAuth 2.0 (XOAUTH2)"));
    // A password where only tokens are taken.
    let login = MailLogin::Password { user: USER.to_owned(), password: "canary".to_owned() };
    let mail = MailOptions { login: Some(login), ..options(relay.port()) };
    let posture = Posture::start_with(move |it| it.app.mail = Some(mail));
    relay.answer("EHLO", "250-relay.example\n250 AUTH XOAUTH2");
    let said = refused(&posture);
    assert!(said.contains("OAuth 2.0 alone") && said.contains("\"microsoft_app\""), "{said}");
    assert!(!relay.lines().iter().any(|it| it.starts_with("AUTH")), "no password");
}
