//! Each check on settings: what passes, what fails, and what is unknown.

use posture::connect::google::{RULES, StreamKind};
use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, Partial};
use serde_json::{Value, json};

use super::workspace::{
    changed, check, good_settings, good_wire, judged, policy, snapshot, status, with_policies,
};

/// Checks that can never be fully met: their log ends.
const AT_MOST_PARTIAL: [&str; 3] = ["high_risk_apps", "connected_apps", "audit_log"];

#[test]
fn an_organization_where_all_is_well_passes_every_check() {
    let all = judged(&snapshot(good_wire()));
    let checks: Vec<_> = all.iter().map(|it| (it.control, it.check.as_str())).collect();
    let rules: Vec<_> = RULES.iter().map(|it| (it.control, it.check)).collect();
    assert_eq!(checks, rules, "every rule has its verdict");
    for it in all {
        let expected = if AT_MOST_PARTIAL.contains(&&*it.check) { Partial } else { Compliant };
        assert_eq!(it.status, expected, "{}: {}", it.check, it.findings);
    }
}

#[test]
fn a_control_without_one_of_its_streams_is_not_met() {
    for kind in StreamKind::ALL {
        let snapshot = changed(|wire| {
            wire.as_object_mut().unwrap().remove(kind.as_str()).unwrap();
        });
        let said: Vec<_> = judged(&snapshot).into_iter().map(|it| it.check).collect();
        let is_unread =
            |control| RULES.iter().any(|it| it.control == control && it.needs.contains(&kind));
        let able = RULES.iter().filter(|it| !is_unread(it.control)).map(|it| it.check);
        assert_eq!(said, able.collect::<Vec<_>>(), "without {}", kind.as_str());
    }
}

/// On each line a check, a setting that fails it, and behind two spaces words of the findings.
const FAILURES: &str = r#"
two_step_enforced security.two_step_verification_enrollment {"allowEnrollment":false}  not enforced
two_step_enforced security.two_step_verification_enforcement {"enforcedFrom":"1970-01-01T00:00:00Z"}  not enforced
two_step_enforced security.two_step_verification_enforcement {"enforcedFrom":"2026-11-20T12:00:00.001Z"}  not enforced
admin_security_keys security.two_step_verification_enforcement_factor {"allowedSignInFactorSet":"NO_TELEPHONY"}  security key
admin_security_keys security.two_step_verification_enforcement_factor {"allowedSignInFactorSet":"PASSKEY_PLUS_SECURITY_CODE"}  security key
admin_security_keys security.two_step_verification_enforcement {"enforcedFrom":"1970-01-01T00:00:00Z"}  security key
no_codes_by_phone security.two_step_verification_enforcement_factor {"allowedSignInFactorSet":"ALL"}  text message
no_less_secure_apps security.less_secure_apps {"allowLessSecureApps":true}  less secure
group_guests groups_for_business.groups_sharing {"ownersCanAllowExternalMembers":true}  Owners
group_access groups_for_business.groups_sharing {"collaborationCapability":"ANYONE_CAN_ACCESS"}  open
password_length security.password {"minimumLength":11}  fewer than 12
password_length security.password {"minimumLength":"8"}  fewer than 12
password_strength security.password {"allowedStrength":"WEAK"}  Weak
password_reuse security.password {"allowReuse":true}  used again
password_expiry security.password {"expirationDuration":"2592000s"}  expire
password_at_sign_in security.password {"enforceRequirementsAtLogin":false}  still work
super_admin_recovery security.super_admin_account_recovery {"enableAccountRecovery":true}  Super
user_recovery security.user_account_recovery {"enableAccountRecovery":true}  Users
third_party_apps api_controls.unconfigured_third_party_apps {"accessLevel":"ALLOW_ALL"}  any third-party
marketplace_apps workspace_marketplace.apps_access_options {"accessLevel":"ALLOW_ALL"}  Marketplace
auto_forwarding gmail.auto_forwarding {"enableAutoForwarding":true}  forward
attachments gmail.email_attachment_safety {"enableAnomalousAttachmentProtection":false}  attachments
attachment_action gmail.email_attachment_safety {"encryptedAttachmentProtectionConsequence":"WARNING"}  inbox
links gmail.links_and_external_images {"enableShortenerScanning":false,"enableExternalImageScanning":true,"enableAggressiveWarningsOnUntrustedLinks":true}  links
spoofing gmail.spoofing_and_authentication {"detectGroupsSpoofing":false}  spoofed
spoofing_action gmail.spoofing_and_authentication {"groupsSpoofingConsequence":"NO_ACTION"}  inbox
pre_delivery_scan gmail.enhanced_pre_delivery_message_scanning {"enableImprovedSuspiciousContentDetection":false}  before delivery
drive_links drive_and_docs.external_sharing {"externalSharingMode":"ALLOWED","allowPublishingFiles":true}  link
drive_links drive_and_docs.external_sharing {"externalSharingMode":"ALLOWLISTED_DOMAINS","allowPublishingFiles":true}  link
drive_visitors drive_and_docs.external_sharing {"externalSharingMode":"ALLOWED","allowNonGoogleInvites":true}  Google account
drive_visitors drive_and_docs.external_sharing {"externalSharingMode":"ALLOWLISTED_DOMAINS","allowNonGoogleInvitesInAllowlistedDomains":true}  Google account
primary_calendars calendar.primary_calendar_max_allowed_external_sharing {"maxAllowedExternalSharing":"EXTERNAL_ALL_INFO_READ_ONLY"}  primary
secondary_calendars calendar.secondary_calendar_max_allowed_external_sharing {"maxAllowedExternalSharing":"EXTERNAL_ALL_INFO_READ_WRITE_MANAGE"}  secondary
"#;

pub fn failures() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let row = |line: &'static str| {
        let (line, words) = line.split_once("  ").unwrap();
        let mut parts = line.splitn(3, ' ');
        let (check, kind) = (parts.next().unwrap(), parts.next().unwrap());
        (check, kind, serde_json::from_str(parts.next().unwrap()).unwrap(), words)
    };
    FAILURES.trim().lines().map(row).collect()
}

#[test]
fn a_setting_that_is_not_as_it_should_be_fails() {
    for (name, kind, value, words) in failures() {
        let snapshot = with_policies(vec![policy(kind, "top", "201", value)]);
        check(&snapshot, name, NonCompliant, words);
        let found = judged(&snapshot).into_iter().find(|it| it.check == name).unwrap();
        let count = found.count.unwrap();
        assert_eq!(count.n_passed, 0, "{name}");
        assert!(!count.failing.is_empty() && count.failing.iter().all(|it| it.starts_with("id-")));
    }
    let snapshot = with_policies(vec![
        policy(
            "chat.chat_file_sharing",
            "top",
            "201",
            json!({"externalFileSharing": "IMAGES_ONLY"}),
        ),
        policy("chat.external_chat_restriction", "top", "201", json!({"allowExternalChat": true})),
    ]);
    check(&snapshot, "chat_files", NonCompliant, "Chat");
}

#[test]
fn a_word_or_type_that_is_not_known_is_unknown() {
    for (name, kind, value, _) in failures() {
        for odd in [json!("LATER_WORD"), json!({}), json!([1]), json!(1.5)] {
            let value: Value =
                value.as_object().unwrap().keys().map(|it| (it.clone(), odd.clone())).collect();
            let snapshot = with_policies(vec![policy(kind, "top", "201", value.clone())]);
            assert_eq!(status(&snapshot, name), None, "{name}: {value}");
        }
        let snapshot = with_policies(vec![policy(kind, "top", "201", json!("not an object"))]);
        assert_eq!(status(&snapshot, name), None, "{name}");
    }
}

#[test]
fn what_nobody_set_is_as_google_sets_it() {
    for (name, kind, expected) in [
        ("two_step_enforced", "security.two_step_verification_enrollment", Some(Compliant)),
        ("two_step_enforced", "security.two_step_verification_enforcement", Some(NonCompliant)),
        (
            "no_codes_by_phone",
            "security.two_step_verification_enforcement_factor",
            Some(NonCompliant),
        ),
        ("no_less_secure_apps", "security.less_secure_apps", Some(Compliant)),
        ("super_admin_recovery", "security.super_admin_account_recovery", Some(Compliant)),
        ("user_recovery", "security.user_account_recovery", Some(Compliant)),
        ("password_length", "security.password", None),
        ("password_reuse", "security.password", None),
        ("third_party_apps", "api_controls.unconfigured_third_party_apps", None),
        ("marketplace_apps", "workspace_marketplace.apps_access_options", Some(NonCompliant)),
        ("auto_forwarding", "gmail.auto_forwarding", Some(NonCompliant)),
        ("attachments", "gmail.email_attachment_safety", None),
        // Of its three fields only this one has a default, and that fails.
        ("links", "gmail.links_and_external_images", Some(NonCompliant)),
        ("spoofing", "gmail.spoofing_and_authentication", None),
        ("drive_links", "drive_and_docs.external_sharing", Some(NonCompliant)),
        ("drive_visitors", "drive_and_docs.external_sharing", Some(NonCompliant)),
        (
            "primary_calendars",
            "calendar.primary_calendar_max_allowed_external_sharing",
            Some(Compliant),
        ),
        (
            "secondary_calendars",
            "calendar.secondary_calendar_max_allowed_external_sharing",
            Some(NonCompliant),
        ),
        ("chat_files", "chat.chat_file_sharing", Some(Compliant)),
        ("group_access", "groups_for_business.groups_sharing", Some(Compliant)),
        ("group_guests", "groups_for_business.groups_sharing", Some(Compliant)),
    ] {
        assert!(good_settings().iter().any(|it| it.0 == kind), "{kind}");
        let of_kind = json!(format!("settings/{kind}"));
        let unset = changed(|wire| {
            wire["policies"].as_array_mut().unwrap().retain(|it| it["setting"]["type"] != of_kind);
        });
        assert_eq!(status(&unset, name), expected, "{name} without {kind}");
        // The same for a policy that has none of the fields.
        let empty = changed(|wire| {
            for it in wire["policies"].as_array_mut().unwrap() {
                if it["setting"]["type"] == of_kind {
                    it["setting"]["value"] = json!({});
                }
            }
        });
        assert_eq!(status(&empty, name), expected, "{name} with an empty {kind}");
    }
}

#[test]
fn a_list_without_policies_is_not_believed() {
    for policies in [json!([]), json!([{}]), json!([{"setting": {}}])] {
        let snapshot = changed(|wire| wire["policies"] = policies);
        let said: Vec<_> = judged(&snapshot).into_iter().map(|it| it.check).collect();
        let able = [
            "super_admin_count",
            "admin_accounts",
            "high_risk_apps",
            "connected_apps",
            "audit_log",
        ];
        assert_eq!(said, able);
    }
}

#[test]
fn apps_may_be_kept_out_by_restricted_services() {
    let apps = |services: Value| {
        let open = json!({"accessLevel": "ALLOW_ALL"});
        with_policies(vec![
            policy("api_controls.unconfigured_third_party_apps", "top", "201", open),
            policy("api_controls.google_services", "top", "101", json!({ "services": services })),
        ])
    };
    let [mail, files] = ["GMAIL_ALL", "DRIVE_ALL"];
    let restricted = json!([{"scopesGroup": mail, "isEnabled": false}, {"scopesGroup": files, "isEnabled": false}]);
    let open = json!([{"scopesGroup": mail, "isEnabled": false}, {"scopesGroup": files, "isEnabled": true}]);
    check(&apps(restricted), "third_party_apps", Compliant, "All 7");
    check(&apps(open), "third_party_apps", NonCompliant, "any third-party app");
    check(&apps(json!([])), "third_party_apps", NonCompliant, "any third-party app");
    assert_eq!(status(&apps(json!([{"scopesGroup": mail}])), "third_party_apps"), None);
    assert_eq!(status(&apps(json!("GMAIL_ALL")), "third_party_apps"), None);
}
