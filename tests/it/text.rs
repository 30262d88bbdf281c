//! Foreign text as it is shown.

use std::borrow::Cow;

use posture::text::visible;
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

proptest! {
    #[test]
    fn what_is_visible_stays_visible(text in any::<String>()) {
        let shown = visible(&text).into_owned();
        prop_assert!(shown.chars().all(|it| !it.is_control()));
        prop_assert_eq!(visible(&shown), Cow::Borrowed(&*shown));
        prop_assert!(shown.chars().all(|it| it.is_ascii() || text.contains(it)));
    }
}
