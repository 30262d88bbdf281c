//! Administrators, and whom two-step verification may leave out.

use posture::connect::google::Snapshot;
use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, Partial};
use serde_json::{Value, json};

use super::workspace::{admin, changed, check, find, of_group, policy, status, user};

const OFF: &str = "1970-01-01T00:00:00Z";

/// Two-step verification is off for an organizational unit in which these are.
fn exempt(users: Vec<Value>) -> Snapshot {
    changed(|wire| {
        let kind = "security.two_step_verification_enforcement";
        let policy = policy(kind, "empty", "202", json!({ "enforcedFrom": OFF }));
        wire["policies"].as_array_mut().unwrap().push(policy);
        for mut user in users {
            user["orgUnitPath"] = "/Empty".into();
            wire["users"].as_array_mut().unwrap().push(user);
        }
    })
}

#[test]
fn one_or_two_super_administrators_may_be_kept_for_emergencies() {
    check(&exempt(vec![]), "two_step_enforced", Compliant, "All 7");
    let one = exempt(vec![admin("glass")]);
    check(&one, "two_step_enforced", Compliant, "for 7 accounts and not for glass@example.com.");
    assert_eq!(find(&one, "two_step_enforced").unwrap().count, None);
    let two = exempt(vec![admin("glass"), admin("hammer")]);
    check(&two, "two_step_enforced", Compliant, "glass@example.com and hammer@example.com");
    let three = exempt(vec![admin("glass"), admin("hammer"), admin("third")]);
    check(&three, "two_step_enforced", NonCompliant, "3 of 10 fail");
    let other = exempt(vec![admin("glass"), user("carl", "/")]);
    check(&other, "two_step_enforced", NonCompliant, "2 of 9 fail");
    let alone = changed(|wire| {
        let kind = "security.two_step_verification_enforcement";
        let policy = policy(kind, "top", "202", json!({ "enforcedFrom": OFF }));
        wire["policies"].as_array_mut().unwrap().push(policy);
        wire["users"] = json!([admin("root"), admin("second")]);
    });
    check(&alone, "two_step_enforced", NonCompliant, "2 of 2 fail");
}

#[test]
fn enforcement_that_begins_later_is_not_yet_there() {
    for (from, expected) in [
        ("2026-11-20T12:00:00Z", Some(Compliant)),
        ("2026-11-20T12:00:01Z", Some(NonCompliant)),
        (OFF, Some(NonCompliant)),
        ("1970-01-01T00:00:00.000Z", Some(NonCompliant)),
        ("soon", None),
        ("", None),
    ] {
        let snapshot = changed(|wire| {
            let kind = "security.two_step_verification_enforcement";
            let policy = policy(kind, "top", "202", json!({ "enforcedFrom": from }));
            wire["policies"].as_array_mut().unwrap().push(policy);
        });
        assert_eq!(status(&snapshot, "two_step_enforced"), expected, "{from}");
    }
}

#[test]
fn a_group_that_is_left_out_makes_it_partly_met() {
    let snapshot = changed(|wire| {
        let kind = "security.two_step_verification_enforcement";
        let policy = policy(kind, "top", "399", json!({ "enforcedFrom": OFF }));
        wire["policies"].as_array_mut().unwrap().push(of_group("groups/2sv-exempt", policy));
    });
    check(&snapshot, "two_step_enforced", Partial, "2sv-exempt");
}

fn sso(assignments: Value) -> Snapshot {
    changed(|wire| wire["sso_assignments"] = assignments)
}

#[test]
fn where_another_provider_signs_in_google_says_nothing_of_factors() {
    let all = sso(json!([{"targetOrgUnit": "orgUnits/top", "ssoMode": "SAML_SSO"}]));
    // Super administrators can still sign in with Google.
    assert_eq!(status(&all, "two_step_enforced"), None, "most are unknown");
    assert_eq!(status(&all, "no_codes_by_phone"), None);
    check(&all, "admin_security_keys", Compliant, "All 2");
    check(&all, "admin_accounts", NonCompliant, "2 of 2 fail");
    let staff = sso(json!([{"targetOrgUnit": "orgUnits/staff", "ssoMode": "OIDC_SSO"}]));
    assert_eq!(status(&staff, "two_step_enforced"), None);
    let interns = sso(json!([{"targetOrgUnit": "orgUnits/interns", "ssoMode": "OIDC_SSO"}]));
    check(&interns, "two_step_enforced", Partial, "Unknown for 1 more.");
    check(&staff, "admin_accounts", Compliant, "All 2");
    let below = sso(json!([
        {"targetOrgUnit": "orgUnits/top", "ssoMode": "SAML_SSO"},
        {"targetOrgUnit": "orgUnits/staff", "ssoMode": "SSO_OFF"},
    ]));
    check(&below, "two_step_enforced", Compliant, "All 7");
    for odd in [
        json!({"targetGroup": "groups/1", "ssoMode": "SAML_SSO"}),
        json!({"ssoMode": "SAML_SSO"}),
        json!({"targetOrgUnit": "orgUnits/top", "ssoMode": "DOMAIN_WIDE_SAML_IF_ENABLED"}),
        json!({"targetOrgUnit": "orgUnits/top"}),
    ] {
        let snapshot = sso(json!([odd]));
        assert_eq!(status(&snapshot, "two_step_enforced"), None, "{odd}");
        assert_eq!(status(&snapshot, "admin_accounts"), None, "{odd}");
    }
    let off = sso(json!([{"targetGroup": "groups/1", "ssoMode": "SSO_OFF"}]));
    check(&off, "two_step_enforced", Compliant, "All 7");
}

#[test]
fn two_to_four_super_administrators_are_right() {
    for (n, expected, words) in [
        (1, NonCompliant, "1 active super administrator: a0@example.com. Give a second person"),
        (2, Compliant, "2 active super administrators: a0@example.com, a1@example.com."),
        (4, Compliant, "4 active"),
        (5, NonCompliant, "Keep two to four"),
        (26, NonCompliant, "a9@example.com and 16 more."),
    ] {
        let snapshot = changed(|wire| {
            wire["users"] =
                (0..n).map(|it| admin(&format!("a{it}"))).chain([user("b", "/")]).collect();
        });
        check(&snapshot, "super_admin_count", expected, words);
    }
    let suspended = changed(|wire| wire["users"][0]["suspended"] = true.into());
    check(&suspended, "super_admin_count", NonCompliant, "1 active");
    let none = changed(|wire| wire["users"] = json!([user("b", "/")]));
    assert_eq!(status(&none, "super_admin_count"), None, "there always is one");
    let unknown = changed(|wire| wire["users"][4]["isAdmin"] = Value::Null);
    assert_eq!(status(&unknown, "super_admin_count"), None);
    let too_many = changed(|wire| {
        wire["users"] = (0..5).map(|it| admin(&format!("a{it}"))).collect();
        let mut user = user("b", "/");
        user["isAdmin"] = Value::Null;
        wire["users"].as_array_mut().unwrap().push(user);
    });
    check(&too_many, "super_admin_count", NonCompliant, "5 active");
}

#[test]
fn an_administrator_with_a_mailbox_does_not_use_a_separate_account() {
    let daily = changed(|wire| wire["users"][0]["isMailboxSetup"] = true.into());
    check(&daily, "admin_accounts", NonCompliant, "root@example.com\n1 of 2 fail");
    let delegated = changed(|wire| wire["users"][3]["isDelegatedAdmin"] = true.into());
    check(&delegated, "admin_accounts", NonCompliant, "ben@example.com\n1 of 3 fail");
    let unknown = changed(|wire| wire["users"][0]["isMailboxSetup"] = Value::Null);
    check(&unknown, "admin_accounts", Partial, "Unknown for 1 more.");
}

#[test]
fn only_administrators_need_keys() {
    let kind = "security.two_step_verification_enforcement_factor";
    let any =
        |unit: &str| policy(kind, unit, "202", json!({"allowedSignInFactorSet": "NO_TELEPHONY"}));
    let staff = changed(|wire| wire["policies"].as_array_mut().unwrap().push(any("staff")));
    check(&staff, "admin_security_keys", Compliant, "All 2");
    let delegated = changed(|wire| {
        wire["policies"].as_array_mut().unwrap().push(any("staff"));
        wire["users"][3]["isDelegatedAdmin"] = true.into();
    });
    check(&delegated, "admin_security_keys", NonCompliant, "ben@example.com\n1 of 3 fail");
    let none = changed(|wire| wire["users"] = json!([user("b", "/")]));
    assert_eq!(status(&none, "admin_security_keys"), None);
}
