//! Result codes of LDAP, and the codes that Active Directory adds, as sentences.

use super::message::Outcome;
use crate::connect::reading::StreamState;
use crate::text::line;

pub(super) const SUCCESS: i32 = 0;
pub(super) const TIME_LIMIT: i32 = 3;
pub(super) const SIZE_LIMIT: i32 = 4;
pub(super) const NO_SUCH_OBJECT: i32 = 32;
const INVALID_CREDENTIALS: i32 = 49;
const TEXT_CHARS_MAX: usize = 160;

/// What comes after `data` in the text of a refused sign-in, and what it means.
const SIGN_IN: [(&str, &str); 9] = [
    ("525", "the user name is unknown in this domain"),
    ("52e", "the user name or the password is wrong"),
    ("530", "the account may not sign in at this time"),
    ("531", "the account may not sign in from this computer"),
    ("532", "the password of the account has expired; set a new one"),
    ("533", "the account is disabled; enable it"),
    ("701", "the account has expired; extend it"),
    ("773", "the account must change its password first; set a new one without that option"),
    ("775", "the account is locked out; unlock it"),
];

/// Says what an unsuccessful result means for what was asked: its state and the reason.
pub(super) fn explain(outcome: &Outcome) -> (StreamState, String) {
    let said = line(&outcome.text, TEXT_CHARS_MAX);
    let failed = |why: &str| (StreamState::Failed, why.to_owned());
    match outcome.code {
        TIME_LIMIT => (StreamState::Partial, "the server stopped at its time limit".to_owned()),
        SIZE_LIMIT => (StreamState::Partial, "the server stopped at its size limit".to_owned()),
        11 => (StreamState::Partial, "the server stopped at an administrative limit".to_owned()),
        8 => failed("the server asks for a stronger sign-in than a password over LDAPS"),
        10 => failed("the server refers to another one; enter a domain controller of this domain"),
        12 => failed("the server cannot send results in pages"),
        NO_SUCH_OBJECT => failed("the object does not exist, or the account may not see it"),
        INVALID_CREDENTIALS => (StreamState::Failed, sign_in(&outcome.text)),
        50 => (StreamState::Denied, "the account may not read this".to_owned()),
        51 | 52 => failed("the server is busy or starting; it is tried again later"),
        code => failed(&format!("the server answered with result {code} ({said})")),
    }
}

fn sign_in(text: &str) -> String {
    let data = text.split("data ").nth(1).unwrap_or_default();
    let data = data.split(|it: char| !it.is_ascii_hexdigit()).next().unwrap_or_default();
    let known = SIGN_IN.iter().find(|it| it.0.eq_ignore_ascii_case(data));
    let why = known.map_or("the user name or the password is wrong", |it| it.1);
    format!("the sign-in was refused: {why}")
}
