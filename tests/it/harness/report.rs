//! Samples of reports.

use super::Format;

/// One of each format, and of each form that a format has.
pub const REPORTS: [(Format, &str); 21] = [
    (Format::Scuba, "report/scuba.json"),
    (Format::Scuba, "report/goggles.json"),
    (Format::Maester, "report/maester.json"),
    (Format::SecureScore, "report/securescore.json"),
    (Format::ZeroTrust, "report/zerotrust.json"),
    (Format::DefenderCloud, "report/defender-cloud.csv"),
    (Format::ScoutSuite, "report/scoutsuite.js"),
    (Format::Lynis, "report/lynis.dat"),
    (Format::PingCastle, "report/pingcastle.xml"),
    (Format::Xccdf, "report/xccdf.xml"),
    (Format::StigChecklist, "report/checklist.ckl"),
    (Format::StigChecklist3, "report/checklist.cklb"),
    (Format::Oscal, "report/oscal.json"),
    (Format::Oscal, "report/oscal-scanner.json"),
    (Format::Inspec, "report/inspec.json"),
    (Format::WazuhSca, "report/wazuh-sca.json"),
    (Format::WazuhSca, "report/wazuh-sca-alerts.json"),
    (Format::KubeBench, "report/kube-bench.json"),
    (Format::Powerpipe, "report/powerpipe.json"),
    (Format::Sarif, "report/gitleaks.sarif"),
    (Format::HardeningKitty, "report/hardeningkitty.csv"),
];
