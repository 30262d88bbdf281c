//! Signing in at an identity provider.

mod person;
mod scripted;
mod signature;
mod survey;
mod token;

use serde_json::json;

use super::browser::{PASSWORD, add_user};
use crate::harness::{Posture, send};
use scripted::{Provider, Visitor};

const LIFE_S: i64 = 600;

#[test]
fn a_person_signs_in_at_the_provider_and_gets_a_session_of_its_own() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    add_user(&posture, "bob", "viewer", &[]);
    let mut ada = Visitor::to(&posture);
    let page = ada.get("/sign-in?next=/risks").text();
    assert!(page.contains("Sign in with Acme ID"), "{page}");
    assert!(page.contains("href=\"/sign-in/oidc?next=%2Frisks\""), "{page}");
    // Somebody else is signed in with this browser.
    ada.post("/sign-in", &[("name", "bob"), ("password", PASSWORD)]);
    let before = ada.cookies["posture"].clone();
    let answer = ada.get("/sign-in/oidc?next=/risks");
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("posture-oidc="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Max-Age=600"), "{cookie}");
    let led = ada.led("/sign-in/oidc?next=/risks");
    for part in [
        "response_type=code",
        "client_id=posture-console",
        "code_challenge_method=S256",
        "scope=openid+email",
        "redirect_uri=http%3A%2F%2F127.0.0.1%3A",
    ] {
        assert!(led.url.contains(part), "{part}: {}", led.url);
    }
    assert!(!led.url.contains("prompt="), "{}", led.url);
    provider.answer(&provider.claims(&led, posture.now()));
    let thief = ada.clone();
    let done = ada.back(&led);
    assert_eq!((done.status, done.header("location")), (303, Some("/risks")), "{}", done.text());
    assert!(!ada.cookies.contains_key("posture-oidc"), "the cookie is used once");
    assert_ne!(ada.cookies["posture"], before, "no session is adopted");
    assert_eq!(ada.get("/users").status, 200, "an administrator who just signed in");
    assert_eq!(thief.clone().get("/clients").status, 303, "the session of before is over");
    // What was sent with the code: its verifier, whose digest the provider knows.
    let asked = provider.sink.requests();
    let token = asked.iter().find(|it| it.line.starts_with("POST /token")).unwrap();
    let body = String::from_utf8_lossy(&token.body).into_owned();
    assert!(body.contains("code=c&") && body.contains("code_verifier="), "{body}");
    assert!(!body.contains("client_secret"), "{body}");
    // The same answer again, with the cookie of before.
    let again = thief.clone().back(&led);
    assert_eq!(again.status, 401, "{}", again.text());
    assert!(again.text().contains("came to its end before"), "{}", again.text());

    let audit = posture.operator("GET", "/api/audit?limit=5", &json!(null)).json();
    let done = &audit["data"][0];
    assert_eq!(
        (&done["by"], &done["action"]),
        (&json!("user ada@msp.example"), &json!("GET /sign-in/oidc/callback")),
        "{audit}"
    );
}

#[test]
fn an_answer_counts_only_in_the_browser_and_the_time_of_its_sign_in() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    let mut ada = Visitor::to(&posture);
    let led = ada.led("/sign-in/oidc");
    provider.answer(&provider.claims(&led, posture.now()));
    // Another browser, such as that of somebody who is sent the address of an answer.
    let mut victim = Visitor::to(&posture);
    let refused = victim.back(&led);
    assert_eq!(refused.status, 401);
    assert!(refused.text().contains("did not begin this sign-in"), "{}", refused.text());
    let other = victim.led("/sign-in/oidc");
    assert_ne!((&other.state, &other.nonce), (&led.state, &led.nonce));
    let refused = victim.back(&led);
    assert!(refused.text().contains("another sign-in"), "{}", refused.text());
    // A cookie that was made up, and one that was kept for too long.
    victim.cookies.insert("posture-oidc".to_owned(), "AAAA".to_owned());
    assert_eq!(victim.back(&led).status, 401);
    assert!(!victim.is_signed_in());
    let mut late = ada.clone();
    posture.pass_s(LIFE_S);
    let refused = late.back(&led);
    assert!(refused.text().contains("more than 10 minutes ago"), "{}", refused.text());
    let mut ada = Visitor::to(&posture);
    let led = ada.led("/sign-in/oidc");
    posture.pass_s(LIFE_S - 1);
    provider.answer(&provider.claims(&led, posture.now()));
    assert_eq!(ada.back(&led).status, 303, "at the last second");
    // Refusals are in the audit log, under nobody's name.
    posture.block_on(posture.app.checkpoint_unauthenticated()).unwrap();
    let audit = posture.operator("GET", "/api/audit?limit=50", &json!(null)).json();
    let entries = audit["data"].as_array().unwrap().iter();
    let of_it =
        entries.filter(|it| it["action"] == "GET /sign-in/oidc/callback" && it["by"] == "nobody");
    let about: Vec<_> = of_it.map(|it| it["about"].as_str().unwrap()).collect();
    assert!(about.iter().any(|it| it.contains("another sign-in")), "{audit}");
}

#[test]
fn nobody_is_led_to_another_site() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    for next in ["https://evil.example/", "//evil.example/", "/\\evil.example/", "/sign-in", ""] {
        let mut ada = Visitor::to(&posture);
        let led = ada.led(&format!("/sign-in/oidc?next={}", super::browser::encode(next)));
        provider.answer(&provider.claims(&led, posture.now()));
        let done = ada.back(&led);
        assert_eq!((done.status, done.header("location")), (303, Some("/")), "{next:?}");
    }
    // An address that fills the cookie is not kept.
    for (n, kept) in [(1_024, true), (1_025, false)] {
        let next = format!("/{}", "x".repeat(n - 1));
        let mut ada = Visitor::to(&posture);
        let led = ada.led(&format!("/sign-in/oidc?next={next}"));
        provider.answer(&provider.claims(&led, posture.now()));
        let wanted = if kept { next.as_str() } else { "/" };
        assert_eq!(ada.back(&led).header("location"), Some(wanted), "{n}");
    }
}

#[test]
fn what_the_provider_refuses_is_said_on_a_page() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    let mut ada = Visitor::to(&posture);
    for (query, status, said) in [
        ("error=access_denied&error_description=no", 401, "did not let you in"),
        ("error=%3Cscript%3Ex", 401, "Acme ID did not sign you in: &lt;script&gt;x"),
        ("iss=https://other.example&code=c", 401, "cannot be trusted"),
        ("", 401, "Sign in again, without the back button"),
    ] {
        let led = ada.led("/sign-in/oidc");
        let refused = ada.get(&format!("/sign-in/oidc/callback?state={}&{query}", led.state));
        assert_eq!(refused.status, status, "{query}");
        assert!(refused.text().contains(said), "{query}: {}", refused.text());
    }
    for (answer, status, said) in [
        ((400, json!({"error": "invalid_grant"})), 401, "was used already, or is too old"),
        ((401, json!({"error": "invalid_client"})), 503, "oidc.client_secret_file"),
        ((500, json!("no")), 503, "does not answer as it should"),
        ((200, json!({"access_token": "x"})), 401, "cannot be trusted"),
        ((200, json!({"id_token": "x".repeat(70_000)})), 401, "cannot be trusted"),
        ((200, json!({"id_token": "x".repeat(270_000)})), 503, "does not answer as it should"),
    ] {
        let led = ada.led("/sign-in/oidc");
        provider.script().tokens = answer.clone();
        let refused = ada.back(&led);
        assert_eq!(refused.status, status, "{}", refused.text());
        assert!(refused.text().contains(said), "{said}: {}", refused.text());
    }
    assert!(!ada.is_signed_in());
}

#[test]
fn a_provider_that_is_not_there_or_is_another_leads_nobody_on() {
    let provider = Provider::start();
    let honest = provider.script().discovery.clone();
    let with = |name: &str, value: &str| {
        let mut it = honest.clone();
        it[name] = json!(value);
        it
    };
    for discovery in [
        json!("no document"),
        with("issuer", "https://other.example"),
        with("token_endpoint", "ftp://x.example/"),
        with("authorization_endpoint", "javascript:alert(1)"),
        with("jwks_uri", "http://192.0.2.1/keys"),
    ] {
        provider.script().discovery = discovery.clone();
        let posture = provider.posture(|_| ());
        let mut ada = Visitor::to(&posture);
        let refused = ada.get("/sign-in/oidc");
        assert_eq!(refused.status, 503, "{discovery}");
        assert!(refused.text().contains("Acme ID does not answer as it should"), "{discovery}");
        // It is left alone for a while, and then asked again.
        let n_asked = provider.sink.requests().len();
        assert_eq!(ada.get("/sign-in/oidc").status, 503);
        assert_eq!(provider.sink.requests().len(), n_asked);
        provider.script().discovery = honest.clone();
        posture.pass_s(10);
        ada.led("/sign-in/oidc");
    }
    // Without a provider there is no such way.
    let posture = Posture::start();
    assert_eq!(Visitor::to(&posture).get("/sign-in/oidc").status, 404);
    assert!(!Visitor::to(&posture).get("/sign-in").text().contains("/sign-in/oidc"));
    // At another address than the one that the provider leads back to, the cookie would be lost.
    let posture =
        provider.posture(|it| it.app.public_url = Some("https://posture.example.com".to_owned()));
    let refused = Visitor::to(&posture).get("/sign-in/oidc");
    assert_eq!(refused.status, 409);
    assert!(refused.text().contains("https://posture.example.com"), "{}", refused.text());
}

#[test]
fn keys_are_kept_for_an_hour_and_read_again_once_for_an_unknown_one() {
    let mut provider = Provider::start();
    let posture = provider.posture(|_| ());
    let n_read = |provider: &Provider, what: &str| {
        let asked = provider.sink.requests();
        asked.iter().filter(|it| it.line == format!("GET {what}")).count()
    };
    for _ in 0..3 {
        let answer = Visitor::to(&posture).sign_in(&posture, &provider, |_| ());
        assert_eq!(answer.status, 303, "{}", answer.text());
    }
    assert_eq!(
        (n_read(&provider, "/keys"), n_read(&provider, "/.well-known/openid-configuration")),
        (1, 1)
    );
    provider.rotate("k2");
    let mut ada = Visitor::to(&posture);
    let led = ada.led("/sign-in/oidc");
    let claims = provider.claims(&led, posture.now());
    provider.answer_with(&provider.sign(&json!({"alg": "ES256", "kid": "k2"}), &claims));
    assert_eq!(ada.back(&led).status, 303);
    assert_eq!(n_read(&provider, "/keys"), 2);
    // A key that the provider does not have is looked for once.
    let mut eve = Visitor::to(&posture);
    let led = eve.led("/sign-in/oidc");
    let claims = provider.claims(&led, posture.now());
    provider.answer_with(&provider.sign(&json!({"alg": "ES256", "kid": "k3"}), &claims));
    let refused = eve.back(&led);
    assert_eq!(refused.status, 401);
    assert_eq!(n_read(&provider, "/keys"), 3);
    posture.pass_s(3_600);
    ada.led("/sign-in/oidc");
    assert_eq!(n_read(&provider, "/.well-known/openid-configuration"), 2);
}

#[test]
fn returns_are_limited_for_each_address() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    let mut eve = Visitor::to(&posture);
    provider.script().tokens = (400, json!({"error": "invalid_grant"}));
    for _ in 0..20 {
        let led = eve.led("/sign-in/oidc");
        assert_eq!(eve.back(&led).status, 401);
    }
    let led = eve.led("/sign-in/oidc");
    assert_eq!(eve.back(&led).status, 429);
    // Passwords are counted by themselves, and the minute passes.
    add_user(&posture, "bob", "viewer", &[]);
    assert_eq!(posture.try_log_in("bob", PASSWORD).status, 200);
    posture.pass_s(60);
    let answer = eve.sign_in(&posture, &provider, |_| ());
    assert_eq!(answer.status, 303, "{}", answer.text());
}

#[test]
fn over_https_the_cookie_is_of_this_host_alone() {
    let provider = Provider::start();
    let posture = provider.posture(|it| {
        it.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        it.app.public_url = Some("https://posture.example.com".to_owned());
    });
    let https = [
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-Proto", "https"),
        ("Host", "posture.example.com"),
    ];
    let led = send(posture.address, "GET", "/sign-in/oidc", &https, b"");
    assert_eq!(led.status, 303, "{}", led.text());
    let cookie = led.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-posture-oidc="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=600"), "{cookie}");
    // A proxy may have changed the port, or have put a name of its own network in the place of that in the browser.
    for (host, status) in [
        ("posture.example.com:443", 303),
        ("POSTURE.example.com.", 303),
        ("posture.example.com:8080", 303),
        ("10.0.0.5", 303),
        ("posture", 303),
        ("other.example.com", 409),
    ] {
        let [for_, proto, _] = https;
        let led =
            send(posture.address, "GET", "/sign-in/oidc", &[for_, proto, ("Host", host)], b"");
        assert_eq!(led.status, status, "{host}: {}", led.text());
    }
    // Nobody is led anywhere over a way that others can read.
    for path in ["/sign-in/oidc", "/sign-in/oidc/callback?state=a&code=b"] {
        let open = send(posture.address, "GET", path, &[("X-Forwarded-Proto", "http")], b"");
        assert_eq!((open.status, open.header("set-cookie")), (403, None), "{path}");
    }
}
