//! Azure: the secure score of a subscription.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::fault::{Fault, Leaves};
use super::layer::{HOUR, List, http_date};
use super::m365::TOO_EARLY;
use super::vendor::{Connected, Vendor};
use crate::connect::azure::connection::read_once;
use crate::connect::azure::{Azure, FIRST, controls_of, next_link, real_controls};
use crate::connect::vendor::{json as page, told};
use crate::harness::sink::{Request, Sink};

pub struct Tenant {
    azure: Azure,
    elsewhere: Sink,
}

fn is_page(request: &Request) -> bool {
    request.line.contains("/secureScoreControls?")
}

const LIST: List = List {
    is_page,
    is_later: |it| is_page(it) && it.line.contains("&skip="),
    endless: |nth| {
        let ids = nth * 20_000..(nth + 1) * 20_000;
        let rows: Vec<Value> = ids.map(|it| json!({"name": it})).collect();
        page(&json!({"value": rows, "nextLink": next_link(&controls_of(FIRST), nth + 1)}))
    },
    lead: |page, to| page["nextLink"] = to.into(),
    refusal: || {
        let why =
            json!({"error": {"code": "ExpiredAuthenticationToken", "message": "It expired."}});
        told(401, &[], &why.to_string())
    },
};

impl Tenant {
    fn set(&self, rows: &[Value]) {
        self.azure.answers.pages(&controls_of(FIRST), rows, 5);
    }
}

impl Vendor for Tenant {
    const NAME: &'static str = "Azure";
    const LIST: &'static str = "secure_score_controls";
    const SPECIAL: &'static [(Fault, Leaves)] = &[
        // What it proves itself with has times in it.
        (Fault::Clock, Leaves::Nothing("the clock of this machine is 60 minutes behind; set it")),
    ];

    fn start() -> Self {
        let it = Self { azure: Azure::start(), elsewhere: Sink::answering("127.0.0.2:0", "") };
        it.set(&real_controls());
        it
    }

    fn connect(&self) -> Connected {
        let (folder, server, client, connection) = read_once(&self.azure);
        Connected { folder, server, client, connection }
    }

    fn break_by(&self, fault: Fault) {
        if fault == Fault::Shorter {
            self.set(&real_controls()[8..]);
        } else if fault == Fault::Clock {
            let ahead = http_date(Timestamp::now() + HOUR);
            self.azure.answers.set("token", told(401, &[("Date", &ahead)], TOO_EARLY));
        } else {
            LIST.put(fault, &self.azure.sink, self.elsewhere.address);
        }
    }

    fn mend(&self) {
        assert_eq!(self.elsewhere.n_accepted(), 0, "nothing is asked of another host");
        self.azure.sink.clear();
        self.set(&real_controls());
        let token = json!({"access_token": "tok", "expires_in": 3599});
        self.azure.answers.set("token", page(&token));
    }
}
