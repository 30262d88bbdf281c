//! Which policy holds for whom.

use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, Partial};
use serde_json::{Value, json};

use super::workspace::{
    changed, check, find, good_policies, licensed, of_group, policy, status, user, with_policies,
};

const KIND: &str = "gmail.auto_forwarding";
const CHECK: &str = "auto_forwarding";

fn forwarding(unit: &str, order: &str, is_on: bool) -> Value {
    policy(KIND, unit, order, json!({ "enableAutoForwarding": is_on }))
}

fn failing(policies: Vec<Value>) -> Vec<String> {
    find(&with_policies(policies), CHECK).unwrap().count.unwrap().failing
}

#[test]
fn the_greatest_sort_order_on_the_path_holds() {
    let staff = ["id-ben", "id-cat", "id-dan", "id-eve"];
    assert_eq!(failing(vec![forwarding("interns", "203", true)]), ["id-ida"]);
    assert_eq!(
        failing(vec![forwarding("staff", "202", true), forwarding("interns", "203", false)]),
        staff
    );
    assert_eq!(failing(vec![forwarding("staff", "202", true)]).len(), 5, "a unit below inherits");
    assert_eq!(
        failing(vec![forwarding("staff", "99", true)]),
        [""; 0],
        "a lower order does not hold"
    );
    assert_eq!(
        failing(vec![forwarding("staff", "202.9", true), forwarding("staff", "202.10", false)])
            .len(),
        5,
        "orders are numbers"
    );
    let numbers = changed(|wire| {
        let mut policy = forwarding("staff", "1", true);
        policy["policyQuery"]["sortOrder"] = json!(202.001);
        wire["policies"].as_array_mut().unwrap().push(policy);
    });
    check(&numbers, CHECK, NonCompliant, "/Staff (4), /Staff/Interns (1)");
}

#[test]
fn a_weaker_unit_counts_by_its_active_users() {
    let empty = with_policies(vec![forwarding("empty", "202", true)]);
    check(&empty, CHECK, Compliant, "All 7");
    let gone = changed(|wire| {
        wire["policies"].as_array_mut().unwrap().push(forwarding("interns", "203", true));
        wire["users"][2]["suspended"] = true.into();
    });
    check(&gone, CHECK, Compliant, "All 6");
    let archived = changed(|wire| {
        wire["policies"].as_array_mut().unwrap().push(forwarding("interns", "203", true));
        wire["users"][2]["archived"] = true.into();
    });
    check(&archived, CHECK, Compliant, "All 6");
    let one = with_policies(vec![forwarding("interns", "203", true)]);
    check(&one, CHECK, NonCompliant, "ida@example.com\n1 of 7 fail. Users may forward");
    check(&one, CHECK, NonCompliant, "in /Staff/Interns (1). Turn automatic forwarding off");
    let deleted = with_policies(vec![forwarding("deleted", "203", true)]);
    check(&deleted, CHECK, Compliant, "All 7");
}

#[test]
fn a_user_of_a_unit_that_is_not_listed_is_unknown() {
    for path in
        [json!("/Elsewhere"), json!("/Staff/Elsewhere"), json!("Staff"), json!(""), Value::Null]
    {
        let snapshot = changed(|wire| wire["users"][2]["orgUnitPath"] = path);
        check(&snapshot, CHECK, Partial, "Unknown for 1 more.");
    }
    let none = changed(|wire| wire["org_units"] = json!([]));
    assert_eq!(status(&none, CHECK), None);
    let by_child = changed(|wire| {
        let unit = json!({"orgUnitId": "id:staff", "orgUnitPath": "/Staff",
                          "parentOrgUnitId": "id:top", "parentOrgUnitPath": "/"});
        wire["org_units"] =
            json!([unit, {"orgUnitId": "id:interns", "orgUnitPath": "/Staff/Interns"}]);
    });
    check(&by_child, CHECK, Compliant, "All 7");
}

#[test]
fn a_weaker_group_makes_it_partly_met() {
    let weak = of_group("groups/0123", forwarding("top", "399", true));
    let snapshot = with_policies(vec![weak.clone()]);
    check(
        &snapshot,
        CHECK,
        Partial,
        "Groups with a weaker setting of their own, by their identifiers: 0123.",
    );
    assert_eq!(find(&snapshot, CHECK).unwrap().count, None, "its members are not read");
    let overruled = of_group("groups/0123", forwarding("top", "50", true));
    check(&with_policies(vec![overruled]), CHECK, Compliant, "All 7");
    let stronger = of_group("groups/0123", forwarding("top", "399", false));
    check(&with_policies(vec![stronger.clone()]), CHECK, Compliant, "All 7");
    let open = vec![forwarding("top", "201", true), stronger];
    check(&with_policies(open), CHECK, NonCompliant, "7 of 7 fail");
    let both = vec![forwarding("interns", "203", true), weak];
    check(&with_policies(both), CHECK, NonCompliant, "identifiers: 0123.");
}

#[test]
fn googles_group_of_administrators_is_known() {
    let all_admins = |is_on| of_group("WORKSPACE_ALL_ADMIN_GROUP", forwarding("top", "399", is_on));
    assert_eq!(failing(vec![all_admins(true)]), ["id-root", "id-second"]);
    assert_eq!(failing(vec![forwarding("top", "201", true), all_admins(false)]).len(), 5);
}

#[test]
fn what_depends_on_a_license_is_known_only_if_it_changes_nothing() {
    let same = vec![licensed(forwarding("top", "300", false))];
    check(&with_policies(same), CHECK, Compliant, "All 7");
    let other = vec![licensed(forwarding("top", "300", true))];
    assert_eq!(status(&with_policies(other), CHECK), None);
    let below = vec![licensed(forwarding("top", "50", true))];
    check(&with_policies(below), CHECK, Compliant, "All 7");
    // Alone, it leaves those without the license to the default, which is on.
    let alone = changed(|wire| {
        let mut policies = good_policies();
        policies.retain(|it| it["setting"]["type"] != format!("settings/{KIND}"));
        policies.push(licensed(forwarding("top", "300", false)));
        wire["policies"] = policies.into();
    });
    assert_eq!(status(&alone, CHECK), None);
    for query in ["!entity.org_units.exists(x)", "a || b"] {
        let mut policy = forwarding("top", "300", true);
        policy["policyQuery"]["query"] = query.into();
        assert_eq!(status(&with_policies(vec![policy]), CHECK), None, "{query}");
    }
    for missing in ["sortOrder", "orgUnit"] {
        let mut policy = forwarding("top", "50", true);
        policy["policyQuery"].as_object_mut().unwrap().remove(missing);
        let expected = if missing == "orgUnit" { Some(Compliant) } else { None };
        assert_eq!(status(&with_policies(vec![policy]), CHECK), expected, "without {missing}");
    }
    let tie = vec![forwarding("top", "101.00125", true)];
    assert_eq!(status(&with_policies(tie), CHECK), None, "two that say different things");
}

#[test]
fn a_field_that_merges_is_looked_for_below() {
    let kind = "security.less_secure_apps";
    let below = |value: Value| {
        with_policies(vec![
            policy(kind, "top", "150", value),
            policy(kind, "staff", "202", json!({})),
        ])
    };
    check(
        &below(json!({"allowLessSecureApps": true})),
        "no_less_secure_apps",
        NonCompliant,
        "7 of 7",
    );
    let max = with_policies(vec![
        forwarding("top", "150", false),
        policy(KIND, "staff", "202", json!({})),
    ]);
    check(&max, CHECK, NonCompliant, "5 of 7 fail");
}

#[test]
fn where_a_service_is_off_nobody_is_asked() {
    let off = |unit: &str| {
        policy("gmail.service_status", unit, "202", json!({"serviceState": "DISABLED"}))
    };
    let on = |group: &str| {
        let policy =
            policy("gmail.service_status", "top", "399", json!({"serviceState": "ENABLED"}));
        of_group(group, policy)
    };
    let weak = || forwarding("interns", "203", true);
    check(&with_policies(vec![weak(), off("interns")]), CHECK, Compliant, "All 6");
    check(
        &with_policies(vec![weak(), off("interns"), on("groups/1")]),
        CHECK,
        NonCompliant,
        "1 of 7",
    );
    assert_eq!(status(&with_policies(vec![off("top")]), CHECK), None);
    let unknown =
        policy("gmail.service_status", "interns", "202", json!({"serviceState": "LATER"}));
    check(&with_policies(vec![weak(), unknown]), CHECK, NonCompliant, "1 of 7");
}

#[test]
fn an_account_without_an_identifier_leaves_nothing_known() {
    for field in ["id", "primaryEmail"] {
        let snapshot = changed(|wire| wire["users"][3][field] = Value::Null);
        assert_eq!(status(&snapshot, CHECK), None, "{field}");
        assert_eq!(status(&snapshot, "super_admin_count"), None, "{field}");
    }
    let many = changed(|wire| {
        let users = (0..300).map(|it| user(&format!("u{it}"), "/Staff"));
        wire["users"].as_array_mut().unwrap().extend(users);
        wire["policies"].as_array_mut().unwrap().push(forwarding("staff", "202", true));
    });
    let found = find(&many, CHECK).unwrap();
    assert_eq!(found.count.unwrap().failing.len(), 305);
    assert!(found.findings.chars().count() <= 1_000);
}
