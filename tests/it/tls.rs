//! HTTPS: the certificate, its replacement, and the address of plain HTTP beside it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConnection, StreamOwned, SupportedProtocolVersion};

use crate::harness::http::exchange;
use crate::harness::process::{Folder, Server, signal, wait_until};
use crate::harness::send;
use crate::harness::tls::{authority, trusting};

const NAME: &str = "posture.example.com";
const WAIT: Duration = Duration::from_secs(30);

type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// A folder whose configuration serves HTTPS, and the authority that vouches for its certificate.
struct Site {
    folder: Folder,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Site {
    fn new() -> Self {
        let site = Self { folder: Folder::new(), authority: authority() };
        site.configure("http_listen = \"127.0.0.1:0\"");
        site.renew(1);
        site
    }

    fn configure(&self, more: &str) {
        let server = "listen = \"127.0.0.1:0\"\ntls_cert = \"cert.pem\"\ntls_key = \"key.pem\"";
        let text = format!("[server]\n{server}\n{more}\n[data]\ndir = \"data\"\n");
        self.folder.write("posture.toml", text.as_bytes());
    }

    /// Writes another certificate with this serial number, and its key.
    fn renew(&self, serial: u64) {
        let (certificate, key) = self.issue(serial);
        self.folder.write("cert.pem", certificate.as_bytes());
        self.folder.write("key.pem", key.as_bytes());
    }

    fn issue(&self, serial: u64) -> (String, String) {
        let mut params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
        params.serial_number = Some(serial.into());
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn connect(
        &self,
        address: SocketAddr,
        version: &'static SupportedProtocolVersion,
    ) -> TlsStream {
        let config = trusting(self.authority.der(), &[version]);
        let name = ServerName::try_from(NAME).unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(WAIT)).unwrap();
        StreamOwned::new(connection, stream)
    }

    /// The serial number of the certificate that a new connection gets.
    fn presented(&self, server: &Server) -> Vec<u8> {
        let mut stream = self.connect(server.address, &TLS13);
        stream.conn.complete_io(&mut stream.sock).unwrap();
        let certificate = &stream.conn.peer_certificates().unwrap()[0];
        let (_, certificate) = x509_parser::parse_x509_certificate(certificate).unwrap();
        certificate.raw_serial().to_vec()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("serve.log")).unwrap()
    }

    /// Why the server does not start.
    fn refusal(&self) -> String {
        let done = self.folder.run(&["serve"]);
        assert_eq!((done.code, done.out.as_str()), (1, ""), "{}", done.err);
        done.err
    }
}

/// One request on a connection that stays open; the head of the answer.
fn ask(stream: &mut TlsStream, path: &str) -> String {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {NAME}\r\n\r\n").unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|it| it.strip_prefix("content-length: ")).unwrap();
    stream.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
    head
}

#[test]
fn both_versions_of_tls_are_served_and_browsers_told_to_stay_with_it() {
    let site = Site::new();
    let server = site.folder.serve();
    assert!(server.greeting.contains("https://127.0.0.1:"), "{}", server.greeting);
    for version in [&TLS12, &TLS13] {
        let answer = exchange(site.connect(server.address, version), "GET", "/healthz", &[], &[]);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("strict-transport-security"), Some("max-age=31536000"));
    }
    // A key works as it does without TLS.
    site.folder.client("Acme Ltd");
    let key = site.folder.key("60");
    let stream = site.connect(server.address, &TLS13);
    let headers = [("X-API-Key", key.as_str())];
    let answer = exchange(stream, "GET", "/api/v1/clients", &headers, &[]);
    assert_eq!((answer.status, &answer.json()["data"][0]["name"]), (200, &"Acme Ltd".into()));
    // Without TLS on the same port.
    let refused = send(server.address, "GET", "/healthz", &[], &[]);
    assert!(refused.header("x-request-id").is_some());
    let (code, message) = refused.problem();
    assert_eq!(
        (&*code, &*message),
        ("VALIDATION_ERROR", "this port speaks HTTPS only; use https://")
    );
    assert!(server.stop().success());
    let log = site.log();
    assert!(
        log.contains("presenting the certificate in cert.pem for posture.example.com"),
        "{log}"
    );
}

#[test]
fn a_replaced_certificate_is_presented_without_dropping_connections() {
    let site = Site::new();
    let server = site.folder.serve();
    assert_eq!(site.presented(&server), [1]);
    let mut open = site.connect(server.address, &TLS13);
    ask(&mut open, "/healthz");
    // Noticed by itself.
    site.renew(2);
    assert!(wait_until(WAIT, || site.presented(&server) == [2]));
    ask(&mut open, "/healthz");
    // The key of another certificate: the one before stays until both fit.
    let (certificate, key) = site.issue(3);
    site.folder.write("cert.pem", certificate.as_bytes());
    signal(server.id(), "-HUP");
    assert!(wait_until(WAIT, || site.log().contains("the key is not that of the certificate")));
    assert_eq!(site.presented(&server), [2]);
    site.folder.write("key.pem", key.as_bytes());
    signal(server.id(), "-HUP");
    assert!(wait_until(WAIT, || site.presented(&server) == [3]));
    ask(&mut open, "/healthz");
    assert_eq!(site.log().matches("the new certificate is not used").count(), 1);
    assert!(server.stop().success());
}

#[test]
fn plain_http_leads_pages_to_https_and_refuses_credentials() {
    let site = Site::new();
    let server = site.folder.serve();
    let line = server.line();
    let plain: SocketAddr = line.split(['/', ' ']).nth(2).unwrap().parse().unwrap();
    let port = server.address.port();
    for method in ["GET", "HEAD"] {
        let answer = send(plain, method, "/docs/install?a=b", &[], &[]);
        assert_eq!(answer.status, 308);
        let location = format!("https://localhost:{port}/docs/install?a=b");
        assert_eq!(answer.header("location"), Some(&*location));
        assert_eq!(answer.header("strict-transport-security"), None);
    }
    let key = [("X-API-Key", "service_0000000000_00000000000000000000000000000000000000")];
    let bearer = [("Authorization", "Bearer x")];
    for (method, path, headers) in [
        ("GET", "/api/v1/clients", &key[..]),
        ("GET", "/docs/", &bearer[..]),
        ("GET", "/api/v1/clients", &[]),
        ("POST", "/auth/login", &[]),
        ("POST", "/docs/", &[]),
    ] {
        let answer = send(plain, method, path, headers, b"{}");
        assert_eq!(answer.status, 403, "{method} {path}");
        let (code, message) = answer.problem();
        assert_eq!(code, "FORBIDDEN");
        assert!(message.starts_with("use https; ") && message.contains("rotate it"), "{message}");
    }
    drop(server);
    site.configure("http_listen = \"127.0.0.1:0\"\npublic_url = \"https://grc.example.com\"");
    let server = site.folder.serve();
    let line = server.line();
    let plain: SocketAddr = line.split(['/', ' ']).nth(2).unwrap().parse().unwrap();
    let answer = send(plain, "GET", "/", &[], &[]);
    assert_eq!(answer.header("location"), Some("https://grc.example.com/"));
}

#[test]
fn a_server_without_a_usable_certificate_does_not_start() {
    let site = Site::new();
    let (certificate, key) = site.issue(2);
    let refused = |name: &str, text: &str, why: &str| {
        let before = std::fs::read(site.folder.path().join(name)).unwrap();
        site.folder.write(name, text.as_bytes());
        let said = site.refusal();
        assert!(said.contains(why), "{name}: {said}");
        site.folder.write(name, &before);
    };
    refused(
        "key.pem",
        &key,
        "cert.pem with server.tls_key key.pem: the key is not that of the certificate",
    );
    refused("cert.pem", &key, "server.tls_cert: cert.pem holds no certificate");
    refused("key.pem", &certificate, "server.tls_key: key.pem holds no private key\n");
    // As `openssl genpkey -aes128` and `openssl genrsa -traditional -aes128` write them.
    let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\
               DEK-Info: AES-128-CBC,C8F602E001F950B4C913F306C9FB7B55\n\npkNogzP7\n-----END RSA PRIVATE KEY-----\n";
    let new =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\npkNogzP7\n-----END ENCRYPTED PRIVATE KEY-----\n";
    for encrypted in [old, &old.replace('\n', "\r\n"), new] {
        refused(
            "key.pem",
            encrypted,
            "server.tls_key: key.pem holds a private key that is encrypted; \
             decrypt it into another file with: openssl pkey -in key.pem -out FILE\n",
        );
    }
    refused(
        "cert.pem",
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
        "is not PEM",
    );
    refused("cert.pem", &certificate.repeat(17), "holds 17 certificates, more than 16");
    refused("cert.pem", &" ".repeat(1024 * 1024 + 1), "cert.pem is larger than 1 MiB");
    for (name, content, why) in [
        (
            "cert.pem",
            &[0x30, 0x82, 0x01, 0x0a, 0x30, 0x82][..],
            "cert.pem is DER and not PEM; convert",
        ),
        ("key.pem", &[0x30, 0x77, 0x02, 0x01], "key.pem is DER"),
        ("key.pem", &[0x30, 0x82, 0x0a, 0x3f, 0x02, 0x01, 0x03, 0x30], "is PKCS #12 and not PEM"),
        ("cert.pem", b"\xff\xfe-\0-\0", "cert.pem is UTF-16, as PowerShell redirection writes it"),
    ] {
        let before = std::fs::read(site.folder.path().join(name)).unwrap();
        site.folder.write(name, content);
        let said = site.refusal();
        assert!(said.contains(why), "{name}: {said}");
        site.folder.write(name, &before);
    }
    std::fs::remove_file(site.folder.path().join("key.pem")).unwrap();
    assert!(site.refusal().contains("server.tls_key: cannot read key.pem: No such file"));
}

/// As `openssl ecparam -name secp521r1 -genkey` makes one.
const P521: &str = "-----BEGIN PRIVATE KEY-----\n\
    MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIBGsBuPt6smCco6cfb\n\
    9FIF2FDbvQ4i3n04NpjKSF/BpWTmdQZtc6qHdfqzeTZHeZW3kkB0UlQXV9uqfAta\n\
    RKN2Yk2hgYkDgYYABAAz+ZOz1bVPr7X2mGYQQrpprcIfTJTBZGU/LcX5HSa0cyDt\n\
    Obrw/utEarZ5vsxDabUKFJem1r7RYolw4tIziuFYJQFMV43y4WJUEF4J4VNg+pkC\n\
    rK/HwtrtUFOcx1aTA5q4aJwRDLnwHARsds+um8xtdf/ySiSkVPWKc3bI8ouYKVS7\n\
    IQ==\n\
    -----END PRIVATE KEY-----\n";

#[test]
fn a_chain_in_another_order_and_a_key_that_is_not_supported_are_named() {
    let site = Site::new();
    let (certificate, key) = site.issue(2);
    let chain = format!("{}{certificate}", site.authority.pem());
    site.folder.write("cert.pem", chain.as_bytes());
    site.folder.write("key.pem", key.as_bytes());
    let why = "the key is that of certificate 2 of 2; put it first, then the one that signed it";
    assert!(site.refusal().contains(why), "{}", site.refusal());
    site.folder.write("key.pem", P521.as_bytes());
    let why = "the key is of a kind that is not supported; use ECDSA on P-256 or P-384";
    assert!(site.refusal().contains(why), "{}", site.refusal());
}

#[test]
fn files_of_tls_may_begin_with_a_byte_order_mark() {
    let site = Site::new();
    let (certificate, key) = site.issue(7);
    site.folder.write("cert.pem", format!("\u{feff}{certificate}").as_bytes());
    site.folder.write("key.pem", format!("\u{feff}{key}").as_bytes());
    site.folder.write("ca.pem", format!("\u{feff}{}", site.authority.pem()).as_bytes());
    site.configure("[webhooks]\nca_file = \"ca.pem\"");
    let server = site.folder.serve();
    assert_eq!(site.presented(&server), [7]);
}

#[test]
fn a_peer_that_does_not_shake_hands_is_dropped_at_the_deadline() {
    let site = Site::new();
    let server = site.folder.serve();
    let mut silent = TcpStream::connect(server.address).unwrap();
    silent.set_read_timeout(Some(WAIT)).unwrap();
    // The start of a ClientHello, and no more.
    let mut stuck = TcpStream::connect(server.address).unwrap();
    stuck.write_all(&[22, 3, 1, 2, 0]).unwrap();
    stuck.set_read_timeout(Some(WAIT)).unwrap();
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    assert_eq!(stuck.read(&mut [0]).unwrap_or(0), 0);
    let mut garbage = TcpStream::connect(server.address).unwrap();
    garbage.write_all(b"\x00\xff\x00\xff\x00\xff").unwrap();
    drop(garbage.read_to_end(&mut Vec::new()));
    assert_eq!(site.presented(&server), [1]);
}

#[test]
fn a_file_of_authorities_that_cannot_be_used_is_named_at_the_start() {
    let site = Site::new();
    let (certificate, _) = site.issue(1);
    let unusable = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (content, why) in [
        (None, "ca.pem cannot be read: No such file or directory"),
        (Some("no PEM".to_owned()), "ca.pem holds 0 certificates; 1 to 256 are allowed"),
        (Some(certificate.repeat(257)), "ca.pem holds 257 certificates; 1 to 256 are allowed"),
        (Some("x".repeat(1_048_577)), "ca.pem is larger than 1 MiB"),
        (Some(unusable.to_owned()), "ca.pem holds an unusable certificate: "),
    ] {
        if let Some(content) = content {
            site.folder.write("ca.pem", content.as_bytes());
        }
        let acme = "acme_domains = [\"a.example.com\"]\nacme_ca_file = \"ca.pem\"";
        for (key, text) in [
            ("server.acme_ca_file", format!("[server]\n{acme}\n[data]\ndir = \"data\"\n")),
            (
                "webhooks.ca_file",
                "[data]\ndir = \"data\"\n[webhooks]\nca_file = \"ca.pem\"\n".to_owned(),
            ),
        ] {
            site.folder.write("posture.toml", text.as_bytes());
            let refusal = site.refusal();
            assert!(refusal.contains(&format!("{key}: {why}")), "{refusal}");
        }
    }
    site.folder.write("ca.pem", certificate.repeat(256).as_bytes());
    let text = "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[webhooks]\nca_file = \"ca.pem\"\n";
    site.folder.write("posture.toml", text.as_bytes());
    assert!(site.folder.serve().stop().success());
}
