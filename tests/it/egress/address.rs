//! Which addresses are called: those that were judged, and of those the allowed ones only.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use posture::egress::{Egress, EgressPolicy, PostFailure, time_for_each};

use super::sink::Sink;
use super::{HANGS_AFTER, LONG, egress, failure, local, networks, post, refusal, runtime, status};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// The ends of every network that may not be called, but for a setting.
const PRIVATE: &[&str] = &[
    "10.0.0.0",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.0",
    "127.255.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.0",
    "192.0.0.255",
    "192.0.2.0",
    "192.0.2.255",
    "192.88.99.0",
    "192.88.99.255",
    "192.168.0.0",
    "192.168.255.255",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.0",
    "198.51.100.255",
    "203.0.113.0",
    "203.0.113.255",
    "240.0.0.0",
    "255.255.255.254",
    "::1",
    "::ffff:10.0.0.1",
    "::ffff:192.168.1.1",
    "64:ff9b::5db8:d822",
    "100::",
    "100::ffff:ffff:ffff:ffff",
    "2001:db8::",
    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff::",
    "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
    "5f00::",
    "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "4000::",
    "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fc00::",
    "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fec0::1",
];

/// The ends of every network that no setting opens.
const NEVER: &[&str] = &[
    "0.0.0.0",
    "0.255.255.255",
    "169.254.0.0",
    "169.254.169.254",
    "169.254.255.255",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "224.0.0.0",
    "239.255.255.255",
    "255.255.255.255",
    "::",
    "::2",
    "::127.0.0.1",
    "::93.184.216.34",
    "::ffff:0.0.0.0",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::",
    "64:ff9b:1::",
    "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
    "2001::",
    "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2002::",
    "2002:5db8:d822::1",
    "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fe80::",
    "fe80::1",
    "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "ff00::",
    "ff02::1",
    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
];

/// The neighbours of those.
const PUBLIC: &[&str] = &[
    "1.0.0.0",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.0.1.255",
    "192.0.3.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
    "::ffff:8.8.8.8",
    "2000::",
    "2001:200::",
    "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db9::",
    "2003::",
    "2606:4700::1111",
    "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff:1000::",
];

fn url(scheme: &str, address: &str) -> String {
    if address.contains(':') {
        format!("{scheme}://[{address}]/")
    } else {
        format!("{scheme}://{address}/")
    }
}

fn everything() -> EgressPolicy {
    let all = networks(&["0.0.0.0/0", "::/0"]);
    EgressPolicy {
        allow_http_networks: all.clone(),
        allow_private_networks: all,
        ..EgressPolicy::default()
    }
}

/// Looks every name up in one way.
fn resolving(
    policy: EgressPolicy,
    lookup: impl Fn(u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
) -> Egress {
    Egress::with_resolver(policy, LONG, 4, move |_, port| lookup(port)).unwrap()
}

/// Looks every name up as these addresses.
fn naming(policy: EgressPolicy, addresses: &[&str]) -> Egress {
    let addresses: Vec<IpAddr> = addresses.iter().map(|it| it.parse().unwrap()).collect();
    resolving(policy, move |port| Ok(addresses.iter().map(|it| (*it, port).into()).collect()))
}

#[test]
fn addresses_are_tried_by_turns_of_their_kind_and_each_gets_a_part_of_the_time() {
    let order = |found: &[&str]| {
        let egress = naming(everything(), found);
        let deadline = tokio::time::Instant::now() + LONG;
        let all = runtime().block_on(egress.addresses("x.example.com", 25, deadline)).unwrap();
        all.iter().map(|it| it.ip().to_string()).collect::<Vec<_>>()
    };
    let six = ["2001:4860::1", "2001:4860::2", "2001:4860::3"];
    let mixed = [&six[..], &["8.8.8.8", "9.9.9.9"]].concat();
    assert_eq!(order(&mixed), [six[0], "8.8.8.8", six[1], "9.9.9.9", six[2]]);
    assert_eq!(order(&["8.8.8.8", "9.9.9.9", six[0]]), ["8.8.8.8", six[0], "9.9.9.9"]);
    assert_eq!(order(&six), six);
    for (n, ms) in [(0, 5_000), (1, 5_000), (2, 3_000), (4, 1_500), (600, 10)] {
        assert_eq!(time_for_each(n, Duration::from_secs(6)).as_millis(), ms, "{n}");
    }
}

#[test]
fn only_public_addresses_are_called() {
    let egress = egress(EgressPolicy::default());
    for address in PUBLIC {
        egress.check(&url("https", address)).unwrap();
    }
    for address in PRIVATE.iter().chain(NEVER) {
        let typed = url("https", address);
        egress.check(&typed).expect_err(address);
        refusal(post(&egress, &typed));
        let named = naming(EgressPolicy::default(), &[address]);
        named.check("https://hooks.example.com/").unwrap();
        refusal(post(&named, "https://hooks.example.com/"));
    }
}

#[test]
fn a_setting_opens_private_addresses_and_no_others() {
    let egress = egress(everything());
    for address in PRIVATE {
        egress.check(&url("https", address)).unwrap_or_else(|error| panic!("{error}"));
    }
    for address in NEVER {
        egress.check(&url("https", address)).expect_err(address);
        refusal(post(&naming(everything(), &[address]), "http://hooks.example.com/"));
    }
    let near = EgressPolicy {
        allow_private_networks: networks(&["10.1.0.0/16"]),
        ..EgressPolicy::default()
    };
    let near = super::egress(near);
    for (address, is_open) in
        [("10.1.2.3", true), ("::ffff:10.1.2.3", true), ("10.2.0.0", false), ("10.0.9.9", false)]
    {
        assert_eq!(near.check(&url("https", address)).is_ok(), is_open, "{address}");
    }
}

#[test]
fn what_a_nat64_gateway_would_call_must_be_allowed_too() {
    let allowing =
        |texts| EgressPolicy { allow_private_networks: networks(texts), ..EgressPolicy::default() };
    let gateway = egress(allowing(&["64:ff9b::/96"]));
    gateway.check("https://[64:ff9b::5db8:d822]/").unwrap();
    for inside in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1"] {
        gateway.check(&url("https", &format!("64:ff9b::{inside}"))).expect_err(inside);
    }
    egress(allowing(&["64:ff9b::/96", "10.0.0.0/8"])).check("https://[64:ff9b::a00:1]/").unwrap();
}

#[test]
fn one_forbidden_address_refuses_them_all() {
    let allowed = Sink::answering("127.0.0.2:0", OK);
    let policy =
        EgressPolicy { allow_private_networks: networks(&["127.0.0.2/32"]), ..everything() };
    let url = format!("http://hooks.example.com:{}/", allowed.address.port());
    for mixed in [
        vec!["127.0.0.2", "127.0.0.1"],
        vec!["127.0.0.1", "127.0.0.2"],
        vec!["127.0.0.2", "::ffff:10.0.0.1"],
        vec!["127.0.0.2", "169.254.169.254", "127.0.0.2"],
        [vec!["127.0.0.2"; 40], vec!["127.0.0.1"]].concat(),
    ] {
        refusal(post(&naming(policy.clone(), &mixed), &url));
    }
    assert_eq!(allowed.n_accepted(), 0);
    for good in [vec!["127.0.0.2"], vec!["127.0.0.2"; 40], vec!["::ffff:127.0.0.2"]] {
        assert_eq!(status(&post(&naming(policy.clone(), &good), &url)), 200);
    }
}

#[test]
fn a_name_is_resolved_once_and_what_was_judged_is_called() {
    // Of addresses that nothing else uses: the port is free on both.
    let allowed = Sink::answering("127.77.0.2:0", OK);
    let port = allowed.address.port();
    let forbidden = Sink::answering(&format!("127.77.0.1:{port}"), OK);
    let policy =
        EgressPolicy { allow_private_networks: networks(&["127.77.0.2/32"]), ..everything() };
    let n_asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&n_asked);
    let rebinding = resolving(policy, move |port| {
        let first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        Ok(vec![SocketAddr::from(([127, 77, 0, if first { 2 } else { 1 }], port))])
    });
    let url = format!("http://hooks.example.com:{port}/");
    rebinding.check(&url).unwrap();
    assert_eq!(n_asked.load(Ordering::SeqCst), 0, "a check does not resolve");
    assert_eq!(status(&post(&rebinding, &url)), 200);
    assert_eq!(n_asked.load(Ordering::SeqCst), 1);
    let why = refusal(post(&rebinding, &url));
    assert!(why.contains("127.77.0.1"), "{why}");
    assert_eq!(n_asked.load(Ordering::SeqCst), 2, "nothing is remembered");
    assert_eq!((allowed.n_accepted(), forbidden.n_accepted()), (1, 0));
    assert_eq!(
        allowed.requests()[0].header("host"),
        Some(format!("hooks.example.com:{port}").as_str())
    );
}

#[test]
fn the_port_of_the_url_is_called_whatever_a_resolver_says() {
    let sink = Sink::answering("127.0.0.1:0", OK);
    let trap = Sink::answering("127.0.0.1:0", OK);
    let to = trap.address;
    let odd = resolving(local(), move |_| Ok(vec![to]));
    let url = format!("http://hooks.example.com:{}/", sink.address.port());
    assert_eq!(status(&post(&odd, &url)), 200);
    assert_eq!(trap.n_accepted(), 0);
}

#[test]
fn the_system_resolves_names() {
    let sink = Sink::answering("127.0.0.1:0", OK);
    let url = format!("http://LocalHost:{}/", sink.address.port());
    assert_eq!(status(&post(&egress(local()), &url)), 200);
    let elsewhere =
        EgressPolicy { allow_private_networks: networks(&["10.0.0.0/8"]), ..everything() };
    let elsewhere = egress(elsewhere);
    elsewhere.check(&url).unwrap();
    let why = refusal(post(&elsewhere, &url));
    assert!(why.contains("is a loopback address"), "{why}");
    assert_eq!(sink.n_accepted(), 1);
}

#[test]
fn a_name_without_an_address_is_unresolved() {
    let url = "https://hooks.example.com/";
    let unknown = resolving(local(), |_| Err(io::ErrorKind::NotFound.into()));
    assert_eq!(failure(post(&unknown, url)), PostFailure::Unresolved);
    assert_eq!(failure(post(&naming(local(), &[]), url)), PostFailure::Unresolved);
}

#[test]
fn look_ups_that_hang_hold_up_nothing_but_names() {
    const TIMEOUT: Duration = Duration::from_secs(3);
    const N_WAITS_TOO_LONG: u32 = 15;
    assert!(HANGS_AFTER < N_WAITS_TOO_LONG * TIMEOUT);
    let sink = Sink::answering("127.0.0.1:0", OK);
    let hanging = Egress::with_resolver(local(), TIMEOUT, 1, |_, _| {
        thread::sleep(LONG);
        Err(io::ErrorKind::TimedOut.into())
    })
    .unwrap();
    let start = Instant::now();
    assert_eq!(failure(post(&hanging, "http://hooks.example.com/")), PostFailure::Unresolved);
    assert!(TIMEOUT / 2 < start.elapsed(), "it was waited for");
    let start = Instant::now();
    for _ in 0..N_WAITS_TOO_LONG {
        assert_eq!(failure(post(&hanging, "http://else.example.com/")), PostFailure::Unresolved);
    }
    assert!(start.elapsed() < HANGS_AFTER, "its place is taken: none of these waits");
    assert_eq!(status(&post(&hanging, &sink.url())), 200);
}

#[test]
fn the_service_never_calls_itself() {
    let here = Sink::answering("127.0.0.3:0", OK);
    let port = here.address.port();
    let url = |host: &str| format!("http://{host}:{port}/");
    let not = |own: &[&str]| {
        let own = own.iter().map(|it| SocketAddr::new(it.parse().unwrap(), port)).collect();
        egress(EgressPolicy { own, ..everything() })
    };
    for (own, host, is_own) in [
        ("127.0.0.3", "127.0.0.3", true),
        ("127.0.0.3", "[::ffff:127.0.0.3]", true),
        ("::ffff:127.0.0.3", "127.0.0.3", true),
        ("127.0.0.3", "[64:ff9b::127.0.0.3]", true),
        ("0.0.0.0", "127.0.0.3", true),
        ("::", "127.0.0.3", true),
        ("0.0.0.0", "[::1]", true),
        ("::", "[::1]", true),
        ("127.0.0.3", "127.0.0.4", false),
        ("0.0.0.0", "93.184.216.34", false),
        ("::", "[2606:4700::1111]", false),
    ] {
        let egress = not(&[own]);
        assert_eq!(egress.check(&url(host)).is_err(), is_own, "{host} with {own}");
        if is_own {
            let why = refusal(post(&egress, &url(host)));
            assert!(why.contains("is this service"), "{why}");
        }
    }
    refusal(post(&not(&["127.0.0.9", "127.0.0.3"]), &url("127.0.0.3")));
    let named = EgressPolicy { own: vec![here.address], ..everything() };
    refusal(post(&naming(named, &["127.0.0.3"]), &url("hooks.example.com")));
    assert_eq!(here.n_accepted(), 0);
    let other = SocketAddr::new(here.address.ip(), port ^ 1);
    let other = egress(EgressPolicy { own: vec![other], ..everything() });
    assert_eq!(status(&post(&other, &url("127.0.0.3"))), 200, "another port is another service");
}

mod needs_route {
    use super::*;

    #[test]
    #[ignore = "needs an address besides loopback"]
    fn listening_everywhere_includes_the_address_that_others_call() {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.connect("93.184.216.34:9").unwrap();
        let outside = socket.local_addr().unwrap();
        let own = vec!["0.0.0.0:8443".parse().unwrap()];
        let egress = egress(EgressPolicy { own, ..everything() });
        let own = egress.check(&format!("https://{}:8443/", outside.ip())).unwrap_err();
        assert!(own.message().contains("is this service"), "{own}");
        egress.check(&format!("https://{}:8444/", outside.ip())).unwrap();
    }
}

#[test]
fn plain_http_goes_to_the_allowed_networks_only() {
    let sinks = ["127.0.0.2:0", "127.0.0.3:0"].map(|it| Sink::answering(it, OK));
    let policy = EgressPolicy { allow_http_networks: networks(&["127.0.0.2/32"]), ..everything() };
    let egress = egress(policy.clone());
    assert_eq!(status(&post(&egress, &sinks[0].url())), 200);
    let why = refusal(post(&egress, &sinks[1].url()));
    assert!(why.contains("webhooks.allow_http_networks"), "{why}");
    for (sink, expected) in sinks.iter().zip([None, Some(why)]) {
        let address = sink.address.ip().to_string();
        let url = format!("http://hooks.example.com:{}/", sink.address.port());
        let named = naming(policy.clone(), &[&address]);
        named.check(&url).unwrap();
        let posted = post(&named, &url);
        match expected {
            None => assert_eq!(status(&posted), 200),
            Some(why) => assert_eq!(refusal(posted), why),
        }
    }
    assert_eq!([sinks[0].n_accepted(), sinks[1].n_accepted()], [2, 0]);
    let silent = Sink::raw("127.0.0.3:0", drop);
    let url = format!("https://127.0.0.3:{}/", silent.address.port());
    assert!(matches!(failure(post(&egress, &url)), PostFailure::Broken(_)));
    assert_eq!(silent.n_accepted(), 1, "https goes there");
}
