//! Networks with routers, silence and neighbors, in network namespaces that the tests make.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use posture::engine::network::scan::Answers;
use posture::scan::{attached_networks, explain};

use crate::harness::process::Folder;

use super::world::World;
use super::{plan, scan, settings};

#[test]
#[ignore = "needs the permission to make network namespaces"]
fn the_few_that_are_there_are_found_in_a_large_network() {
    let world = World::make();
    let there: Vec<String> =
        (0..40_u32).map(|it| Ipv4Addr::from(0x0a4d_0007 + it * 401).to_string()).collect();
    world.have(&there);
    world.listen("0.0.0.0:22");
    world.listen(&format!("{}:8080", there[7]));
    let found = world.enter_scanner(|| {
        scan(
            &plan(&["10.77.0.0/18"], "22,80,8080"),
            &posture::scan::ScanSettings { n_sockets: 1_024, ..settings() },
        )
    });
    let mut all: Vec<String> = found.hosts.iter().map(|it| it.address.to_string()).collect();
    all.sort();
    let mut expected = there.clone();
    expected.sort();
    assert_eq!(all, expected);
    for it in &found.hosts {
        let open: Vec<u16> = it.ports.iter().map(|it| it.number).collect();
        let expected: &[u16] = if it.address.to_string() == there[7] { &[22, 8080] } else { &[22] };
        assert_eq!(open, expected, "{}", it.address);
    }
    assert_eq!((found.tally.n_addresses, found.tally.n_up), (16_384, 40));
    assert_eq!(found.tally.n_silent, 16_344);
}

#[test]
#[ignore = "needs the permission to make network namespaces"]
fn a_scan_that_finds_nobody_says_why() {
    let world = World::make();
    world.route(&["unreachable", "10.80.0.0/24"]);
    let scan_in = |target: &str| world.enter_scanner(|| scan(&plan(&[target], "80"), &settings()));
    let silent = scan_in("10.81.0.0/28");
    assert!(silent.hosts.is_empty());
    let why = explain(&silent.tally).unwrap();
    assert!(why.starts_with("no answer from 16 addresses: 16 were silent"), "{why}");
    let no_way = scan_in("11.0.0.0/28");
    let why = explain(&no_way.tally).unwrap();
    assert!(why.contains("0 were silent") && why.contains("16 cannot be reached"), "{why}");
}

#[test]
#[ignore = "needs the permission to make network namespaces"]
fn a_neighbour_has_a_hardware_address() {
    let world = World::make();
    let found = world.enter_scanner(|| scan(&plan(&["10.76.0.2"], "80"), &settings()));
    let mac = found.host("10.76.0.2").mac.as_deref().expect("it is on the same cable");
    assert_eq!(mac.split(':').count(), 6);
    let networks = world.enter_scanner(attached_networks);
    assert_eq!(
        networks,
        ["10.76.0.0/30".parse().unwrap()],
        "and only what has no gateway is attached"
    );
}

#[test]
#[ignore = "needs the permission to make network namespaces"]
fn a_network_is_attached_when_it_is_reached_without_a_gateway() {
    let world = World::make();
    for words in [
        &["addr", "add", "10.91.0.5/32", "dev", "cable"][..],
        &["route", "add", "10.90.0.0/24", "dev", "cable"],
        &["route", "add", "192.0.2.0/24", "dev", "cable"],
        &["addr", "add", "fd12::5/64", "dev", "cable"],
        &["addr", "add", "2001:db8::5/64", "dev", "cable"],
        &["link", "add", "idle", "type", "veth", "peer", "name", "idle-peer"],
        &["addr", "add", "192.168.77.1/24", "dev", "idle"],
    ] {
        world.scanner_ip(words);
    }
    let networks = world.enter_scanner(attached_networks);
    let expected = ["10.76.0.0/30", "10.90.0.0/24", "fd12::/64"].map(|it| it.parse().unwrap());
    assert_eq!(networks, expected);
}

#[test]
#[ignore = "needs the permission to make network namespaces"]
fn our_own_listeners_are_not_called_at_any_address_of_this_host() {
    let world = World::make();
    world.scanner_ip(&["addr", "add", "fd12::5/64", "dev", "cable", "nodad"]);
    let own: Vec<SocketAddr> = ["0.0.0.0:8000", "[::]:8000"].map(|it| it.parse().unwrap()).into();
    let scan_own = |own: &[SocketAddr]| {
        let settings = posture::scan::ScanSettings { own: own.to_vec(), ..settings() };
        let found = scan(&plan(&["10.76.0.1", "fd12::5"], "8000-8001"), &settings);
        ["10.76.0.1", "fd12::5"].map(|it| found.open(it))
    };
    world.enter_scanner(|| {
        let other = ["10.76.0.1:8001", "[fd12::5]:8001"].map(|it| TcpListener::bind(it).unwrap());
        let _own = ["10.76.0.1:8000", "[fd12::5]:8000"].map(|it| TcpListener::bind(it).unwrap());
        assert_eq!(scan_own(&own), [[8_001], [8_001]]);
        assert_eq!(scan_own(&[]), [[8_000, 8_001], [8_000, 8_001]]);
        drop(other);
    });
}

#[test]
#[ignore = "needs the permission to make network namespaces"]
fn init_names_the_networks_that_this_host_is_attached_to() {
    let world = World::make();
    let folder = Folder::new();
    let file = folder.path().join("posture.toml");
    let allowed = || {
        std::fs::remove_file(&file).unwrap();
        folder.ok(&["init"]);
        folder.ok(&["config", "check"]);
        let text = std::fs::read_to_string(&file).unwrap();
        text.lines().find(|it| it.starts_with("allowed_networks")).unwrap().to_owned()
    };
    assert_eq!(world.enter_scanner(allowed), "allowed_networks = [\"10.76.0.0/30\"]");
}

#[test]
#[ignore = "needs the permission to make network namespaces"]
fn a_gateway_that_answers_for_everybody_is_seen_through() {
    let world = World::make();
    world.have(&["10.82.0.0/24"]);
    world.listen("0.0.0.0:80");
    world.listen("10.82.0.77:445");
    let found = world.enter_scanner(|| scan(&plan(&["10.82.0.0/24"], "80,445"), &settings()));
    let own: Vec<_> = found.hosts.iter().filter(|it| it.answers == Answers::Own).collect();
    assert_eq!(own.len(), 1);
    assert_eq!(own[0].address.to_string(), "10.82.0.77");
    assert_eq!(found.host("10.82.0.5").answers, Answers::OnEveryAddress);
}

/// Answers each question after the last by one name.
fn name_server(socket: &UdpSocket, name: &[&str]) {
    let mut question = [0; 512];
    while let Ok((n, from)) = socket.recv_from(&mut question) {
        let mut answer = question[..n].to_vec();
        answer[2] = 0x81;
        answer[7] = 1;
        answer.extend([0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 60]);
        let mut data = Vec::new();
        for label in name {
            data.push(label.len().try_into().unwrap());
            data.extend(label.as_bytes());
        }
        data.push(0);
        answer.extend([0, data.len().try_into().unwrap()]);
        answer.extend(data);
        let _ = socket.send_to(&answer, from);
    }
}

#[test]
#[ignore = "needs the permission to make network namespaces"]
fn a_host_has_the_name_that_the_name_server_tells() {
    let world = World::make();
    for (name, expected) in [
        (&["Nas", "Example", "org"][..], Some("nas.example.org")),
        (&["evil\u{1b}[2J", "org"][..], None),
    ] {
        let socket = world.enter_world(|| UdpSocket::bind("10.76.0.2:0").unwrap());
        socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        let resolver = Some(socket.local_addr().unwrap());
        let settings = posture::scan::ScanSettings { resolver, ..settings() };
        let found = std::thread::scope(|scope| {
            scope.spawn(|| name_server(&socket, name));
            world.enter_scanner(|| scan(&plan(&["10.76.0.2"], "80"), &settings))
        });
        assert_eq!(found.host("10.76.0.2").hostname.as_deref(), expected);
    }
}

/// Connects under way in this thread's network, by their own address and port.
fn under_way() -> BTreeSet<String> {
    let table = std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
    let rows = table.lines().map(|it| it.split_whitespace().collect::<Vec<_>>());
    rows.filter(|it| it.get(3) == Some(&"02")).map(|it| it[1].to_owned()).collect()
}

#[test]
#[ignore = "needs the permission to make network namespaces"]
fn no_host_has_more_connections_under_way_than_allowed() {
    let world = World::make();
    world.have(&["10.83.0.1"]);
    world.drop_tcp_to("10.83.0.1");
    let is_over = AtomicBool::new(false);
    let (found, n_most) = world.enter_scanner(|| {
        std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                let (mut n_most, mut before) = (0, under_way());
                while !is_over.load(Ordering::Relaxed) {
                    // The table is not read in one moment; what two readings show was there between them.
                    let now = under_way();
                    n_most = n_most.max(now.intersection(&before).count());
                    before = now;
                }
                n_most
            });
            let settings = posture::scan::ScanSettings { per_host: 3, ..settings() };
            let found = scan(&plan(&["10.83.0.1"], "1-60"), &settings);
            is_over.store(true, Ordering::Relaxed);
            (found, watch.join().unwrap())
        })
    });
    assert_eq!(n_most, 3);
    let host = found.host("10.83.0.1");
    assert_eq!((host.evidence.as_str(), host.n_silent), ("echo reply", 60));
}
