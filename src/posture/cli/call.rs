//! Sends a management request to the running server, or handles it in this process if none is running.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use poem::http::Uri;
use poem::{Body, Endpoint, Request};
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::serve_options;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::peer::Peer;
use crate::serve::{CONTROL_SOCKET, Opened, ServeOptions, open};
use crate::store::EngineOptions;

/// How many clients a batch comes to before its progress is shown again.
const N_BATCH_STEPS: usize = 25;

/// One management request.
pub(super) struct Call {
    pub(super) method: &'static str,
    /// With its query.
    pub(super) path: String,
    pub(super) content_type: &'static str,
    pub(super) body: Body,
}

impl Call {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self::of("GET", path, &Value::Null)
    }

    pub(super) fn delete(path: impl Into<String>) -> Self {
        Self::of("DELETE", path, &Value::Null)
    }

    pub(super) fn of(method: &'static str, path: impl Into<String>, body: &Value) -> Self {
        let body = if body.is_null() { Body::empty() } else { Body::from_string(body.to_string()) };
        Self { method, path: path.into(), content_type: "application/json", body }
    }
}

/// Runs `talk`, which makes calls, on a runtime of its own. They are answered by the running server, or in this process.
///
/// # Errors
/// Those of `talk`; `Conflict` when a process that does not answer has the database open.
pub(super) fn with_session<T>(
    options: &Config,
    talk: impl AsyncFnOnce(&ServerSession) -> Result<T>,
) -> Result<T> {
    run_session(ServerSession::begin(options), talk)
}

/// As [`with_session`], with a copy of the database in another folder: calls are answered in this process, with a key file
/// of their own.
///
/// # Errors
/// Those of `talk`, and of opening the copy.
pub(super) fn with_copy<T>(
    options: &Config,
    dir: &Path,
    talk: impl AsyncFnOnce(&ServerSession) -> Result<T>,
) -> Result<T> {
    let begin = async {
        let options = serve_options(options)?;
        let (dir, engine) = (dir.to_owned(), EngineOptions::File);
        let options = ServeOptions { dir, key_file: None, engine, ..options };
        Ok(ServerSession::Here(Box::new(open(&options)?)))
    };
    run_session(begin, talk)
}

fn run_session<T>(
    begin: impl Future<Output = Result<ServerSession>>,
    talk: impl AsyncFnOnce(&ServerSession) -> Result<T>,
) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(Error::internal)?;
    runtime.block_on(async {
        let session = begin.await?;
        let result = talk(&session).await;
        let ended = session.end().await;
        // The command's own error comes before that of closing the database.
        let value = result?;
        ended.map(|()| value)
    })
}

/// The API's response to one call.
///
/// # Errors
/// As [`with_session`].
pub(super) fn call(options: &Config, call: Call) -> Result<Value> {
    with_session(options, async |session| session.call(call).await)
}

/// The running server's response to one call. Without a server, none is started.
///
/// # Errors
/// `Unavailable` if no server is running, or it does not answer in time; as [`ServerSession::call`].
pub(super) fn ask_server(options: &Config, patience: Duration, call: Call) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(Error::internal)?.block_on(async {
        let Some(session) = ServerSession::running(options).await else {
            return Err(Error::unavailable("the server is not running"));
        };
        let late = |_| {
            let s = patience.as_secs();
            Error::unavailable(format!("the server did not answer within {s} seconds"))
        };
        timeout(patience, session.call(call)).await.map_err(late)?
    })
}

pub(super) enum ServerSession {
    /// A server is running and listens on this socket.
    Server(std::path::PathBuf),
    /// No server is running: this process has the database open.
    Here(Box<Opened>),
}

impl ServerSession {
    /// `None`: no server answers on the control socket.
    async fn running(options: &Config) -> Option<Self> {
        let socket = options.data.dir.join(CONTROL_SOCKET);
        UnixStream::connect(&socket).await.ok().map(|_| Self::Server(socket))
    }

    async fn begin(options: &Config) -> Result<Self> {
        if let Some(session) = Self::running(options).await {
            return Ok(session);
        }
        if options.file.is_none() && !options.data.dir.exists() {
            // The command was run in another directory than the service: do not create an empty installation there.
            return Err(Error::invalid(format!(
                "no posture.toml and no {} here; run this from the service's directory, pass --config FILE (or set \
                 POSTURE_CONFIG), or create an installation with `posture init`",
                options.data.dir.display()
            )));
        }
        let opened = open(&serve_options(options)?)?;
        opened.app.settle_installation().await?;
        Ok(Self::Here(Box::new(opened)))
    }

    /// Adds the first administrator if there are no users. Returns the name and password, or `None` where there are users,
    /// or where a server is running, which adds it itself.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub(super) async fn add_first_admin(&self) -> Result<Option<(String, String)>> {
        match self {
            Self::Server(_) => Ok(None),
            Self::Here(opened) => opened.app.add_first_admin().await,
        }
    }

    /// The application in this process.
    ///
    /// # Errors
    /// `Conflict` if a server is running.
    pub(super) fn alone(&self) -> Result<&Opened> {
        match self {
            Self::Server(_) => Err(Error::conflict("the service is running; stop it first")),
            Self::Here(opened) => Ok(opened),
        }
    }

    /// Waits while the server works on batches, or works on them in this process.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub(super) async fn work_on_batches(&self, wait: Duration) -> Result<()> {
        match self {
            Self::Server(_) => tokio::time::sleep(wait).await,
            Self::Here(opened) => {
                for _ in 0..N_BATCH_STEPS {
                    if !opened.app.advance_batches().await? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    async fn end(self) -> Result<()> {
        match self {
            Self::Server(_) => Ok(()),
            Self::Here(opened) => opened.close().await,
        }
    }

    /// All rows of a list, read page by page. `limit`: rows of a page.
    ///
    /// # Errors
    /// As [`ServerSession::call`].
    pub(super) async fn list(&self, path: &str, limit: u32) -> Result<Vec<Value>> {
        let join = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{join}limit={limit}");
        let mut rows = Vec::new();
        let mut place = String::new();
        loop {
            let mut answer = self.call(Call::get(format!("{path}{place}"))).await?;
            let n_before = rows.len();
            if let Value::Array(page) = answer["data"].take() {
                rows.extend(page);
            }
            let total = answer["pagination"]["total"].as_u64().unwrap_or(0);
            let is_more = n_before < rows.len() && (rows.len() as u64) < total;
            place = match answer["next"].as_str() {
                Some(next) => format!("&after={}", encoded(next)),
                None if is_more => format!("&offset={}", rows.len()),
                None => return Ok(rows),
            };
        }
    }

    /// The response's JSON; null when it has no body.
    ///
    /// # Errors
    /// `Invalid` with the API's message when it refuses the call.
    pub(super) async fn call(&self, call: Call) -> Result<Value> {
        let mut bytes = Vec::new();
        self.stream(call, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .await?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(Error::internal)
    }

    /// Hands out the response's body piece by piece.
    ///
    /// # Errors
    /// `Invalid` with the API's message when it refuses the call; those of `sink`.
    pub(super) async fn stream(&self, call: Call, sink: Sink<'_>) -> Result<()> {
        let mut refusal = Vec::new();
        let mut put = |status: u16, piece: &[u8]| {
            if (200..300).contains(&status) {
                return sink(piece);
            }
            refusal.extend_from_slice(piece);
            Ok(())
        };
        let status = match self {
            Self::Server(socket) => over(socket, call, &mut put).await?,
            Self::Here(opened) => here(opened, call, &mut put).await?,
        };
        if (200..300).contains(&status) {
            return Ok(());
        }
        let body: Value = serde_json::from_slice(&refusal).unwrap_or_default();
        let message = body["error"]["message"].as_str().map_or_else(
            || format!("the server responded with status {status} and no message"),
            str::to_owned,
        );
        Err(Error::invalid(message))
    }

    /// Returns true if a server is running.
    pub(super) fn is_server(&self) -> bool {
        matches!(self, Self::Server(_))
    }
}

/// Takes the pieces of a body.
type Sink<'a> = &'a mut (dyn FnMut(&[u8]) -> Result<()> + Send);
/// The same, with the status of the response.
type StatusSink<'a> = &'a mut (dyn FnMut(u16, &[u8]) -> Result<()> + Send);

async fn here(opened: &Opened, call: Call, sink: StatusSink<'_>) -> Result<u16> {
    let uri: Uri = call
        .path
        .parse()
        .map_err(|_| Error::invalid("what you entered is too long; shorten it"))?;
    let mut request = Request::builder()
        .method(call.method.parse().map_err(Error::internal)?)
        .uri(uri)
        .content_type(call.content_type)
        .body(call.body);
    request.extensions_mut().insert(Peer::Socket { uid: uid() });
    let response = opened.service.endpoint.get_response(request).await;
    let status = response.status().as_u16();
    let mut pieces = pin!(response.into_body().into_bytes_stream());
    while let Some(piece) = pieces.next().await {
        sink(status, &piece.map_err(Error::internal)?)?;
    }
    Ok(status)
}

/// The user that this process runs as, which owns its entry in `/proc`.
fn uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or(0, |it| it.uid())
}

async fn over(socket: &Path, call: Call, sink: StatusSink<'_>) -> Result<u16> {
    let lost = |error: hyper::Error| {
        Error::unavailable("the server closed the connection before it responded").caused_by(error)
    };
    let torn = |error: hyper::Error| {
        Error::unavailable("the server closed the connection before the end of its response")
            .caused_by(error)
    };
    let stream = UnixStream::connect(socket).await.map_err(|error| {
        Error::unavailable(
            "the server does not answer on its control socket; check `posture status`, then try again",
        )
        .caused_by(error)
    })?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
    let body: BoxBody<Bytes, std::io::Error> = call.body.into();
    let request = hyper::Request::builder()
        .method(call.method)
        .uri(call.path)
        .header("host", "posture")
        .header("content-type", call.content_type)
        .body(body)
        .map_err(Error::internal)?;
    let exchange = async move {
        let mut response = sender.send_request(request).await.map_err(lost)?;
        let status = response.status().as_u16();
        while let Some(frame) = response.frame().await {
            if let Some(piece) = frame.map_err(torn)?.data_ref() {
                sink(status, piece)?;
            }
        }
        Ok(status)
    };
    // The connection drives the exchange and ends when the exchange drops the sender.
    let (answer, _) = tokio::join!(exchange, connection);
    answer
}

/// The unreserved characters of RFC 3986 stay as they are in a query value.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A query value, percent-encoded.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}
