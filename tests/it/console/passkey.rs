//! Passkeys, as far as no browser is needed: where they work, and answers that no device gave.

use serde_json::{Value, json};

use super::browser::{Browser, add_user};
use crate::harness::{Answer, Posture, send};

/// Answers of one address in a minute.
const N_PER_MINUTE: usize = 20;
const ANSWER_BYTES_MAX: usize = 16 * 1024;
const ANSWER_S: i64 = 300;
const CONFIRMED_S: i64 = 15 * 60;

const SIGN_IN: &str = "/sign-in/passkey";
const NOT_ACCEPTED: &str = "This passkey was not accepted.";
const NOT_ASKED: &str = "was not asked for this passkey, or was asked more than 5 minutes ago";

fn ada() -> (Posture, Browser) {
    let posture = Posture::start();
    add_user(&posture, "ada", "admin", &[]);
    let mut browser = Browser::by_name(posture.address);
    browser.sign_in("ada");
    (posture, browser)
}

/// Asks for a question; it, and the cookie that goes with it.
fn ask(browser: &Browser, path: &str, token: &str) -> (Value, String) {
    let origin = browser.origin();
    let answer = browser.post_with(path, &[("token", token)], &[("Origin", &origin)]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Max-Age=300"), "{cookie}");
    (answer.json(), cookie.split(';').next().unwrap().to_owned())
}

fn tell(browser: &Browser, path: &str, fields: &[(&str, &str)], cookie: &str) -> Answer {
    let origin = browser.origin();
    browser.post_with(path, fields, &[("Origin", &origin), ("Cookie", cookie)])
}

/// What a device answers that was never asked.
fn made_up() -> String {
    let encoded = |it: &[u8]| {
        use base64::Engine;
        base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(it)
    };
    let client = json!({
        "type": "webauthn.get", "challenge": encoded(&[7; 16]), "origin": "http://localhost:1",
        "crossOrigin": false,
    });
    let response = json!({
        "clientDataJSON": encoded(client.to_string().as_bytes()),
        "authenticatorData": encoded(&[[0; 32].as_slice(), &[5, 0, 0, 0, 1]].concat()),
        "signature": encoded(&[1; 70]),
        "userHandle": encoded(&[2; 16]),
    });
    let id = encoded(&[3; 32]);
    json!({
        "id": id, "rawId": id, "type": "public-key", "response": response,
        "authenticatorAttachment": "platform", "clientExtensionResults": {},
    })
    .to_string()
}

#[test]
fn an_answer_counts_only_for_the_question_that_the_browser_keeps() {
    let (posture, browser) = ada();
    let stranger = Browser::by_name(posture.address);
    let (asked, cookie) = ask(&stranger, "/sign-in/passkey/question", "");
    assert_eq!(
        (&asked["rpId"], &asked["userVerification"]),
        (&json!("localhost"), &json!("required"))
    );
    assert_eq!(asked["allowCredentials"], json!([]), "nobody is named");
    let answered = made_up();
    let is_refused = |cookie: &str, answered: &str, status: u16, why: &str| {
        let told = tell(&stranger, SIGN_IN, &[("answer", answered)], cookie);
        assert_eq!(told.status, status, "{}", told.text());
        assert!(told.text().contains(why), "{why}: {}", told.text());
        let cookie = told.header("set-cookie").unwrap();
        assert!(
            cookie.starts_with("posture-passkey=;"),
            "it is used once, and there is no session"
        );
    };
    is_refused(&cookie, &answered, 401, NOT_ACCEPTED);
    for wrong in ["", "{}", "null", "[]", &answered.replace("signature", "sign")] {
        is_refused(&cookie, wrong, 401, NOT_ACCEPTED);
    }
    for kept in ["posture-passkey=", "posture-passkey=AAAA", "other=1", &cookie[..cookie.len() - 2]]
    {
        is_refused(kept, &answered, 401, NOT_ASKED);
    }
    let longest = format!("{answered:ANSWER_BYTES_MAX$}");
    is_refused(&cookie, &longest, 401, NOT_ACCEPTED);
    is_refused(&cookie, &format!("{longest} "), 400, "is longer than 16384 bytes");
    // Of a session, another session or another purpose.
    let token = browser.token("/me/passkeys");
    let (_, confirming) = ask(&browser, "/confirm/passkey/question", &token);
    let (asked, adding) = ask(&browser, "/me/passkeys/question", &token);
    assert_eq!(asked["user"]["name"], "ada@example.com");
    assert_eq!(asked["authenticatorSelection"]["residentKey"], "required");
    for kept in [&confirming, &adding] {
        is_refused(kept, &answered, 401, NOT_ASKED);
    }
    let fields = [("token", token.as_str()), ("answer", answered.as_str()), ("name", "Laptop")];
    for (path, kept) in [
        ("/confirm/passkey", &cookie),
        ("/confirm/passkey", &adding),
        ("/me/passkeys/add", &cookie),
        ("/me/passkeys/add", &confirming),
    ] {
        let told = tell(&browser, path, &fields, kept);
        assert_eq!((told.status, told.text().contains(NOT_ASKED)), (401, true), "{path}");
    }
    let told = tell(&browser, "/confirm/passkey", &fields, &confirming);
    assert_eq!((told.status, told.text().contains(NOT_ACCEPTED)), (401, true), "{}", told.text());
    let told = tell(&browser, "/me/passkeys/add", &fields, &adding);
    assert_eq!(told.status, 400, "{}", told.text());
    assert!(told.text().contains("there is no new passkey"), "{}", told.text());
    let mut other = Browser::by_name(posture.address);
    other.sign_in("ada");
    let its = other.token("/me/passkeys");
    let fields = [("token", its.as_str()), ("answer", answered.as_str())];
    let told = tell(&other, "/confirm/passkey", &fields, &confirming);
    assert!(told.text().contains(NOT_ASKED), "{}", told.text());
    posture.pass_s(ANSWER_S - 1);
    is_refused(&cookie, &answered, 401, NOT_ACCEPTED);
    posture.pass_s(1);
    is_refused(&cookie, &answered, 401, NOT_ASKED);
}

#[test]
fn answers_of_one_address_are_limited() {
    let (posture, browser) = ada();
    let stranger = Browser::by_name(posture.address);
    let (_, cookie) = ask(&stranger, "/sign-in/passkey/question", "");
    let answered = made_up();
    let tell = || tell(&stranger, SIGN_IN, &[("answer", answered.as_str())], &cookie).status;
    for _ in 0..N_PER_MINUTE {
        assert_eq!(tell(), 401);
    }
    assert_eq!(tell(), 429);
    // Passwords are counted apart.
    browser.copy().sign_in("ada");
    posture.pass_s(60);
    assert_eq!(tell(), 401);
}

#[test]
fn adding_and_removing_need_a_recent_proof() {
    let (posture, browser) = ada();
    let token = browser.token("/me/passkeys");
    posture.pass_s(CONFIRMED_S);
    let page = browser.get("/me/passkeys").text();
    assert!(page.contains("/confirm?next=%2Fme%2Fpasskeys"), "{page}");
    assert!(!page.contains("data-passkey"), "{page}");
    let origin = browser.origin();
    for path in ["/me/passkeys/question", "/me/passkeys/add", "/me/passkeys/remove"] {
        let fields = [("token", token.as_str()), ("passkey", "x")];
        let answer = browser.post_with(path, &fields, &[("Origin", &origin)]);
        let led = answer.header("location");
        assert_eq!((answer.status, led), (303, Some("/confirm?next=%2Fme%2Fpasskeys")), "{path}");
        let evil = browser.post_with(path, &fields, &[("Origin", "https://evil.example")]);
        assert_eq!(evil.status, 403, "{path}");
        let led = browser.get(path);
        assert_eq!(led.header("location"), Some("/me/passkeys"), "{path}");
    }
    let mut browser = Browser::by_name(posture.address);
    browser.sign_in("ada");
    let token = browser.token("/me/passkeys");
    for (id, status) in [("x", 404), ("019cd6f9-1c20-7a41-8c5e-3f1b2d4c6a70", 404)] {
        let fields = [("token", token.as_str()), ("passkey", id)];
        assert_eq!(browser.post("/me/passkeys/remove", &fields).status, status);
    }
    let stranger = Browser::by_name(posture.address);
    for path in ["/sign-in/passkey", "/sign-in/passkey/question"] {
        let evil = stranger.post_with(path, &[], &[("Origin", "https://evil.example")]);
        assert_eq!((evil.status, evil.header("set-cookie")), (403, None), "{path}");
    }
}

#[test]
fn a_name_of_a_passkey_has_at_most_a_hundred_characters() {
    let (_posture, browser) = ada();
    let token = browser.token("/me/passkeys");
    let (_, cookie) = ask(&browser, "/me/passkeys/question", &token);
    let told = |name: &str| {
        let fields = [("token", token.as_str()), ("name", name), ("answer", "{}")];
        let told = tell(&browser, "/me/passkeys/add", &fields, &cookie);
        assert_eq!(told.status, 400);
        told.text()
    };
    for name in ["", " ", &"é".repeat(101)] {
        assert!(told(name).contains("must be 1 to 100 characters"), "{name}");
    }
    assert!(told(&"é".repeat(100)).contains("there is no new passkey"));
}

#[test]
fn passkeys_work_where_the_console_has_a_name() {
    let page = |posture: &Posture, path: &str, headers: &[(&str, &str)]| {
        send(posture.address, "GET", path, headers, b"").text()
    };
    let (posture, browser) = ada();
    assert!(browser.get("/sign-in").status == 303);
    let own = browser.origin();
    let own = own.strip_prefix("http://").unwrap();
    let named = page(&posture, "/sign-in", &[("Host", own)]);
    assert!(named.contains("data-passkey=\"/sign-in/passkey/question\" hidden"), "{named}");
    let address = posture.address.to_string();
    let by_address = page(&posture, "/sign-in", &[("Host", &address)]);
    assert!(!by_address.contains("data-passkey"), "{by_address}");
    let browser = Browser::signed_in(posture.address, "ada");
    let said = browser.get("/me/passkeys").text();
    let rule = format!("Open http://localhost:{} instead.", posture.address.port());
    assert!(said.contains(&rule), "{said}");

    let at = |url: Option<&str>, host: &str| {
        let posture = Posture::start_with(|it| {
            it.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
            it.app.public_url = url.map(str::to_owned);
        });
        add_user(&posture, "ada", "admin", &[]);
        let origin = format!("https://{host}");
        let proxied = [
            ("X-Forwarded-For", "192.0.2.1"),
            ("X-Forwarded-Proto", "https"),
            ("Host", host),
            ("Origin", &origin),
            ("Content-Type", "application/x-www-form-urlencoded"),
        ];
        let offered = page(&posture, "/sign-in", &proxied).contains("data-passkey");
        let asked = send(posture.address, "POST", "/sign-in/passkey/question", &proxied, b"");
        (offered, asked)
    };
    for (url, host, rule) in [
        (None, "posture.example.com", "must set server.public_url"),
        (
            Some("https://posture.example.com"),
            "other.example.com",
            "work at https://posture.example.com alone",
        ),
        (Some("http://posture.example.com"), "posture.example.com", "to an https URL with a name"),
        (Some("https://192.0.2.7"), "192.0.2.7", "to an https URL with a name"),
    ] {
        let (offered, asked) = at(url, host);
        assert_eq!((offered, asked.status), (false, 409), "{url:?}: {}", asked.text());
        assert!(
            asked.json()["error"]["message"].as_str().unwrap().contains(rule),
            "{}",
            asked.text()
        );
    }
    for (url, host) in [
        ("https://posture.example.com", "posture.example.com"),
        ("https://Posture.example.com:443", "posture.example.com"),
        ("https://posture.example.com", "posture.example.com:443"),
        ("https://posture.example.com:8443", "posture.example.com:8443"),
    ] {
        let (offered, asked) = at(Some(url), host);
        assert_eq!((offered, asked.status), (true, 200), "{url}: {}", asked.text());
        assert_eq!(asked.json()["rpId"], "posture.example.com");
        let cookie = asked.header("set-cookie").unwrap();
        assert!(
            cookie.starts_with("__Host-posture-passkey=") && cookie.contains("; Secure;"),
            "{cookie}"
        );
    }
}
