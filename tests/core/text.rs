//! Foreign text as it is shown.

use std::borrow::Cow;

use posture_core::text::{NEAR_CHARS_MAX, did_you_mean, looks, name_key, visible};
use proptest::prelude::*;

#[test]
fn printable_text_of_any_script_stays_as_it_is() {
    for text in ["", "a \"b\" 'c' \\d\\n", "grüße, 世界 🔒", "e\u{301}", "नमस्ते", "שלום", "مرحبا"]
    {
        assert!(matches!(visible(text), Cow::Borrowed(it) if it == text), "{text}");
    }
}

#[test]
fn invisible_characters_are_escaped() {
    for (text, expected) in [
        ("a\r\nb\tc\0", r"a\r\nb\tc\0"),
        ("\u{1b}[2J\u{7f}\u{9b}31m", r"\u{1b}[2J\u{7f}\u{9b}31m"),
        ("safe\u{202e}gpj.exe", r"safe\u{202e}gpj.exe"),
        (
            "\u{200e}\u{2066}\u{200b}\u{2060}\u{feff}\u{ad}",
            r"\u{200e}\u{2066}\u{200b}\u{2060}\u{feff}\u{ad}",
        ),
        ("a\u{2028}b\u{2029}", r"a\u{2028}b\u{2029}"),
        ("a\u{a0}b\u{3000}c", r"a\u{a0}b\u{3000}c"),
        ("\u{e000}\u{e0041}\u{fffff}\u{378}", r"\u{e000}\u{e0041}\u{fffff}\u{378}"),
    ] {
        assert_eq!(visible(text), expected);
    }
}

fn is_alike(name: &str, other: &str) -> bool {
    let of_other = looks(other);
    looks(name).iter().any(|it| of_other.contains(it))
}

#[test]
fn names_that_look_the_same_are_alike() {
    for (name, same) in [
        ("Acme Ltd", "  ACME   ltd "),
        ("Acme Ltd", "\u{410}\u{441}m\u{435} Ltd"), // Cyrillic letters.
        ("admin", "adm\u{131}n"),
        ("admin", "ad\u{200b}m\u{ad}in\u{202e}"),
        ("ada@example.com", "ada@ex\u{ff41}mple.com"),
        ("Société", "Socie\u{301}te\u{301}"),
        ("Acme Ltd", "Acme\u{a0}Ltd"),
        ("Bank Ltd", "\u{412}ank Ltd"), // A capital that looks like another letter than its small one.
        ("HMT", "\u{41d}\u{41c}\u{422}"),
        ("\u{412}ера", "\u{432}ера"),
        ("ΑΣ", "ας"),
        ("Nikon", "\u{39d}ikon"),
        ("ada@example.com", "ada@example\u{3002}com"),
        ("ada@example.com", "ada@example\u{ff61}com"),
        ("vic@example.com", "v\u{130}c@example.com"),
    ] {
        assert!(is_alike(name, same), "{same:?}");
    }
    for (name, other) in [
        ("Société", "Societe"),
        ("Alden", "Aiden"),
        ("Client 1", "Client l"),
        ("Acme Ltd", "AcmeLtd"),
        ("株式会社", "有限会社"),
        ("Αθήνα", "Πάτρα"),
    ] {
        assert!(!is_alike(name, other), "{other:?}");
    }
}

#[test]
fn a_name_is_suggested_only_for_one_that_is_not_too_long() {
    let known = ["x".repeat(NEAR_CHARS_MAX)];
    let wrong = |n: usize| format!("y{}", "x".repeat(n - 1));
    assert!(did_you_mean(&wrong(NEAR_CHARS_MAX), &known).is_some());
    assert!(did_you_mean(&wrong(NEAR_CHARS_MAX + 1), &known).is_none());
}

proptest! {
    #[test]
    fn neither_case_nor_what_is_invisible_tells_names_apart(name in "[ -~]{0,40}", at in 0_usize..40) {
        let at = at.min(name.len());
        let other = format!("{}\u{200b}{}", &name[..at], &name[at..]).to_uppercase();
        prop_assert_eq!(name_key(&name), name_key(&other));
    }

    #[test]
    fn what_is_visible_stays_visible(text in any::<String>()) {
        let shown = visible(&text).into_owned();
        prop_assert!(shown.chars().all(|it| !it.is_control()));
        prop_assert_eq!(visible(&shown), Cow::Borrowed(&*shown));
        prop_assert!(shown.chars().all(|it| it.is_ascii() || text.contains(it)));
    }
}
