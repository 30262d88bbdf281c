//! Where the certificate comes from.

use posture::config::{CertificateConfig, show};

use super::{read, refused};

#[test]
fn an_ordered_certificate_moves_the_listeners_to_where_the_authority_looks() {
    let named = "[server]\nacme_domains = [\"A.example.com\", \"b.example.com\"]\n";
    let options = read(named);
    assert_eq!(options.server.listen, "0.0.0.0:443".parse().unwrap());
    assert_eq!(options.server.http_listen, Some("0.0.0.0:80".parse().unwrap()));
    let lets_encrypt = "https://acme-v02.api.letsencrypt.org/directory".to_owned();
    let expected = CertificateConfig::Acme {
        domains: vec!["a.example.com".to_owned(), "b.example.com".to_owned()],
        email: None,
        directory: lets_encrypt,
        ca_file: None,
    };
    assert_eq!(options.server.certificate, Some(expected));
    let shown = show(&options);
    let origin = "  # server.acme_domains, posture.toml:2";
    for line in ["listen = \"0.0.0.0:443\"", "http_listen = \"0.0.0.0:80\""] {
        assert!(shown.contains(&format!("\n{line}{origin}\n")), "{shown}");
    }
    let own = read(&format!("{named}listen = \"[::]:8443\"\nhttp_listen = \"[::]:8080\"\n")).server;
    assert_eq!(own.listen, "[::]:8443".parse().unwrap());
    assert_eq!(own.http_listen, Some("[::]:8080".parse().unwrap()));
    let all: Vec<_> = (0..100).map(|it| format!("\"n{it}.example.com\"")).collect();
    read(&format!("[server]\nacme_domains = [{}]", all.join(", ")));
    let label = "x".repeat(64);
    for (value, rule) in [
        ("[]".to_owned(), "must have 1 to 100 items, not 0".to_owned()),
        (
            format!("[{}, \"z.example.com\"]", all.join(", ")),
            "must have 1 to 100 items, not 101".to_owned(),
        ),
        ("[\"a.example.com\", \"A.example.com\"]".to_owned(), "has a name twice".to_owned()),
        (
            format!("[\"{label}.example.com\"]"),
            format!(
                "\"{label}.example.com\" is not a domain name, such as \"posture.example.com\""
            ),
        ),
        (
            "[\"*.example.com\"]".to_owned(),
            "\"*.example.com\" is not a domain name, such as \"posture.example.com\"".to_owned(),
        ),
        (
            "[\"192.0.2.1\"]".to_owned(),
            "\"192.0.2.1\" is not a domain name, such as \"posture.example.com\"".to_owned(),
        ),
        (
            "[\"localhost\"]".to_owned(),
            "\"localhost\" is not a domain name, such as \"posture.example.com\"".to_owned(),
        ),
    ] {
        refused(
            &format!("[server]\nacme_domains = {value}"),
            &format!("2: server.acme_domains: {rule}"),
        );
    }
    refused(
        "[server]\nacme_directory = \"http://ca.lan/dir\"",
        "2: server.acme_directory: must begin with https://",
    );
    refused(
        "[server]\nacme_email = \"nobody\"",
        "2: server.acme_email: \"nobody\" is not an email address",
    );
    refused(
        &format!("{named}tls_cert = \"a\"\ntls_key = \"b\""),
        "3: server.acme_domains: the certificate comes from files or from an authority, not both",
    );
}
