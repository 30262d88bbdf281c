//! EML-02: what DKIM keys come to.

use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, NotApplicable, Partial};
use posture::connect::reading::StreamState;

use super::zone::{DOMAIN, Zone, check, find, group, note, rsa_key, stream};

const MICROSOFT: &str = "example.com MX 0 example-com.mail.protection.outlook.com.";
const GOOGLE: &str = "example.com MX 1 ASPMX.L.GOOGLE.COM.\nexample.com MX 5 alt1.aspmx.l.google.com.\n\
                      example.com MX 10 aspmx2.googlemail.com.";
const OTHER: &str = "example.com MX 10 mx.example.net.";

fn keys(mx: &str, keys: &[(&str, &str)]) -> String {
    let lines = keys.iter().map(|(name, key)| format!("\n{name}._domainkey.{DOMAIN} TXT {key}"));
    lines.fold(mx.to_owned(), |all, line| all + &line)
}

/// The same key under all selectors that are asked for.
fn selectors(lines: &str, key: &str) -> String {
    let asked = Zone::new(OTHER).judge(DOMAIN).1;
    let names = asked.into_iter().map(|it| it.name).filter(|it| it.contains("._domainkey."));
    names.fold(lines.to_owned(), |all, name| format!("{all}\n{name} TXT {key}"))
}

/// A domain may have delegated a name to a service that is gone.
#[test]
fn beside_a_guess_that_cannot_be_read_nothing_is_fully_met() {
    let [good, weak, short] = [2_048, 1_024, 512].map(rsa_key);
    for (lines, status) in [
        (keys(MICROSOFT, &[("selector1", &good), ("k3", "!late")]), Some(Partial)),
        (keys(MICROSOFT, &[("k3", "!late")]), Some(NonCompliant)),
        (keys(MICROSOFT, &[("k1", &good), ("k3", "!late")]), None),
        (keys(OTHER, &[("s1", &good), ("k3", "!late")]), Some(Partial)),
        (keys(OTHER, &[("s1", &weak), ("k3", "!late")]), Some(Partial)),
        (keys(OTHER, &[("s1", &short), ("k3", "!late")]), Some(NonCompliant)),
        (keys(OTHER, &[("k3", "!late"), ("s2", "!late")]), None),
    ] {
        let group = group(&lines);
        assert_eq!(find(&group, "dkim").map(|it| it.status), status, "{lines}");
        let state = if status.is_some() { StreamState::Complete } else { StreamState::Partial };
        assert_eq!(stream(&group, "dkim").state, state, "{lines}");
        let note = note(&group, "dkim_unread").unwrap();
        assert!(note.contains(" of 38 common selectors were not read: the query TXT "), "{note}");
    }
}

#[test]
fn a_valid_key_under_a_known_selector_is_compliant() {
    let good = rsa_key(2_048);
    let bare = good.replace("v=DKIM1; k=rsa; ", "");
    let folded = good.replace("p=", "p= ").replace('A', "A ");
    let flags = format!("{good}; t=s; s=email; n=note");
    let ed25519 = "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    for key in [&good, &bare, &folded, &flags, ed25519, &rsa_key(4_096)] {
        check(&keys(OTHER, &[("k1", key)]), "dkim", Compliant, "valid DKIM keys under k1");
    }
    let one = keys(MICROSOFT, &[("selector2", &good)]);
    check(&one, "dkim", Compliant, "under selector2");
    check(&keys(GOOGLE, &[("google", &good)]), "dkim", Compliant, "under google");
    check(&keys("", &[("default", &good)]), "dkim", Compliant, "under default");
}

#[test]
fn a_short_key_is_worth_less() {
    let [good, weak, short] = [2_048, 1_024, 512].map(rsa_key);
    check(&keys(OTHER, &[("mail", &weak)]), "dkim", Partial, "at most 1024 bits (mail)");
    check(&keys(OTHER, &[("mail", &rsa_key(2_040))]), "dkim", Partial, "at most 2040 bits");
    check(&keys(OTHER, &[("mail", &weak), ("s1", &good)]), "dkim", Compliant, "valid");
    check(&keys(OTHER, &[("mail", &rsa_key(1_016))]), "dkim", NonCompliant, "1016 bits");
    check(&keys(OTHER, &[("mail", &short)]), "dkim", NonCompliant, "others can sign with it");
    check(&keys(OTHER, &[("mail", &short), ("s1", &good)]), "dkim", Partial, "others can sign");
    check(&keys(OTHER, &[("mail", &format!("{good}; t=y:s"))]), "dkim", Partial, "test mode");
    // Of a suite, its own keys count.
    let mixed = keys(MICROSOFT, &[("selector1", &weak), ("k1", &good)]);
    check(&mixed, "dkim", Partial, "1024 bits (selector1)");
}

#[test]
fn mail_of_a_suite_without_a_key_is_unsigned() {
    let good = rsa_key(2_048);
    check(
        MICROSOFT,
        "dkim",
        NonCompliant,
        "lead to Microsoft 365, which signs with selector1 and selector2",
    );
    check(GOOGLE, "dkim", NonCompliant, "another prefix than google cannot be seen");
    let newsletter = keys(MICROSOFT, &[("k1", &good)]);
    check(&newsletter, "dkim", Partial, "Only mail of other services is signed (k1)");
    let withdrawn = keys(MICROSOFT, &[("selector1", "v=DKIM1; p=")]);
    check(&withdrawn, "dkim", NonCompliant, "the key of selector1 is withdrawn");
    let broken = keys(GOOGLE, &[("google", "v=DKIM1; k=rsa; p=####")]);
    check(&broken, "dkim", NonCompliant, "its p is not Base64");
    let cut = keys(GOOGLE, &[("google", &good[..good.len() - 40])]);
    check(&cut, "dkim", NonCompliant, "its p is no RSA key");
    let test = keys(MICROSOFT, &[("selector1", &format!("{good}; t=y")), ("selector2", "p=")]);
    check(&test, "dkim", Partial, "Remove t=y");
}

#[test]
fn no_key_proves_nothing_where_the_selectors_are_not_known() {
    let spf =
        "\nexample.com TXT v=spf1 include:_spf.example.net -all\n_spf.example.net TXT v=spf1 -all";
    let gateway = "example.com MX 10 eu-smtp-inbound-1.mimecast.com.";
    let mixed = format!("{MICROSOFT}\n{OTHER}");
    // A wildcard, a withdrawn key and a key for something else are no keys.
    let wild = keys(OTHER, &[("google", "v=spf1 -all"), ("mail", "v=DKIM1; p="), ("s1", "hello")]);
    let service = keys(OTHER, &[("google", &format!("{}; s=tlsrpt", rsa_key(2_048)))]);
    for mx in [OTHER, gateway, &mixed, &wild, &service, "example.com A 192.0.2.1"] {
        let group = group(&format!("{mx}{spf}"));
        assert_eq!(find(&group, "dkim"), None, "{mx}");
        assert_eq!(stream(&group, "dkim").state, StreamState::Complete);
        assert!(note(&group, "dkim").unwrap().contains("no key under"), "{mx}");
    }
}

#[test]
fn a_domain_without_mail_has_nothing_to_sign() {
    let nothing = "example.com MX 0 .\nexample.com TXT v=spf1 -all";
    check(nothing, "dkim", NotApplicable, "takes no mail");
    check(nothing, "dmarc", NonCompliant, "has no DMARC policy");
    // Most parked domains have an address, at which nobody waits for mail.
    for parked in [
        "example.com TXT v=spf1 -all",
        "example.com A 192.0.2.1\nexample.com TXT v=spf1 -all",
        "example.com AAAA 2001:db8::1\nexample.com TXT v=spf1 -all",
    ] {
        check(parked, "dkim", NotApplicable, "names no mail server (no MX)");
    }
    let receives = "example.com MX 10 mx.example.net.\nexample.com TXT v=spf1 -all";
    let withdrawn = selectors(receives, "v=DKIM1; p=");
    check(&withdrawn, "dkim", NotApplicable, "has withdrawn the keys of all selectors");
    for sends in [
        "example.com MX 0 .\nexample.com TXT v=spf1 ip4:192.0.2.1 -all",
        "example.com MX 0 .\nexample.com TXT v=spf1 ~all",
        "example.com MX 0 .\nexample.com TXT v=spf1 -all\nexample.com TXT v=spf1 -all",
        "example.com MX 0 .\nexample.com MX 10 mx.example.net.\nexample.com TXT v=spf1 -all",
        receives,
        "example.com A 192.0.2.1\nexample.com TXT v=spf1 ~all",
        &selectors("example.com TXT v=spf1 ~all", "v=DKIM1; p="),
    ] {
        assert_eq!(find(&group(sends), "dkim"), None, "{sends}");
    }
}

#[test]
fn a_query_that_fails_gives_no_verdict() {
    let good = rsa_key(2_048);
    for (lines, query) in [
        (keys(MICROSOFT, &[("selector1", "!late")]), "TXT selector1._domainkey.example.com"),
        (selectors(OTHER, "!late"), "TXT selector1._domainkey.example.com"),
        (keys("example.com MX !late", &[("google", &good)]), "MX example.com"),
        ("example.com MX 0 .\nexample.com TXT !late".to_owned(), "TXT example.com"),
    ] {
        let group = group(&lines);
        assert_eq!(find(&group, "dkim"), None, "{lines}");
        assert_eq!(stream(&group, "dkim").state, StreamState::Failed, "{lines}");
        assert_eq!(stream(&group, "dkim").reason, format!("the query {query} failed: late"));
    }
}
