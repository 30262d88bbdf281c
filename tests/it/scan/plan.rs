//! Targets and ports: what is taken, and what is refused with a sentence that says why.

use posture::error::Code;
use posture::scan::plan::{ScanPlan, ScanPolicy, ScanRequest};
use posture::scan::port::{Ports, USUAL};
use proptest::prelude::*;

use super::{anything, order, plan};

fn refusal(targets: &[&str]) -> (Code, String) {
    let error = ScanPlan::of(&order(targets, "80"), &anything()).unwrap_err();
    (error.code, error.message().to_owned())
}

fn port_refusal(ports: &str) -> String {
    ScanPlan::of(&order(&["10.0.0.1"], ports), &anything()).unwrap_err().message().to_owned()
}

#[test]
fn a_target_that_cannot_be_scanned_is_refused_with_the_reason() {
    let cases: &[(&[&str], &str)] = &[
        (&["0.0.0.0/0"], "addresses, more than 65536"),
        (&["::/0"], "addresses, more than 65536"),
        (&["10.0.0.0/15"], "131072 addresses, more than 65536"),
        (&["10.0.0.0/33"], "targets[0]: \"10.0.0.0/33\" is not a network in CIDR notation"),
        (&["10.0.0.5/24"], "did you mean 10.0.0.0/24?"),
        (&["example.org"], "is not a network"),
        (&[""], "is not a network"),
        (&["10.0.0.0/24", "10.0.0.0/24"], "targets[1]: 10.0.0.0/24 duplicates targets[0]"),
        (&["10.0.0.0/16", "10.0.9.0/24"], "10.0.9.0/24 overlaps 10.0.0.0/16, which is targets[0]"),
        (&["10.0.9.0/24", "10.0.0.0/16"], "10.0.0.0/16 overlaps 10.0.9.0/24"),
        (&["224.0.0.0/24"], "is a multicast network, which is never scanned"),
        (&["0.0.0.0"], "an unspecified network"),
        (&["169.254.169.254"], "a metadata service"),
        (&["169.254.1.0/24"], "a link-local network"),
        (&["100.100.100.200"], "a metadata service"),
        (&["168.63.129.16/32"], "a metadata service"),
        (&["fe80::/120"], "a link-local network"),
        (&["ff02::1"], "a multicast network"),
        (&[], "must have 1 to 32 items"),
    ];
    for (targets, expected) in cases {
        let (code, message) = refusal(targets);
        assert_eq!(code, Code::Invalid, "{targets:?}: {message}");
        assert!(message.contains(expected), "{targets:?}: {message}");
        assert!(message.starts_with("targets"), "the field is named: {message}");
    }
    let many: Vec<String> = (0..33).map(|it| format!("10.0.{it}.0/24")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(refusal(&many).1.contains("1 to 32 items"));
    assert_eq!(plan(&many[..32], "80").n_hosts, 32 * 256);
}

#[test]
fn ports_are_numbers_and_ranges_that_go_upwards() {
    for (text, shown) in [
        ("80", "80"),
        (" 443 , 80 ", "80,443"),
        ("1-3,3,2-5", "1-5"),
        ("1-65535", "1-65535"),
        ("65535,1", "1,65535"),
    ] {
        assert_eq!(Ports::parse(text).unwrap().to_string(), shown);
    }
    for (text, expected) in [
        ("1-", "\"1-\": must be a port from 1 to 65535"),
        ("-80", "must be a port"),
        (
            "80-70",
            "the first port of a range must not be greater than the last; did you mean 70-80?",
        ),
        ("65536", "must be a port from 1 to 65535"),
        ("0", "must be a port from 1 to 65535"),
        ("0-10", "must be a port"),
        ("", "must be a port"),
        ("80,,443", "must be a port"),
        ("http", "must be a port"),
        ("+80", "must be a port"),
        ("1-2-3", "must be a port"),
    ] {
        let message = port_refusal(text);
        assert!(message.starts_with("ports: ") && message.contains(expected), "{text}: {message}");
    }
    assert!(port_refusal(&"1,".repeat(5_000)).contains("at most 8192 bytes"));
}

#[test]
fn the_usual_ports_are_two_hundred_and_hold_every_port_that_a_check_is_about() {
    let usual = Ports::usual();
    assert_eq!((USUAL.len(), usual.as_slice().len()), (200, 200));
    assert!(USUAL.is_sorted_by_key(|it| it.0), "look-ups rely on it");
    for number in [21, 22, 23, 25, 80, 139, 443, 445, 512, 1433, 2375, 3306, 3389, 5900, 5985, 9100]
    {
        assert!(usual.contains(number), "{number}");
    }
    let order = ScanRequest { targets: vec!["10.0.0.1".to_owned()], ..ScanRequest::default() };
    assert_eq!(ScanPlan::of(&order, &anything()).unwrap().ports, usual);
}

#[test]
fn only_allowed_networks_are_scanned_and_the_refusal_says_how_to_allow_more() {
    let allowed = ["10.1.0.0/24", "10.1.1.0/24"].map(|it| it.parse().unwrap()).to_vec();
    let policy = ScanPolicy { allowed, ..ScanPolicy::default() };
    let plan = |target: &str| ScanPlan::of(&order(&[target], "80"), &policy);
    assert!(plan("10.1.0.0/23").is_ok(), "two allowed networks hold it together");
    assert!(plan("10.1.1.7").is_ok());
    for target in ["10.1.0.0/22", "10.1.2.0/24", "8.8.8.8", "10.0.0.0/8", "::1"] {
        let error = plan(target).unwrap_err();
        assert_eq!(error.code, Code::Forbidden, "{target}");
        for part in [target, "scan.allowed_networks", "10.1.0.0/24, 10.1.1.0/24", "posture.toml"] {
            assert!(error.message().contains(part), "{target}: {}", error.message());
        }
    }
}

#[test]
fn what_is_excluded_is_not_among_the_addresses() {
    let mut order = order(&["10.0.0.0/30", "fd00::/126"], "80");
    order.exclude = vec!["10.0.0.1".to_owned(), "fd00::2/127".to_owned()];
    let policy = ScanPolicy { excluded: vec!["10.0.0.2/32".parse().unwrap()], ..anything() };
    let plan = ScanPlan::of(&order, &policy).unwrap();
    let addresses: Vec<String> =
        plan.blocks().flat_map(|it| plan.addresses(it)).map(|it| it.to_string()).collect();
    assert_eq!(addresses, ["10.0.0.0", "10.0.0.3", "fd00::", "fd00::1"]);
    assert_eq!(plan.n_hosts, 4);
    order.exclude.push("10.0.0.0/24".to_owned());
    order.exclude.push("fd00::/64".to_owned());
    let error = ScanPlan::of(&order, &policy).unwrap_err();
    assert_eq!(error.message(), "targets: all of their addresses are excluded");
}

#[test]
fn what_is_never_scanned_is_left_out_of_a_network_around_it() {
    let whole = plan(&["168.63.129.16/30", "100.100.100.200/31", "192.0.0.192/30"], "80");
    let addresses: Vec<String> =
        whole.blocks().flat_map(|it| whole.addresses(it)).map(|it| it.to_string()).collect();
    assert_eq!(addresses.len() as u64, whole.n_hosts);
    assert_eq!(whole.n_hosts, 3 + 1 + 3);
}

#[test]
fn the_limit_is_on_what_is_left_after_the_exclusions() {
    let mut order = order(&["10.0.0.0/15"], "80");
    order.exclude = vec!["10.1.0.0/16".to_owned()];
    assert_eq!(ScanPlan::of(&order, &anything()).unwrap().n_hosts, 65_536);
    order.exclude = vec!["10.1.0.0/17".to_owned()];
    assert_eq!(ScanPlan::of(&order, &anything()).unwrap_err().code, Code::Invalid);
}

#[test]
fn what_is_excluded_is_not_free() {
    let mut order = order(&["10.0.0.0/12"], "80");
    order.exclude =
        ["10.1.0.0/16", "10.2.0.0/15", "10.4.0.0/14", "10.8.0.0/13"].map(str::to_owned).into();
    let plan = ScanPlan::of(&order, &anything()).unwrap();
    assert_eq!((plan.n_hosts, plan.blocks().count()), (65_536, 256), "no block without addresses");
    order.exclude.push("10.16.0.0/12".to_owned());
    let refused = |target: &str, exclude: Vec<String>| {
        let order = ScanRequest { targets: vec![target.to_owned()], exclude, ports: None };
        ScanPlan::of(&order, &anything()).unwrap_err().message().to_owned()
    };
    let says = "span 2097152 addresses, more than 1048576, to scan 65536 of them; list those";
    assert!(refused("10.0.0.0/11", order.exclude).contains(says));
    // Of each half the half that has not the last 65,536 addresses.
    let first = |it: u32| (0xfd00_u128 << 112) + (1 << 64) - (2 << (128 - it));
    let halves = (65..=112).map(|it| format!("{}/{it}", std::net::Ipv6Addr::from(first(it))));
    assert!(refused("fd00::/64", halves.collect()).contains("more than 1048576"));
}

#[test]
fn equal_targets_in_another_order_are_the_same_plan() {
    let one = plan(&["10.2.0.0/24", "10.1.0.7", "fd00::1"], "443,80");
    let other = plan(&["fd00::1/128", "10.1.0.7/32", "::ffff:10.2.0.0/120"], "80,443");
    assert_eq!(one, other);
}

proptest! {
    #[test]
    fn no_text_is_a_target_or_a_port_that_breaks_anything(target in ".{0,40}", ports in ".{0,40}") {
        if let Ok(plan) = ScanPlan::of(&order(&[&target], &ports), &anything()) {
            prop_assert!(1 <= plan.n_hosts && plan.n_hosts <= 65_536);
            prop_assert!(!plan.ports.as_slice().is_empty());
        }
    }

    #[test]
    fn a_plan_has_as_many_addresses_as_it_says_and_none_twice(
        a in 0_u32..1 << 20, prefix in 18_u8..=32, excluded in 0_u32..1 << 20, excluded_prefix in 16_u8..=32,
    ) {
        let network = |bits: u32, prefix: u8| {
            let address = std::net::Ipv4Addr::from((10 << 24) | (bits << 4));
            let network = ipnetwork::Ipv4Network::new(address, prefix).unwrap();
            format!("{}/{prefix}", network.network())
        };
        let mut order = order(&[&network(a, prefix)], "80");
        order.exclude = vec![network(excluded, excluded_prefix)];
        if let Ok(plan) = ScanPlan::of(&order, &anything()) {
            let all: Vec<_> = plan.blocks().flat_map(|it| plan.addresses(it)).collect();
            let set: std::collections::BTreeSet<_> = all.iter().collect();
            prop_assert_eq!((all.len() as u64, set.len()), (plan.n_hosts, all.len()));
        }
    }
}
