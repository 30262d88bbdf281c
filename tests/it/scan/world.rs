//! Two network namespaces with a cable between them: the scanner's, and the world's. The test makes them and takes them
//! away; nothing of the machine's own network is touched.

use std::fs::File;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fd::AsFd;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub struct World {
    pub scanner: String,
    world: String,
}

static N_WORLDS: AtomicU32 = AtomicU32::new(0);

fn ip(args: &[&str]) -> bool {
    let quiet = Command::new("ip").args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|it| it.success())
}

impl World {
    /// The scanner at 10.76.0.1, the world behind 10.76.0.2, where everything else of 10.0.0.0/8 is.
    ///
    /// # Panics
    /// When this machine does not permit network namespaces. Only tests in a module named `needs_netns` make one.
    pub fn make() -> Self {
        let name = format!("{}-{}", std::process::id(), N_WORLDS.fetch_add(1, Ordering::Relaxed));
        let world = Self { scanner: format!("ps-{name}"), world: format!("pw-{name}") };
        let (scanner, other) = (world.scanner.as_str(), world.world.as_str());
        let is_made = ip(&["netns", "add", scanner])
            && ip(&["netns", "add", other])
            && ip(&[
                "-n", scanner, "link", "add", "cable", "type", "veth", "peer", "name", "cable",
                "netns", other,
            ])
            && ip(&["-n", scanner, "addr", "add", "10.76.0.1/30", "dev", "cable"])
            && ip(&["-n", other, "addr", "add", "10.76.0.2/30", "dev", "cable"])
            && [scanner, other].iter().all(|it| {
                ip(&["-n", it, "link", "set", "cable", "up"])
                    && ip(&["-n", it, "link", "set", "lo", "up"])
            })
            && ip(&["-n", scanner, "route", "add", "10.0.0.0/8", "via", "10.76.0.2"]);
        assert!(is_made, "this machine does not permit network namespaces (ip netns)");
        world
    }

    /// Gives the world addresses: single ones, or whole networks of which every address answers.
    pub fn have<T: AsRef<str>>(&self, networks: &[T]) {
        let line = |it: &T| format!("route add local {} dev lo", it.as_ref());
        let lines = networks.iter().map(line).collect::<Vec<_>>().join("\n") + "\n";
        let mut batch = Command::new("ip")
            .args(["-n", &self.world, "-batch", "-"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        batch.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        assert!(batch.wait().unwrap().success());
    }

    /// Adds a route of the world, such as `unreachable 10.9.0.0/16`.
    pub fn route(&self, words: &[&str]) {
        assert!(ip(&[&["-n", &self.world, "route", "add"], words].concat()), "{words:?}");
    }

    /// Runs `ip` on the scanner's side, such as with `addr add 10.9.0.1/32 dev cable`.
    pub fn scanner_ip(&self, words: &[&str]) {
        assert!(ip(&[&["-n", &self.scanner], words].concat()), "{words:?}");
    }

    /// Has the world drop what comes over TCP to an address of its own; echo requests are answered.
    pub fn drop_tcp_to(&self, address: &str) {
        let rule = |words: &[&str]| assert!(ip(&[&["-n", &self.world, "rule"], words].concat()));
        rule(&["add", "pref", "5", "to", address, "ipproto", "tcp", "blackhole"]);
        rule(&["add", "pref", "10", "lookup", "local"]);
        rule(&["del", "pref", "0"]);
    }

    pub fn enter_scanner<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        within(&self.scanner, work)
    }

    pub fn enter_world<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        within(&self.world, work)
    }

    /// Accepts at this address of the world, and closes, until the process ends.
    pub fn listen(&self, at: &str) {
        let at: SocketAddr = at.parse().unwrap();
        let listener = self.enter_world(|| TcpListener::bind(at).unwrap());
        std::thread::spawn(move || listener.incoming().for_each(drop));
    }
}

/// On a thread of its own that is in the namespace, with all threads that it starts.
fn within<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> T {
    let namespace = File::open(format!("/run/netns/{name}")).unwrap();
    std::thread::scope(|scope| {
        let entered = scope.spawn(move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            work()
        });
        entered.join().unwrap()
    })
}

impl Drop for World {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.scanner]);
        ip(&["netns", "del", &self.world]);
    }
}
