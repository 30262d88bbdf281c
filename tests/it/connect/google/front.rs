//! Google Workspace through the front door: a service account, what the client lets it read, and what each fault leaves.

use std::time::Duration;

use posture::connect::google::StreamKind::{
    self, AuditEvents, OrgUnits, Policies, RoleAssignments, TokenEvents, Users,
};
use serde_json::{Value, json};

use super::server::{ADMIN, Google, Told, answer, error, key_file};
use crate::connect::tenant::{controls, n_events, ran, shown, status, stream, streams};
use crate::connect::vendor::told;
use crate::harness::process::{Done, Folder, Server, wait_until};

const WAIT: Duration = Duration::from_mins(1);

fn try_add(folder: &Folder, domain: &str, admin: &str) -> Done {
    let (domain, admin) = (format!("domain={domain}"), format!("admin={admin}"));
    let kind = ["connect", "add", "--no-wait", "google", "--client", "Acme"];
    let set = ["--set", &domain, "--set", &admin, "--set-file", "service_account_key=key.json"];
    folder.run(&[&kind[..], &set[..]].concat())
}

pub fn add(folder: &Folder, domain: &str, admin: &str) -> String {
    let added = try_add(folder, domain, admin);
    assert_eq!(added.code, 0, "{}", added.err);
    added.out.lines().next().unwrap().to_owned()
}

/// A client whose organization was read once, in good order.
pub fn read_once(google: &Google) -> (Folder, Server, String, String) {
    let folder = google.folder();
    let server = folder.serve();
    let client = folder.client("Acme");
    folder.ok(&["client", "set", "Acme", "--setting", "sanctionedApps=[\"Some CRM\"]"]);
    let id = add(&folder, "example.com", ADMIN);
    let now = ran(&folder, &id, &Value::Null);
    assert_eq!(now["health"], "healthy", "{now}");
    (folder, server, client, id)
}

#[test]
fn an_organization_is_read_by_a_service_account_and_decides_controls() {
    let google = Google::start();
    let (folder, server, client, id) = read_once(&google);
    for (code, expected) in [
        ("ID-01", "compliant"),
        ("ID-02", "compliant"),
        ("ID-03", "compliant"),
        ("ID-07", "compliant"),
        ("ID-15", "compliant"),
        ("APP-01", "compliant"),
        ("APP-03", "partial"),
        ("DAT-04", "compliant"),
        ("LOG-01", "partial"),
        ("END-11", "compliant"),
    ] {
        assert_eq!(status(&folder, &client, code), expected, "{code}");
    }
    let now = shown(&folder, &id);
    let link = now["consentUrl"].as_str().unwrap();
    let start = "https://admin.google.com/ac/owl/domainwidedelegation?clientIdToAdd=115712261629077226469&clientScopeToAdd=https://";
    assert!(link.starts_with(start) && link.ends_with("&overwriteClientId=true"), "{link}");
    for scope in StreamKind::oauth_scopes() {
        assert!(link.contains(scope) && scope.ends_with(".readonly"), "{scope}");
    }
    assert_eq!(now["settings"], json!({"domain": "example.com", "admin": ADMIN}));
    assert_eq!(folder.ask("/api/connections")["data"][0]["consentUrl"], link);
    assert_eq!(stream(&now, "users"), ("complete".to_owned(), String::new()));
    assert_eq!(streams(&now).len(), StreamKind::ALL.len());
    assert_eq!(google.n_tokens(), StreamKind::oauth_scopes().len());
    let path = format!("/clients/{client}/assets?limit=100");
    let names = server.get(&folder.key("1000"), &path).json()["data"].to_string();
    assert!(
        names.contains("Pixel 8 of ben@example.com") && names.contains("HP Chromebook"),
        "{names}"
    );
    assert!(!names.contains("Pixel 3"), "it was wiped: {names}");
    let tested = folder.ok(&["connect", "test", &id]);
    assert!(tested.contains("ID-01") && tested.contains("role_assignments"), "{tested}");
}

#[test]
fn a_scope_that_the_client_did_not_allow_is_named_once_and_changes_no_control() {
    let google = Google::start();
    let (folder, _server, client, id) = read_once(&google);
    let before = controls(&folder, &client);
    for kind in StreamKind::ALL {
        google.script.unauthorize(&[kind.oauth_scope()]);
        assert_eq!(folder.run(&["connect", "sync", &id]).code, 1);
        let now = shown(&folder, &id);
        assert_eq!(now["health"], "degraded", "{now}");
        for (name, state, reason) in streams(&now) {
            let scope =
                StreamKind::ALL.iter().find(|it| it.as_str() == name).unwrap().oauth_scope();
            if scope == kind.oauth_scope() {
                assert_eq!(state, "denied", "{name}");
                let start = format!("not allowed; grant the service account the scope {scope} in ");
                assert!(reason.starts_with(&start), "{reason}");
            } else {
                assert_eq!((state.as_str(), reason.as_str()), ("complete", ""), "{name}");
            }
        }
        assert_eq!(controls(&folder, &client), before, "{}", kind.as_str());
        google.script.mend();
    }
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(shown(&folder, &id)["health"], "healthy");
}

#[test]
fn until_the_client_authorizes_the_account_nothing_has_failed() {
    let google = Google::start();
    google.script.unauthorize(&StreamKind::oauth_scopes());
    let folder = google.folder();
    let _server = folder.serve();
    folder.client("Acme");
    for admin in [ADMIN, "root@other.example"] {
        // Of another domain, Google does not even know the administrator.
        let added = try_add(&folder, "example.com", admin);
        assert!(
            added
                .out
                .contains("an administrator of the client consents at: https://admin.google.com/"),
            "{}",
            added.out
        );
    }
    let all = || folder.ask("/api/connections")["data"].as_array().unwrap().clone();
    assert!(wait_until(WAIT, || all().iter().all(|it| !it["lastRunAt"].is_null())));
    let now = &all()[0];
    assert_eq!(now["health"], "pending", "{now}");
    let (_, reason) = stream(now, "sign_in");
    assert!(reason.contains("has not authorized the service account yet"), "{reason}");
    assert!(google.asked().is_empty());
    assert_eq!(all()[1]["health"], "failing");
}

#[test]
fn what_is_wrong_with_the_sign_in_is_said_with_what_to_do() {
    let google = Google::start();
    let (folder, _server, client, id) = read_once(&google);
    let before = controls(&folder, &client);
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(61);
    let date = later.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let refused = |status, headers: &[(&str, &str)], error: &str, description: &str| {
        let body = json!({"error": error, "error_description": description});
        told(status, headers, &body.to_string())
    };
    for (told, words) in [
        (
            refused(400, &[], "invalid_grant", "Invalid JWT Signature."),
            "create a new key and enter it",
        ),
        (refused(400, &[], "invalid_grant", "Invalid email or User ID"), "the setting admin"),
        (
            refused(400, &[], "invalid_grant", "Invalid grant: account not found"),
            "or it is disabled",
        ),
        (
            refused(401, &[], "invalid_client", "The OAuth client was not found."),
            "or it is disabled",
        ),
        (
            refused(
                400,
                &[("Date", &date)],
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.",
            ),
            "minutes behind; set it",
        ),
        (
            refused(400, &[], "admin_policy_enforced", "Blocked."),
            "(admin_policy_enforced): \"Blocked.\"",
        ),
        (told(403, &[], "<html>"), "answered with status 403"),
    ] {
        google.script.refuse_tokens(told);
        assert_eq!(folder.run(&["connect", "sync", &id]).code, 1, "{words}");
        let now = shown(&folder, &id);
        assert_eq!(now["health"], "failing", "{words}");
        let (state, reason) = stream(&now, "sign_in");
        assert_eq!(state, "failed");
        assert!(reason.contains(words), "{reason}");
        assert_eq!(controls(&folder, &client), before, "{words}");
    }
    assert_eq!(n_events(&folder, "mfa_disabled"), 0);
}

#[test]
fn settings_of_another_organization_read_nothing() {
    let google = Google::start();
    let (folder, _server, client, id) = read_once(&google);
    let before = controls(&folder, &client);
    for (changed, words) in [
        (
            "domain=other.example",
            "root@example.com is of the organization example.com, which does not have the domain other.example",
        ),
        ("domain=alias.example", ""),
        ("admin=gone@example.com", "Google knows no active user"),
        ("admin=root@example.com", ""),
    ] {
        let alias = json!([{"domainAliasName": "alias.example", "verified": true}]);
        google.script.change(|wire| wire["domains"][0]["domainAliases"] = alias);
        folder.ok(&["connect", "set", &id, "--set", changed]);
        folder.run(&["connect", "sync", &id]);
        let now = shown(&folder, &id);
        if words.is_empty() {
            assert_eq!(now["health"], "healthy", "{changed}");
        } else {
            let (_, reason) = stream(&now, "sign_in");
            assert!(reason.contains(words), "{reason}");
        }
        assert_eq!(controls(&folder, &client), before, "{changed}");
    }
}

/// What a stream is answered with, the state that it is in then, and words of the reason.
type Broken = (StreamKind, Told, &'static str, &'static str);

/// Answers that are no list.
fn broken_lists() -> Vec<Broken> {
    let json = [("Content-Type", "application/json"), ("Retry-After", "1")];
    vec![
        (Policies, answer(500, &json, "oops"), "failed", "status 500"),
        (
            OrgUnits,
            answer(200, &[("Content-Type", "text/html")], "<html>Sign in"),
            "failed",
            "the answer is not JSON (text/html)",
        ),
        (
            Users,
            answer(200, &json, "{}"),
            "failed",
            "the list is empty, although it always has a row",
        ),
        (
            Users,
            answer(200, &json, r#"{"users":[{"id":"1"}]}"#),
            "partial",
            "the field isEnrolledIn2Sv is absent from 1 of 1 rows",
        ),
    ]
}

/// Errors as Google writes them.
fn refused_lists() -> Vec<Broken> {
    let json = [("Content-Type", "application/json"), ("Retry-After", "1")];
    let not_enabled = "Admin SDK API has not been used in project 123456 before or it is disabled. Enable it by visiting https://evil.example then retry.";
    let disabled = json!({"error": {"code": 403, "message": "Cloud Identity API has not been used in project my-project before", "status": "PERMISSION_DENIED",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "SERVICE_DISABLED"}]}});
    let of_log = "Access denied. You are not authorized to read activity records.";
    vec![
        (
            RoleAssignments,
            error(403, "forbidden", "Not Authorized to access this resource/api"),
            "denied",
            "or name a super administrator there: \"Not Authorized",
        ),
        (
            TokenEvents,
            error(401, "authError", of_log),
            "denied",
            "name a super administrator there",
        ),
        (
            AuditEvents,
            error(403, "accessNotConfigured", not_enabled),
            "denied",
            "enable it at https://console.cloud.google.com/apis/library/admin.googleapis.com?project=123456 and",
        ),
        (
            Policies,
            answer(403, &json, &disabled.to_string()),
            "denied",
            "cloudidentity.googleapis.com?project=my-project and",
        ),
        (
            OrgUnits,
            error(403, "insufficientPermissions", "x"),
            "denied",
            "auth/admin.directory.orgunit.readonly in",
        ),
        (OrgUnits, error(400, "invalid", "Bad."), "failed", "Google answered 400: \"Bad.\""),
    ]
}

#[test]
fn a_stream_that_breaks_keeps_what_was_known() {
    let google = Google::start();
    let (folder, _server, client, id) = read_once(&google);
    let before = controls(&folder, &client);
    for (kind, told, state, words) in broken_lists().into_iter().chain(refused_lists()) {
        google.script.fail(kind, "*", usize::MAX, told);
        assert_eq!(folder.run(&["connect", "sync", &id]).code, 1, "{words}");
        let now = shown(&folder, &id);
        assert_eq!(now["health"], "degraded", "{words}");
        let found = stream(&now, kind.as_str());
        assert_eq!(found.0, state, "{words}");
        assert!(found.1.contains(words) && !found.1.contains("evil"), "{words}: {}", found.1);
        let n_whole = streams(&now).iter().filter(|it| it.1 == "complete").count();
        assert_eq!(n_whole, StreamKind::ALL.len() - 1, "{words}");
        assert_eq!(controls(&folder, &client), before, "{words}");
        google.script.mend();
    }
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(
        n_events(&folder, "mfa_disabled") + n_events(&folder, "dormant_account_detected"),
        0
    );
}

#[test]
fn a_key_that_is_none_is_refused_and_one_that_is_stays_hidden() {
    let google = Google::start();
    let folder = google.folder();
    let server = folder.serve();
    folder.client("Acme");
    for (key, words) in [
        ("not JSON".to_owned(), "must be the whole JSON key file"),
        (r#"{"installed": {"client_id": "1"}}"#.to_owned(), "has no client_email"),
        ("[1]".to_owned(), "is not the key of a service account"),
        (key_file(json!({"type": "authorized_user"})), "is not the key of a service account"),
        (key_file(json!({"private_key": null})), "has no private_key"),
        (
            key_file(
                json!({"private_key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"}),
            ),
            "cannot be read",
        ),
        (
            key_file(json!({"token_uri": "https://evil.example/token"})),
            "a token_uri that is not Google's",
        ),
    ] {
        folder.write("key.json", key.as_bytes());
        let refused = try_add(&folder, "example.com", ADMIN);
        assert_eq!((refused.code, refused.out.as_str()), (1, ""), "{words}");
        let field = "settings.service_account_key";
        assert!(refused.err.contains(field) && refused.err.contains(words), "{}", refused.err);
    }
    folder.write("key.json", key_file(json!({})).as_bytes());
    for (domain, admin, field) in [
        ("no domain", ADMIN, "settings.domain"),
        ("example.com", "root", "settings.admin"),
        ("example.com", "@example.com", "settings.admin"),
    ] {
        let refused = try_add(&folder, domain, admin);
        assert!(refused.err.contains(field), "{}", refused.err);
    }
    let id = add(&folder, "Example.com", "Root@Example.com");
    ran(&folder, &id, &Value::Null);
    let file: Value = serde_json::from_str(&key_file(json!({}))).unwrap();
    let line = file["private_key"].as_str().unwrap().lines().nth(3).unwrap().to_owned();
    let told = [
        folder.ok(&["connect", "show", &id, "--json"]),
        folder.ok(&["connect", "kinds"]),
        folder.ok(&["audit", "list", "--json"]),
    ];
    assert!(told.iter().all(|it| !it.contains(&line)) && told[1].contains("service_account_key"));
    assert!(server.stop().success());
    let bytes = std::fs::read(folder.path().join("data/posture.redb")).unwrap();
    assert!(!bytes.windows(line.len()).any(|it| it == line.as_bytes()));
}
