//! What endpoints that stall, stream, lie or break cost: a bounded time, and a class that is right.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use posture::egress::{ANSWER_BYTES_MAX, EgressPolicy, PostFailure, PostOutcome, TrustedRoots};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::sink::Sink;
use super::{LONG, TIMEOUT, egress, failure, hasty, local, post, post_with};

const AT: &str = "127.0.0.1:0";
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";

/// Byte after byte, for far longer than a request may take.
fn drip(stream: &mut TcpStream, bytes: &[u8]) {
    for it in bytes.iter().cycle() {
        if stream.write_all(&[*it]).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn fails(sink: &Sink) -> PostFailure {
    failure(post(&egress(local()), &sink.url()))
}

/// The request ended by its own timeout.
fn times_out(url: &str, body: &str) {
    let posted = post_with(&hasty(local()), url, Vec::new(), body);
    assert!(TIMEOUT.as_millis() / 2 < posted.ms.into(), "{posted:?}");
    assert_eq!(failure(posted), PostFailure::TimedOut);
}

fn answer(sink: &Sink) -> (u16, String) {
    match post(&egress(local()), &sink.url()).outcome {
        PostOutcome::Answered { status, answer, .. } => (status, answer),
        PostOutcome::Failed(failure) => panic!("{failure:?}"),
    }
}

#[test]
fn an_endpoint_that_says_nothing_times_out() {
    let hangs = |_stream| thread::sleep(LONG);
    times_out(&Sink::after_request(AT, hangs).url(), "{}");
    times_out(&Sink::raw(AT, hangs).url(), "{}");
}

#[test]
fn dripped_headers_time_out() {
    const WHOLE: &str = "HTTP/1.1 200 OK\r\nX-A: ";
    for n_at_once in [0, 17, WHOLE.len()] {
        let (start, rest) = WHOLE.split_at(n_at_once);
        let rest = format!("{rest}{}", "a".repeat(1_000));
        let sink = Sink::after_request(AT, move |mut stream| {
            stream.write_all(start.as_bytes()).unwrap();
            drip(&mut stream, rest.as_bytes());
        });
        times_out(&sink.url(), "{}");
    }
}

#[test]
fn a_dripped_body_is_cut_off_in_time_and_the_status_counts() {
    for framing in ["Connection: close", "Content-Length: 9999", "Transfer-Encoding: chunked"] {
        let sink = Sink::after_request(AT, move |mut stream| {
            let head = format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            drip(&mut stream, b"1\r\na\r\n");
        });
        let (status, answer) = answer(&sink);
        assert!(status == 200 && answer.starts_with(['1', 'a']), "{framing}: {answer:?}");
    }
}

#[test]
fn a_timeout_in_the_middle_of_a_body_does_not_undo_the_status() {
    let sink = Sink::after_request(AT, |mut stream| {
        stream.write_all(HEAD).unwrap();
        drip(&mut stream, b"a");
    });
    // A machine that stalls for the whole timeout does not see the head in time, which says nothing.
    let mut outcomes = (0..10).map(|_| post(&hasty(local()), &sink.url()).outcome);
    let is_answer = |outcome: PostOutcome| match outcome {
        PostOutcome::Answered { status, answer, .. } => status == 200 && answer.starts_with('a'),
        PostOutcome::Failed(failure) => {
            assert_eq!(failure, PostFailure::TimedOut);
            false
        }
    };
    assert!(outcomes.any(is_answer), "no status although its head had come");
}

#[test]
fn a_body_that_never_comes_does_not_undo_the_status() {
    let sink = Sink::after_request(AT, |mut stream| {
        stream.write_all(b"HTTP/1.1 503 x\r\nContent-Length: 5\r\n\r\n").unwrap();
        thread::sleep(LONG);
    });
    assert_eq!(answer(&sink), (503, String::new()));
}

#[test]
fn a_body_is_not_waited_for_as_long_as_a_head() {
    let sink = Sink::after_request(AT, |mut stream| {
        stream.write_all(HEAD).unwrap();
        thread::sleep(LONG);
    });
    assert_eq!(answer(&sink), (200, String::new()), "long before the request's own timeout");
}

#[test]
fn of_a_body_without_end_only_the_beginning_is_read() {
    const ENDLESS_BYTES: usize = 1 << 30;
    let n_written = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&n_written);
    let sink = Sink::after_request(AT, move |mut stream| {
        stream.write_all(HEAD).unwrap();
        let piece = vec![b'a'; 1 << 16];
        while counter.load(Ordering::SeqCst) < ENDLESS_BYTES && stream.write_all(&piece).is_ok() {
            counter.fetch_add(piece.len(), Ordering::SeqCst);
        }
    });
    assert_eq!(answer(&sink), (200, "a".repeat(ANSWER_BYTES_MAX)));
    thread::sleep(TIMEOUT / 4);
    let n_written = n_written.load(Ordering::SeqCst);
    assert!(n_written < 32 << 20, "{n_written} bytes were taken: more than sockets hold");
}

#[test]
fn headers_without_end_are_cut_off_at_once() {
    let line = format!("X-A: {}\r\n", "a".repeat(90));
    for endless in [line, "a".to_owned(), "X-A: a\r\n X".to_owned()] {
        let piece = endless.clone();
        let sink = Sink::after_request(AT, move |mut stream| {
            drop(stream.write_all(b"HTTP/1.1 200 OK\r\n"));
            while stream.write_all(piece.as_bytes()).is_ok() {}
        });
        let failed = fails(&sink);
        assert!(matches!(failed, PostFailure::Broken(_)), "{endless:?}: {failed:?}");
    }
}

#[test]
fn a_head_just_within_the_limit_is_an_answer() {
    let lines = format!("X-A: {}\r\n", "a".repeat(200)).repeat(75);
    let head = format!("HTTP/1.1 204 x\r\n{lines}\r\n");
    assert!((15 * 1024..16 * 1024).contains(&head.len()), "{}", head.len());
    assert_eq!(answer(&Sink::answering(AT, head)), (204, String::new()));
}

#[test]
fn a_flood_of_interim_answers_ends_in_time() {
    let sink = Sink::after_request(AT, |mut stream| {
        while stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").is_ok() {}
    });
    let failed = fails(&sink);
    assert!(matches!(failed, PostFailure::Broken(_)), "{failed:?}");
}

#[test]
fn an_interim_answer_is_not_the_answer() {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 x\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(answer(&Sink::answering(AT, text)), (202, String::new()));
}

#[test]
fn what_is_not_http_is_broken() {
    for garbage in [
        "",
        "\r\n\r\n",
        "\0\u{1}\u{2}\u{3}",
        "hello\r\n\r\n",
        "<html>HTTP/0.9</html>",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX-A: b",
        "HTTP/1.1 200 OK\r\nX\0: b\r\n\r\n",
    ] {
        let failed = fails(&Sink::answering(AT, garbage));
        assert!(matches!(failed, PostFailure::Broken(_)), "{garbage:?}: {failed:?}");
        let told = failed.to_string();
        assert!(told.len() < 400 && !told.chars().any(char::is_control), "{told:?}");
    }
}

#[test]
fn a_reset_is_broken() {
    let sink = Sink::raw(AT, |stream| {
        thread::sleep(TIMEOUT / 10);
        drop(stream); // With the request unread: a reset, not an end.
    });
    assert!(matches!(fails(&sink), PostFailure::Broken(_)));
}

#[test]
fn an_endpoint_that_does_not_read_times_out() {
    let huge = "a".repeat(24 << 20); // More than sockets hold.
    let hangs = Sink::raw(AT, |_stream| thread::sleep(LONG));
    let drips = Sink::raw(AT, |mut stream| {
        let mut piece = [0; 4096];
        while stream.read(&mut piece).is_ok_and(|it| 0 < it) {
            thread::sleep(Duration::from_millis(20));
        }
    });
    for sink in [hangs, drips] {
        times_out(&sink.url(), &huge);
    }
}

/// An https URL of a plain sink.
fn https(sink: &Sink) -> String {
    format!("https://{}/hook", sink.address)
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_not_trusted() {
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let n_read = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&n_read);
    let sink = Sink::raw(AT, move |stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        let n = stream.read(&mut [0; 1024]).unwrap_or(0);
        counter.fetch_add(n, Ordering::SeqCst);
        drop(stream.write_all(HEAD));
    });
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("https://{host}:{}/", sink.address.port());
        let failed = failure(post(&egress(local()), &url));
        assert!(
            matches!(&failed, PostFailure::Tls(why) if why.contains("certificate")),
            "{failed:?}"
        );
    }
    assert_eq!((sink.n_accepted(), n_read.load(Ordering::SeqCst)), (2, 0), "nothing was sent");
    // Whom the operator trusts is trusted, under its own name only.
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, made.cert.pem()).unwrap();
    let roots = TrustedRoots::read("webhooks.ca_file", &file).unwrap();
    let trusting = egress(EgressPolicy { roots, ..local() });
    let url = format!("https://localhost:{}/", sink.address.port());
    let posted = post(&trusting, &url).outcome;
    assert!(matches!(posted, PostOutcome::Answered { status: 200, .. }), "{posted:?}");
    assert!(0 < n_read.load(Ordering::SeqCst));
    let url = format!("https://127.0.0.2:{}/", sink.address.port());
    assert!(!matches!(post(&trusting, &url).outcome, PostOutcome::Answered { .. }));
}

#[test]
fn what_is_not_tls_is_no_trusted_connection() {
    let sink = Sink::raw(AT, |mut stream| drop(stream.write_all(HEAD)));
    let failed = failure(post(&egress(local()), &https(&sink)));
    assert!(matches!(failed, PostFailure::Tls(_)), "{failed:?}");
}

#[test]
fn a_handshake_that_hangs_or_drips_times_out() {
    let hangs = Sink::raw(AT, |_stream| thread::sleep(LONG));
    let drips = Sink::raw(AT, |mut stream| {
        stream.write_all(&[22, 3, 3, 0x3f, 0xff, 2, 0, 0x3f, 0xf0]).unwrap();
        drip(&mut stream, &[3]);
    });
    for sink in [hangs, drips] {
        times_out(&https(&sink), "{}");
    }
}
