//! The tests of the settings that need aiosmtpd, a mail server that others wrote.

use std::fs;

use posture::egress::TrustedRoots;
use posture::mail::{MailLogin, MailOptions, MailTls};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::process::Folder;
use crate::harness::{Posture, tls};
use crate::mail::server::MailServer;
use crate::mail::{options, test_mail};

/// A certificate for these names, by this authority, in files; the settings of a server with it.
pub(in crate::mail) fn certified(
    folder: &TempDir,
    authority: &rcgen::CertifiedIssuer<'_, KeyPair>,
    name: &str,
) -> Value {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, authority).unwrap();
    let (file, key_file) = (folder.path().join("server.pem"), folder.path().join("server.key"));
    fs::write(&file, certificate.pem()).unwrap();
    fs::write(&key_file, key.serialize_pem()).unwrap();
    json!({"certificate": file, "key": key_file})
}

#[test]
#[ignore = "needs aiosmtpd"]
fn only_a_server_with_a_right_certificate_gets_a_message() {
    let authority = tls::authority();
    let roots = TrustedRoots::parse(authority.pem().as_bytes()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for implicit in [false, true] {
        let tls = if implicit { MailTls::Implicit } else { MailTls::StartTls };
        let try_it = |name: &str, roots: &TrustedRoots| {
            let mut settings = certified(&folder, &authority, name);
            settings["implicit"] = json!(implicit);
            let server = MailServer::start(&settings);
            let options = MailOptions { tls, roots: roots.clone(), ..options(server.port) };
            let posture = Posture::start_with(move |it| it.app.mail = Some(options));
            let tested = test_mail(&posture);
            let n_taken = usize::from(tested["delivered"] == true);
            assert_eq!(server.taken().len(), n_taken);
            tested
        };
        let tested = try_it("localhost", &roots);
        assert_eq!(
            (&tested["delivered"], &tested["message"]),
            (&json!(true), &json!("250 2.0.0 Ok: queued"))
        );
        let tested = try_it("other.example", &roots);
        assert_eq!((&tested["delivered"], &tested["kind"]), (&json!(false), &json!("tls")));
        let said = tested["message"].as_str().unwrap();
        assert!(
            said.contains("it is not for this host name; set mail.server to one of its names"),
            "{said}"
        );
        let tested = try_it("localhost", &TrustedRoots::default());
        assert_eq!(tested["kind"], "tls");
        let said = tested["message"].as_str().unwrap();
        assert!(
            said.contains("no trusted authority issued it; name the authority with mail.ca_file"),
            "{said}"
        );
    }
    let server = MailServer::start(&json!({}));
    let options = MailOptions { tls: MailTls::StartTls, ..options(server.port) };
    let posture = Posture::start_with(move |it| it.app.mail = Some(options));
    let tested = test_mail(&posture);
    let said = tested["message"].as_str().unwrap();
    assert!(said.contains("does not offer STARTTLS; set mail.tls to \"implicit\""), "{said}");
    assert!(server.taken().is_empty(), "nothing in clear");
}

#[test]
#[ignore = "needs aiosmtpd"]
fn a_login_that_is_refused_is_named_and_a_right_one_is_used() {
    let settings = json!({"user": "reports", "password": "ochre kettle"});
    let try_it = |login: Option<(&str, &str)>| {
        let server = MailServer::start(&settings);
        let login = login.map(|(user, password)| MailLogin::Password {
            user: user.to_owned(),
            password: password.to_owned(),
        });
        let options = MailOptions { login, ..options(server.port) };
        let posture = Posture::start_with(move |it| it.app.mail = Some(options));
        test_mail(&posture)
    };
    assert_eq!(try_it(Some(("reports", "ochre kettle")))["delivered"], true);
    let tested = try_it(Some(("reports", "canary")));
    assert_eq!(tested["kind"], "login");
    let said = tested["message"].as_str().unwrap();
    assert!(
        said.contains("refused the login: 535")
            && said.ends_with("check mail.user and mail.password_file"),
        "{said}"
    );
    assert!(!said.contains("canary"));
    let tested = try_it(None);
    assert_eq!(tested["kind"], "login");
    let said = tested["message"].as_str().unwrap();
    assert!(said.contains("wants a login: 530"), "{said}");
}

#[test]
#[ignore = "needs aiosmtpd"]
fn the_command_line_tries_the_settings() {
    let server = MailServer::start(&json!({
        "user": "u", "password": "ochre kettle",
        "refuse": {"gone@example.com": "550 5.1.1 No such user here"},
    }));
    let folder = Folder::new();
    let port = server.port;
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n\
         [mail]\nserver = \"127.0.0.1:{port}\"\ntls = \"none\"\nfrom = \"reports@northwind.example\"\n\
         user = \"u\"\npassword_file = \"password\"\n"
    );
    folder.write("posture.toml", config.as_bytes());
    let absent = folder.run(&["client", "list"]);
    assert!(absent.err.contains("mail.password_file: password cannot be read"), "{}", absent.err);
    folder.write("password", b"ochre kettle\n");
    let said = folder.ok(&["mail", "test", "ada@example.com"]);
    assert_eq!(said, "the server took the message: 250 2.0.0 Ok: queued\n");
    let refused = folder.run(&["mail", "test", "gone@example.com"]);
    let said = format!(
        "posture: recipient: 127.0.0.1:{port} refused the recipient: 550 5.1.1 No such user here; \
         correct or remove the address\n"
    );
    assert_eq!((refused.code, refused.err), (1, said));
}
