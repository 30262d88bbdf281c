//! A server that speaks TLS where the service looks for its authority: a made-up one, or one that leads to Pebble.

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use ureq::tls::TlsConfig;

use super::pebble::Pebble;
use crate::harness::process::Folder;
use crate::harness::sink::{Request, Sink, read};
use crate::harness::tls::authority;

pub(super) type TlsStream = StreamOwned<ServerConnection, TcpStream>;

pub(super) struct Front {
    sink: Sink,
    requests: Arc<Mutex<Vec<Request>>>,
    root_pem: String,
}

impl Front {
    /// Answers each request with what `serve` writes.
    pub(super) fn start(serve: impl Fn(&Request, &mut TlsStream) + Send + Sync + 'static) -> Self {
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
        let (config, requests) = (Arc::new(config), Arc::new(Mutex::new(Vec::new())));
        let seen = Arc::clone(&requests);
        let sink = Sink::raw("127.0.0.1:0", move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            let Some(request) = read(&mut stream) else { return };
            seen.lock().unwrap().push(request.clone());
            serve(&request, &mut stream);
            stream.conn.send_close_notify();
            drop(stream.flush()); // Fails if the service no longer waits.
        });
        Self { sink, requests, root_pem: issuer.pem() }
    }

    /// Answers as Pebble does. `before_answer` sees each request that Pebble has answered.
    pub(super) fn of(
        pebble: &Pebble,
        before_answer: impl Fn(&Request) + Send + Sync + 'static,
    ) -> Self {
        let directory = pebble.directory();
        let base = directory.strip_suffix("/dir").unwrap().to_owned();
        let tls = TlsConfig::builder().disable_verification(true).build();
        let config = ureq::Agent::config_builder().tls_config(tls).http_status_as_error(false);
        let agent = ureq::Agent::new_with_config(config.build());
        Self::start(move |request, stream| {
            let (method, path) = request.line.split_once(' ').unwrap();
            let mut onward =
                ureq::http::Request::builder().method(method).uri(format!("{base}{path}"));
            // By the host, Pebble makes its URLs lead here.
            for name in ["host", "content-type", "user-agent"] {
                onward = request
                    .header(name)
                    .into_iter()
                    .fold(onward, |it, value| it.header(name, value));
            }
            let answer = if method == "POST" {
                agent.run(onward.body(request.body.clone()).unwrap())
            } else {
                agent.run(onward.body(()).unwrap())
            };
            let (head, mut body) = answer.unwrap().into_parts();
            let body = body.read_to_vec().unwrap();
            before_answer(request);
            let mut lines =
                vec![format!("HTTP/1.1 {}", head.status), "connection: close".to_owned()];
            for name in ["replay-nonce", "location", "content-type", "link", "retry-after"] {
                let values = head.headers.get_all(name).into_iter();
                lines.extend(values.map(|it| format!("{name}: {}", it.to_str().unwrap())));
            }
            lines.push(format!("content-length: {}\r\n\r\n", body.len()));
            let text = lines.join("\r\n");
            drop(stream.write_all(&[text.as_bytes(), &body].concat()));
        })
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// A configuration that orders a certificate from it.
    pub(super) fn folder(&self, [http, tls]: [u16; 2], domain: &str) -> Folder {
        let folder = Folder::new();
        folder.write("ca.pem", self.root_pem.as_bytes());
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:{tls}\"\nhttp_listen = \"127.0.0.1:{http}\"\nacme_domains = [\"{domain}\"]\n\
             acme_directory = \"https://{}/dir\"\nacme_ca_file = \"ca.pem\"\n[data]\ndir = \"data\"\n",
            self.sink.address
        );
        folder.write("posture.toml", text.as_bytes());
        folder
    }
}
