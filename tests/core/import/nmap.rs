//! nmap's XML.

use std::time::{Duration, Instant};

use posture_core::clock::Time;
use posture_core::engine::asset::AssetType;
use posture_core::engine::network::service::PortSet;
use posture_core::import::fold::Folded;
use posture_core::import::{self, Format};

use super::{LOOPBACK, counts, folded, refusal, skipped};

const SCANINFO: &str =
    r#"<scaninfo type="syn" protocol="tcp" numservices="1026" services="1-1024,2323,3389"/>"#;
const FINISHED: &str = r#"<runstats><finished time="1795167855" exit="success"/></runstats>"#;

/// A finished report with these elements in it.
pub(super) fn report(content: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE nmaprun>\n\
         <nmaprun scanner=\"nmap\" start=\"1795167000\">{SCANINFO}\
         {content}\n{FINISHED}</nmaprun>\n"
    )
}

/// A host that is up, with these elements behind its address and in its ports.
pub(super) fn host(about: &str, ports: &str) -> String {
    format!(
        r#"<host starttime="1795167750" endtime="1795167855"><status state="up" reason="syn-ack"/>
        <address addr="10.0.0.7" addrtype="ipv4"/>{about}<ports>{ports}</ports></host>"#
    )
}

fn port(number: u16, state: &str, more: &str) -> String {
    format!(
        r#"<port protocol="tcp" portid="{number}"><state state="{state}" reason="x"/>{more}</port>"#
    )
}

const CLOSED: &str = r#"<extraports state="closed" count="9"/>"#;

fn scanned(about: &str, ports: &str) -> Folded {
    folded(Format::Nmap, report(&host(about, ports)).as_bytes()).expect("a whole report")
}

/// What a check came to: passed, failed. `None`: no evidence.
fn outcome(run: &Folded, check: &str) -> Option<(u32, u32)> {
    let it = run.observations.iter().find(|it| it.check == check)?;
    Some((counts(it).0, counts(it).1))
}

const PASS: Option<(u32, u32)> = Some((1, 0));
const FAIL: Option<(u32, u32)> = Some((0, 1));

#[test]
fn only_ports_that_the_scan_covered_are_evidence() {
    let run = scanned("", CLOSED);
    let checks: Vec<&str> = run.observations.iter().map(|it| it.check.as_str()).collect();
    assert_eq!(checks, ["ftp", "r-services", "rdp", "smb", "telnet"]);
    assert!(run.observations.iter().all(|it| counts(it) == (1, 0, 0)));
    assert!(run.observations.iter().all(|it| it.observed_at == Time::from_s(1_795_167_855)));
}

#[test]
fn a_class_passes_only_if_all_its_ports_were_asked() {
    let asked = |services: &str, ports: &str| {
        let report = report(&host("", &(ports.to_owned() + CLOSED)));
        let report = report.replace("1-1024,2323,3389", services);
        folded(Format::Nmap, report.as_bytes()).unwrap()
    };
    let both = asked("23,2323,3306", "");
    assert_eq!((outcome(&both, "telnet"), outcome(&both, "database")), (PASS, None));
    let one = asked("23,3306", &port(3306, "open", ""));
    assert_eq!((outcome(&one, "telnet"), outcome(&one, "database")), (None, FAIL));
}

#[test]
fn an_open_port_fails_its_class_and_says_what_answered() {
    let service = r#"<service name="ms-wbt-server" method="probed"
        product="Microsoft Terminal Services"/>"#;
    let run = scanned("", &(port(3389, "open", service) + &port(445, "open", "") + CLOSED));
    assert_eq!((outcome(&run, "rdp"), outcome(&run, "smb")), (FAIL, FAIL));
    let rdp = run.observations.iter().find(|it| it.check == "rdp").unwrap();
    assert_eq!(
        rdp.findings.as_deref(),
        Some("10.0.0.7\ntcp/3389 open (ms-wbt-server Microsoft Terminal Services)")
    );
    assert!(rdp.remediation.is_some());
    assert_eq!(outcome(&run, "telnet"), PASS);
}

#[test]
fn what_is_open_on_a_loopback_address_is_not_exposed() {
    for (address, kind) in [("127.0.0.1", "ipv4"), ("127.9.0.1", "ipv4"), ("::1", "ipv6")] {
        let script = r#"<script id="sslv2" output="&#xa;  SSLv2 supported&#xa;"/>"#;
        let host = host("", &(port(3389, "open", script) + CLOSED));
        let host = host.replace(
            "\"10.0.0.7\" addrtype=\"ipv4\"",
            &format!("\"{address}\" addrtype=\"{kind}\""),
        );
        let run = folded(Format::Nmap, report(&host).as_bytes()).unwrap();
        let checks: Vec<&str> = run.observations.iter().map(|it| it.check.as_str()).collect();
        assert_eq!(
            (checks.as_slice(), run.assets.len()),
            (["tls-version"].as_slice(), 1),
            "{address}"
        );
        assert_eq!(skipped(&run), [(LOOPBACK, 1)]);
    }
}

#[test]
fn a_service_found_elsewhere_fails_its_class_when_it_was_asked() {
    let telnet = |more: &str| format!(r#"<service name="telnet" {more}/>"#);
    let probed = scanned("", &(port(992, "open", &telnet(r#"method="probed""#)) + CLOSED));
    assert_eq!(outcome(&probed, "telnet"), FAIL);
    let guessed = scanned("", &(port(992, "open", &telnet(r#"method="table""#)) + CLOSED));
    assert_eq!(outcome(&guessed, "telnet"), PASS);
    let wrapped = telnet(r#"method="probed" tunnel="ssl""#);
    assert_eq!(outcome(&scanned("", &(port(992, "open", &wrapped) + CLOSED)), "telnet"), PASS);
}

#[test]
fn a_state_that_is_not_known_is_no_evidence() {
    for state in ["open|filtered", "unfiltered", "unknown"] {
        let run = scanned("", &(port(3389, state, "") + &port(139, state, "") + CLOSED));
        assert_eq!(outcome(&run, "rdp"), None, "{state}");
        assert_eq!(outcome(&run, "smb"), None, "{state}: the other port alone does not pass");
    }
    for state in ["closed", "filtered", "closed|filtered"] {
        assert_eq!(outcome(&scanned("", &port(3389, state, "")), "rdp"), PASS, "{state}");
    }
    let lost = scanned("", "");
    assert!(lost.observations.is_empty(), "nmap gave up on the host's ports");
}

#[test]
fn the_state_of_ports_that_are_not_listed_is_told_by_their_lists() {
    let extra = |state: &str, ports: &str| {
        format!(
            r#"<extraports state="{state}" count="9">
            <extrareasons reason="x" proto="tcp" ports="{ports}"/></extraports>"#
        )
    };
    let run =
        scanned("", &(extra("closed", "1-500,2323") + &extra("open|filtered", "501-1024,3389")));
    assert_eq!((outcome(&run, "telnet"), outcome(&run, "rdp")), (PASS, None));
    assert_eq!(outcome(&run, "r-services"), None);
    let mixed = scanned("", &format!(r#"{CLOSED}<extraports state="open|filtered" count="4"/>"#));
    assert_eq!(outcome(&mixed, "telnet"), None, "which ports are which is not said");
    let agreeing = scanned("", &format!(r#"{CLOSED}<extraports state="filtered" count="4"/>"#));
    assert_eq!(outcome(&agreeing, "telnet"), PASS);
}

#[test]
fn a_host_is_known_by_its_mac_else_its_name_else_its_address() {
    let id = |about: &str| scanned(about, CLOSED).assets[0].external_id.clone();
    let mac = |mac: &str| format!(r#"<address addr="{mac}" addrtype="mac"/>"#);
    let name = r#"<hostnames><hostname name="web" type="user"/>
        <hostname name="Srv1.Example.COM." type="PTR"/></hostnames>"#;
    assert_eq!(id(&(mac("00:1F:3C:87:66:50") + name)), "00:1f:3c:87:66:50");
    assert_eq!(id(name), "srv1.example.com");
    for made_up in ["02:42:AC:11:00:02", "01:00:5E:00:00:01", "00:00:00:00:00:00", "00:1F:3C"] {
        assert_eq!(id(&mac(made_up)), "10.0.0.7", "{made_up}");
    }
    assert_eq!(id(r#"<hostnames><hostname name="localhost" type="PTR"/></hostnames>"#), "10.0.0.7");
    assert_eq!(id(r#"<hostnames><hostname name="web" type="user"/></hostnames>"#), "web");

    let run = scanned(&(mac("00:1F:3C:87:66:50") + name), &port(3389, "open", ""));
    let asset = &run.assets[0];
    assert_eq!((asset.name.as_str(), asset.is_managed), ("srv1.example.com", false));
    assert_eq!(asset.mac.as_deref(), Some("00:1f:3c:87:66:50"));
    assert_eq!((asset.ip.as_deref(), asset.scope.as_str()), (Some("10.0.0.7"), "10.0.0.7"));
}

#[test]
fn a_system_is_a_type_of_asset() {
    let kind = |class: &str, family: &str, name: &str, accuracy: u8| {
        let os = format!(
            r#"<os><osmatch name="{name}" accuracy="{accuracy}">
            <osclass type="{class}" osfamily="{family}" accuracy="{accuracy}"/></osmatch></os>"#
        );
        scanned(&os, CLOSED).assets[0].asset_type
    };
    let general = "general purpose";
    assert_eq!(kind(general, "Windows", "Microsoft Windows Server 2019", 98), AssetType::Server);
    assert_eq!(kind(general, "Windows", "Microsoft Windows 10", 98), AssetType::Workstation);
    assert_eq!(kind(general, "Linux", "Linux 5.4", 98), AssetType::Server);
    assert_eq!(kind(general, "macOS", "Apple macOS 12", 98), AssetType::Workstation);
    assert_eq!(kind("switch", "IOS", "Cisco", 98), AssetType::NetworkDevice);
    assert_eq!(kind("printer", "embedded", "HP", 98), AssetType::Device);
    assert_eq!(kind(general, "Linux", "Linux 5.4", 60), AssetType::Device, "too uncertain");
    let controller = port(88, "open", "") + &port(389, "open", "");
    assert_eq!(scanned("", &controller).assets[0].asset_type, AssetType::Server);
}

#[test]
fn a_certificate_needs_ten_days_or_a_fifth_of_its_lifetime() {
    // The scan ended on 2026-11-20 at 09:44:15.
    let lasts = |from: &str, until: &str| {
        let script = format!(
            r#"<script id="ssl-cert" output="Subject: a&#xa;{from}Not valid after:  {until}&#xa;MD5: 0">
            <table key="validity"><elem key="notAfter">{until}</elem></table></script>"#
        );
        outcome(&scanned("", &port(443, "open", &script)), "certificate")
    };
    let ends = |until: &str| lasts("", until);
    assert_eq!(ends("2026-11-30T09:44:15"), PASS);
    assert_eq!(ends("2026-11-30T09:44:14"), FAIL);
    let short =
        |from: &str| lasts(&format!("Not valid before: {from}&#xa;"), "2026-11-22T09:44:15");
    assert_eq!(short("2026-11-12T09:44:15"), PASS, "two days of ten are left");
    assert_eq!(short("2026-11-12T09:44:10"), FAIL);
    let ended = lasts("Not valid before: 2026-11-20T09:44:14&#xa;", "2026-11-20T09:44:15");
    assert_eq!(ended, FAIL);
    assert_eq!(ends("2030-01-01T00:00:00+00:00"), PASS);
    assert_eq!(ends("2019-01-01T00:00:00"), FAIL);
    assert_eq!(ends("soon"), None);
    let said = |until: &str| {
        let elem = format!(r#"<elem key="notAfter">{until}</elem>"#);
        let script = format!(
            r#"<service name="https"/><script id="ssl-cert" output="Not valid after:  {until}&#xa;">{elem}</script>"#
        );
        let run = scanned("", &port(443, "open", &script));
        run.observations.iter().find(|it| it.check == "certificate").unwrap().findings.clone()
    };
    let expect = "10.0.0.7\nThe certificate on tcp/443 (https) is valid until 2026-11-22.";
    assert_eq!(said("2026-11-22T09:44:15").as_deref(), Some(expect));
    let expect = "10.0.0.7\nThe certificate on tcp/443 (https) was valid until 2019-01-01.";
    assert_eq!(said("2019-01-01T00:00:00").as_deref(), Some(expect));
}

#[test]
fn a_version_before_tls_1_2_fails() {
    let takes = |versions: &[&str]| {
        let ciphers = ": &#xa;    ciphers: &#xa;      X - A";
        let lines: Vec<String> =
            versions.iter().map(|it| format!("&#xa;  {it}{ciphers}")).collect();
        let lines = lines.concat();
        let script =
            format!(r#"<script id="ssl-enum-ciphers" output="{lines}&#xa;  least strength: A"/>"#);
        outcome(&scanned("", &port(443, "open", &script)), "tls-version")
    };
    assert_eq!(takes(&["TLSv1.2", "TLSv1.3"]), PASS);
    for old in ["SSLv2", "SSLv3", "TLSv1.0", "TLSv1.1"] {
        assert_eq!(takes(&["TLSv1.2", old]), FAIL, "{old}");
    }
    assert_eq!(takes(&[]), None);
    let refused = r#"<script id="ssl-enum-ciphers"
        output="&#xa;  SSLv3: No supported ciphers found&#xa;  TLSv1.2:&#xa;"/>"#;
    assert_eq!(outcome(&scanned("", &port(443, "open", refused)), "tls-version"), PASS);
    let sslv2 = r#"<script id="sslv2" output="&#xa;  SSLv2 supported&#xa;"/>"#;
    assert_eq!(outcome(&scanned("", &port(443, "open", sslv2)), "tls-version"), FAIL);
}

#[test]
fn banners_cannot_hide_anything() {
    let service = r#"<service name="ftp" method="probed"
        product="&#x1b;[2J&#x202e;x" version="&#10;1" extrainfo="&unknown;"/>"#;
    let run = scanned("", &port(21, "open", service));
    let ftp = run.observations.iter().find(|it| it.check == "ftp").unwrap();
    let findings = ftp.findings.as_deref().unwrap();
    assert!(!findings.chars().any(|it| it != '\n' && it.is_control()), "{findings:?}");
    assert!(findings.contains("tcp/21 open (ftp"), "{findings}");
    let long = format!(r#"<service name="ftp" product="{}"/>"#, "x".repeat(100_000));
    let run = scanned("", &port(21, "open", &long));
    assert!(run.observations[0].findings.as_deref().unwrap().contains("… (cut)"));
}

#[test]
fn hosts_without_results_are_left_out_with_a_reason() {
    let hosts = r#"
        <hosthint><status state="up"/><address addr="10.0.0.1" addrtype="ipv4"/></hosthint>
        <host><status state="down"/><address addr="10.0.0.2" addrtype="ipv4"/></host>
        <host><status state="skipped"/><address addr="10.0.0.3" addrtype="ipv4"/></host>
        <host><address addr="10.0.0.4" addrtype="ipv4"/></host>
        <host><status state="up"/></host>
        <host><status state="up"/><address addr="2001:DB8::1" addrtype="ipv6"/></host>"#;
    let run = folded(Format::Nmap, report(hosts).as_bytes()).unwrap();
    assert_eq!(
        skipped(&run),
        [
            ("host is down", 1),
            ("host is neither up nor down", 1),
            ("host without a status", 1),
            ("host without an address", 1),
        ]
    );
    let ids: Vec<&str> = run.assets.iter().map(|it| it.external_id.as_str()).collect();
    assert_eq!((ids.as_slice(), run.observations.len()), (["2001:db8::1"].as_slice(), 0));
}

#[test]
fn an_interrupted_scan_is_refused() {
    let whole = report(&host("", CLOSED));
    assert_eq!(import::detect(whole.as_bytes()), Some(Format::Nmap));
    assert!(folded(Format::Nmap, whole.as_bytes()).is_ok());
    let end = whole.trim_end().len();
    for end in 1..end {
        assert!(folded(Format::Nmap, &whole.as_bytes()[..end]).is_err(), "{}", &whole[..end]);
    }
    let after_host = &whole[..whole.find("<runstats>").unwrap()];
    let message = refusal(Format::Nmap, after_host.as_bytes());
    assert!(message.contains("interrupted") && message.contains("after 1 host,"), "{message}");
    let unfinished = whole.replace(FINISHED, "");
    assert!(refusal(Format::Nmap, unfinished.as_bytes()).contains("interrupted"));
    let gave_up = r#"exit="error" errormsg="no route""#;
    let gave_up = whole.replace(r#"exit="success""#, gave_up);
    assert!(
        refusal(Format::Nmap, gave_up.as_bytes())
            .contains("stopped before the end of the scan (no route)")
    );
}

#[test]
fn other_xml_is_refused() {
    let masscan = report("").replace(r#"scanner="nmap""#, r#"scanner="masscan""#);
    assert!(refusal(Format::Nmap, masscan.as_bytes()).contains("from masscan"));
    let twice = report("").repeat(2);
    assert!(refusal(Format::Nmap, twice.as_bytes()).contains("more than one scan"));
    assert!(refusal(Format::Nmap, b"<html></html>").contains("not an nmap report"));
    assert!(refusal(Format::Nmap, b"text").contains("not an nmap report"));
    let bomb = report("").replace("<!DOCTYPE nmaprun>", "<!DOCTYPE nmaprun [<!ENTITY a \"b\">]>");
    assert!(refusal(Format::Nmap, bomb.as_bytes()).contains("its own entities"));
    let deep = report(&"<a>".repeat(64));
    assert!(refusal(Format::Nmap, deep.as_bytes()).contains("too deep"));
    let crossed = report("<host><ports></host></ports>");
    assert!(refusal(Format::Nmap, crossed.as_bytes()).contains("invalid XML at byte"));
}

#[test]
fn lists_of_ports_cost_the_same_however_they_are_written() {
    let list = "1,".repeat(1_500_000) + "3389";
    let scan = format!(r#"<scaninfo type="syn" protocol="tcp" services="{list}"/>"#);
    let shut = format!(
        r#"<extraports state="closed" count="9"><extrareasons proto="tcp" ports="{list}"/></extraports>"#
    );
    let hosts: String = (0..200)
        .map(|it| {
            host("", if it == 0 { &shut } else { CLOSED })
                .replace("10.0.0.7", &format!("10.0.0.{it}"))
        })
        .collect();
    let file = report(&(scan + &hosts)).replace(SCANINFO, "");
    let begin = Instant::now();
    let run = folded(Format::Nmap, file.as_bytes()).expect("a whole report");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert_eq!((run.assets.len(), outcome(&run, "rdp")), (200, PASS));
}

#[test]
fn a_set_of_ports_holds_what_its_list_names() {
    let ranges =
        [(0, 0), (1, 1), (62, 65), (63, 63), (64, 127), (128, 8_000), (65_535, 65_535), (9, 8)];
    for (first, last) in ranges {
        let set = PortSet::of(&format!("x, {first}-{last} ,70000,"));
        let listed = |it: u16| (first..=last).contains(&it);
        assert!((0..=u16::MAX).all(|it| set.contains(it) == listed(it)), "{first}-{last}");
        assert_eq!(set.n_ports(), (0..=u16::MAX).filter(|it| listed(*it)).count() as u64);
    }
    assert_eq!(PortSet::of("1-3,2-4,4").n_ports(), 4, "each port counts once");
    assert_eq!(PortSet::of("0-65535").n_ports(), 65_536);
}
