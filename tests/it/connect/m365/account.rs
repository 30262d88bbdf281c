//! The list of accounts, and the rules on administrators and guests: ID-07, ID-08, ID-09, ID-13.

use posture::connect::m365::Tenant;
use posture::connect::m365::rules::accounts;
use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, NotApplicable, Partial};
use posture::engine::identity::{Identity, LastSignIn, UserType, verdicts};
use serde_json::{Value, json};

use super::tenant::{
    GLOBAL_ADMINISTRATOR, USER_ADMINISTRATOR, at, check, find, merge, mfa, policy, rows, user,
    whole,
};

fn with_users(users: &[Value]) -> Tenant {
    Tenant { users: rows(json!(users)), ..whole() }
}

fn with(id: &str, further: &Value) -> Value {
    let mut user = user(id);
    merge(&mut user, further);
    user
}

fn account(tenant: &Tenant, id: &str) -> Option<Identity> {
    accounts(tenant, at()).unwrap().into_iter().find(|it| it.external_id == id)
}

#[test]
fn an_account_has_its_roles_factor_and_last_sign_in() {
    let ada = account(&whole(), "ada").unwrap();
    assert_eq!(ada.user, "ada@example.com");
    assert_eq!(ada.roles, ["User Administrator"], "one that it may activate");
    assert_eq!((ada.is_admin, ada.user_type, ada.is_enabled), (true, UserType::Member, true));
    assert_eq!((ada.mfa, ada.mfa_enforced), (Some(true), Some(true)));
    assert_eq!(ada.last_sign_in, LastSignIn::At("2026-03-01T00:00:00Z".parse().unwrap()));
    let glass = account(&whole(), "glass1").unwrap();
    assert_eq!((glass.mfa, glass.mfa_enforced), (None, Some(false)), "it is left out");
    assert_eq!(account(&whole(), "bob").unwrap().roles, [""; 0]);
}

#[test]
fn roles_are_held_through_groups() {
    let mut tenant = whole();
    let of_group = json!([{"principalId": "g", "roleDefinitionId": GLOBAL_ADMINISTRATOR,
        "principal": {"@odata.type": "#microsoft.graph.group", "displayName": "Admins"}}]);
    tenant.role_assignments = rows(of_group.clone());
    assert_eq!(accounts(&tenant, at()), None, "who is in the group is not known");
    assert_eq!(find(&tenant, "ID-07"), None);
    let eligible =
        Tenant { role_assignments: rows(json!([])), role_eligibilities: rows(of_group), ..whole() };
    assert_eq!(accounts(&eligible, at()), None, "nor in one that may activate it");
    tenant.group_members = rows(json!({"g": ["bob", "ada"]}));
    assert_eq!(account(&tenant, "bob").unwrap().roles, ["Global Administrator"]);
    check(&tenant, "ID-07", Compliant, "2 enabled accounts are Global Administrator");
    for missing in [
        Tenant { role_assignments: None, ..tenant.clone() },
        Tenant { role_definitions: None, ..tenant.clone() },
        Tenant { role_eligibilities: None, ..tenant.clone() },
        Tenant { users: None, ..tenant.clone() },
    ] {
        assert_eq!(accounts(&missing, at()), None, "an administrator could be missing");
    }
    let free = Tenant { role_eligibilities: None, skus: rows(json!([])), ..tenant };
    assert!(accounts(&free, at()).is_some(), "without Entra ID P2 nobody is eligible");
}

#[test]
fn those_that_are_no_people_are_left_out() {
    let others = [
        with("agent", &json!({"@odata.type": "#microsoft.graph.agentUser"})),
        with("room", &json!({"isResourceAccount": true})),
        with(
            "sync",
            &json!({"displayName": "On-Premises Directory Synchronization Service Account"}),
        ),
        with("later", &json!({"employeeHireDate": "2026-04-01T00:00:00Z"})),
        json!({"userPrincipalName": "no-id@example.com"}),
    ];
    assert_eq!(accounts(&with_users(&others), at()).unwrap(), []);
    let people = [
        with("here", &json!({"employeeHireDate": "2026-03-01T00:00:00Z"})),
        with("guest", &json!({"userType": "guest"})),
        with("off", &json!({"accountEnabled": false})),
        json!({"id": "bare"}),
    ];
    let tenant = with_users(&people);
    assert_eq!(accounts(&tenant, at()).unwrap().len(), 4);
    assert_eq!(account(&tenant, "guest").unwrap().user_type, UserType::Guest);
    assert!(!account(&tenant, "off").unwrap().is_enabled);
    assert_eq!(account(&tenant, "bare").unwrap().user, "bare");
}

#[test]
fn a_last_sign_in_is_a_successful_one() {
    const ZERO: &str = "0001-01-01T00:00:00Z";
    let at = |text: &str| LastSignIn::At(text.parse().unwrap());
    for (activity, expected) in [
        (
            json!({"lastSuccessfulSignInDateTime": "2026-01-01T00:00:00Z", "lastSignInDateTime": "2026-02-01T00:00:00Z"}),
            at("2026-01-01T00:00:00Z"),
        ),
        (
            json!({"lastSignInDateTime": "2026-01-01T00:00:00Z", "lastNonInteractiveSignInDateTime": "2026-02-01T00:00:00Z"}),
            at("2026-02-01T00:00:00Z"),
        ),
        (
            json!({"lastSignInDateTime": "2026-01-01T00:00:00Z", "lastNonInteractiveSignInDateTime": ZERO}),
            at("2026-01-01T00:00:00Z"),
        ),
        (
            json!({"lastSuccessfulSignInDateTime": ZERO, "lastSignInDateTime": "2026-01-01T00:00:00Z"}),
            LastSignIn::Never,
        ),
        (json!({"lastSignInDateTime": ZERO}), LastSignIn::Never),
        (json!({}), LastSignIn::Unknown),
        (json!({"lastSignInDateTime": "yesterday"}), LastSignIn::Unknown),
        (Value::Null, LastSignIn::Never),
    ] {
        let mut ada = user("ada");
        ada["signInActivity"] = activity.clone();
        let tenant = with_users(&[ada, user("bob")]);
        assert_eq!(account(&tenant, "ada").unwrap().last_sign_in, expected, "{activity}");
    }
    let mut ada = user("ada");
    ada["signInActivity"] = Value::Null;
    let unlicensed = with_users(&[ada]);
    let found = account(&unlicensed, "ada").unwrap().last_sign_in;
    assert_eq!(found, LastSignIn::Unknown, "of no one anything was read: there is no Entra ID P1");
}

/// Whether a policy makes the account of a member, and that of a guest, pass a second factor.
fn enforced(tenant: &Tenant) -> [Option<bool>; 2] {
    let guest = with("guest", &json!({"userType": "Guest"}));
    let tenant = Tenant { users: rows(json!([user("ada"), guest])), ..tenant.clone() };
    ["ada", "guest"].map(|it| account(&tenant, it).unwrap().mfa_enforced)
}

#[test]
fn a_second_factor_is_enforced_where_a_policy_is_about_the_account() {
    const YES: Option<bool> = Some(true);
    const NO: Option<bool> = Some(false);
    let of = |users: Value, further: Value| {
        let mut it = policy(&mfa(), &json!({"conditions": {"users": users}}));
        merge(&mut it, &further);
        Tenant { policies: rows(json!([it])), ..whole() }
    };
    let none = json!({});
    for (users, expected) in [
        (json!({}), [YES, YES]),
        (json!({"includeUsers": ["ada"]}), [YES, NO]),
        (json!({"includeUsers": ["GuestsOrExternalUsers"]}), [NO, YES]),
        (json!({"includeUsers": ["None"]}), [NO, NO]),
        (json!({"includeUsers": [], "includeRoles": [USER_ADMINISTRATOR]}), [YES, NO]),
        (json!({"includeUsers": [], "includeGroups": ["g"]}), [None, None]),
        (json!({"excludeGroups": ["g"]}), [None, None]),
        (json!({"excludeUsers": ["ada"], "excludeGroups": ["g"]}), [NO, None]),
        (json!({"excludeUsers": ["GuestsOrExternalUsers"]}), [YES, NO]),
        (json!({"excludeRoles": [USER_ADMINISTRATOR]}), [NO, YES]),
        (
            json!({"excludeGuestsOrExternalUsers": {"guestOrExternalUserTypes": "internalGuest"}}),
            [YES, None],
        ),
        (
            json!({"includeUsers": [], "includeGuestsOrExternalUsers": {"guestOrExternalUserTypes": "internalGuest"}}),
            [NO, None],
        ),
    ] {
        assert_eq!(enforced(&of(users.clone(), none.clone())), expected, "{users}");
    }
    for further in [
        json!({"state": "enabledForReportingButNotEnforced"}),
        json!({"conditions": {"applications": {"includeApplications": ["Office365"]}}}),
        json!({"conditions": {"applications": {"excludeApplications": ["x"]}}}),
        json!({"conditions": {"signInRiskLevels": ["high"]}}),
        json!({"grantControls": {"builtInControls": ["mfa", "compliantDevice"]}}),
    ] {
        assert_eq!(enforced(&of(none.clone(), further.clone())), [NO, NO], "{further}");
    }
    let grouped = of(json!({"includeUsers": [], "includeGroups": ["g"]}), none.clone());
    assert_eq!(
        enforced(&Tenant { group_members: rows(json!({"g": ["ada"]})), ..grouped }),
        [YES, NO]
    );
    let unread = Tenant { policies: None, ..whole() };
    assert_eq!(enforced(&unread), [None, None]);
    let defaults = Tenant { security_defaults: rows(json!({"isEnabled": true})), ..unread };
    assert_eq!(enforced(&defaults), [YES, YES]);
    let unsaid = Tenant { security_defaults: None, policies: rows(json!([])), ..whole() };
    assert_eq!(enforced(&unsaid), [None, None]);
}

#[test]
fn a_report_that_lacks_accounts_is_not_a_report_that_they_have_no_factor() {
    let tenant =
        Tenant { registrations: rows(json!([{"id": "ada", "isMfaRegistered": null}])), ..whole() };
    let all = accounts(&tenant, at()).unwrap();
    assert!(all.iter().all(|it| it.mfa.is_none()));
    let judged = verdicts(&all, at(), 90, |_| 35);
    assert!(!judged.iter().any(|it| it.code == "ID-02"), "nothing is known");
}

#[test]
fn two_to_four_accounts_are_global_administrators() {
    let with_admins = |n: usize| {
        let names: Vec<String> = (0..n).map(|it| format!("admin{it}")).collect();
        let users: Vec<Value> = names.iter().map(|it| user(it)).collect();
        let of = |it: &String| json!({"principalId": it, "roleDefinitionId": GLOBAL_ADMINISTRATOR});
        let assignments: Vec<Value> = names.iter().map(of).collect();
        Tenant { role_assignments: rows(json!(assignments)), ..with_users(&users) }
    };
    for (n, status, words) in [
        (0, NonCompliant, "No enabled account"),
        (1, NonCompliant, "Only admin0@example.com"),
        (2, Compliant, "2 enabled accounts"),
        (4, Compliant, "4 enabled accounts"),
        (5, NonCompliant, "5 accounts are Global Administrator"),
    ] {
        check(&with_admins(n), "ID-07", status, words);
    }
    let mut tenant = with_admins(3);
    let off: Vec<Value> =
        (0..3).map(|it| with(&format!("admin{it}"), &json!({"accountEnabled": it == 0}))).collect();
    tenant.users = rows(json!(off));
    check(&tenant, "ID-07", NonCompliant, "Only admin0");
}

#[test]
fn administrators_have_accounts_of_their_own() {
    let ada = |further: Value| with_users(&[with("ada", &further), user("glass1"), user("glass2")]);
    check(&ada(json!({})), "ID-08", Compliant, "All 3");
    check(&ada(json!({"onPremisesSyncEnabled": true})), "ID-08", NonCompliant, "ada@example.com");
    check(&ada(json!({"assignedLicenses": [{"skuId": "e5"}]})), "ID-08", NonCompliant, "1 of 3");
    check(&ada(json!({"assignedLicenses": [{"skuId": "p2"}]})), "ID-08", Compliant, "");
    check(&ada(json!({"onPremisesSyncEnabled": false})), "ID-08", Compliant, "");
    check(&ada(json!({"onPremisesSyncEnabled": "?"})), "ID-08", Partial, "Unknown for 1 more");
    check(&ada(json!({"assignedLicenses": ["?"]})), "ID-08", Partial, "Unknown for 1 more");
}

#[test]
fn privileged_roles_end() {
    let schedule = |principal: &str, end: Value| {
        let it = json!({"principalId": principal, "roleDefinitionId": USER_ADMINISTRATOR,
            "assignmentType": "Assigned", "endDateTime": end});
        Tenant { role_schedules: rows(json!([it])), ..whole() }
    };
    check(&schedule("ada", json!("2026-04-01T00:00:00Z")), "ID-09", Compliant, "No account holds");
    let held = schedule("ada", Value::Null);
    check(&held, "ID-09", NonCompliant, "ada@example.com (User Administrator)");
    check(&schedule("glass2", Value::Null), "ID-09", Compliant, "emergency access");
    check(&schedule("unknown", Value::Null), "ID-09", NonCompliant, "unknown (User Administrator)");
    assert_eq!(find(&schedule("ada", json!(5)), "ID-09"), None, "whether it ends is not known");
    let free = Tenant { skus: rows(json!([])), ..held.clone() };
    assert_eq!(find(&free, "ID-09"), None, "it takes Entra ID P2");
    let nobody = Tenant { policies: rows(json!([])), ..schedule("glass2", Value::Null) };
    check(&nobody, "ID-09", NonCompliant, "glass2@example.com");
}

#[test]
fn guests_are_in_use() {
    let guest = |id: &str, last: Value| {
        with(
            id,
            &json!({"userType": "Guest", "signInActivity": {"lastSuccessfulSignInDateTime": last}}),
        )
    };
    let new = guest("new", json!("2026-03-01T00:00:00Z"));
    let old = guest("old", json!("2025-11-01T00:00:00Z"));
    check(
        &with_users(std::slice::from_ref(&new)),
        "ID-13",
        Partial,
        "Attest when each was last confirmed",
    );
    check(&with_users(&[new.clone(), old.clone()]), "ID-13", NonCompliant, "old@example.com");
    check(&with_users(&[user("ada")]), "ID-13", NotApplicable, "no enabled guest");
    let never = with("never", &json!({"userType": "Guest", "signInActivity": null}));
    check(&with_users(&[new, never]), "ID-13", NonCompliant, "never@example.com");
    let mut unknown = old;
    unknown["signInActivity"] = Value::Null;
    assert_eq!(
        find(&with_users(&[unknown]), "ID-13"),
        None,
        "without Entra ID P1 this is not known"
    );
}
