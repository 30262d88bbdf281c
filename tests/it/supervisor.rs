//! What the service tells the service manager that started it, by systemd's protocol.

use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use posture::serve::supervisor::Supervisor;
use tempfile::TempDir;

use crate::harness::Posture;
use crate::harness::backend::Disk;
use crate::harness::process::{Folder, Server, wait_until};

/// No message takes longer.
const WAIT: Duration = Duration::from_mins(1);
const WATCHDOG: Duration = Duration::from_millis(200);

/// The socket of a service manager.
struct Manager(UnixDatagram);

impl Manager {
    fn listen(folder: &std::path::Path) -> (Self, OsString) {
        let path = folder.join("notify");
        (Self::of(UnixDatagram::bind(&path).unwrap()), path.into())
    }

    fn of(socket: UnixDatagram) -> Self {
        socket.set_read_timeout(Some(WAIT)).unwrap();
        Self(socket)
    }

    /// The next message.
    fn heard(&self) -> String {
        let mut bytes = [0; 512];
        let n_bytes = self.0.recv(&mut bytes).expect("another message");
        String::from_utf8(bytes[..n_bytes].to_vec()).unwrap()
    }

    /// Reads up to a message; how many of the watchdog came before.
    fn skip_to(&self, state: &str) -> usize {
        let mut n_signs = 0;
        loop {
            match self.heard() {
                said if said == state => return n_signs,
                said if said == "WATCHDOG=1" => n_signs += 1,
                said => panic!("{said} came before {state}"),
            }
        }
    }

    /// Forgets what has arrived; whether nothing more does in some periods of the watchdog.
    fn is_silent(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        while self.0.recv(&mut [0; 512]).is_ok() {}
        self.0.set_nonblocking(false).unwrap();
        self.0.set_read_timeout(Some(WATCHDOG * 5)).unwrap();
        let silent = self.0.recv(&mut [0; 512]).is_err();
        self.0.set_read_timeout(Some(WAIT)).unwrap();
        silent
    }
}

fn serve(folder: &Folder, socket: &OsString, watchdog: &[(&str, &str)]) -> Server {
    let mut command = folder.command(&["serve"]);
    command.env("NOTIFY_SOCKET", socket).envs(watchdog.iter().copied());
    Server::start(&mut command, &folder.path().join("serve.log"))
}

#[test]
fn the_service_manager_hears_when_the_service_is_ready_well_and_stopping() {
    let folder = Folder::new();
    let (manager, socket) = Manager::listen(folder.path());
    let server = serve(&folder, &socket, &[("WATCHDOG_USEC", "200000")]);
    manager.skip_to("READY=1");
    assert_eq!([manager.heard(), manager.heard()], ["WATCHDOG=1", "WATCHDOG=1"]);
    assert!(server.stop().success());
    manager.skip_to("STOPPING=1");
    assert!(manager.is_silent(), "nothing comes after the stop");
}

#[test]
fn a_socket_without_a_path_is_found_and_a_watchdog_of_another_process_is_not_fed() {
    let folder = Folder::new();
    let name = format!("posture-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let manager = Manager::of(UnixDatagram::bind_addr(&address).unwrap());
    for other in ["1", "x"] {
        let watchdog = [("WATCHDOG_USEC", "1000"), ("WATCHDOG_PID", other)];
        let server = serve(&folder, &format!("@{name}").into(), &watchdog);
        assert_eq!(manager.heard(), "READY=1");
        assert!(server.stop().success());
        assert_eq!(manager.heard(), "STOPPING=1");
    }
}

#[test]
fn a_service_manager_that_is_gone_stops_nothing() {
    let folder = Folder::new();
    let gone = folder.path().join("nobody").into_os_string();
    let server = serve(&folder, &gone, &[("WATCHDOG_USEC", "200000")]);
    assert_eq!(server.metric("posture_ready"), 1);
    assert!(server.stop().success());
    let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap();
    assert!(log.contains("the service manager could not be told READY=1"), "{log}");
}

#[test]
fn a_database_that_does_not_answer_is_not_called_well_and_one_that_refuses_is() {
    let folder = TempDir::new().unwrap();
    let (manager, socket) = Manager::listen(folder.path());
    let disk = Disk::default();
    let posture = Posture::start_on_disk(&disk, |options| {
        options.supervisor = Supervisor { socket: Some(socket), watchdog: Some(WATCHDOG) };
    });
    manager.skip_to("READY=1");
    disk.hold();
    assert!(wait_until(WAIT, || disk.is_syncing()), "the self-test writes");
    assert!(manager.is_silent(), "a write hangs");
    disk.release();
    assert_eq!(manager.heard(), "WATCHDOG=1", "it goes on when the disk does");
    disk.fail_from(1);
    assert!(wait_until(WAIT, || !posture.app.health().ready));
    for _ in 0..5 {
        assert_eq!(manager.heard(), "WATCHDOG=1", "a restart does not repair the disk");
    }
}
