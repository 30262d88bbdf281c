//! The evidence about a scanned host, and the rules about it: services that should not be reachable, certificates that
//! expire soon, outdated TLS. nmap's files and our own scans both use it.

use crate::clock::Time;
use crate::engine::asset::AssetType;
use crate::engine::network::service::{CLASSES, Protocol, ProtocolPorts, ServiceClass};
use crate::engine::severity::Severity;
use crate::text::some_line;

/// A certificate fails if less than this is left after the scan, and less than a fifth of its lifetime. Short-lived ones
/// are renewed late, as they should be.
const CERTIFICATE_DAYS_MIN: i64 = 10;
const CERTIFICATE_LIFETIME_PARTS: i64 = 5;

/// Longer banners are cut.
const BANNER_CHARS_MAX: usize = 120;

/// One check of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCheck {
    pub check: &'static str,
    pub title: &'static str,
    pub severity: Severity,
    pub remediation: &'static str,
    /// What fails. `None`: the host passes.
    pub failing: Option<String>,
}

/// The evidence about one host.
#[derive(Debug, Default)]
pub struct HostEvidence {
    /// `up`, `down`, ... `None`: not reported.
    pub state: Option<String>,
    pub ipv4: Option<String>,
    pub ipv6: Option<String>,
    pub mac: Option<String>,
    /// The name from the reverse look-up, and the name as it was entered.
    pub ptr: Option<String>,
    pub typed: Option<String>,
    pub ports: Vec<PortEvidence>,
    pub extras: Vec<Extra>,
    pub os: Option<Os>,
    /// The asset type that the scan itself determined.
    pub identified: Option<AssetType>,
    pub scanned_at: Option<Time>,
    /// The address that was scanned is reachable on the host itself only, so what is open there proves no exposure.
    pub is_loopback: bool,
    /// There may be certificates and TLS versions that were not seen. What was seen can then fail, but not pass.
    pub hides_tls: bool,
}

/// When a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateTerm {
    /// `None`: not known.
    pub from: Option<Time>,
    pub until: Time,
}

impl CertificateTerm {
    fn is_due(self, at: Time) -> bool {
        if at.plus_days(CERTIFICATE_DAYS_MIN) <= self.until {
            return false;
        }
        let left = self.until.micros() - at.micros();
        let lifetime = self.from.map_or(i64::MAX, |it| self.until.micros() - it.micros());
        left <= 0 || left < lifetime / CERTIFICATE_LIFETIME_PARTS
    }
}

#[derive(Debug)]
pub struct PortEvidence {
    pub protocol: Protocol,
    pub number: u16,
    pub state: PortState,
    pub service: HostService,
    /// `None`: not requested, or not readable.
    pub certificate: Option<CertificateTerm>,
    /// Versions of SSL and TLS that it accepts. Empty: not tested.
    pub tls: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortState {
    Open,
    /// Closed or filtered: nothing answers at the place where the scan ran.
    Shut,
    /// No evidence: `open|filtered`, `unfiltered`, or unknown.
    #[default]
    Unclear,
}

impl PortState {
    pub fn of(text: &str) -> Self {
        match text {
            "open" => Self::Open,
            "closed" | "filtered" | "closed|filtered" => Self::Shut,
            _ => Self::Unclear,
        }
    }
}

#[derive(Debug, Default)]
pub struct HostService {
    pub name: String,
    /// Product, version and more, as it announced itself.
    pub banner: String,
    /// True if probing identified the service. False if it is guessed from the port.
    pub probed: bool,
    pub encrypted: bool,
}

/// State of the covered ports that are not listed one by one.
#[derive(Debug)]
pub struct Extra {
    pub state: PortState,
    /// The ports. Empty: unknown, as in files of nmap before 7.9.
    pub ports: ProtocolPorts,
}

/// nmap's best guess.
#[derive(Debug, Default)]
pub struct Os {
    /// In percent.
    pub accuracy: u8,
    /// `general purpose`, `router`, `printer`, ...
    pub class: String,
    pub family: String,
    /// Accuracy and name of the best match, which may belong to another class.
    pub name_accuracy: u8,
    pub name: String,
}

/// Guesses of the operating system with a lower accuracy are ignored.
const OS_ACCURACY_MIN: u8 = 85;

impl HostEvidence {
    /// Returns the results for the host's open ports, certificates and TLS versions. `covered`: the ports that were
    /// probed.
    #[must_use]
    pub fn checks(&self, covered: &ProtocolPorts) -> Vec<HostCheck> {
        let mut found = Vec::new();
        let mut add = |check, title, severity, remediation, failing: Option<Option<String>>| {
            found.extend(failing.map(|detail| HostCheck {
                check,
                title,
                severity,
                remediation,
                failing: detail,
            }));
        };
        for class in CLASSES.iter().filter(|_| !self.is_loopback) {
            let outcome = self.class(class, covered);
            add(class.check, class.title, class.severity, class.remediation, outcome);
        }
        let title = "Certificates are renewed in time";
        let remediation = "Renew the certificate, and automate its renewal.";
        add("certificate", title, Severity::Medium, remediation, self.certificate());
        let title = "TLS 1.2 or newer is required";
        let remediation = "Turn SSL 2 and 3, TLS 1.0 and TLS 1.1 off on the service.";
        add("tls-version", title, Severity::Medium, remediation, self.tls_version());
        found
    }

    /// Derived from the operating system that nmap reports: routers, switches, firewalls and access points are network
    /// devices; a general purpose system is a workstation if it is macOS or a Windows not called Server, and otherwise
    /// a server; anything else (printer, camera, phone) is a device. Without an operating system: a domain controller,
    /// mail server or database is a server by its services, and everything else is a device.
    #[must_use]
    pub fn asset_type(&self) -> AssetType {
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
            let tcp = |it: &&PortEvidence| it.protocol == Protocol::Tcp && it.number == number;
            self.ports.iter().find(tcp).is_some_and(|it| it.state == PortState::Open)
        };
        open(88) && open(389) || [25, 1433, 1521, 3306, 5432].into_iter().any(open)
    }

    /// Returns what fails, or `Some(None)` if nothing does: then every port of the class was probed, of the protocols that were
    /// scanned. `None`: the scan shows too little of the class.
    fn class(&self, class: &ServiceClass, covered: &ProtocolPorts) -> Option<Option<String>> {
        let open: Vec<String> = self
            .ports
            .iter()
            .filter(|it| it.state == PortState::Open && it.belongs_to(class))
            .map(PortEvidence::shown)
            .collect();
        if !open.is_empty() {
            return Some(Some(open.join(", ")));
        }
        let mut ports = class.ports.iter().filter(|it| covered.names(it.0)).peekable();
        ports.peek()?;
        ports.all(|it| self.state_of(it.0, it.1, covered) == Some(PortState::Shut)).then_some(None)
    }

    /// Returns `None` if the scan did not cover the port.
    fn state_of(
        &self,
        protocol: Protocol,
        number: u16,
        covered: &ProtocolPorts,
    ) -> Option<PortState> {
        let listed = |it: &&PortEvidence| it.protocol == protocol && it.number == number;
        if let Some(port) = self.ports.iter().find(listed) {
            return Some(port.state);
        }
        if !covered.contains(protocol, number) {
            return None;
        }
        let (named, unnamed): (Vec<&Extra>, Vec<&Extra>) =
            self.extras.iter().partition(|it| !it.ports.is_empty());
        if let Some(extra) = named.into_iter().find(|it| it.ports.contains(protocol, number)) {
            return Some(extra.state);
        }
        // The file does not say which of several states a port is in, so they must agree. If there is no state at all,
        // the host's ports are missing, as happens when nmap gives up on a host.
        let shut = !unnamed.is_empty() && unnamed.iter().all(|it| it.state == PortState::Shut);
        Some(if shut { PortState::Shut } else { PortState::Unclear })
    }

    fn certificate(&self) -> Option<Option<String>> {
        let scanned_at = self.scanned_at?;
        let shown = |port: &PortEvidence| Some((port.named(), port.certificate?));
        let all: Vec<_> = self.ports.iter().filter_map(shown).collect();
        let due = all.iter().filter(|(_, it)| it.is_due(scanned_at));
        match due.min_by_key(|(_, it)| it.until) {
            Some((place, it)) => {
                let until = it.until.to_string();
                let day = until.split('T').next().unwrap_or(&until);
                let verb = if it.until <= scanned_at { "was" } else { "is" };
                Some(Some(format!("The certificate on {place} {verb} valid until {day}.")))
            }
            None => (!all.is_empty() && !self.hides_tls).then_some(None),
        }
    }

    fn tls_version(&self) -> Option<Option<String>> {
        let asked: Vec<&PortEvidence> = self.ports.iter().filter(|it| !it.tls.is_empty()).collect();
        let mut outdated = Vec::new();
        for port in &asked {
            let old: Vec<&str> =
                port.tls.iter().copied().filter(|it| TLS_OUTDATED.contains(it)).collect();
            if !old.is_empty() {
                outdated.push(format!("{} accepts {}", port.shown(), old.join(", ")));
            }
        }
        if !outdated.is_empty() {
            return Some(Some(outdated.join("; ")));
        }
        (!asked.is_empty() && !self.hides_tls).then_some(None)
    }
}

const TLS_OUTDATED: [&str; 4] = ["SSLv2", "SSLv3", "TLSv1.0", "TLSv1.1"];
pub const TLS_VERSIONS: [&str; 6] = ["SSLv2", "SSLv3", "TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3"];

/// Returns those of our names of versions that are in the list.
pub fn tls_versions(words: &[String]) -> Vec<&'static str> {
    TLS_VERSIONS.into_iter().filter(|it| words.iter().any(|word| word == it)).collect()
}

impl PortEvidence {
    fn belongs_to(&self, class: &ServiceClass) -> bool {
        let service = &self.service;
        class.ports.contains(&(self.protocol, self.number))
            || service.probed
                && !service.encrypted
                && class.services.contains(&service.name.as_str())
    }

    /// Formats the port for people: `tcp/3389 open (ms-wbt-server Microsoft Terminal Services)`.
    fn shown(&self) -> String {
        let service = format!("{} {}", self.service.name, self.service.banner);
        self.with(" open", &service)
    }

    /// Formats the port without what it announces: `tcp/443 (https)`.
    fn named(&self) -> String {
        self.with("", &self.service.name)
    }

    fn with(&self, state: &str, service: &str) -> String {
        let port = format!("{}/{}{state}", self.protocol.as_str(), self.number);
        match some_line(service, BANNER_CHARS_MAX) {
            Some(service) => format!("{port} ({service})"),
            None => port,
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
