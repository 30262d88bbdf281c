//! A network between two programs of this host, which can be cut.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How the network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    Whole,
    /// Nothing arrives, and nobody is told. What was sent arrives later.
    Silent,
    /// Connections end, and new ones are refused.
    Cut,
}

/// Leads connections to a port on to another one.
pub struct Wire {
    pub port: u16,
    state: Arc<State>,
}

struct State {
    network: Mutex<(Network, Vec<TcpStream>)>,
    changed: Condvar,
    /// What was sent arrives so much later.
    delay: Duration,
}

impl Wire {
    pub fn to(port: u16) -> Self {
        Self::to_distant(port, Duration::ZERO)
    }

    /// With so much time for each way.
    pub fn to_distant(port: u16, delay: Duration) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let network = Mutex::new((Network::Whole, Vec::new()));
        let state = Arc::new(State { network, changed: Condvar::new(), delay });
        let wire = Self { port: listener.local_addr().unwrap().port(), state: state.clone() };
        // The threads end with the process of the tests.
        std::thread::spawn(move || {
            for near in listener.incoming() {
                state.connect(near.unwrap(), port);
            }
        });
        wire
    }

    pub fn set(&self, network: Network) {
        let mut held = self.state.network.lock().unwrap_or_else(PoisonError::into_inner);
        held.0 = network;
        if network == Network::Cut {
            for stream in held.1.drain(..) {
                drop(stream.shutdown(Shutdown::Both)); // Fails if it has ended.
            }
        }
        drop(held);
        self.state.changed.notify_all();
    }
}

impl State {
    /// Waits while nothing arrives; how the network is then.
    fn wait(&self) -> Network {
        let held = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        let held = self.changed.wait_while(held, |it| it.0 == Network::Silent);
        held.unwrap_or_else(PoisonError::into_inner).0
    }

    fn connect(self: &Arc<Self>, near: TcpStream, port: u16) {
        if self.wait() == Network::Cut {
            return;
        }
        let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return };
        near.set_nodelay(true).unwrap();
        far.set_nodelay(true).unwrap();
        let mut held = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        held.1.extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
        drop(held);
        for (from, to) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)] {
            let state = self.clone();
            std::thread::spawn(move || state.copy(from, to));
        }
    }

    fn copy(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(n @ 1..) = from.read(&mut bytes) {
            std::thread::sleep(self.delay);
            if self.wait() == Network::Cut || to.write_all(&bytes[..n]).is_err() {
                break;
            }
        }
        self.wait();
        // Either fails if it has ended.
        drop(to.shutdown(Shutdown::Write));
        drop(from.shutdown(Shutdown::Read));
    }
}
