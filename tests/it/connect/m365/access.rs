//! What needs what, and the rules on Conditional Access: ID-01, ID-04, ID-06, ID-16, ID-17, ID-18, ID-39.

use std::collections::BTreeSet;

use posture::connect::m365::Tenant;
use posture::connect::m365::rules::{RULES, judge, notes};
use posture::connect::m365::tenant::Source;
use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, NotApplicable, Partial};
use serde_json::{Value, json};

use super::tenant::{
    GLOBAL_ADMINISTRATOR, at, block, check, find, merge, mfa, policy, rows, strength, whole,
    without,
};

/// Of these, what cannot be read keeps a verdict from more.
const PARTLY: [&str; 4] = ["ID-15", "ID-18", "ID-39", "LOG-01"];
const EMPTY: [&str; 2] = ["ID-13", "EML-07"];

#[test]
fn a_tenant_in_order_meets_every_control() {
    let all = judge(&whole(), at());
    for it in &all {
        let expected = if PARTLY.contains(&it.control) {
            Partial
        } else if EMPTY.contains(&it.control) {
            NotApplicable
        } else {
            Compliant
        };
        assert_eq!(it.status, expected, "{}: {}", it.control, it.findings);
        assert!(it.findings.ends_with('.'), "{}", it.findings);
    }
    let judged: BTreeSet<&str> = all.iter().map(|it| it.control).collect();
    let mut unjudged: BTreeSet<&str> = RULES.iter().map(|it| it.control).collect();
    unjudged.retain(|it| !judged.contains(it));
    assert_eq!(unjudged, BTreeSet::from(["APP-03"]), "whether an app is approved is not known");
}

#[test]
fn a_tenant_of_which_nothing_was_read_has_no_verdict() {
    assert_eq!(judge(&Tenant::default(), at()), []);
    assert_eq!(notes(&Tenant::default()), []);
}

/// With security defaults on, and without: between them every rule has its turn.
#[test]
fn a_source_that_was_not_read_takes_what_needs_it_and_nothing_else() {
    let defaults = Tenant { security_defaults: rows(json!({"isEnabled": true})), ..whole() };
    for tenant in [whole(), defaults] {
        let before = judge(&tenant, at());
        for source in Source::ALL {
            let after = judge(&without(tenant.clone(), *source), at());
            for it in &before {
                let mut rules = RULES.iter().filter(|rule| rule.control == it.control);
                let (needs, may) = match rules.next().unwrap() {
                    first if it.check == "security_defaults" => (first.needs, first.may_need),
                    first => rules
                        .next()
                        .map_or((first.needs, first.may_need), |it| (it.needs, it.may_need)),
                };
                let found = after.iter().find(|after| after.control == it.control);
                let what = format!("{} without {}", it.control, source.as_str());
                if needs.contains(source) {
                    assert_eq!(found, None, "{what}");
                } else if !may.contains(source) {
                    assert_eq!(found, Some(it), "{what}");
                }
            }
            assert!(after.len() <= before.len(), "less was read: {}", source.as_str());
        }
    }
}

#[test]
fn sources_have_names_of_their_own() {
    let names: BTreeSet<&str> = Source::ALL.iter().map(|it| it.as_str()).collect();
    assert_eq!(names.len(), Source::ALL.len());
}

fn with(policies: &[Value]) -> Tenant {
    Tenant { policies: rows(json!(policies)), ..whole() }
}

fn conditions(further: &Value) -> Value {
    json!({"conditions": further})
}

#[test]
fn mfa_is_enforced_by_a_policy_for_everyone_and_everything() {
    for grant in [
        mfa(),
        json!({"operator": "AND", "builtInControls": ["mfa", "compliantDevice"]}),
        strength(&["fido2"]),
        strength(&["fido2", "password,microsoftAuthenticatorPush"]),
    ] {
        check(
            &with(&[policy(&grant, &json!({}))]),
            "ID-01",
            Compliant,
            "requires a second factor of every user",
        );
    }
    for further in [
        json!({"platforms": {"includePlatforms": ["all"], "excludePlatforms": []}}),
        json!({"locations": {"includeLocations": ["All"], "excludeLocations": []}}),
        json!({"clientAppTypes": []}),
        json!({"clientAppTypes": ["browser", "mobileAppsAndDesktopClients"]}),
        json!({"somethingNew": {"a": null, "b": []}}),
    ] {
        check(
            &with(&[policy(&mfa(), &conditions(&further))]),
            "ID-01",
            Compliant,
            "every application",
        );
    }
}

#[test]
fn a_policy_that_does_not_hold_for_all_sign_ins_is_partly_enough() {
    for (grant, further, words) in [
        (mfa(), json!({"userRiskLevels": ["high"]}), "only to users at risk"),
        (mfa(), json!({"signInRiskLevels": ["medium", "high"]}), "only to sign-ins at risk"),
        (mfa(), json!({"clientAppTypes": ["browser"]}), "only to some kinds of client apps"),
        (mfa(), json!({"platforms": {"includePlatforms": ["android"]}}), "\"platforms\""),
        (
            mfa(),
            json!({"platforms": {"includePlatforms": ["all"], "excludePlatforms": ["iOS"]}}),
            "\"platforms\"",
        ),
        (
            mfa(),
            json!({"locations": {"includeLocations": ["All"], "excludeLocations": ["AllTrusted"]}}),
            "\"locations\"",
        ),
        (
            mfa(),
            json!({"devices": {"deviceFilter": {"mode": "include", "rule": "x"}}}),
            "\"devices\"",
        ),
        (mfa(), json!({"somethingNew": ["x"]}), "\"somethingNew\""),
        (
            mfa(),
            json!({"authenticationFlows": {"transferMethods": "deviceCodeFlow"}}),
            "device code",
        ),
        (
            mfa(),
            json!({"applications": {"excludeApplications": ["x"]}}),
            "leaves out one application",
        ),
        (
            mfa(),
            json!({"users": {"excludeUsers": ["ada", "bob", "glass1"]}}),
            "leaves out 3 accounts",
        ),
        (mfa(), json!({"users": {"excludeUsers": ["GuestsOrExternalUsers"]}}), "roles or guests"),
        (mfa(), json!({"users": {"excludeRoles": [GLOBAL_ADMINISTRATOR]}}), "roles or guests"),
        (
            mfa(),
            json!({"users": {"excludeGuestsOrExternalUsers": {"guestOrExternalUserTypes": "b2bCollaborationGuest"}}}),
            "roles or guests",
        ),
        (
            json!({"operator": "OR", "builtInControls": ["mfa", "compliantDevice"]}),
            json!({}),
            "compliantDevice is enough",
        ),
        (
            json!({"operator": "OR", "builtInControls": ["mfa"], "customAuthenticationFactors": ["Duo"]}),
            json!({}),
            "another vendor",
        ),
        (
            json!({"operator": "OR", "builtInControls": ["mfa"], "termsOfUse": ["x"]}),
            json!({}),
            "terms of use",
        ),
    ] {
        check(&with(&[policy(&grant, &conditions(&further))]), "ID-01", Partial, words);
    }
}

#[test]
fn a_policy_that_is_not_on_or_not_for_all_is_not_enough() {
    for (grant, further) in [
        (mfa(), json!({"state": "enabledForReportingButNotEnforced"})),
        (mfa(), json!({"state": "disabled"})),
        (mfa(), json!({"state": "somethingNew"})),
        (mfa(), json!({"state": null})),
        (mfa(), json!({"conditions": {"users": {"includeUsers": ["ada"]}}})),
        (mfa(), json!({"conditions": {"users": {"includeUsers": null}}})),
        (mfa(), json!({"conditions": {"applications": {"includeApplications": ["Office365"]}}})),
        (Value::Null, json!({})),
        (json!({"builtInControls": ["passwordChange"]}), json!({})),
        (json!({"builtInControls": ["compliantDevice"]}), json!({})),
        (strength(&["password"]), json!({})),
        (strength(&["fido2", "password"]), json!({})),
        (strength(&[]), json!({})),
    ] {
        check(&with(&[policy(&grant, &further)]), "ID-01", NonCompliant, "no enforced policy");
    }
    check(&with(&[]), "ID-01", NonCompliant, "Security defaults are off");
}

#[test]
fn two_accounts_that_are_enabled_may_be_left_out() {
    let out = |users: Value| with(&[policy(&mfa(), &conditions(&json!({"users": users})))]);
    let few = out(json!({"excludeUsers": ["glass1", "glass2"]}));
    check(&few, "ID-01", Compliant, "leaves out glass1@example.com and glass2@example.com");
    check(&out(json!({"excludeUsers": ["glass1", "glass2", "deleted"]})), "ID-01", Compliant, "");
    let group = out(json!({"excludeUsers": ["glass1"], "excludeGroups": ["g"]}));
    assert_eq!(find(&group, "ID-01"), None, "who is in the group is not known");
    let members = |ids: &[&str]| Tenant { group_members: rows(json!({"g": ids})), ..group.clone() };
    check(&members(&["glass1", "glass2"]), "ID-01", Compliant, "");
    check(&members(&[]), "ID-01", Compliant, "");
    check(&members(&["ada", "bob"]), "ID-01", Partial, "leaves out 3 accounts");
    let other = policy(&mfa(), &json!({}));
    let both = Tenant {
        policies: rows(json!([
            group.policies.as_ref().map(|_| policy(
                &mfa(),
                &conditions(&json!({"users":
        {"excludeGroups": ["g"]}}))
            )),
            other
        ])),
        ..whole()
    };
    check(&both, "ID-01", Compliant, "requires a second factor");
}

#[test]
fn security_defaults_need_no_policies() {
    let on = Tenant {
        security_defaults: rows(json!({"isEnabled": true})),
        policies: None,
        group_members: None,
        registrations: None,
        ..whole()
    };
    check(&on, "ID-01", Compliant, "Security defaults are on");
    check(&on, "ID-06", Compliant, "Security defaults are on");
    for unknown in [json!({}), json!({"isEnabled": null}), json!({"isEnabled": "yes"})] {
        let unknown = Tenant { security_defaults: rows(unknown), ..whole() };
        assert_eq!(find(&unknown, "ID-01"), None);
        assert_eq!(find(&unknown, "ID-06"), None);
    }
}

#[test]
fn administrators_need_methods_that_resist_phishing() {
    let without_policy = Tenant { policies: rows(json!([policy(&mfa(), &json!({}))])), ..whole() };
    assert_eq!(find(&without_policy, "ID-04"), None, "ada has a key; of most nothing is known");
    let register = |methods: &[(&str, &str)]| {
        let all: Vec<Value> =
            methods.iter().map(|it| json!({"id": it.0, "methodsRegistered": [it.1]})).collect();
        Tenant { registrations: rows(json!(all)), ..without_policy.clone() }
    };
    let all = register(&[
        ("ada", "passKeyDeviceBound"),
        ("glass1", "fido2SecurityKey"),
        ("glass2", "windowsHelloForBusiness"),
    ]);
    check(&all, "ID-04", Partial, "no enforced policy requires it");
    let one = register(&[("ada", "mobilePhone"), ("glass1", "fido2"), ("glass2", "fido2")]);
    check(&one, "ID-04", NonCompliant, "ada@example.com");
    let unread = Tenant { registrations: None, ..without_policy };
    assert_eq!(find(&unread, "ID-04"), None, "without Entra ID P1 this is not known");
    let by_all = with(&[policy(&strength(&["fido2"]), &json!({}))]);
    check(&Tenant { registrations: None, ..by_all }, "ID-04", Compliant, "phishing-resistant");
    let only_one_role =
        json!({"users": {"includeUsers": [], "includeRoles": [GLOBAL_ADMINISTRATOR]}});
    let by_role = with(&[policy(&strength(&["fido2"]), &conditions(&only_one_role))]);
    assert_eq!(find(&by_role, "ID-04"), None, "another role is not protected");
}

#[test]
fn legacy_authentication_is_blocked_for_both_kinds_of_clients() {
    let types = |types: &[&str], grant: Value| {
        with(&[policy(&grant, &conditions(&json!({"clientAppTypes": types})))])
    };
    let legacy = ["other", "exchangeActiveSync"];
    check(&types(&legacy, block()), "ID-06", Compliant, "blocks legacy authentication");
    check(&types(&legacy, mfa()), "ID-06", NonCompliant, "No enforced policy blocks");
    check(&types(&["other"], block()), "ID-06", NonCompliant, "Add one");
    check(&types(&["all"], mfa()), "ID-06", NonCompliant, "Add one");
    let narrow = json!({"clientAppTypes": legacy, "locations": {"includeLocations": ["x"]}});
    check(&with(&[policy(&block(), &conditions(&narrow))]), "ID-06", Partial, "\"locations\"");
}

#[test]
fn risk_is_met_by_blocking_or_a_change_of_password() {
    let users = policy(&block(), &conditions(&json!({"userRiskLevels": ["high"]})));
    let sign_ins = policy(&block(), &conditions(&json!({"signInRiskLevels": ["high"]})));
    let change = json!({"operator": "AND", "builtInControls": ["mfa", "passwordChange"]});
    let change = policy(&change, &conditions(&json!({"userRiskLevels": ["high"]})));
    let with_mfa = policy(&mfa(), &conditions(&json!({"signInRiskLevels": ["high"]})));
    check(
        &with(&[users.clone(), sign_ins.clone()]),
        "ID-17",
        Compliant,
        "blocks users at high risk",
    );
    check(&with(&[change, sign_ins.clone()]), "ID-17", Compliant, "change their password");
    check(&with(&[users.clone(), with_mfa]), "ID-17", Partial, "no more than a second factor");
    check(
        &with(std::slice::from_ref(&users)),
        "ID-17",
        Partial,
        "No enforced policy blocks sign-ins",
    );
    check(&with(&[]), "ID-17", NonCompliant, "Add policies");
    let low = policy(&block(), &conditions(&json!({"userRiskLevels": ["low"]})));
    check(&with(&[low]), "ID-17", NonCompliant, "Add policies");
    let free = Tenant { skus: rows(json!([])), ..with(&[users, sign_ins]) };
    assert_eq!(find(&free, "ID-17"), None, "without Entra ID P2 nothing is rated");
}

#[test]
fn policies_may_only_report_for_thirty_days() {
    let report = |created: &str, modified: Value| {
        let state = "enabledForReportingButNotEnforced";
        let further =
            json!({"state": state, "createdDateTime": created, "modifiedDateTime": modified});
        with(&[policy(&mfa(), &json!({})), policy(&mfa(), &further)])
    };
    check(&report("2025-01-01T00:00:00Z", Value::Null), "ID-16", NonCompliant, "more than 30 days");
    check(&report("2026-02-20T00:00:00Z", Value::Null), "ID-16", Compliant, "All 2");
    check(
        &report("2025-01-01T00:00:00Z", json!("2026-03-01T00:00:00Z")),
        "ID-16",
        Compliant,
        "All 2",
    );
    check(&report("soon", Value::Null), "ID-16", Partial, "Unknown for 1 more");
    check(&with(&[]), "ID-16", NotApplicable, "no Conditional Access policy");
}

#[test]
fn emergency_accounts_are_those_that_every_policy_leaves_out() {
    let out = |ids: &[&str], more: &[&str]| {
        let of =
            |ids: &[&str]| policy(&mfa(), &conditions(&json!({"users": {"excludeUsers": ids}})));
        with(&[of(ids), of(more)])
    };
    check(&out(&["glass1", "glass2"], &["glass1", "glass2"]), "ID-18", Partial, "Attest");
    check(
        &out(&["glass1", "glass2"], &["glass2", "ada"]),
        "ID-18",
        NonCompliant,
        "glass2@example.com is the only",
    );
    check(&out(&["glass1"], &[]), "ID-18", NonCompliant, "No account is left out");
    let none = with(&[policy(&block(), &conditions(&json!({"userRiskLevels": ["high"]})))]);
    assert_eq!(find(&none, "ID-18"), None, "no policy can lock everyone out");
}

#[test]
fn both_ways_of_carrying_a_sign_in_off_are_blocked() {
    let flows = |methods: &str| {
        with(&[policy(
            &block(),
            &conditions(&json!({"authenticationFlows": {"transferMethods": methods}})),
        )])
    };
    check(
        &flows("deviceCodeFlow, authenticationTransfer"),
        "ID-39",
        Partial,
        "require token protection",
    );
    check(&flows("deviceCodeFlow"), "ID-39", Partial, "No enforced policy blocks the transfer");
    check(&flows("none"), "ID-39", NonCompliant, "No enforced policy blocks device code");
}

#[test]
fn facts_are_noted_as_yes_or_no() {
    let notes = notes(&whole());
    let find = |name: &str| notes.iter().find(|it| it.0 == name).map(|it| it.1.as_str());
    assert_eq!(find("weak_methods_off"), Some("yes"));
    assert_eq!(find("managed_device_required"), Some("no"));
    assert_eq!(find("authenticator_shows_context"), None, "its configuration is not there");
    let device = json!({"operator": "OR", "builtInControls": ["compliantDevice"]});
    let mut further = conditions(&json!({"users": {"excludeUsers": []}}));
    merge(&mut further, &json!({"id": "p9"}));
    let managed = with(&[policy(&device, &further)]);
    let notes = posture::connect::m365::rules::notes(&managed);
    assert!(notes.contains(&("managed_device_required".to_owned(), "yes".to_owned())));
}
