//! HTTP/2: the limits of HTTP/1.1, and what only a peer with many requests on one connection can do.

mod frame;

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::header::CONTENT_LENGTH;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use posture::serve::certificate::Presented;
use posture::serve::certificate::files::{CertificateFiles, present};
use posture::serve::http::limit::{ConnectionLimits, STREAMS_MAX};
use posture::serve::http::listen::Listener;
use rcgen::generate_simple_self_signed;
use rustls::pki_types::ServerName;
use rustls::{ALL_VERSIONS, ClientConfig};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::edge::{Edge, LARGE_BYTES, PATIENCE, SHORT, lazy, short};
use crate::harness::tls::trusting;
use frame::{
    CALM_DOWN, CONTINUATION, END_HEADERS, END_STREAM, Frame, FrameWire, GO_AWAY, HEADERS, PING,
    REFUSED, RESET, SETTINGS,
};

const NAME: &str = "posture.example.com";

/// An edge that serves HTTPS.
struct Site {
    edge: Edge,
    trust: Arc<ClientConfig>,
}

impl Site {
    fn start(limits: ConnectionLimits) -> Self {
        let folder = TempDir::new().unwrap();
        let [certificate, key] = ["cert.pem", "key.pem"].map(|it| folder.path().join(it));
        let made = generate_simple_self_signed([NAME.to_owned()]).unwrap();
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let presented = Arc::<Presented>::default();
        present(&CertificateFiles { certificate, key }, &presented).unwrap();
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(Listener::tcp("127.0.0.1:0".parse().unwrap())).unwrap();
        let listener = listener.with_tls(presented.config().unwrap());
        let edge = Edge::on(runtime, listener, limits, watch::Sender::new(false));
        let mut trust = trusting(made.cert.der(), ALL_VERSIONS);
        trust.alpn_protocols = vec![b"h2".to_vec()];
        Self { edge, trust: Arc::new(trust) }
    }

    fn connect(&self) -> Client {
        let runtime = Runtime::new().unwrap();
        let (requests, connection) = runtime.block_on(async {
            let stream = TcpStream::connect(self.edge.address).await.unwrap();
            let name = ServerName::try_from(NAME).unwrap();
            let tls = TlsConnector::from(Arc::clone(&self.trust));
            let stream = TokioIo::new(tls.connect(name, stream).await.unwrap());
            let (requests, connection) =
                http2::handshake(TokioExecutor::new(), stream).await.unwrap();
            (requests, runtime.spawn(connection))
        });
        Client { runtime, requests, connection }
    }

    /// A peer that may send any frames.
    fn wire(&self) -> FrameWire {
        FrameWire::connect(self.edge.address, Arc::clone(&self.trust), NAME)
    }

    fn wire_without_preface(&self) -> FrameWire {
        FrameWire::silent(self.edge.address, Arc::clone(&self.trust), NAME)
    }

    fn serves_others(&self) {
        assert_eq!(self.connect().get("/hello").body, "hello");
    }
}

struct Client {
    runtime: Runtime,
    requests: SendRequest<Full<Bytes>>,
    connection: JoinHandle<hyper::Result<()>>,
}

struct Answer {
    status: u16,
    length: Option<String>,
    body: String,
}

type Pending = JoinHandle<hyper::Result<Response<Incoming>>>;

impl Client {
    fn begin(&mut self, request: Request<Full<Bytes>>) -> Pending {
        let answer = self.requests.send_request(request);
        self.runtime.spawn(answer)
    }

    fn finish(&self, pending: Pending) -> Answer {
        self.runtime.block_on(async {
            let (head, body) =
                timeout(PATIENCE, pending).await.unwrap().unwrap().unwrap().into_parts();
            let body = timeout(PATIENCE, body.collect()).await.unwrap().unwrap().to_bytes();
            let length = head.headers.get(CONTENT_LENGTH).map(|it| it.to_str().unwrap().to_owned());
            let body = String::from_utf8(body.to_vec()).unwrap();
            Answer { status: head.status.as_u16(), length, body }
        })
    }

    fn ask(&mut self, request: Request<Full<Bytes>>) -> Answer {
        let pending = self.begin(request);
        self.finish(pending)
    }

    fn get(&mut self, path: &str) -> Answer {
        self.ask(get(path))
    }

    fn closes(self) {
        let ended = self.runtime.block_on(async { timeout(PATIENCE, self.connection).await });
        ended.expect("the edge closes").unwrap().unwrap();
    }
}

fn request(method: Method, path: &str, body: &str) -> Request<Full<Bytes>> {
    let uri = format!("https://{NAME}{path}");
    let body = Full::new(Bytes::from(body.to_owned()));
    Request::builder().method(method).uri(uri).body(body).unwrap()
}

fn get(path: &str) -> Request<Full<Bytes>> {
    request(Method::GET, path, "")
}

fn with_header(name: &str, value: &str) -> Request<Full<Bytes>> {
    let mut request = get("/hello");
    let name = hyper::header::HeaderName::from_bytes(name.as_bytes()).unwrap();
    request.headers_mut().append(name, value.parse().unwrap());
    request
}

impl Answer {
    fn refuses(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{}", self.body);
        let body: serde_json::Value = serde_json::from_str(&self.body).expect("JSON");
        assert_eq!(body["error"]["code"], code, "{}", self.body);
    }
}

#[test]
fn requests_on_one_connection_do_not_wait_for_each_other() {
    let site = Site::start(lazy());
    let mut client = site.connect();
    let stuck = client.begin(get("/never"));
    site.edge.begun.recv_timeout(PATIENCE).expect("the request begins");
    assert_eq!(client.get("/hello").body, "hello");
    assert_eq!(client.ask(request(Method::POST, "/echo", "some text")).body, "some text");
    assert_eq!(client.get("/large").body.len(), LARGE_BYTES);
    client.get("/panic").refuses(500, "INTERNAL");
    client.get("/absent").refuses(404, "NOT_FOUND");
    let answer = client.ask(request(Method::POST, "/deaf", &"x".repeat(1_000_000)));
    answer.refuses(401, "UNAUTHORIZED");
    assert_eq!(client.get("/host").body, NAME, "the application finds it where others send it");
    let head = client.ask(request(Method::HEAD, "/hello", ""));
    assert_eq!((head.status, head.length.as_deref(), &*head.body), (200, Some("5"), ""));
    assert_eq!(client.get("/hello").length.as_deref(), Some("5"));
    assert!(!stuck.is_finished());
}

#[test]
fn requests_are_taken_up_to_the_limits_of_http_1_and_no_further() {
    let site = Site::start(ConnectionLimits { body_bytes_max: 1_000, ..lazy() });
    let mut client = site.connect();
    let many = |n: usize| {
        let mut request = get("/hello");
        for index in 0..n {
            let name = format!("x-{index}").parse::<hyper::header::HeaderName>().unwrap();
            request.headers_mut().append(name, "x".parse().unwrap());
        }
        request
    };
    assert_eq!(client.ask(many(64)).status, 200);
    client.ask(many(65)).refuses(431, "HEADERS_TOO_LARGE");
    // The list counts 32 bytes beside each header.
    assert_eq!(client.ask(with_header("x-long", &"x".repeat(16_000))).status, 200);
    assert_eq!(client.ask(with_header("x-long", &"x".repeat(16_384))).status, 431);
    let long =
        |n: usize| get(&format!("/hello?{}", "x".repeat(n - NAME.len() - "https:///hello?".len())));
    assert_eq!(client.ask(long(8_192)).status, 200);
    client.ask(long(8_193)).refuses(414, "URI_TOO_LONG");
    assert_eq!(client.ask(request(Method::POST, "/echo", &"x".repeat(1_000))).status, 200);
    client
        .ask(request(Method::POST, "/echo", &"x".repeat(1_001)))
        .refuses(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(client.ask(with_header("host", NAME)).status, 200);
    client.ask(with_header("host", "elsewhere.example.com")).refuses(400, "VALIDATION_ERROR");
    assert_eq!(client.get("/target?a=1").body, "GET /target?a=1");
    // Without :authority and Host.
    let mut wire = site.wire();
    wire.request(1, "GET", "/hello", &[]);
    wire.until(|it| it.kind == HEADERS && it.stream == 1);
    let refusal = wire.until(|it| it.kind == frame::DATA && it.stream == 1);
    assert!(String::from_utf8_lossy(&refusal.payload).contains("a Host header is required"));
}

#[test]
fn a_connection_has_a_limited_number_of_requests_in_progress() {
    let site = Site::start(lazy());
    let mut wire = site.wire();
    let ids: Vec<_> = (0..=STREAMS_MAX).map(|it| 2 * it + 1).collect();
    let (last, others) = ids.split_last().unwrap();
    for id in others {
        wire.request(*id, "GET", "/never", &[("host", NAME)]);
        site.edge.begun.recv_timeout(PATIENCE).expect("the request begins");
    }
    wire.request(*last, "GET", "/never", &[("host", NAME)]);
    let refused = wire.until(|it| it.kind == RESET);
    assert_eq!((refused.stream, refused.code()), (*last, REFUSED));
}

#[test]
fn a_client_that_begins_many_before_it_knows_the_limit_is_served() {
    let site = Site::start(lazy());
    let mut wire = site.wire();
    let head = frame::head("GET", "/never", &[("host", NAME)]);
    let many =
        (0..100).map(|it| frame::bytes(HEADERS, END_HEADERS | END_STREAM, 2 * it + 1, &head));
    wire.send_bytes(&many.flatten().collect::<Vec<_>>());
    for _ in 0..68 {
        assert_eq!(wire.until(|it| it.kind == RESET || it.kind == GO_AWAY).code(), REFUSED);
    }
    wire.send(RESET, 0, 1, &8_u32.to_be_bytes());
    wire.request(1_001, "GET", "/hello", &[("host", NAME)]);
    assert_eq!(wire.until(|it| it.kind == frame::DATA).payload, b"hello");
}

#[test]
fn a_body_that_stalls_ends_its_request_alone() {
    let site = Site::start(ConnectionLimits { body_timeout: SHORT, ..lazy() });
    let mut wire = site.wire();
    wire.begin(1, "POST", "/echo", &[("host", NAME), ("content-length", "9")]);
    wire.until(|it| it.kind == HEADERS && it.stream == 1);
    let answer = wire.until(|it| it.kind == frame::DATA && it.stream == 1);
    assert!(String::from_utf8_lossy(&answer.payload).contains("did not arrive in time"));
    wire.request(3, "GET", "/hello", &[("host", NAME)]);
    let answer = wire.until(|it| it.kind == frame::DATA && it.stream == 3);
    assert_eq!(answer.payload, b"hello");
}

#[test]
fn an_answer_that_is_not_taken_ends_alone() {
    let site = Site::start(ConnectionLimits { write_timeout: SHORT, ..lazy() });
    let mut client = site.connect();
    let pending = client.begin(get("/large"));
    let answer = client.runtime.block_on(pending).unwrap().unwrap();
    // The peer takes a window of it and no more, while its other requests go on.
    let until = std::time::Instant::now() + 4 * SHORT;
    while std::time::Instant::now() < until {
        assert_eq!(client.get("/hello").body, "hello");
    }
    let read =
        client.runtime.block_on(async { timeout(PATIENCE, answer.collect()).await.unwrap() });
    let error = read.expect_err("the answer was canceled");
    assert!(format!("{error:?}").contains("CANCEL"), "{error:?}");
    assert_eq!(client.get("/hello").body, "hello");
    // A peer that takes it slowly gets all of it.
    let mut answer = client.runtime.block_on(client.requests.send_request(get("/large"))).unwrap();
    let n_bytes = client.runtime.block_on(async {
        let mut n_bytes = 0;
        while let Some(frame) = answer.frame().await {
            n_bytes += frame.unwrap().data_ref().map_or(0, Bytes::len);
            if n_bytes < 100_000 {
                tokio::time::sleep(SHORT / 4).await;
            }
        }
        n_bytes
    });
    assert_eq!(n_bytes, LARGE_BYTES);
}

#[test]
fn a_connection_without_requests_is_closed_whatever_else_it_sends() {
    let site = Site::start(ConnectionLimits { head_timeout: 2 * SHORT, ..lazy() });
    let mut idle = site.connect();
    assert_eq!(idle.get("/hello").body, "hello");
    idle.closes();
    // Longer than an idle one may be, but in progress.
    let mut busy = site.connect();
    let stuck = busy.begin(get("/never"));
    site.edge.begun.recv_timeout(PATIENCE).expect("the request begins");
    std::thread::sleep(4 * SHORT);
    assert!(!stuck.is_finished());
    assert_eq!(busy.get("/hello").body, "hello");
    let mut pings = site.wire();
    while pings.try_send(PING, 0, 0, &[0; 8]) {
        std::thread::sleep(SHORT / 8);
    }
    pings.lasted(2 * SHORT);
    let mut half = site.wire();
    half.send(HEADERS, END_STREAM, 1, &frame::head("GET", "/hello", &[("host", NAME)]));
    half.closes();
    half.lasted(2 * SHORT);
}

#[test]
fn an_idle_connection_makes_room_and_a_busy_one_does_not() {
    let site = Site::start(ConnectionLimits { connections_max: 2, ..lazy() });
    let mut busy = site.connect();
    let stuck = busy.begin(get("/never"));
    site.edge.begun.recv_timeout(PATIENCE).expect("the request begins");
    let mut idle = site.connect();
    assert_eq!(idle.get("/hello").body, "hello");
    site.serves_others();
    idle.closes();
    assert!(!stuck.is_finished());
    assert_eq!(busy.get("/hello").body, "hello");
}

#[test]
fn the_stop_lets_requests_finish() {
    let site = Site::start(lazy());
    let mut client = site.connect();
    let slow = client.begin(get("/slow"));
    site.edge.begun.recv_timeout(PATIENCE).expect("the request begins");
    let idle = site.connect();
    site.edge.stop.send_replace(true);
    assert_eq!(client.finish(slow).body, "slow");
    client.closes();
    idle.closes();
    site.edge.ends();
}

#[test]
fn requests_that_are_canceled_at_once_end_the_connection() {
    let site = Site::start(lazy());
    let mut wire = site.wire();
    let mut frames = Vec::new();
    for id in (1..200).step_by(2) {
        let head = frame::head("GET", "/hello", &[("host", NAME)]);
        frames.extend(frame::bytes(HEADERS, END_HEADERS | END_STREAM, id, &head));
        frames.extend(frame::bytes(RESET, 0, id, &8_u32.to_be_bytes()));
    }
    wire.send_bytes(&frames);
    assert_eq!(wire.until(|it| it.kind == GO_AWAY).goodbye(), CALM_DOWN);
    site.serves_others();
}

#[test]
fn requests_that_are_abandoned_again_and_again_end_the_connection() {
    let site = Site::start(lazy());
    let mut wire = site.wire();
    let abandon = |wire: &mut FrameWire, id| {
        wire.request(id, "GET", "/never", &[("host", NAME)]);
        site.edge.begun.recv_timeout(PATIENCE).expect("the request begins");
        wire.send(RESET, 0, id, &8_u32.to_be_bytes());
    };
    for index in 0..100 {
        abandon(&mut wire, 2 * index + 1);
    }
    wire.request(1_001, "GET", "/hello", &[("host", NAME)]);
    assert_eq!(wire.until(|it| it.kind == frame::DATA).payload, b"hello", "after a hundred");
    abandon(&mut wire, 1_003);
    assert_eq!(wire.until(|it| it.kind == GO_AWAY).goodbye(), 0);
    wire.closes();
    site.serves_others();
}

#[test]
fn a_head_without_an_end_ends_the_connection() {
    let site = Site::start(lazy());
    let mut wire = site.wire();
    wire.send(HEADERS, END_STREAM, 1, &frame::head("GET", "/hello", &[("host", NAME)]));
    while wire.try_send(CONTINUATION, 0, 1, &frame::field("x-more", "x")) {}
    wire.closes();
    site.serves_others();
}

#[test]
fn settings_whose_acknowledgements_are_not_read_end_the_connection() {
    let site = Site::start(ConnectionLimits { write_timeout: SHORT, ..lazy() });
    let mut wire = site.wire();
    let flood = frame::bytes(SETTINGS, 0, 0, &[]).repeat(10_000);
    // Nothing is read, so the edge cannot write what it owes, and reads no more.
    while wire.try_send_bytes(&flood) {}
    wire.lasted(SHORT);
    site.serves_others();
}

#[test]
fn frames_against_the_protocol_end_the_connection() {
    let site = Site::start(lazy());
    let broken: [(&str, Vec<u8>); 7] = [
        ("a frame larger than allowed", frame::bytes(frame::DATA, 0, 1, &vec![0; 20_000])),
        ("data of no request", frame::bytes(frame::DATA, 0, 1, b"x")),
        (
            "an even number",
            frame::bytes(HEADERS, END_HEADERS | END_STREAM, 2, &frame::head("GET", "/", &[])),
        ),
        (
            "a window of more than 2 GiB",
            frame::bytes(frame::WINDOW, 0, 0, &0x7fff_ffff_u32.to_be_bytes()),
        ),
        ("settings of seven bytes", frame::bytes(SETTINGS, 0, 0, &[0; 7])),
        (
            "a head that is not HPACK",
            frame::bytes(HEADERS, END_HEADERS | END_STREAM, 1, &[0xff; 40]),
        ),
        ("a continuation of nothing", frame::bytes(CONTINUATION, END_HEADERS, 1, &[])),
    ];
    for (what, bytes) in broken {
        let mut wire = site.wire();
        wire.send_bytes(&bytes);
        let goodbye: Frame = wire.until(|it| it.kind == GO_AWAY);
        assert_ne!(goodbye.goodbye(), 0, "{what}");
        wire.closes();
    }
    let mut not_http2 = site.wire_without_preface();
    not_http2.send_bytes(b"GET /hello HTTP/1.1\r\nHost: here\r\n\r\n");
    not_http2.closes();
    site.serves_others();
}

#[test]
fn a_peer_that_says_nothing_after_the_handshake_is_dropped_at_the_deadline() {
    let site = Site::start(short());
    let mut wire = site.wire_without_preface();
    wire.closes();
    wire.lasted(SHORT);
}
