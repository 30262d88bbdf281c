//! Ports for servers that have to be told theirs.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below those that the kernel gives to connections: nobody takes one while its server is down.
const FIRST: u16 = 12_000;
const N: u16 = 16_000;

static N_GIVEN: AtomicU16 = AtomicU16::new(0);

/// A port of 127.0.0.1 that nobody listens on. No test gets it twice.
pub fn free_port() -> u16 {
    // Another run of the tests begins elsewhere.
    let begin = u16::try_from(std::process::id() % 64).unwrap() * (N / 64);
    loop {
        let given = N_GIVEN.fetch_add(1, Ordering::Relaxed);
        assert!(given < N, "no port is left");
        let address = (Ipv4Addr::LOCALHOST, FIRST + (begin + given) % N);
        if TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok() {
            return address.1;
        }
    }
}
