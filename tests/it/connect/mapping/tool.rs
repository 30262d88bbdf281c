//! A remote management tool on loopback: `NinjaOne`, Datto, or one of the MSP's own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posture::clock::Clock;
use posture::connect::call::{Api, Endpoints};
use posture::connect::mapping::{DIALECT, EXAMPLE, FILES, Mapping, read, read_tool};
use posture::connect::reading::{Org, Reading, StreamState};
use posture::egress::Egress;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::time::Instant;

use crate::connect::vendor::{json as page, local, parameter, told};
use crate::harness::process::Folder;
use crate::harness::sink::{Request, Sink};

pub const SECRET: &str = "Kx~7Q8sealed-tool-secret";
/// Origins that lead here.
const NINJA: &str = "https://eu.ninjarmm.com";
pub const DATTO: &str = "https://merlot-api.centrastage.net";
pub const OWN: &str = "https://rmm.example";
pub const HUNTRESS: &str = "https://api.huntress.io";

/// What a list does instead, at its nth request. `None`: it answers as ever.
type Fault = Arc<dyn Fn(&Request, usize) -> Option<Vec<u8>> + Send + Sync>;

#[derive(Default)]
struct Script {
    lists: BTreeMap<String, Vec<Value>>,
    faults: BTreeMap<String, Fault>,
    /// Requests for each path.
    n_asked: BTreeMap<String, usize>,
    /// Where the cursor of each path is.
    offsets: BTreeMap<String, usize>,
    n_tokens: usize,
    /// Rows of a page, if fewer than asked for.
    page_max: usize,
}

pub struct Tool {
    pub sink: Sink,
    script: Arc<Mutex<Script>>,
}

pub fn now_s() -> i64 {
    jiff::Timestamp::now().as_second()
}

impl Tool {
    pub fn start() -> Self {
        let script = Arc::new(Mutex::new(Script { page_max: 1_000, ..Script::default() }));
        let known = Arc::clone(&script);
        let sink = Sink::scripted("127.0.0.1:0", move |request| answer(&known, request));
        Self { sink, script }
    }

    pub fn set(&self, path: &str, rows: Value) {
        let Value::Array(rows) = rows else { panic!("{rows}") };
        self.script.lock().unwrap().lists.insert(path.to_owned(), rows);
    }

    /// What the list has, to be changed.
    pub fn rows(&self, path: &str) -> Vec<Value> {
        self.script.lock().unwrap().lists[path].clone()
    }

    pub fn set_page_max(&self, n: usize) {
        self.script.lock().unwrap().page_max = n;
    }

    pub fn fail(
        &self,
        path: &str,
        fault: impl Fn(&Request, usize) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) {
        let mut script = self.script.lock().unwrap();
        script.n_asked.remove(path);
        script.faults.insert(path.to_owned(), Arc::new(fault));
    }

    pub fn mend(&self) {
        self.script.lock().unwrap().faults.clear();
    }

    /// Requests for lists, as paths with queries.
    pub fn asked(&self) -> Vec<String> {
        let all = self.sink.requests().into_iter().map(|it| it.line);
        all.filter_map(|it| it.strip_prefix("GET ").map(str::to_owned)).collect()
    }

    /// Reads it without the service.
    pub fn read(&self, mapping: &Arc<Mapping>, entered: &[(&str, &str)]) -> Reading {
        let at = format!("http://{}", self.sink.address);
        let endpoints = [NINJA, DATTO, OWN, HUNTRESS].map(|it| (it.to_owned(), at.clone()));
        let egress = Egress::new(local(), Duration::from_secs(20), 8).unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        let endpoints = Arc::new(Endpoints(endpoints.into()));
        let api = Api::new(Arc::new(egress), endpoints, &DIALECT, Clock::System, deadline);
        let entered = entered.iter().map(|(name, it)| ((*name).to_owned(), (*it).to_owned()));
        let entered = entered.collect();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(read_tool(&api, mapping, &entered))
    }

    /// A folder whose configuration leads to it.
    pub fn folder(&self) -> Folder {
        let folder = Folder::new();
        let at = format!("http://{}", self.sink.address);
        let mut text = String::from(
            "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[connect]\ndns_server = \"127.0.0.1:9\"\n\
             allow_http_networks = [\"127.0.0.0/8\"]\nallow_private_networks = [\"127.0.0.0/8\"]\nendpoints = { ",
        );
        for origin in [NINJA, DATTO, OWN, HUNTRESS] {
            write!(text, "\"{origin}\" = \"{at}\", ").unwrap();
        }
        folder.write("posture.toml", (text + "}\n").as_bytes());
        folder.write("secret", SECRET.as_bytes());
        folder.write("own.toml", fast(EXAMPLE).as_bytes());
        folder
    }
}

/// The mapping without its pace.
pub fn fast(text: &str) -> String {
    let start = text.find("requests = ").unwrap() + "requests = ".len();
    let end = start + text[start..].find(|it: char| !it.is_ascii_digit()).unwrap();
    format!("{}10000{}", &text[..start], &text[end..])
}

/// `example_rmm` with encryption in a list of its own, which has these lines too.
pub fn joined(lines: &str) -> String {
    let stream = format!(
        "[[stream]]\nname = \"disks\"\npath = \"/api/disks\"\npermission = \"x\"\nrows = \"/data\"\n{lines}\n"
    );
    let answer = "disks = '{\"data\": [{\"agent\": \"a1\", \"on\": true}, {\"agent\": \"a2\", \"on\": false}]}'\n";
    EXAMPLE
        .replace("[organizations]\n", &format!("{stream}[organizations]\n"))
        .replace(
            "encrypted = \"/disk_encrypted\"",
            "encrypted = { stream = \"disks\", at = \"/on\" }\njoin = [{ stream = \"disks\", device = \"/agent\" }]",
        )
        .replace("[example.answers]\n", &format!("[example.answers]\n{answer}"))
}

/// A mapping of this release, or `example_rmm`, without its pace.
pub fn mapping(kind: &str) -> Arc<Mapping> {
    let found = FILES.into_iter().find(|(it, _)| *it == format!("{kind}.toml"));
    let text = found.map_or(EXAMPLE, |(_, text)| text);
    Arc::new(read("test.toml", &fast(text)).unwrap())
}

fn answer(script: &Mutex<Script>, request: &Request) -> Vec<u8> {
    let (method, target) = request.line.split_once(' ').unwrap();
    let path = target.split('?').next().unwrap();
    let fault = {
        let mut script = script.lock().unwrap();
        let n = script.n_asked.entry(path.to_owned()).or_default();
        *n += 1;
        let n = *n;
        script.faults.get(path).cloned().map(|it| (it, n))
    };
    if let Some(bytes) = fault.and_then(|(it, n)| it(request, n)) {
        return bytes;
    }
    let mut script = script.lock().unwrap();
    if method == "POST" && path.ends_with("/oauth/token") {
        script.n_tokens += 1;
        let token = format!("t{}", script.n_tokens);
        return page(&json!({"access_token": token, "expires_in": 3600}));
    }
    let kinds = ["Bearer t", "Basic "];
    let is_known = |it: &str| kinds.iter().any(|kind| it.starts_with(kind));
    let is_known = request.header("authorization").is_some_and(is_known);
    if !is_known && request.header("x-api-key") != Some(SECRET) {
        return told(401, &[], r#"{"detail":"Invalid token."}"#);
    }
    match script.lists.get(path).cloned() {
        None => told(404, &[("Content-Type", "text/html")], "<html>Not found</html>"),
        Some(rows) => list(&mut script, path, request, &rows),
    }
}

fn list(script: &mut Script, path: &str, request: &Request, rows: &[Value]) -> Vec<u8> {
    let asked = |names: [&str; 4]| {
        let all = names.iter().find_map(|it| parameter(request, it).parse::<usize>().ok());
        all.unwrap_or(usize::MAX).min(script.page_max)
    };
    let n = asked(["pageSize", "limit", "max", "page_size"]);
    let from = |at: usize| rows.iter().skip(at).take(n).cloned().collect::<Vec<_>>();
    if path.starts_with("/v2/queries/") || path == "/v2/backup/jobs" {
        let is_first = parameter(request, "cursor").is_empty();
        let offset = script.offsets.entry(path.to_owned()).or_default();
        *offset = if is_first { 0 } else { *offset + n };
        let (cursor, found) = (json!({"name": "c7", "offset": *offset}), from(*offset));
        return page(&json!({"cursor": cursor, "results": found}));
    }
    if path.starts_with("/v2/") {
        let after: i64 = parameter(request, "after").parse().unwrap_or(-1);
        let is_after = |it: &&Value| after < it["id"].as_i64().unwrap_or(i64::MAX);
        return page(&rows.iter().filter(is_after).take(n).cloned().collect());
    }
    let nth: usize = parameter(request, "page").parse().unwrap_or(1);
    let at = (nth - 1) * n;
    if path.starts_with("/api/v2/") {
        let name = path.rsplit('/').next().unwrap();
        let next = (at + n < rows.len()).then(|| format!("{DATTO}{path}?max={n}&page={}", nth + 1));
        let details =
            json!({"count": from(at).len(), "totalCount": rows.len(), "nextPageUrl": next});
        return page(&json!({"pageDetails": details, name: from(at)}));
    }
    if path.starts_with("/v1/") {
        let name = path.rsplit('/').next().unwrap();
        let next = (at + n < rows.len()).then(|| format!("{HUNTRESS}{path}?page={}", nth + 1));
        return page(&json!({"pagination": {"next_page_url": next}, name: from(at)}));
    }
    if path.ends_with('/') {
        return page(&rows.into());
    }
    page(&json!({"total": rows.len(), "data": from(at)}))
}

/// Agents of the MSP's own tool: `n` in each of these sites.
pub fn agents(sites: &[i64], n: usize) -> Value {
    let agent = |site: i64, nth: usize| {
        json!({
            "id": format!("s{site}-{nth}"), "site": site, "host": format!("PC-{site}-{nth}"),
            "role": "desktop", "seen": now_s() - 3_600, "disk_encrypted": true,
        })
    };
    sites.iter().flat_map(|site| (0..n).map(move |nth| agent(*site, nth))).collect()
}

/// The MSP's own tool with two sites of ten agents each.
pub fn own() -> Tool {
    let tool = Tool::start();
    tool.set("/api/sites", json!([{"id": 1, "name": "Acme"}, {"id": 2, "name": "Beta"}]));
    tool.set("/api/agents", agents(&[1, 2], 10));
    tool
}

/// `NinjaOne` with three organizations that are well. Each has a workstation and a server.
pub fn ninja() -> Tool {
    let (tool, now) = (Tool::start(), now_s());
    let org = |id: i64, name: &str| json!({"id": id, "name": name});
    let orgs = [org(7, "Acme"), org(8, "Own lab"), org(9, "Gamma")];
    tool.set("/v2/organizations", orgs.to_vec().into());
    let ids: Vec<(i64, i64)> = [7, 8, 9].iter().flat_map(|org| [(*org, 0), (*org, 1)]).collect();
    let each = |row: &dyn Fn(i64, i64) -> Value| -> Value {
        ids.iter().map(|(org, nth)| row(org * 100 + nth, *nth)).collect()
    };
    tool.set(
        "/v2/devices-detailed",
        each(&|id, nth| {
            json!({
                "id": id, "organizationId": id / 100, "approvalStatus": "APPROVED", "offline": false,
                "nodeClass": if nth == 0 { "WINDOWS_WORKSTATION" } else { "WINDOWS_SERVER" },
                "displayName": format!("D-{id}"), "systemName": format!("D-{id}"),
                "lastContact": now - 60,
            })
        }),
    );
    let queries = "/v2/queries/";
    let query = |name: &str, row: &dyn Fn(i64, i64) -> Value| {
        tool.set(&format!("{queries}{name}"), each(row));
    };
    query("operating-systems", &|id, nth| {
        let name = if nth == 0 { "Windows 11 Enterprise Edition" } else { "Windows Server 2025" };
        json!({
            "deviceId": id, "name": name, "buildNumber": if nth == 0 { "26200" } else { "26100" },
            "lastBootTime": now - 86_400, "needsReboot": false,
        })
    });
    query("computer-systems", &|id, _| json!({"deviceId": id, "serialNumber": format!("SN-{id}")}));
    query("antivirus-status", &|id, _| {
        json!({
            "deviceId": id, "productName": "Guard", "productState": "ON",
            "definitionStatus": "Up-to-Date",
        })
    });
    query("device-health", &|id, _| json!({"deviceId": id, "activeThreatsCount": 0}));
    query("volumes", &|id, _| {
        json!({
            "deviceId": id, "deviceType": "Local Disk",
            "bitLockerStatus": {"protectionStatus": "PROTECTED"},
        })
    });
    let installed = |id: i64, _| json!({"deviceId": id, "installedAt": now - 5 * 86_400});
    query("os-patch-installs", &installed);
    query("software-patch-installs", &installed);
    tool.set("/v2/queries/os-patches", json!([]));
    tool.set("/v2/queries/software-patches", json!([]));
    tool.set(
        "/v2/backup/jobs",
        each(&|id, _| json!({"deviceId": id, "jobStatus": "COMPLETED", "jobEndTime": now - 3_600})),
    );
    tool.set(
        "/v2/user/technicians",
        json!([{"id": 1, "email": "ada@msp.example", "enabled": true, "mfaConfigured": true}]),
    );
    tool
}

/// Datto with one site, and this many devices in it.
pub fn datto(n: usize) -> Tool {
    let tool = Tool::start();
    tool.set("/api/v2/account/sites", json!([{"uid": "s1", "name": "Acme", "onDemand": false}]));
    let device = |nth: usize| {
        json!({
            "uid": format!("d{nth}"), "siteUid": "s1", "siteName": "Acme",
            "hostname": format!("PC-{nth}"), "deleted": false, "online": true,
            "deviceType": {"category": "Desktop"}, "deviceClass": "device",
            "lastSeen": (now_s() - 60) * 1_000, "lastReboot": (now_s() - 86_400) * 1_000,
            "rebootRequired": false, "operatingSystem": "Microsoft Windows 11 Enterprise 10.0.26200",
            "antivirus": {"antivirusProduct": "Guard", "antivirusStatus": "RunningAndUpToDate"},
            "patchManagement": {"patchStatus": "FullyPatched"},
        })
    };
    tool.set("/api/v2/account/devices", (0..n).map(device).collect());
    tool
}

pub const NINJA_ENTERED: [(&str, &str); 3] =
    [("region", "eu"), ("client_id", "abc"), ("client_secret", SECRET)];
pub const DATTO_ENTERED: [(&str, &str); 3] =
    [("region", "merlot"), ("username", "AK"), ("password", SECRET)];
pub const OWN_ENTERED: [(&str, &str); 2] = [("origin", OWN), ("key", SECRET)];

/// State and reason of a stream.
pub fn stream<'r>(reading: &'r Reading, name: &str) -> (StreamState, &'r str) {
    let mut streams = reading.groups.iter().flat_map(|it| &it.streams);
    let found = streams.find(|it| it.name == name).unwrap_or_else(|| panic!("{reading:#?}"));
    (found.state, &found.reason)
}

pub fn org<'r>(reading: &'r Reading, id: &str) -> &'r Org {
    let mut orgs = reading.orgs.iter().flatten();
    orgs.find(|it| it.external_id == id).unwrap_or_else(|| panic!("{reading:#?}"))
}

/// What is said of the controls of an organization, as `END-02 compliant, ...`.
pub fn verdicts(org: &Org) -> String {
    let judged = org.groups.iter().flat_map(|it| &it.observations);
    let mut said: Vec<String> =
        judged.map(|it| format!("{} {}", it.control, it.status.as_str())).collect();
    said.sort();
    said.join(", ")
}
