//! A webhook receiver inside the process, so that the demonstration shows deliveries that arrive.

use std::net::{IpAddr, Ipv4Addr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Duration, timeout};

use super::fill::operator;
use crate::app::App;
use crate::app::webhook::endpoint::{NewWebhook, Recovery, WebhookChange};
use crate::error::{Error, Result};
use crate::serve::ServeOptions;
use crate::store::global::webhook::FrameworkChoice;
use crate::webhook::sign::{self, SigningSecret};

const DESCRIPTION: &str = "Receiver of the demonstration, inside the service";
/// How far back events are delivered to a new receiver.
const RECOVERED_DAYS: i64 = 7;
/// A longer delivery is refused.
const DELIVERY_BYTES_MAX: usize = 1 << 20;
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Allows deliveries to this host.
pub fn allow(options: &mut ServeOptions) {
    let own = IpAddr::from(Ipv4Addr::LOCALHOST);
    let policy = &mut options.app.webhooks.policy;
    policy.allow_http_networks.push(own.into());
    policy.allow_private_networks.push(own.into());
}

/// Takes deliveries and verifies their signatures.
pub struct Receiver {
    listener: TcpListener,
    secret: SigningSecret,
}

impl Receiver {
    /// Registers the receiver as a webhook, or moves the webhook of an earlier start to it.
    ///
    /// # Errors
    /// `Internal` if no port can be opened; those of [`App::add_webhook`].
    pub async fn start(app: &App) -> Result<Self> {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = bound.map_err(Error::internal)?;
        let url = format!("http://{}/", listener.local_addr().map_err(Error::internal)?);
        let by = operator();
        let known = app.list_webhooks().await?.into_iter();
        let known = known.map(|it| it.webhook).find(|it| it.description == DESCRIPTION);
        if let Some(webhook) = known {
            let change =
                WebhookChange { url: Some(url), enabled: Some(true), ..WebhookChange::default() };
            app.change_webhook(&by, webhook.id, || Ok(change)).await?;
            let (_, secret) = app.rotate_webhook(&by, webhook.id, || Ok(0)).await?;
            return Ok(Self { listener, secret });
        }
        let (description, kinds, clients) = (DESCRIPTION.to_owned(), Vec::new(), Vec::new());
        let frameworks = FrameworkChoice::All;
        let new = NewWebhook { url, description, kinds, clients, frameworks, headers: Vec::new() };
        let (added, secret) = app.add_webhook(&by, new).await?;
        let until = app.clock.now();
        let since = until.plus_days(-RECOVERED_DAYS);
        let mut next = Some(0);
        while let Some(after) = next {
            let range = || Ok(Recovery::Range { since, until, after });
            next = app.recover_deliveries(&by, added.webhook.id, range).await?.next;
        }
        Ok(Self { listener, secret })
    }

    /// Takes deliveries, one at a time, as long as it is polled.
    pub async fn run(&self) {
        let mut n_taken = 0_u64;
        loop {
            let Ok((mut stream, _)) = self.listener.accept().await else { continue };
            let taken = timeout(READ_TIMEOUT, self.take(&mut stream)).await.ok().flatten();
            n_taken += u64::from(taken.is_some());
            let status = if taken.is_some() { "204 No Content" } else { "401 Unauthorized" };
            tracing::debug!(n_taken, kind = taken, "the demonstration receiver answers {status}");
            let answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    }

    /// Returns the event type of a delivery whose signature is right.
    async fn take(&self, stream: &mut TcpStream) -> Option<String> {
        let mut bytes = Vec::new();
        let (head, start) = loop {
            if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
                break (String::from_utf8(bytes[..end].to_vec()).ok()?, end + 4);
            }
            read(stream, &mut bytes).await?;
        };
        let header = |name: &str| {
            let mut all = head.lines().filter_map(|it| it.split_once(':'));
            all.find(|it| it.0.eq_ignore_ascii_case(name)).map(|it| it.1.trim())
        };
        let length: usize = header("content-length")?.parse().ok()?;
        while bytes.len() < start + length {
            read(stream, &mut bytes).await?;
        }
        let is_signed = self.secret.verifies(header(sign::SIGNATURE)?, &bytes[start..]);
        is_signed.then(|| header(sign::EVENT_TYPE).map(str::to_owned))?
    }
}

/// Returns `None` at the end of the stream, or if it is too long.
async fn read(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    let n = stream.read_buf(bytes).await.ok()?;
    (0 < n && bytes.len() <= DELIVERY_BYTES_MAX).then_some(())
}
