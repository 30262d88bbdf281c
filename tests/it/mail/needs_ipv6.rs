//! The tests of mail that need IPv6 on this host: `localhost` has two addresses then.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use posture::mail::MailOptions;
use rustix::net::{AddressFamily, SocketType, bind, listen, socket};

use super::relay::Relay;
use super::{options, test_mail};
use crate::harness::Posture;

#[test]
#[ignore = "needs IPv6"]
fn an_address_that_swallows_connections_leaves_time_for_the_next() {
    let relay = Relay::start();
    let dead: SocketAddr = format!("[::1]:{}", relay.port()).parse().unwrap();
    let swallowing = socket(AddressFamily::INET6, SocketType::STREAM, None).unwrap();
    bind(&swallowing, &dead).unwrap();
    listen(&swallowing, 0).unwrap();
    // Whoever comes after the first is not answered.
    let full: Vec<_> =
        (0..3).map(|_| TcpStream::connect_timeout(&dead, Duration::from_millis(50))).collect();
    assert!(full.iter().any(Result::is_err), "the address accepts");
    let timeout = Duration::from_millis(1_500);
    let mail = MailOptions { timeout, ..options(relay.port()) };
    let posture = Posture::start_with(move |it| it.app.mail = Some(mail));
    let tested = test_mail(&posture);
    assert_eq!(tested["delivered"], true, "{tested}");
}
