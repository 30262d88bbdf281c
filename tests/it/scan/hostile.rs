//! Hosts that mean no good: each costs one place for a while, and nothing else.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use posture::engine::network::scan::Answers;
use posture::error::{Code, Error};
use posture::scan::{Done, Pace, ScanProgress, escaped, run};

use super::{page, plan, scan, settings};
use crate::harness::sink::Sink;

#[test]
fn hosts_that_mean_no_good_are_listed_and_the_others_with_them() {
    let _tarpit = Sink::raw("127.32.0.1:8080", |stream| {
        sleep(Duration::from_mins(1));
        drop(stream);
    });
    let _endless =
        Sink::raw("127.32.0.2:23", |mut stream| while stream.write_all(&[b'x'; 4_096]).is_ok() {});
    let _drip = Sink::raw("127.32.0.3:22", |mut stream| {
        while stream.write_all(b"S").is_ok() {
            sleep(Duration::from_millis(100));
        }
    });
    let _drip_tls = Sink::raw("127.32.0.4:443", |mut stream| {
        while stream.write_all(&[22]).is_ok() {
            sleep(Duration::from_millis(100));
        }
    });
    let _garbage = Sink::raw("127.32.0.5:443", |mut stream| drop(stream.write_all(&[0xff; 600])));
    let _escapes = Sink::raw("127.32.0.6:21", |mut stream| {
        let _ = stream.write_all("\u{1b}]0;owned\u{7}220 \u{202e}ftp \u{9b}31m\0\r\n".as_bytes());
        let _ = stream.read(&mut [0; 8]);
    });
    let _page = page("127.32.0.7:80", b"HTTP/1.1 200 \x1b[2J\r\nserver: \xff\x00\r\n\r\n");
    let _well = Sink::raw("127.32.0.8:22", |mut stream| drop(stream.write_all(b"SSH-2.0-x\r\n")));
    let found = scan(&plan(&["127.32.0.0/28"], "21-23,80,443,8080"), &settings());
    let banner = |address: &str| found.host(address).ports[0].banner.clone();
    assert_eq!(banner("127.32.0.1"), "");
    assert_eq!(banner("127.32.0.2"), "x".repeat(512));
    assert!(banner("127.32.0.3").starts_with("SS"), "what came until it was too much");
    assert_eq!(banner("127.32.0.4"), "");
    assert_eq!(banner("127.32.0.5"), "");
    assert_eq!(banner("127.32.0.6"), "\\x1b]0;owned\\x07220 \\xe2\\x80\\xaeftp \\xc2\\x9b31m\\x00");
    assert_eq!(banner("127.32.0.7"), "HTTP/1.1 200 \\x1b[2J; \\xef\\xbf\\xbd\\x00");
    assert_eq!(banner("127.32.0.8"), "SSH-2.0-x");
    for it in &found.hosts {
        let clean = |text: &str| text.bytes().all(|it| (b' '..=b'~').contains(&it));
        assert!(it.ports.iter().all(|it| clean(&it.banner)), "{it:?}");
    }
}

#[test]
fn bytes_are_escaped_so_that_they_can_be_read_back() {
    assert_eq!(escaped(b"a\\x1b\x1b b\tc\r\nd"), "a\\\\x1b\\x1b b c d");
    assert_eq!(escaped(&[0x80; 400]).len(), 512, "an escape is kept whole or not at all");
}

#[test]
fn a_host_with_every_port_open_is_told_from_one_with_many_services() {
    let listeners: Vec<_> =
        (20_000..20_400).map(|it| TcpListener::bind(("127.32.1.1", it)).unwrap()).collect();
    let found = scan(&plan(&["127.32.1.1"], "20000-20399"), &settings());
    let host = found.host("127.32.1.1");
    assert_eq!(host.answers, Answers::OnEveryPort);
    assert!((200..400).contains(&host.n_open), "it was given up: {}", host.n_open);
    assert_eq!(host.because, "almost every port is open: a tarpit or a middlebox");
    let found = scan(&plan(&["127.32.1.1"], "19000-20399"), &settings());
    let host = found.host("127.32.1.1");
    assert_eq!(
        (host.answers, host.n_open),
        (Answers::Own, 400),
        "a thousand of its ports are closed"
    );
    drop(listeners);
}

#[test]
fn addresses_that_all_answer_alike_are_told_from_those_that_do_not() {
    let _own = TcpListener::bind("127.32.2.9:20500").unwrap();
    let found = scan(&plan(&["127.32.2.0/24"], "20500-20505"), &settings());
    let own: Vec<_> = found.hosts.iter().filter(|it| it.answers == Answers::Own).collect();
    assert_eq!(own.len(), 1);
    assert_eq!(own[0].address.to_string(), "127.32.2.9");
    assert_eq!((found.tally.n_up, found.tally.n_alike), (256, 255));
    let few = scan(&plan(&["127.32.2.0/27"], "20500-20505"), &settings());
    assert_eq!(few.tally.n_alike, 0, "thirty-two addresses prove nothing");
}

#[test]
fn a_stop_ends_a_scan_soon_and_what_was_handed_out_was_whole() {
    let _silent: Vec<_> = (0..64)
        .map(|it| Sink::raw(&format!("127.32.3.{it}:21"), |mut it| drop(it.read(&mut [0; 8]))))
        .collect();
    let plan = plan(&["127.32.3.0/24", "127.32.4.0/24"], "21,1000-1999");
    let stop = AtomicBool::new(false);
    let progress = ScanProgress::default();
    let mut n_done = 0;
    let mut sink = |done: Done| -> Result<(), Error> {
        assert_eq!(done.tally.n_addresses, 256);
        n_done += 1;
        stop.store(true, Ordering::Relaxed);
        Ok(())
    };
    let stopped = || stop.load(Ordering::Relaxed);
    let how = (&Pace::of(100_000), &progress);
    run(&plan, &BTreeSet::new(), &settings(), how, &stopped, &mut sink).unwrap();
    assert_eq!(n_done, 1, "the other one is left");
    let mut rest = Vec::new();
    let mut sink = |done: Done| -> Result<(), Error> {
        rest.push(done.index);
        Ok(())
    };
    run(&plan, &BTreeSet::from([1]), &settings(), how, &|| false, &mut sink).unwrap();
    assert_eq!(rest, [0], "what was done before is not done again");
}

#[test]
fn a_failing_sink_ends_the_scan_with_its_error() {
    let plan = plan(&["127.32.5.1"], "20500");
    let mut sink = |_: Done| -> Result<(), Error> { Err(Error::unavailable("the disk is full")) };
    let how = (&Pace::of(100_000), &ScanProgress::default());
    let error = run(&plan, &BTreeSet::new(), &settings(), how, &|| false, &mut sink).unwrap_err();
    assert_eq!(error.code, Code::Unavailable);
}
