//! What the sources of each kind of client send, night by night.

use posture::clock::Time;
use posture::engine::catalog::Catalog;
use posture::engine::framework::{ControlRole, FrameworkId, Mapping};
use posture::engine::severity::Severity;
use serde_json::{Value, json};

use crate::harness::catalog;

pub const N_NIGHTS: usize = 30;
/// The release before this night's reads has another catalogue.
pub const CATALOGUE_NIGHT: usize = 16;

/// What goes on at a client beside the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Nothing does.
    Steady,
    /// One of its two sources is read no more.
    Dead,
    /// Nobody reads anything any more.
    Forsaken,
    /// The registration of an account's second factor comes and goes.
    Flapping,
    /// Reads that were cut off are sent as complete.
    Truncated,
    /// It did lose much.
    Shrunk,
    /// A control is mended, breaks within the week, and once more later.
    Mended,
    /// Assets come, go and return.
    Growing,
    /// A connector's sign-in fails for some nights.
    Failing,
    /// Everything comes twice, and old reads come late.
    Repeated,
    /// It joins later, its sources one after the other, and their parts too.
    Newcomer,
    /// Apps come and go, an account is no longer used, another one becomes administrator.
    People,
}

impl Kind {
    pub const ALL: [Self; 12] = [
        Self::Steady,
        Self::Dead,
        Self::Forsaken,
        Self::Flapping,
        Self::Truncated,
        Self::Shrunk,
        Self::Mended,
        Self::Growing,
        Self::Failing,
        Self::Repeated,
        Self::Newcomer,
        Self::People,
    ];

    pub fn of(client: usize) -> Self {
        Self::ALL[client % Self::ALL.len()]
    }

    /// The night of its first reads.
    pub fn joins(self) -> usize {
        if self == Self::Newcomer { 5 } else { 0 }
    }
}

/// One thing that is sent.
pub enum Read {
    Facts(Value),
    Prowler(Vec<u8>),
}

/// The embedded catalogue's next release: other weights, and rows that ask for more.
pub fn next_catalog() -> Catalog {
    let mut catalog = catalog().clone();
    let failing = catalog.find_control("DAT-01").unwrap();
    for control in &mut catalog.controls {
        if control.code.starts_with("EML") || control.code.starts_with("END") {
            control.severity = Severity::Critical;
        }
    }
    let soc2 = catalog.frameworks.iter_mut().find(|it| it.id == FrameworkId::Soc2).unwrap();
    for row in soc2.rows.iter_mut().take(20) {
        if row.controls.iter().all(|it| it.control != failing) {
            let why = "as of this release".to_owned();
            row.controls.push(Mapping {
                control: failing,
                role: ControlRole::Decides,
                why,
                earns_partial: false,
                within_days: None,
                alone: false,
            });
        }
    }
    catalog.seal();
    catalog
}

/// A complete body of the connector, or one to change.
struct Facts {
    at: Time,
    observations: Vec<Value>,
    identities: Vec<Value>,
    assets: Vec<Value>,
    apps: Vec<Value>,
}

impl Facts {
    /// A client's state that never changes, with a night's noise: other times, another order, another failing subject.
    fn of(client: usize, night: usize, now: Time) -> Self {
        let at = now.plus_s(-i64::try_from(client % 50).unwrap());
        let n_failed = 103 + (night * 7 + client) % 5;
        let mut observations = vec![
            json!({ "control": "DAT-01", "status": "non_compliant", "findings": format!("last run {at}") }),
            json!({ "control": "END-04", "passed": 1_000 - n_failed, "failed": n_failed }),
        ];
        // Only people can speak of EML-08.
        let healthy = (1..=9).filter(|it| *it != 8).map(|it| format!("EML-{it:02}"));
        let healthy = healthy.chain((5..=16).map(|it| format!("END-{it:02}")));
        let n_passed = 50 + (night + client) % 3;
        observations
            .extend(healthy.map(|it| json!({ "control": it, "passed": n_passed, "failed": 0 })));
        let user = |n: usize| {
            json!({
                "externalId": format!("u{n:02}"), "user": format!("user{n:02}@example.com"),
                "admin": n < 2, "mfa": n != 0, "enabled": true,
                "lastSignIn": at.plus_s(-3_600 * i64::try_from(n + night % 5).unwrap()).to_string(),
            })
        };
        let asset = |n: usize| {
            json!({
                "externalId": format!("a{n:02}"), "name": format!("pc-{n:02}"), "assetType": "workstation",
                "hostname": format!("pc-{n:02}"), "ip": format!("10.0.{}.{n}", night % 7),
            })
        };
        let mut facts = Self {
            at,
            observations,
            identities: (0..24).map(user).collect(),
            assets: (0..24).map(asset).collect(),
            apps: vec![json!({ "name": "Zoom", "users": 3 + night % 4, "sanctioned": true })],
        };
        for list in [&mut facts.identities, &mut facts.assets, &mut facts.observations] {
            let n = (night * 5 + client) % list.len();
            list.rotate_left(n);
        }
        facts
    }

    fn body(&self) -> Value {
        json!({
            "source": "entra", "scope": "tenant", "complete": true, "observedAt": self.at.to_string(),
            "observations": self.observations, "identities": self.identities, "assets": self.assets,
            "apps": self.apps,
        })
    }

    fn find<'a>(list: &'a mut [Value], member: &str, id: &str) -> &'a mut Value {
        list.iter_mut().find(|it| it[member] == id).unwrap()
    }

    fn user(&mut self, id: &str) -> &mut Value {
        Self::find(&mut self.identities, "externalId", id)
    }

    fn state(&mut self, control: &str, status: &str) {
        *Self::find(&mut self.observations, "control", control) =
            json!({ "control": control, "status": status });
    }

    /// Keeps what comes last in a list by name: neither the failing control nor the administrator without MFA.
    fn cut(list: &mut Vec<Value>, member: &str) {
        list.sort_by_key(|it| it[member].to_string());
        list.drain(..list.len() * 6 / 10);
    }
}

/// What somebody looked at once: all is well but what nobody looked at.
fn audit() -> Value {
    let catalog = catalog();
    let looked_at = catalog.controls.iter().filter(|it| it.is_automatic());
    let all = looked_at.map(|it| json!({ "control": it.code, "status": "compliant" }));
    json!({ "source": "audit", "complete": true, "observations": all.collect::<Vec<_>>() })
}

/// A report of an assessor: two checks with failures. The text of each finding is another one each night.
fn prowler(client: usize, night: usize, now: Time, more: &[&str]) -> Read {
    let account = format!("{:012}", 100_000_000_000 + client);
    let mut rows: Vec<String> = Vec::new();
    let mut add = |check: &str, resource: &str, status: &str, severity: &str| {
        rows.push(format!(
            "aws;{account};{check};{check};{status};{resource}: {status}, seen in night {night};False;iam;{severity};\
             AwsIamUser;arn:aws:iam::{account}:user/{resource};{resource};{}\n",
            &now.to_string()[..19].replace('T', " "),
        ));
    };
    add("iam_root_mfa_enabled", "root", "FAIL", "critical");
    add("iam_no_root_access_key", "root", "PASS", "critical");
    for n in 0..200 {
        // Which of them fail moves; how many does hardly.
        let is_failing = (n + night) % 200 < 20 + night % 2;
        let status = if is_failing { "FAIL" } else { "PASS" };
        add("iam_user_mfa_enabled_console_access", &format!("user{n}"), status, "high");
    }
    for resource in more {
        add("iam_no_root_access_key", resource, "PASS", "critical");
    }
    let n = (night * 11 + client) % rows.len();
    rows.rotate_left(n);
    let header = "PROVIDER;ACCOUNT_UID;CHECK_ID;CHECK_TITLE;STATUS;STATUS_EXTENDED;MUTED;\
                  SERVICE_NAME;SEVERITY;RESOURCE_TYPE;RESOURCE_UID;RESOURCE_NAME;TIMESTAMP\n";
    Read::Prowler(format!("{header}{}", rows.concat()).into_bytes())
}

/// What the client's sources send in a night, in order.
pub fn reads(client: usize, night: usize, now: Time) -> Vec<Read> {
    let kind = Kind::of(client);
    let facts = Facts::of(client, night, now);
    let report = |more: &[&str]| prowler(client, night, now, more);
    let mut all = Vec::new();
    if night == 0 && kind.joins() == 0 {
        all.push(Read::Facts(audit()));
    }
    match kind {
        Kind::Dead => {
            all.extend((night <= 10).then(|| Read::Facts(facts.body())));
            all.push(report(&[]));
        }
        Kind::Forsaken if 10 < night => (),
        Kind::Steady | Kind::Forsaken => all.extend([Read::Facts(facts.body()), report(&[])]),
        Kind::Flapping => all.extend(flapping(facts, night)),
        Kind::Truncated => all.push(Read::Facts(truncated(facts, night))),
        Kind::Shrunk => all.push(Read::Facts(shrunk(facts, night))),
        Kind::Mended => all.push(Read::Facts(mended(facts, night))),
        Kind::Growing => {
            let more: &[&str] = if 6 <= night { &["deploy"] } else { &[] };
            all.extend([Read::Facts(growing(facts, night)), report(more)]);
        }
        Kind::Failing if (10..=13).contains(&night) => {
            let sync = json!({ "status": "failed", "message": "401 Unauthorized" });
            all.push(Read::Facts(json!({ "source": "entra", "scope": "tenant", "sync": sync })));
        }
        Kind::Failing => all.push(Read::Facts(facts.body())),
        Kind::Repeated => all.extend(repeated(&facts, client, night, now)),
        Kind::Newcomer => all.extend(newcomer(&facts, night, report(&[]))),
        Kind::People => all.push(Read::Facts(people(facts, night))),
    }
    all
}

fn flapping(mut facts: Facts, night: usize) -> Vec<Read> {
    let has_lost_it = [5, 8, 9, 12, 20, 21].contains(&night);
    facts.user("u05")["mfa"] = if night == 24 { Value::Null } else { json!(!has_lost_it) };
    let mut all = vec![Read::Facts(facts.body())];
    if night == 12 {
        facts.at = facts.at.plus_s(1);
        facts.user("u05")["mfa"] = json!(true);
        all.push(Read::Facts(facts.body()));
    }
    all
}

fn truncated(mut facts: Facts, night: usize) -> Value {
    let is_cut = |night_of: &[usize]| night_of.contains(&night);
    if is_cut(&[9, 14]) {
        Facts::cut(&mut facts.observations, "control");
    }
    if is_cut(&[9, 18]) {
        Facts::cut(&mut facts.assets, "externalId");
    }
    if is_cut(&[9, 22]) {
        Facts::cut(&mut facts.identities, "externalId");
    }
    facts.body()
}

fn shrunk(mut facts: Facts, night: usize) -> Value {
    if 9 <= night {
        Facts::cut(&mut facts.observations, "control");
        Facts::cut(&mut facts.assets, "externalId");
        Facts::cut(&mut facts.identities, "externalId");
    }
    facts.body()
}

fn mended(mut facts: Facts, night: usize) -> Value {
    if matches!(night, 5..=7 | 9..=19 | 22..) {
        facts.state("DAT-01", "compliant");
    }
    facts.body()
}

fn growing(mut facts: Facts, night: usize) -> Value {
    if (8..=9).contains(&night) {
        facts.assets.retain(|it| it["externalId"] != "a07");
    }
    if 5 <= night {
        let asset =
            json!({ "externalId": "a77", "name": "srv", "assetType": "server", "serial": "S1" });
        facts.assets.push(asset);
    }
    facts.body()
}

fn repeated(facts: &Facts, client: usize, night: usize, now: Time) -> Vec<Read> {
    let mut all = vec![Read::Facts(facts.body()), Read::Facts(facts.body())];
    all.extend((0..2).map(|_| prowler(client, night, now, &[])));
    if night == 11 {
        // A read of three nights ago, when less was wrong and more was there.
        let mut late = Facts::of(client, night - 3, now.plus_days(-3));
        late.state("DAT-01", "compliant");
        late.user("u00")["mfa"] = json!(true);
        late.user("u05")["mfa"] = json!(false);
        late.user("u06")["admin"] = json!(true);
        late.apps.push(json!({ "name": "WeTransfer", "users": 1 }));
        all.push(Read::Facts(late.body()));
    }
    all
}

fn newcomer(facts: &Facts, night: usize, report: Read) -> Vec<Read> {
    let parts: &[&str] = match night {
        0..=4 => return Vec::new(),
        5..=7 => &["assets"],
        8..=10 => &["assets", "identities"],
        _ => &["assets", "identities", "observations", "apps"],
    };
    let mut body = facts.body();
    for part in ["assets", "identities", "observations", "apps"] {
        if !parts.contains(&part) {
            body.as_object_mut().unwrap().remove(part);
        }
    }
    let mut all = vec![Read::Facts(body)];
    all.extend((19 <= night).then_some(report));
    all
}

fn people(mut facts: Facts, night: usize) -> Value {
    if matches!(night, 5..=8 | 11..) {
        facts.apps.push(json!({ "name": "WeTransfer", "users": 1 + night % 3 }));
    }
    // Not used since 80 days before the story begins.
    facts.user("u09")["lastSignIn"] =
        json!(facts.at.plus_days(-80 - i64::try_from(night).unwrap()).to_string());
    if 20 <= night {
        facts.user("u09")["enabled"] = json!(false);
    }
    if matches!(night, 7..=9 | 25..) {
        facts.user("u10")["admin"] = json!(true);
    }
    facts.body()
}
