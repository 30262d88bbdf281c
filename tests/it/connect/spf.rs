//! EML-01: what SPF records come to.

use std::fmt::Write as _;

use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, Partial};
use posture::connect::reading::StreamState;

use super::zone::{DOMAIN, Zone, chain, check, find, group, stream};

/// The record of the domain, with `example.net` and what it includes beside it.
fn with(record: &str) -> String {
    format!(
        "{DOMAIN} TXT {record}\n{DOMAIN} TXT other=1\n{DOMAIN} A 192.0.2.1\n{DOMAIN} MX 10 mx.example.com.\n\
         spf.example.net TXT v=spf1 ip4:192.0.2.0/24 -all\n\
         soft.example.net TXT v=spf1 ip4:192.0.2.0/24 ~all\n\
         open.example.net TXT v=spf1 +all\n\
         empty.example.net TXT nothing\n\
         two.example.net TXT v=spf1 -all\ntwo.example.net TXT v=spf1 ~all\n\
         bad.example.net TXT v=spf1 ipv4:192.0.2.1 -all\n\
         self.example.net TXT v=spf1 include:self.example.net -all\n\
         ping.example.net TXT v=spf1 include:pong.example.net -all\n\
         pong.example.net TXT v=spf1 redirect=ping.example.net\n\
         macro.example.net TXT v=spf1 redirect=%{{d}}.example.org"
    )
}

#[test]
fn what_the_record_ends_in_decides() {
    for (record, status, words) in [
        ("v=spf1 -all", Compliant, "ends in -all"),
        ("V=SPF1 -ALL", Compliant, "0 of at most 10"),
        ("v=spf1  ip4:192.0.2.1  -all ", Compliant, "-all"),
        ("v=spf1 include:spf.example.net -all", Compliant, "1 of at most 10"),
        ("v=spf1 a mx ptr exists:spf.example.net -all", Compliant, "4 of at most 10"),
        ("v=spf1 a/24//64 mx:example.com/32 ip6:2001:db8::/32 -all", Compliant, "2 of"),
        ("v=spf1 include:%{i}.spf.example.net -all", Compliant, "a macro was not followed"),
        ("v=spf1 -all include:spf.example.net", Compliant, "0 of at most 10"),
        ("v=spf1 -all redirect=open.example.net", Compliant, "0 of at most 10"),
        ("v=spf1 redirect=spf.example.net", Compliant, "1 of at most 10"),
        ("v=spf1 exp=e.example.net x-y=1 -all", Compliant, "0 of at most 10"),
        ("v=spf1 ~all", Partial, "End it with -all"),
        ("v=spf1 ~all -all", Partial, "~all"),
        ("v=spf1 redirect=soft.example.net", Partial, "~all"),
        ("v=spf1 ?all", NonCompliant, "?all"),
        ("v=spf1 +all", NonCompliant, "+all"),
        ("v=spf1 all", NonCompliant, "+all"),
        ("v=spf1", NonCompliant, "neither all nor a redirect"),
        ("v=spf1 ip4:192.0.2.1", NonCompliant, "neither all nor a redirect"),
        ("v=spf1 redirect=open.example.net", NonCompliant, "+all"),
        ("v=spf10 -all", NonCompliant, "no SPF record"),
        ("\u{feff}v=spf1 -all", NonCompliant, "no SPF record"),
        ("spf2.0/pra -all", NonCompliant, "no SPF record"),
    ] {
        check(&with(record), "spf", status, words);
    }
    check("example.com MX 0 .", "spf", NonCompliant, "publishes no SPF record");
}

#[test]
fn a_record_that_receivers_ignore_is_worth_nothing() {
    for (record, words) in [
        ("v=spf1 ipv4:192.0.2.1 -all", "\"ipv4:192.0.2.1\""),
        ("v=spf1 ip4:192.0.2 -all", "no IPv4 address"),
        ("v=spf1 ip4:192.0.2.0/33 -all", "prefix length"),
        ("v=spf1 ip4:192.0.2.0/08 -all", "prefix length"),
        ("v=spf1 ip6:2001:db8::/129 -all", "prefix length"),
        ("v=spf1 ip6:192.0.2.1 -all", "no IPv6 address"),
        ("v=spf1 a/ -all", "prefix length"),
        ("v=spf1 include: -all", "names no domain"),
        ("v=spf1 include -all", "lacks a domain"),
        ("v=spf1 include:localhost -all", "names no domain"),
        ("v=spf1 include:a..example.net -all", "names no domain"),
        ("v=spf1 include:%x.example.net -all", "begins no macro"),
        ("v=spf1 exists:%{i.example.net -all", "does not end"),
        ("v=spf1 -all.", "no mechanism"),
        ("v=spf1 -all:example.net", "all alone"),
        ("v=spf1 redirect=soft.example.net redirect=spf.example.net", "second redirect"),
        ("v=spf1, -all", "no SPF record"),
        ("v=spf1 a:b\u{fc}ro.example -all", "not allowed"),
        ("v=spf1 -all \u{2013}all", "not allowed"),
        ("v=spf1 include:empty.example.net -all", "a name without an SPF record"),
        ("v=spf1 include:nowhere.example.org -all", "a name that does not exist"),
        ("v=spf1 include:two.example.net -all", "several SPF records"),
        ("v=spf1 include:bad.example.net -all", "in bad.example.net, \"ipv4:192.0.2.1\""),
        ("v=spf1 redirect=empty.example.net", "the redirect to empty.example.net"),
        ("v=spf1 include:self.example.net -all", "self.example.net includes itself"),
        ("v=spf1 include:ping.example.net -all", "ping.example.net includes itself"),
        ("v=spf1 include:EXAMPLE.com -all", "example.com includes itself"),
        ("v=spf1 redirect=example.com", "example.com includes itself"),
    ] {
        check(&with(record), "spf", NonCompliant, words);
    }
    let two = "example.com TXT v=spf1 -all\nexample.com TXT v=spf1 a -all";
    check(two, "spf", NonCompliant, "2 SPF records");
}

#[test]
fn more_than_ten_look_ups_are_counted_over_all_records() {
    check(&chain(10), "spf", Compliant, "10 of at most 10");
    check(&chain(11), "spf", NonCompliant, "more than 10 look-ups");
    for (n, status) in [(10, Compliant), (11, NonCompliant)] {
        let terms: Vec<String> = (0..n).map(|it| format!("a:a{it}.example.com")).collect();
        let mut lines = format!("{DOMAIN} TXT v=spf1 {} -all\n", terms.join(" "));
        for index in 0..n {
            writeln!(lines, "a{index}.example.com AAAA 2001:db8::1").unwrap();
        }
        check(&lines, "spf", status, "10");
    }
    // Behind `all` nothing is evaluated.
    let behind = "a ".repeat(20);
    check(&with(&format!("v=spf1 -all {behind}")), "spf", Compliant, "0 of at most 10");
    // However many a record names, no more are asked than receivers would.
    let many: Vec<String> = (0..1_000).map(|it| format!("include:i{it}.example.org")).collect();
    let (_, asked) = Zone::new(&with(&format!("v=spf1 {} -all", many.join(" ")))).judge(DOMAIN);
    let n_asked = asked.iter().filter(|it| it.name.ends_with("example.org")).count();
    assert!(n_asked <= 11, "{n_asked}");
}

#[test]
fn more_than_two_look_ups_may_not_be_void() {
    let two = "v=spf1 a:x.example.org mx:y.example.org -all";
    check(&with(two), "spf", Compliant, "2 of at most 10");
    let three = "v=spf1 a:x.example.org mx:y.example.org exists:z.example.org -all";
    check(&with(three), "spf", NonCompliant, "find nothing");
    let servers: Vec<String> =
        (0..11).map(|it| format!("example.com MX 1 m{it}.example.com.")).collect();
    let many = format!("{DOMAIN} TXT v=spf1 mx -all\n{}", servers.join("\n"));
    check(&many, "spf", NonCompliant, "more than 10 servers");
    let ten = many.replace("example.com MX 1 m10.example.com.", "");
    check(&ten, "spf", Compliant, "1 of at most 10");
}

#[test]
fn a_record_by_which_anyone_may_send_is_not_saved_by_its_end() {
    for record in [
        "v=spf1 include:open.example.net -all",
        "v=spf1 ip4:0.0.0.0/0 -all",
        "v=spf1 ip4:0.0.0.0/1 ip4:128.0.0.0/1 -all",
        "v=spf1 ip6:::/0 -all",
        "v=spf1 a/0 -all",
        "v=spf1 mx//8 -all",
    ] {
        check(&with(record), "spf", NonCompliant, "lets anyone send");
    }
    check(&with("v=spf1 ?include:open.example.net -all"), "spf", Compliant, "-all");
    check(&with("v=spf1 ip4:10.0.0.0/8 -all"), "spf", Compliant, "-all");
}

#[test]
fn a_query_that_fails_gives_no_verdict_in_either_direction() {
    for record in [
        "v=spf1 include:down.example.net -all",
        "v=spf1 include:down.example.net +all",
        "v=spf1 include:down.example.net ~all",
        "v=spf1 redirect=down.example.net",
        "v=spf1 include:spf.example.net include:down.example.net -all",
    ] {
        let group =
            group(&(with(record) + "\ndown.example.net TXT !the name server answered SERVFAIL"));
        assert_eq!(find(&group, "spf"), None, "{record}");
        let spf = stream(&group, "spf");
        assert_eq!(spf.state, StreamState::Failed, "{record}");
        let why = "the query TXT down.example.net failed: the name server answered SERVFAIL";
        assert_eq!(spf.reason, why);
        assert!(find(&group, "dmarc").is_some(), "another stream is not touched");
    }
    for term in ["a:down.example.net", "a:half.example.net"] {
        let lines = with(&format!("v=spf1 {term} -all"))
            + "\ndown.example.net A !no answer in time\nhalf.example.net A 192.0.2.1"
            + "\nhalf.example.net AAAA !no answer in time";
        assert_eq!(find(&group(&lines), "spf"), None, "{term}");
    }
    let group = group(&with("v=spf1 redirect=macro.example.net"));
    assert_eq!(find(&group, "spf"), None);
    let spf = stream(&group, "spf");
    assert_eq!(spf.state, StreamState::Partial);
    assert!(spf.reason.contains("macro"), "{}", spf.reason);
}
