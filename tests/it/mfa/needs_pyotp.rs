//! The test that needs pyotp, an authenticator app that others wrote.

use std::process::Command;

use serde_json::json;

use super::{ADA, add_ada, try_log_in};
use crate::harness::{Posture, tool};
use crate::strangers::world::PASSWORD;

/// Reads the URL as an app does, and prints the names and the code of a time.
const APP: &str = "
import pyotp, sys
totp = pyotp.parse_uri(sys.argv[1])
print(totp.issuer, totp.name, totp.at(int(sys.argv[2])))
";

#[test]
#[ignore = "needs the Python package pyotp"]
fn an_app_that_reads_the_url_shows_the_codes_that_are_accepted() {
    let posture = Posture::start();
    add_ada(&posture);
    let token = posture.log_in(ADA, PASSWORD);
    let password = json!({"currentPassword": PASSWORD});
    let made = posture.as_user(&token, "POST", "/api/me/mfa", &password).json();
    let url = made["data"]["url"].as_str().unwrap().to_owned();
    let shown = || {
        let now = posture.now().s().to_string();
        let done = Command::new(tool::pyotp()).args(["-c", APP, &url, &now]).output().unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        let names = format!("Posture {ADA} ");
        text.trim().strip_prefix(&names).unwrap_or_else(|| panic!("{text:?}")).to_owned()
    };
    let first = json!({"otp": shown()});
    let confirmed = posture.as_user(&token, "POST", "/api/me/mfa/confirm", &first);
    assert_eq!(confirmed.status, 200, "{}", confirmed.text());
    for seconds in [30, 31, 3_600, 400 * 86_400] {
        posture.clock.set(posture.now().plus_s(seconds));
        assert_eq!(try_log_in(&posture, PASSWORD, &shown()).status, 200);
    }
}
