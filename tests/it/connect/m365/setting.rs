//! The rules on settings of the directory: ID-05, ID-14, ID-15, APP-01.

use posture::connect::m365::Tenant;
use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, Partial};
use serde_json::{Value, json};

use super::tenant::{check, find, rows, whole};

#[test]
fn weak_methods_are_off_and_nothing_older_counts() {
    let methods = |migration: Value, states: [&str; 3]| {
        let ids = ["Sms", "Voice", "Email"];
        let all: Vec<Value> =
            ids.iter().zip(states).map(|(id, state)| json!({"id": id, "state": state})).collect();
        let policy =
            json!({"policyMigrationState": migration, "authenticationMethodConfigurations": all});
        Tenant { methods: rows(policy), ..whole() }
    };
    let off = ["disabled"; 3];
    let done = json!("migrationComplete");
    check(&methods(done.clone(), off), "ID-05", Compliant, "are not accepted");
    check(&methods(Value::Null, off), "ID-05", Compliant, "are not accepted");
    check(&methods(json!("preMigration"), off), "ID-05", Partial, "Complete the migration");
    check(&methods(json!("migrationInProgress"), off), "ID-05", Partial, "older MFA");
    check(
        &methods(done.clone(), ["enabled", "disabled", "enabled"]),
        "ID-05",
        NonCompliant,
        "text messages, email codes",
    );
    check(
        &methods(json!("preMigration"), ["disabled", "enabled", "?"]),
        "ID-05",
        NonCompliant,
        "voice calls",
    );
    assert_eq!(find(&methods(done.clone(), ["disabled", "disabled", "?"]), "ID-05"), None);
    assert_eq!(find(&methods(json!(1), off), "ID-05"), None);
    let bare = Tenant { methods: rows(json!({"policyMigrationState": done})), ..whole() };
    assert_eq!(find(&bare, "ID-05"), None, "an absent method is not one that is off");
}

#[test]
fn only_some_may_invite_guests() {
    let from =
        |who: Value| Tenant { authorization: rows(json!({"allowInvitesFrom": who})), ..whole() };
    check(&from(json!("none")), "ID-14", Compliant, "no one can");
    check(&from(json!("adminsAndGuestInviters")), "ID-14", Compliant, "named inviters");
    check(
        &from(json!("adminsGuestInvitersAndAllMembers")),
        "ID-14",
        NonCompliant,
        "Ordinary users",
    );
    check(&from(json!("everyone")), "ID-14", NonCompliant, "Ordinary users");
    assert_eq!(find(&from(json!("somethingNew")), "ID-14"), None);
    assert_eq!(find(&from(Value::Null), "ID-14"), None);
}

#[test]
fn passwords_do_not_expire() {
    let domain = |id: &str, is_root: bool, days: Value| json!({"id": id, "isVerified": true, "isRoot": is_root, "authenticationType": "Managed", "passwordValidityPeriodInDays": days});
    let with = |all: &[Value]| Tenant { domains: rows(json!(all)), ..whole() };
    let never = json!(2_147_483_647);
    let root = domain("example.com", true, never.clone());
    check(&with(std::slice::from_ref(&root)), "ID-15", Partial, "accepts 8 characters");
    check(
        &with(&[domain("example.com", true, json!(90))]),
        "ID-15",
        NonCompliant,
        "expire for no reason in example.com",
    );
    check(&with(&[domain("example.com", true, Value::Null)]), "ID-15", NonCompliant, "example.com");
    check(
        &with(&[root.clone(), domain("a.example.com", false, Value::Null)]),
        "ID-15",
        Partial,
        "do not expire",
    );
    let lonely = with(&[root.clone(), domain("badexample.com", false, never)]);
    assert_eq!(find(&lonely, "ID-15"), None, "the domain above it is not there");
    let mut federated = domain("example.org", true, json!(90));
    federated["authenticationType"] = json!("Federated");
    check(&with(&[root, federated.clone()]), "ID-15", Partial, "do not expire");
    assert_eq!(find(&with(&[federated]), "ID-15"), None, "another directory has the passwords");
    assert_eq!(find(&with(&[domain("example.com", true, json!("x"))]), "ID-15"), None);
}

#[test]
fn users_cannot_let_applications_in() {
    let with = |policies: Value, requests: Value, create: Value| Tenant {
        authorization: rows(json!({"defaultUserRolePermissions":
            {"allowedToCreateApps": create, "permissionGrantPoliciesAssigned": policies}})),
        consent_requests: rows(json!({"isEnabled": requests})),
        ..whole()
    };
    let own = |id: &str| {
        json!([
            format!("ManagePermissionGrantsForSelf.{id}"),
            "ManagePermissionGrantsForOwnedResource.x"
        ])
    };
    let (yes, no) = (json!(true), json!(false));
    check(
        &with(json!([]), yes.clone(), no.clone()),
        "APP-01",
        Compliant,
        "can ask an administrator",
    );
    let legacy = own("microsoft-user-default-legacy");
    check(
        &with(legacy, yes.clone(), no.clone()),
        "APP-01",
        NonCompliant,
        "consent to applications on their own",
    );
    let lower = json!(["managePermissionGrantsForSelf.microsoft-user-default-recommended"]);
    check(&with(lower, yes.clone(), no.clone()), "APP-01", NonCompliant, "consent");
    check(
        &with(json!([]), no.clone(), no.clone()),
        "APP-01",
        Partial,
        "Turn on admin consent requests",
    );
    check(
        &with(json!([]), yes.clone(), yes.clone()),
        "APP-01",
        Partial,
        "Users can register applications",
    );
    for unknown in [
        with(Value::Null, yes.clone(), no.clone()),
        with(own("of-our-own"), yes.clone(), no.clone()),
        with(json!([]), Value::Null, no.clone()),
        with(json!([]), yes.clone(), Value::Null),
    ] {
        let judged = find(&unknown, "APP-01");
        assert!(judged.is_none_or(|it| it.status != Compliant), "{:?}", unknown.authorization);
    }
    let low = |names: Value| Tenant {
        classifications: rows(names),
        ..with(own("microsoft-user-default-low"), yes.clone(), no.clone())
    };
    let class = |name: &str, class: &str| json!({"permissionName": name, "classification": class});
    check(
        &low(json!([class("User.Read", "low"), class("Mail.Read", "medium")])),
        "APP-01",
        Compliant,
        "",
    );
    check(
        &low(json!([class("openid", "low"), class("Mail.Read", "low")])),
        "APP-01",
        NonCompliant,
        "consent",
    );
    check(&low(json!([class("Files.ReadWrite.All", "low")])), "APP-01", NonCompliant, "consent");
    let unread = Tenant { classifications: None, ..low(json!([])) };
    assert_eq!(find(&unread, "APP-01"), None);
}
