//! The edge around a small application, and a peer that may send any bytes.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use poem::endpoint::make;
use poem::http::{Method, StatusCode};
use poem::{EndpointExt, Request, Response};
use posture::api::SharedService;
use posture::api::edge::traffic::Traffic;
use posture::peer::Peer;
use posture::serve::http::limit::ConnectionLimits;
use posture::serve::http::listen::Listener;
use posture::serve::http::service;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::sleep;

/// What takes longer hangs. How busy the machine is must not decide a test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The waits that the edge is told to keep; long enough to be told from none.
pub(crate) const SHORT: Duration = Duration::from_millis(500);
/// More than the kernel takes off our hands for a reader that does not read.
pub(crate) const LARGE_BYTES: usize = 64 * 1_024 * 1_024;
pub(crate) const HELLO: &str = "GET /hello HTTP/1.1\r\nHost: here\r\n\r\n";

/// Deadlines that a test can wait for.
pub(crate) fn short() -> ConnectionLimits {
    ConnectionLimits { head_timeout: SHORT, body_timeout: SHORT, write_timeout: SHORT, ..lazy() }
}

/// Deadlines that no test reaches, but for the last one.
pub(crate) fn lazy() -> ConnectionLimits {
    let never = PATIENCE * 2;
    ConnectionLimits {
        head_timeout: never,
        body_timeout: never,
        write_timeout: never,
        drain_timeout: PATIENCE / 2,
        ..ConnectionLimits::default()
    }
}

/// A served application. Stops when dropped.
pub(crate) struct Edge {
    pub(crate) address: SocketAddr,
    pub(crate) stop: watch::Sender<bool>,
    /// Says so when `/slow` and `/never` are reached.
    pub(crate) begun: mpsc::Receiver<()>,
    ended: mpsc::Receiver<()>,
}

impl Edge {
    pub(crate) fn start(limits: ConnectionLimits) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let any = "127.0.0.1:0".parse().expect("an address");
        let listener = runtime.block_on(Listener::tcp(any)).expect("a free port");
        Self::on(runtime, listener, limits, watch::Sender::new(false))
    }

    pub(crate) fn on(
        runtime: Runtime,
        listener: Listener,
        limits: ConnectionLimits,
        stop: watch::Sender<bool>,
    ) -> Self {
        let stopped = stop.subscribe();
        let (reached, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let nowhere = "127.0.0.1:9".parse().expect("an address");
        let address = listener.local_addr().unwrap_or(nowhere);
        thread::spawn(move || {
            runtime.block_on(service::run(listener, app(reached), &limits, stopped));
            drop(end);
        });
        Self { address, stop, begun, ended }
    }

    pub(crate) fn connect(&self) -> Wire<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time limit");
        Wire::new(stream)
    }

    /// Waits until a new connection is served.
    pub(crate) fn serves_again(&self) {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let mut wire = self.connect();
            // The edge may close before it reads.
            let _ = wire.stream.write_all(HELLO.as_bytes());
            if matches!(wire.stream.read(&mut [0; 9]), Ok(9)) {
                return;
            }
        }
        panic!("no connection is served");
    }

    /// Waits for the end of a stopped edge.
    pub(crate) fn ends(&self) {
        let ended = self.ended.recv_timeout(PATIENCE);
        assert_eq!(ended, Err(mpsc::RecvTimeoutError::Disconnected), "the edge does not end");
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if !thread::panicking() {
            self.ends();
        }
    }
}

fn app(reached: mpsc::Sender<()>) -> SharedService {
    let app = make(move |request| answer(request, reached.clone()));
    SharedService {
        endpoint: Arc::new(app.boxed()),
        traffic: Arc::new(Traffic::of(std::iter::empty())),
        polls: Arc::default(),
    }
}

async fn answer(mut request: Request, reached: mpsc::Sender<()>) -> poem::Result<Response> {
    let body = match request.uri().path() {
        "/hello" if request.method() != Method::GET => {
            return Err(poem::error::MethodNotAllowedError.into());
        }
        "/hello" => "hello".to_owned(),
        "/target" => format!("{} {}", request.method(), request.uri()),
        "/host" => request.header("Host").unwrap_or("none").to_owned(),
        "/echo" => request.take_body().into_string().await?,
        "/deaf" => return Err(poem::Error::from_status(StatusCode::UNAUTHORIZED)),
        "/large" => "x".repeat(LARGE_BYTES),
        "/peer" => format!("{:?}", request.data::<Peer>().expect("each request has a peer")),
        "/panic" => panic!("as asked"),
        "/slow" => {
            reached.send(()).expect("the test listens");
            sleep(SHORT).await;
            "slow".to_owned()
        }
        "/never" => {
            reached.send(()).expect("the test listens");
            std::future::pending().await
        }
        _ => return Err(poem::error::NotFoundError.into()),
    };
    Ok(body.into())
}

/// The peer's end of a connection.
pub(crate) struct Wire<S> {
    pub(crate) stream: S,
    begin: Instant,
    ahead: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl<S: Read + Write> Wire<S> {
    /// `stream` must have its time limits.
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, begin: Instant::now(), ahead: Vec::new() }
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).expect("the edge reads");
    }

    /// The next answer; its body has a length.
    pub(crate) fn answer(&mut self) -> Answer {
        let head_bytes = loop {
            match self.ahead.windows(4).position(|it| it == b"\r\n\r\n") {
                Some(index) => break index + 4,
                None => self.read_more(),
            }
        };
        let head = String::from_utf8_lossy(&self.ahead[..head_bytes]).to_lowercase();
        let after = |name: &str| head.split_once(name).map(|(_, it)| it);
        let length = after("\r\ncontent-length: ").and_then(|it| it.split("\r\n").next());
        let body_bytes = length.map_or(0, |it| it.parse().expect("a length"));
        while self.ahead.len() < head_bytes + body_bytes {
            self.read_more();
        }
        let rest = self.ahead.split_off(head_bytes + body_bytes);
        let body = String::from_utf8_lossy(&self.ahead[head_bytes..]).into_owned();
        self.ahead = rest;
        let status = after("http/1.1 ").or(after("http/1.0 ")).expect("a status line");
        Answer { status: status[..3].parse().expect("a status"), head, body }
    }

    fn read_more(&mut self) {
        let mut piece = [0; 8 * 1_024];
        let n_bytes = self.stream.read(&mut piece).expect("the edge answers");
        let ahead = String::from_utf8_lossy(&self.ahead);
        assert_ne!(n_bytes, 0, "the edge closed after {ahead:?}");
        self.ahead.extend_from_slice(&piece[..n_bytes]);
    }

    /// Waits for the edge to close, and gives what came until then.
    pub(crate) fn closes(&mut self) -> String {
        let mut all = std::mem::take(&mut self.ahead);
        if let Err(error) = self.stream.read_to_end(&mut all) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "the edge does not close");
        }
        String::from_utf8_lossy(&all).into_owned()
    }

    /// Checks that the connection is at least `least` old, and did not hang.
    pub(crate) fn lasted(&self, least: Duration) {
        let age = self.begin.elapsed();
        assert!(least <= age && age < 2 * PATIENCE, "{age:?}");
    }
}

impl Wire<TcpStream> {
    pub(crate) fn is_silent_for(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).expect("a time limit");
        let read = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        read.is_err_and(|it| it.kind() == ErrorKind::WouldBlock)
    }
}

impl Answer {
    /// Whether the answer says that it is the last one.
    pub(crate) fn closes(&self) -> bool {
        self.head.contains("\r\nconnection: close\r\n")
    }

    /// Checks the status and the contract's Error body.
    pub(crate) fn refuses(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.head.contains("\r\ncontent-type: application/json"), "{self:?}");
        assert!(self.head.contains("\r\nx-request-id: "), "{self:?}");
        let body: serde_json::Value = serde_json::from_str(&self.body).expect("JSON");
        assert_eq!(body["success"], false, "{self:?}");
        assert_eq!(body["error"]["code"], code, "{self:?}");
        assert!(body["error"]["message"].is_string(), "{self:?}");
    }
}
