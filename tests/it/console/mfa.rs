//! The second factor on pages: set up with an app, asked for at the sign-in, turned off.

use posture::store::global::user::Role;

use super::browser::{Browser, PASSWORD, add_user};
use super::{is_signed_out, with_admin};
use crate::harness::{Answer, Posture};
use crate::mfa::code;

/// What stands between two texts of a page.
fn between(page: &Answer, from: &str, to: &str) -> String {
    let html = page.text();
    let at = html.find(from).unwrap_or_else(|| panic!("no {from}: {html}")) + from.len();
    html[at..].split(to).next().unwrap().to_owned()
}

/// Sets a second factor up; its secret, and a recovery code.
fn set_up(posture: &Posture, browser: &mut Browser) -> (String, String) {
    let token = browser.token("/me/mfa");
    let wrong = [("token", token.as_str()), ("currentPassword", "wrong, but long enough")];
    assert_eq!(browser.post("/me/mfa/enroll", &wrong).status, 400);
    let right = [("token", token.as_str()), ("currentPassword", PASSWORD)];
    let shown = browser.post("/me/mfa/enroll", &right);
    assert!(shown.text().contains("<svg class=\"qr\""), "{}", shown.text());
    let secret = between(&shown, "Secret: <code>", "</code>");
    let wrong = [("token", token.as_str()), ("otp", "000000")];
    let refused = browser.post("/me/mfa/confirm", &wrong);
    assert_eq!(refused.status, 400);
    // The same secret can still be confirmed.
    assert!(refused.text().contains("action=\"/me/mfa/confirm\""));
    let before = browser.copy();
    let otp = code(&secret, posture.now());
    let done = browser.post("/me/mfa/confirm", &[("token", &token), ("otp", &otp)]);
    assert_eq!(done.status, 200, "{}", done.text());
    let recovery = between(&done, "<pre>", "\n");
    // This browser has another session; the ones of before have ended.
    is_signed_out(&before);
    assert!(browser.get("/me").text().contains("Second factor: on"));
    (secret, recovery)
}

#[test]
fn a_sign_in_asks_for_the_code_of_the_app_once_the_password_is_right() {
    let (posture, mut browser) = with_admin();
    let (secret, recovery) = set_up(&posture, &mut browser);
    let mut other = Browser::new(posture.address);
    let wrong = other.post("/sign-in", &[("name", "ada"), ("password", "wrong, but long enough")]);
    assert!(!wrong.text().contains("name=\"otp\""), "the password was wrong");
    let asked = other.post("/sign-in", &[("name", "ada"), ("password", PASSWORD)]);
    assert_eq!((asked.status, asked.header("set-cookie")), (401, None));
    assert!(asked.text().contains("name=\"otp\""), "{}", asked.text());
    posture.pass_s(30);
    let otp = code(&secret, posture.now());
    let fields = |otp| [("name", "ada"), ("password", PASSWORD), ("otp", otp)];
    assert_eq!(other.post("/sign-in", &fields(&otp)).status, 303);
    // A code opens once, and so does a recovery code.
    for (otp, status) in [(otp.as_str(), 401), (recovery.as_str(), 303), (recovery.as_str(), 401)] {
        let answer = Browser::new(posture.address).post("/sign-in", &fields(otp));
        assert_eq!(answer.status, status, "{otp}");
    }
}

#[test]
fn what_gives_access_to_others_asks_for_the_code_again() {
    let (posture, mut browser) = with_admin();
    let (secret, _) = set_up(&posture, &mut browser);
    posture.pass_s(15 * 60);
    assert_eq!(browser.get("/keys").header("location"), Some("/confirm?next=%2Fkeys"));
    let token = browser.token("/confirm");
    let password = [("token", token.as_str()), ("password", PASSWORD)];
    assert_eq!(browser.post("/confirm", &password).status, 401);
    assert_eq!(browser.get("/keys").status, 303);
    let otp = code(&secret, posture.now());
    let both = [("token", token.as_str()), ("password", PASSWORD), ("otp", otp.as_str())];
    assert_eq!(browser.post("/confirm", &both).status, 303);
    assert_eq!(browser.get("/keys").status, 200);
    // Off again, with a code that was not used.
    posture.pass_s(30);
    let otp = code(&secret, posture.now());
    let off = [("token", token.as_str()), ("currentPassword", PASSWORD), ("otp", otp.as_str())];
    let done = browser.post("/me/mfa/remove", &off);
    assert_eq!(done.status, 200, "{}", done.text());
    assert!(browser.get("/me").text().contains("Second factor: off"));
}

#[test]
fn a_role_that_requires_a_second_factor_sets_it_up_before_anything_else() {
    let posture = Posture::start_with(|it| it.app.require_mfa = vec![Role::Admin]);
    add_user(&posture, "ada", "admin", &[]);
    let mut ada = Browser::signed_in(posture.address, "ada");
    for path in ["/", "/clients", "/keys"] {
        assert_eq!(ada.get(path).header("location"), Some("/me/mfa"), "{path}");
    }
    set_up(&posture, &mut ada);
    assert_eq!(ada.get("/clients").status, 200);
    // An administrator takes the factor of somebody who lost it away, but not an own one.
    let bob_id = add_user(&posture, "bob", "viewer", &[]);
    let mut bob = Browser::signed_in(posture.address, "bob");
    set_up(&posture, &mut bob);
    let token = ada.token("/users");
    let reset = ada.post(&format!("/users/{bob_id}/reset-mfa"), &[("token", &token)]);
    assert_eq!(reset.status, 303, "{}", reset.text());
    is_signed_out(&bob);
    bob.sign_in("bob");
}
