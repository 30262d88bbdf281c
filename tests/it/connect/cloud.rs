//! Microsoft's clouds beside the worldwide one, and a certificate of the MSP's own.

use std::fmt::Write as _;

use rcgen::{CertificateParams, KeyPair, PKCS_RSA_SHA256};
use rsa::pkcs8::EncodePrivateKey;
use rsa::{Generate, PrivateKey};
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::{Value, json};

use super::graph::{APP, Graph};
use super::tenant::{add, ran, shown, status};
use crate::harness::process::Folder;

/// More than any list has.
const PAGE: usize = 1_000;
const CLOUDS: [(&str, &str, &str); 3] = [
    ("us_gov", "login.microsoftonline.us", "graph.microsoft.us"),
    ("us_dod", "login.microsoftonline.us", "dod-graph.microsoft.us"),
    ("china", "login.chinacloudapi.cn", "microsoftgraph.chinacloudapi.cn"),
];

/// A certificate and its key, as `openssl req -x509 -newkey rsa:3072 -nodes` makes them.
fn pair() -> (String, String) {
    let key = PrivateKey::generate();
    let der = PrivatePkcs8KeyDer::from(key.to_pkcs8_der().unwrap().as_bytes().to_vec());
    let pair = KeyPair::from_pkcs8_der_and_sign_algo(&der, &PKCS_RSA_SHA256).unwrap();
    let certificate = CertificateParams::default().self_signed(&pair).unwrap();
    (certificate.pem(), pair.serialize_pem())
}

/// A folder whose configuration leads only the hosts of this cloud to the stand-in.
fn folder(graph: &Graph, hosts: [&str; 3]) -> Folder {
    let folder = Folder::new();
    let mut text = String::from(
        "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[connect]\ndns_server = \"127.0.0.1:9\"\n\
         allow_http_networks = [\"127.0.0.0/8\"]\nallow_private_networks = [\"127.0.0.0/8\"]\nendpoints = { ",
    );
    for host in hosts {
        write!(text, "\"https://{host}\" = \"http://{}\", ", graph.sink.address).unwrap();
    }
    folder.write("posture.toml", (text + "}\n").as_bytes());
    folder
}

fn init<'a>(cloud: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let own = ["connect", "m365", "init", "--app-id", APP, "--tenant", "msp.example"];
    own.into_iter().chain(["--cloud", cloud]).chain(more.iter().copied()).collect()
}

#[test]
fn a_tenant_of_another_cloud_is_read_there_with_a_certificate_of_ones_own() {
    let (certificate, key) = pair();
    for (cloud, login, host) in CLOUDS {
        let graph = Graph::start_with(PAGE);
        let folder = folder(&graph, [login, host, "reports.office.com"]);
        folder.write("app.cer", certificate.as_bytes());
        folder.write("app.key", key.as_bytes());
        let _server = folder.serve();
        let client = folder.client("Acme");
        let said = folder.ok(&init(cloud, &["--certificate", "app.cer", "--key", "app.key"]));
        assert!(said.contains(cloud), "{said}");
        let app = folder.json(&["connect", "m365", "show"]);
        assert_eq!(
            (&app["data"]["cloud"], &app["data"]["certificatePem"]),
            (&json!(cloud), &json!(certificate))
        );
        let id = add(&folder);
        let link = shown(&folder, &id)["consentUrl"].as_str().unwrap().to_owned();
        assert!(link.starts_with(&format!("https://{login}/")), "{link}");
        let done = ran(&folder, &id, &Value::Null);
        assert_eq!(done["health"], "healthy", "{cloud}: {done}");
        assert_eq!(status(&folder, &client, "APP-01"), "compliant", "{cloud}");
        let tokens = graph.sink.requests();
        let token = tokens.iter().find(|it| it.line.contains("/oauth2/v2.0/token")).unwrap();
        let form = String::from_utf8(token.body.clone()).unwrap();
        assert!(form.contains("client_assertion="), "{form}");
        assert!(form.contains(&format!("scope=https%3A%2F%2F{host}%2F.default")), "{form}");
    }
}

#[test]
fn a_pair_that_does_not_fit_and_a_cloud_that_is_none_are_refused() {
    let graph = Graph::start_with(PAGE);
    let folder = folder(&graph, ["login.microsoftonline.us", "graph.microsoft.us", "a.example"]);
    let ((certificate, key), (_, other)) = (pair(), pair());
    folder.write("app.cer", certificate.as_bytes());
    folder.write("app.key", key.as_bytes());
    folder.write("other.key", other.as_bytes());
    folder.write(
        "old.key",
        b"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
    );
    folder.write("none.cer", b"nothing");
    let _server = folder.serve();
    for (cloud, certificate, key, said) in [
        ("us_gov", "app.cer", "other.key", "keyPem: is not the key of the certificate"),
        ("us_gov", "app.cer", "old.key", "openssl pkcs8 -topk8 -nocrypt"),
        ("us_gov", "none.cer", "app.key", "certificatePem: must be one certificate in PEM"),
        ("moon", "app.cer", "app.key", "cloud: must be one of global, us_gov, us_dod, china"),
    ] {
        let refused = folder.run(&init(cloud, &["--certificate", certificate, "--key", key]));
        assert!(refused.code != 0 && refused.err.contains(said), "{said}: {}", refused.err);
    }
    // Neither stands without the other.
    for (given, missing) in
        [(["--key", "app.key"], "--certificate"), (["--certificate", "app.cer"], "--key")]
    {
        let refused = folder.run(&init("us_gov", &given));
        assert!(refused.code != 0 && refused.err.contains(missing), "{}", refused.err);
    }
}
