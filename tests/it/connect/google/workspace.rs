//! An organization in which everything is as it should be, to change one thing of.

use posture::clock::Time;
use posture::connect::google::{Snapshot, judge};
use posture::connect::reading::{Judged, JudgedStatus};
use serde_json::{Value, json};

/// `/` is `top`; nobody is in `/Empty`.
pub const UNITS: [(&str, &str); 4] =
    [("/", "top"), ("/Staff", "staff"), ("/Staff/Interns", "interns"), ("/Empty", "empty")];

/// Apps that the client approved.
pub const APPROVED: [&str; 1] = ["some crm"];

pub fn at() -> Time {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

pub fn policy(kind: &str, unit: &str, order: &str, value: Value) -> Value {
    let query = format!("entity.org_units.exists(u, u.org_unit_id == orgUnitId('{unit}'))");
    let mut policy = json!({
        "name": "policies/1", "type": "ADMIN",
        "policyQuery": {"orgUnit": format!("orgUnits/{unit}"), "query": query, "sortOrder": order},
        "setting": {"type": format!("settings/{kind}")},
    });
    policy["setting"]["value"] = value;
    policy
}

pub fn of_group(group: &str, mut policy: Value) -> Value {
    policy["policyQuery"]["group"] = group.into();
    policy
}

pub fn licensed(mut policy: Value) -> Value {
    policy["policyQuery"]["query"] =
        "entity.licenses.exists(license, license in ['/product/P/sku/1'])".into();
    policy
}

pub fn user(name: &str, path: &str) -> Value {
    json!({
        "id": format!("id-{name}"), "primaryEmail": format!("{name}@example.com"),
        "name": {"fullName": name}, "isAdmin": false, "isDelegatedAdmin": false, "isGuestUser": false,
        "isEnrolledIn2Sv": true, "isEnforcedIn2Sv": true, "suspended": false, "archived": false,
        "isMailboxSetup": true, "creationTime": "2024-01-24T17:35:54.000Z",
        "lastLoginTime": "2026-11-10T08:00:00.000Z", "orgUnitPath": path,
    })
}

pub fn admin(name: &str) -> Value {
    let mut user = user(name, "/");
    user["isAdmin"] = true.into();
    user["isMailboxSetup"] = false.into();
    user
}

pub fn event(application: &str, name: &str, who: &str, time: &str, parameters: Value) -> Value {
    let mut event = json!({
        "id": {"time": time, "applicationName": application, "uniqueQualifier": "-1"},
        "actor": {"email": format!("{who}@example.com"), "profileId": "1"},
        "events": [{"type": "auth", "name": name}],
    });
    event["events"][0]["parameters"] = parameters;
    event
}

/// Settings as they should be.
pub fn good_settings() -> Vec<(&'static str, Value)> {
    let mut all = good_security();
    all.extend(good_mail());
    all.extend(good_sharing());
    all
}

fn good_security() -> Vec<(&'static str, Value)> {
    vec![
        ("security.two_step_verification_enrollment", json!({"allowEnrollment": true})),
        (
            "security.two_step_verification_enforcement",
            json!({"enforcedFrom": "2025-10-15T16:01:39.895Z"}),
        ),
        (
            "security.two_step_verification_enforcement_factor",
            json!({"allowedSignInFactorSet": "PASSKEY_ONLY"}),
        ),
        ("security.less_secure_apps", json!({"allowLessSecureApps": false})),
        ("security.super_admin_account_recovery", json!({"enableAccountRecovery": false})),
        ("security.user_account_recovery", json!({"enableAccountRecovery": false})),
        (
            "security.password",
            json!({"allowedStrength": "STRONG", "minimumLength": 12, "maximumLength": 100,
                   "enforceRequirementsAtLogin": true, "allowReuse": false, "expirationDuration": "0s"}),
        ),
        (
            "api_controls.unconfigured_third_party_apps",
            json!({"accessLevel": "ALLOW_SIGN_IN_ONLY"}),
        ),
        ("workspace_marketplace.apps_access_options", json!({"accessLevel": "ALLOW_LISTED_APPS"})),
    ]
}

fn good_mail() -> Vec<(&'static str, Value)> {
    vec![
        ("gmail.service_status", json!({"serviceState": "ENABLED"})),
        ("gmail.auto_forwarding", json!({"enableAutoForwarding": false})),
        (
            "gmail.enhanced_pre_delivery_message_scanning",
            json!({"enableImprovedSuspiciousContentDetection": true}),
        ),
        (
            "gmail.email_attachment_safety",
            json!({"enableEncryptedAttachmentProtection": true,
                   "encryptedAttachmentProtectionConsequence": "SPAM_FOLDER",
                   "enableAttachmentWithScriptsProtection": true,
                   "attachmentWithScriptsProtectionConsequence": "QUARANTINE",
                   "enableAnomalousAttachmentProtection": true,
                   "anomalousAttachmentProtectionConsequence": "SPAM_FOLDER"}),
        ),
        (
            "gmail.links_and_external_images",
            json!({"enableShortenerScanning": true, "enableExternalImageScanning": true,
                   "enableAggressiveWarningsOnUntrustedLinks": true}),
        ),
        (
            "gmail.spoofing_and_authentication",
            json!({"detectDomainNameSpoofing": true, "detectEmployeeNameSpoofing": true,
                   "detectDomainSpoofingFromUnauthenticatedSenders": true,
                   "detectUnauthenticatedEmails": true, "detectGroupsSpoofing": true,
                   "domainNameSpoofingConsequence": "QUARANTINE",
                   "employeeNameSpoofingConsequence": "QUARANTINE",
                   "domainSpoofingConsequence": "SPAM_FOLDER",
                   "unauthenticatedEmailConsequence": "SPAM_FOLDER",
                   "groupsSpoofingConsequence": "QUARANTINE"}),
        ),
    ]
}

fn good_sharing() -> Vec<(&'static str, Value)> {
    vec![
        ("drive_and_docs.service_status", json!({"serviceState": "ENABLED"})),
        (
            "drive_and_docs.external_sharing",
            json!({"externalSharingMode": "ALLOWED", "allowPublishingFiles": false,
                   "allowNonGoogleInvites": false}),
        ),
        (
            "calendar.primary_calendar_max_allowed_external_sharing",
            json!({"maxAllowedExternalSharing": "EXTERNAL_FREE_BUSY_ONLY"}),
        ),
        (
            "calendar.secondary_calendar_max_allowed_external_sharing",
            json!({"maxAllowedExternalSharing": "EXTERNAL_FREE_BUSY_ONLY"}),
        ),
        ("chat.chat_file_sharing", json!({"externalFileSharing": "NO_FILES"})),
        (
            "groups_for_business.groups_sharing",
            json!({"collaborationCapability": "DOMAIN_USERS_ONLY",
                   "ownersCanAllowExternalMembers": false}),
        ),
        ("rule.dlp", dlp("ACTIVE", &["gmail.email.v1.send", "drive.file.v1.share"])),
    ]
}

/// A rule that blocks.
pub fn dlp(state: &str, triggers: &[&str]) -> Value {
    let triggers: Vec<String> =
        triggers.iter().map(|it| format!("google.workspace.{it}")).collect();
    json!({"displayName": "Numbers", "state": state, "triggers": triggers,
           "action": {"driveAction": {"blockAccess": {}}, "gmailAction": {"blockContent": {}}}})
}

pub fn token(name: &str, app: &str, who: &str, time: &str, scopes: &[&str]) -> Value {
    let parameters = json!([
        {"name": "client_id", "value": format!("{app}.apps.googleusercontent.com")},
        {"name": "app_name", "value": app},
        {"name": "scope", "multiValue": scopes},
    ]);
    event("token", name, who, time, parameters)
}

pub fn good_policies() -> Vec<Value> {
    good_settings()
        .into_iter()
        .map(|(kind, value)| policy(kind, "top", "101.00125", value))
        .collect()
}

/// The lists as they come over the wire.
pub fn good_wire() -> Value {
    let units =
        UNITS.map(|(path, id)| json!({"orgUnitId": format!("id:{id}"), "orgUnitPath": path}));
    let staff = ["ben", "cat", "dan", "eve"].map(|it| user(it, "/Staff"));
    let mut users = vec![admin("root"), admin("second"), user("ida", "/Staff/Interns")];
    users.extend(staff);
    json!({
        "customer": {"id": "C0123", "customerDomain": "example.com"},
        "users": users,
        "roles": [{"roleId": "1", "roleName": "_SEED_ADMIN_ROLE", "isSuperAdminRole": true}],
        "role_assignments": [{"roleId": "1", "assignedTo": "id-root", "assigneeType": "user"}],
        "org_units": units,
        "policies": good_policies(),
        "sso_assignments": [],
        "mobile_devices": [],
        "chrome_devices": [],
        "domains": [{"domainName": "example.com", "isPrimary": true, "verified": true}],
        "token_events": [token("authorize", "Some CRM", "ben", "2026-11-01T08:00:00Z",
                               &["https://mail.google.com/"])],
        "two_step_removals": [],
        "audit_events": [
            event("login", "login_success", "ben", "2026-11-19T08:00:00Z", json!([])),
            event("admin", "CREATE_USER", "root", "2026-10-01T08:00:00Z", json!([])),
        ],
    })
}

pub fn snapshot(wire: Value) -> Snapshot {
    let Value::Object(mut wire) = wire else { panic!("lists by name") };
    let mut take = |name: &str| wire.remove(name).filter(|it| !it.is_null());
    macro_rules! lists {
        ($($name:ident)*) => {
            Snapshot { $($name: take(stringify!($name)).map(|it| serde_json::from_value(it).unwrap()),)* }
        };
    }
    lists!(customer users roles role_assignments org_units policies sso_assignments mobile_devices
           chrome_devices domains token_events two_step_removals audit_events)
}

/// The organization with these policies too.
pub fn with_policies(more: Vec<Value>) -> Snapshot {
    changed(|wire| wire["policies"].as_array_mut().unwrap().extend(more))
}

pub fn changed(change: impl FnOnce(&mut Value)) -> Snapshot {
    let mut wire = good_wire();
    change(&mut wire);
    snapshot(wire)
}

pub fn judged(snapshot: &Snapshot) -> Vec<Judged> {
    judge(snapshot, &APPROVED.map(str::to_owned), at())
}

pub fn find(snapshot: &Snapshot, check: &str) -> Option<Judged> {
    judged(snapshot).into_iter().find(|it| it.check == check)
}

pub fn status(snapshot: &Snapshot, check: &str) -> Option<JudgedStatus> {
    find(snapshot, check).map(|it| it.status)
}

/// The status and the words of a check.
pub fn check(snapshot: &Snapshot, check: &str, status: JudgedStatus, words: &str) {
    let found = find(snapshot, check).unwrap_or_else(|| panic!("{check}: no verdict"));
    assert_eq!(found.status, status, "{check}: {}", found.findings);
    assert!(found.findings.contains(words), "{check}: {words}: {}", found.findings);
}
