//! The DNS: the DMARC policy of a domain.

use std::sync::{Arc, Mutex};

use super::fault::{Fault, Leaves};
use super::vendor::{Connected, Vendor, wait_until_idle};
use crate::connect::connection::{add, folder};
use crate::connect::server::{Asked, MX, Reply, Server, TXT};

const DOMAIN: &str = "good.example";

pub struct Names {
    server: Server,
    fault: Arc<Mutex<Option<Fault>>>,
}

fn answer(asked: &Asked, fault: Option<Fault>) -> Reply {
    let good = match (asked.name.as_str(), asked.kind) {
        (DOMAIN, MX) => Reply::Mx("10 mail.example."),
        (DOMAIN, TXT) => Reply::Txt("v=spf1 +all"),
        ("_dmarc.good.example", TXT) => Reply::Txt("v=DMARC1; p=reject"),
        (DOMAIN, _) => Reply::Nothing,
        _ => Reply::Code(3),
    };
    let Some(fault) = fault.filter(|_| asked.name == "_dmarc.good.example") else { return good };
    match fault {
        Fault::Cut => Reply::Truncated,
        Fault::OneRowMore if !asked.is_tcp => Reply::Truncated,
        Fault::Html => Reply::Garbage,
        Fault::Error => Reply::Code(2),
        Fault::ForeignLink => Reply::Referral,
        Fault::SamePage => Reply::Cname("_dmarc.good.example"),
        Fault::Busy(_)
        | Fault::Refused
        | Fault::OneRowMore
        | Fault::Clock
        | Fault::Empty
        | Fault::Endless
        | Fault::Shorter => good,
    }
}

impl Vendor for Names {
    const NAME: &'static str = "DNS";
    const LIST: &'static str = "dmarc";
    const N_ROWS: u64 = 1;

    fn start() -> Self {
        let fault = Arc::new(Mutex::new(None));
        let known = Arc::clone(&fault);
        let server = Server::start(move |asked| answer(asked, *known.lock().unwrap()));
        Self { server, fault }
    }

    fn connect(&self) -> Connected {
        let folder = folder(self.server.address);
        let server = folder.serve();
        let client = folder.client("Acme");
        let connection = add(&folder, &[DOMAIN]);
        wait_until_idle(&folder, &connection);
        Connected { folder, server, client, connection }
    }

    fn leaves(fault: Fault) -> Leaves {
        match fault {
            Fault::Busy(_) => Leaves::NoSuchFault("a name server does not say when to come back"),
            Fault::Refused => Leaves::NoSuchFault("it needs no credential"),
            Fault::Clock => Leaves::NoSuchFault("a query has no time in it"),
            Fault::Endless => Leaves::NoSuchFault(
                "SPF allows ten lookups, and a record that asks for more is a finding",
            ),
            Fault::Shorter => Leaves::NoSuchFault("a record is no list"),
            Fault::Empty => Leaves::NoSuchFault("that a name has no such record is an answer"),
            // What does not fit into a packet is asked for over TCP.
            Fault::OneRowMore => Leaves::Everything,
            Fault::Cut => Leaves::OneListLess("failed: the answer of the name server is cut off"),
            Fault::Html => {
                Leaves::OneListLess("failed: the answer of the name server is not valid")
            }
            Fault::Error => Leaves::OneListLess("the name server answered SERVFAIL"),
            Fault::ForeignLink => Leaves::OneListLess("the name server refers to others"),
            Fault::SamePage => Leaves::OneListLess("in a circle"),
        }
    }

    fn break_by(&self, fault: Fault) {
        *self.fault.lock().unwrap() = Some(fault);
    }

    fn mend(&self) {
        *self.fault.lock().unwrap() = None;
    }
}
