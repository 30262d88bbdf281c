//! The list of accounts.

use posture::connect::google::{ACCOUNTS_NEED, StreamKind, accounts};
use posture::engine::identity::{Identity, LastSignIn, UserType};
use serde_json::{Value, json};

use super::workspace::{at, changed, good_wire, snapshot};

fn all(change: impl FnOnce(&mut Value)) -> Vec<Identity> {
    accounts(&changed(change), at()).unwrap()
}

fn ben(change: impl FnOnce(&mut Value)) -> Identity {
    let all = all(|wire| change(&mut wire["users"][3]));
    all.into_iter().find(|it| it.user == "ben@example.com").unwrap()
}

#[test]
fn an_account_is_read_with_its_roles_and_factors() {
    let all = all(|wire| {
        wire["roles"].as_array_mut().unwrap().push(json!({"roleId": 27, "roleName": "Help desk"}));
        let more = [("27", "id-ben"), ("27", "id-ben"), ("99", "id-ben"), ("1", "group-1")];
        let more = more.map(|(role, to)| json!({"roleId": role, "assignedTo": to}));
        wire["role_assignments"].as_array_mut().unwrap().extend(more);
    });
    assert_eq!(all.len(), 7);
    let ben = all.iter().find(|it| it.user == "ben@example.com").unwrap();
    let expected = Identity {
        external_id: "id-ben".to_owned(),
        user: "ben@example.com".to_owned(),
        display_name: Some("ben".to_owned()),
        user_type: UserType::Member,
        is_admin: false,
        roles: vec!["99".to_owned(), "Help desk".to_owned()],
        mfa: Some(true),
        mfa_enforced: Some(true),
        is_enabled: true,
        created_at: Some("2024-01-24T17:35:54Z".parse().unwrap()),
        last_sign_in: LastSignIn::At("2026-11-10T08:00:00Z".parse().unwrap()),
        listed_at: None,
        mfa_known_at: None,
    };
    assert_eq!(*ben, expected);
    let root = all.iter().find(|it| it.user == "root@example.com").unwrap();
    assert!(root.is_admin && root.roles == ["_SEED_ADMIN_ROLE"]);
}

#[test]
fn words_of_the_wire_are_told_apart() {
    let epoch = json!("1970-01-01T00:00:00.000Z");
    assert_eq!(ben(|it| it["lastLoginTime"] = epoch).last_sign_in, LastSignIn::Never);
    assert_eq!(ben(|it| it["lastLoginTime"] = Value::Null).last_sign_in, LastSignIn::Unknown);
    assert_eq!(ben(|it| it["lastLoginTime"] = json!(5)).last_sign_in, LastSignIn::Unknown);
    assert_eq!(ben(|it| it["isGuestUser"] = true.into()).user_type, UserType::Guest);
    assert_eq!(ben(|it| it["isGuestUser"] = Value::Null).user_type, UserType::Unknown);
    assert!(ben(|it| it["isDelegatedAdmin"] = true.into()).is_admin);
    assert!(!ben(|it| it["suspended"] = true.into()).is_enabled);
    assert!(!ben(|it| it["archived"] = true.into()).is_enabled);
    assert_eq!(ben(|it| it["isEnrolledIn2Sv"] = false.into()).mfa, Some(false));
    assert_eq!(ben(|it| it["isEnrolledIn2Sv"] = Value::Null).mfa, None);
    assert_eq!(ben(|it| it["isEnforcedIn2Sv"] = false.into()).mfa_enforced, Some(false));
    assert_eq!(ben(|it| it["isEnforcedIn2Sv"] = "x".into()).mfa_enforced, None);
    assert_eq!(ben(|it| it["name"] = Value::Null).display_name, None);
}

#[test]
fn with_single_sign_on_the_lack_of_a_factor_is_unknown() {
    let mfa = |assignments: Value| {
        let all = all(|wire| {
            wire["users"][0]["isEnrolledIn2Sv"] = false.into();
            wire["users"][3]["isEnrolledIn2Sv"] = false.into();
            wire["sso_assignments"] = assignments;
        });
        let of = |name: &str| all.iter().find(|it| it.external_id == name).unwrap().mfa;
        (of("id-root"), of("id-ben"), of("id-cat"))
    };
    let on = |target: Value| json!([{"targetOrgUnit": target, "ssoMode": "SAML_SSO"}]);
    assert_eq!(mfa(json!([])), (Some(false), Some(false), Some(true)));
    assert_eq!(mfa(on(json!("orgUnits/staff"))), (Some(false), None, None));
    assert_eq!(mfa(on(json!("orgUnits/top"))), (Some(false), None, None));
    let of_group = json!([{"targetGroup": "groups/1", "ssoMode": "SAML_SSO"}]);
    assert_eq!(mfa(of_group), (Some(false), None, Some(true)));
}

#[test]
fn a_list_that_is_not_complete_is_none() {
    for kind in StreamKind::ALL {
        let snapshot = changed(|wire| wire[kind.as_str()] = Value::Null);
        assert_eq!(
            accounts(&snapshot, at()).is_none(),
            ACCOUNTS_NEED.contains(&kind),
            "{}",
            kind.as_str()
        );
    }
    for (list, field) in [
        ("users", "id"),
        ("users", "primaryEmail"),
        ("roles", "roleId"),
        ("role_assignments", "assignedTo"),
    ] {
        let snapshot = changed(|wire| wire[list][0][field] = Value::Null);
        assert_eq!(accounts(&snapshot, at()), None, "{list}.{field}");
    }
    assert!(accounts(&snapshot(good_wire()), at()).is_some());
}
