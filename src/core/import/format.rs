//! The formats of files.

use std::fmt;
use std::str::FromStr;

use super::asff;
use super::inventory::Kind;
use crate::error::{Error, Result};

/// A file format that [`super::read`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prowler 4 and later, OCSF detection findings: an array, one object, or consecutive objects.
    ProwlerOcsf,
    /// Prowler 3 and later, `;` between columns, read by header.
    ProwlerCsv,
    /// Prowler 3, its own JSON: an array, or consecutive objects.
    ProwlerJson,
    /// AWS's security finding format, of Prowler or of AWS Security Hub: an array, an object with the array in it, or
    /// consecutive objects.
    Asff,
    /// AWS Security Hub, OCSF compliance findings: an array, one object, or consecutive objects.
    SecurityHubOcsf,
    /// nmap `-oX`.
    Nmap,
    /// masscan, in any form.
    Masscan,
    /// ScubaGear and ScubaGoggles, `ScubaResults*.json`.
    Scuba,
    Maester,
    /// Microsoft's secure score, from Microsoft Graph.
    SecureScore,
    /// Microsoft's Zero Trust Assessment, JSON.
    ZeroTrust,
    /// Microsoft Defender for Cloud, CSV of its recommendations.
    DefenderCloud,
    /// `ScoutSuite`, `scoutsuite_results_*.js`.
    ScoutSuite,
    /// Powerpipe, JSON.
    Powerpipe,
    /// SARIF of scanners of source code.
    Sarif,
    /// Lynis, `lynis-report.dat`.
    Lynis,
    /// PingCastle, the XML of a health check.
    PingCastle,
    /// XCCDF results of OpenSCAP and DISA SCC, alone or inside of ARF.
    Xccdf,
    /// STIG Viewer, `.ckl`.
    StigChecklist,
    /// STIG Viewer 3, `.cklb`.
    StigChecklist3,
    /// Assessment results in OSCAL, JSON.
    Oscal,
    /// Chef `InSpec` and CINC Auditor, JSON.
    Inspec,
    /// Wazuh, results of its security configuration assessment.
    WazuhSca,
    /// kube-bench, JSON.
    KubeBench,
    /// `HardeningKitty`, CSV report.
    HardeningKitty,
    /// Nessus and other scanners of Tenable, `.nessus`.
    Nessus,
    /// The same, CSV of a scan, or Tenable's of all findings.
    NessusCsv,
    /// `OpenVAS` and Greenbone, XML.
    OpenVas,
    /// The same, CSV with all levels.
    OpenVasCsv,
    /// Qualys, the XML of an asset data report.
    Qualys,
    /// Trivy, JSON.
    Trivy,
    /// Grype, JSON.
    Grype,
    /// Microsoft Defender, vulnerabilities of machines from its API.
    DefenderVulnerabilities,
    /// Wazuh, vulnerabilities of agents from its API or its index.
    WazuhVulnerabilities,
    /// A list of assets, CSV or JSON: see [`super::inventory`].
    Inventory,
    /// A list of people who left, CSV or JSON: see [`super::inventory`].
    Leavers,
}

impl Format {
    pub const ALL: [Self; 36] = [
        Self::ProwlerOcsf,
        Self::ProwlerCsv,
        Self::ProwlerJson,
        Self::Asff,
        Self::SecurityHubOcsf,
        Self::Nmap,
        Self::Masscan,
        Self::Scuba,
        Self::Maester,
        Self::SecureScore,
        Self::ZeroTrust,
        Self::DefenderCloud,
        Self::ScoutSuite,
        Self::Powerpipe,
        Self::Sarif,
        Self::Lynis,
        Self::PingCastle,
        Self::Xccdf,
        Self::StigChecklist,
        Self::StigChecklist3,
        Self::Oscal,
        Self::Inspec,
        Self::WazuhSca,
        Self::KubeBench,
        Self::HardeningKitty,
        Self::Nessus,
        Self::NessusCsv,
        Self::OpenVas,
        Self::OpenVasCsv,
        Self::Qualys,
        Self::Trivy,
        Self::Grype,
        Self::DefenderVulnerabilities,
        Self::WazuhVulnerabilities,
        Self::Inventory,
        Self::Leavers,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProwlerOcsf => "prowler-ocsf",
            Self::ProwlerCsv => "prowler-csv",
            Self::ProwlerJson => "prowler-json",
            Self::Asff => "asff",
            Self::SecurityHubOcsf => "securityhub-ocsf",
            Self::Nmap => "nmap",
            Self::Masscan => "masscan",
            Self::Scuba => "scuba",
            Self::Maester => "maester",
            Self::SecureScore => "securescore",
            Self::ZeroTrust => "zero-trust",
            Self::DefenderCloud => "defender-cloud",
            Self::ScoutSuite => "scoutsuite",
            Self::Powerpipe => "powerpipe",
            Self::Sarif => "sarif",
            Self::Lynis => "lynis",
            Self::PingCastle => "pingcastle",
            Self::Xccdf => "xccdf",
            Self::StigChecklist => "stig-checklist",
            Self::StigChecklist3 => "cklb",
            Self::Oscal => "oscal",
            Self::Inspec => "inspec",
            Self::WazuhSca => "wazuh-sca",
            Self::KubeBench => "kube-bench",
            Self::HardeningKitty => "hardeningkitty",
            Self::Nessus => "nessus",
            Self::NessusCsv => "nessus-csv",
            Self::OpenVas => "openvas",
            Self::OpenVasCsv => "openvas-csv",
            Self::Qualys => "qualys",
            Self::Trivy => "trivy",
            Self::Grype => "grype",
            Self::DefenderVulnerabilities => "defender-vulnerabilities",
            Self::WazuhVulnerabilities => "wazuh-vulnerabilities",
            Self::Inventory => "inventory",
            Self::Leavers => "leavers",
        }
    }

    /// Returns true if a file always says all that there is in its scopes: what an earlier one said and this one does not is gone.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        matches!(
            self,
            Self::PingCastle
                | Self::Xccdf
                | Self::StigChecklist
                | Self::StigChecklist3
                | Self::Sarif
        )
    }

    /// Returns true if a file is about hosts, systems, images or people, and not about a tenant, account or domain of a vendor.
    #[must_use]
    pub const fn is_about_hosts(self) -> bool {
        match self {
            Self::Nmap
            | Self::Masscan
            | Self::Lynis
            | Self::Xccdf
            | Self::StigChecklist
            | Self::StigChecklist3
            | Self::Oscal
            | Self::Inspec
            | Self::WazuhSca
            | Self::KubeBench
            | Self::HardeningKitty
            | Self::Nessus
            | Self::NessusCsv
            | Self::OpenVas
            | Self::OpenVasCsv
            | Self::Qualys
            | Self::Trivy
            | Self::Grype
            | Self::DefenderVulnerabilities
            | Self::WazuhVulnerabilities
            | Self::Sarif
            | Self::Inventory
            | Self::Leavers => true,
            Self::ProwlerOcsf
            | Self::ProwlerCsv
            | Self::ProwlerJson
            | Self::Asff
            | Self::SecurityHubOcsf
            | Self::Scuba
            | Self::Maester
            | Self::SecureScore
            | Self::ZeroTrust
            | Self::DefenderCloud
            | Self::ScoutSuite
            | Self::Powerpipe
            | Self::PingCastle => false,
        }
    }

    /// What the rows of a file are. `None`: it is not a list whose columns a source names.
    #[must_use]
    pub const fn list_kind(self) -> Option<Kind> {
        if matches!(self, Self::Inventory) {
            Some(Kind::Assets)
        } else if matches!(self, Self::Leavers) {
            Some(Kind::Leavers)
        } else {
            None
        }
    }

    /// Returns true if a file says when its results were found.
    #[must_use]
    pub const fn has_times(self) -> bool {
        !matches!(
            self,
            Self::StigChecklist
                | Self::StigChecklist3
                | Self::WazuhSca
                | Self::KubeBench
                | Self::HardeningKitty
                | Self::Powerpipe
                | Self::Sarif
                | Self::DefenderVulnerabilities
                | Self::WazuhVulnerabilities
        )
    }

    /// Returns true if only the name of its source tells a file's cluster, host, system or repository from another's.
    #[must_use]
    pub const fn needs_source(self) -> bool {
        self.is_nameless() || matches!(self, Self::Sarif)
    }

    /// Returns true if a file does not say which host, cluster or system it is about: the name of its source does.
    #[must_use]
    pub const fn is_nameless(self) -> bool {
        matches!(self, Self::KubeBench | Self::HardeningKitty | Self::Oscal)
    }

    /// The catalog's name of the tool whose check ids the file has. A check of it may name another ([`Check::tool`]).
    #[must_use]
    pub const fn tool(self) -> &'static str {
        match self {
            Self::ProwlerOcsf | Self::ProwlerCsv | Self::ProwlerJson => "prowler",
            Self::StigChecklist | Self::StigChecklist3 | Self::Inspec => "xccdf",
            Self::Asff | Self::SecurityHubOcsf => asff::SECURITY_HUB,
            // Its open ports are what nmap tells of them.
            Self::Masscan => "nmap",
            Self::Nmap
            | Self::Scuba
            | Self::Maester
            | Self::SecureScore
            | Self::ZeroTrust
            | Self::DefenderCloud
            | Self::ScoutSuite
            | Self::Powerpipe
            | Self::Sarif
            | Self::Lynis
            | Self::PingCastle
            | Self::Xccdf
            | Self::Oscal
            | Self::WazuhSca
            | Self::KubeBench
            | Self::HardeningKitty
            | Self::Nessus
            | Self::OpenVas
            | Self::Qualys
            | Self::Trivy
            | Self::Grype
            | Self::Inventory
            | Self::Leavers => self.as_str(),
            Self::NessusCsv => "nessus",
            Self::OpenVasCsv => "openvas",
            Self::DefenderVulnerabilities => "defender",
            Self::WazuhVulnerabilities => "wazuh",
        }
    }

    /// The name of the source of a file that starts so, if the caller does not say.
    #[must_use]
    pub fn source(self, head: &[u8]) -> &'static str {
        if self == Self::Asff {
            return asff::source(head);
        }
        // It knows less than nmap, and must not replace what that told.
        if self == Self::Masscan { self.as_str() } else { self.tool() }
    }
}

/// The names of all formats that can be asked for, also of that which has no assessor: our own facts.
#[must_use]
pub fn known_formats() -> String {
    format!("{}, facts", Format::ALL.map(Format::as_str).join(", "))
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error of an unknown name lists the known formats.
impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text).ok_or_else(|| {
            Error::invalid(format!("unknown format; use one of {}", known_formats()))
        })
    }
}
