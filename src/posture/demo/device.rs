//! The machines of the clients, and what the remote-management tool sees of them.

use super::detail;
use super::person;
use super::portfolio::DemoClient;
use super::story::N_WEEKS;
use super::view::{self, Gap};
use crate::clock::Time;
use crate::engine::asset::{AssetType, ReportedFields, Seen};
use crate::engine::catalog::{Catalog, Control};
use crate::engine::fact::{
    Observation, Status, Subject, UNNAMED_CHECK, Verdict, failing_line, subject_hash,
};
use crate::engine::memory::sparse::SparseMemory;
use crate::id::ImportId;

pub(super) const SOURCE: &str = "rmm";
/// How many of a hundred computers are new during the half year.
const NEW_PERCENT: usize = 6;
/// When the oldest laptop is scrapped.
const SCRAPPED_IN: u64 = 15;

/// Controls of computers that the tool sees besides those whose codes begin with `END`.
const ALSO: [&str; 12] = [
    "APP-04", "DAT-01", "DAT-16", "DAT-20", "GOV-07", "ID-09", "ID-16", "ID-21", "ID-37", "LOG-03",
    "NET-04", "NET-21",
];

/// Controls that few machines fail even where little is in order, and how many of a thousand machines that is at most.
const RARE: [&str; 4] = ["END-05", "END-06", "END-11", "END-28"];
const RARE_FAILING_MAX: u64 = 50;

/// Returns true if the tool reports the control.
pub(super) fn reports(control: &Control) -> bool {
    ALSO.contains(&control.code.as_str())
        || control.code.starts_with("END") && control.is_automatic()
}

/// The part of the client that the tool speaks of.
pub(super) fn scope(client: &DemoClient) -> String {
    format!("site/{}", client.domain())
}

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Laptop,
    Desktop,
    Phone,
    Server,
    VirtualMachine,
    Firewall,
    Switch,
    AccessPoint,
    Printer,
    Nas,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::Laptop,
        Self::Desktop,
        Self::Phone,
        Self::Server,
        Self::VirtualMachine,
        Self::Firewall,
        Self::Switch,
        Self::AccessPoint,
        Self::Printer,
        Self::Nas,
    ];

    /// What it is called in names, its type and its category.
    const fn words(self) -> (&'static str, AssetType, &'static str) {
        match self {
            Self::Laptop => ("LT", AssetType::Workstation, "laptops"),
            Self::Desktop => ("PC", AssetType::Workstation, "desktops"),
            Self::Phone => ("PH", AssetType::Mobile, "phones"),
            Self::Server => ("SRV", AssetType::Server, "servers"),
            Self::VirtualMachine => ("VM", AssetType::VirtualMachine, "servers"),
            Self::Firewall => ("fw", AssetType::NetworkDevice, "network"),
            Self::Switch => ("sw", AssetType::NetworkDevice, "network"),
            Self::AccessPoint => ("ap", AssetType::NetworkDevice, "network"),
            Self::Printer => ("PRN", AssetType::Device, "printers"),
            Self::Nas => ("nas", AssetType::FileShare, "storage"),
        }
    }

    /// How many the client has at the end.
    fn count(self, client: &DemoClient) -> usize {
        let n = client.employees as usize;
        let percent = |key: &str, from: u64, range: u64| {
            let share = usize::try_from(from + client.chance(key, range)).unwrap_or(0);
            n * share / 100
        };
        let has_servers = usize::from(client.has_servers());
        match self {
            Self::Laptop => 1 + percent("laptops", 35, 40),
            Self::Desktop => percent("desktops", 10, 40),
            Self::Phone => percent("phones", 5, 60),
            Self::Server => has_servers * (1 + n / 60),
            Self::VirtualMachine => has_servers * (1 + n / 25),
            Self::Firewall | Self::Nas => 1,
            Self::Switch => 1 + n / 40,
            Self::AccessPoint => 1 + n / 22,
            Self::Printer => 1 + n / 35,
        }
    }

    const fn is_computer(self) -> bool {
        matches!(self, Self::Laptop | Self::Desktop | Self::Server | Self::VirtualMachine)
    }

    const fn is_server(self) -> bool {
        matches!(self, Self::Server | Self::VirtualMachine)
    }

    const fn is_network(self) -> bool {
        matches!(self, Self::Firewall | Self::Switch | Self::AccessPoint)
    }
}

/// One machine.
#[derive(Clone, Copy, Debug)]
struct Machine {
    kind: Kind,
    /// From 1.
    number: usize,
}

impl Machine {
    fn name(self, client: &DemoClient) -> String {
        let (word, ..) = self.kind.words();
        let Self { kind, number } = self;
        if kind.is_network() || kind == Kind::Nas {
            return format!("{word}-{number:02}");
        }
        format!("{}-{word}-{number:03}", client.prefix())
    }

    fn external_id(self, client: &DemoClient) -> String {
        format!("{}/{}", client.short(), self.name(client).to_lowercase())
    }

    fn seen(self, client: &DemoClient) -> Seen {
        let (_, asset_type, category) = self.kind.words();
        let name = self.name(client);
        let has_user = matches!(self.kind, Kind::Laptop | Kind::Phone);
        let is_critical = self.kind.is_server() || self.kind == Kind::Firewall;
        let owner = if has_user {
            Some(person::name(client, self.number - 1))
        } else {
            is_critical.then(|| person::ENGINEER.to_owned())
        };
        Seen {
            external_id: self.external_id(client),
            hostname: Some(format!("{}.{}", name.to_lowercase(), client.domain())),
            category: Some(category.to_owned()),
            asset_type,
            is_managed: true,
            ip: None,
            mac: None,
            serial: self
                .kind
                .is_computer()
                .then(|| format!("{:08X}", client.chance(&name, 0xffff_ffff))),
            scope: scope(client),
            seen_at: None,
            reported: ReportedFields {
                is_critical: Some(is_critical),
                owner,
                ..ReportedFields::default()
            },
            name,
        }
    }
}

/// The machines in a week.
fn machines(client: &DemoClient, week: u64) -> Vec<Machine> {
    let of_kind = |kind: Kind| {
        let n = kind.count(client);
        let n_new = if kind == Kind::Laptop { (n * NEW_PERCENT).div_ceil(100) } else { 0 };
        let there = (1..=n).filter(move |number| {
            let is_scrapped = kind == Kind::Laptop && *number == 1 && SCRAPPED_IN <= week;
            let bought = 4 + client.chance(&format!("bought/{number}"), N_WEEKS - 5);
            !is_scrapped && (*number <= n - n_new || bought <= week)
        });
        there.map(move |number| Machine { kind, number }).collect::<Vec<_>>()
    };
    Kind::ALL.into_iter().flat_map(of_kind).collect()
}

/// The assets that the tool lists in a week: all that there are.
pub(super) fn assets(client: &DemoClient, week: u64) -> Vec<Seen> {
    machines(client, week).into_iter().map(|it| it.seen(client)).collect()
}

/// The machines that a control is about. Empty: it is about the client as a whole.
fn subjects(machines: &[Machine], code: &str) -> Vec<Machine> {
    let kinds: fn(Kind) -> bool = match code {
        "DAT-01" => Kind::is_server,
        "NET-21" => Kind::is_network,
        "END-11" | "END-12" => |it| it == Kind::Phone,
        _ if code.starts_with("END") => Kind::is_computer,
        _ => return Vec::new(),
    };
    machines.iter().copied().filter(|it| kinds(it.kind)).collect()
}

/// What the tool reports of these controls in a week.
pub(super) fn observe(
    client: &DemoClient,
    (catalog, controls): (&Catalog, &[usize]),
    (week, at): (u64, Time),
    import: ImportId,
) -> Vec<Observation> {
    let machines = machines(client, week);
    let of = |index: &usize| {
        let control = &catalog.controls[*index];
        let mut gap = Gap::of(client, control, week);
        if let Some(gap) = gap.as_mut().filter(|_| RARE.contains(&control.code.as_str())) {
            gap.failing = gap.failing.min(RARE_FAILING_MAX);
        }
        let subjects = subjects(&machines, &control.code);
        let failing = view::failing(client, &control.code, gap, subjects.len());
        let failing: Vec<Machine> = failing.into_iter().map(|it| subjects[it]).collect();
        let names: Vec<String> = failing.iter().map(|it| it.name(client)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let line = failing_line(&names, names.len());
        let verdict = match gap {
            None if subjects.is_empty() => Verdict::Stated(Status::Compliant),
            Some(gap) if subjects.is_empty() => Verdict::Stated(gap.status()),
            _ => Verdict::Counted {
                passed: u32::try_from(subjects.len() - failing.len()).unwrap_or(0),
                failed: u32::try_from(failing.len()).unwrap_or(0),
            },
        };
        let mut hashes: Vec<u64> =
            failing.iter().map(|it| subject_hash(&it.external_id(client))).collect();
        hashes.sort_unstable();
        Observation {
            subject: Subject::Control(control.code.clone()),
            source: SOURCE.to_owned(),
            scope: scope(client),
            check: UNNAMED_CHECK.to_owned(),
            observed_at: at,
            valid_until: None,
            import,
            verdict,
            accepted: 0,
            severity: control.severity,
            title: control.title.clone(),
            findings: gap.and_then(|it| detail::of(client, &control.code, it.status(), &line)),
            remediation: None,
            failing: hashes,
            memory: SparseMemory::default(),
            facets: Vec::new(),
            platform: None,
        }
    };
    controls.iter().map(of).collect()
}
