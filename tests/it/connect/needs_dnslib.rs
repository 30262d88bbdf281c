//! The tests that need dnslib, a name server that others wrote.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use posture::connect::dns::DnsLimits;
use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant, NotApplicable, Partial};
use posture::connect::reading::{JudgedStatus, StreamState};
use tempfile::TempDir;

use super::server::read_at;
use super::zone::{find, note, rsa_key, stream};
use crate::harness::port::free_port;
use crate::harness::tool;

const WAIT: Duration = Duration::from_mins(1);
const LONG: DnsLimits = DnsLimits { query: WAIT, domain: Duration::from_mins(2) };

/// Killed when dropped.
struct Dnslib {
    child: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Dnslib {
    /// It is not asked to cut answers off, which it does without the question: the library then waits for a better one.
    fn start(zone: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("zone");
        std::fs::write(&file, zone).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let child = Command::new(tool::dnslib())
            .args(["-m", "dnslib.zoneresolver", "--tcp", "--address", "127.0.0.1"])
            .args(["--port", &address.port().to_string()])
            .arg("--zone")
            .arg(&file)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, address, _folder: folder };
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(start.elapsed() < WAIT, "dnslib does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }
}

impl Drop for Dnslib {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A TXT record in the form of a zone file, in strings of at most 255 bytes.
fn txt(name: &str, text: &str) -> String {
    let parts: Vec<String> = text
        .as_bytes()
        .chunks(255)
        .map(|it| format!("\"{}\"", str::from_utf8(it).unwrap()))
        .collect();
    format!("{name}. 60 IN TXT {}\n", parts.join(" "))
}

fn zone() -> String {
    let mut zone = String::new();
    for (name, host) in [
        ("office.example", "10 office-example.mail.protection.outlook.com."),
        ("google.example", "1 aspmx.l.google.com."),
        ("parked.example", "0 ."),
        ("unsigned.example", "10 unsigned-example.mail.protection.outlook.com."),
        ("xn--mller-kva.example", "10 mx.office.example."),
    ] {
        writeln!(zone, "{name}. 60 IN MX {host}").unwrap();
    }
    let good = rsa_key(2_048);
    for (name, text) in [
        ("office.example", "v=spf1 include:spf.office.example include:wide.office.example -all"),
        ("office.example", "MS=ms12345678"),
        ("spf.office.example", "v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 -all"),
        ("wide.office.example", "v=spf1 a:mx.office.example mx:office.example ~all"),
        ("_dmarc.office.example", "v=DMARC1; p=reject; rua=mailto:dmarc@office.example"),
        ("selector1.keys.example", &good),
        ("_mta-sts.office.example", "v=STSv1; id=20261123;"),
        ("_smtp._tls.office.example", "v=TLSRPTv1; rua=mailto:tls@office.example"),
        ("google.example", "v=spf1 include:spf.office.example ~all"),
        ("google._domainkey.google.example", &rsa_key(1_024)),
        ("_dmarc.google.example", "v=DMARC1; p=quarantine; pct=50; sp=none"),
        ("parked.example", "v=spf1 -all"),
        ("_dmarc.parked.example", "v=DMARC1; p=reject; sp=reject"),
        ("unsigned.example", "v=spf1 include:nowhere.example -all"),
        ("_dmarc.unsigned.example", "v=DMARC1; p=none"),
        ("xn--mller-kva.example", "v=spf1 redirect=office.example"),
        ("mail._domainkey.xn--mller-kva.example", &rsa_key(4_096)),
    ] {
        zone += &txt(name, text);
    }
    zone += "mx.office.example. 60 IN A 192.0.2.25\n\
             selector1._domainkey.office.example. 60 IN CNAME selector1.keys.example.\n\
             office.example. 60 IN CAA 0 issue \"letsencrypt.org\"\n\
             office.example. 60 IN DS 60485 13 2 D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1E4469DA50A\n\
             office.example. 60 IN DNSKEY 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==\n";
    zone
}

type Expected = [Option<JudgedStatus>; 3];

const EXPECTED: [(&str, Expected); 6] = [
    ("office.example", [Some(Compliant); 3]),
    ("google.example", [Some(Partial); 3]),
    ("parked.example", [Some(Compliant), Some(NotApplicable), Some(Compliant)]),
    ("unsigned.example", [Some(NonCompliant); 3]),
    ("müller.example", [Some(Compliant), Some(Compliant), Some(NonCompliant)]),
    ("nowhere.example", [None; 3]),
];

#[test]
#[ignore = "needs dnslib"]
fn domains_are_read_from_a_server_of_others() {
    let server = Dnslib::start(&zone());
    // Each by itself: beside one that is not read, others show only what fails.
    let read = |domain| read_at(server.address, &[domain], LONG).groups;
    let groups: Vec<_> = EXPECTED.iter().flat_map(|it| read(it.0)).collect();
    assert_eq!(groups.len(), EXPECTED.len());
    for (group, (domain, expected)) in groups.iter().zip(EXPECTED) {
        let found = ["spf", "dkim", "dmarc"].map(|it| find(group, it).map(|it| it.status));
        assert_eq!(found, expected, "{domain}: {group:#?}");
        let state = if expected == [None; 3] { StreamState::Failed } else { StreamState::Complete };
        assert!(group.streams.iter().all(|it| it.state == state), "{domain}: {group:#?}");
    }
    let [office, google, parked, unsigned, umlaut, nowhere] = &groups[..] else {
        panic!("{groups:?}")
    };
    assert_eq!(note(office, "suite"), Some("Microsoft 365"));
    assert_eq!(note(office, "dnssec"), Some("signed"));
    assert_eq!(note(office, "caa"), Some("office.example: 0 issue \"letsencrypt.org\""));
    assert!(note(office, "mta_sts").unwrap().contains("20261123"));
    assert!(note(office, "tls_rpt").unwrap().contains("mailto:tls@office.example"));
    assert!(find(office, "spf").unwrap().findings.contains("4 of at most 10"), "{office:?}");
    assert_eq!(stream(office, "dkim").n_rows, 1);
    assert_eq!(note(google, "suite"), Some("Google Workspace"));
    assert!(find(google, "dmarc").unwrap().findings.contains("50 percent"), "{google:?}");
    assert!(find(google, "dkim").unwrap().findings.contains("1024 bits"), "{google:?}");
    assert!(note(parked, "mx").unwrap().contains("takes no mail"));
    assert!(find(unsigned, "spf").unwrap().findings.contains("does not exist"), "{unsigned:?}");
    assert_eq!(umlaut.scope, "xn--mller-kva.example");
    assert_eq!(nowhere.streams[0].reason, "the domain does not exist");
}
