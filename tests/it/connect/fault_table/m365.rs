//! Microsoft 365: the users of a tenant.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::fault::{Fault, Leaves};
use super::layer::{HOUR, List, http_date};
use super::vendor::{Connected, Vendor};
use crate::connect::graph::{Graph, Told, registration, user};
use crate::connect::tenant::read_once;
use crate::connect::vendor::{json as page, told};
use crate::harness::sink::Sink;

pub struct M365 {
    graph: Graph,
    elsewhere: Sink,
}

const LIST: List = List {
    is_page: |it| it.line.starts_with("GET /v1.0/users?"),
    is_later: |it| it.line.starts_with("GET /v1.0/users?$skiptoken="),
    endless: |nth| {
        let rows: Vec<Value> = (0..20_000).map(|it| json!({"id": nth * 20_000 + it})).collect();
        let next = format!("https://graph.microsoft.com/v1.0/users?$skiptoken={}", nth + 1);
        page(&json!({"value": rows, "@odata.nextLink": next}))
    },
    lead: |page, to| page["@odata.nextLink"] = to.into(),
    refusal: || told(401, &[], r#"{"error":{"code":"InvalidAuthenticationToken","message":"x"}}"#),
};

/// What the authority says of a time that is not its own.
pub const TOO_EARLY: &str = r#"{"error": "invalid_client", "error_codes": [700024],
    "error_description": "AADSTS700024: Connected assertion is not within its valid time range."}"#;

/// The first of them is an administrator without MFA, and the second one has not been seen for long.
fn users() -> Vec<Value> {
    let each = |nth: usize| user(&format!("u{nth}"), &format!("user{nth}"));
    let mut all: Vec<Value> = (1..=11).map(each).collect();
    let long_ago = Timestamp::now() - Duration::from_hours(24 * 400);
    all[1]["signInActivity"]["lastSuccessfulSignInDateTime"] = long_ago.to_string().into();
    all
}

impl Vendor for M365 {
    const NAME: &'static str = "Microsoft 365";
    const LIST: &'static str = "users";
    /// Microsoft's reports are read so slowly that a run takes five seconds.
    const N_LANES: usize = 9;
    const SPECIAL: &'static [(Fault, Leaves)] = &[
        // What it proves itself with has times in it.
        (Fault::Clock, Leaves::Nothing("the clock of this machine is 60 minutes behind; set it")),
        (Fault::Shorter, Leaves::Doubt("account counts", "3 accounts, and there were 11")),
    ];

    fn start() -> Self {
        let graph = Graph::start_with(5);
        graph.answers.set("/users", Told::List(users()));
        // On one page, because reports are read slowly.
        let registered = (1..=11).map(|nth| registration(&format!("u{nth}"), nth != 1));
        let registered = json!({"value": registered.collect::<Vec<_>>()});
        let path = "/reports/authenticationMethods/userRegistrationDetails";
        graph.answers.set(path, Told::Object(registered));
        Self { graph, elsewhere: Sink::answering("127.0.0.2:0", "") }
    }

    fn connect(&self) -> Connected {
        let (folder, server, client, connection) = read_once(&self.graph);
        Connected { folder, server, client, connection }
    }

    fn break_by(&self, fault: Fault) {
        let ahead = vec![("Date", http_date(Timestamp::now() + HOUR))];
        let refused = Told::Raw(401, ahead, TOO_EARLY.to_owned());
        if fault == Fault::Shorter {
            self.graph.answers.set("/users", Told::List(users().split_off(8)));
        } else if fault == Fault::Clock {
            self.graph.answers.set("token", refused);
        } else {
            LIST.put(fault, &self.graph.sink, self.elsewhere.address);
        }
    }

    fn mend(&self) {
        assert_eq!(self.elsewhere.n_accepted(), 0, "nothing is asked of another host");
        self.graph.sink.clear();
        self.graph.answers.set("/users", Told::List(users()));
        let token = json!({"access_token": "tok", "expires_in": 3599});
        self.graph.answers.set("token", Told::Object(token));
    }
}
