//! Google Workspace: the users of an organization.

use jiff::Timestamp;
use posture::connect::google::StreamKind;
use serde_json::{Value, json};

use super::fault::{Fault, Leaves};
use super::layer::{HOUR, List, http_date};
use super::vendor::{Connected, Vendor};
use crate::connect::google::front::read_once;
use crate::connect::google::server::Google;
use crate::connect::vendor::{json as page, told};
use crate::harness::sink::Request;

pub struct Workspace {
    google: Google,
}

const PATH: &str = "GET /admin/directory/v1/users?";

fn is_page(request: &Request) -> bool {
    request.line.starts_with(PATH)
}

const LIST: List = List {
    is_page,
    is_later: |it| is_page(it) && it.line.contains("pageToken="),
    endless: |nth| {
        let ids = nth * 20_000..(nth + 1) * 20_000;
        let rows: Vec<Value> = ids.map(|it| json!({"id": it, "isEnrolledIn2Sv": true})).collect();
        page(&json!({"users": rows, "nextPageToken": format!("p{}", nth + 1)}))
    },
    lead: |_, _| panic!("a page has a token"),
    refusal: || {
        let why = "Request had invalid authentication credentials.";
        told(401, &[], &json!({"error": {"code": 401, "message": why}}).to_string())
    },
};

/// The first of them is no administrator and has no second step, and the second one has not been seen for long.
fn users(wire: &mut Value) {
    let all = wire["users"].as_array_mut().unwrap();
    let known = all.clone();
    let mut more: Vec<Value> = (known.len()..11)
        .map(|nth| {
            let mut it = known.last().unwrap().clone();
            it["id"] = format!("id-{nth}").into();
            it["primaryEmail"] = format!("user{nth}@example.com").into();
            it
        })
        .collect();
    more[0]["isEnrolledIn2Sv"] = false.into();
    more[1]["lastLoginTime"] = "2024-01-01T00:00:00.000Z".into();
    more.extend(known);
    *all = more;
}

impl Vendor for Workspace {
    const NAME: &'static str = "Google Workspace";
    const LIST: &'static str = "users";
    const SPECIAL: &'static [(Fault, Leaves)] = &[
        // What it proves itself with has times in it.
        (Fault::Clock, Leaves::Nothing("the clock of this machine is 60 minutes behind; set it")),
        (Fault::Shorter, Leaves::Doubt("account counts", "3 accounts, and there were 11")),
        (Fault::ForeignLink, Leaves::NoSuchFault("its pages have tokens, which are no links")),
    ];

    fn start() -> Self {
        let google = Google::start();
        google.script.set_page_max(StreamKind::Users, 5);
        google.script.change(users);
        Self { google }
    }

    fn connect(&self) -> Connected {
        let (folder, server, client, connection) = read_once(&self.google);
        Connected { folder, server, client, connection }
    }

    fn break_by(&self, fault: Fault) {
        let script = &self.google.script;
        if fault == Fault::Shorter {
            script.change(|it| drop(it["users"].as_array_mut().unwrap().drain(..8)));
        } else if fault == Fault::Clock {
            let why = "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.";
            let refusal = json!({"error": "invalid_grant", "error_description": why});
            let ahead = http_date(Timestamp::now() + HOUR);
            script.refuse_tokens(told(400, &[("Date", &ahead)], &refusal.to_string()));
        } else {
            LIST.put(fault, &self.google.sink, self.google.sink.address);
        }
    }

    fn mend(&self) {
        self.google.sink.clear();
        self.google.script.mend();
        self.google.script.change(users);
    }
}
