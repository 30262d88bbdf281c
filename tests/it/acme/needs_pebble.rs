//! The tests that need Pebble.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use posture::egress::TrustedRoots;
use posture::serve::certificate::CertificateSource;
use posture::serve::certificate::acme::AcmeOptions;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ALL_VERSIONS, ClientConnection, StreamOwned};

use super::pebble::Pebble;
use crate::harness::http::exchange;
use crate::harness::port::free_port;
use crate::harness::process::{Folder, Server, signal, wait_until};
use crate::harness::tls::trusting;
use crate::harness::{Posture, send};

pub(super) const NAME: &str = "posture.example.com";
pub(super) const OTHER: &str = "api.example.com";
pub(super) const WAIT: Duration = Duration::from_mins(1);
/// How often the service looks at the clock.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A connection to a service whose certificate comes from this root. `None`: the handshake fails.
pub(super) fn connect(
    address: SocketAddr,
    root: &CertificateDer<'static>,
    name: &'static str,
) -> Option<StreamOwned<ClientConnection, TcpStream>> {
    let config = trusting(root, ALL_VERSIONS);
    let name = ServerName::try_from(name).unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    stream.conn.complete_io(&mut stream.sock).ok()?;
    Some(stream)
}

/// The serial number of the certificate that is presented.
fn presented(address: SocketAddr, root: &CertificateDer<'static>) -> Option<Vec<u8>> {
    let stream = connect(address, root, NAME)?;
    let certificate = &stream.conn.peer_certificates()?[0];
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).unwrap();
    Some(certificate.raw_serial().to_vec())
}

/// Two ports that nobody listens on.
pub(super) fn free_ports() -> [u16; 2] {
    [(); 2].map(|()| free_port())
}

fn metric(posture: &Posture, name: &str) -> Option<u64> {
    // The metrics are for this host, and the control socket needs no certificate.
    let text = posture.operator("GET", "/metrics", &serde_json::Value::Null).text();
    let line = text.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(' '));
    line.map(|it| it.parse().unwrap())
}

/// Options of a service that orders a certificate for these names.
fn ordering(
    pebble: &Pebble,
    [http, tls]: [u16; 2],
    domains: &[&str],
) -> impl Fn(&mut posture::serve::ServeOptions) + Clone + use<> {
    let order = AcmeOptions {
        domains: domains.iter().map(|it| (*it).to_owned()).collect(),
        email: Some("it@example.com".to_owned()),
        directory: pebble.directory(),
        roots: TrustedRoots::read("test", &pebble.ca_file()).unwrap(),
    };
    move |options| {
        options.listen = SocketAddr::from(([127, 0, 0, 1], tls));
        options.http_listen = Some(SocketAddr::from(([127, 0, 0, 1], http)));
        options.certificate = Some(CertificateSource::Acme(order.clone()));
    }
}

#[test]
#[ignore = "needs Pebble"]
fn a_certificate_is_ordered_kept_and_renewed_while_the_authority_comes_and_goes() {
    let [http, tls] = free_ports();
    let mut pebble = Pebble::start(http, tls);
    let configure = ordering(&pebble, [http, tls], &[NAME, OTHER]);
    let root = pebble.root();
    let posture = Posture::start_with(configure.clone());
    assert!(wait_until(WAIT, || presented(posture.address, &root).is_some()), "the first");
    let first = presented(posture.address, &root).unwrap();
    let stream = connect(posture.address, &root, OTHER).expect("it has both names");
    assert_eq!(exchange(stream, "GET", "/healthz", &[], &[]).status, 200);
    let system = posture.operator("GET", "/api/system", &serde_json::Value::Null).json();
    let until = system["data"]["certificateExpiresAt"].as_str().unwrap().to_owned();
    let until_s = u64::try_from(until.parse::<posture::clock::Time>().unwrap().s()).unwrap();
    assert_eq!(metric(&posture, "posture_certificate_expires_timestamp_seconds"), Some(until_s));
    let audit = || posture.operator("GET", "/api/audit", &serde_json::Value::Null).text();
    // It is presented before it is stored.
    let issued = "certificate issued for posture.example.com, api.example.com";
    assert!(wait_until(WAIT, || audit().contains(issued)), "{}", audit());

    // Its key is nowhere in clear, and it outlives the authority and a restart.
    pebble.stop();
    let file = std::fs::read(posture.dir().join("posture.redb")).unwrap();
    assert!(!file.windows(11).any(|it| it == b"PRIVATE KEY"), "the key is sealed");
    assert!(file.windows(17).any(|it| it == b"BEGIN CERTIFICATE"), "the chain is not");
    let posture = posture.restart_after(|_| (), configure.clone());
    assert!(wait_until(WAIT, || presented(posture.address, &root).is_some()), "after a restart");
    assert_eq!(presented(posture.address, &root).unwrap(), first);
    assert_eq!(metric(&posture, "posture_certificate_failures_total"), Some(0));

    // Due while the authority is down: the one before stays.
    let left_s = i64::try_from(until_s).unwrap() - posture.now().s();
    posture.pass_s(left_s - 30 * 86_400);
    let failed = || metric(&posture, "posture_certificate_failures_total").unwrap();
    assert!(wait_until(WAIT, || failed() == 1), "the renewal fails");
    assert_eq!(presented(posture.address, &root).unwrap(), first);
    // It comes back without its accounts, and with another root.
    pebble.resume();
    let root = pebble.root();
    assert_eq!(failed(), 1, "no attempt before its time");
    assert!(presented(posture.address, &root).is_none());
    posture.pass_s(5 * 60);
    assert!(wait_until(WAIT, || presented(posture.address, &root).is_some()), "the renewal");
    assert_eq!(failed(), 1);
}

#[test]
#[ignore = "needs Pebble"]
fn a_restart_does_not_order_at_once_after_several_failures() {
    let [http, tls] = free_ports();
    let mut pebble = Pebble::start(http, tls);
    let configure = ordering(&pebble, [http, tls], &[NAME]);
    pebble.stop();
    let failed = |it: &Posture| metric(it, "posture_certificate_failures_total").unwrap();
    let mut posture = Posture::start_with(configure.clone());
    assert!(wait_until(WAIT, || failed(&posture) == 1));
    for _ in 0..2 {
        // A few failures do not keep a restart from trying.
        posture = posture.restart_after(|_| (), configure.clone());
        assert!(wait_until(WAIT, || failed(&posture) == 1));
    }
    let posture = posture.restart_after(|_| (), configure.clone());
    pebble.resume();
    let root = pebble.root();
    posture.pass_s(19 * 60);
    std::thread::sleep(2 * LOOK_EVERY);
    assert_eq!(failed(&posture), 0, "no attempt before its time");
    assert!(presented(posture.address, &root).is_none());
    posture.pass_s(60);
    assert!(wait_until(WAIT, || presented(posture.address, &root).is_some()), "the next attempt");
}

struct Site {
    folder: Folder,
    pebble: Pebble,
}

impl Site {
    /// Pebble looks for proof over plain HTTP where nobody answers if it is `deaf`.
    fn new(deaf: bool) -> Self {
        let [http, tls] = free_ports();
        let pebble = Pebble::start(if deaf { free_ports()[0] } else { http }, tls);
        let folder = Folder::new();
        let (directory, ca_file) = (pebble.directory(), pebble.ca_file().display().to_string());
        let text = format!(
            "[server]\nacme_domains = [\"{NAME}\"]\nacme_directory = \"{directory}\"\nacme_ca_file = \"{ca_file}\"\n\
             listen = \"127.0.0.1:{tls}\"\nhttp_listen = \"127.0.0.1:{http}\"\n[data]\ndir = \"data\"\n"
        );
        folder.write("posture.toml", text.as_bytes());
        Self { folder, pebble }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("serve.log")).unwrap()
    }

    fn is_presented(&self, server: &Server) -> bool {
        presented(server.address, &self.pebble.root()).is_some()
    }
}

#[test]
#[ignore = "needs Pebble"]
fn the_service_is_reachable_with_a_few_lines_of_configuration() {
    let site = Site::new(false);
    let server = site.folder.serve();
    assert!(server.greeting.contains("https://"), "{}", server.greeting);
    assert!(wait_until(WAIT, || site.is_presented(&server)), "{}", site.log());
    assert!(site.log().contains("for posture.example.com, valid until "), "{}", site.log());
    let status = site.folder.ok(&["status"]);
    assert!(status.contains("certificate       expires "), "{status}");
    let plain = server.greeting.clone();
    assert!(!plain.is_empty());
    // What is no token is led to HTTPS like any page.
    let config = site.folder.ok(&["config", "show"]);
    let http = config.lines().find_map(|it| it.strip_prefix("http_listen = \"")).unwrap();
    let http: SocketAddr = http.split('"').next().unwrap().parse().unwrap();
    let answer = send(http, "GET", "/.well-known/acme-challenge/none", &[], &[]);
    assert_eq!(answer.status, 308);
    assert!(server.stop().success());
    // Another name: a new certificate, and the one before until then.
    let text = std::fs::read_to_string(site.folder.path().join("posture.toml")).unwrap();
    site.folder.write("posture.toml", text.replace(NAME, OTHER).as_bytes());
    let server = site.folder.serve();
    let root = site.pebble.root();
    assert!(wait_until(WAIT, || connect(server.address, &root, OTHER).is_some()), "{}", site.log());
}

#[test]
#[ignore = "needs Pebble"]
fn a_failed_proof_is_explained_and_the_other_way_is_tried_next() {
    let site = Site::new(true);
    let server = site.folder.serve();
    assert!(wait_until(WAIT, || site.log().contains("could not verify")), "{}", site.log());
    let log = site.log();
    for part in
        ["no certificate for posture.example.com", "connection refused", "the next attempt is at"]
    {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!site.is_presented(&server));
    assert_eq!(site.folder.ok(&["health"]), "ready\n", "all else works");
    signal(server.id(), "-HUP");
    assert!(wait_until(WAIT, || site.is_presented(&server)), "{}", site.log());
    assert!(server.stop().success());
}
