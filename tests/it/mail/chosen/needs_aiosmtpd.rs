//! The test that needs aiosmtpd, a mail server that others wrote.

use posture::egress::TrustedRoots;
use serde_json::json;

use super::{PASSWORD, chosen};
use crate::console::browser::{Browser, add_user};
use crate::harness::{Posture, tls};
use crate::mail::server::MailServer;
use crate::mail::setting::needs_aiosmtpd::certified;
use crate::mail::test_mail;

#[test]
#[ignore = "needs aiosmtpd"]
fn a_server_that_is_set_in_the_browser_gets_messages_and_is_kept() {
    let authority = tls::authority();
    let roots = TrustedRoots::parse(authority.pem().as_bytes()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut settings = certified(&folder, &authority, "localhost");
    settings["user"] = json!("reports");
    settings["password"] = json!(PASSWORD);
    let server = MailServer::start(&settings);
    let allow = move |it: &mut posture::serve::ServeOptions| {
        it.app.connect.egress.allow_private_networks =
            ["127.0.0.0/8", "::1/128"].map(|it| it.parse().unwrap()).to_vec();
        it.app.connect.egress.roots = roots;
    };
    let posture = Posture::start_with(allow.clone());
    add_user(&posture, "ada", "admin", &[]);
    let mut browser = Browser::signed_in(posture.address, "ada");
    let page = browser.get("/settings").text();
    assert!(page.contains("There is no mail server: no scheduled report is sent."), "{page}");
    let token = browser.token("/settings");
    let named = format!("localhost:{}", server.port);
    let mut form = vec![
        ("token", &*token),
        ("server", &*named),
        ("tls", "starttls"),
        ("from", "Northwind"),
        ("login", "password"),
        ("user", "reports"),
        ("password", PASSWORD),
    ];
    let refused = browser.post("/settings/mail", &form);
    assert_eq!(refused.status, 400);
    let page = refused.text();
    assert!(page.contains("must be an address, or a name with the address"), "{page}");
    assert!(page.contains(&format!("value=\"{named}\"")) && !page.contains(PASSWORD), "{page}");
    form[3].1 = "Northwind <reports@northwind.example>";
    let set = browser.post("/settings/mail", &form);
    assert_eq!(set.header("location"), Some("/settings?done=set-mail"), "{}", set.text());
    let page = browser.get("/settings").text();
    assert!(page.contains("set here by ada@example.com") && !page.contains(PASSWORD), "{page}");
    let to = [("token", &*token), ("to", "ada@example.com")];
    let tested = browser.post("/settings/mail/test", &to).text();
    assert!(tested.contains("The server took the message: 250 2.0.0 Ok: queued"), "{tested}");
    assert_eq!(server.wait_for(1).len(), 1);

    let posture = posture.restart_after(|_| (), allow);
    assert_eq!(test_mail(&posture)["delivered"], true);
    let mut browser = Browser::signed_in(posture.address, "ada");
    let token = browser.token("/settings");
    let removed = browser.post("/settings/mail/remove", &[("token", &*token)]);
    assert_eq!(removed.header("location"), Some("/settings?done=remove-mail"));
    assert!(chosen(&posture).is_empty());
    let file = std::fs::read(posture.dir().join("posture.redb")).unwrap();
    let hit = file.windows(PASSWORD.len()).any(|it| it == PASSWORD.as_bytes());
    assert!(!hit, "the password is in the file");
}
