//! The identity provider.

use super::{read, refused};

const SERVER: &str = "[server]\npublic_url = \"https://posture.example.com\"\n";
const OIDC: &str = "[oidc]\nissuer = \"https://id.example.com/\"\nclient_id = \"posture\"\n";

#[test]
fn without_an_issuer_people_sign_in_with_passwords_alone() {
    assert_eq!(read("").oidc, None);
    let oidc = read(&format!("{SERVER}{OIDC}")).oidc.unwrap();
    assert_eq!(oidc.issuer, "https://id.example.com/", "a slash at its end belongs to it");
    assert_eq!((oidc.name.as_str(), oidc.client_secret_file), ("single sign-on", None));
    assert_eq!(oidc.admin_values, ["posture-admin"]);
    assert!(!oidc.provider_requires_mfa);
    let more = format!("{SERVER}{OIDC}second_factor = \"provider\"\nroles_claim = \"groups\"\n");
    let oidc = read(&more).oidc.unwrap();
    assert!(oidc.provider_requires_mfa);
    assert_eq!(oidc.roles_claim, "groups");
    // However its URL is written.
    let shouted = SERVER.replace("https://posture", "HTTPS://Posture");
    assert!(read(&format!("{shouted}{OIDC}")).oidc.is_some());
    // On this machine, for a first look.
    for host in ["localhost", "127.0.0.1:8080", "[::1]:8080"] {
        let local = format!(
            "[server]\npublic_url = \"http://{host}\"\n[oidc]\nissuer = \"http://{host}/realm\"\nclient_id = \"p\"\n"
        );
        assert!(read(&local).oidc.is_some(), "{host}");
    }
}

#[test]
fn what_cannot_work_is_refused() {
    refused(
        OIDC,
        "2: oidc.issuer: must be set together with server.public_url: the provider leads people back to it",
    );
    let plain = SERVER.replace("https:", "http:");
    let rule = "must begin with https:// for oidc.issuer: people come back to it with a code";
    refused(&format!("{plain}{OIDC}"), &format!("4: server.public_url: {rule}"));
    let together = "must be set together with oidc.client_id";
    refused(
        &format!("{SERVER}[oidc]\nclient_id = \"p\"\n"),
        &format!("4: oidc.issuer: {together}"),
    );
    let alone = "[oidc]\nclient_secret_file = \"secret\"\n";
    let rule = "must be set together with oidc.issuer and oidc.client_id";
    refused(alone, &format!("2: oidc.client_secret_file: {rule}"));
    for (line, said) in [
        ("name = \"\"", "6: oidc.name: must have 1 to 40 characters, not 0"),
        ("scopes = [\"email\"]", "6: oidc.scopes: must have \"openid\""),
        (
            "scopes = [\"openid\", \"a b\"]",
            "6: oidc.scopes: \"a b\" is not a scope, such as \"openid\"",
        ),
        (
            "second_factor = \"no\"",
            "6: oidc.second_factor: must be one of \"claims\", \"provider\", not \"no\"",
        ),
        (
            "viewer_values = [\"posture-admin\"]",
            "6: oidc.admin_values: a value may grant one role only; one is here, in oidc.analyst_values or in oidc.viewer_values again",
        ),
        (
            "admin_values = []\nanalyst_values = []\nviewer_values = []",
            "8: oidc.admin_values: one of oidc.admin_values, oidc.analyst_values and oidc.viewer_values must name a value, or nobody gets a role",
        ),
    ] {
        refused(&format!("{SERVER}{OIDC}{line}\n"), said);
    }
    for issuer in ["id.example.com", "https://id.example.com/?a=b", "https://me@id.example.com"] {
        let text = format!("{SERVER}{OIDC}").replace("https://id.example.com/", issuer);
        let rule =
            "is not an absolute URL without a query, such as \"https://login.example.com/tenant\"";
        refused(&text, &format!("4: oidc.issuer: {issuer:?} {rule}"));
    }
    let text = format!("{SERVER}{OIDC}").replace("https://id", "http://id");
    refused(&text, "4: oidc.issuer: must begin with https://");
}
