//! Remote management tools and the like, by the mappings of this release and by one of the MSP's own: the devices of a client.

use std::marker::PhantomData;

use posture::connect::mapping::{EXAMPLE, FILES};
use serde_json::{Value, json};

use super::fault::{Fault, Leaves};
use super::layer::List;
use super::vendor::{Connected, Vendor, wait_until_idle};
use crate::connect::mapping::tool::{
    DATTO, HUNTRESS, Tool, agents, datto, fast, ninja, now_s, own,
};
use crate::connect::tenant::ran;
use crate::connect::vendor::{json as page, parameter, told};
use crate::harness::sink::{Request, Sink};

/// What the mapping of a tool says.
pub trait Declared {
    const NAME: &'static str;
    /// Of its mapping. Empty: it is the example of one.
    const KIND: &'static str;
    const LIST: &'static str;
    const PAGED: List;
    const SETTINGS: &'static [&'static str];
    /// The setting that is in a file.
    const SECRET: &'static str;
    const PATH: &'static str;
    const SPECIAL: &'static [(Fault, Leaves)];

    /// With eleven devices of one client, of which the first has something wrong.
    fn start() -> Tool;
}

/// A tool that answers by its mapping.
pub struct Rmm<D> {
    tool: Tool,
    elsewhere: Sink,
    rows: Vec<Value>,
    declared: PhantomData<D>,
}

impl<D: Declared> Vendor for Rmm<D> {
    const NAME: &'static str = D::NAME;
    const LIST: &'static str = D::LIST;
    const SPECIAL: &'static [(Fault, Leaves)] = D::SPECIAL;

    fn start() -> Self {
        let tool = D::start();
        tool.set_page_max(5);
        let rows = tool.rows(D::PATH);
        assert_eq!(rows.len(), 11);
        let elsewhere = Sink::answering("127.0.0.2:0", "");
        Self { tool, elsewhere, rows, declared: PhantomData }
    }

    fn connect(&self) -> Connected {
        let folder = self.tool.folder();
        let found = FILES.into_iter().find(|(it, _)| *it == format!("{}.toml", D::KIND));
        let text = found.map_or(EXAMPLE, |(_, text)| text);
        // Under another name and without its pace, so that a run does not wait.
        let line = text.lines().find(|it| it.starts_with("kind = ")).unwrap();
        let kind = format!("test_{}", line.split('"').nth(1).unwrap());
        let own = text.replacen(line, &format!("kind = \"{kind}\""), 1);
        folder.write("own.toml", fast(&own).as_bytes());
        let server = folder.serve();
        let client = folder.client("Acme");
        folder.ok(&["connect", "mapping", "add", "own.toml"]);
        let secret = format!("{}=secret", D::SECRET);
        let mut args = vec!["connect", "add", "--no-wait", &kind, "--set-file", &secret];
        args.extend(D::SETTINGS.iter().flat_map(|it| ["--set", it]));
        let connection = folder.ok(&args).trim_end().to_owned();
        ran(&folder, &connection, &Value::Null);
        folder.ok(&["connect", "map", &connection, "--by-name"]);
        wait_until_idle(&folder, &connection);
        Connected { folder, server, client, connection }
    }

    fn break_by(&self, fault: Fault) {
        if fault == Fault::Shorter {
            self.tool.set(D::PATH, self.rows[8..].to_vec().into());
        } else {
            D::PAGED.put(fault, &self.tool.sink, self.elsewhere.address);
        }
    }

    fn mend(&self) {
        assert_eq!(self.elsewhere.n_accepted(), 0, "nothing is asked of another host");
        self.tool.sink.clear();
        self.tool.set(D::PATH, self.rows.clone().into());
    }
}

const FEW: (Fault, Leaves) =
    (Fault::Shorter, Leaves::Doubt("device counts", "Acme has 3 devices and had 11"));
/// A key is not issued anew.
const FIXED_KEY: (Fault, Leaves) =
    (Fault::Refused, Leaves::OneListLess("the tool does not accept the credential"));
const UNLINKED: (Fault, Leaves) =
    (Fault::ForeignLink, Leaves::NoSuchFault("its pages are asked for without links"));
const WHOLE: Leaves = Leaves::NoSuchFault("it sends a list as one answer");

fn refused() -> Vec<u8> {
    told(401, &[], r#"{"detail":"Invalid token."}"#)
}

fn no_link(_: &mut Value, _: &str) {
    panic!("a page has no link");
}

/// The nth page of a list without an end, whose rows have only an id.
fn ids(nth: usize) -> Value {
    (nth * 20_000..(nth + 1) * 20_000).map(|it| json!({"id": it, "uid": it})).collect()
}

fn is_at(request: &Request, path: &str) -> bool {
    request.line.split(['?', ' ']).nth(1) == Some(path)
}

pub struct NinjaOne;

impl Declared for NinjaOne {
    const NAME: &'static str = "NinjaOne";
    const KIND: &'static str = "ninjaone";
    const LIST: &'static str = "devices";
    const SETTINGS: &'static [&'static str] = &["region=eu", "client_id=abc"];
    const SECRET: &'static str = "client_secret";
    const PATH: &'static str = "/v2/devices-detailed";
    const SPECIAL: &'static [(Fault, Leaves)] = &[FEW, UNLINKED];
    const PAGED: List = List {
        is_page: |it| is_at(it, Self::PATH),
        is_later: |it| is_at(it, Self::PATH) && it.line.contains("after="),
        endless: |nth| page(&ids(nth)),
        lead: no_link,
        refusal: refused,
    };

    fn start() -> Tool {
        let tool = ninja();
        let queries = ["operating-systems", "computer-systems", "antivirus-status"];
        let more = ["device-health", "volumes", "os-patch-installs", "software-patch-installs"];
        let queries = queries.into_iter().chain(more).map(|it| format!("/v2/queries/{it}"));
        for path in queries.chain([Self::PATH.to_owned(), "/v2/backup/jobs".to_owned()]) {
            let one = tool.rows(&path)[0].clone();
            let id = if path == Self::PATH { "id" } else { "deviceId" };
            let each = |nth: usize| {
                let mut it = one.clone();
                it[id] = (700 + nth).into();
                it
            };
            tool.set(&path, (0..11).map(each).collect());
        }
        let mut devices = tool.rows(Self::PATH);
        devices[0]["lastContact"] = (now_s() - 40 * 86_400).into();
        tool.set(Self::PATH, devices.into());
        tool
    }
}

pub struct Datto;

impl Declared for Datto {
    const NAME: &'static str = "Datto RMM";
    const KIND: &'static str = "datto";
    const LIST: &'static str = "devices";
    const SETTINGS: &'static [&'static str] = &["region=merlot", "username=AK"];
    const SECRET: &'static str = "password";
    const PATH: &'static str = "/api/v2/account/devices";
    const SPECIAL: &'static [(Fault, Leaves)] = &[FEW];
    const PAGED: List = List {
        is_page: |it| is_at(it, Self::PATH),
        is_later: |it| is_at(it, Self::PATH) && it.line.contains("page="),
        endless: |nth| {
            let next = format!("{DATTO}{}?page={}", Self::PATH, nth + 1);
            let details = json!({"totalCount": 1_000_000, "nextPageUrl": next});
            page(&json!({"pageDetails": details, "devices": ids(nth)}))
        },
        lead: |page, to| page["pageDetails"]["nextPageUrl"] = to.into(),
        refusal: refused,
    };

    fn start() -> Tool {
        let tool = datto(11);
        let mut devices = tool.rows(Self::PATH);
        devices[0]["antivirus"]["antivirusStatus"] = "NotRunning".into();
        tool.set(Self::PATH, devices.into());
        tool
    }
}

pub struct Tactical;

impl Declared for Tactical {
    const NAME: &'static str = "Tactical RMM";
    const KIND: &'static str = "tactical";
    const LIST: &'static str = "agents";
    const SETTINGS: &'static [&'static str] = &["origin=https://rmm.example"];
    const SECRET: &'static str = "key";
    const PATH: &'static str = "/agents/";
    const SPECIAL: &'static [(Fault, Leaves)] = &[
        FEW,
        (Fault::ForeignLink, WHOLE),
        (Fault::SamePage, WHOLE),
        (Fault::Refused, WHOLE),
        (Fault::OneRowMore, WHOLE),
        (
            Fault::Endless,
            Leaves::OneListLess("the answer is longer than 32768 KiB, and is not read"),
        ),
    ];
    const PAGED: List = List {
        is_page: |it| is_at(it, Self::PATH),
        is_later: |_| panic!("there is one page"),
        endless: |_| {
            let rows = format!("[{{\"agent_id\": \"{}\"}}]", "x".repeat(33 * 1_024 * 1_024));
            told(200, &[("Content-Type", "application/json")], &rows)
        },
        lead: no_link,
        refusal: refused,
    };

    fn start() -> Tool {
        let tool = Tool::start();
        tool.set("/clients/", json!([{"id": 4, "name": "Acme"}]));
        let now = jiff::Timestamp::now();
        let agent = |nth: usize| {
            json!({
                "agent_id": format!("a{nth}"), "hostname": format!("PC-{nth}"), "client_name": "Acme",
                "monitoring_type": "workstation", "needs_reboot": nth == 0, "status": "online",
                "last_seen": now.to_string(), "boot_time": now_s() - 86_400 * if nth == 0 { 90 } else { 1 },
                "plat": "windows", "serial_number": format!("SN-{nth}"), "local_ips": "10.0.0.5",
                "operating_system": "Microsoft Windows 11 Pro, 64bit (build 26200)",
            })
        };
        tool.set(Self::PATH, (0..11).map(agent).collect());
        tool
    }
}

pub struct Huntress;

impl Declared for Huntress {
    const NAME: &'static str = "Huntress";
    const KIND: &'static str = "huntress";
    const LIST: &'static str = "agents";
    const SETTINGS: &'static [&'static str] = &["region=us", "username=AK"];
    const SECRET: &'static str = "password";
    const PATH: &'static str = "/v1/agents";
    const SPECIAL: &'static [(Fault, Leaves)] = &[FEW, FIXED_KEY];
    const PAGED: List = List {
        is_page: |it| is_at(it, Self::PATH),
        is_later: |it| is_at(it, Self::PATH) && it.line.contains("page="),
        endless: |nth| {
            let next = format!("{HUNTRESS}{}?page={}", Self::PATH, nth + 1);
            page(&json!({"pagination": {"next_page_url": next}, "agents": ids(nth)}))
        },
        lead: |page, to| page["pagination"]["next_page_url"] = to.into(),
        refusal: refused,
    };

    fn start() -> Tool {
        let tool = Tool::start();
        tool.set("/v1/organizations", json!([{"id": 30, "name": "Acme"}]));
        tool.set("/v1/incident_reports", json!([]));
        let now = jiff::Timestamp::now().to_string();
        let agent = |nth: usize| {
            json!({
                "id": 900 + nth, "organization_id": 30, "hostname": format!("WS-{nth}"),
                "os": "Windows 11 Enterprise", "os_build_version": "10.0.26100.4652",
                "win_build_number": 26_100, "serial_number": format!("SN-{nth}"),
                "ipv4_address": "10.0.0.21", "mac_addresses": [], "edr_version": "0.14.2",
                "firewall_status": if nth == 0 { "Disabled" } else { "Enabled" },
                "defender_status": "Protected", "defender_substatus": "Up to date",
                "last_callback_at": now,
            })
        };
        tool.set(Self::PATH, (0..11).map(agent).collect());
        tool
    }
}

pub struct Own;

impl Declared for Own {
    const NAME: &'static str = "a mapping of our own";
    const KIND: &'static str = "";
    const LIST: &'static str = "agents";
    const SETTINGS: &'static [&'static str] = &["origin=https://rmm.example"];
    const SECRET: &'static str = "key";
    const PATH: &'static str = "/api/agents";
    const SPECIAL: &'static [(Fault, Leaves)] = &[FEW, FIXED_KEY, UNLINKED];
    const PAGED: List = List {
        is_page: |it| is_at(it, Self::PATH),
        is_later: |it| is_at(it, Self::PATH) && parameter(it, "page") != "1",
        endless: |nth| page(&json!({"total": 1_000_000, "data": ids(nth)})),
        lead: no_link,
        refusal: refused,
    };

    fn start() -> Tool {
        let tool = own();
        let mut all = agents(&[1], 11);
        all[0]["disk_encrypted"] = false.into();
        tool.set(Self::PATH, all);
        tool
    }
}
