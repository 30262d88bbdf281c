//! Who signs in: users of their own, with the role that the provider grants now.

use posture::store::global::user::Role;
use serde_json::{Value, json};

use super::super::browser::{PASSWORD, add_user, encode};
use super::scripted::{Provider, Visitor};
use crate::harness::Posture;

fn users(posture: &Posture) -> Vec<Value> {
    let all = posture.operator("GET", "/api/users", &Value::Null).json();
    all["data"].as_array().unwrap().clone()
}

fn named(posture: &Posture, email: &str) -> Value {
    users(posture).into_iter().find(|it| it["email"] == email).unwrap_or_default()
}

fn patch(posture: &Posture, user: &Value, change: &Value) -> (u16, String) {
    let path = format!("/api/users/{}", user["id"].as_str().unwrap());
    let answer = posture.operator("PATCH", &path, change);
    (answer.status, answer.text())
}

#[test]
fn the_role_is_what_the_provider_grants_at_each_sign_in() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    let mut ada = Visitor::to(&posture);
    let mut visit = |roles: Value| {
        let answer = ada.sign_in(&posture, &provider, |it| it["roles"] = roles);
        (answer.status, named(&posture, "ada@msp.example")["role"].clone(), answer.text())
    };
    // Nothing, or nothing that counts, makes no user.
    for roles in [Value::Null, json!([]), json!(["Posture-Admin", "other"]), json!({"a": 1})] {
        let (status, role, text) = visit(roles);
        assert_eq!((status, role), (403, Value::Null));
        assert!(
            text.contains("its claim `roles`") && text.contains("oidc.viewer_values"),
            "{text}"
        );
    }
    assert_eq!(visit(json!("posture-viewer")).1, "viewer");
    assert_eq!(visit(json!(["posture-viewer", "posture-admin"])).1, "admin");
    assert_eq!(visit(json!(["posture-analyst", "posture-viewer"])).1, "analyst");
    // A role that is taken away takes effect in the sessions of before; whoever has none left stays out.
    let (status, role, _) = visit(json!([]));
    assert_eq!((status, role), (403, json!("analyst")));
    assert_eq!(users(&posture).len(), 1);
    posture.block_on(posture.app.checkpoint_unauthenticated()).unwrap();
    let audit = posture.operator("GET", "/api/audit?limit=50", &Value::Null).json();
    let is_it = |it: &&Value| it["outcome"] == "refused 403" && it["by"] == "nobody";
    let noted = audit["data"].as_array().unwrap().iter().find(is_it).unwrap_or(&Value::Null);
    assert_eq!(noted["action"], "GET /sign-in/oidc/callback", "{audit}");
    let about = noted["about"].as_str().unwrap();
    assert!(about.starts_with("identity ada-1: Acme ID knows you"), "{about}");
    assert_eq!(named(&posture, "ada@msp.example")["displayName"], "Ada Lovelace");
}

#[test]
fn a_claim_is_found_by_its_whole_name_and_may_be_an_object() {
    let provider = Provider::start();
    let posture = provider.posture(|it| {
        let grants = &mut it.app.oidc.as_mut().unwrap().grants;
        grants.roles_claim = "access.posture.nord.example.roles".to_owned();
    });
    let roles = json!({ "roles": ["posture-viewer"] });
    let admin = json!({ "roles": ["posture-admin"] });
    for (claims, status) in [
        // As Keycloak writes the roles of a client whose id is a host name.
        (json!({"access": {"posture.nord.example": roles}}), 303),
        (json!({"access": {"posture": {"nord": {"example": roles}}}}), 303),
        (json!({"access.posture": {"nord.example": roles}}), 303),
        (json!({"access.posture.nord.example.roles": "posture-viewer"}), 303),
        // What is not there under the longer name is looked for under the shorter one.
        (json!({"access.posture": {"x": 1}, "access": {"posture.nord.example": roles}}), 303),
        (json!({"access.posture.nord": 1, "access": {"posture.nord.example": roles}}), 303),
        (json!({"access": {"posture.nord": roles, "nord.example": roles}}), 403),
        (json!({"access": {"posture.nord.example": {"Roles": ["posture-viewer"]}}}), 403),
    ] {
        let mut ada = Visitor::to(&posture);
        let answer = ada.sign_in(&posture, &provider, |it| {
            it["roles"] = json!(["posture-admin"]);
            it.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        });
        assert_eq!(answer.status, status, "{claims}: {}", answer.text());
        let role = &named(&posture, "ada@msp.example")["role"];
        assert!(role == "viewer" || role.is_null(), "{claims}: {role}");
    }
    // The longest name that exists counts first.
    let both = json!({"posture.nord.example": roles, "posture": {"nord.example": admin}});
    let mut ada = Visitor::to(&posture);
    ada.sign_in(&posture, &provider, |it| it["access"] = both);
    assert_eq!(named(&posture, "ada@msp.example")["role"], "viewer");
    for (value, role) in [
        // As Zitadel writes roles: each with the organizations that grant it.
        (
            json!({"posture-analyst": {"2001": "nord.zitadel.cloud"}, "other": {"2": "x"}}),
            "analyst",
        ),
        (json!([{"posture-admin": {"2001": "nord.zitadel.cloud"}}, "other"]), "admin"),
        (json!({"posture-viewer": true, "posture-admin": false}), "viewer"),
        (
            json!({"posture-analyst": "x", "posture-admin": null, "a": {"posture-admin": 1}}),
            "analyst",
        ),
        (json!({"posture-viewer": 1, "posture-admin": {}, "x": ["posture-admin"]}), "viewer"),
        (json!([{"posture-viewer": 1}, [{"posture-admin": 1}], {"posture-admin": []}]), "viewer"),
    ] {
        posture.pass_s(60); // Returns are limited.
        let mut ada = Visitor::to(&posture);
        let answer = ada.sign_in(&posture, &provider, |it| {
            it["access.posture.nord.example.roles"] = value.clone();
        });
        assert_eq!(answer.status, 303, "{value}: {}", answer.text());
        assert_eq!(named(&posture, "ada@msp.example")["role"], role, "{value}");
    }
}

#[test]
fn an_identity_never_takes_over_the_user_of_another() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    add_user(&posture, "ada", "admin", &[]);
    let local = named(&posture, "ada@example.com");
    assert_eq!(local["identity"], Value::Null);
    // The address of a user who is there, in other letters; one that nobody verified; none; nonsense.
    for (n, email) in [
        (1, json!("ADA@example.com")),
        (2, json!("ada")),
        (3, Value::Null),
        (4, json!(format!("{}@x.example", "x".repeat(300)))),
    ] {
        let mut eve = Visitor::to(&posture);
        let sub = format!("eve-{n}");
        let answer = eve.sign_in(&posture, &provider, |it| {
            it["email"] = email.clone();
            it["sub"] = json!(sub);
            it["roles"] = json!(["posture-viewer"]);
        });
        assert_eq!(answer.status, 303, "{email}: {}", answer.text());
        let made = users(&posture).into_iter().find(|it| it["identity"]["subject"] == *sub);
        let made = made.expect("a user of its own");
        assert_ne!(made["id"], local["id"]);
        assert_eq!(
            (&made["role"], &made["identity"]["issuer"]),
            (&json!("viewer"), &json!(provider.issuer))
        );
        let email = made["email"].as_str().unwrap();
        assert!(email.ends_with("@127.0.0.1") && email.len() == 26, "{email}");
    }
    let mut eve = Visitor::to(&posture);
    eve.sign_in(&posture, &provider, |it| {
        it["email_verified"] = json!(false);
        it["sub"] = json!("eve-5");
    });
    assert_eq!(named(&posture, "ada@msp.example"), Value::Null);
    assert_eq!(named(&posture, "ada@example.com")["role"], "admin");
    // Another subject with an address of a user from the provider is somebody else, too.
    for sub in ["bob-1", "bob-2"] {
        let mut bob = Visitor::to(&posture);
        bob.sign_in(&posture, &provider, |it| it["sub"] = json!(sub));
    }
    let all = users(&posture);
    assert_eq!(all.iter().filter(|it| it["email"] == "ada@msp.example").count(), 1);
    assert_eq!(
        all.iter()
            .filter(|it| it["identity"]["subject"].as_str().is_some_and(|it| it.starts_with("bob")))
            .count(),
        2
    );
}

#[test]
fn who_signs_in_at_the_provider_has_no_password_and_no_other_role() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    let client = posture.client("A");
    let mut ada = Visitor::to(&posture);
    let as_viewer = |it: &mut Value| it["roles"] = json!(["posture-viewer"]);
    assert_eq!(ada.sign_in(&posture, &provider, as_viewer).status, 303);
    let user = named(&posture, "ada@msp.example");
    for password in ["", PASSWORD] {
        assert_eq!(posture.try_log_in("ada@msp.example", password).status, 401);
        let form = [("name", "ada@msp.example"), ("password", password)];
        assert_eq!(Visitor::to(&posture).post("/sign-in", &form).status, 401);
    }
    for (change, said) in [
        (json!({"password": PASSWORD}), "has no password here"),
        (json!({"password": null}), "has no password here"),
        (json!({"role": "admin"}), "grants the role at each sign-in"),
    ] {
        let (status, text) = patch(&posture, &user, &change);
        assert_eq!(status, 400, "{change}");
        assert!(text.contains(said), "{text}");
    }
    // On pages, too.
    let page = ada.get("/me").text();
    assert!(page.contains(&provider.issuer) && !page.contains("/me/password"), "{page}");
    assert_eq!(ada.get("/me/password").status, 409);
    assert!(!ada.get("/me/mfa").text().contains("currentPassword"));
    let token = ada.get("/me").text();
    let token = token.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let form = [("token", token), ("currentPassword", "x")];
    assert_eq!(ada.post("/me/mfa/enroll", &form).status, 409);
    let form = [("token", token), ("password", ""), ("next", "/keys")];
    assert_eq!(ada.post("/confirm", &form).status, 401);
    let form = [
        ("token", token),
        ("currentPassword", "x"),
        ("newPassword", PASSWORD),
        ("repeated", PASSWORD),
    ];
    assert_eq!(ada.post("/me/password", &form).status, 409);
    // An administrator limits the viewer to clients, which holds at the next sign-in, and forbids a higher role.
    assert_eq!(patch(&posture, &user, &json!({"clientIds": [client]})).0, 200);
    assert_eq!(ada.sign_in(&posture, &provider, as_viewer).status, 303);
    assert_eq!(named(&posture, "ada@msp.example")["clientIds"], json!([client]));
    let refused = ada.sign_in(&posture, &provider, |_| ());
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("limited to some clients"), "{}", refused.text());
    // Who is disabled here stays out.
    assert_eq!(patch(&posture, &user, &json!({"enabled": false})).0, 200);
    assert_eq!(ada.get("/clients").status, 303);
    let refused = ada.sign_in(&posture, &provider, as_viewer);
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("disabled here"), "{}", refused.text());
    assert_eq!(patch(&posture, &user, &json!({"enabled": true})).0, 200);
    assert_eq!(ada.sign_in(&posture, &provider, as_viewer).status, 303);
}

#[test]
fn the_provider_says_which_clients_a_person_sees() {
    let provider = Provider::start();
    let posture = provider.posture(|it| {
        let oidc = it.app.oidc.as_mut().unwrap();
        oidc.grants.clients_claim = Some("app.clients".to_owned());
    });
    let (mine, theirs) = (posture.client("A"), posture.client("B"));
    let mut ada = Visitor::to(&posture);
    let mut visit = |role: &str, clients: Value| {
        let answer = ada.sign_in(&posture, &provider, |it| {
            it["roles"] = json!(role);
            it["app"] = json!({"clients": clients});
        });
        (answer.status, named(&posture, "ada@msp.example")["clientIds"].clone(), answer.text())
    };
    // No client must not come to mean all of them.
    for none in [Value::Null, json!([]), json!(["unknown", "0191a0a0-0000-7000-8000-000000000000"])]
    {
        let (status, _, text) = visit("posture-viewer", none);
        assert_eq!(status, 403);
        assert!(text.contains("`app.clients`"), "{text}");
    }
    assert_eq!(visit("posture-viewer", json!([mine, "unknown"])).1, json!([mine]));
    assert_eq!(visit("posture-viewer", json!("*")).1, json!([]));
    assert_eq!(visit("posture-analyst", json!([theirs])).1, json!([theirs]));
    let user = named(&posture, "ada@msp.example");
    let (status, text) = patch(&posture, &user, &json!({"clientIds": [mine]}));
    assert_eq!(status, 400);
    assert!(text.contains("grants the clients"), "{text}");
    assert_eq!(visit("posture-admin", json!([])).1, json!([]));
}

#[test]
fn a_required_second_factor_is_one_that_the_provider_vouches_for() {
    for (claim, value, status) in [
        ("amr", json!(["pwd"]), 403),
        ("amr", json!(["pwd", "mfa"]), 303),
        ("acr", json!("mfa"), 403),
        ("acr", json!("phr"), 303),
        ("amr", Value::Null, 403),
    ] {
        let provider = Provider::start();
        let posture = provider.posture(|it| {
            it.app.require_mfa = vec![Role::Admin];
            it.app.oidc.as_mut().unwrap().grants.acr_values = vec!["phr".to_owned()];
        });
        let mut ada = Visitor::to(&posture);
        let answer = ada.sign_in(&posture, &provider, |it| it[claim] = value.clone());
        assert_eq!(answer.status, status, "{claim} {value}: {}", answer.text());
        if status == 403 {
            assert!(answer.text().contains("oidc.second_factor"), "{}", answer.text());
            assert_eq!(users(&posture).len(), 0);
            // A role that does not require it.
            let as_viewer = |it: &mut Value| it["roles"] = json!("posture-viewer");
            assert_eq!(ada.sign_in(&posture, &provider, as_viewer).status, 303);
            assert_eq!(named(&posture, "ada@msp.example")["mfa"], "off");
        } else {
            assert_eq!(named(&posture, "ada@msp.example")["mfa"], "on");
        }
    }
    let provider = Provider::start();
    let posture = provider.posture(|it| {
        it.app.require_mfa = vec![Role::Admin];
        it.app.oidc.as_mut().unwrap().grants.provider_requires_mfa = true;
    });
    assert_eq!(Visitor::to(&posture).sign_in(&posture, &provider, |_| ()).status, 303);
}

#[test]
fn what_gives_access_to_others_needs_another_sign_in_at_the_provider() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    let mut ada = Visitor::to(&posture);
    // The provider knew the person, and did not ask.
    let long_ago = posture.now().s() - 3_600;
    ada.sign_in(&posture, &provider, |it| it["auth_time"] = json!(long_ago));
    let confirm = format!("/confirm?next={}", encode("/keys"));
    assert_eq!(ada.get("/keys").header("location"), Some(confirm.as_str()));
    let page = ada.get(&confirm).text();
    assert!(page.contains("/confirm/oidc?next=%2Fkeys") && !page.contains("password"), "{page}");
    let mut again = |change: &dyn Fn(&mut Value)| {
        let led = ada.led("/confirm/oidc?next=/keys");
        assert!(led.url.contains("prompt=login") && led.url.contains("max_age=0"), "{}", led.url);
        let mut claims = provider.claims(&led, posture.now());
        change(&mut claims);
        provider.answer(&claims);
        let session = ada.cookies["posture"].clone();
        let answer = ada.back(&led);
        assert_eq!(ada.cookies["posture"], session);
        (answer.status, answer.text(), ada.get("/keys").status)
    };
    // A provider that does not ask again, does not say when it did, or asked somebody else.
    for auth_time in [json!(long_ago), Value::Null] {
        let (status, text, keys) = again(&|it| it["auth_time"] = auth_time.clone());
        assert_eq!((status, keys), (401, 303));
        assert!(text.contains("auth_time"), "{text}");
    }
    let (status, text, keys) = again(&|it| it["sub"] = json!("eve"));
    assert_eq!((status, keys), (403, 303));
    assert!(text.contains("as somebody else"), "{text}");
    assert_eq!(users(&posture).len(), 1, "no user for somebody else");
    let (status, text, keys) = again(&|_| ());
    assert_eq!((status, keys), (303, 200), "{text}");
    posture.pass_s(15 * 60);
    assert_eq!(ada.get("/keys").status, 303);
    // Without a session it leads to the sign-in.
    let nobody = Visitor::to(&posture).get("/confirm/oidc");
    assert_eq!(
        (nobody.status, nobody.header("location")),
        (303, Some("/sign-in?next=%2Fconfirm%2Foidc"))
    );
}

#[test]
fn sessions_end_when_the_configuration_has_another_provider_or_none() {
    let provider = Provider::start();
    let posture = provider.posture(|_| ());
    let mut ada = Visitor::to(&posture);
    ada.sign_in(&posture, &provider, |_| ());
    let address = ada.address;
    let posture = posture.restart_after(|_| (), |_| ());
    // The configuration names no provider any more.
    ada.address = posture.address;
    assert_ne!(ada.address, address);
    assert_eq!(ada.get("/clients").status, 303);
    assert_eq!(named(&posture, "ada@msp.example")["identity"]["subject"], "ada-1");
}
