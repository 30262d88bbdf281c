//! All rules together on one domain.

use posture::connect::dns::{Answers, Domain, RecordKind, Step, judge};
use posture::connect::reading::StreamState;

use super::zone::{DOMAIN, Zone, find, group, note, stream};

const STREAMS: [&str; 8] = ["mx", "spf", "dkim", "dmarc", "mta_sts", "tls_rpt", "caa", "dnssec"];

#[test]
fn a_domain_that_does_not_exist_has_no_verdict() {
    let (group, asked) = Zone::new("example.org A 192.0.2.1").judge("nowhere.example.net");
    assert_eq!(asked.len(), 2, "nothing else is asked: {asked:?}");
    assert!(group.observations.is_empty() && group.notes.is_empty(), "{group:?}");
    assert_eq!(group.scope, "nowhere.example.net");
    let names: Vec<&str> = group.streams.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, STREAMS);
    for stream in &group.streams {
        assert_eq!(stream.state, StreamState::Failed);
        assert_eq!(stream.reason, "the domain does not exist");
    }
}

#[test]
fn a_name_that_exists_for_one_kind_exists() {
    use posture::connect::dns::{Answer, Query};
    let domain = Domain::parse(DOMAIN).unwrap();
    let mut answers = Answers::new();
    answers.insert(Query::new(RecordKind::Txt, DOMAIN), Answer::NoName);
    answers.insert(Query::new(RecordKind::Mx, DOMAIN), Answer::NoData);
    assert!(matches!(judge(&domain, &answers), Step::Ask(_)), "it is read on");
    answers.insert(Query::new(RecordKind::Mx, DOMAIN), Answer::Failed("late".to_owned()));
    let Step::Done(group) = judge(&domain, &answers) else { panic!("nothing is left to ask") };
    assert!(group.observations.is_empty(), "{group:?}");
}

#[test]
fn a_domain_of_which_nothing_can_be_read_has_no_verdict() {
    let zone = "example.com TXT !late\nexample.com MX !late\n_dmarc.example.com TXT !late";
    let group = group(zone);
    assert!(group.observations.is_empty(), "{group:?}");
    for name in ["mx", "spf", "dkim", "dmarc"] {
        assert_eq!(stream(&group, name).state, StreamState::Failed, "{name}");
        assert!(stream(&group, name).reason.contains("example.com failed: late"), "{name}");
    }
    assert_eq!(stream(&group, "caa").state, StreamState::Complete);
}

#[test]
fn the_suite_is_told_by_the_mx_records() {
    for (server, suite) in [
        ("example-com.mail.protection.outlook.com.", Some("Microsoft 365")),
        ("example-com.o-v1.mx.microsoft.", Some("Microsoft 365")),
        ("smtp.google.com.", Some("Google Workspace")),
        ("ALT2.ASPMX.L.GOOGLE.COM.", Some("Google Workspace")),
        ("mail.protonmail.ch.", Some("Proton Mail")),
        ("eu-smtp-inbound-1.mimecast.com.", Some("Mimecast (gateway)")),
        ("mail.protection.outlook.com.example.net.", None),
        ("notsmtp.google.com.", None),
        ("mx.example.com.", None),
    ] {
        let group = group(&format!("example.com MX 10 {server}"));
        assert_eq!(note(&group, "suite"), suite, "{server}");
        let host = server.trim_end_matches('.').to_lowercase();
        assert_eq!(note(&group, "mx"), Some(&*host));
        assert_eq!(stream(&group, "mx").n_rows, 1);
    }
    assert_eq!(note(&group("example.com MX 0 ."), "suite"), None);
    assert!(note(&group("example.com MX 0 ."), "mx").unwrap().contains("takes no mail"));
    assert_eq!(note(&group("example.com A 192.0.2.1"), "mx"), Some("none"));
}

#[test]
fn other_records_are_notes_and_decide_nothing() {
    let bare = group("example.com A 192.0.2.1");
    assert_eq!(note(&bare, "mta_sts"), Some("not published"));
    assert_eq!(note(&bare, "tls_rpt"), Some("not published"));
    assert!(note(&bare, "caa").unwrap().starts_with("none"));
    assert_eq!(note(&bare, "dnssec"), Some("not signed at this name"));

    let full = "example.com A 192.0.2.1\n_mta-sts.example.com TXT v=STSv1; id=20260101;\n\
                _smtp._tls.example.com TXT v=TLSRPTv1; rua=mailto:tls@example.com\n\
                example.com CAA 0 issue \"letsencrypt.org\"\nexample.com DS 1 13 2 AB\n\
                example.com DNSKEY 257 3 13 AB";
    let full_group = group(full);
    assert!(note(&full_group, "mta_sts").unwrap().contains("20260101"));
    assert!(note(&full_group, "tls_rpt").unwrap().contains("mailto:tls@example.com"));
    assert_eq!(note(&full_group, "caa"), Some("example.com: 0 issue \"letsencrypt.org\""));
    assert_eq!(note(&full_group, "dnssec"), Some("signed"));
    let unlinked = group(&full.replace("example.com DS 1 13 2 AB\n", ""));
    assert!(note(&unlinked, "dnssec").unwrap().contains("no DS record"));
    let keyless = group(&full.replace("\nexample.com DNSKEY 257 3 13 AB", ""));
    assert!(note(&keyless, "dnssec").unwrap().starts_with("broken"));
    let twice = group(&format!("{full}\n_mta-sts.example.com TXT v=STSv1; id=1;"));
    assert!(note(&twice, "mta_sts").unwrap().contains("more than once"));

    let (below, _) = Zone::new(&format!("a.b.example.com MX 0 .\n{full}")).judge("a.b.example.com");
    assert!(note(&below, "caa").unwrap().starts_with("example.com: "), "that of the name above");

    let failed = group("example.com A 192.0.2.1\nexample.com CAA !late\nexample.com DS !late");
    assert_eq!((note(&failed, "caa"), note(&failed, "dnssec")), (None, None));
    assert_eq!(stream(&failed, "caa").state, StreamState::Failed);
    let controls: Vec<&str> = full_group.observations.iter().map(|it| it.control).collect();
    assert_eq!(controls, ["EML-01", "EML-03"]);
}

#[test]
fn what_a_record_holds_is_shown_cut_and_made_visible() {
    let long = format!("v=spf1 {} \u{202e}-all", "ip4:192.0.2.1 ".repeat(200));
    let group =
        group(&format!("example.com TXT {long}\n_dmarc.example.com TXT v=DMARC1; p=\u{1b}[31m"));
    for check in ["spf", "dmarc"] {
        let findings = &find(&group, check).unwrap().findings;
        assert!(findings.chars().count() <= 1_000, "{findings}");
        assert!(!findings.contains(['\u{202e}', '\u{1b}']), "{findings}");
    }
    assert!(find(&group, "spf").unwrap().findings.contains("(cut)"));
    assert!(find(&group, "dmarc").unwrap().findings.contains("\\u{1b}"));
}
