//! AWS: the security groups of a region.

use jiff::Timestamp;
use posture::clock::{Clock, Time};

use super::fault::{Fault, Leaves};
use super::layer::{HOUR, List};
use super::vendor::{Connected, Vendor};
use crate::connect::aws::cloud::{Cloud, refused_by_ec2, xml};
use crate::connect::aws::connection::read_trusted;
use crate::connect::aws::healthy::{group, groups};
use crate::harness::sink::Request;

pub struct Account {
    cloud: Cloud,
}

fn has(request: &Request, text: &str) -> bool {
    request.body.windows(text.len()).any(|it| it == text.as_bytes())
}

fn is_page(request: &Request) -> bool {
    let is_here = request.header("host") == Some("ec2.us-east-1.amazonaws.com");
    is_here && has(request, "Action=DescribeSecurityGroups")
}

fn page(ids: std::ops::Range<usize>, next: Option<usize>) -> Vec<u8> {
    // The first one opens a port of administration to everyone.
    let port = |it: usize| if it == 0 { 3389 } else { 443 };
    let items: String = ids.map(|it| group(&format!("sg-{it}"), port(it))).collect();
    let next = next.map(|it| format!("<nextToken>{it}</nextToken>")).unwrap_or_default();
    xml(&groups(&items, &next))
}

const LIST: List = List {
    is_page,
    is_later: |it| is_page(it) && has(it, "NextToken="),
    endless: |nth| {
        let ids = nth * 20_000..(nth + 1) * 20_000;
        let item = |it| format!("<item><groupId>{it}</groupId><groupName/><ipPermissions/></item>");
        let next = format!("<nextToken>{}</nextToken>", nth + 1);
        xml(&groups(&ids.map(item).collect::<String>(), &next))
    },
    lead: |_, _| panic!("a page has a token"),
    refusal: || refused_by_ec2(400, "ExpiredToken", "The token has expired"),
};

impl Account {
    /// So many groups, five on a page.
    fn set(&self, n: usize) {
        self.cloud.script.say("ec2 us-east-1 DescribeSecurityGroups", move |asked| {
            let from = asked.pairs.get("NextToken").map_or(0, |it| it.parse().unwrap());
            let until = n.min(from + 5);
            page(from..until, (until < n).then_some(until))
        });
    }
}

impl Vendor for Account {
    const NAME: &'static str = "AWS";
    const LIST: &'static str = "security_groups";
    /// And one of the other region.
    const N_ROWS: u64 = 12;
    const SPECIAL: &'static [(Fault, Leaves)] = &[
        // Every request is signed.
        (Fault::Clock, Leaves::Nothing("the clock of this machine is 60 minutes behind; set it")),
        (Fault::ForeignLink, Leaves::NoSuchFault("its pages have tokens, which are no links")),
        (Fault::Html, Leaves::OneListLess("is not in the form that AWS documents")),
        (Fault::Empty, Leaves::OneListLess("is not in the form that AWS documents")),
        (Fault::SamePage, Leaves::OneListLess("AWS sent the same page twice")),
    ];

    fn start() -> Self {
        let it = Self { cloud: Cloud::start() };
        it.set(11);
        it
    }

    fn connect(&self) -> Connected {
        let (folder, server, client, connection) = read_trusted(&self.cloud);
        Connected { folder, server, client, connection }
    }

    fn break_by(&self, fault: Fault) {
        if fault == Fault::Shorter {
            // What an account may read of a region, it sees as a whole, so that fewer groups are fewer.
            self.set(3);
        } else if fault == Fault::Clock {
            let ahead: Time = (Timestamp::now() + HOUR).to_string().parse().unwrap();
            self.cloud.script.set_clock(ahead);
        } else {
            LIST.put(fault, &self.cloud.sink, self.cloud.sink.address);
        }
    }

    fn mend(&self) {
        self.cloud.sink.clear();
        self.set(11);
        self.cloud.script.set_clock(Clock::System.now());
    }
}
