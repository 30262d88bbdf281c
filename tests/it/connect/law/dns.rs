//! Domains: a name server that fails a query at a time, of one of two domains or of one alone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posture::clock::Clock;
use posture::connect::dns::{DnsLimits, Query};
use posture::connect::reading::Group;

use super::{Law, World, each};
use crate::connect::server::{Asked, MX, Reply, Server, TXT};
use crate::connect::zone::{DOMAIN, Zone, rsa_key};
use crate::harness::long::is_long;

const LIMITS: DnsLimits =
    DnsLimits { query: Duration::from_secs(30), domain: Duration::from_mins(1) };
const BAD: &str = "bad.example";

/// What a domain is answered with: TXT of the apex, MX, the DMARC policy, and a key under `s1`.
type Records = [&'static str; 4];

fn strong() -> Records {
    ["v=spf1 -all", "10 mail.example.", "v=DMARC1; p=reject", key(2_048)]
}

fn weak() -> Records {
    ["v=spf1 +all", "10 mail.example.", "v=DMARC1; p=none", key(512)]
}

fn key(n_bits: usize) -> &'static str {
    Box::leak(rsa_key(n_bits).into_boxed_str())
}

fn answer(asked: &Asked, domain: &str, records: Records) -> Option<Reply> {
    let [spf, mx, dmarc, key] = records;
    let below = asked.name.strip_suffix(domain)?;
    Some(match (below, asked.kind) {
        ("", TXT) => Reply::Txt(spf),
        ("", MX) => Reply::Mx(mx),
        ("", _) => Reply::Nothing,
        ("_dmarc.", TXT) => Reply::Txt(dmarc),
        ("s1._domainkey.", TXT) => Reply::Txt(key),
        _ => Reply::Code(3),
    })
}

/// The names and kinds of which the server says nothing.
type Unread = Arc<Mutex<Option<(String, u16)>>>;

#[test]
fn a_domain_less_shows_no_more() {
    let mut law = Law::of("DNS, two domains");
    for (name, first, second) in [
        ("both are weak", weak(), weak()),
        ("one is weak", strong(), weak()),
        ("in good order", strong(), strong()),
    ] {
        let unread: Unread = Arc::default();
        let known = Arc::clone(&unread);
        let seen: Arc<Mutex<BTreeSet<(String, u16)>>> = Arc::default();
        let asked_of = Arc::clone(&seen);
        let server = Server::start(move |asked| {
            let query = (asked.name.clone(), asked.kind);
            if known.lock().unwrap().as_ref() == Some(&query) {
                return Reply::Code(2);
            }
            asked_of.lock().unwrap().insert(query);
            let found = answer(asked, DOMAIN, first).or_else(|| answer(asked, BAD, second));
            found.unwrap_or(Reply::Code(3))
        });
        let read = || server.read(&[DOMAIN, BAD], LIMITS).groups;
        law.add(World::new(name, read(), Clock::System.now()));
        let asked = seen.lock().unwrap().clone();
        let is_guess = |it: &str| it.contains("._domainkey.") && !it.starts_with("s1.");
        for query in asked.iter().filter(|it| is_long() || !is_guess(&it.0)) {
            *unread.lock().unwrap() = Some(query.clone());
            law.hold(&format!("{} {}", query.1, query.0), &read());
        }
    }
    law.end(["EML-01", "EML-02", "EML-03"]);
}

const SUITE: &str = "example.com MX 0 example-com.mail.protection.outlook.com.";
const OTHER: &str = "example.com MX 10 mx.example.net.";

fn zones() -> Vec<(&'static str, String)> {
    let [good, weak, short] = [2_048, 1_024, 512].map(rsa_key);
    let key = |selector: &str, key: &str| format!("{selector}._domainkey.example.com TXT {key}\n");
    let apex = |spf: &str, dmarc: &str| {
        format!(
            "example.com TXT {spf}\n_dmarc.example.com TXT {dmarc}\nspf.example.net TXT v=spf1 +all\n"
        )
    };
    let strict = apex("v=spf1 -all", "v=DMARC1; p=reject; rua=mailto:a@example.com");
    vec![
        (
            "all is weak",
            format!(
                "{OTHER}\n{}{}",
                apex("v=spf1 include:spf.example.net ?all", "v=DMARC1; p=none"),
                key("mail", &short)
            ),
        ),
        (
            "a good and a short key",
            format!("{OTHER}\n{strict}{}{}", key("s1", &good), key("k3", &short)),
        ),
        (
            "a key in test mode and a short one",
            format!("{OTHER}\n{strict}{}{}", key("s1", &format!("{good}; t=y")), key("k3", &short)),
        ),
        (
            "a suite that signs, and a short key",
            format!("{SUITE}\n{strict}{}{}", key("selector1", &good), key("k3", &short)),
        ),
        (
            "a suite that does not sign, and others",
            format!("{SUITE}\n{strict}{}{}", key("k1", &good), key("k3", &short)),
        ),
        ("a weak key", format!("{OTHER}\n{strict}{}", key("s1", &weak))),
        ("in good order", format!("{OTHER}\n{strict}{}", key("s1", &good))),
    ]
}

/// Two queries of it fail.
fn without(lines: &str, queries: [&Query; 2]) -> Vec<Group> {
    let [first, second] = queries.map(|it| {
        format!("{it}").split_once(' ').map(|(kind, name)| format!("{name} {kind} !late")).unwrap()
    });
    vec![Zone::new(&format!("{lines}\n{first}\n{second}")).judge(DOMAIN).0]
}

#[test]
fn no_two_queries_less_show_more() {
    let mut law = Law::of("DNS, every query");
    for (name, lines) in zones() {
        let (group, asked) = Zone::new(&lines).judge(DOMAIN);
        law.add(World::new(name, vec![group], Clock::System.now()));
        let asked: Vec<Query> = asked.into_iter().collect();
        let pairs: Vec<[&Query; 2]> = asked
            .iter()
            .enumerate()
            .flat_map(|(nth, first)| {
                let others = if is_long() { &asked[nth..] } else { &asked[nth..=nth] };
                others.iter().map(move |second| [first, second])
            })
            .collect();
        let found = each(&pairs, |pair| without(&lines, *pair));
        for ([first, second], groups) in pairs.iter().zip(found) {
            law.hold(&format!("without {first} and {second}"), &groups);
        }
    }
    law.end(["EML-01", "EML-02", "EML-03"]);
}
