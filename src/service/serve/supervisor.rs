//! Tells the service manager that the service is ready, well, or stopping, by the protocol of systemd (`sd_notify`).

use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::pin::pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::app::App;
use crate::background::FailureLog;
use crate::error::Error;

/// When a self-test that failed is repeated.
const REPEAT_AFTER: Duration = Duration::from_secs(1);

/// How often it is told that long work goes on.
const BUSY_EVERY: Duration = Duration::from_secs(10);

/// The service manager, if there is one.
#[derive(Clone, Debug, Default)]
pub struct Supervisor {
    /// The path of its datagram socket, or an abstract name after `@`.
    pub socket: Option<OsString>,
    /// It restarts a service that has not said for this long that it is well.
    pub watchdog: Option<Duration>,
}

impl Supervisor {
    /// Sends a state such as `READY=1`. It is no error if no service manager listens.
    pub(super) fn tell(&self, state: &str) {
        if let Err(error) = self.send(state) {
            tracing::warn!(%error, "the service manager could not be told {state}: {error}");
        }
    }

    fn send(&self, state: &str) -> std::io::Result<()> {
        let Some(name) = &self.socket else { return Ok(()) };
        let address = match name.as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.send_to_addr(state.as_bytes(), &address).map(|_| ())
    }

    /// Says that the service is well as long as `work` goes on, which may take longer than the period of the watchdog.
    pub(super) async fn wait_for<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            match timeout(BUSY_EVERY, &mut work).await {
                Ok(done) => return done,
                Err(_) => self.tell("WATCHDOG=1"),
            }
        }
    }

    /// Says twice in each period of the watchdog that the service is well, if a self-test of the database says so. One
    /// that does not end says nothing. Until the stop.
    pub(super) async fn watch(&self, app: &App, mut stop: watch::Receiver<bool>) {
        let Some(period) = self.watchdog.map(|it| it / 2).filter(|it| !it.is_zero()) else {
            return;
        };
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut failures = FailureLog::default();
        let watching = async {
            loop {
                ticks.tick().await;
                let tested = timeout(period, app.self_test()).await;
                let period_ms = period.as_millis();
                let late = || Err(Error::internal(format!("no result within {period_ms} ms")));
                match tested.unwrap_or_else(|_| late()) {
                    Ok(()) => {
                        failures.succeeded();
                        self.tell("WATCHDOG=1");
                    }
                    Err(error) => {
                        failures.failed("the self-test of the watchdog failed", &error);
                        ticks.reset_after(REPEAT_AFTER.min(period));
                    }
                }
            }
        };
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopping| *stopping) => (),
            () = watching => (),
        }
    }
}
