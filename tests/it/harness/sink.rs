//! Endpoints on loopback that do what they like with a connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// No endpoint waits longer for the rest of a request.
const WAIT: Duration = Duration::from_mins(1);

#[derive(Clone, Debug)]
pub struct Request {
    /// Method and target.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What a scripted endpoint answers.
type Answer = dyn Fn(&Request) -> Vec<u8> + Send + Sync;
/// Answers in its place. It may ask it.
type Front = dyn Fn(&Request, &Answer) -> Vec<u8> + Send + Sync;

pub struct Sink {
    pub address: SocketAddr,
    front: Arc<Mutex<Option<Arc<Front>>>>,
    n_accepted: Arc<AtomicUsize>,
    n_ended: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Sink {
    /// Hands every connection over as it was accepted, on a thread of its own.
    pub fn raw(at: &str, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        Self::start(TcpListener::bind(at).unwrap(), move |stream, _| serve(stream))
    }

    /// Reads each request and then answers it with these bytes.
    pub fn answering(at: &str, answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::after_request(at, move |mut stream| drop(stream.write_all(&answer)))
    }

    /// Reads each request before it hands the connection over.
    pub fn after_request(at: &str, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        Self::start(TcpListener::bind(at).unwrap(), move |mut stream, requests| {
            if let Some(request) = read(&mut stream) {
                requests.lock().unwrap().push(request);
                serve(stream);
            }
        })
    }

    /// Answers each request with what these bytes are made of, and ends the connection.
    pub fn scripted(
        at: &str,
        answer: impl Fn(&Request) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let front: Arc<Mutex<Option<Arc<Front>>>> = Arc::default();
        let known = Arc::clone(&front);
        let sink = Self::start(TcpListener::bind(at).unwrap(), move |mut stream, requests| {
            if let Some(request) = read(&mut stream) {
                let front = known.lock().unwrap().clone();
                let answer = match front {
                    Some(front) => front(&request, &answer),
                    None => answer(&request),
                };
                requests.lock().unwrap().push(request);
                drop(stream.write_all(&answer));
            }
        });
        Self { front, ..sink }
    }

    /// From now on, this answers in the place of a scripted endpoint.
    pub fn put_before(&self, front: impl Fn(&Request, &Answer) -> Vec<u8> + Send + Sync + 'static) {
        *self.front.lock().unwrap() = Some(Arc::new(front));
    }

    /// From now on, the script itself answers.
    pub fn clear(&self) {
        *self.front.lock().unwrap() = None;
    }

    fn start(
        listener: TcpListener,
        serve: impl Fn(TcpStream, &Mutex<Vec<Request>>) + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let [n_accepted, n_ended] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let sink = Self {
            address,
            front: Arc::default(),
            n_accepted: Arc::clone(&n_accepted),
            n_ended: Arc::clone(&n_ended),
            requests: Arc::clone(&requests),
        };
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                n_accepted.fetch_add(1, Ordering::SeqCst);
                stream.set_read_timeout(Some(WAIT)).unwrap();
                let (serve, requests) = (Arc::clone(&serve), Arc::clone(&requests));
                let n_ended = Arc::clone(&n_ended);
                thread::spawn(move || {
                    serve(stream, &requests);
                    n_ended.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        sink
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub fn n_accepted(&self) -> usize {
        self.n_accepted.load(Ordering::SeqCst)
    }

    /// Whether nothing is under way with any connection so far.
    pub fn is_idle(&self) -> bool {
        let n_ended = self.n_ended.load(Ordering::SeqCst);
        n_ended == self.n_accepted()
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// An address at which nobody listens, and nobody else can begin to: it is the near end of a connection that stays open.
pub struct Nobody {
    pub address: SocketAddr,
    _stream: TcpStream,
    _listener: TcpListener,
}

impl Nobody {
    pub fn listens() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        Self { address: stream.local_addr().unwrap(), _stream: stream, _listener: listener }
    }
}

/// `None` when the connection ends before the request does.
pub fn read(stream: &mut impl Read) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let n = stream.read(&mut piece).ok().filter(|it| 0 < *it)?;
        bytes.extend_from_slice(&piece[..n]);
        let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap().strip_suffix(" HTTP/1.1").unwrap().to_owned();
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_lowercase(), value.trim().to_owned())
        };
        let request =
            Request { line, headers: lines.map(header).collect(), body: bytes[end + 4..].to_vec() };
        let length = request.header("content-length").map_or(0, |it| it.parse().unwrap());
        if length <= request.body.len() {
            return Some(request);
        }
    }
}
