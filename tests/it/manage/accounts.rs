//! What lists of accounts show about controls: unknown is never yes, and never no.

use serde_json::{Value, json};

use super::controls::control;
use super::{read, told, undo};
use crate::harness::Posture;

/// Pushes a complete list of accounts; what it moved.
fn list(posture: &Posture, client: &str, identities: &Value) -> Value {
    let body = json!({"source": "s", "scope": "x", "complete": true, "identities": identities});
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    posture.pass_s(60);
    answer.json()["data"]["identities"].take()
}

fn account(user: &str, mfa: Option<bool>) -> Value {
    json!({"user": user, "admin": false, "enabled": true, "mfa": mfa})
}

fn standing(posture: &Posture, client: &str, code: &str) -> (String, Option<u64>) {
    let it = control(posture, client, code);
    (it["status"].as_str().unwrap().to_owned(), it["score"].as_u64())
}

#[test]
fn an_unknown_second_factor_heals_nothing() {
    let posture = Posture::start();
    let client = posture.client("A");
    let ann = |mfa| json!({"user": "ann", "admin": true, "enabled": true, "mfa": mfa, "mfaEnforced": mfa});
    let bob = account("bob", Some(true));
    list(&posture, &client, &json!([ann(Some(false)), bob]));
    let of = |code| standing(&posture, &client, code);
    let before = [of("ID-02"), of("ID-03")];
    assert_eq!(before, [("partial".into(), Some(74)), ("non_compliant".into(), Some(0))]);
    let events = posture.events().len();
    list(&posture, &client, &json!([ann(None), bob]));
    assert_eq!([of("ID-02"), of("ID-03")], before);
    let types: Vec<_> = posture.events()[events..].iter().map(|it| it["type"].clone()).collect();
    assert!(types.iter().all(|it| it != "risk_item_resolved"), "{types:?}");
    list(&posture, &client, &json!([ann(Some(true)), bob]));
    assert_eq!(of("ID-03"), ("compliant".into(), Some(100)));
}

#[test]
fn a_list_that_does_not_tell_guests_apart_shows_nothing_of_their_privileges() {
    let posture = Posture::start();
    let client = posture.client("A");
    let of = |user: &str, user_type: &str| {
        let mut it = account(user, None);
        it["userType"] = user_type.into();
        it
    };
    let status = |all: &[Value]| {
        list(&posture, &client, &json!(all));
        standing(&posture, &client, "ID-10").0
    };
    let (ann, bob) = (account("ann", None), account("bob", None));
    let (cy, dee) = (of("cy", "guest"), of("dee", "guest"));
    assert_eq!(status(&[ann.clone(), bob.clone()]), "not_assessed");
    assert_eq!(status(&[of("ann", "member"), of("bob", "member")]), "compliant");
    assert_eq!(status(&[ann.clone(), bob.clone()]), "not_assessed", "nobody says it any more");
    assert_eq!(status(&[of("ann", "member"), bob.clone()]), "not_assessed");
    assert_eq!(status(&[ann.clone(), cy.clone(), dee]), "partial");
    let mut owner = cy;
    owner["roles"] = json!(["Owner"]);
    assert_eq!(status(&[ann, bob, owner]), "non_compliant");
}

#[test]
fn a_dormant_account_stays_so_until_a_list_shows_a_sign_in() {
    let posture = Posture::start();
    let client = posture.client("A");
    let ann = |last: Value| {
        let created = "2024-01-01T00:00:00Z";
        json!({"user": "ann", "admin": false, "enabled": true, "mfa": true, "createdAt": created,
               "lastSignIn": last})
    };
    let now = || json!(posture.now().to_string());
    let bob = || json!({"user": "bob", "admin": false, "enabled": true, "mfa": true, "lastSignIn": now()});
    let of = || standing(&posture, &client, "ID-11");
    let failing = ("partial".into(), Some(74));
    list(&posture, &client, &json!([ann(now()), bob()]));
    for last in [json!("2025-01-01T00:00:00Z"), Value::Null, Value::Null] {
        list(&posture, &client, &json!([ann(last.clone()), bob()]));
        assert_eq!(of(), failing, "{last}");
        assert_eq!(told(&posture, "risk_item_resolved"), Vec::<Value>::new());
    }
    assert_eq!(told(&posture, "dormant_account_detected").len(), 1);
    list(&posture, &client, &json!([ann(now()), bob()]));
    assert_eq!(of(), ("compliant".into(), Some(100)));
    posture.pass_s(100 * 86_400);
    list(&posture, &client, &json!([ann(Value::Null), bob()]));
    assert_eq!(of().0, "partial", "nobody saw whether it is dormant");
    assert_eq!(told(&posture, "dormant_account_detected").len(), 1);
}

#[test]
fn a_dormant_account_that_never_signed_in_by_the_next_list_is_dormant() {
    let posture = Posture::start();
    let client = posture.client("A");
    let now = posture.now().to_string();
    let of = |user: &str, last: &str| json!({"user": user, "admin": false, "enabled": true, "mfa": true, "lastSignIn": last});
    for last in ["2025-01-01T00:00:00Z", "never"] {
        list(&posture, &client, &json!([of("ann", last), of("bob", &now)]));
        let found = standing(&posture, &client, "ID-11");
        assert_eq!(found, ("partial".into(), Some(74)), "{last}");
        assert_eq!(conditions(&posture), ["dormant_account_detected ann"], "{last}");
    }
}

#[test]
fn a_list_that_does_not_know_all_decides_at_most_partly() {
    let of_list = |list_of: &[Option<bool>]| {
        let posture = Posture::start();
        let client = posture.client("A");
        let all = list_of.iter().enumerate().map(|(n, mfa)| account(&format!("u{n}"), *mfa));
        list(&posture, &client, &all.collect());
        let it = control(&posture, &client, "ID-02");
        let findings = it["findings"].as_str().unwrap_or_default().to_owned();
        (it["status"].as_str().unwrap().to_owned(), it["score"].as_u64(), findings)
    };
    let (yes, no) = (Some(true), Some(false));
    let partly = of_list(&[yes, None]);
    assert_eq!((partly.0.as_str(), partly.1), ("partial", Some(74)));
    assert_eq!(partly.2, "1 of 1 passes. 1 of 2 not seen.");
    let mostly = of_list(&[yes, None, None]);
    assert_eq!((mostly.0.as_str(), mostly.1), ("not_assessed", None), "it passes nothing");
    let failing = of_list(&[no, yes, None, None, None]);
    assert_eq!((failing.0.as_str(), failing.1), ("non_compliant", Some(9)), "1 of 5 passes");
    assert_eq!(failing.2, "1 of 2 fails: u0. 3 of 5 not seen.");
}

#[test]
fn a_privileged_role_makes_an_administrator_and_enforcement_counts() {
    let posture = Posture::start();
    let client = posture.client("A");
    let cat = json!({
        "user": "cat", "admin": false, "roles": ["Global Administrator"], "enabled": true, "mfa": false,
    });
    list(&posture, &client, &json!([cat, account("bob", Some(true))]));
    assert_eq!(standing(&posture, &client, "ID-03"), ("non_compliant".into(), Some(0)));
    let open = read(&posture, "/api/conditions");
    let is_missing = |it: &&Value| it["type"] == "admin_mfa_missing";
    assert_eq!(open.as_array().unwrap().iter().filter(is_missing).count(), 1);
    let ann = |enforced| json!({"user": "ann", "admin": true, "enabled": true, "mfa": true, "mfaEnforced": enforced});
    list(&posture, &client, &json!([ann(false), account("bob", Some(true))]));
    assert_eq!(standing(&posture, &client, "ID-03"), ("non_compliant".into(), Some(0)));
    assert_eq!(standing(&posture, &client, "ID-02"), ("compliant".into(), Some(100)));
    list(&posture, &client, &json!([ann(true), account("bob", Some(true))]));
    assert_eq!(standing(&posture, &client, "ID-03"), ("compliant".into(), Some(100)));
}

/// Sends a list that was made so many minutes ago, and returns the id of the import.
fn list_of(posture: &Posture, client: &str, minutes_ago: i64, identities: &Value) -> String {
    let body = json!({
        "source": "s", "scope": "x", "complete": true, "identities": identities,
        "observedAt": posture.now().plus_s(-60 * minutes_ago).to_string(),
    });
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"]["importId"].as_str().unwrap().to_owned()
}

fn admin(user: &str, mfa: Option<bool>) -> Value {
    json!({"user": user, "admin": true, "enabled": true, "mfa": mfa, "mfaEnforced": mfa})
}

/// Type and user of each open condition of an account.
fn conditions(posture: &Posture) -> Vec<String> {
    let open = read(posture, "/api/conditions?limit=100");
    let of_accounts = open.as_array().unwrap().iter().filter(|it| it["object"]["user"].is_string());
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let mut all: Vec<_> = of_accounts
        .map(|it| format!("{} {}", text(&it["type"]), text(&it["object"]["user"])))
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn undoing_the_only_list_closes_its_conditions() {
    let posture = Posture::start();
    let client = posture.client("A");
    let only = list_of(&posture, &client, 0, &json!([admin("ann", Some(false))]));
    assert_eq!(conditions(&posture), ["admin_mfa_missing ann"]);
    undo(&posture, &client, &only);
    assert_eq!(conditions(&posture), [] as [&str; 0]);
    assert_eq!(standing(&posture, &client, "ID-03").0, "not_assessed");
    // The next list is a first one again.
    posture.pass_s(60);
    list_of(&posture, &client, 0, &json!([admin("bob", Some(true))]));
    assert_eq!(conditions(&posture), [] as [&str; 0]);
}

#[test]
fn a_late_list_counts_when_newer_ones_are_undone() {
    let posture = Posture::start();
    let client = posture.client("A");
    list_of(&posture, &client, 30, &json!([admin("ann", Some(true)), admin("cat", Some(true))]));
    let newest = list_of(&posture, &client, 10, &json!([admin("ann", Some(true))]));
    let n_events = posture.events().len();
    list_of(&posture, &client, 20, &json!([admin("ann", Some(false)), admin("bob", Some(true))]));
    let kinds: Vec<_> = posture.events()[n_events..].iter().map(|it| it["type"].clone()).collect();
    assert_eq!(kinds, ["risk_assessment_completed", "integration_sync_completed"]);
    assert_eq!(standing(&posture, &client, "ID-03").0, "compliant");
    let posture = posture.restart();
    undo(&posture, &client, &newest);
    let open = ["admin_mfa_missing ann", "mfa_disabled ann", "privilege_escalation bob"];
    assert_eq!(conditions(&posture), open);
    assert_eq!(standing(&posture, &client, "ID-03"), ("partial".into(), Some(74)));
    posture.pass_s(60);
    list_of(&posture, &client, 0, &json!([admin("ann", Some(true)), admin("bob", Some(true))]));
    let told = super::told(&posture, "privilege_escalation");
    assert_eq!(told.len(), 1, "bob was known from the late list");
}

#[test]
fn what_is_known_of_a_second_factor_follows_the_lists_that_are_left() {
    let posture = Posture::start();
    let client = posture.client("A");
    let first = list_of(&posture, &client, 30, &json!([admin("ann", Some(false))]));
    list_of(&posture, &client, 10, &json!([admin("ann", None)]));
    assert_eq!(standing(&posture, &client, "ID-03").0, "non_compliant");
    let late = list_of(&posture, &client, 20, &json!([admin("ann", Some(true))]));
    assert_eq!(standing(&posture, &client, "ID-03").0, "compliant");
    assert_eq!(conditions(&posture), [] as [&str; 0]);
    undo(&posture, &client, &late);
    assert_eq!(standing(&posture, &client, "ID-03").0, "non_compliant");
    assert_eq!(conditions(&posture), ["admin_mfa_missing ann"]);
    undo(&posture, &client, &first);
    assert_eq!(standing(&posture, &client, "ID-03").0, "not_assessed");
    assert_eq!(conditions(&posture), [] as [&str; 0]);
}

/// Of each source and scope, this many lists are kept; what was known before them remains known.
#[test]
fn the_newest_five_lists_can_be_undone() {
    let posture = Posture::start();
    let client = posture.client("A");
    let ann = |n: i64| json!([admin("ann", Some(n % 2 == 0))]);
    let lists: Vec<_> = (0..7).map(|n| list_of(&posture, &client, 70 - 10 * n, &ann(n))).collect();
    let status = || standing(&posture, &client, "ID-03").0;
    assert_eq!((status(), conditions(&posture)), ("compliant".into(), vec![]));
    let too_late = json!([admin("eve", Some(false))]);
    list_of(&posture, &client, 65, &too_late);
    for n in (2..7).rev() {
        undo(&posture, &client, &lists[n]);
    }
    assert_eq!(conditions(&posture), ["admin_mfa_missing ann"], "the second list is what is left");
    assert_eq!(status(), "non_compliant");
    undo(&posture, &client, &lists[1]);
    assert_eq!(conditions(&posture), ["admin_mfa_missing ann"], "it is not kept by itself");
}

#[test]
fn what_an_account_gained_is_told_also_when_it_is_new_or_enabled_again() {
    let posture = Posture::start();
    let client = posture.client("A");
    let ann = admin("ann", Some(true));
    let eve = |enabled: bool| json!({"user": "eve", "admin": true, "enabled": enabled, "mfa": true, "mfaEnforced": true});
    list(&posture, &client, &json!([ann]));
    for (n, eve) in [(1, eve(true)), (1, eve(false)), (2, eve(true))] {
        list(&posture, &client, &json!([ann, eve]));
        let told = super::told(&posture, "privilege_escalation");
        assert_eq!(told.len(), n);
        assert_eq!(told[n - 1]["object"]["gained"], json!(["admin"]));
    }
}

/// Lists are stored in rows of many accounts, and a record of the database has a limit.
#[test]
fn a_list_of_accounts_with_many_roles_is_taken() {
    let posture = Posture::start();
    let client = posture.client("A");
    let roles: Vec<String> = (0..20).map(|it| format!("{it:0>60}")).collect();
    let of = |it: usize| {
        let mut account = account(&format!("user{it}"), Some(true));
        account["roles"] = json!(roles);
        account
    };
    let all: Vec<Value> = (0..600).map(of).collect();
    let all = json!(all);
    let moved = |n: usize| json!({"added": n, "changed": 0, "gone": 0, "held": false});
    assert_eq!(list(&posture, &client, &all), moved(600));
    assert_eq!(list(&posture, &client, &all), moved(0), "they are known");
}

#[test]
fn accounts_are_listed_as_their_sources_reported_them_last() {
    let posture = Posture::start();
    let client = posture.client("A");
    let other = posture.client("B");
    let now = posture.now().to_string();
    list(&posture, &other, &json!([account("stranger", None)]));
    let of = |name: &str, more: &Value| {
        let mut it = account(name, Some(true));
        it.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        it
    };
    let identities = json!([
        of(
            "ann@example.com",
            &json!({"admin": true, "mfa": false, "displayName": "Ann Éclair", "lastSignIn": now})
        ),
        of(
            "bob@example.com",
            &json!({"roles": ["Billing Owner", "Reader"], "mfa": null, "userType": "Member"})
        ),
        of("cy@example.com", &json!({"enabled": false, "userType": "guest"})),
    ]);
    list(&posture, &client, &identities);
    let more: Vec<Value> = (0..5).map(|n| account(&format!("u{n}"), Some(true))).collect();
    let body = json!({"source": "t", "scope": "y", "complete": true, "identities": more});
    posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    let all = |query: &str| {
        let (mut rows, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/api/clients/{client}/accounts?limit=2&{query}{after}");
            let page = posture.operator("GET", &path, &Value::Null);
            assert_eq!(page.status, 200, "{}", page.text());
            rows.extend(page.json()["data"].as_array().unwrap().clone());
            let Some(next) = page.json()["next"].as_str().map(str::to_owned) else { return rows };
            after = format!("&after={next}");
        }
    };
    let users = |query: &str| -> Vec<String> {
        let user = |it: &Value| it["user"].as_str().unwrap()[..2].to_owned();
        all(query).iter().map(user).collect()
    };
    assert_eq!(users(""), ["an", "bo", "cy", "u0", "u1", "u2", "u3", "u4"]);
    let ann = all("search=%C3%89CL");
    let read_at = ann[0]["readAt"].clone();
    assert_eq!(
        ann,
        [json!({
            "source": "s", "scope": "x", "externalId": "ann@example.com", "user": "ann@example.com",
            "displayName": "Ann Éclair", "guest": null, "privileges": ["admin"], "roles": [], "mfa": false,
            "mfaEnforced": null, "enabled": true, "createdAt": null, "lastSignInAt": now,
            "neverSignedIn": false, "readAt": read_at,
        })]
    );
    assert!(read_at.is_string());
    assert_eq!(users("privileged=true"), ["an", "bo"]);
    assert_eq!(users("mfa=false"), ["an"], "unknown is not no");
    assert_eq!(users("mfa=true&source=s"), ["cy"]);
    assert_eq!(users("enabled=false"), ["cy"]);
    assert_eq!(users("guest=true"), ["cy"]);
    assert_eq!(users("guest=false"), ["bo"], "unknown is not no");
    assert_eq!(users("source=T"), [""; 0]);
    list(&posture, &client, &json!([account("dee", None)]));
    assert_eq!(users("source=s"), ["de"], "those that are gone are gone");
    let path = format!("/api/clients/{client}/accounts?after=00");
    let bad = posture.operator("GET", &path, &Value::Null);
    assert_eq!(super::refused_field(&bad).0, "after");
}
