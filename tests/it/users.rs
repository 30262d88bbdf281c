//! Users, passwords, sessions: what logs in, what stops doing so, and what guessing costs.

mod name;

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use posture::app::access::user::{NewUser, UserChange};
use posture::auth::caller::{Caller, Principal};
use posture::auth::token::TokenKey;
use posture::clock::{Clock, Time};
use posture::error::Code;
use posture::id::UserId;
use posture::serve::Opened;
use posture::store::Store;
use posture::store::global::audit::PendingAct;
use posture::store::global::user::Role;
use serde_json::{Value, json};

use crate::harness::backend::Disk;
use crate::harness::{Answer, Posture, options};

const PASSWORD: &str = "ochre kettle, nine moths";
const OTHER: &str = "nine ochre moths, kettle";
const WRONG: &str = "user name or password is wrong";
const OVER: &str = "the token is invalid or expired; log in again";

fn add(posture: &Posture, change: &Value) -> Answer {
    let mut body = json!({"email": "ada@example.com", "role": "admin", "password": PASSWORD});
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    posture.operator("POST", "/api/users", &body)
}

/// A posture with one admin; its id.
fn with_ada() -> (Posture, String) {
    let posture = Posture::start();
    let made = add(&posture, &json!({"username": "Ada"}));
    assert_eq!(made.status, 201, "{}", made.text());
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    (posture, id)
}

fn me(posture: &Posture, token: &str) -> Answer {
    posture.as_user(token, "GET", "/api/me", &Value::Null)
}

#[track_caller]
fn is_over(posture: &Posture, token: &str) {
    let answer = me(posture, token);
    assert_eq!((answer.status, answer.problem().1.as_str()), (401, OVER));
}

#[test]
fn a_login_takes_either_name_in_any_case_and_shows_no_hash() {
    let (posture, id) = with_ada();
    for name in ["ada@example.com", "ADA@Example.com", "ada", "Ada"] {
        let answer = posture.try_log_in(name, PASSWORD);
        let told = answer.json();
        assert_eq!(answer.status, 200);
        assert_eq!(told["data"]["tokenType"], "Bearer");
        assert_eq!(told["data"]["expiresAt"], "2026-03-10T10:00:00.000Z");
        assert_eq!(told["data"]["user"]["id"], id.as_str());
        assert_eq!(told["data"]["user"]["lastLoginAt"], "2026-03-10T09:00:00.000Z");
        assert!(!answer.text().contains("argon2") && !answer.text().contains("assword\":\""));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let shown = me(&posture, told["data"]["token"].as_str().unwrap()).json();
        assert_eq!(shown["data"]["user"]["email"], "ada@example.com");
    }
    let all = posture.operator("GET", "/api/users", &Value::Null).text();
    assert!(!all.contains("argon2"), "{all}");
}

#[test]
fn who_is_unknown_disabled_or_wrong_is_told_the_same() {
    let (posture, id) = with_ada();
    let other = add(&posture, &json!({"email": "bob@example.com"}));
    let other = other.json()["data"]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/users/{other}");
    assert_eq!(posture.operator("PATCH", &path, &json!({"enabled": false})).status, 200);
    let tries =
        [("ada", OTHER), ("nobody", PASSWORD), ("bob@example.com", PASSWORD), (&id, PASSWORD)];
    for (name, password) in tries {
        let answer = posture.try_log_in(name, password);
        assert_eq!((answer.status, answer.problem().1.as_str()), (401, WRONG), "{name}");
    }
    let long = "x".repeat(3_000);
    assert_eq!(posture.try_log_in("ada", &long).problem().1, WRONG, "longer than any password");
    let longer = "x".repeat(5_000);
    assert_eq!(posture.try_log_in("ada", &longer).status, 413);
}

#[test]
fn a_session_lasts_an_hour_and_survives_a_restart() {
    let (posture, _) = with_ada();
    let token = posture.log_in("ada", PASSWORD);
    let posture = posture.restart();
    posture.pass_s(3_599);
    assert_eq!(me(&posture, &token).status, 200);
    posture.pass_s(1);
    is_over(&posture, &token);
}

#[test]
fn logging_out_ends_all_sessions_of_the_user_at_once() {
    let (posture, _) = with_ada();
    let (one, two) = (posture.log_in("ada", PASSWORD), posture.log_in("ada", PASSWORD));
    assert_eq!(posture.as_user(&one, "POST", "/auth/logout", &Value::Null).status, 204);
    is_over(&posture, &one);
    is_over(&posture, &two);
    assert_eq!(me(&posture, &posture.log_in("ada", PASSWORD)).status, 200);
}

#[test]
fn a_disabled_user_is_out_at_once_and_stays_out_when_enabled_again() {
    let (posture, _) = with_ada();
    let bob = add(&posture, &json!({"email": "bob@example.com", "role": "viewer"})).json();
    let path = format!("/api/users/{}", bob["data"]["id"].as_str().unwrap());
    let token = posture.log_in("bob@example.com", PASSWORD);
    assert_eq!(posture.operator("PATCH", &path, &json!({"enabled": false})).status, 200);
    is_over(&posture, &token);
    assert_eq!(posture.operator("PATCH", &path, &json!({"enabled": true})).status, 200);
    is_over(&posture, &token);
    assert_eq!(posture.try_log_in("bob@example.com", PASSWORD).status, 200);
}

#[test]
fn a_changed_role_acts_on_the_next_request() {
    let (posture, _) = with_ada();
    let bob = add(&posture, &json!({"email": "bob@example.com"})).json();
    let path = format!("/api/users/{}", bob["data"]["id"].as_str().unwrap());
    let token = posture.log_in("bob@example.com", PASSWORD);
    assert_eq!(posture.as_user(&token, "GET", "/api/keys", &Value::Null).status, 200);
    assert_eq!(posture.operator("PATCH", &path, &json!({"role": "viewer"})).status, 200);
    let refused = posture.as_user(&token, "GET", "/api/keys", &Value::Null);
    assert_eq!((refused.status, refused.problem().0.as_str()), (403, "FORBIDDEN"));
}

#[test]
fn a_new_password_of_ones_own_needs_the_old_one_and_ends_all_sessions() {
    let (posture, _) = with_ada();
    let token = posture.log_in("ada", PASSWORD);
    let change = |present: &str, new: &str| {
        let body = json!({"currentPassword": present, "newPassword": new});
        posture.as_user(&token, "PUT", "/api/me/password", &body)
    };
    for (present, new, field) in [
        (OTHER, OTHER, "currentPassword"),
        (PASSWORD, "short", "newPassword"),
        (PASSWORD, "password1234", "newPassword"),
        (PASSWORD, "ada@example.com", "newPassword"),
        (PASSWORD, PASSWORD, "newPassword"),
    ] {
        let answer = change(present, new);
        assert_eq!(answer.status, 400, "{new}");
        assert_eq!(answer.json()["error"]["details"][0]["field"], field, "{new}");
    }
    let changed = change(PASSWORD, OTHER);
    assert_eq!(changed.status, 200, "{}", changed.text());
    is_over(&posture, &token);
    assert_eq!(me(&posture, changed.json()["data"]["token"].as_str().unwrap()).status, 200);
    assert_eq!(posture.try_log_in("ada", PASSWORD).status, 401);
    assert_eq!(posture.try_log_in("ada", OTHER).status, 200);
}

#[test]
fn a_password_that_was_made_is_replaced_before_anything_else() {
    let posture = Posture::start();
    let made = add(&posture, &json!({"password": null}));
    let password = made.json()["data"]["password"].as_str().unwrap().to_owned();
    assert_eq!(made.json()["data"]["mustChangePassword"], true);
    let token = posture.log_in("ada@example.com", &password);
    let refused = posture.as_user(&token, "GET", "/api/keys", &Value::Null);
    let message = "change your initial password first: PUT /api/me/password";
    assert_eq!((refused.status, refused.problem().1.as_str()), (403, message));
    assert_eq!(me(&posture, &token).status, 200);
    let body = json!({"currentPassword": password, "newPassword": PASSWORD});
    let changed = posture.as_user(&token, "PUT", "/api/me/password", &body).json();
    let token = changed["data"]["token"].as_str().unwrap();
    assert_eq!(posture.as_user(token, "GET", "/api/keys", &Value::Null).status, 200);
}

#[test]
fn each_field_of_a_user_has_its_rule() {
    let (posture, _) = with_ada();
    let client = posture.client("Acme");
    let long = |n: usize| "x".repeat(n);
    let email = |n: usize| format!("{}@example.com", long(n - "@example.com".len()));
    let char = |it: u32| char::from_u32(0x21 + it * it * 31 % 89).unwrap();
    let password = |n: u32| (0..n).map(char).collect::<String>();
    let ok = [
        json!({"email": email(254), "role": "viewer", "clientIds": [client]}),
        json!({"email": "b@x", "username": long(200), "displayName": long(200)}),
        json!({"email": "c@x", "password": password(512)}),
    ];
    for change in ok {
        assert_eq!(add(&posture, &change).status, 201, "{change}");
    }
    let bad = [
        (json!({"email": email(255)}), "email"),
        (json!({"email": "ada"}), "email"),
        (json!({"email": "a b@x"}), "email"),
        (json!({"email": "@x"}), "email"),
        (json!({"email": "d@x", "username": long(201)}), "username"),
        (json!({"email": "d@x", "username": "d@y"}), "username"),
        (json!({"email": "d@x", "displayName": long(201)}), "displayName"),
        (json!({"email": "d@x", "role": "root"}), "role"),
        (json!({"email": "d@x", "clientIds": [client]}), "clientIds"),
        (json!({"email": "d@x", "role": "viewer", "clientIds": ["x"]}), "clientIds"),
        (json!({"email": "d@x", "password": password(513)}), "password"),
        (json!({"email": "d@x", "password": "kx9 mz7 qp"}), "password"),
        (json!({"email": "d@x", "password": "aaaaaaaaaaaaaaaa"}), "password"),
        (json!({"email": "d@x", "enabled": false}), "enabled"),
        (json!({"email": "d@x", "id": "1"}), "id"),
    ];
    for (change, field) in bad {
        let answer = add(&posture, &change);
        assert_eq!(answer.status, 400, "{change}");
        assert_eq!(answer.json()["error"]["details"][0]["field"], field, "{}", answer.text());
    }
    for change in
        [json!({}), json!({"email": "ADA@example.com"}), json!({"email": "e@x", "username": "aDa"})]
    {
        assert_eq!(add(&posture, &change).status, 409, "{change}");
    }
}

#[test]
fn somebody_can_always_administer() {
    let (posture, id) = with_ada();
    let path = format!("/api/users/{id}");
    for change in [json!({"enabled": false}), json!({"role": "viewer"})] {
        let answer = posture.operator("PATCH", &path, &change);
        assert_eq!((answer.status, answer.problem().0.as_str()), (409, "CONFLICT"));
    }
    add(&posture, &json!({"email": "bob@example.com"}));
    assert_eq!(posture.operator("PATCH", &path, &json!({"role": "viewer"})).status, 200);
}

#[test]
fn twenty_users_an_hour_can_be_added() {
    let (posture, _) = with_ada();
    let token = posture.log_in("ada", PASSWORD);
    let add = |n: usize| {
        let body = json!({"email": format!("u{n}@x"), "role": "viewer"});
        posture.as_user(&token, "POST", "/api/users", &body)
    };
    let first = add(0);
    assert_eq!(first.header("ratelimit-policy"), Some("20;w=3600"));
    assert_eq!(first.header("ratelimit-remaining"), Some("19"));
    assert!((1..20).all(|n| add(n).status == 201));
    assert_eq!(add(20).status, 429);
    assert_eq!(me(&posture, &token).status, 200, "other operations have limits of their own");
}

/// How many of so many tries at once were looked at.
fn at_once(posture: &Posture, n: usize, name: impl Fn(usize) -> String + Sync) -> usize {
    let try_one = |it: usize| posture.try_log_in(&name(it), OTHER).status;
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..n).map(|it| scope.spawn(move || try_one(it))).collect();
        let all: Vec<_> = all.into_iter().map(|it| it.join().unwrap()).collect();
        assert!(all.iter().all(|it| [401, 429].contains(it)), "{all:?}");
        all.into_iter().filter(|it| *it == 401).count()
    })
}

#[test]
fn of_many_tries_at_once_exactly_the_free_ones_are_looked_at() {
    let (posture, _) = with_ada();
    assert_eq!(at_once(&posture, 200, |_| "ada".to_owned()), 5);
    assert_eq!(at_once(&posture, 60, |_| "nobody".to_owned()), 5, "whether or not it is a user");
    let answer = posture.try_log_in("ada", PASSWORD);
    assert_eq!(answer.status, 429, "the right password waits too");
    assert_eq!(answer.header("retry-after"), Some("2"));
    posture.pass_s(2);
    assert_eq!(posture.try_log_in("ada", PASSWORD).status, 200);
    assert_eq!(posture.try_log_in("ada", OTHER).status, 401, "success makes tries free again");
}

#[test]
fn a_network_has_twenty_tries_a_minute_whatever_the_names() {
    let (posture, _) = with_ada();
    assert_eq!(at_once(&posture, 60, |it| format!("nobody{it}")), 20);
    posture.pass_s(60);
    assert_eq!(posture.try_log_in("ada", PASSWORD).status, 200);
}

#[test]
fn each_further_try_waits_twice_as_long_up_to_a_quarter_of_an_hour() {
    let (posture, _) = with_ada();
    for _ in 0..5 {
        assert_eq!(posture.try_log_in("ada", OTHER).status, 401);
    }
    for pause_s in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
        let refused = posture.try_log_in("ada", OTHER);
        let retry_s: i64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert_eq!((refused.status, retry_s), (429, pause_s + 1));
        posture.pass_s(retry_s);
        assert_eq!(posture.try_log_in("ada", OTHER).status, 401, "{pause_s}");
    }
}

/// A token with these claims, signed with the right key and with this header.
fn forged(key: &[u8; 32], header: &str, claims: &Value) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    let signed = format!("{}.{}", BASE64.encode(header), BASE64.encode(claims.to_string()));
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(key).unwrap();
    mac.update(signed.as_bytes());
    format!("{signed}.{}", BASE64.encode(mac.finalize().into_bytes()))
}

const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
const NOW_S: i64 = 1_800_000_000;
const KEY: [u8; 32] = [7; 32];

/// What a good token says, but for one claim.
fn claims(user: UserId, name: &str, value: Value) -> Value {
    let mut claims = json!({
        "iss": "posture", "aud": "posture", "sub": user.to_string(), "jti": "j",
        "iat": NOW_S, "exp": NOW_S + 3_600, "sv": 3,
    });
    claims[name] = value;
    claims
}

#[test]
fn a_token_with_another_frame_is_nobody_s() {
    let (tokens, now, user) = (TokenKey::of(KEY), Time::from_s(NOW_S), UserId::random());
    let (good, session) = tokens.issue(user, 3, now);
    assert_eq!(tokens.verify(&good, now), Some(session));
    let parts: Vec<_> = good.split('.').collect();
    let mut bad = vec![
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        format!("{good}."),
        format!("{good}="),
        format!(" {good}"),
        format!("{}.{}.{}", parts[0], parts[1], &parts[2][..parts[2].len() - 1]),
        format!("{good}.{}", parts[2]),
        good.to_uppercase(),
        "x".repeat(100_000),
        TokenKey::of([8; 32]).issue(user, 3, now).0,
    ];
    let good_claims = claims(user, "jti", json!("j"));
    for alg in ["none", "None", "nOnE", "RS256", "HS512", "ES256", ""] {
        let header = format!(r#"{{"alg":"{alg}","typ":"JWT"}}"#);
        bad.push(forged(&KEY, &header, &good_claims));
        bad.push(format!("{}.{}.", BASE64.encode(header), parts[1]));
    }
    for header in [
        r#"{"typ":"JWT","alg":"HS256"}"#,
        r#"{"alg":"HS256","typ":"JWT","kid":"../../key"}"#,
        r#"{"alg":"HS256","typ":"JWT","jku":"http://127.0.0.1/"}"#,
        r#"{"alg":"HS256","typ":"JWT","crit":["exp"]}"#,
    ] {
        bad.push(forged(&KEY, header, &good_claims));
    }
    for token in bad {
        assert_eq!(tokens.verify(&token, now), None, "{token:.200}");
    }
}

#[test]
fn a_token_with_other_claims_is_nobody_s() {
    let (tokens, now, user) = (TokenKey::of(KEY), Time::from_s(NOW_S), UserId::random());
    let good = forged(&KEY, HEADER, &claims(user, "jti", json!("k")));
    assert!(tokens.verify(&good, now).is_some(), "the frame is right");
    let bad = [
        ("exp", json!(NOW_S)),
        ("exp", json!((NOW_S + 60).to_string())),
        ("exp", json!(i64::MAX)),
        ("exp", json!(u64::MAX)),
        ("exp", json!(NOW_S + 3_601)),
        ("exp", json!(1e9)),
        ("exp", Value::Null),
        ("iat", json!(i64::MIN)),
        ("sub", json!("admin")),
        ("sub", json!([user.to_string()])),
        ("aud", json!(["posture"])),
        ("iss", json!("elsewhere")),
        ("sv", json!(-1)),
        ("sv", json!("3")),
    ];
    for (name, value) in bad {
        let token = forged(&KEY, HEADER, &claims(user, name, value.clone()));
        assert_eq!(tokens.verify(&token, now), None, "{name} {value}");
    }
}

#[test]
fn a_caller_who_leaves_in_the_middle_of_a_change_does_not_undo_it() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let disk = Disk::default();
    let store = Store::on_backend(disk.clone(), 1 << 20).unwrap();
    let clock = Clock::manual(Time::from_s(NOW_S));
    let opened = Opened::on(store, clock, &options(folder.path())).unwrap();
    let app = &opened.app;
    let by = Caller::new(Principal::Operator { uid: 0 });
    runtime.block_on(async {
        let user = |email: &str| NewUser {
            email: email.to_owned(),
            username: None,
            display_name: None,
            role: Role::Admin,
            clients: Vec::new(),
            password: Some(PASSWORD.to_owned()),
        };
        let (ada, _) = app.add_user(&by, user("ada@example.com")).await.unwrap();
        app.add_user(&by, user("bob@example.com")).await.unwrap();
        let disable = UserChange { enabled: Some(false), ..UserChange::default() };
        disk.hold();
        let is_syncing = async {
            while !disk.is_syncing() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            answer = app.change_user(&by, ada.id, || Ok(disable)) => {
                panic!("answered before it was durable: {:?}", answer.is_ok())
            }
            () = is_syncing => (),
        }
        let held = disk.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            held.release();
        });
        let login =
            app.log_in("ada@example.com", PASSWORD, None, None, PendingAct::default()).await;
        assert!(login.is_err(), "she was disabled before");
        assert!(!app.get_user(ada.id).unwrap().enabled);
    });
    runtime.block_on(opened.close()).unwrap();
}

#[test]
fn strangers_do_not_keep_somebody_out_of_the_own_session_or_a_known_place() {
    let (posture, _) = with_ada();
    let (home, away) = ("192.0.2.1".parse().unwrap(), "198.51.100.1".parse().unwrap());
    let try_from = |from, password: &str| {
        let login = posture.app.log_in("ada", password, None, Some(from), PendingAct::default());
        posture.block_on(login).map(|it| it.token)
    };
    let token = try_from(home, PASSWORD).unwrap();
    for _ in 0..5 {
        assert!(try_from(away, OTHER).is_err());
    }
    let refused = try_from(away, PASSWORD).unwrap_err();
    assert!(matches!(refused.code, Code::RateLimited { .. }), "the name is tried too often");
    assert!(try_from(home, PASSWORD).is_ok(), "not from where she logged in before");
    for name in ["ada from 192.0.2.1", "ada@example.com from 192.0.2.1"] {
        for _ in 0..6 {
            let act = PendingAct::default();
            let login = posture.app.log_in(name, OTHER, None, Some(away), act);
            assert!(posture.block_on(login).is_err());
        }
    }
    assert!(try_from(home, PASSWORD).is_ok(), "and no name reaches the count of a known network");
    let body = json!({"currentPassword": PASSWORD, "newPassword": OTHER});
    let changed = posture.as_user(&token, "PUT", "/api/me/password", &body);
    assert_eq!(changed.status, 200, "{}", changed.text());
    for _ in 0..5 {
        assert!(try_from(home, PASSWORD).is_err());
    }
    let refused = try_from(home, OTHER).unwrap_err();
    assert!(matches!(refused.code, Code::RateLimited { .. }), "a known place has its own count");
}
