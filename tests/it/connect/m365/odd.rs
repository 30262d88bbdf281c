//! Rows of any form: no rule panics, and what is odd never counts as good.

use posture::connect::m365::Tenant;
use posture::connect::m365::rules::{accounts, apps, judge, notes};
use posture::connect::m365::tenant::{Policy, User};
use posture::connect::reading::JudgedStatus;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::tenant::{at, find, mfa, policy, rows, whole};

/// The names of all fields, and words that mean something, so that odd values meet rules.
const WORDS: [&str; 24] = [
    "All",
    "enabled",
    "id",
    "state",
    "mfa",
    "block",
    "other",
    "exchangeActiveSync",
    "high",
    "conditions",
    "users",
    "includeUsers",
    "excludeUsers",
    "applications",
    "includeApplications",
    "grantControls",
    "builtInControls",
    "clientAppTypes",
    "endDateTime",
    "principalId",
    "roleDefinitionId",
    "signInActivity",
    "0001-01-01T00:00:00Z",
    "62e90394-69f5-4237-9190-012177145e10",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![proptest::sample::select(&WORDS[..]).prop_map(str::to_owned), "\\PC{0,6}"]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(word(), inner, 0..5).prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    serde_json::from_value(value.clone()).ok()
}

#[allow(clippy::unnecessary_wraps, reason = "a field that was read is Some")]
fn all<T: DeserializeOwned>(values: &[Value]) -> Option<Vec<T>> {
    Some(values.iter().filter_map(read).collect())
}

/// Each value in the place of a row of every kind.
fn tenant(values: &[Value]) -> Tenant {
    let first = values.first().cloned().unwrap_or_default();
    Tenant {
        organization: read(&first),
        skus: all(values),
        users: all(values),
        registrations: all(values),
        role_definitions: all(values),
        role_assignments: all(values),
        role_eligibilities: all(values),
        role_schedules: all(values),
        role_policies: all(values),
        group_members: rows(json!({})),
        security_defaults: read(&first),
        policies: all(values),
        authorization: read(&first),
        methods: read(&first),
        consent_requests: read(&first),
        classifications: all(values),
        app_management: read(&first),
        score: read(&first),
        score_profiles: all(values),
        service_principals: all(values),
        grants: all(values),
        app_roles: all(values),
        applications: all(values),
        domains: all(values),
        mailboxes: all(values),
        managed_devices: all(values),
        compliance_policies: all(values),
        sharepoint: read(&first),
        audits: all(values),
    }
}

fn run(tenant: &Tenant) {
    for it in judge(tenant, at()) {
        assert!(it.findings.chars().count() <= 1_000);
    }
    assert!(notes(tenant).iter().all(|it| ["yes", "no"].contains(&it.1.as_str())));
    let n_users = tenant.users.as_ref().map_or(0, Vec::len);
    assert!(accounts(tenant, at()).is_none_or(|it| it.len() <= n_users));
    assert!(apps(tenant).is_none_or(|it| it.iter().all(|it| it.is_sanctioned.is_none())));
}

proptest! {
    #[test]
    fn no_json_makes_a_rule_panic(values in vec(any_json(), 0..5)) {
        run(&tenant(&values));
    }

    #[test]
    fn no_value_in_a_field_makes_a_rule_panic(
        row in proptest::sample::select(vec!["users", "policies", "applications", "schedules"]),
        field in word(),
        value in any_json(),
    ) {
        let mut it = policy(&mfa(), &json!({}));
        it["principalId"] = json!("ada");
        // From the inside out: what is set last replaces all of it.
        it["conditions"]["users"][&field] = value.clone();
        it["conditions"][&field] = value.clone();
        it[&field] = value;
        let one = json!([it]);
        let odd = match row {
            "users" => Tenant { users: rows(one), ..whole() },
            "policies" => Tenant { policies: rows(one), ..whole() },
            "applications" => Tenant { applications: rows(one), ..whole() },
            _ => Tenant { role_schedules: rows(one), ..whole() },
        };
        run(&odd);
    }

    /// Whatever a policy leaves out in whatever form, it is not counted as one that leaves out nobody.
    #[test]
    fn an_odd_exclusion_is_an_exclusion(value in any_json(), at_apps in any::<bool>()) {
        let is_nothing = match &value {
            Value::Null => true,
            Value::Array(items) => items.iter().all(|it| it == "") ,
            Value::String(text) => text.split(',').all(|it| it.trim().is_empty()),
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        };
        prop_assume!(!is_nothing);
        let further = if at_apps {
            json!({"conditions": {"applications": {"excludeApplications": value}}})
        } else {
            json!({"conditions": {"users": {"excludeRoles": value}}})
        };
        let odd = Tenant { policies: rows(json!([policy(&mfa(), &further)])), ..whole() };
        let status = find(&odd, "ID-01").map(|it| it.status);
        prop_assert_ne!(status, Some(JudgedStatus::Compliant));
    }
}

#[test]
fn a_row_takes_what_it_can_read() {
    let odd = json!({"id": 5, "displayName": "Ada", "accountEnabled": "yes", "assignedLicenses": "x", "signInActivity": [],
        "somethingNew": {"a": 1}});
    let user: User = serde_json::from_value(odd).unwrap();
    assert_eq!(
        (user.id, user.display_name.as_deref(), user.account_enabled),
        (None, Some("Ada"), None)
    );
    assert_eq!(user.assigned_licenses.0.len(), 1, "of which nothing is known");
    let policy: Policy =
        serde_json::from_value(json!({"conditions": null, "grantControls": "block"})).unwrap();
    assert_eq!((policy.conditions.others.len(), policy.grant_controls), (0, None));
}
