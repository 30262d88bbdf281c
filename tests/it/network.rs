//! Which network a request counts as coming from.

use ipnetwork::IpNetwork;
use posture::auth::network::{CallerAddress, client_address, holds, parse};
use serde_json::json;

use crate::harness::{Answer, Posture, send};
use crate::manage::refused_field;

fn networks(texts: &[&str]) -> Vec<IpNetwork> {
    texts.iter().map(|it| parse(it).unwrap()).collect()
}

/// Peer, trusted proxies, values of the header, the client's address.
const SPOOFS: &str = "
9.9.9.9    | 10.0.0.0/8           |                             | 9.9.9.9
9.9.9.9    | 10.0.0.0/8           | 1.2.3.4                     | 9.9.9.9
9.9.9.9    | 10.0.0.0/8           | nonsense                    | 9.9.9.9
9.9.9.9    |                      | 1.2.3.4                     | 9.9.9.9
10.0.0.1   |                      | 1.2.3.4                     | 10.0.0.1
10.0.0.1   | 10.0.0.0/8           |                             | 10.0.0.1
10.0.0.1   | 10.0.0.0/8           | 1.2.3.4                     | 1.2.3.4
10.0.0.1   | 10.0.0.0/8           | 6.6.6.6, 1.2.3.4            | 1.2.3.4
10.0.0.1   | 10.0.0.0/8           | nonsense, 1.2.3.4           | 1.2.3.4
10.0.0.1   | 10.0.0.0/8           | 1.2.3.4, 10.0.0.2           | 1.2.3.4
10.0.0.1   | 10.0.0.0/8           | 10.0.0.9, 1.2.3.4, 10.0.0.2 | 1.2.3.4
10.0.0.1   | 10.0.0.0/8           | 6.6.6.6 & 1.2.3.4           | 1.2.3.4
10.0.0.1   | 10.0.0.0/8           | 1.2.3.4 & 10.0.0.2          | 1.2.3.4
10.0.0.1   | 10.0.0.0/8           | 10.0.0.3, 10.0.0.2          | 10.0.0.3
10.0.0.1   | 10.0.0.0/8           | \u{e9}, 1.2.3.4                  | 1.2.3.4
10.0.0.1   | 10.0.0.0/8           | \u{e9}                           | unreadable
10.0.0.1   | 10.0.0.0/8           | 1.2.3.4, nonsense           | unreadable
10.0.0.1   | 10.0.0.0/8           | unknown                     | unreadable
10.0.0.1   | 10.0.0.0/8           | 1.2.3.4,                    | unreadable
10.0.0.1   | 10.0.0.0/8           | ,                           | unreadable
10.0.0.1   | 10.0.0.0/8           | 1.2.3.4:80                  | unreadable
10.0.0.1   | 10.0.0.0/8           | [2001:db8::1]               | unreadable
10.0.0.1   | 10.0.0.0/8           | 1.2.3                       | unreadable
10.0.0.1   | 10.0.0.0/8           | 01.2.3.4                    | unreadable
10.0.0.1   | 10.0.0.0/8           | 0x1020304                   | unreadable
10.0.0.1   | 10.0.0.0/8           | 16909060                    | unreadable
10.0.0.1   | 10.0.0.0/8           | 1.2.3.4/32                  | unreadable
10.0.0.1   | 10.0.0.0/8           | fe80::1%eth0                | unreadable
10.0.0.1   | 10.0.0.0/8           | 2001:DB8::1                 | 2001:db8::1
10.0.0.1   | 10.0.0.0/8           | ::ffff:1.2.3.4              | 1.2.3.4
10.0.0.1   | 10.0.0.0/8           | 1.2.3.4, ::ffff:10.0.0.2    | 1.2.3.4
::ffff:10.0.0.1 | 10.0.0.0/8      | 1.2.3.4                     | 1.2.3.4
::ffff:9.9.9.9  | 10.0.0.0/8      | 1.2.3.4                     | 9.9.9.9
fd00::1    | fd00::/8             | 1.2.3.4                     | 1.2.3.4
fd00::1    | fd00::/8, 10.0.0.0/8 | 2001:db8::5, 10.0.0.2       | 2001:db8::5
2001:db8::1 | fd00::/8            | 1.2.3.4                     | 2001:db8::1
127.0.0.1  | 127.0.0.1            | 127.0.0.1                   | 127.0.0.1
127.0.0.1  | 127.0.0.1            | 127.0.0.2                   | 127.0.0.2
127.0.0.1  | 0.0.0.0/0            | 6.6.6.6, 1.2.3.4            | 6.6.6.6
";

#[test]
fn a_forwarding_header_counts_only_as_far_as_proxies_are_trusted() {
    let cases: Vec<_> = SPOOFS.lines().filter(|it| !it.is_empty()).collect();
    assert!(30 < cases.len());
    for case in cases {
        let [peer, trusted, header, client] =
            case.split('|').map(str::trim).collect::<Vec<_>>().try_into().unwrap();
        let list = |text: &'static str, by| {
            let parts = text.split(by).map(str::trim);
            parts.filter(|it| !it.is_empty()).collect::<Vec<_>>()
        };
        let trusted = networks(&list(trusted, ','));
        let header = list(header, '&');
        let header: Vec<_> = header.into_iter().map(str::as_bytes).collect();
        let found = client_address(peer.parse().unwrap(), &header, &trusted);
        assert_eq!(found.shown().as_deref(), Some(client), "{case}");
    }
}

#[test]
fn an_empty_value_of_a_trusted_proxy_is_malformed() {
    let peer = "10.0.0.1".parse().unwrap();
    assert_eq!(client_address(peer, &[b""], &networks(&["10.0.0.0/8"])), CallerAddress::Unreadable);
}

#[test]
fn a_long_chain_is_read_to_its_end() {
    let chain = vec!["10.0.0.2"; 2_000].join(",");
    let forwarded = format!("1.2.3.4,{chain}");
    let peer = "10.0.0.1".parse().unwrap();
    let found = client_address(peer, &[forwarded.as_bytes()], &networks(&["10.0.0.0/8"]));
    assert_eq!(found, CallerAddress::Ip([1, 2, 3, 4].into()));
}

#[test]
fn a_mapped_address_is_held_as_what_it_maps() {
    let address = |it: &str| it.parse().unwrap();
    let v4 = networks(&["192.0.2.0/24"]);
    assert!(holds(&v4, address("::ffff:192.0.2.7")));
    assert!(!holds(&v4, address("::ffff:192.0.3.7")));
    assert!(!holds(&v4, address("::192.0.2.7")));
    let v6 = networks(&["2001:db8::/32"]);
    assert!(holds(&v6, address("2001:db8:ffff::1")) && !holds(&v6, address("2001:db9::1")));
    assert!(!holds(&[], address("192.0.2.7")));
}

#[test]
fn a_network_with_host_bits_is_refused_with_the_proper_one() {
    for (given, proper) in [
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("192.0.2.1/24", "192.0.2.0/24"),
        ("192.0.2.255/31", "192.0.2.254/31"),
        ("0.0.0.1/0", "0.0.0.0/0"),
        ("2001:db8::1/32", "2001:db8::/32"),
        ("fe80::1/10", "fe80::/10"),
    ] {
        let message = parse(given).unwrap_err().message().to_owned();
        assert!(message.contains(&format!("`{given}`")), "{message}");
        assert!(message.contains(&format!("did you mean `{proper}`?")), "{message}");
        parse(proper).unwrap();
    }
    for (bare, proper) in [("192.0.2.1", "192.0.2.1/32"), ("2001:db8::1", "2001:db8::1/128")] {
        assert_eq!(parse(bare).unwrap().to_string(), proper);
    }
    for bad in ["", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10/8", "host", "10.0.0.0/", "1.2.3.4 "]
    {
        let message = parse(bad).unwrap_err().message().to_owned();
        assert_eq!(message, format!("`{bad}` is not a network in CIDR notation"));
    }
}

/// Asks as somebody whom the header names.
fn ask(posture: &Posture, key: &str, forwarded: &[&str]) -> Answer {
    let mut headers = vec![("X-API-Key", key)];
    headers.extend(forwarded.iter().map(|it| ("X-Forwarded-For", *it)));
    send(posture.address, "GET", "/api/v1/clients", &headers, b"")
}

#[test]
fn without_trusted_proxies_the_header_is_nothing() {
    let posture = Posture::start();
    let local = posture.key_with(&json!({"networks": ["127.0.0.0/8"]}));
    let remote = posture.key_with(&json!({"networks": ["203.0.113.0/24", "2001:db8::/32"]}));
    for forwarded in [&[][..], &["203.0.113.7"], &["127.0.0.1", "203.0.113.7"], &["nonsense"]] {
        assert_eq!(ask(&posture, &local, forwarded).status, 200, "{forwarded:?}");
        assert_eq!(ask(&posture, &remote, forwarded).status, 403, "{forwarded:?}");
    }
}

#[test]
fn behind_a_trusted_proxy_the_header_is_read_from_the_right() {
    let trusted = networks(&["127.0.0.1", "10.0.0.0/8"]);
    let posture = Posture::start_with(|it| it.trusted_proxies = trusted);
    let key = posture.key_with(&json!({"networks": ["203.0.113.0/24", "2001:db8::/32"]}));
    let free = posture.key();
    for (expected, forwarded) in [
        (403, &[][..]),
        (200, &["203.0.113.7"]),
        (200, &["2001:db8::7"]),
        (200, &["::ffff:203.0.113.7"]),
        (200, &["6.6.6.6, 203.0.113.7"]),
        (200, &["203.0.113.7, 10.0.0.1"]),
        (200, &["6.6.6.6", "203.0.113.7"]),
        (403, &["203.0.113.7, 6.6.6.6"]),
        (403, &["203.0.113.7", "6.6.6.6"]),
        (403, &["203.0.113.7, 6.6.6.6, 10.0.0.1"]),
        (403, &["203.0.113.7, nonsense"]),
        (403, &["203.0.113.7,"]),
        (403, &["203.0.113.7:443"]),
        (403, &["203.0.113.7\u{e9}"]),
        (200, &["\u{e9}, 203.0.113.7"]),
        (200, &["\u{e9}", "203.0.113.7"]),
        (403, &["203.0.114.7"]),
    ] {
        assert_eq!(ask(&posture, &key, forwarded).status, expected, "{forwarded:?}");
        let answer = ask(&posture, &free, forwarded);
        assert_eq!(answer.status, 200, "a key without networks does not care: {forwarded:?}");
    }
}

#[test]
fn the_audit_log_says_that_an_address_is_unreadable() {
    let trusted = networks(&["127.0.0.1"]);
    let posture = Posture::start_with(|it| it.trusted_proxies = trusted);
    let key = posture.key_with(&json!({"networks": ["203.0.113.0/24"]}));
    for forwarded in ["203.0.114.7", "\u{e9}, 203.0.114.8", "203.0.113.7, \u{e9}"] {
        assert_eq!(ask(&posture, &key, &[forwarded]).status, 403, "{forwarded}");
        assert_eq!(ask(&posture, "garbage", &[forwarded]).status, 401, "{forwarded}");
    }
    posture.block_on(posture.app.checkpoint_audit()).unwrap();
    posture.block_on(posture.app.checkpoint_unauthenticated()).unwrap();
    let entries = posture.operator("GET", "/api/audit", &json!(null)).json();
    let entries = entries["data"].as_array().unwrap().iter();
    let mut addresses: Vec<_> = entries
        .filter(|it| it["outcome"] != "done" && it["by"] != "service")
        .map(|it| (it["outcome"].as_str().unwrap(), it["address"].as_str().unwrap_or("null")))
        .collect();
    addresses.sort_unstable();
    let seen = ["203.0.114.7", "203.0.114.8", "unreadable"];
    let expected =
        ["refused 401", "refused 403"].map(|status| seen.map(|it| (status, it))).concat();
    assert_eq!(addresses, expected);
}

#[test]
fn only_x_forwarded_for_is_read() {
    let trusted = networks(&["127.0.0.1"]);
    let posture = Posture::start_with(|it| it.trusted_proxies = trusted);
    let key = posture.key_with(&json!({"networks": ["203.0.113.0/24"]}));
    for (name, value) in [
        ("X-Real-IP", "203.0.113.7"),
        ("Forwarded", "for=203.0.113.7"),
        ("True-Client-IP", "203.0.113.7"),
        ("CF-Connecting-IP", "203.0.113.7"),
        ("X-Forwarded", "203.0.113.7"),
    ] {
        let headers = [("X-API-Key", key.as_str()), (name, value)];
        let answer = send(posture.address, "GET", "/api/v1/clients", &headers, b"");
        assert_eq!(answer.status, 403, "{name}");
    }
}

#[test]
fn a_refused_network_is_not_counted_and_not_named() {
    let posture = Posture::start();
    let key = posture.key_with(&json!({"networks": ["203.0.113.0/24"]}));
    let answer = ask(&posture, &key, &[]);
    assert_eq!(
        answer.problem(),
        ("FORBIDDEN".into(), "API key not authorized from this network".into())
    );
    assert!(!answer.text().contains("203.0.113"));
}

#[test]
fn networks_of_a_key_are_checked_when_it_is_issued() {
    let posture = Posture::start();
    let issue = |networks: serde_json::Value| {
        let body = json!({"name": "a", "scopes": ["read:risks"], "networks": networks});
        posture.operator("POST", "/api/keys", &body)
    };
    let (field, rule) = refused_field(&issue(json!(["10.0.0.0/8", "192.0.2.1/24"])));
    assert_eq!(field, "networks");
    assert_eq!(rule, "`192.0.2.1/24` has host bits set; did you mean `192.0.2.0/24`?");
    assert_eq!(refused_field(&issue(json!(["host"]))).0, "networks");
    assert_eq!(refused_field(&issue(json!([7]))).0, "networks[0]");
    assert_eq!(refused_field(&issue(json!(vec!["10.0.0.0/8"; 101]))).0, "networks");
    let given = json!(["10.0.0.0/8", "2001:db8::/32", "192.0.2.1"]);
    let issued = issue(given.clone());
    assert_eq!((issued.status, &issued.json()["data"]["networks"]), (201, &given));
}
