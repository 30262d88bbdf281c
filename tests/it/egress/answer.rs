//! What endpoints say, well-behaved ones first.

use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use posture::clock::{Clock, Time};
use posture::egress::{ANSWER_BYTES_MAX, Egress, PostFailure, PostOutcome, RETRY_AFTER_S_MAX};

use super::sink::{Nobody, Sink};
use super::{HANGS_AFTER, LONG, egress, failure, local, post, post_with, runtime, status};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn answered(text: &str) -> PostOutcome {
    let sink = Sink::answering("127.0.0.1:0", text);
    post(&egress(local()), &sink.url()).outcome
}

fn answer_of(head: &str, body: &str) -> String {
    let outcome = answered(&format!("HTTP/1.1 500 Oops\r\n{head}\r\n\r\n{body}"));
    let PostOutcome::Answered { status: 500, answer, .. } = outcome else { panic!("{outcome:?}") };
    answer
}

#[test]
fn the_body_and_the_headers_arrive_exactly() {
    let sink = Sink::answering("127.0.0.1:0", OK);
    let body = "{\"a\": \"é\\u0000 \u{1f512}\r\n\r\n\",  \"b\":1.0}\n".repeat(1_000);
    let headers = vec![
        ("Content-Type", "application/json".to_owned()),
        ("X-Service-Signature", "00ff".to_owned()),
        ("webhook-id", "evt_1".to_owned()),
    ];
    let url = format!("http://{}/a/b%20c?d=%C3%A9&e", sink.address);
    let posted = post_with(&egress(local()), &url, headers, &body);
    let expected =
        PostOutcome::Answered { status: 200, retry_after_s: None, answer: "ok".to_owned() };
    assert_eq!(posted.outcome, expected);
    let [request] = sink.requests().try_into().unwrap();
    assert_eq!(request.line, "POST /a/b%20c?d=%C3%A9&e");
    assert_eq!(request.body, body.as_bytes());
    let agent = concat!("posture/", env!("CARGO_PKG_VERSION"));
    for (name, value) in [
        ("host", sink.address.to_string().as_str()),
        ("content-type", "application/json"),
        ("content-length", body.len().to_string().as_str()),
        ("x-service-signature", "00ff"),
        ("webhook-id", "evt_1"),
        ("user-agent", agent),
    ] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    assert_eq!(request.header("accept-encoding"), None, "nothing is unpacked");
}

#[test]
fn every_status_is_an_answer() {
    for code in [200, 201, 204, 299, 300, 304, 400, 401, 404, 410, 418, 429, 500, 503, 599] {
        let text = format!("HTTP/1.1 {code} x\r\nContent-Length: 0\r\n\r\n");
        let expected =
            PostOutcome::Answered { status: code, retry_after_s: None, answer: String::new() };
        assert_eq!(answered(&text), expected);
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let trap = Sink::answering("127.0.0.2:0", OK);
    for code in [301, 302, 303, 307, 308] {
        for to in [trap.url(), "http://169.254.169.254/latest/".to_owned(), "/else".to_owned()] {
            let sink = Sink::answering(
                "127.0.0.1:0",
                format!("HTTP/1.1 {code} x\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"),
            );
            assert_eq!(status(&post(&egress(local()), &sink.url())), code, "to {to}");
            assert_eq!(sink.n_accepted(), 1);
        }
    }
    assert_eq!(trap.n_accepted(), 0);
}

#[test]
fn each_request_has_a_connection_of_its_own() {
    let sink = Sink::after_request("127.0.0.1:0", |mut stream| {
        stream.write_all(OK.as_bytes()).unwrap();
        thread::sleep(Duration::from_secs(1)); // Open: one could be sent on it again.
    });
    let egress = egress(local());
    for n in 1..=3 {
        assert_eq!(status(&post(&egress, &sink.url())), 200);
        assert_eq!(sink.n_accepted(), n);
    }
}

fn retry_after(value: &str) -> Option<u32> {
    let head = format!("HTTP/1.1 429 x\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n");
    let outcome = answered(&head);
    let PostOutcome::Answered { status: 429, retry_after_s, .. } = outcome else {
        panic!("{outcome:?}")
    };
    retry_after_s
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn http_date(at: Time) -> String {
    let at = jiff::Timestamp::from_second(at.s()).unwrap();
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

#[test]
fn a_wait_in_seconds_or_until_a_date_is_told() {
    for (value, expected) in [
        ("0", Some(0)),
        ("120", Some(120)),
        (" 7 ", Some(7)),
        ("604801", Some(RETRY_AFTER_S_MAX)),
        ("1000000000000", Some(RETRY_AFTER_S_MAX)),
        ("99999999999999999999999999", Some(RETRY_AFTER_S_MAX)),
        ("-1", None),
        ("+1", None),
        ("1e12", None),
        ("0.249", Some(1)),
        ("1.5", Some(2)),
        ("3.0", Some(3)),
        ("1.", None),
        (".5", None),
        ("1.5.2", None),
        ("soon", None),
        ("", None),
        ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
        ("Tue, 31 Dec 2999 23:59:59 GMT", Some(RETRY_AFTER_S_MAX)),
        ("Fri, 32 Dec 2099 23:59:59 GMT", None),
    ] {
        assert_eq!(retry_after(value), expected, "{value:?}");
    }
    let now = Clock::System.now();
    let told = retry_after(&http_date(now.plus_s(90))).unwrap();
    assert!((85..=90).contains(&told), "{told}");
}

#[test]
fn an_answer_is_kept_up_to_its_limit() {
    let all = "é".repeat(ANSWER_BYTES_MAX);
    let kept = answer_of("Connection: close", &all);
    assert_eq!(kept.len(), ANSWER_BYTES_MAX);
    assert!(all.starts_with(&kept));
    let odd = format!("x{all}");
    let kept = answer_of("Connection: close", &odd);
    assert_eq!((kept.len(), odd.starts_with(&kept)), (ANSWER_BYTES_MAX - 1, true), "no half é");
}

#[test]
fn an_answer_cannot_move_a_cursor_or_break_a_line() {
    for (body, expected) in [
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\u{1b}[2J\u{0}\u{7f}\u{9b}", r"\u{1b}[2J\0\u{7f}\u{9b}"),
        ("safe\u{202e}gpj.exe\u{2028}", r"safe\u{202e}gpj.exe\u{2028}"),
        ("grüße, 世界 🔒", "grüße, 世界 🔒"),
    ] {
        assert_eq!(answer_of("Connection: close", body), expected);
    }
    let escaped = answer_of("Connection: close", &"\u{1b}".repeat(ANSWER_BYTES_MAX));
    assert_eq!(escaped, r"\u{1b}".repeat(ANSWER_BYTES_MAX / 6), "the limit is of what is kept");
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let mut bytes = b"HTTP/1.1 500 Oops\r\n\r\na\xff\xfeb".to_vec();
    bytes.push(0xe2);
    let sink = Sink::answering("127.0.0.1:0", bytes);
    let answer = post(&egress(local()), &sink.url()).outcome;
    let expected = "a\u{fffd}\u{fffd}b\u{fffd}".to_owned();
    let expected = PostOutcome::Answered { status: 500, retry_after_s: None, answer: expected };
    assert_eq!(answer, expected);
}

#[test]
fn a_chunked_answer_is_put_together() {
    let body = "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n";
    assert_eq!(answer_of("Transfer-Encoding: chunked", body), "abcdefg");
}

#[test]
fn a_packed_answer_is_not_unpacked() {
    let body = "\u{1f}not really gzip";
    let head = format!("Content-Encoding: gzip\r\nContent-Length: {}", body.len());
    assert_eq!(answer_of(&head, body), r"\u{1f}not really gzip");
}

#[test]
fn a_body_that_breaks_off_is_kept_as_far_as_it_came() {
    assert_eq!(answer_of("Content-Length: 100", "half"), "half");
    assert_eq!(answer_of("Transfer-Encoding: chunked", "4\r\nhalf\r\nzz"), "half");
}

#[test]
fn a_closed_port_is_unreachable() {
    let nobody = Nobody::listens();
    let url = format!("http://{}/", nobody.address);
    assert_eq!(failure(post(&egress(local()), &url)), PostFailure::Unreachable);
}

#[test]
fn a_header_that_cannot_be_sent_fails_and_nothing_is_sent() {
    let sink = Sink::answering("127.0.0.1:0", OK);
    let headers = vec![("X-A", "a\r\nX-B: b".to_owned())];
    let posted = post_with(&egress(local()), &sink.url(), headers, "{}");
    assert!(matches!(failure(posted), PostFailure::Broken(_)));
    assert!(sink.requests().is_empty());
}

#[test]
fn no_more_than_allowed_are_under_way() {
    const N_AT_ONCE: usize = 2;
    let under_way = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let counters = Arc::clone(&under_way);
    let sink = Sink::after_request("127.0.0.1:0", move |mut stream| {
        let (now, most) = &*counters;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(100));
        now.fetch_sub(1, Ordering::SeqCst);
        stream.write_all(OK.as_bytes()).unwrap();
    });
    let egress = Egress::new(local(), LONG, N_AT_ONCE).unwrap();
    let start = Instant::now();
    let send = || runtime().block_on(egress.post(sink.url(), Vec::new(), "{}".into()));
    let posted: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = (0..30).map(|_| scope.spawn(send)).collect();
        all.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert!(posted.iter().all(|it| status(it) == 200), "a wait for a turn is not a slow endpoint");
    // Requests that do not count their waits overlap only as far as they are under way at once. With their waits
    // they would come to eight times as much.
    let sum_ms: u128 = posted.iter().map(|it| u128::from(it.ms)).sum();
    let under_way_ms = start.elapsed().as_millis() * N_AT_ONCE as u128;
    assert!(sum_ms < 3 * under_way_ms, "a wait is counted as the endpoint's time: {posted:?}");
    assert_eq!(under_way.1.load(Ordering::SeqCst), N_AT_ONCE);
}

#[test]
fn a_dropped_egress_waits_for_nobody() {
    let sink = Sink::after_request("127.0.0.1:0", |_stream| thread::sleep(LONG));
    let start = Instant::now();
    runtime().block_on(async {
        let egress = egress(local());
        let request = egress.post(sink.url(), Vec::new(), "{}".into());
        tokio::time::timeout(Duration::from_millis(250), request).await.unwrap_err();
    });
    assert!(start.elapsed() < HANGS_AFTER);
}

#[test]
fn a_proxy_of_the_environment_is_ignored() {
    const PROXIED: &str = "POSTURE_PROXIED";
    if std::env::var_os(PROXIED).is_some() {
        let sink = Sink::answering("127.0.0.1:0", OK);
        assert_eq!(status(&post(&egress(local()), &sink.url())), 200);
        assert_eq!(sink.n_accepted(), 1);
        return;
    }
    let proxy = Sink::answering("127.0.0.2:0", OK);
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "egress::answer::a_proxy_of_the_environment_is_ignored"]);
    again.env(PROXIED, "1").env_remove("NO_PROXY").env_remove("no_proxy");
    for name in ["ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "http_proxy", "https_proxy"]
    {
        again.env(name, format!("http://{}", proxy.address));
    }
    let done = again.output().unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && told.contains("1 passed"), "{told}");
    assert_eq!(proxy.n_accepted(), 0);
}
