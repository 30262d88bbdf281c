//! The console: signing in and out with a browser, forms, and every page.

mod acts;
mod batches;
pub(crate) mod browser;
mod chosen;
mod dates;
mod forms;
mod lists;
mod mfa;
mod microsoft;
mod names;
mod needs_chromium;
mod needs_npm;
mod oidc;
mod pages;
mod passkey;
mod proxy;
mod schedules;
mod settings;
mod start;

use serde_json::json;

use crate::harness::{Posture, send};
use browser::{Browser, PASSWORD, add_user, encode};

const IDLE_S: i64 = 2 * 3_600;
const LIFE_S: i64 = 12 * 3_600;

fn with_admin() -> (Posture, Browser) {
    let posture = Posture::start();
    add_user(&posture, "ada", "admin", &[]);
    let browser = Browser::signed_in(posture.address, "ada");
    (posture, browser)
}

#[track_caller]
fn is_signed_out(browser: &Browser) {
    let answer = browser.get("/clients");
    assert_eq!((answer.status, answer.header("location")), (303, Some("/sign-in?next=%2Fclients")));
}

#[test]
fn a_password_opens_the_console() {
    let posture = Posture::start();
    add_user(&posture, "ada", "admin", &[]);
    let mut browser = Browser::new(posture.address);
    let first = browser.get("/");
    assert_eq!((first.status, first.header("location")), (303, Some("/sign-in")));
    let page = browser.get("/sign-in").text();
    assert!(page.contains("name=\"password\""), "{page}");
    for (name, password) in [("ada", "wrong, but long enough"), ("nobody", PASSWORD)] {
        let refused = browser.post("/sign-in", &[("name", name), ("password", password)]);
        assert_eq!(refused.status, 401);
        assert!(refused.text().contains("user name or password is wrong"));
        assert!(refused.header("set-cookie").is_none());
    }
    let fields =
        [("name", "ADA@example.com"), ("password", PASSWORD), ("next", "/clients?after=x")];
    let answer = browser.post("/sign-in", &fields);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/clients?after=x")));
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("posture="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
    assert_eq!(browser.get("/clients").status, 200);
    // The sign-in page leads who is signed in on.
    let again = browser.get("/sign-in?next=/risks");
    assert_eq!((again.status, again.header("location")), (303, Some("/risks")));
}

#[test]
fn a_session_ends_by_time_and_survives_a_restart() {
    let (mut posture, browser) = with_admin();
    // Used again and again, it lives for its whole life.
    let mut passed_s = 0;
    while passed_s + IDLE_S / 2 < LIFE_S {
        posture.pass_s(IDLE_S / 2);
        passed_s += IDLE_S / 2;
        assert_eq!(browser.get("/clients").status, 200, "{passed_s}");
    }
    posture.pass_s(LIFE_S - passed_s - 1);
    posture = posture.restart();
    assert_eq!(browser.at(&posture).get("/clients").status, 200);
    posture.pass_s(1);
    is_signed_out(&browser.at(&posture));

    let idle = Browser::signed_in(posture.address, "ada");
    posture.pass_s(IDLE_S - 1);
    let posture = posture.restart();
    assert_eq!(idle.at(&posture).get("/clients").status, 200);
    posture.pass_s(IDLE_S);
    is_signed_out(&idle.at(&posture));
}

#[test]
fn a_stolen_cookie_opens_nothing_after_the_session_ended() {
    let (posture, mut browser) = with_admin();
    let stolen = browser.copy();
    let token = browser.token("/clients");
    let answer = browser.post("/sign-out", &[("token", &token)]);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/sign-in")));
    assert!(answer.header("set-cookie").unwrap().contains("Max-Age=0"));
    is_signed_out(&stolen);
    let posture = posture.restart();
    is_signed_out(&stolen.at(&posture));
    // All sessions end with a new password, and when the user is disabled.
    for change in [json!({"password": "nine ochre moths, kettle"}), json!({"enabled": false})] {
        let id = add_user(&posture, "bob", "viewer", &[]);
        let bob = Browser::signed_in(posture.address, "bob");
        assert_eq!(bob.get("/clients").status, 200);
        let changed = posture.operator("PATCH", &format!("/api/users/{id}"), &change);
        assert_eq!(changed.status, 200, "{}", changed.text());
        is_signed_out(&bob);
        let gone = json!({"email": format!("{id}@example.com"), "username": null});
        assert_eq!(posture.operator("PATCH", &format!("/api/users/{id}"), &gone).status, 200);
    }
}

#[test]
fn the_secret_that_a_browser_brings_is_never_adopted() {
    let (posture, attacker) = with_admin();
    let mut victim = attacker.copy();
    victim.sign_in("ada");
    assert_ne!(victim.cookie(), attacker.cookie());
    is_signed_out(&attacker);
    assert_eq!(victim.get("/clients").status, 200);
    // Two cookies of one name: one of them is somebody else's.
    let both = format!("posture={}; posture={}", victim.cookie(), victim.cookie());
    let host = posture.address.to_string();
    let answer =
        send(posture.address, "GET", "/clients", &[("Host", &host), ("Cookie", &both)], b"");
    assert_eq!(answer.status, 303);
}

#[test]
fn people_see_where_they_are_signed_in_and_end_it() {
    let (posture, mut browser) = with_admin();
    let other = Browser::signed_in(posture.address, "ada");
    let page = browser.get("/me/sessions").text();
    assert!(page.contains("127.0.0.1") && page.contains("this one"), "{page}");
    let id = page.split("name=\"session\" value=\"").nth(1).expect("another session");
    let id = id.split('"').next().unwrap();
    let token = browser.token("/me/sessions");
    let unknown = [("token", token.as_str()), ("session", "0123456789abcdef")];
    assert_eq!(browser.post("/me/sessions", &unknown).status, 404);
    assert_eq!(other.get("/clients").status, 200);
    let form = [("token", token.as_str()), ("session", id)];
    assert_eq!(browser.post("/me/sessions", &form).status, 303);
    is_signed_out(&other);
    assert_eq!(browser.get("/clients").status, 200);
    // An eleventh session ends the one that was not used for the longest time.
    for _ in 0..10 {
        posture.pass_s(400);
        Browser::signed_in(posture.address, "ada");
    }
    is_signed_out(&browser);
}

#[test]
fn forms_of_other_sites_do_nothing() {
    let (posture, browser) = with_admin();
    let other = Browser::signed_in(posture.address, "ada");
    let (own, foreign) = (browser.token("/clients/add"), other.token("/me"));
    let origin = format!("http://{}", posture.address);
    let evil = format!("http://{}.evil.example", posture.address);
    for (headers, token, wanted) in [
        (vec![("Origin", origin.as_str())], own.as_str(), 303),
        (vec![("Sec-Fetch-Site", "same-origin")], own.as_str(), 303),
        (vec![], own.as_str(), 403),
        (vec![("Origin", "null")], own.as_str(), 403),
        (vec![("Origin", "https://evil.example")], own.as_str(), 403),
        (vec![("Origin", evil.as_str())], own.as_str(), 403),
        (vec![("Sec-Fetch-Site", "same-site")], own.as_str(), 403),
        (vec![("Origin", origin.as_str())], "", 403),
        (vec![("Origin", origin.as_str())], foreign.as_str(), 403),
    ] {
        let name = format!("{headers:?} {}", token.len());
        let answer =
            browser.post_with("/clients/add", &[("token", token), ("name", &name)], &headers);
        assert_eq!(answer.status, wanted, "{headers:?}: {}", answer.text());
    }
    let clients = posture.operator("GET", "/api/clients", &json!(null)).json();
    assert_eq!(clients["pagination"]["total"], 2);
    // Another site cannot sign a visitor in to its own account, either.
    let fields = [("name", "ada"), ("password", PASSWORD)];
    let evil = [("Origin", "https://evil.example")];
    let answer = Browser::new(posture.address).post_with("/sign-in", &fields, &evil);
    assert_eq!((answer.status, answer.header("set-cookie")), (403, None));
}

/// Pages are compressed, and a secret that stays the same could be guessed from their lengths.
#[test]
fn the_token_of_forms_is_written_in_another_way_each_time() {
    let (_posture, mut browser) = with_admin();
    let tokens = [browser.token("/clients/add"), browser.token("/clients/add")];
    assert_ne!(tokens[0], tokens[1]);
    // No part of it stays the same.
    let halves = |it: &str| [it[..40].to_owned(), it[46..].to_owned()];
    let [one, other] = tokens.each_ref().map(|it| halves(it));
    assert!(one[0] != other[0] && one[1] != other[1]);
    for (at, token) in tokens.iter().enumerate() {
        let name = format!("A{at}");
        let answer = browser.post("/clients/add", &[("token", token), ("name", &name)]);
        assert_eq!(answer.status, 303, "{}", answer.text());
    }
    let mut mixed = tokens[0][..43].to_owned();
    mixed.push_str(&tokens[1][43..]);
    for wrong in [&mixed, &tokens[0][..85], "", "A", &"A".repeat(86)] {
        let answer = browser.post("/clients/add", &[("token", wrong), ("name", "B")]);
        assert_eq!(answer.status, 403, "{wrong}");
    }
    let page = browser.get("/clients/add");
    assert_eq!(page.header("cross-origin-opener-policy"), Some("same-origin"));
}

#[test]
fn signing_in_leads_to_no_other_site() {
    let posture = Posture::start();
    add_user(&posture, "ada", "admin", &[]);
    for next in [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "/\t/evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/sign-in",
        "",
    ] {
        let mut browser = Browser::new(posture.address);
        let fields = [("name", "ada"), ("password", PASSWORD), ("next", next)];
        let answer = browser.post("/sign-in", &fields);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{next:?}");
        let shown = browser.get(&format!("/sign-in?next={}", encode(next)));
        assert_eq!(shown.header("location"), Some("/"), "{next:?}");
    }
}

#[test]
fn a_password_is_taken_only_where_nobody_can_read_it() {
    let posture =
        Posture::start_with(|it| it.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()]);
    add_user(&posture, "ada", "admin", &[]);
    let body = format!("name=ada&password={}", encode(PASSWORD));
    let sign_in = |headers: &[(&str, &str)]| {
        let kind = ("Content-Type", "application/x-www-form-urlencoded");
        let headers: Vec<_> = headers.iter().copied().chain([kind]).collect();
        send(posture.address, "POST", "/sign-in", &headers, body.as_bytes())
    };
    let https = [
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-Proto", "https"),
        ("Host", "posture.example.com"),
        ("Origin", "https://posture.example.com"),
    ];
    let answer = sign_in(&https);
    assert_eq!(answer.status, 303, "{}", answer.text());
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-posture="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
    // What a browser claims before the proxy does not count; what the proxy adds does.
    let mut claimed = https;
    claimed[1].1 = "https, http";
    claimed[3].1 = "http://posture.example.com";
    for refused in [sign_in(&claimed), sign_in(&[("Origin", "http://posture.example.com")])] {
        assert_eq!((refused.status, refused.header("set-cookie")), (403, None));
        assert!(refused.text().contains("X-Forwarded-Proto"), "{}", refused.text());
    }
    let page = send(posture.address, "GET", "/sign-in", &[("X-Forwarded-Proto", "http")], b"");
    assert_eq!(page.status, 403);
    // The cookie of the open way opens nothing over HTTPS.
    let secret = cookie.split(['=', ';']).nth(1).unwrap();
    let plain = format!("posture={secret}");
    let headers = [("X-Forwarded-Proto", "https"), ("Cookie", plain.as_str())];
    assert_eq!(send(posture.address, "GET", "/clients", &headers, b"").status, 303);
}

#[test]
fn an_unknown_proxy_or_name_is_no_loopback() {
    let posture = Posture::start();
    add_user(&posture, "ada", "admin", &[]);
    for (name, value) in [
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "posture.example.com"),
        ("Via", "1.1 somebody"),
        ("Host", "posture.example.com"),
    ] {
        let answer = send(posture.address, "GET", "/sign-in", &[(name, value)], b"");
        assert_eq!(answer.status, 403, "{name}");
    }
    for host in ["localhost:8080", "127.0.0.1", "[::1]:8080"] {
        assert_eq!(send(posture.address, "GET", "/sign-in", &[("Host", host)], b"").status, 200);
    }
}

#[test]
fn what_gives_access_to_others_needs_the_password_again() {
    let (posture, mut browser) = with_admin();
    assert_eq!(browser.get("/keys").status, 200);
    posture.pass_s(15 * 60);
    for path in ["/keys", "/users", "/webhooks"] {
        let answer = browser.get(path);
        let confirm = format!("/confirm?next={}", encode(path));
        assert_eq!((answer.status, answer.header("location")), (303, Some(confirm.as_str())));
    }
    assert_eq!(browser.get("/clients").status, 200);
    let token = browser.token("/clients");
    let issue = [("token", token.as_str()), ("name", "k"), ("scopes", "read:clients")];
    let led = browser.post("/keys", &issue);
    assert_eq!(led.header("location"), Some("/confirm?next=%2Fkeys"), "back to the form");
    assert!(posture.operator("GET", "/api/keys", &json!(null)).json()["data"][0].is_null());
    let wrong = [("token", token.as_str()), ("password", "wrong, but long enough")];
    assert_eq!(browser.post("/confirm", &wrong).status, 401);
    let right = [("token", token.as_str()), ("password", PASSWORD), ("next", "/keys")];
    assert_eq!(browser.post("/confirm", &right).header("location"), Some("/keys"));
    let issued = browser.post("/keys", &issue);
    assert_eq!(issued.status, 201, "{}", issued.text());
    assert!(issued.text().contains("service_"), "the key is shown");
}

#[test]
fn an_initial_password_is_replaced_first() {
    let posture = Posture::start();
    let made = posture.operator(
        "POST",
        "/api/users",
        &json!({"email": "ada@example.com", "username": "ada", "role": "admin"}),
    );
    let initial = made.json()["data"]["password"].as_str().unwrap().to_owned();
    let mut browser = Browser::new(posture.address);
    browser.post("/sign-in", &[("name", "ada"), ("password", &initial)]);
    assert_eq!(browser.get("/clients").header("location"), Some("/me/password"));
    let token = browser.token("/me/password");
    let form = |new, repeated| {
        let current = ("currentPassword", initial.as_str());
        [("token", token.as_str()), current, ("newPassword", new), ("repeated", repeated)]
    };
    let differs = browser.post("/me/password", &form(PASSWORD, "something else, long"));
    assert_eq!(differs.status, 400);
    let weak = browser.post("/me/password", &form("short", "short"));
    assert_eq!(weak.status, 400);
    assert!(weak.text().contains("newPassword"), "{}", weak.text());
    let before = browser.copy();
    let done = browser.post("/me/password", &form(PASSWORD, PASSWORD));
    assert_eq!((done.status, done.header("location")), (303, Some("/?done=change-password")));
    assert!(browser.get("/?done=change-password").text().contains("is changed"));
    is_signed_out(&before);
}
