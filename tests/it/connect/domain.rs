//! Names of domains, as people enter them.

use posture::connect::dns::{DOMAIN_CHARS_MAX, Domain};

#[test]
fn a_domain_is_ascii_in_lower_case_without_the_last_dot() {
    for (text, expected) in [
        ("example.com", "example.com"),
        (" Example.COM. ", "example.com"),
        ("müller.de", "xn--mller-kva.de"),
        ("MÜLLER.de", "xn--mller-kva.de"),
        ("straße.example", "xn--strae-oqa.example"),
        ("例え.jp", "xn--r8jz45g.jp"),
        ("xn--mller-kva.de", "xn--mller-kva.de"),
        ("a.b.c.d.co.uk", "a.b.c.d.co.uk"),
        ("r3---sn.example.com", "r3---sn.example.com"),
    ] {
        assert_eq!(Domain::parse(text).unwrap().as_str(), expected, "{text}");
    }
}

#[test]
fn what_is_no_domain_is_refused_and_the_error_names_the_rule() {
    let long = format!("{}.com", "a".repeat(64));
    for (text, words) in [
        ("", "must not be empty"),
        (" . ", "each part"),
        ("localhost", "at least two parts"),
        ("com.", "at least two parts"),
        ("192.0.2.1", "an IP address"),
        ("2001:db8::1", "enter the domain alone"),
        ("*.example.com", "a wildcard"),
        ("https://example.com/", "enter the domain alone"),
        ("info@example.com", "enter the domain alone"),
        ("example..com", "each part"),
        (".example.com", "each part"),
        ("example.com..", "each part"),
        ("-example.com", "hyphen"),
        ("exa_mple.com", "letters, digits, hyphens"),
        ("exam\u{202e}ple.com", "letters, digits, hyphens"),
        ("exa\nmple.com", "letters, digits, hyphens"),
        ("xn--\u{fc}.de", "letters, digits, hyphens"),
        ("example.123", "not a number"),
        (&long, "each part"),
    ] {
        let error = Domain::parse(text).map(|it| it.to_string()).expect_err(text);
        assert!(error.message().contains(words), "{text:?}: {}", error.message());
        assert!(error.message().chars().all(|it| !it.is_control() && it != '\u{202e}'), "{text:?}");
    }
}

#[test]
fn the_longest_domain_is_accepted_and_a_longer_one_is_not() {
    let labels = [63, 63, 63, 61].map(|it| "a".repeat(it));
    let longest = labels.join(".");
    assert_eq!(longest.len(), DOMAIN_CHARS_MAX);
    assert_eq!(Domain::parse(&longest).unwrap().as_str(), longest);
    assert_eq!(Domain::parse(&format!("{longest}.")).unwrap().as_str(), longest);
    let error = Domain::parse(&format!("{longest}a")).expect_err("too long");
    assert!(error.message().contains("at most 253"), "{}", error.message());
    // 84 letters of three bytes each, which become a longer label.
    assert!(Domain::parse(&format!("{}.de", "例え".repeat(42))).is_err());
}
