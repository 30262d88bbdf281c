//! Password policy (ID-15): one check for each requirement.

use super::setting::{
    PASSWORD_AT_SIGN_IN, PASSWORD_EXPIRY, PASSWORD_LENGTH, PASSWORD_REUSE, PASSWORD_STRENGTH,
};
use super::survey::{Question, Who};

const LENGTH_MIN: i64 = 12;

const BASE: Question = Question {
    control: "ID-15",
    check: "password_length",
    who: Who::Everyone,
    service: None,
    kinds: &[PASSWORD_LENGTH.kind],
    passes: |here| here.number(&PASSWORD_LENGTH).map(|it| LENGTH_MIN <= it),
    gap: "Passwords may have fewer than 12 characters",
    remedy: "Change it under Security > Authentication > Password management.",
};

pub(super) const LENGTH: Question = BASE;

pub(super) const STRENGTH: Question = Question {
    check: "password_strength",
    passes: |here| match here.word(&PASSWORD_STRENGTH)? {
        "STRONG" => Some(true),
        "WEAK" => Some(false),
        _ => None,
    },
    gap: "Weak and common passwords are accepted",
    ..BASE
};

pub(super) const REUSE: Question = Question {
    check: "password_reuse",
    passes: |here| here.flag(&PASSWORD_REUSE).map(|it| !it),
    gap: "Old passwords may be used again",
    ..BASE
};

pub(super) const EXPIRY: Question = Question {
    check: "password_expiry",
    passes: |here| {
        let text = here.word(&PASSWORD_EXPIRY)?;
        let seconds = text.strip_suffix('s')?;
        // Google writes fractions only if there are any.
        seconds.parse::<u64>().ok().map(|it| it == 0)
    },
    gap: "Passwords expire, so that users choose weaker ones",
    ..BASE
};

pub(super) const AT_SIGN_IN: Question = Question {
    check: "password_at_sign_in",
    passes: |here| here.flag(&PASSWORD_AT_SIGN_IN),
    gap: "Old passwords that do not meet the policy still work",
    remedy: "Enforce the password policy at next sign-in under Security > Authentication > Password management.",
    ..BASE
};
