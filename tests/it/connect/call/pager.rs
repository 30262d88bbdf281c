//! Pages of every kind: what proves that a list was read to its end.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use posture::connect::call::{Collection, Letters, Pager};
use posture::connect::reading::StreamState::{Complete, Failed, Partial};
use serde_json::json;

use super::super::vendor::{Vendor, json as page, parameter};
use super::{items, read, rows, states};
use crate::harness::sink::Request;

#[test]
fn pages_after_a_row_end_with_a_short_one() {
    let after = || {
        items(
            "/v1/items?size=100",
            Pager::AfterRow {
                id_at: Cow::Borrowed("/id"),
                parameter: Cow::Borrowed("after"),
                page_rows: 100,
            },
        )
    };
    for n in [0, 99, 100, 101, 200, 205] {
        let vendor = Vendor::start(move |request| {
            let after: u64 = parameter(request, "after").parse().map_or(0, |it: u64| it + 1);
            assert_eq!(parameter(request, "size"), "100");
            page(&json!({"items": rows(after, n.min(after + 100))}))
        });
        assert_eq!(
            states(&read(&vendor, &after())),
            (Complete, String::new(), usize::try_from(n).unwrap())
        );
    }
    let stuck = Vendor::start(|_| page(&json!({"items": rows(0, 100)})));
    assert_eq!(states(&read(&stuck, &after())).0, Partial);
    assert_eq!(stuck.asked().len(), 2);
    let nameless = Vendor::start(|_| page(&json!({"items": vec![json!({}); 100]})));
    assert!(states(&read(&nameless, &after())).1.ends_with("the last row of a page has no id"));
}

#[test]
fn cursors_keep_their_name_and_advance() {
    let cursor = || {
        items(
            "/v1/items",
            Pager::Cursor {
                at: Cow::Borrowed("/cursor/name"),
                offset_at: Cow::Borrowed("/cursor/offset"),
                parameter: Cow::Borrowed("cursor"),
            },
        )
    };
    let n = AtomicUsize::new(0);
    let vendor = Vendor::start(move |request| {
        let nth = n.fetch_add(1, Ordering::SeqCst) as u64;
        assert_eq!(parameter(request, "cursor"), if nth == 0 { "" } else { "c7" });
        let from = 100 * nth;
        let found = rows(from, 250.min(from + 100).max(from));
        page(&json!({"items": found, "cursor": {"name": "c7", "offset": from}}))
    });
    assert_eq!(states(&read(&vendor, &cursor())), (Complete, String::new(), 250));
    let n = AtomicUsize::new(0);
    let restarted = Vendor::start(move |_| {
        let nth = n.fetch_add(1, Ordering::SeqCst) as u64;
        page(&json!({"items": rows(nth, nth + 100), "cursor": {"name": "c7", "offset": 0}}))
    });
    assert_eq!(states(&read(&restarted, &cursor())).0, Partial);
    for nameless in [json!({}), json!({"name": null, "offset": 0}), json!(null)] {
        let vendor =
            Vendor::start(move |_| page(&json!({"items": rows(0, 3), "cursor": nameless})));
        assert_eq!(states(&read(&vendor, &cursor())).0, Failed);
    }
    let empty = Vendor::start(|_| page(&json!({"items": []})));
    assert_eq!(states(&read(&empty, &cursor())), (Complete, String::new(), 0));
}

#[test]
fn numbered_pages_and_totals_prove_completeness() {
    let numbered = |total_at| Collection {
        total_at,
        ..items(
            "/v1/items",
            Pager::Number {
                parameter: Cow::Borrowed("page"),
                first: 1,
                last_at: Cow::Borrowed("/pages"),
            },
        )
    };
    let total = || Some(Cow::Borrowed("/total"));
    let answer = |total: u64| {
        move |request: &Request| {
            let nth = parameter(request, "page").parse().unwrap_or(1_u64);
            let found = rows(10 * (nth - 1), 25.min(10 * nth));
            page(&json!({"items": found, "pages": 3, "total": total}))
        }
    };
    let vendor = Vendor::start(answer(25));
    assert_eq!(states(&read(&vendor, &numbered(total()))), (Complete, String::new(), 25));
    let shrunk = Vendor::start(answer(31));
    let (state, reason, n) = states(&read(&shrunk, &numbered(total())));
    assert_eq!((state, n), (Partial, 25));
    assert!(reason.ends_with("the service says that there are 31 rows and sent 25"), "{reason}");
    let silent = Vendor::start(|_| page(&json!({"items": rows(0, 3)})));
    assert_eq!(states(&read(&silent, &numbered(None))).0, Failed);
    let countless = Vendor::start(|_| page(&json!({"items": rows(0, 3), "pages": 1})));
    let (state, reason, n) = states(&read(&countless, &numbered(total())));
    assert_eq!((state, n), (Partial, 3));
    assert!(reason.ends_with("the answer does not say how many rows there are"), "{reason}");
}

#[test]
fn a_page_that_lacks_what_names_the_next_is_not_the_last() {
    let deep = |kind: fn(Cow<'static, str>) -> Pager<'static>| {
        items("/v1/items", kind(Cow::Borrowed("/paging/next")))
    };
    let link = deep(|at| Pager::Link { at, letters: Letters::Exact });
    let token = deep(|at| Pager::Token { at, parameter: Cow::Borrowed("token") });
    for collection in [link, token] {
        for paging in [json!(null), json!("none"), json!([])] {
            let silent =
                Vendor::start(move |_| page(&json!({"items": rows(0, 3), "paging": paging})));
            let (state, reason, n) = states(&read(&silent, &collection));
            assert_eq!((state, n), (Failed, 0));
            assert!(reason.contains("does not say whether there is a next page"), "{reason}");
        }
        for paging in [json!({}), json!({"next": null}), json!({"next": ""})] {
            let last =
                Vendor::start(move |_| page(&json!({"items": rows(0, 3), "paging": paging})));
            assert_eq!(states(&read(&last, &collection)), (Complete, String::new(), 3));
        }
    }
}

#[test]
fn counted_pages_end_with_an_empty_one_or_with_the_total() {
    let counted = |total_at| {
        let pager = Pager::Count { parameter: Cow::Borrowed("page"), first: 0 };
        Collection { total_at, ..items("/v1/items", pager) }
    };
    let total = || Some(Cow::Borrowed("/total"));
    for (n, n_asked, n_asked_without) in [(0, 1, 1), (9, 1, 2), (10, 1, 2), (11, 2, 3), (20, 2, 3)]
    {
        let answer = move |request: &Request| {
            let nth = parameter(request, "page").parse().unwrap_or(0_u64);
            let found = rows((10 * nth).min(n), n.min(10 * (nth + 1)));
            page(&json!({"items": found, "total": n}))
        };
        for (total_at, n_asked) in [(total(), n_asked), (None, n_asked_without)] {
            let vendor = Vendor::start(answer);
            let read = read(&vendor, &counted(total_at));
            assert_eq!(states(&read), (Complete, String::new(), usize::try_from(n).unwrap()));
            assert_eq!(vendor.asked().len(), n_asked, "{n}");
        }
    }
}

#[test]
fn a_list_that_changes_while_it_is_read_is_read_again() {
    let counted = || {
        let pager = Pager::Count { parameter: Cow::Borrowed("page"), first: 0 };
        let total_at = Some(Cow::Borrowed("/total"));
        Collection { total_at, ..items("/v1/items", pager) }
    };
    // After each of the first answers the first row is deleted: row 10 then is on the page that was read.
    let deleting = |n_times: u64| {
        let n_answers = AtomicU64::new(0);
        Vendor::start(move |request: &Request| {
            let gone = n_answers.fetch_add(1, Ordering::SeqCst).min(n_times);
            let nth = parameter(request, "page").parse().unwrap_or(0_u64);
            let found = rows((gone + 10 * nth).min(25), 25.min(gone + 10 * (nth + 1)));
            page(&json!({"items": found, "total": 25 - gone}))
        })
    };
    let vendor = deleting(1);
    assert_eq!(states(&read(&vendor, &counted())), (Complete, String::new(), 24));
    assert_eq!(vendor.asked().len(), 2 + 3);
    let vendor = deleting(9);
    let (state, reason, n) = states(&read(&vendor, &counted()));
    assert_eq!((state, n, vendor.asked().len()), (Failed, 0, 3 * 2));
    assert!(reason.ends_with("the list changed 3 times while it was read"), "{reason}");
}
