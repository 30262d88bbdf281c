//! Origins: all spellings of one are equal, and no others are.

use posture_core::origin::{Origin, OriginScheme};
use proptest::prelude::*;

fn parse(text: &str) -> Origin {
    Origin::parse(text).unwrap_or_else(|| panic!("{text}"))
}

/// A scheme, a host as browsers write it, and a port.
fn parts() -> impl Strategy<Value = (&'static str, String, u16)> {
    let host = prop_oneof![
        "[a-z][a-z0-9-]{0,8}(\\.[a-z][a-z0-9]{1,5}){0,3}",
        any::<std::net::Ipv4Addr>().prop_map(|it| it.to_string()),
        any::<std::net::Ipv6Addr>().prop_map(|it| format!("[{it}]")),
    ];
    (
        prop_oneof![Just("http"), Just("https")],
        host,
        prop_oneof![Just(80), Just(443), 1..=65_535u16],
    )
}

fn default_port(scheme: &str) -> u16 {
    if scheme == "https" { 443 } else { 80 }
}

/// As browsers write it.
fn canonical((scheme, host, port): &(&str, String, u16)) -> String {
    let port = if *port == default_port(scheme) { String::new() } else { format!(":{port}") };
    format!("{scheme}://{host}{port}")
}

/// Letters in upper case, as the bits say.
fn shouted(text: &str, bits: u64) -> String {
    let of = |(at, it): (usize, char)| {
        if bits >> (at % 64) & 1 == 1 { it.to_ascii_uppercase() } else { it }
    };
    text.chars().enumerate().map(of).collect()
}

proptest! {
    #[test]
    fn every_spelling_of_an_origin_is_that_origin(
        parts in parts(), bits in any::<u64>(), is_dotted in any::<bool>(), is_written in any::<bool>(),
        end in prop_oneof![Just(""), Just("/")],
    ) {
        let (scheme, host, port) = &parts;
        let is_name = host.ends_with(|it: char| it.is_ascii_alphabetic());
        let dot = if is_dotted && is_name { "." } else { "" };
        let is_default = *port == default_port(scheme);
        let written = match (is_default, is_written) {
            (true, false) => String::new(),
            (true, true) | (false, _) => format!(":{port}"),
        };
        let authority = format!("{}{dot}{written}", shouted(host, bits));
        let spelling = format!("{}://{authority}{end}", shouted(scheme, bits >> 7));
        let origin = parse(&canonical(&parts));
        prop_assert_eq!(&parse(&spelling), &origin, "{}", spelling);
        prop_assert_eq!(origin.to_string(), canonical(&parts));
        let scheme = if *scheme == "https" { OriginScheme::Https } else { OriginScheme::Http };
        prop_assert_eq!(Origin::at(scheme, &authority), Some(origin));
    }

    #[test]
    fn two_origins_are_two_however_they_are_written(one in parts(), other in parts()) {
        let same = canonical(&one) == canonical(&other);
        prop_assert_eq!(parse(&canonical(&one)) == parse(&canonical(&other)), same);
    }

    #[test]
    fn no_text_is_read_as_what_it_does_not_say(text in "\\PC{0,40}") {
        if let Some(origin) = Origin::parse(&text) {
            prop_assert_eq!(parse(&origin.to_string()), origin);
        }
    }
}

#[test]
fn what_is_more_or_less_than_an_origin_is_none() {
    for text in [
        "",
        "null",
        "p.example",
        "https://",
        "https:///",
        "https:p.example",
        "ftp://p.example",
        "https://p.example/x",
        "https://p.example//",
        "https://p.example?x",
        "https://p.example#x",
        "https://me@p.example",
        "https://p.example:0",
        "https://p.example:65536",
        "https://p.example:+1",
        "https://p.example:443:443",
        "https://p..example",
        "https://.p.example",
        "https://p.example..",
        "https://.",
        "https://p%2Eexample",
        "https://p.example ",
        "https://p.example,inner",
        "https://pösture.example",
        "https://::1",
        "https://[::1",
        "https://[::1]x",
        "https://[::1%25lo]",
        "https://[p.example]",
        "https://127.1",
        "https://0x7f.1",
        "https://a.0x1f",
        "https://256.0.0.1",
        "https://01.2.3.4",
    ] {
        assert_eq!(Origin::parse(text), None, "{text}");
    }
    for text in ["http://localhost:1", "https://LOCALHOST.", "http://127.9.9.9", "http://[::1]:8"] {
        assert!(parse(text).is_loopback(), "{text}");
    }
    for text in ["http://localhost.example", "http://128.0.0.1", "http://[::2]"] {
        assert!(!parse(text).is_loopback(), "{text}");
    }
}
