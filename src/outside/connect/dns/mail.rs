//! Who takes a domain's mail, by its MX records.

use super::answer::{Halt, RecordKind, Sheet};
use super::domain::Domain;
use super::ruling::Ruling;
use crate::text::line;

const HOSTS_CHARS_MAX: usize = 300;

/// A service for mail, known by the names of its servers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Suite {
    pub(super) name: &'static str,
    /// A server has one of these names, or one below.
    servers: &'static [&'static str],
    /// The DKIM selectors with which it signs mail of its customers' domains. Empty if it has others or does not sign.
    pub(super) selectors: &'static [&'static str],
    /// What to do where none of these has a key.
    pub(super) advice: &'static str,
}

const fn other(name: &'static str, servers: &'static [&'static str]) -> Suite {
    Suite { name, servers, selectors: &[], advice: "" }
}

const SUITES: &[Suite] = &[
    Suite {
        name: "Microsoft 365",
        servers: &[
            "mail.protection.outlook.com",
            "mx.microsoft",
            "mail.protection.office365.us",
            "mail.protection.partner.outlook.cn",
        ],
        selectors: &["selector1", "selector2"],
        advice: "Until then Microsoft 365 signs with its own onmicrosoft.com domain, which does not count for DMARC. \
                 Publish the two CNAME records that the Defender portal shows for the domain, then turn DKIM on there.",
    },
    Suite {
        name: "Google Workspace",
        servers: &["aspmx.l.google.com", "smtp.google.com", "googlemail.com"],
        selectors: &["google"],
        advice: "Make a key of 2048 bits in the Google Admin console, publish it under google._domainkey and start \
                 authentication. A key under another prefix than google cannot be seen from outside.",
    },
    other("Amazon WorkMail or SES", &["amazonaws.com"]),
    other("Barracuda (gateway)", &["barracudanetworks.com"]),
    other("Cisco Secure Email (gateway)", &["iphmx.com"]),
    other("Fastmail", &["messagingengine.com"]),
    other("Hornetsecurity (gateway)", &["hornetsecurity.com", "antispameurope.com"]),
    other("iCloud Mail", &["mail.icloud.com"]),
    other("IONOS", &["ionos.com", "ionos.de", "ionos.co.uk", "kundenserver.de", "1and1.com"]),
    other("Mimecast (gateway)", &["mimecast.com", "mimecast.co.za"]),
    other("OVH", &["mail.ovh.net", "ovh.net"]),
    other("Proofpoint (gateway)", &["pphosted.com", "ppe-hosted.com"]),
    other("Proton Mail", &["protonmail.ch"]),
    other("Rackspace Email", &["emailsrvr.com"]),
    other("Sophos Email (gateway)", &["prod.hydra.sophos.com"]),
    other("Symantec Email Security (gateway)", &["messagelabs.com"]),
    other("Trend Micro Email Security (gateway)", &["trendmicro.com", "trendmicro.eu"]),
    other("Yandex 360", &["mx.yandex.net", "mx.yandex.ru"]),
    other("Zoho Mail", &["zoho.com", "zoho.eu", "zoho.in", "zohomail.com"]),
];

pub(super) struct Mail {
    hosts: Vec<String>,
    /// `MX 0 .`: the domain takes no mail.
    pub(super) is_null: bool,
    /// If all servers are those of one suite, or else the first server's.
    suite: Option<&'static Suite>,
    is_one_suite: bool,
}

impl Mail {
    pub(super) fn read(domain: &Domain, sheet: &Sheet) -> Result<Self, Halt> {
        let records = sheet.look(RecordKind::Mx, domain.as_str())?;
        let host = |it: &String| {
            let host = it.rsplit(' ').next().unwrap_or_default();
            host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
        };
        let hosts: Vec<String> = records.iter().map(host).collect();
        let suites: Vec<_> = hosts.iter().map(|it| suite_of(it)).collect();
        let suite = suites.iter().copied().flatten().next();
        let is_one_suite = suites.iter().all(|it| *it == suite);
        let is_null = hosts.len() == 1 && hosts[0].is_empty();
        Ok(Self { hosts, is_null, suite, is_one_suite })
    }

    /// Whether there is no MX record. Mail may still be taken at the addresses of the domain itself (RFC 5321, 5.1).
    pub(super) const fn names_no_server(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The suite that takes all mail, if it always signs with the same selectors.
    pub(super) fn signing_suite(&self) -> Option<&'static Suite> {
        self.suite.filter(|it| self.is_one_suite && !it.selectors.is_empty())
    }
}

fn suite_of(host: &str) -> Option<&'static Suite> {
    let is_below = |server: &str| {
        host.strip_suffix(server).is_some_and(|it| it.is_empty() || it.ends_with('.'))
    };
    SUITES.iter().find(|it| it.servers.iter().any(|server| is_below(server)))
}

pub(super) fn rule(domain: &Domain, sheet: &Sheet) -> Result<Ruling, Halt> {
    let mail = Mail::read(domain, sheet)?;
    let text = match &mail.hosts[..] {
        [] => "none".to_owned(),
        _ if mail.is_null => "none: the domain takes no mail (null MX)".to_owned(),
        hosts => line(&hosts.join(", "), HOSTS_CHARS_MAX),
    };
    let mut ruling = Ruling::noted(mail.hosts.len(), "mx", text);
    ruling.notes.extend(mail.suite.map(|it| ("suite", it.name.to_owned())));
    Ok(ruling)
}
