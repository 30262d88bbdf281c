//! What the service manager says in the environment: how to reach it, and how often it wants to hear from the service.

use std::env;
use std::ffi::OsString;
use std::time::Duration;

const SOCKET: &str = "NOTIFY_SOCKET";
const WATCHDOG_US: &str = "WATCHDOG_USEC";
/// The process that the watchdog is for. Not set: any.
const WATCHDOG_PID: &str = "WATCHDOG_PID";

/// What systemd asks of a service of `Type=notify`. Empty without it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supervision {
    /// The path of a datagram socket, or an abstract name after `@`.
    pub socket: Option<OsString>,
    /// A service that is not heard from for this long is restarted.
    pub watchdog: Option<Duration>,
}

/// What the service manager of this process asks for.
#[must_use]
pub fn supervision() -> Supervision {
    let number = |name: &str| env::var_os(name)?.to_str()?.parse::<u64>().ok();
    let is_meant = env::var_os(WATCHDOG_PID).is_none()
        || number(WATCHDOG_PID) == Some(u64::from(std::process::id()));
    Supervision {
        socket: env::var_os(SOCKET).filter(|it| !it.is_empty()),
        watchdog: number(WATCHDOG_US).filter(|it| is_meant && 0 < *it).map(Duration::from_micros),
    }
}
