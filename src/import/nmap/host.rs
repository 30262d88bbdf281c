//! A host as nmap saw it -> an asset, and a check for each class of ports.

use crate::clock::Time;
use crate::engine::asset::{AssetType, Said, Seen};
use crate::engine::severity::Severity;
use crate::error::Result;
use crate::import::nmap::port::{CLASSES, Class, Protocol, Ranges};
use crate::import::text;
use crate::import::text::{DETAIL_CHARS_MAX, NAME_CHARS_MAX, Told};
use crate::import::{Check, Outcome, Record, Subject};

/// A certificate that ends sooner after the scan fails.
const CERTIFICATE_DAYS_MIN: i64 = 30;

/// Banners are shown up to this length.
const BANNER_CHARS_MAX: usize = 120;

#[derive(Debug, Default)]
pub(in crate::import) struct Host {
    /// `up`, `down`, ... `None`: not said.
    pub(in crate::import) state: Option<String>,
    pub(in crate::import) ipv4: Option<String>,
    pub(in crate::import) ipv6: Option<String>,
    pub(in crate::import) mac: Option<String>,
    /// By reverse look-up, and as it was typed.
    pub(in crate::import) ptr: Option<String>,
    pub(in crate::import) typed: Option<String>,
    pub(in crate::import) ports: Vec<Port>,
    pub(in crate::import) extras: Vec<Extra>,
    pub(in crate::import) os: Option<Os>,
    /// What the scan itself took it for.
    pub(in crate::import) identified: Option<AssetType>,
    pub(in crate::import) scanned_at: Option<Time>,
    /// A class of services passes only if every port of it was asked.
    pub(in crate::import) covers_classes_whole: bool,
    /// There may be certificates and TLS versions that were not seen: what was seen tells of failures alone.
    pub(in crate::import) hides_tls: bool,
}

#[derive(Debug)]
pub(in crate::import) struct Port {
    pub(in crate::import) protocol: Protocol,
    pub(in crate::import) number: u16,
    pub(in crate::import) state: State,
    pub(in crate::import) service: Service,
    /// When its certificate ends. `None`: not asked, or not understood.
    pub(in crate::import) certificate_until: Option<Time>,
    /// Versions of SSL and TLS that it takes. Empty: not asked.
    pub(in crate::import) tls: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::import) enum State {
    Open,
    /// Closed or filtered: nothing answers from where the scan stood.
    Shut,
    /// No evidence: `open|filtered`, `unfiltered`, or unknown.
    #[default]
    Unclear,
}

impl State {
    pub(in crate::import) fn of(text: &str) -> Self {
        match text {
            "open" => Self::Open,
            "closed" | "filtered" | "closed|filtered" => Self::Shut,
            _ => Self::Unclear,
        }
    }
}

#[derive(Debug, Default)]
pub(in crate::import) struct Service {
    pub(in crate::import) name: String,
    /// Product, version and more, as it announced itself.
    pub(in crate::import) banner: String,
    /// Found by asking, not guessed from the port.
    pub(in crate::import) probed: bool,
    pub(in crate::import) encrypted: bool,
}

/// State of the covered ports that are not listed one by one.
#[derive(Debug)]
pub(in crate::import) struct Extra {
    pub(in crate::import) state: State,
    /// Which ports. Empty: releases before 7.9 do not say.
    pub(in crate::import) ports: Vec<(Protocol, Ranges)>,
}

/// nmap's best guess.
#[derive(Debug, Default)]
pub(in crate::import) struct Os {
    /// In percent.
    pub(in crate::import) accuracy: u8,
    /// `general purpose`, `router`, `printer`, ...
    pub(in crate::import) class: String,
    pub(in crate::import) family: String,
    /// Accuracy and name of the best match, which may belong to another class.
    pub(in crate::import) name_accuracy: u8,
    pub(in crate::import) name: String,
}

/// Less certain guesses of the system are not used.
const OS_ACCURACY_MIN: u8 = 85;

impl Host {
    /// Hands out what the host, number `at` in the file, says. `covered` are the scan's ports.
    pub(in crate::import) fn tell(
        &self,
        at: u64,
        covered: &[(Protocol, Ranges)],
        records: &mut dyn FnMut(Record) -> Result<()>,
    ) -> Result<()> {
        let mut skip = |reason: &str| records(Record::Skipped { at, reason: reason.to_owned() });
        match self.state.as_deref() {
            Some("up") => {}
            Some("down") => return skip("host is down"),
            Some(_) => return skip("host is neither up nor down"),
            None => return skip("host without a status"),
        }
        let Some(address) = self.ipv4.as_deref().or(self.ipv6.as_deref()) else {
            return skip("host without an address");
        };
        let seen = match self.seen(address) {
            Ok(seen) => seen,
            Err(reason) => return skip(&reason),
        };
        let told = |check, title: &str, severity, remediation: &str, (outcome, detail)| {
            Record::Check(Check {
                scope: seen.scope.clone(),
                check: str::to_owned(check),
                outcome,
                severity,
                title: title.to_owned(),
                remediation: Some(remediation.to_owned()),
                detail,
                subject: Subject { id: seen.external_id.clone(), name: seen.name.clone() },
                observed_at: self.scanned_at,
            })
        };
        records(Record::Asset(seen.clone()))?;
        for class in &CLASSES {
            if let Some(found) = self.class(class, covered) {
                let (severity, remediation) = (class.severity, class.remediation);
                records(told(class.check, class.title, severity, remediation, found))?;
            }
        }
        if let Some(found) = self.certificate() {
            let title = "Certificates are valid for 30 more days";
            let remediation = "Renew the certificate, and let it renew itself from then on.";
            records(told("certificate", title, Severity::Medium, remediation, found))?;
        }
        if let Some(found) = self.tls_version() {
            let title = "TLS 1.2 or newer is required";
            let remediation = "Turn SSL 2 and 3, TLS 1.0 and TLS 1.1 off on the service.";
            records(told("tls-version", title, Severity::Medium, remediation, found))?;
        }
        Ok(())
    }

    /// # Errors
    /// The reason why it is no asset.
    fn seen(&self, address: &str) -> Told<Seen> {
        let scope = text::id(address, "address")?.to_lowercase();
        let mac = self.mac.as_deref().filter(|it| is_global(it)).map(str::to_lowercase);
        let hostname = self.ptr.as_deref().or(self.typed.as_deref()).and_then(hostname);
        // As assets merge: a MAC of the maker's stays with the device, a name outlives an address.
        let external_id = mac.clone().or(hostname.clone()).unwrap_or_else(|| scope.clone());
        Ok(Seen {
            external_id: text::id(&external_id, "host name")?,
            name: text::line(hostname.as_deref().unwrap_or(&scope), NAME_CHARS_MAX),
            category: Some("host".to_owned()),
            asset_type: self.asset_type(),
            is_managed: false,
            hostname,
            ip: Some(scope.clone()),
            mac,
            serial: None,
            scope,
            seen_at: self.scanned_at,
            said: Said::default(),
        })
    }

    /// By the system that nmap takes it for: routers, switches, firewalls and access points are
    /// network devices; a general purpose system is a workstation if it is macOS or a Windows not
    /// called Server, else a server; anything else (printer, camera, phone) is a device. Without a
    /// system: a domain controller, mail server or database is a server by its services, and
    /// everything else a device.
    fn asset_type(&self) -> AssetType {
        if let Some(identified) = self.identified {
            return identified;
        }
        match self.os.as_ref().filter(|it| OS_ACCURACY_MIN <= it.accuracy) {
            Some(os) => os.asset_type(),
            None if self.is_serving() => AssetType::Server,
            None => AssetType::Device,
        }
    }

    fn is_serving(&self) -> bool {
        let open = |number| {
            let tcp = |it: &&Port| it.protocol == Protocol::Tcp && it.number == number;
            self.ports.iter().find(tcp).is_some_and(|it| it.state == State::Open)
        };
        open(88) && open(389) || [25, 1433, 1521, 3306, 5432].into_iter().any(open)
    }

    /// `None`: the scan says nothing about the class.
    fn class(
        &self,
        class: &Class,
        covered: &[(Protocol, Ranges)],
    ) -> Option<(Outcome, Option<String>)> {
        let open: Vec<String> = self
            .ports
            .iter()
            .filter(|it| it.state == State::Open && it.belongs_to(class))
            .map(Port::shown)
            .collect();
        if !open.is_empty() {
            return Some((Outcome::Fail, Some(text::line(&open.join(", "), DETAIL_CHARS_MAX))));
        }
        let mut states = class
            .ports
            .iter()
            .filter(|(protocol, _)| covered.iter().any(|it| it.0 == *protocol))
            .filter_map(|(protocol, number)| {
                let left_out = self.covers_classes_whole.then_some(State::Unclear);
                self.state_of(*protocol, *number, covered).or(left_out)
            })
            .peekable();
        states.peek()?;
        states.all(|it| it == State::Shut).then_some((Outcome::Pass, None))
    }

    /// `None`: the scan did not cover the port.
    fn state_of(
        &self,
        protocol: Protocol,
        number: u16,
        covered: &[(Protocol, Ranges)],
    ) -> Option<State> {
        let listed = |it: &&Port| it.protocol == protocol && it.number == number;
        if let Some(port) = self.ports.iter().find(listed) {
            return Some(port.state);
        }
        let contains = |ranges: &[(Protocol, Ranges)]| {
            ranges.iter().any(|it| it.0 == protocol && it.1.contains(number))
        };
        if !contains(covered) {
            return None;
        }
        let (named, unnamed): (Vec<&Extra>, Vec<&Extra>) =
            self.extras.iter().partition(|it| !it.ports.is_empty());
        if let Some(extra) = named.into_iter().find(|it| contains(&it.ports)) {
            return Some(extra.state);
        }
        // Which of several states a port is in is not told, so they must agree. With none at all
        // the host's ports got lost, as happens when nmap gives up on it.
        let shut = !unnamed.is_empty() && unnamed.iter().all(|it| it.state == State::Shut);
        Some(if shut { State::Shut } else { State::Unclear })
    }

    fn certificate(&self) -> Option<(Outcome, Option<String>)> {
        let limit = self.scanned_at?.plus_days(CERTIFICATE_DAYS_MIN);
        let until = |port: &Port| Some((port.shown(), port.certificate_until?));
        let soonest = self.ports.iter().filter_map(until).min_by_key(|it| it.1)?;
        let (shown, until) = soonest;
        if limit <= until {
            return (!self.hides_tls).then_some((Outcome::Pass, None));
        }
        let detail = format!("certificate of {shown} ends {until}");
        Some((Outcome::Fail, Some(text::line(&detail, DETAIL_CHARS_MAX))))
    }

    fn tls_version(&self) -> Option<(Outcome, Option<String>)> {
        let asked: Vec<&Port> = self.ports.iter().filter(|it| !it.tls.is_empty()).collect();
        let mut outdated = Vec::new();
        for port in &asked {
            let old: Vec<&str> =
                port.tls.iter().copied().filter(|it| TLS_OUTDATED.contains(it)).collect();
            if !old.is_empty() {
                outdated.push(format!("{} takes {}", port.shown(), old.join(", ")));
            }
        }
        if !outdated.is_empty() {
            return Some((Outcome::Fail, Some(text::line(&outdated.join("; "), DETAIL_CHARS_MAX))));
        }
        (!asked.is_empty() && !self.hides_tls).then_some((Outcome::Pass, None))
    }
}

const TLS_OUTDATED: [&str; 4] = ["SSLv2", "SSLv3", "TLSv1.0", "TLSv1.1"];
const TLS_VERSIONS: [&str; 6] = ["SSLv2", "SSLv3", "TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3"];

/// Those of our words for versions that these are.
pub(in crate::import) fn tls_versions(words: &[String]) -> Vec<&'static str> {
    TLS_VERSIONS.into_iter().filter(|it| words.iter().any(|word| word == it)).collect()
}

impl Port {
    fn belongs_to(&self, class: &Class) -> bool {
        let service = &self.service;
        class.ports.contains(&(self.protocol, self.number))
            || service.probed
                && !service.encrypted
                && class.services.contains(&service.name.as_str())
    }

    /// For a person: `tcp/3389 open (ms-wbt-server Microsoft Terminal Services)`.
    fn shown(&self) -> String {
        let service = format!("{} {}", self.service.name, self.service.banner);
        let port = format!("{}/{} open", self.protocol.as_str(), self.number);
        match text::some_line(&service, BANNER_CHARS_MAX) {
            Some(service) => format!("{port} ({service})"),
            None => port,
        }
    }

    /// Takes what one of nmap's scripts found at this port.
    pub(in crate::import) fn learn(&mut self, script: &str, output: &str) {
        match script {
            "ssl-cert" => {
                let until = output.split_once("Not valid after:").map(|it| it.1);
                let until = until.and_then(|it| it.split_whitespace().next());
                self.certificate_until = until.and_then(crate::import::moment::of_text);
            }
            "ssl-enum-ciphers" => {
                // A version that is not offered says so on its line, or has none.
                for line in output.lines().map(|it| it.trim().trim_end_matches(':')) {
                    self.tls.extend(TLS_VERSIONS.iter().filter(|it| **it == line));
                }
            }
            "sslv2" if output.contains("supported") || output.contains("supports") => {
                self.tls.push("SSLv2");
            }
            _ => {}
        }
    }
}

impl Os {
    fn asset_type(&self) -> AssetType {
        match self.class.as_str() {
            "router" | "broadband router" | "switch" | "firewall" | "WAP" | "load balancer"
            | "bridge" | "hub" | "security-misc" | "proxy server" => AssetType::NetworkDevice,
            "general purpose" => match self.family.as_str() {
                "Windows" if self.name.contains("Server") => AssetType::Server,
                "Windows" | "Mac OS X" | "macOS" => AssetType::Workstation,
                _ => AssetType::Server,
            },
            _ => AssetType::Device,
        }
    }
}

/// Whether the maker gave it: the last two bits of its first byte are set when software made it up,
/// or when it is for a group.
fn is_global(mac: &str) -> bool {
    let bytes: Option<Vec<u8>> = mac.split(':').map(|it| u8::from_str_radix(it, 16).ok()).collect();
    bytes.is_some_and(|it| {
        mac.len() == 17
            && it.len() == 6
            && 2 <= it[0].trailing_zeros()
            && it.iter().any(|it| *it != 0)
    })
}

/// In lower case, without the last dot. `None` for names that every host has.
fn hostname(name: &str) -> Option<String> {
    let name = name.trim().trim_end_matches('.').to_lowercase();
    let common = name == "localhost" || name.starts_with("localhost.");
    (!name.is_empty() && !common).then_some(name)
}
