//! An authority that is not Pebble: slow, mistaken, or unknown.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::harness::process::{Folder, wait_until};
use crate::harness::sink::Sink;
use crate::harness::tls::authority;

const WAIT: Duration = Duration::from_mins(1);

struct Authority {
    sink: Sink,
    /// The lines of its requests.
    asked: Arc<Mutex<Vec<String>>>,
    root_pem: String,
}

impl Authority {
    /// Its directory leads to URLs that begin so, and takes so long between its head and its body.
    fn start(base: Option<&'static str>, pause: Duration) -> Self {
        let issuer = authority();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap().der().clone();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let config = Arc::new(config);
        let asked = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&asked);
        let sink = Sink::raw("127.0.0.1:0", move |stream| {
            let own = format!("https://{}", stream.local_addr().unwrap());
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            let Some(line) = read_line(&mut stream) else { return };
            lines.lock().unwrap().push(line);
            let base = base.unwrap_or(&own);
            let body = format!(
                "{{\"newNonce\":\"{base}/nonce\",\"newAccount\":\"{base}/account\",\"newOrder\":\"{base}/order\"}}"
            );
            let n = body.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {n}\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            std::thread::sleep(pause);
            // Fails if the service no longer waits.
            drop(stream.write_all(body.as_bytes()));
            stream.conn.send_close_notify();
            drop(stream.flush());
        });
        Self { sink, asked, root_pem: issuer.pem() }
    }

    /// A configuration that orders a certificate from it.
    fn folder(&self) -> Folder {
        let folder = Folder::new();
        folder.write("ca.pem", self.root_pem.as_bytes());
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\nhttp_listen = \"127.0.0.1:0\"\nacme_domains = [\"posture.example.com\"]\n\
             acme_directory = \"https://{}/dir\"\nacme_ca_file = \"ca.pem\"\n[data]\ndir = \"data\"\n",
            self.sink.address
        );
        folder.write("posture.toml", text.as_bytes());
        folder
    }
}

/// The first line of a request, once its head is complete.
fn read_line(stream: &mut StreamOwned<ServerConnection, TcpStream>) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap().lines().next().map(str::to_owned)
}

fn log(folder: &Folder) -> String {
    std::fs::read_to_string(folder.path().join("serve.log")).unwrap()
}

#[test]
fn an_authority_may_take_its_time_over_an_answer() {
    let authority = Authority::start(None, Duration::from_secs(3));
    let folder = authority.folder();
    let _server = folder.serve();
    let has_asked = |line: &str| authority.asked.lock().unwrap().iter().any(|it| it == line);
    assert!(wait_until(WAIT, || has_asked("HEAD /nonce HTTP/1.1")), "{}", log(&folder));
    assert!(has_asked("GET /dir HTTP/1.1"));
}

#[test]
fn a_refused_url_of_an_authority_names_no_setting_of_webhooks() {
    for (base, rule) in [
        ("http://127.0.0.1:1", "http:// is not allowed to 127.0.0.1; "),
        ("http://ca.example.com", "must begin with `https://`; "),
    ] {
        let authority = Authority::start(Some(base), Duration::ZERO);
        let folder = authority.folder();
        let _server = folder.serve();
        let said = format!(
            "{base}/nonce: not sent: {rule}the directory at `server.acme_directory` names it"
        );
        assert!(wait_until(WAIT, || log(&folder).contains(&said)), "{}", log(&folder));
        assert!(!log(&folder).contains("webhooks."), "{}", log(&folder));
    }
}

#[test]
fn an_unknown_authority_can_be_made_known_by_a_setting() {
    let authority = Authority::start(None, Duration::ZERO);
    let folder = authority.folder();
    let text = std::fs::read_to_string(folder.path().join("posture.toml")).unwrap();
    folder.write("posture.toml", text.replace("acme_ca_file = \"ca.pem\"\n", "").as_bytes());
    let _server = folder.serve();
    let said = "UnknownIssuer; if the authority is your own, name the file of its root in `server.acme_ca_file`";
    assert!(wait_until(WAIT, || log(&folder).contains(said)), "{}", log(&folder));
}
