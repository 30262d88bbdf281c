//! Rules that let mail in, rules that keep data in, and the audit log.

use posture::connect::google::Snapshot;
use posture::connect::reading::JudgedStatus::{self, Compliant, NonCompliant, Partial};
use serde_json::{Value, json};

use super::workspace::{
    changed, check, dlp, event, good_policies, licensed, of_group, policy, status, with_policies,
};

fn spam(rule: Value) -> Vec<Value> {
    let mut rules = json!({});
    rules["spamOverride"] = vec![rule].into();
    vec![policy("gmail.spam_override_lists", "top", "201", rules)]
}

#[test]
fn a_rule_that_lets_senders_past_the_filter_is_named() {
    let listed = json!({"ruleId": "r1", "description": "Partners", "bypassSelectedSenders": true,
                        "bypassSenderAllowlist": [{"name": "P", "list": ["example.net", "a@example.org"]}]});
    let past = "the spam rule \"Partners\" lets 2 listed senders or domains past";
    check(&with_policies(spam(listed.clone())), "no_bypass", Partial, past);
    let mut hidden = listed.clone();
    hidden["bypassSelectedSenders"] = false.into();
    check(&with_policies(spam(hidden.clone())), "no_bypass", Compliant, "No allowlist");
    hidden["hideWarningBannerFromSelectedSenders"] = true.into();
    hidden["hideWarningBannerSenderAllowlist"] = json!([{"list": ["example.net"]}]);
    check(&with_policies(spam(hidden)), "no_bypass", Partial, "1 listed");
    let all = json!({"description": "Everyone", "hideWarningBannerForAll": true});
    check(
        &with_policies(spam(all)),
        "no_bypass",
        NonCompliant,
        "\"Everyone\" lets all senders past",
    );
    let own = json!({"description": "Own", "bypassInternalSenders": true});
    check(&with_policies(spam(own)), "no_bypass", Compliant, "");
    let states = |is_on: bool| {
        let states = json!({"ruleStates": [{"ruleId": "r1", "enabled": is_on}]});
        policy("gmail.rule_states", "top", "201", states)
    };
    let mut off = spam(listed.clone());
    off.push(states(false));
    check(&with_policies(off.clone()), "no_bypass", Compliant, "");
    off.push(of_group("groups/1", states(true)));
    check(&with_policies(off), "no_bypass", Partial, past);
    for odd in [json!("x"), json!({"spamOverride": "x"})] {
        let odd = vec![policy("gmail.spam_override_lists", "top", "201", odd)];
        assert_eq!(status(&with_policies(odd), "no_bypass"), None);
    }
}

#[test]
fn addresses_on_the_allowlist_go_past_the_filter() {
    let ips = |ips: Value| {
        let kind = "gmail.email_spam_filter_ip_allowlist";
        with_policies(vec![policy(kind, "top", "201", json!({"allowedIpAddresses": ips}))])
    };
    check(&ips(json!([])), "no_bypass", Compliant, "");
    check(&ips(json!(["192.0.2.1"])), "no_bypass", Partial, "1 IP addresses or ranges");
    assert_eq!(status(&ips(json!("192.0.2.1")), "no_bypass"), None);
}

#[test]
fn what_nobody_knows_of_a_control_keeps_it_from_being_met() {
    let without = |kind: &'static str| {
        changed(|wire| {
            let mut policies = good_policies();
            policies.retain(|it| it["setting"]["type"] != kind);
            wire["policies"] = policies.into();
        })
    };
    let unknown = without("settings/gmail.email_attachment_safety");
    assert_eq!(status(&unknown, "attachments"), None);
    check(&unknown, "links", Partial, "Not known: attachments, attachment action.");
    check(&unknown, "no_bypass", Partial, "Not known: attachments, attachment action.");
    check(&unknown, "auto_forwarding", Compliant, "");
    let no_apps = without("settings/api_controls.unconfigured_third_party_apps");
    check(&no_apps, "marketplace_apps", Partial, "Not known: third party apps.");
}

/// The organization with these rules only.
fn rules(rules: Vec<Value>) -> Snapshot {
    changed(|wire| {
        let mut policies = good_policies();
        policies.retain(|it| it["setting"]["type"] != "settings/rule.dlp");
        policies.extend(rules);
        wire["policies"] = policies.into();
    })
}

#[test]
fn rules_against_data_loss_must_act_on_mail_and_files_of_everyone() {
    const MAIL: &[&str] = &["gmail.email.v1.send"];
    const FILES: &[&str] = &["drive.file.v1.share"];
    const BOTH: &[&str] = &["gmail.email.v1.send", "drive.file.v1.share"];
    let at_top = |value: Value| policy("rule.dlp", "top", "1", value);
    let audit = |mut value: Value| {
        value["action"] =
            json!({"gmailAction": {"auditOnly": {}}, "driveAction": {"auditOnly": {}}});
        at_top(value)
    };
    let cases: Vec<(Vec<Value>, JudgedStatus, &str)> = vec![
        (vec![at_top(dlp("ACTIVE", BOTH))], Compliant, "Rules that block or warn: Numbers."),
        (
            vec![at_top(dlp("ACTIVE", MAIL)), at_top(dlp("ACTIVE", FILES))],
            Compliant,
            "mail and files",
        ),
        (vec![at_top(dlp("ACTIVE", MAIL))], Partial, "Add rules for files"),
        (vec![at_top(dlp("ACTIVE", FILES))], Partial, "Add rules for mail"),
        (
            vec![policy("rule.dlp", "staff", "1", dlp("ACTIVE", BOTH))],
            Partial,
            "some organizational units",
        ),
        (vec![licensed(at_top(dlp("ACTIVE", BOTH)))], Partial, "some organizational units"),
        (vec![of_group("groups/1", at_top(dlp("ACTIVE", BOTH)))], Partial, "or groups"),
        (vec![audit(dlp("ACTIVE", BOTH))], Partial, "only report"),
        (vec![at_top(dlp("INACTIVE", BOTH))], NonCompliant, "No active rule"),
        (vec![at_top(dlp("ACTIVE", &["chat.message.v1.send"]))], NonCompliant, "No active rule"),
        (vec![], NonCompliant, "No active rule"),
    ];
    for (policies, expected, words) in cases {
        check(&rules(policies), "dlp_rules", expected, words);
    }
    for odd in [json!("x"), json!({}), json!({"state": "ACTIVE"}), json!({"state": 1})] {
        assert_eq!(status(&rules(vec![at_top(odd)]), "dlp_rules"), None);
    }
}

fn log(events: Value) -> Snapshot {
    changed(|wire| wire["audit_events"] = events)
}

#[test]
fn the_audit_log_must_show_sign_ins_and_changes() {
    let login = event("login", "login_success", "ben", "2026-11-19T08:00:00Z", json!([]));
    let change = event("admin", "CREATE_USER", "root", "2026-10-01T08:00:00Z", json!([]));
    check(&log(json!([login, change])), "audit_log", Partial, "2026-11-19T08:00:00.000Z");
    assert_eq!(status(&log(json!([login])), "audit_log"), None, "maybe nothing was changed");
    let words = "signed in at 2026-11-10T08:00:00.000Z, but the audit log shows no sign-in";
    check(&log(json!([])), "audit_log", NonCompliant, words);
    let mut nobody = login.clone();
    nobody["actor"] = json!({});
    check(&log(json!([nobody, change])), "audit_log", NonCompliant, words);
    let mut timeless = login;
    timeless["id"]["time"] = Value::Null;
    check(&log(json!([timeless, change])), "audit_log", NonCompliant, words);
    for last in ["2026-11-18T08:00:00Z", "2026-01-18T08:00:00Z", "1970-01-01T00:00:00.000Z"] {
        let snapshot = changed(|wire| {
            wire["audit_events"] = json!([]);
            for user in wire["users"].as_array_mut().unwrap() {
                user["lastLoginTime"] = last.into();
            }
        });
        assert_eq!(status(&snapshot, "audit_log"), None, "{last} may be late, or gone");
    }
}
