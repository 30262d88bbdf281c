//! What is found on hosts that behave: open ports, what they say, what they are.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use posture::engine::asset::AssetType;
use posture::engine::network::scan::Answers;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{order, page, plan, scan, scan_at, settings};
use crate::harness::sink::Sink;
use posture::scan::plan::{ScanPlan, ScanPolicy};

fn says(at: &str, greeting: &'static [u8]) -> Sink {
    Sink::raw(at, move |mut stream| {
        let _ = stream.write_all(greeting);
        let _ = stream.read(&mut [0; 64]);
    })
}

#[test]
fn open_ports_and_what_they_say_are_found() {
    let ssh = says("127.31.0.1:22", b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n");
    let mail = says("127.31.0.1:2500", b"220 mail.example.org ESMTP Postfix\r\n");
    let text: &[u8] = b"HTTP/1.0 200 OK\r\nServer: nginx/1.22\r\n\r\n<html><title>Intranet</title>";
    let web = page("127.31.0.1:8080", text);
    let silent = Sink::raw("127.31.0.1:4000", |mut stream| drop(stream.read(&mut [0; 64])));
    let found = scan(&plan(&["127.31.0.1"], "20-25,2500,4000,8080"), &settings());
    assert_eq!(found.open("127.31.0.1"), [22, 2_500, 4_000, 8_080]);
    let host = found.host("127.31.0.1");
    assert_eq!((host.n_open, host.n_closed, host.n_silent), (4, 5, 0));
    assert_eq!(host.answers, Answers::Own);
    let port = |at: SocketAddr| {
        let it = found.port(at);
        (it.service.clone(), it.banner.clone(), it.is_identified)
    };
    let said = |service: &str, banner: &str| (service.to_owned(), banner.to_owned(), true);
    assert_eq!(port(ssh.address), said("ssh", "SSH-2.0-OpenSSH_9.2p1 Debian-2"));
    assert_eq!(port(mail.address), said("smtp", "220 mail.example.org ESMTP Postfix"));
    assert_eq!(port(web.address), said("http", "HTTP/1.0 200 OK; nginx/1.22; Intranet"));
    assert_eq!(port(silent.address), (String::new(), String::new(), false));
    assert_eq!(host.asset_type, AssetType::Server);
    assert_eq!(host.because, "a mail server: tcp/2500 says \"postfix\"");
}

#[test]
fn a_printers_raw_port_is_found_and_sent_nothing() {
    let (told, heard) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    let _printer = Sink::raw("127.31.0.2:9100", move |mut stream| {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        told.lock().unwrap().send(bytes).unwrap();
    });
    let _last = Sink::raw("127.31.0.2:9107", drop);
    let found = scan(&plan(&["127.31.0.2"], "9000-9200"), &settings());
    assert_eq!(found.open("127.31.0.2"), [9_100, 9_107]);
    let host = found.host("127.31.0.2");
    assert_eq!(host.asset_type, AssetType::Device);
    assert_eq!(host.because, "a printer: tcp/9100 open");
    while let Ok(bytes) = heard.recv_timeout(Duration::from_millis(500)) {
        assert_eq!(bytes, b"", "nothing is printed");
    }
}

/// A server with a certificate of its own, on a thread for each connection.
fn tls(at: &str) -> Sink {
    let mut params = rcgen::CertificateParams::new(vec!["nas.example.org".to_owned()]).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, "nas\u{1b}[2J");
    params.not_after = rcgen::date_time_ymd(2031, 1, 2);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    Sink::raw(at, move |stream| {
        let mut tls = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
        let _ = tls.read(&mut [0; 512]);
        let _ = tls
            .write_all(b"HTTP/1.0 401 No\r\nServer: Synology\r\nWWW-Authenticate: Basic\r\n\r\n");
        tls.conn.send_close_notify();
        let _ = tls.flush();
    })
}

#[test]
fn a_certificate_is_read_and_escaped() {
    let server = tls("127.31.0.3:443");
    let found = scan(&plan(&["127.31.0.3"], "443"), &settings());
    let port = found.port(server.address);
    assert!(port.is_encrypted);
    assert_eq!(port.tls, ["TLSv1.3"], "and it refuses what is outdated");
    let certificate = port.certificate.as_ref().unwrap();
    assert!(certificate.subject.contains("nas\\x1b[2J"), "{}", certificate.subject);
    assert_eq!(certificate.names, ["nas.example.org"]);
    assert_eq!(certificate.until.to_string(), "2031-01-02T00:00:00.000Z");
    assert!(certificate.is_self_signed);
    assert_eq!(port.banner, "HTTP/1.0 401 No; Synology; Basic");
    let host = found.host("127.31.0.3");
    assert_eq!(host.asset_type, AssetType::FileShare);
    assert_eq!(host.because, "a Synology NAS: tcp/443 says \"synology\"");
}

#[test]
fn a_server_that_takes_an_outdated_version_is_told() {
    // A ServerHello of TLS 1.0, as far as anybody reads it.
    let old = Sink::raw("127.31.0.4:443", |mut stream| {
        let mut hello = [0; 11];
        let _ = stream.read_exact(&mut hello);
        let _ = stream.write_all(&[22, 3, 1, 0, 42, 2, 0, 0, 38, 3, 1]);
    });
    let found = scan(&plan(&["127.31.0.4"], "443"), &settings());
    assert_eq!(found.port(old.address).tls, Vec::<String>::new(), "it speaks no TLS that we do");
    assert!(!found.port(old.address).is_encrypted);
}

#[test]
fn our_own_listeners_are_not_called() {
    let own = TcpListener::bind("127.31.0.5:8000").unwrap();
    own.set_nonblocking(true).unwrap();
    let other = Sink::raw("127.31.0.5:8001", drop);
    for listener in ["127.31.0.5:8000", "0.0.0.0:8000"] {
        let own = vec![listener.parse().unwrap()];
        let found = scan(&plan(&["127.31.0.5"], "8000-8001"), &settings_with(own));
        assert_eq!(found.open("127.31.0.5"), [other.address.port()], "{listener}");
    }
    assert!(own.accept().is_err(), "nobody came");
    let found = scan(&plan(&["127.31.0.5"], "8000-8001"), &settings());
    assert_eq!(found.open("127.31.0.5"), [8_000, 8_001], "unless it is nobody's");
}

fn settings_with(own: Vec<SocketAddr>) -> posture::scan::ScanSettings {
    posture::scan::ScanSettings { own, ..settings() }
}

#[test]
fn an_excluded_address_is_sent_nothing() {
    let excluded = TcpListener::bind("127.31.0.6:8000").unwrap();
    excluded.set_nonblocking(true).unwrap();
    let _other = Sink::raw("127.31.0.7:8000", drop);
    let policy =
        ScanPolicy { excluded: vec!["127.31.0.6/32".parse().unwrap()], ..super::anything() };
    let plan = ScanPlan::of(&order(&["127.31.0.6/31"], "8000"), &policy).unwrap();
    let found = scan(&plan, &settings());
    assert_eq!(found.tally.n_addresses, 1);
    assert_eq!(found.open("127.31.0.7"), [8_000]);
    assert!(excluded.accept().is_err(), "nobody came");
}

#[test]
fn no_more_probes_leave_in_a_second_than_allowed() {
    let begun = std::time::Instant::now();
    let found = scan_at(200, &plan(&["127.31.0.9"], "9201-9600"), &settings());
    assert_eq!(found.host("127.31.0.9").n_closed, 400);
    // Never earlier; how much later is the machine's affair.
    assert!(Duration::from_millis(1_900) < begun.elapsed(), "{:?}", begun.elapsed());
}

mod needs_ipv6 {
    use super::*;

    #[test]
    #[ignore = "needs IPv6"]
    fn an_ipv6_host_is_scanned_too() {
        let listener = TcpListener::bind("[::1]:0").unwrap();
        let number = listener.local_addr().unwrap().port();
        let found = scan(&plan(&["::1"], &number.to_string()), &settings());
        assert_eq!(found.open("::1"), [number]);
    }
}
