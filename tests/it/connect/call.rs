//! Calls of a vendor that misbehaves: what each kind of fault leaves.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use posture::connect::call::{Api, Auth, Call, Cause, Collection, Letters, Pace, Pager, Rows};
use posture::connect::reading::StreamState::{self, Complete, Denied, Failed, Partial};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

mod pager;

use super::vendor::{ORIGIN, Vendor, json as page, parameter, tokens, told};
use crate::harness::sink::Request;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn items(path: &str, pager: Pager<'static>) -> Collection<'static> {
    Collection { pager, ..Collection::whole(Call::get(format!("{ORIGIN}{path}")), "/items") }
}

fn linked() -> Collection<'static> {
    items("/v1/items", Pager::Link { at: Cow::Borrowed("/next"), letters: Letters::Exact })
}

fn read_with(api: &Api, collection: &Collection<'_>) -> Rows {
    let tokens = tokens();
    runtime().block_on(async { api.read(collection, &Auth::Bearer(&tokens)).await })
}

fn read(vendor: &Vendor, collection: &Collection<'_>) -> Rows {
    read_with(&vendor.api(), collection)
}

fn states(rows: &Rows) -> (StreamState, String, usize) {
    let stream = rows.stream("items");
    assert_eq!(stream.n_rows, rows.rows.len() as u64);
    (stream.state, stream.reason, rows.rows.len())
}

/// Numbers from `from` up to `until`, as rows.
fn rows(from: u64, until: u64) -> Vec<Value> {
    (from..until).map(|it| json!({"id": it})).collect()
}

/// Pages of 100 of `n` rows, each with the link to the next one.
fn pages_of(n: u64, link: &'static str) -> impl Fn(&Request) -> Vec<u8> {
    move |request| {
        let from: u64 = parameter(request, "from").parse().unwrap_or(0);
        let until = n.min(from + 100);
        let next = (until < n).then(|| format!("{link}/v1/items?from={until}"));
        page(&json!({"items": rows(from, until), "next": next}))
    }
}

#[test]
fn every_page_is_read_to_the_last_row() {
    for n in [0, 1, 99, 100, 101, 500, 501] {
        for link in [ORIGIN, ""] {
            let vendor = Vendor::start(pages_of(n, link));
            let read = read(&vendor, &linked());
            assert_eq!(states(&read), (Complete, String::new(), usize::try_from(n).unwrap()));
            assert_eq!(read.rows, rows(0, n));
            let asked = vendor.asked();
            assert_eq!(asked.len() as u64, n.div_ceil(100).max(1), "{n}");
            let bearer = |it: &Request| it.header("authorization") == Some("Bearer t1");
            assert!(asked.iter().all(bearer));
        }
    }
}

#[test]
fn an_empty_page_in_the_middle_is_not_the_end() {
    let vendor = Vendor::start(|request| match parameter(request, "from").as_str() {
        "" => page(&json!({"items": rows(0, 2), "next": format!("{ORIGIN}/v1/items?from=2")})),
        "2" => page(&json!({"items": [], "next": format!("{ORIGIN}/v1/items?from=3")})),
        _ => page(&json!({"items": rows(2, 3)})),
    });
    assert_eq!(states(&read(&vendor, &linked())), (Complete, String::new(), 3));
}

/// Azure has sent links with the default port, and writes paths in capitals too.
#[test]
fn a_link_to_the_same_place_is_followed_however_it_is_written() {
    let any =
        items("/v1/items", Pager::Link { at: Cow::Borrowed("/next"), letters: Letters::AnyCase });
    let exact = linked();
    for (link, is_followed, letters) in [
        ("https://vendor.example:443/v1/items?from=1", true, &exact),
        ("https://VENDOR.Example/v1/items?from=1", true, &exact),
        ("HTTPS://vendor.example/v1/items?from=1", true, &exact),
        ("https://vendor.example/V1/items?from=1", false, &exact),
        ("https://vendor.example/V1/items?from=1", true, &any),
        ("https://vendor.example/V2/items?from=1", false, &any),
        ("https://vendor.example:80/v1/items?from=1", false, &any),
        ("http://vendor.example:443/v1/items?from=1", false, &any),
        ("https://vendor.example:0443/v1/items?from=1", false, &any),
    ] {
        let vendor = Vendor::start(move |request| match parameter(request, "from").as_str() {
            "" => page(&json!({"items": rows(0, 1), "next": link})),
            _ => page(&json!({"items": rows(1, 2)})),
        });
        let (state, _, n) = states(&read(&vendor, letters));
        let wanted = if is_followed { (Complete, 2) } else { (Partial, 1) };
        assert_eq!((state, n), wanted, "{link}");
    }
}

#[test]
fn an_answer_with_a_byte_order_mark_is_json() {
    let body = format!("\u{feff}{}", json!({"items": rows(0, 2)}));
    let vendor = Vendor::start(move |_| told(200, &[], &body));
    assert_eq!(states(&read(&vendor, &linked())), (Complete, String::new(), 2));
}

#[test]
fn a_link_to_another_place_is_not_followed() {
    let trap = crate::harness::sink::Sink::answering("127.0.0.2:0", "");
    let trap_origin = format!("http://{}", trap.address);
    for link in [
        format!("{trap_origin}/v1/items?from=1"),
        "https://evil.example/v1/items?from=1".to_owned(),
        "https://vendor.example.evil.example/v1/items".to_owned(),
        "https://vendor.example@evil.example/v1/items".to_owned(),
        "https://vendor.example:8443/v1/items".to_owned(),
        "//evil.example/v1/items".to_owned(),
        format!("{ORIGIN}/admin/items"),
        format!("{ORIGIN}/v1/../admin"),
        format!("{ORIGIN}/v1/%2e%2e/admin"),
        "ftp://vendor.example/v1/items".to_owned(),
    ] {
        let to = link.clone();
        let vendor = Vendor::start(move |_| page(&json!({"items": rows(0, 5), "next": to})));
        let (state, reason, n) = states(&read(&vendor, &linked()));
        assert_eq!((state, n), (Partial, 5), "{link}");
        assert!(reason.contains("the next page is said to be at another place"), "{reason}");
        assert_eq!(vendor.asked().len(), 1, "{link}");
    }
    assert_eq!(trap.n_accepted(), 0);
}

#[test]
fn pages_that_repeat_or_never_end_are_not_complete() {
    let same = Vendor::start(|_| {
        page(&json!({"items": rows(0, 3), "next": format!("{ORIGIN}/v1/items?from=3")}))
    });
    let (state, reason, _) = states(&read(&same, &linked()));
    assert_eq!(state, Partial);
    assert!(reason.contains("the same page twice"), "{reason}");
    assert_eq!(same.asked().len(), 2);
    let circle = Vendor::start(|request| {
        let at = parameter(request, "from") == "b";
        let (from, next) = if at { (10, "a") } else { (20, "b") };
        let next = format!("{ORIGIN}/v1/items?from={next}");
        page(&json!({"items": rows(from, from + 3), "next": next}))
    });
    assert_eq!(states(&read(&circle, &linked())).0, Partial);
    assert!(circle.asked().len() <= 4);
    // The same rows, each time with another way to go on.
    let again = AtomicUsize::new(0);
    let again = Vendor::start(move |_| {
        let next = format!("{ORIGIN}/v1/items?from={}", again.fetch_add(1, Ordering::SeqCst));
        page(&json!({"items": rows(0, 3), "next": next}))
    });
    let (state, reason, _) = states(&read(&again, &linked()));
    assert!(state == Partial && reason.contains("the same page twice"), "{reason}");
    assert_eq!(again.asked().len(), 2);
    let empty =
        Vendor::start(|_| page(&json!({"items": [], "next": format!("{ORIGIN}/v1/items")})));
    assert_eq!(states(&read(&empty, &linked())).0, Failed);
}

/// A list of this many pages of this many rows, to which another one leads.
fn pages(n_pages: u64, n_rows: u64, filler: usize) -> Vendor {
    let filler = "x".repeat(filler);
    Vendor::start(move |request| {
        let nth: u64 = parameter(request, "from").parse().unwrap_or(0);
        let next = (nth + 1 < n_pages).then(|| format!("{ORIGIN}/v1/items?from={}", nth + 1));
        let rows = rows(nth * n_rows, (nth + 1) * n_rows);
        page(&json!({"items": rows, "next": next, "filler": filler}))
    })
}

#[test]
fn a_list_is_read_up_to_its_limits() {
    const MIB: usize = 1_024 * 1_024;
    for (n_pages, n_rows, filler, reason) in [
        (10, 20_000, 0, ""),
        (11, 20_000, 0, "more than 200000 rows are not read"),
        (2_000, 1, 0, ""),
        (2_001, 1, 0, "more than 2000 pages are not read"),
        (4, 1, 31 * MIB, ""),
        (5, 1, 31 * MIB, "more than 128 MiB are not read"),
        (1, 1, 32 * MIB, "Vendor: the answer is longer than 32768 KiB, and is not read"),
    ] {
        let vendor = pages(n_pages, n_rows, filler);
        let (_, found, n) = states(&read(&vendor, &linked()));
        let expected = if n == 0 || reason.is_empty() {
            reason.to_owned()
        } else {
            format!("{n} rows were read, then: {reason}")
        };
        assert_eq!(found, expected, "{n_pages} pages of {n_rows}");
    }
}

#[test]
fn a_refused_token_is_replaced_once_and_the_page_is_read_again() {
    let vendor = Vendor::start(|request| {
        let is_old = request.header("authorization") == Some("Bearer t1");
        if is_old && parameter(request, "from") == "100" {
            return told(401, &[], "{}");
        }
        pages_of(250, ORIGIN)(request)
    });
    assert_eq!(states(&read(&vendor, &linked())), (Complete, String::new(), 250));
    assert_eq!(vendor.n_tokens(), 2);
    let never = Vendor::start(|_| told(401, &[], "{}"));
    let (state, reason, _) = states(&read(&never, &linked()));
    assert_eq!((state, reason.as_str()), (Failed, "Vendor answered 401"));
    assert_eq!((never.n_tokens(), never.asked().len()), (2, 2));
}

#[test]
fn many_calls_at_once_get_one_token() {
    let vendor = Vendor::start(|_| page(&json!({"items": []})));
    let (api, tokens) = (vendor.api(), tokens());
    runtime().block_on(async {
        let call = Call::get(format!("{ORIGIN}/v1/items"));
        let auth = Auth::Bearer(&tokens);
        let calls = (0..20).map(|_| api.call(&call, &auth));
        assert!(join_all(calls).await.iter().all(Result::is_ok));
    });
    assert_eq!((vendor.n_tokens(), vendor.asked().len()), (1, 20));
    let form = vendor.sink.requests().into_iter().find(|it| it.line == "POST /token").unwrap();
    assert_eq!(form.body, b"a=b%20c%26d");
}

/// Answers the first request like this, and the others well.
fn once(first: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Vendor {
    let n = AtomicUsize::new(0);
    Vendor::start(move |_| match n.fetch_add(1, Ordering::SeqCst) {
        0 => first(),
        _ => page(&json!({"items": rows(0, 1)})),
    })
}

#[test]
fn a_service_that_is_busy_is_asked_again_when_it_said() {
    let date = jiff::Timestamp::now() + Duration::from_secs(3);
    let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    for (asked, at_least_ms) in
        [(Some("2"), 2_000), (Some("0.249"), 1_000), (Some("0"), 1_000), (None, 2_000)]
    {
        let asked = asked.map(str::to_owned);
        let vendor = once(move || {
            let after = asked.as_deref().map(|it| ("Retry-After", it));
            told(429, after.as_slice(), "{}")
        });
        let start = Instant::now();
        assert_eq!(states(&read(&vendor, &linked())), (Complete, String::new(), 1));
        assert!(Duration::from_millis(at_least_ms) <= start.elapsed(), "{at_least_ms}");
    }
    let dated = once(move || told(503, &[("Retry-After", &date)], "{}"));
    assert_eq!(states(&read(&dated, &linked())).0, Complete);
    let in_words = once(|| told(403, &[("Retry-After", "1")], "slow down"));
    assert_eq!(states(&read(&in_words, &linked())).0, Complete);
}

#[test]
fn a_wait_longer_than_the_run_is_not_waited_for() {
    let vendor = once(|| told(429, &[("Retry-After", "250")], "{}"));
    let api = vendor.api_until(Duration::from_secs(30));
    let start = Instant::now();
    let (state, reason, _) = states(&read_with(&api, &linked()));
    let expected = "Vendor asked to wait for 250 s, and there was not enough time";
    assert_eq!((state, reason.as_str()), (Failed, expected));
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn what_breaks_is_tried_three_times_and_is_never_an_empty_list() {
    type Broken = fn() -> Vec<u8>;
    let broken: [(&str, Broken, &str); 6] = [
        ("status 500", || told(500, &[("Retry-After", "1")], "{}"), "Vendor answered 500"),
        ("status 502", || told(502, &[("Retry-After", "1")], "<html>"), "Vendor answered 502"),
        (
            "cut",
            || b"HTTP/1.1 200 x\r\nContent-Length: 90\r\n\r\n{\"items\": [".to_vec(),
            "Vendor:",
        ),
        ("no answer", Vec::new, "Vendor:"),
        (
            "cut in chunks",
            || b"HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"ite".to_vec(),
            "Vendor:",
        ),
        ("garbage", || b"nonsense\r\n\r\n".to_vec(), "Vendor:"),
    ];
    for (name, answer, words) in broken {
        let vendor = Vendor::start(move |_| answer());
        let (state, reason, n) = states(&read(&vendor, &linked()));
        assert_eq!((state, n), (Failed, 0), "{name}");
        assert!(reason.starts_with(words), "{name}: {reason}");
        assert_eq!(vendor.asked().len(), 3, "{name}");
    }
    for (name, answer) in [
        ("HTML", told(200, &[("Content-Type", "text/html")], "<html>Sign in</html>")),
        ("nothing", told(200, &[], "")),
        ("another object", told(200, &[], "{\"error\": \"x\"}")),
        ("no list", told(200, &[], "{\"items\": {}}")),
        ("null", told(200, &[], "{\"items\": null}")),
        ("a list", told(200, &[], "[]")),
    ] {
        let vendor = Vendor::start(move |_| answer.clone());
        let (state, reason, n) = states(&read(&vendor, &linked()));
        assert_eq!((state, n), (Failed, 0), "{name}");
        assert!(reason.starts_with("the answer "), "{name}: {reason}");
    }
}

#[test]
fn a_fault_after_some_pages_leaves_them_partial() {
    let vendor = Vendor::start(|request| match parameter(request, "from").as_str() {
        "200" => told(400, &[], "{}"),
        _ => pages_of(300, ORIGIN)(request),
    });
    let (state, reason, n) = states(&read(&vendor, &linked()));
    assert_eq!((state, n), (Partial, 200));
    assert_eq!(reason, "200 rows were read, then: Vendor answered 400");
    let denied = Vendor::start(|_| told(403, &[], "{}"));
    let mut collection = linked();
    collection.first.permission = Cow::Borrowed("Items.Read");
    let (state, reason, _) = states(&read(&denied, &collection));
    assert_eq!((state, reason.as_str()), (Denied, "not allowed; grant Items.Read"));
}

#[test]
fn calls_of_one_class_keep_their_distance() {
    let vendor = Vendor::start(|_| page(&json!({"items": []})));
    let api = vendor.api();
    let gap = Duration::from_millis(300);
    let mut call = Call::get(format!("{ORIGIN}/v1/items"));
    call.pace = Pace { class: "slow", gap };
    let start = Instant::now();
    runtime().block_on(async {
        let calls = (0..4).map(|_| api.call(&call, &Auth::None));
        assert!(join_all(calls).await.iter().all(Result::is_ok));
    });
    assert!(gap * 3 <= start.elapsed());
    assert_eq!(api.n_calls(), 4);
}

#[test]
fn a_refusal_of_a_token_is_not_repeated_and_tells_a_wrong_clock() {
    let refusing = |date: i64| {
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(date);
        let at = at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        crate::harness::sink::Sink::scripted("127.0.0.1:0", move |_| {
            told(401, &[("Date", &at)], "{}")
        })
    };
    for (off_s, words) in [
        (0, "no token: 401"),
        (3_600, "the clock of this machine is 60 minutes behind; set it. no token: 401"),
        (-3_600, "the clock of this machine is 60 minutes ahead; set it. no token: 401"),
    ] {
        let vendor = Vendor::of(refusing(off_s + 10));
        let (api, tokens) = (vendor.api(), tokens());
        runtime().block_on(async {
            for _ in 0..3 {
                let call = Call::get(format!("{ORIGIN}/v1/items"));
                let unread = api.call(&call, &Auth::Bearer(&tokens)).await.unwrap_err();
                let minutes_off = |it: &str| it.replace("59 minutes", "60 minutes");
                assert_eq!(minutes_off(&unread.reason), words);
                assert_eq!(unread.cause, Cause::Credential);
            }
        });
        assert_eq!(vendor.sink.requests().len(), 1, "it is not asked for again");
    }
}
