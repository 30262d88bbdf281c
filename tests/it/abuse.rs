//! What rude, slow and broken peers get from the edge, and what they cost it.

use std::io::Write;
use std::net::TcpStream;
use std::thread;

use posture::serve::http::limit::ConnectionLimits;
use posture::serve::http::listen::Listener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::edge::{Edge, HELLO, LARGE_BYTES, PATIENCE, SHORT, Wire, lazy, short};

#[test]
fn a_head_that_stops_halfway_is_dropped_at_the_deadline() {
    let edge = Edge::start(short());
    for start in ["", "GET", "GET /hello HTTP/1.1\r\nHost: he"] {
        let mut wire = edge.connect();
        wire.send(start);
        assert_eq!(wire.closes(), "", "after {start:?}");
        wire.lasted(SHORT);
    }
}

#[test]
fn a_head_that_drips_is_dropped_at_the_deadline() {
    let edge = Edge::start(short());
    let mut wire = edge.connect();
    let dropped = HELLO.bytes().any(|it| {
        thread::sleep(SHORT / 5);
        wire.stream.write_all(&[it]).is_err()
    });
    assert!(dropped, "a whole head of {} drops was accepted", HELLO.len());
    wire.lasted(SHORT);
}

#[test]
fn an_idle_connection_is_closed_and_a_busy_one_is_kept() {
    // Long enough for a machine that is busy to ask again before it is over.
    let idle = 6 * SHORT;
    let edge = Edge::start(ConnectionLimits { head_timeout: idle, ..lazy() });
    let mut wire = edge.connect();
    for _ in 0..5 {
        wire.send(HELLO);
        assert_eq!(wire.answer().body, "hello");
        thread::sleep(idle / 4);
    }
    wire.lasted(idle);
    assert_eq!(wire.closes(), "");
}

#[test]
fn a_connection_of_a_trusted_proxy_may_be_idle_for_longer() {
    let all = "127.0.0.0/8".parse().expect("a network");
    let patient = ConnectionLimits { proxy_idle_timeout: PATIENCE, exempt: vec![all], ..short() };
    let hasty =
        ConnectionLimits { proxy_idle_timeout: SHORT, head_timeout: PATIENCE, ..patient.clone() };
    let edge = Edge::start(patient);
    let mut wire = edge.connect();
    for _ in 0..2 {
        wire.send(HELLO);
        assert_eq!(wire.answer().body, "hello");
        assert!(wire.is_silent_for(2 * SHORT), "others are closed by now");
    }
    let edge = Edge::start(hasty);
    let mut wire = edge.connect();
    wire.send(HELLO);
    assert_eq!(wire.answer().body, "hello");
    assert_eq!(wire.closes(), "");
    wire.lasted(SHORT);
}

#[test]
fn a_stalled_body_gets_408_and_the_connection_is_closed() {
    let edge = Edge::start(short());
    for framing in ["Content-Length: 9\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf"]
    {
        let mut wire = edge.connect();
        wire.send(&format!("POST /echo HTTP/1.1\r\nHost: here\r\n{framing}"));
        let answer = wire.answer();
        answer.refuses(408, "REQUEST_TIMEOUT");
        assert!(answer.closes(), "{answer:?}");
        wire.lasted(SHORT);
        assert_eq!(wire.closes(), "");
    }
}

#[test]
fn a_body_that_drips_gets_408() {
    let edge = Edge::start(short());
    let mut wire = edge.connect();
    wire.send("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 999\r\n\r\n");
    let mut writer = wire.stream.try_clone().expect("a socket can be shared");
    let dripping = thread::spawn(move || {
        (0..999).any(|_| {
            thread::sleep(SHORT / 5);
            writer.write_all(b".").is_err()
        })
    });
    wire.answer().refuses(408, "REQUEST_TIMEOUT");
    wire.lasted(SHORT);
    drop(wire);
    assert!(dripping.join().expect("no panic"), "the whole body of drops was taken");
}

#[test]
fn a_body_in_pieces_arrives_whole() {
    let edge = Edge::start(lazy());
    let mut wire = edge.connect();
    wire.send("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 6\r\n\r\n");
    for piece in ["pi", "ec", "es"] {
        thread::sleep(SHORT / 10);
        wire.send(piece);
    }
    assert_eq!(wire.answer().body, "pieces");
}

#[test]
fn a_body_beyond_the_largest_is_refused_however_it_is_framed() {
    let edge = Edge::start(ConnectionLimits { body_bytes_max: 1_000, ..lazy() });
    for (framing, status) in [
        (format!("Content-Length: 1000\r\n\r\n{}", "x".repeat(1_000)), 200),
        (format!("Content-Length: 1001\r\n\r\n{}", "x".repeat(1_001)), 413),
        (
            format!("Transfer-Encoding: chunked\r\n\r\n3e9\r\n{}\r\n0\r\n\r\n", "x".repeat(1_001)),
            413,
        ),
        ("Content-Length: 99999999999\r\n\r\n".to_owned(), 413),
    ] {
        let mut wire = edge.connect();
        wire.send(&format!("POST /echo HTTP/1.1\r\nHost: here\r\n{framing}"));
        let answer = wire.answer();
        assert_eq!(answer.status, status, "{answer:?}");
        if status == 413 {
            answer.refuses(413, "PAYLOAD_TOO_LARGE");
        }
    }
}

#[test]
fn a_refusal_is_seen_although_the_body_goes_on() {
    let edge = Edge::start(lazy());
    let mut wire = edge.connect();
    wire.send("POST /deaf HTTP/1.1\r\nHost: here\r\nContent-Length: 4000000\r\n\r\n");
    wire.send(&"x".repeat(4_000_000));
    wire.answer().refuses(401, "UNAUTHORIZED");
    assert_eq!(wire.closes(), "");
}

#[test]
fn a_short_body_that_nobody_wants_does_not_cost_the_connection() {
    let edge = Edge::start(lazy());
    let mut wire = edge.connect();
    wire.send("POST /deaf HTTP/1.1\r\nHost: here\r\nContent-Length: 6\r\n\r\nlat");
    thread::sleep(SHORT / 5);
    wire.send("est");
    wire.answer().refuses(401, "UNAUTHORIZED");
    wire.send(HELLO);
    assert_eq!(wire.answer().body, "hello");
}

#[test]
fn a_broken_body_gets_400() {
    let edge = Edge::start(lazy());
    let mut wire = edge.connect();
    wire.send("POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello");
    wire.answer().refuses(400, "VALIDATION_ERROR");
    assert_eq!(wire.closes(), "");
}

#[test]
fn heads_are_taken_up_to_the_limits_and_no_further() {
    let edge = Edge::start(lazy());
    let padded = |bytes: usize| {
        let start = "GET /hello HTTP/1.1\r\nHost: here\r\nPadding: ";
        format!("{start}{}\r\n\r\n", "x".repeat(bytes - start.len() - 4))
    };
    let edge_of_1_000 = Edge::start(ConnectionLimits { head_bytes_max: 1_000, ..lazy() });
    for (bytes, status) in [(1_000, 200), (1_001, 431), (10_000, 431)] {
        let mut wire = edge_of_1_000.connect();
        wire.send(&padded(bytes));
        let answer = wire.answer();
        assert_eq!(answer.status, status, "a head of {bytes} bytes");
        if status == 431 {
            answer.refuses(431, "HEADERS_TOO_LARGE");
        }
    }
    let with_headers = |n: usize| {
        let more = (1..n).fold(String::new(), |all, it| all + &format!("X-{it}: y\r\n"));
        format!("GET /hello HTTP/1.1\r\nHost: here\r\n{more}\r\n")
    };
    let with_uri = |bytes: usize| {
        format!("GET /hello?{} HTTP/1.1\r\nHost: here\r\n\r\n", "x".repeat(bytes - 7))
    };
    for (request, status) in [
        (padded(16 * 1_024), 200),
        (padded(16 * 1_024 + 1), 431),
        (padded(300_000), 431),
        (with_headers(64), 200),
        (with_headers(65), 431),
        (with_uri(8 * 1_024), 200),
        (with_uri(8 * 1_024 + 1), 414),
    ] {
        let mut wire = edge.connect();
        wire.send(&request);
        let answer = wire.answer();
        assert_eq!(answer.status, status, "a head of {} bytes", request.len());
        match status {
            414 => answer.refuses(414, "URI_TOO_LONG"),
            431 => answer.refuses(431, "HEADERS_TOO_LARGE"),
            _ => (),
        }
    }
}

#[test]
fn a_request_names_exactly_one_host() {
    let edge = Edge::start(lazy());
    for (head, status) in [
        ("GET /hello HTTP/1.1\r\nHost: here\r\n", 200),
        ("GET /hello HTTP/1.1\r\nHost: [::1]:8080\r\n", 200),
        ("GET /hello HTTP/1.0\r\n", 200),
        ("GET /hello HTTP/1.1\r\n", 400),
        ("GET /hello HTTP/1.1\r\nHost: here\r\nHost: there\r\n", 400),
        ("GET /hello HTTP/1.1\r\nHost: here\r\nHost: here\r\n", 400),
        ("GET /hello HTTP/1.0\r\nHost: here\r\nHost: there\r\n", 400),
        ("GET /hello HTTP/1.1\r\nHost: user@here\r\n", 400),
        ("GET /hello HTTP/1.1\r\nHost: here, there/\r\n", 400),
        ("GET /hello HTTP/1.1\r\nHost:\r\n", 400),
    ] {
        let mut wire = edge.connect();
        wire.send(&format!("{head}\r\n"));
        let answer = wire.answer();
        assert_eq!(answer.status, status, "{head}");
        if status == 400 {
            answer.refuses(400, "VALIDATION_ERROR");
        }
    }
}

#[test]
fn only_paths_reach_the_application() {
    let edge = Edge::start(lazy());
    for (line, status, body) in [
        ("GET /target?a=b", 200, "GET /target?a=b"),
        ("GET http://elsewhere/target?a=b", 200, "GET /target?a=b"),
        ("GET HTTPS://elsewhere:1/target", 200, "GET /target"),
        ("OPTIONS *", 204, ""),
        ("OPTIONS /target", 200, "OPTIONS /target"),
        ("GET *", 400, ""),
        ("GET ftp://elsewhere/target", 400, ""),
        ("GET elsewhere:80", 400, ""),
        ("CONNECT elsewhere:80", 405, ""),
    ] {
        let mut wire = edge.connect();
        wire.send(&format!("{line} HTTP/1.1\r\nHost: here\r\n\r\n"));
        let answer = wire.answer();
        assert_eq!(answer.status, status, "{line}");
        match status {
            400 => answer.refuses(400, "VALIDATION_ERROR"),
            405 => {
                assert!(answer.head.contains("\r\nallow: get, "), "{answer:?}");
                answer.refuses(405, "METHOD_NOT_ALLOWED");
            }
            _ => assert_eq!(answer.body, body, "{line}"),
        }
    }
}

#[test]
fn head_is_get_without_the_body() {
    let edge = Edge::start(lazy());
    let mut wire = edge.connect();
    wire.send(&HELLO.replace("GET", "HEAD"));
    wire.send(&HELLO.replace("GET", "HEAD").replace("here\r\n", "here\r\nConnection: close\r\n"));
    let both = wire.closes();
    assert_eq!(both.matches("HTTP/1.1 200").count(), 2, "{both}");
    assert_eq!(both.matches("content-length: 5\r\n").count(), 2, "{both}");
    assert!(both.ends_with("\r\n\r\n") && !both.contains("hello"), "{both}");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let edge = Edge::start(lazy());
    let mut wire = edge.connect();
    let all: String = (0..40).map(|it| HELLO.replace("/hello", &format!("/target?{it}"))).collect();
    wire.send(&all);
    for index in 0..40 {
        assert_eq!(wire.answer().body, format!("GET /target?{index}"));
    }
}

#[test]
fn a_panic_is_a_500_and_the_connection_lives_on() {
    let edge = Edge::start(lazy());
    let mut wire = edge.connect();
    wire.send(&HELLO.replace("/hello", "/panic"));
    wire.answer().refuses(500, "INTERNAL");
    wire.send(HELLO);
    assert_eq!(wire.answer().body, "hello");
}

#[test]
fn what_the_application_lets_through_is_still_the_error_body() {
    let edge = Edge::start(lazy());
    let mut wire = edge.connect();
    wire.send(&HELLO.replace("/hello", "/nowhere"));
    wire.answer().refuses(404, "NOT_FOUND");
}

#[test]
fn garbage_gets_400_and_the_connection_is_closed() {
    let edge = Edge::start(lazy());
    for garbage in [
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}",
        "hello?\r\n\r\n",
        "GET /hello\r\n\r\n",
        "GET  /hello HTTP/1.1\r\nHost: here\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost : here\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: here\r\n folded: x\r\n\r\n",
        "GET /hello HTTP/1.1\r\nHost: here\r\nX: \0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: +5\r\n\r\nhello",
        "POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n",
    ] {
        let mut wire = edge.connect();
        wire.send(garbage);
        let all = wire.closes();
        assert!(all.starts_with("HTTP/1.1 400"), "{garbage:?}: {all}");
        assert_eq!(all.matches("HTTP/1.1 ").count(), 1, "{garbage:?}: {all}");
        assert!(all.ends_with('}') && all.contains("VALIDATION_ERROR"), "{garbage:?}: {all}");
    }
    let mut wire = edge.connect();
    wire.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    assert_eq!(wire.closes(), "", "HTTP/2 is not offered");
}

#[test]
fn a_request_with_two_lengths_is_read_one_way_and_is_the_last_one() {
    let edge = Edge::start(lazy());
    let smuggled = "GET /target HTTP/1.1\r\nHost: here\r\n\r\n";
    for framing in [
        format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", 5 + smuggled.len()),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {}\r\n", 5 + smuggled.len()),
    ] {
        let mut wire = edge.connect();
        let head = format!("POST /echo HTTP/1.1\r\nHost: here\r\n{framing}");
        wire.send(&format!("{head}\r\n0\r\n\r\n{smuggled}"));
        let all = wire.closes();
        assert_eq!(all.matches("HTTP/1.1").count(), 1, "{all}");
    }
}

#[test]
fn an_upgrade_is_not_offered() {
    let edge = Edge::start(lazy());
    let mut wire = edge.connect();
    let upgrade =
        "here\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n";
    wire.send(&HELLO.replace("here\r\n", upgrade));
    assert_eq!(wire.answer().body, "hello");
}

#[test]
fn a_reader_that_never_reads_is_dropped_at_the_write_deadline() {
    // The second connection is served when the first has ended, so nobody needs to read.
    let edge = Edge::start(ConnectionLimits { connections_max: 1, ..short() });
    let mut deaf = edge.connect();
    deaf.send(&HELLO.replace("/hello", "/large"));
    let mut wire = edge.connect();
    wire.send(HELLO);
    assert_eq!(wire.answer().body, "hello");
    deaf.lasted(SHORT);
    assert!(deaf.closes().len() < LARGE_BYTES, "the answer was sent whole");
}

#[test]
fn an_old_connection_is_closed_after_the_request_it_is_at() {
    let edge = Edge::start(ConnectionLimits { age_max: SHORT / 2, ..lazy() });
    let mut wire = edge.connect();
    wire.send(&HELLO.replace("/hello", "/slow"));
    assert_eq!(wire.answer().body, "slow");
    assert_eq!(wire.closes(), "");
}

#[test]
fn the_stop_lets_requests_finish_and_refuses_connections() {
    // An idle connection that was waited for would outlast the test.
    let edge = Edge::start(ConnectionLimits { drain_timeout: 4 * PATIENCE, ..lazy() });
    let mut idle = edge.connect();
    let mut slow = edge.connect();
    slow.send(&HELLO.replace("/hello", "/slow"));
    edge.begun.recv_timeout(PATIENCE).expect("the request begins");
    edge.stop.send_replace(true);
    let answer = slow.answer();
    assert_eq!(answer.body, "slow");
    assert!(answer.closes(), "{answer:?}");
    assert_eq!(slow.closes(), "");
    assert_eq!(idle.closes(), "");
    edge.ends();
    assert!(TcpStream::connect(edge.address).is_err(), "the listener is gone");
}

#[test]
fn the_stop_does_not_wait_for_ever() {
    let edge = Edge::start(ConnectionLimits { drain_timeout: SHORT, ..lazy() });
    let mut wire = edge.connect();
    wire.send(&HELLO.replace("/hello", "/never"));
    edge.begun.recv_timeout(PATIENCE).expect("the request begins");
    edge.stop.send_replace(true);
    edge.ends();
    assert_eq!(wire.closes(), "");
    wire.lasted(SHORT);
}

#[test]
fn a_request_on_its_way_at_the_stop_is_answered() {
    let edge = Edge::start(lazy());
    let mut known = edge.connect();
    known.send(HELLO);
    assert_eq!(known.answer().body, "hello");
    let mut new = edge.connect();
    edge.stop.send_replace(true);
    for wire in [&mut known, &mut new] {
        wire.send(HELLO);
        let answer = wire.answer();
        assert_eq!(answer.body, "hello");
        assert!(answer.closes(), "{answer:?}");
        assert_eq!(wire.closes(), "");
    }
    edge.ends();
}

#[test]
fn a_request_in_the_queue_at_the_stop_is_answered() {
    let runtime = Runtime::new().expect("a runtime");
    let any = "127.0.0.1:0".parse().expect("an address");
    let listener = runtime.block_on(Listener::tcp(any)).expect("a free port");
    let address = listener.local_addr().expect("an address");
    let mut wire = Wire::new(TcpStream::connect(address).expect("the kernel's queue"));
    wire.stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    wire.send(HELLO);
    let _edge = Edge::on(runtime, listener, lazy(), watch::Sender::new(true));
    assert_eq!(wire.answer().body, "hello");
}
