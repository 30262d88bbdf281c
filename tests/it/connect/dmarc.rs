//! EML-03: what DMARC records come to.

use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, Partial};
use posture::connect::reading::StreamState;

use super::zone::{DOMAIN, Zone, check, find, group, stream};

fn own(record: &str) -> String {
    format!("{DOMAIN} MX 0 .\n_dmarc.{DOMAIN} TXT {record}")
}

#[test]
fn a_policy_that_applies_to_all_mail_is_compliant() {
    for (record, status, words) in [
        ("v=DMARC1; p=reject", Compliant, "the policy of reject applies to all mail"),
        ("v=DMARC1;p=quarantine;rua=mailto:a@example.com", Compliant, "the policy of quarantine"),
        (" v = DMARC1 ; p = Reject ; pct=100 ; ", Compliant, "reject"),
        ("v=DMARC1; p=quarantine; sp=reject", Compliant, "quarantine"),
        ("v=DMARC1; p=reject; sp=reject; np=reject", Compliant, "reject"),
        ("v=DMARC1; p=reject; sp=quarantine", Partial, "for subdomains it is only quarantine (sp)"),
        ("v=DMARC1; p=reject; sp=none", Partial, "for subdomains it is only none (sp)"),
        ("v=DMARC1; p=quarantine; np=none", Partial, "that do not exist it is only none (np)"),
        ("v=DMARC1; p=reject; pct=99", Partial, "99 percent"),
        ("v=DMARC1; p=reject; pct=0", Partial, "0 percent"),
        ("v=DMARC1; p=reject; pct=all", Partial, "pct is no number"),
        ("v=DMARC1; p=reject; pct=101", Partial, "pct is no number"),
        ("v=DMARC1; p=reject; t=y", Partial, "a test (t=y)"),
        ("v=DMARC1; p=quarantine; pct=0", NonCompliant, "applies to no mail"),
        ("v=DMARC1; p=none", NonCompliant, "with a policy of none"),
        ("v=DMARC1; p=none; sp=reject", NonCompliant, "with a policy of none"),
    ] {
        check(&own(record), "dmarc", status, words);
    }
}

/// RFC 7489, 6.3: errors in the rest of the record are ignored, and the policy is applied.
#[test]
fn a_part_behind_the_policy_that_is_no_tag_is_named_and_ignored() {
    for (record, status, ignored) in [
        (
            "v=DMARC1; p=reject; rua=mailto:a@example.com; mailto:b@example.com; fo=1",
            Compliant,
            "\"mailto:b@example.com\"",
        ),
        ("v=DMARC1; p=reject; rua=mailto:a@example.com; pct", Compliant, "\"pct\""),
        ("v=DMARC1; p=reject; =x; y z=1", Compliant, "\"=x\" and \"y z=1\""),
        ("v=DMARC1; p=none; rua", NonCompliant, "\"rua\""),
        ("v=DMARC1; p=quarantine; rua; pct=50", Partial, "\"rua\""),
    ] {
        let words = format!("Receivers ignore {ignored} in it, which is no tag");
        check(&own(record), "dmarc", status, &words);
    }
}

#[test]
fn a_record_that_receivers_ignore_is_no_policy() {
    for (record, words) in [
        ("v=DMARC1", "it has no p"),
        ("v=DMARC1; sp=reject", "it has no p"),
        ("v=DMARC1; p=drop", "p must be none, quarantine or reject"),
        ("v=DMARC1; p=reject; sp=drop", "sp must be none, quarantine or reject"),
        ("v=DMARC1; p=reject; p=reject", "each of them once"),
        ("v=DMARC1; rua; p=reject", "not a list of tags"),
        ("v=DMARC1; mailto:a@example.com; p=reject", "not a list of tags"),
        ("v=DMARC1 p=reject", "which receivers ignore"),
        ("v=dmarc1; p=reject", "which receivers ignore"),
        ("p=reject; v=DMARC1", "which receivers ignore"),
        ("v=DMARC2; p=reject", "which receivers ignore"),
    ] {
        check(&own(record), "dmarc", NonCompliant, words);
    }
    check(&own("x\n_dmarc.example.com TXT v=DMARC1; p=reject"), "dmarc", Compliant, "reject");
    let two = own("v=DMARC1; p=reject") + "\n_dmarc.example.com TXT v=DMARC1; p=reject; pct=100";
    check(&two, "dmarc", NonCompliant, "2 DMARC records");
    check("example.com MX 0 .", "dmarc", NonCompliant, "has no DMARC policy");
}

/// The policy of a subdomain, with these records above it.
fn above(domain: &str, lines: &str) -> (String, usize) {
    let (group, asked) = Zone::new(&format!("{domain} MX 0 .\n{lines}")).judge(domain);
    let n_asked = asked.iter().filter(|it| it.name.starts_with("_dmarc.")).count();
    let found = find(&group, "dmarc").unwrap();
    (format!("{:?}: {}", found.status, found.findings), n_asked)
}

#[test]
fn a_domain_without_a_record_has_that_of_its_organization() {
    let reject = "v=DMARC1; p=reject";
    let none_below = "v=DMARC1; p=reject; sp=none";
    for (domain, lines, status, words) in [
        (
            "mail.example.com",
            format!("_dmarc.example.com TXT {reject}"),
            "Compliant",
            "of _dmarc.example.com",
        ),
        (
            "a.b.example.com",
            format!("_dmarc.example.com TXT {reject}"),
            "Compliant",
            "of _dmarc.example.com",
        ),
        // What holds below the organization is its sp.
        (
            "mail.example.com",
            format!("_dmarc.example.com TXT {none_below}"),
            "NonCompliant",
            "policy of none",
        ),
        (
            "mail.example.com",
            "_dmarc.example.com TXT v=DMARC1; p=none; sp=reject".to_owned(),
            "Compliant",
            "the policy of reject",
        ),
        // The highest name with a record is the organization.
        (
            "a.b.example.com",
            format!("_dmarc.b.example.com TXT v=DMARC1; p=none\n_dmarc.example.com TXT {reject}"),
            "Compliant",
            "of _dmarc.example.com",
        ),
        // Its own record comes before any other.
        (
            "b.example.com",
            format!("_dmarc.b.example.com TXT v=DMARC1; p=none\n_dmarc.example.com TXT {reject}"),
            "NonCompliant",
            "policy of none",
        ),
    ] {
        let (said, _) = above(domain, &lines);
        assert!(said.starts_with(status) && said.contains(words), "{domain}: {lines}: {said}");
    }
}

#[test]
fn a_mark_or_a_top_level_domain_bounds_the_organization() {
    let reject = "v=DMARC1; p=reject";
    for (domain, lines, status, words) in [
        // `psd=n` ends the walk.
        (
            "a.b.example.com",
            format!(
                "_dmarc.b.example.com TXT v=DMARC1; p=none; psd=n\n_dmarc.example.com TXT {reject}"
            ),
            "NonCompliant",
            "of _dmarc.b.example.com",
        ),
        // Below a public suffix the organization's record holds, or that of the suffix.
        (
            "mail.example.co.uk",
            format!("_dmarc.example.co.uk TXT {reject}\n_dmarc.co.uk TXT v=DMARC1; p=none; psd=y"),
            "Compliant",
            "of _dmarc.example.co.uk",
        ),
        (
            "mail.example.co.uk",
            format!("_dmarc.co.uk TXT {reject}; psd=y"),
            "Compliant",
            "of _dmarc.co.uk",
        ),
        // Several records at one name count as none, and so does a top-level domain that is not marked.
        (
            "mail.example.com",
            format!("_dmarc.example.com TXT {reject}\n_dmarc.example.com TXT {reject}"),
            "NonCompliant",
            "has no DMARC policy",
        ),
        (
            "mail.example.com",
            format!("_dmarc.com TXT {reject}"),
            "NonCompliant",
            "has no DMARC policy",
        ),
        (
            "example.org",
            "_dmarc.example.com TXT v=DMARC1; p=reject".to_owned(),
            "NonCompliant",
            "no DMARC",
        ),
    ] {
        let (said, _) = above(domain, &lines);
        assert!(said.starts_with(status) && said.contains(words), "{domain}: {lines}: {said}");
    }
}

#[test]
fn the_walk_sends_at_most_eight_queries() {
    let deep = format!("{}example.com", "x.".repeat(40));
    let (said, n_asked) = above(&deep, "_dmarc.example.com TXT v=DMARC1; p=reject");
    assert!(said.starts_with("Compliant"), "{said}");
    assert_eq!(n_asked, 8);
    let (said, n_asked) =
        above("mail.example.com", "_dmarc.mail.example.com TXT v=DMARC1; p=reject");
    assert!(said.starts_with("Compliant"), "{said}");
    assert_eq!(n_asked, 1, "its own record is enough");
}

#[test]
fn a_query_that_fails_gives_no_verdict() {
    for name in ["_dmarc.mail.example.com", "_dmarc.example.com", "_dmarc.com"] {
        let zone = format!("mail.example.com MX 0 .\n{name} TXT !no answer in time");
        let (group, _) = Zone::new(&zone).judge("mail.example.com");
        assert_eq!(find(&group, "dmarc"), None);
        let dmarc = stream(&group, "dmarc");
        assert_eq!(dmarc.state, StreamState::Failed);
        assert_eq!(dmarc.reason, format!("the query TXT {name} failed: no answer in time"));
    }
    let group = group(&(own("v=DMARC1; p=reject") + "\n_dmarc.com TXT !no answer in time"));
    assert!(find(&group, "dmarc").is_some(), "what is not needed is not asked");
}
