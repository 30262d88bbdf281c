//! What the provider offers, as `posture config check` says it.

use posture::oidc::{OidcProvider, Survey};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::scripted::Provider;
use crate::harness::process::Folder;

const URL: &str = "https://posture.example.com";

fn survey(provider: &Provider, has_secret: bool) -> Survey {
    let asked = OidcProvider::new(provider.options(URL).settings).unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(asked.survey(has_secret))
}

#[test]
fn what_a_provider_offers_and_is_not_taken_is_said_with_what_to_set() {
    let provider = Provider::start();
    let honest = provider.script().discovery.clone();
    let said = |member: &str, value: Value, has_secret: bool| {
        let mut discovery = honest.clone();
        discovery[member] = value;
        provider.script().discovery = discovery;
        survey(&provider, has_secret)
    };
    let algorithms = "id_token_signing_alg_values_supported";
    let proofs = "token_endpoint_auth_methods_supported";
    // What says nothing of it, and what offers enough.
    for (member, value) in [
        ("x", json!(1)),
        (algorithms, json!(["ES384"])),
        (algorithms, json!([null, "none", "RS256"])),
        (algorithms, json!([])),
        (algorithms, Value::Null),
        ("response_modes_supported", json!(["form_post", "query"])),
        ("response_types_supported", json!(["id_token", "code"])),
        ("code_challenge_methods_supported", json!(["plain", "S256"])),
        (proofs, json!(["private_key_jwt", "client_secret_post", "none"])),
    ] {
        for has_secret in [true, false] {
            let found = said(member, value.clone(), has_secret);
            assert_eq!(found, Survey::default(), "{member} {value}");
        }
    }
    for (member, value, has_secret, problem) in [
        (algorithms, json!(["ES512", "HS256"]), true, "signs ID tokens with ES512, HS256 alone"),
        (algorithms, json!(["ES512"]), true, "have it sign for this client with RS256, RS384,"),
        ("response_modes_supported", json!(["form_post"]), true, "allow answers in the query"),
        ("response_types_supported", json!(["id_token"]), true, "allow the authorization code"),
        ("code_challenge_methods_supported", json!(["plain"]), true, "allow PKCE with S256"),
        (proofs, json!(["private_key_jwt"]), true, "allow client_secret_basic or"),
        (proofs, json!(["private_key_jwt"]), false, "allow client_secret_basic or"),
        (proofs, json!(["none"]), true, "remove oidc.client_secret_file"),
        ("issuer", json!("https://other.example"), true, "set oidc.issuer to exactly the one"),
    ] {
        let found = said(member, value.clone(), has_secret);
        assert_eq!(found.problems.len(), 1, "{value}: {found:?}");
        let told = &found.problems[0];
        assert!(told.starts_with("oidc.issuer: ") && told.contains(problem), "{told}");
    }
    for (value, member, note) in [
        (json!(["HS256", "RS256"]), algorithms, "may also sign ID tokens with HS256 (id_token"),
        (json!(["client_secret_post"]), proofs, "if it refuses this one, set oidc.client_secret"),
    ] {
        let found = said(member, value, false);
        assert!(found.problems.is_empty(), "{found:?}");
        assert!(found.notes[0].contains(note), "{found:?}");
    }
    said("x", json!(1), true);
    provider.script().keys = json!({ "keys": [{"kty": "oct", "k": "AAAA"}] });
    let found = survey(&provider, true);
    assert!(found.problems[0].contains("/keys has no key that verifies a signature"), "{found:?}");
}

#[test]
fn the_check_of_the_configuration_asks_the_provider_and_does_not_need_its_answer() {
    let provider = Provider::start();
    let folder = Folder::new();
    let configure = |issuer: &str| {
        let text = format!(
            "[server]\npublic_url = \"{URL}\"\n[data]\ndir = \"data\"\n[oidc]\nissuer = \"{issuer}\"\nclient_id = \"p\"\n"
        );
        folder.write("posture.toml", text.as_bytes());
    };
    configure(&provider.issuer);
    assert_eq!(folder.ok(&["config", "check"]), "the configuration is valid\n");
    provider.script().discovery["response_modes_supported"] = json!(["fragment"]);
    let refused = folder.run(&["config", "check"]);
    let said = "oidc.issuer: the provider offers fragment alone (response_modes_supported); allow answers in the query (query) for \
                this client\n";
    assert_eq!((refused.code, &*refused.out, &*refused.err), (1, said, "posture: 1 problem\n"));
    // Nobody is there.
    configure("http://127.0.0.1:9/realm");
    let noted = folder.json(&["config", "check"]);
    assert_eq!(noted["data"]["problems"], json!([]));
    let note = noted["data"]["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with("oidc.issuer: the provider was not asked: http://127.0.0.1:9/"),
        "{note}"
    );
    assert!(folder.ok(&["config", "check"]).ends_with("\nthe configuration is valid\n"));
}
