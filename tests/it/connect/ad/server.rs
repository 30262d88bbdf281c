//! A domain controller that answers as a test says, over TLS with a certificate of its own.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use posture::connect::ad::{Reader, element, integer};
use posture::egress::{Fingerprint, Trust};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sha2::{Digest, Sha256};

pub const BASE: &str = "DC=acme,DC=test";
pub const BIND: u8 = 0x60;
pub const SEARCH: u8 = 0x63;

/// What a client asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub id: i32,
    pub operation: u8,
    pub base: String,
    /// The tag of the filter.
    pub filter: u8,
    pub attributes: Vec<String>,
    /// `None`: no pages are asked for.
    pub page: Option<(i32, Vec<u8>)>,
    /// Of a sign-in.
    pub user: String,
    pub password: String,
}

impl Asked {
    pub fn wants(&self, attribute: &str) -> bool {
        self.attributes.iter().any(|it| it == attribute)
    }

    pub fn cookie(&self) -> String {
        let cookie = self.page.as_ref().map(|it| it.1.clone()).unwrap_or_default();
        String::from_utf8(cookie).unwrap()
    }
}

thread_local! {
    static IS_LAST: Cell<bool> = const { Cell::new(false) };
}

/// Ends the connection after what the script answers now, which may be a part of an answer.
pub fn end_after_this() {
    IS_LAST.set(true);
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn asked(message: &[u8]) -> Asked {
    let mut message = Reader::new(Reader::new(message).expect(0x30).unwrap());
    let id = message.integer(2).unwrap();
    let (operation, content) = message.element().unwrap();
    let mut content = Reader::new(content);
    let mut asked = Asked { id, operation, ..Asked::default() };
    if operation == BIND {
        assert_eq!(content.integer(2), Ok(3));
        asked.user = text(content.expect(4).unwrap());
        asked.password = text(content.expect(0x80).unwrap());
    }
    if operation == SEARCH {
        asked.base = text(content.expect(4).unwrap());
        for tag in [0x0a, 0x0a, 2, 2, 1] {
            content.expect(tag).unwrap();
        }
        asked.filter = content.element().unwrap().0;
        let mut attributes = Reader::new(content.expect(0x30).unwrap());
        while !attributes.is_empty() {
            asked.attributes.push(text(attributes.expect(4).unwrap()));
        }
    }
    if let Some(controls) = message.find(0xa0).unwrap() {
        let mut control = Reader::new(Reader::new(controls).expect(0x30).unwrap());
        assert_eq!(control.expect(4).unwrap(), b"1.2.840.113556.1.4.319");
        assert_eq!(control.expect(1).unwrap(), [0xff], "critical");
        let mut value = Reader::new(control.expect(4).unwrap());
        let mut page = Reader::new(value.expect(0x30).unwrap());
        asked.page = Some((page.integer(2).unwrap(), page.expect(4).unwrap().to_vec()));
    }
    asked
}

/// What is sent for one request. Nothing more is read once it is empty.
pub type Script = dyn Fn(&Asked) -> Vec<u8> + Send + Sync;

pub struct Server {
    pub address: SocketAddr,
    pub fingerprint: Fingerprint,
    pub pem: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Its certificate is for these names.
    pub fn named(
        names: &[&str],
        script: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
        Self::with(&CertificateParams::new(names).unwrap(), script)
    }

    pub fn with(
        params: &CertificateParams,
        script: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let digest = hex::encode(Sha256::digest(certificate.der()));
        let private = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![certificate.der().clone()], private)
                .unwrap();
        let (config, script) = (Arc::new(config), Arc::new(script));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (config, script) = (Arc::clone(&config), Arc::clone(&script));
                let log = Arc::clone(&log);
                thread::spawn(move || serve(stream.unwrap(), config, &*script, &log));
            }
        });
        Self { address, fingerprint: digest.parse().unwrap(), pem: certificate.pem(), asked }
    }

    pub fn start(script: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::named(&["127.0.0.1"], script)
    }

    pub fn trust(&self) -> Trust {
        Trust::Pinned(self.fingerprint)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>, script: &Script, log: &Mutex<Vec<Asked>>) {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    loop {
        let mut head = [0; 2];
        if stream.read_exact(&mut head).is_err() {
            return;
        }
        let mut length = usize::from(head[1]);
        let mut message = head.to_vec();
        if 0x80 <= length {
            let mut bytes = vec![0; length - 0x80];
            stream.read_exact(&mut bytes).unwrap();
            length = bytes.iter().fold(0, |n, it| n << 8 | usize::from(*it));
            message.extend(bytes);
        }
        let mut content = vec![0; length];
        stream.read_exact(&mut content).unwrap();
        message.extend(content);
        let asked = asked(&message);
        log.lock().unwrap().push(asked.clone());
        let answer = script(&asked);
        let is_sent = !answer.is_empty() && stream.write_all(&answer).is_ok();
        if !is_sent || stream.flush().is_err() || IS_LAST.get() {
            // Orderly, so that the client sees an end and no reset.
            stream.conn.send_close_notify();
            drop(stream.flush());
            return;
        }
    }
}

pub fn message(id: i32, operation: &[u8]) -> Vec<u8> {
    element(0x30, &[&integer(2, id)[..], operation])
}

fn result(tag: u8, code: i32, text: &str) -> Vec<u8> {
    element(tag, &[integer(0x0a, code), element(4, &[""]), element(4, &[text])])
}

pub fn bound(id: i32, code: i32, text: &str) -> Vec<u8> {
    message(id, &result(0x61, code, text))
}

pub fn done(id: i32, code: i32) -> Vec<u8> {
    message(id, &result(0x65, code, ""))
}

/// The end of a page.
pub fn page(id: i32, cookie: &str) -> Vec<u8> {
    let value = element(0x30, &[integer(2, 0), element(4, &[cookie])]);
    let oid = element(4, &["1.2.840.113556.1.4.319"]);
    let control = element(0x30, &[oid, element(4, &[value])]);
    let done = result(0x65, 0, "");
    element(0x30, &[integer(2, id), done, element(0xa0, &[control])])
}

/// Says that the connection ends. It answers no request.
pub fn notice() -> Vec<u8> {
    message(0, &result(0x78, 52, "going down"))
}

pub fn reference(id: i32) -> Vec<u8> {
    message(
        id,
        &element(0x73, &[element(4, &["ldaps://acme.test/CN=Configuration,DC=acme,DC=test"])]),
    )
}

/// An object, with the attributes that it has.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub dn: String,
    pub attributes: BTreeMap<String, Vec<Vec<u8>>>,
}

impl Row {
    pub fn new(dn: &str) -> Self {
        Self { dn: dn.to_owned(), ..Self::default() }
    }

    pub fn with(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.with_all(name, [value.as_ref().to_vec()])
    }

    pub fn with_all(mut self, name: &str, values: impl IntoIterator<Item = Vec<u8>>) -> Self {
        self.attributes.insert(name.to_owned(), values.into_iter().collect());
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.attributes.remove(name);
        self
    }

    pub fn encode(&self, id: i32) -> Vec<u8> {
        let attribute = |(name, values): (&String, &Vec<Vec<u8>>)| {
            let values: Vec<_> = values.iter().map(|it| element(4, &[it])).collect();
            element(0x30, &[element(4, &[name]), element(0x31, &values)])
        };
        let attributes: Vec<_> = self.attributes.iter().map(attribute).collect();
        message(id, &element(0x64, &[element(4, &[&self.dn]), element(0x30, &attributes)]))
    }
}
