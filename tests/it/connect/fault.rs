//! Name servers that fail: what could not be read is said, and judged in neither direction.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use posture::connect::dns::DnsLimits;
use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, NotApplicable};
use posture::connect::reading::{Group, Judged, StreamState};

use super::server::{Asked, MX, Reply, Server, TXT, read_at};
use super::zone::{DOMAIN, find, note, stream};

/// Short enough for a test, and long for a loopback.
const SHORT: DnsLimits =
    DnsLimits { query: Duration::from_millis(700), domain: Duration::from_secs(20) };
/// What a good server answers within.
const LONG: DnsLimits =
    DnsLimits { query: Duration::from_secs(30), domain: Duration::from_mins(1) };

/// A domain that sends and takes no mail, and says so.
fn good(asked: &Asked) -> Reply {
    match (asked.name.as_str(), asked.kind) {
        (DOMAIN, TXT) => Reply::Txt("v=spf1 -all"),
        (DOMAIN, MX) => Reply::Mx("."),
        ("_dmarc.example.com", TXT) => Reply::Txt("v=DMARC1; p=reject"),
        (DOMAIN, _) => Reply::Nothing,
        _ => Reply::Code(3),
    }
}

fn read_one(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static, limits: DnsLimits) -> Group {
    let mut reading = Server::start(script).read(&[DOMAIN], limits);
    assert_eq!(reading.groups.len(), 1);
    reading.groups.remove(0)
}

fn assert_all_three(group: &Group) {
    assert_eq!(find(group, "spf").unwrap().status, Compliant, "{group:?}");
    assert_eq!(find(group, "dkim").unwrap().status, NotApplicable, "{group:?}");
    assert_eq!(find(group, "dmarc").unwrap().status, Compliant, "{group:?}");
    assert!(group.streams.iter().all(|it| it.state == StreamState::Complete), "{group:?}");
}

/// With this reply for the policy of DMARC, everything but DMARC is read.
fn assert_dmarc_fails(reply: &Reply, why: &str, limits: DnsLimits) {
    let given = reply.clone();
    let script = move |it: &Asked| match it.name.as_str() {
        "_dmarc.example.com" => given.clone(),
        _ => good(it),
    };
    let group = read_one(script, limits);
    assert_eq!(find(&group, "dmarc"), None, "{reply:?}");
    let dmarc = stream(&group, "dmarc");
    assert_eq!(dmarc.state, StreamState::Failed, "{reply:?}");
    let start = "the query TXT _dmarc.example.com failed: ";
    assert!(dmarc.reason.starts_with(start) && dmarc.reason.contains(why), "{}", dmarc.reason);
    assert_eq!(find(&group, "spf").unwrap().status, Compliant);
    assert_eq!(find(&group, "dkim").unwrap().status, NotApplicable);
}

#[test]
fn a_good_server_is_read() {
    assert_all_three(&read_one(good, LONG));
}

#[test]
fn an_error_of_the_server_is_no_answer() {
    assert_dmarc_fails(&Reply::Code(2), "answered SERVFAIL", LONG);
    assert_dmarc_fails(&Reply::Code(5), "answered REFUSED", LONG);
    assert_dmarc_fails(&Reply::Code(1), "answered FORMERR", LONG);
    assert_dmarc_fails(&Reply::Code(4), "answered NOTIMP", LONG);
    assert_dmarc_fails(&Reply::Code(12), "answered code 12", LONG);
    assert_dmarc_fails(&Reply::Referral, "does not resolve", LONG);
}

#[test]
fn a_server_that_is_silent_or_says_nonsense_is_given_up() {
    let start = Instant::now();
    assert_dmarc_fails(&Reply::Silence, "no answer in time", SHORT);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_dmarc_fails(&Reply::Garbage, "", SHORT);
}

#[test]
fn no_name_and_no_data_are_answers() {
    for reply in [Reply::Code(3), Reply::Nothing] {
        let given = reply.clone();
        let script = move |it: &Asked| match it.name.as_str() {
            "_dmarc.example.com" | "_dmarc.com" => given.clone(),
            _ => good(it),
        };
        let group = read_one(script, LONG);
        assert_eq!(find(&group, "dmarc").unwrap().status, NonCompliant, "{reply:?}");
        assert_eq!(stream(&group, "dmarc").state, StreamState::Complete);
    }
    let group = read_one(|_| Reply::Code(3), LONG);
    assert!(group.observations.is_empty(), "{group:?}");
    assert!(group.streams.iter().all(|it| it.reason == "the domain does not exist"), "{group:?}");
}

#[test]
fn an_answer_that_is_cut_off_is_read_over_tcp() {
    let record = "v=DMARC1; p=reject; rua=mailto:a-very-long-address-for-reports@example.com";
    let server = Server::start(move |it| match (it.name.as_str(), it.is_tcp) {
        ("_dmarc.example.com", false) => Reply::Truncated,
        ("_dmarc.example.com", true) => Reply::Txt(record),
        _ => good(it),
    });
    let reading = server.read(&[DOMAIN], LONG);
    assert_all_three(&reading.groups[0]);
    assert!(find(&reading.groups[0], "dmarc").unwrap().findings.contains("a-very-long-address"));
    let asked = server.asked.lock().unwrap();
    let is_tcp: Vec<bool> =
        asked.iter().filter(|it| it.0 == "_dmarc.example.com").map(|it| it.1).collect();
    assert_eq!(is_tcp, [false, true]);
    // Cut off over TCP too, nothing is known.
    assert_dmarc_fails(&Reply::Truncated, "", LONG);
}

#[test]
fn aliases_are_followed_and_a_circle_of_them_is_a_failure() {
    let group = read_one(
        |it| match it.name.as_str() {
            "_dmarc.example.com" => Reply::Cname("one.example.net"),
            "one.example.net" => Reply::Cname("two.example.net"),
            "two.example.net" => Reply::Txt("v=DMARC1; p=quarantine"),
            _ => good(it),
        },
        LONG,
    );
    assert_all_three(&group);
    let circle = |it: &Asked| match it.name.as_str() {
        "_dmarc.example.com" => Reply::Cname("one.example.net"),
        "one.example.net" => Reply::Cname("_dmarc.example.com"),
        _ => good(it),
    };
    let group = read_one(circle, LONG);
    assert_eq!(find(&group, "dmarc"), None, "{group:?}");
    assert!(stream(&group, "dmarc").reason.contains("in a circle"), "{group:?}");
    // An alias that leads to no name is an answer: there is no policy.
    let dangling = |it: &Asked| match it.name.as_str() {
        "_dmarc.example.com" => Reply::Cname("gone.example.net"),
        _ => good(it),
    };
    assert_eq!(find(&read_one(dangling, LONG), "dmarc").unwrap().status, NonCompliant);
}

#[test]
fn a_server_that_is_not_there_yields_no_verdict() {
    // Nobody answers, and the port cannot be given away meanwhile.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let closed = {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.local_addr().unwrap()
    };
    for address in [silent.local_addr().unwrap(), closed] {
        let start = Instant::now();
        let limits = DnsLimits { query: Duration::from_secs(9), domain: Duration::from_secs(1) };
        let reading = read_at(address, &[DOMAIN, "example.net"], limits);
        assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
        assert_eq!(reading.groups.len(), 2);
        for group in &reading.groups {
            assert!(group.observations.is_empty() && group.notes.is_empty(), "{group:?}");
            assert!(group.streams.iter().all(|it| it.state == StreamState::Failed), "{group:?}");
            assert!(group.streams[0].reason.contains(&group.scope), "{group:?}");
        }
    }
}

#[test]
fn beside_a_slow_domain_nothing_is_met_and_the_order_stays() {
    let script = |it: &Asked| {
        if it.name.ends_with("slow.example.net") {
            return Reply::Silence;
        }
        let name = it.name.replace("example.org", DOMAIN);
        good(&Asked { name, kind: it.kind, is_tcp: it.is_tcp })
    };
    let domains: Vec<String> = (0..10).map(|it| format!("d{it}.slow.example.net")).collect();
    let mut domains: Vec<&str> = domains.iter().map(String::as_str).collect();
    domains.insert(5, "example.org");
    domains.insert(0, DOMAIN);
    let limits = DnsLimits { query: Duration::from_secs(9), domain: Duration::from_millis(500) };
    let reading = Server::start(script).read(&domains, limits);
    let scopes: Vec<&str> = reading.groups.iter().map(|it| it.scope.as_str()).collect();
    assert_eq!(scopes, domains);
    for group in &reading.groups {
        let is_slow = group.scope.contains("slow");
        let is_met = |it: &Judged| it.status != NotApplicable;
        assert!(!group.observations.iter().any(is_met), "{group:?}");
        assert_eq!(group.streams.iter().all(|it| it.state == StreamState::Complete), !is_slow);
        assert!(!group.is_whole, "what was known of it stands: {group:?}");
    }
}

#[test]
fn a_record_that_was_repaired_is_seen_by_the_next_read() {
    use std::sync::atomic::{AtomicBool, Ordering};
    static REPAIRED: AtomicBool = AtomicBool::new(false);
    let server = Server::start(|it| match it.name.as_str() {
        "_dmarc.example.com" if !REPAIRED.load(Ordering::SeqCst) => Reply::Txt("v=DMARC1; p=none"),
        _ => good(it),
    });
    let runtime = crate::egress::runtime();
    let domains = [posture::connect::dns::Domain::parse(DOMAIN).unwrap()];
    let resolver = posture::connect::dns::DnsResolver::at(server.address).unwrap();
    let read = || runtime.block_on(posture::connect::dns::read(&domains, &resolver));
    assert_eq!(find(&read().groups[0], "dmarc").unwrap().status, NonCompliant);
    REPAIRED.store(true, Ordering::SeqCst);
    let again = read();
    assert_eq!(find(&again.groups[0], "dmarc").unwrap().status, Compliant);
    assert_eq!(note(&again.groups[0], "mx"), Some("none: the domain takes no mail (null MX)"));
}

#[test]
fn a_record_that_asks_for_too_much_has_an_end() {
    // Every include has ten more, without an end.
    let group = read_one(
        |it| {
            if it.name == DOMAIN && it.kind == TXT || it.name.ends_with(".example.net") {
                return Reply::Txt(
                    "v=spf1 include:a.example.net include:b.a.example.net a:c.example.net a:d.example.net \
                     mx:e.example.net exists:f.example.net include:%{i}.example.net -all",
                );
            }
            good(it)
        },
        LONG,
    );
    assert_eq!(find(&group, "spf").unwrap().status, NonCompliant, "{group:?}");
}
