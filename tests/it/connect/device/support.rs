//! END-09: until when operating systems get security updates.

use posture::connect::device::{Device, Fact, Os};
use posture::connect::reading::JudgedStatus::{Compliant, NonCompliant};

use super::{device, status};

/// `None`: unknown.
fn is_supported(name: &str, version: &str, build: &str) -> Option<bool> {
    let part = |it: &str| Some(it.to_owned()).filter(|it| !it.is_empty());
    let os = Os { name: part(name), version: part(version), build: part(build) };
    match status(Fact::Os, &[Device { os, ..device("a") }]) {
        Some(Compliant) => Some(true),
        Some(NonCompliant) => Some(false),
        None => None,
        other => panic!("{name}: {other:?}"),
    }
}

/// On 2026-11-23.
#[test]
fn operating_systems_are_recognized_as_tools_write_them() {
    for (name, version, build, expected) in [
        ("Microsoft Windows 11 Pro, 64bit (build 26200)", "", "", Some(true)),
        ("Microsoft Windows 11 Pro, 64bit (build 26100)", "", "", Some(false)),
        ("Windows 11 Enterprise Edition", "24H2", "26100", Some(true)),
        ("Windows 11 Education", "10.0.26100.4652", "", Some(true)),
        ("Windows", "10.0.26100.4652", "", None), // It depends on the edition.
        ("Windows", "10.0.26200.1", "", Some(true)),
        ("Windows", "10.0.22621.1", "", Some(false)),
        ("Windows 11 Enterprise LTSC", "", "26100", Some(true)),
        ("Microsoft Windows 10 Pro 10.0.19045", "", "", Some(false)),
        ("Microsoft Windows 10 Pro for Workstations, 64bit (build 18363)", "", "", Some(false)),
        ("Windows 10 Enterprise LTSC 2021", "", "19044", Some(true)),
        ("Windows 10 Enterprise 2016 LTSB", "", "14393", Some(false)),
        ("Windows", "10.0.19044", "", None), // It may be LTSC.
        ("Windows 10 Pro", "", "", Some(false)),
        ("Windows 11 Pro", "", "", None),
        ("Windows 11 Pro", "", "29999", None),
        ("Windows 10 Pro", "", "29999", None),
        ("Microsoft Windows 8.1 Pro, 64bit (build 9600)", "", "", Some(false)),
        ("Windows 7 Professional", "", "", Some(false)),
        ("Windows XP", "", "", Some(false)),
        ("Microsoft Windows Server 2012 R2 Standard, 64bit (build 9600)", "", "", Some(false)),
        ("Microsoft Windows Server 2016 Standard, 64bit (build 14393)", "", "", Some(true)),
        ("Microsoft Windows Server 2019 Standard, 64bit (build 17763)", "", "", Some(true)),
        ("Windows Server 2022 Standard", "10.0.20348.3932", "20348", Some(true)),
        ("Windows Server 2025 Datacenter", "", "", Some(true)),
        ("Windows Server Standard", "", "19042", Some(false)),
        ("Windows Server Standard", "", "", None),
        ("Darwin 12.5.1 arm64 21.6.0", "", "", Some(false)),
        ("Darwin 15.6.1 arm64 24.6.0", "", "", Some(true)),
        ("Darwin 21.6.0", "", "", Some(false)),
        ("Darwin 25.1.0", "", "", Some(true)),
        ("macOS 14.8.4 (Sonoma)", "", "", Some(false)),
        ("macOS", "26.1", "", Some(true)),
        ("Mac OS X 10.15.7", "", "", Some(false)),
        ("macOS", "99.0", "", None),
        ("Debian 11.2 x86_64 5.10.0-11-amd64", "", "", Some(false)),
        ("Debian GNU/Linux 12 (bookworm)", "", "", Some(true)),
        ("Debian GNU/Linux", "13", "", Some(true)),
        ("Ubuntu 22.04.5 LTS", "", "", Some(true)),
        ("Ubuntu 20.04.6 LTS", "", "", Some(false)),
        ("Ubuntu 25.10", "", "", Some(false)),
        ("CentOS Linux release 7.9.2009 (Core)", "", "", Some(false)),
        ("CentOS Stream 9", "", "", Some(true)),
        ("CentOS Stream release 8", "", "", Some(false)),
        ("Red Hat Enterprise Linux Server 7.9", "", "", Some(false)),
        ("Rocky Linux 9.4 (Blue Onyx)", "", "", Some(true)),
        ("AlmaLinux 8.10", "", "", Some(true)),
        ("Raspbian 11.2 armv7l 5.10.92-v7+", "", "", None),
        ("Debian", "", "", None),
        ("TempleOS 5", "", "", None),
        ("", "", "", None),
    ] {
        let said = is_supported(name, version, build);
        assert_eq!(said, expected, "{name:?} {version:?} {build:?}");
    }
}

#[test]
fn support_ends_after_its_last_day() {
    use std::collections::BTreeSet;

    use posture::connect::device::judge;
    let os = Os { name: Some("Windows Server 2016".to_owned()), ..Os::default() };
    let it = Device { os, last_seen: None, ..device("a") };
    let on = |day: &str| {
        let judged = judge(
            std::slice::from_ref(&it),
            &BTreeSet::from([Fact::Os]),
            format!("{day}T23:59:59Z").parse().unwrap(),
        );
        judged[0].status
    };
    assert_eq!(on("2027-01-12"), Compliant);
    assert_eq!(on("2027-01-13"), NonCompliant);
}
