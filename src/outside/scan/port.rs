//! Which ports are scanned, and what they usually are.

use std::fmt;

use crate::error::{Error, Result};

/// TCP ports in ascending order, each once. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports(Vec<u16>);

/// Longer lists are refused before they are read.
const TEXT_BYTES_MAX: usize = 8 * 1024;

impl Ports {
    #[must_use]
    pub fn usual() -> Self {
        Self(USUAL.iter().map(|(number, _)| *number).collect())
    }

    /// Of a list such as `22,80,8000-8100`.
    ///
    /// # Errors
    /// `Invalid` about `ports`, with the part that breaks a rule.
    pub fn parse(text: &str) -> Result<Self> {
        if TEXT_BYTES_MAX < text.len() {
            let rule = format!("must be at most {TEXT_BYTES_MAX} bytes long");
            return Err(Error::invalid_field("ports", rule));
        }
        let mut has = vec![false; 1 << 16];
        for part in text.split(',') {
            let (first, last) = range(part.trim()).map_err(|rule| {
                Error::invalid_field("ports", format!("{:?}: {rule}", part.trim()))
            })?;
            has[usize::from(first)..=usize::from(last)].fill(true);
        }
        Ok(Self((1..=u16::MAX).filter(|it| has[usize::from(*it)]).collect()))
    }

    #[must_use]
    pub fn as_slice(&self) -> &[u16] {
        &self.0
    }

    #[must_use]
    pub fn contains(&self, number: u16) -> bool {
        self.0.binary_search(&number).is_ok()
    }
}

/// As ranges; [`Ports::parse`] reads it back.
impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        for (index, run) in runs.enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match run {
                [one] => write!(f, "{comma}{one}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => (),
            }
        }
        Ok(())
    }
}

fn range(text: &str) -> Result<(u16, u16), String> {
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first.trim())?, number(last.trim())?),
        None => (number(text)?, number(text)?),
    };
    if last < first {
        return Err(format!(
            "the first port of a range must not be greater than the last; did you mean {last}-{first}?"
        ));
    }
    Ok((first, last))
}

fn number(text: &str) -> Result<u16, String> {
    let rule = || "must be a port from 1 to 65535, or a range of them such as 8000-8100".to_owned();
    if text.is_empty() || !text.bytes().all(|it| it.is_ascii_digit()) {
        return Err(rule());
    }
    text.parse().ok().filter(|it| *it != 0).ok_or_else(rule)
}

/// nmap's name of the service that usually has this port. Empty if there is none.
#[must_use]
pub fn usual_service(number: u16) -> &'static str {
    USUAL.binary_search_by_key(&number, |it| it.0).map_or("", |index| USUAL[index].1)
}

/// Returns true for ports of raw printing, which print whatever they receive. A scan connects to them and sends nothing.
#[must_use]
pub fn is_raw_printer(number: u16) -> bool {
    (9100..=9107).contains(&number)
}

/// Ports where a connection begins with TLS.
const TLS: [u16; 26] = [
    443, 465, 563, 636, 853, 989, 990, 992, 993, 994, 995, 2083, 2087, 2376, 3269, 4443, 5061,
    5986, 6443, 8006, 8443, 8834, 8883, 9443, 10250, 10443,
];

/// The ports of [`USUAL`] where a connection begins with TLS.
#[must_use]
pub fn usual_tls() -> Vec<u16> {
    TLS.into_iter().filter(|it| USUAL.binary_search_by_key(it, |usual| usual.0).is_ok()).collect()
}

#[must_use]
pub fn is_tls(number: u16) -> bool {
    TLS.binary_search(&number).is_ok()
}

/// Returns true for ports where HTTP is usual, so that a request for a page does no harm.
#[must_use]
pub fn is_http(number: u16) -> bool {
    const HTTP: [u16; 38] = [
        80, 81, 82, 443, 591, 593, 631, 2083, 2087, 2375, 2376, 3000, 4443, 5000, 5001, 5601, 5985,
        5986, 6443, 7080, 8000, 8006, 8008, 8080, 8081, 8088, 8090, 8443, 8834, 8888, 9000, 9090,
        9200, 9443, 10000, 10250, 10443, 15672,
    ];
    HTTP.binary_search(&number).is_ok()
}

/// The ports of a scan that names none: 200 services that matter in offices, server rooms and plants.
pub const USUAL: [(u16, &str); 200] = [
    (9, "discard"),
    (13, "daytime"),
    (17, "qotd"),
    (19, "chargen"),
    (21, "ftp"),
    (22, "ssh"),
    (23, "telnet"),
    (25, "smtp"),
    (37, "time"),
    (42, "nameserver"),
    (49, "tacacs"),
    (53, "domain"),
    (70, "gopher"),
    (79, "finger"),
    (80, "http"),
    (81, "hosts2-ns"),
    (82, "xfer"),
    (88, "kerberos-sec"),
    (102, "iso-tsap"),
    (106, "pop3pw"),
    (110, "pop3"),
    (111, "rpcbind"),
    (113, "ident"),
    (119, "nntp"),
    (135, "msrpc"),
    (139, "netbios-ssn"),
    (143, "imap"),
    (161, "snmp"),
    (179, "bgp"),
    (199, "smux"),
    (264, "bgmp"),
    (389, "ldap"),
    (427, "svrloc"),
    (443, "https"),
    (444, "snpp"),
    (445, "microsoft-ds"),
    (464, "kpasswd5"),
    (465, "smtps"),
    (500, "isakmp"),
    (502, "mbap"),
    (512, "exec"),
    (513, "login"),
    (514, "shell"),
    (515, "printer"),
    (523, "ibm-db2"),
    (540, "uucp"),
    (543, "klogin"),
    (544, "kshell"),
    (548, "afp"),
    (554, "rtsp"),
    (563, "snews"),
    (587, "submission"),
    (591, "http-alt"),
    (593, "http-rpc-epmap"),
    (623, "oob-ws-http"),
    (631, "ipp"),
    (636, "ldapssl"),
    (646, "ldp"),
    (666, "doom"),
    (749, "kerberos-adm"),
    (789, ""),
    (800, "mdbs_daemon"),
    (853, "domain-s"),
    (873, "rsync"),
    (902, "iss-realsecure"),
    (903, "iss-console-mgr"),
    (990, "ftps"),
    (992, "telnets"),
    (993, "imaps"),
    (995, "pop3s"),
    (1025, "NFS-or-IIS"),
    (1080, "socks"),
    (1099, "rmiregistry"),
    (1194, "openvpn"),
    (1352, "lotusnotes"),
    (1433, "ms-sql-s"),
    (1434, "ms-sql-m"),
    (1521, "oracle"),
    (1720, "h323q931"),
    (1723, "pptp"),
    (1755, "wms"),
    (1883, "mqtt"),
    (1900, "upnp"),
    (2000, "cisco-sccp"),
    (2049, "nfs"),
    (2082, "infowave"),
    (2083, "radsec"),
    (2086, "gnunet"),
    (2087, "eli"),
    (2121, "ccproxy-ftp"),
    (2181, "eforward"),
    (2222, "EtherNetIP-1"),
    (2323, "3d-nfsd"),
    (2375, "docker"),
    (2376, "docker"),
    (2379, "etcd-client"),
    (2404, "iec-104"),
    (2483, "oracle"),
    (2484, "oracle"),
    (2601, "zebra"),
    (3000, "ppp"),
    (3050, "gds_db"),
    (3128, "squid-http"),
    (3260, "iscsi"),
    (3268, "globalcatLDAP"),
    (3269, "globalcatLDAPssl"),
    (3306, "mysql"),
    (3310, "dyna-access"),
    (3389, "ms-wbt-server"),
    (3478, "stun"),
    (3632, "distccd"),
    (3689, "rendezvous"),
    (3690, "svn"),
    (4369, "epmd"),
    (4443, "pharos"),
    (4444, "krb524"),
    (4500, "sae-urn"),
    (4567, "tram"),
    (4786, "smart-install"),
    (4840, "opcua-tcp"),
    (4899, "radmin"),
    (5000, "upnp"),
    (5001, "commplex-link"),
    (5003, "filemaker"),
    (5060, "sip"),
    (5061, "sip-tls"),
    (5222, "xmpp-client"),
    (5357, "wsdapi"),
    (5432, "postgresql"),
    (5555, "freeciv"),
    (5601, "esmagent"),
    (5631, "pcanywheredata"),
    (5672, "amqp"),
    (5800, "vnc-http"),
    (5900, "vnc"),
    (5901, "vnc-1"),
    (5902, "vnc-2"),
    (5903, "vnc-3"),
    (5938, "teamviewer"),
    (5984, "couchdb"),
    (5985, "wsman"),
    (5986, "wsmans"),
    (6000, "X11"),
    (6001, "X11:1"),
    (6002, "X11:2"),
    (6003, "X11:3"),
    (6004, "X11:4"),
    (6005, "X11:5"),
    (6379, "redis"),
    (6443, "sun-sr-https"),
    (6667, "irc"),
    (7000, "afs3-fileserver"),
    (7001, "afs3-callback"),
    (7070, "realserver"),
    (7080, "empowerid"),
    (7547, "cwmp"),
    (7680, "pando-pub"),
    (8000, "http-alt"),
    (8006, "wpl-analytics"),
    (8008, "http"),
    (8009, "ajp13"),
    (8080, "http-proxy"),
    (8081, "blackice-icecap"),
    (8086, "d-s-n"),
    (8088, "radan-http"),
    (8089, ""),
    (8090, "opsmessaging"),
    (8291, ""),
    (8333, "bitcoin"),
    (8443, "https-alt"),
    (8530, ""),
    (8531, ""),
    (8728, ""),
    (8834, "nessus-xmlrpc"),
    (8883, "secure-mqtt"),
    (8888, "sun-answerbook"),
    (9000, "cslistener"),
    (9042, "cassandra"),
    (9090, "zeus-admin"),
    (9100, "jetdirect"),
    (9200, "elasticsearch"),
    (9300, "vrace"),
    (9389, "adws"),
    (9443, "tungsten-https"),
    (9999, "abyss"),
    (10000, "snet-sensor-mgmt"),
    (10050, "zabbix-agent"),
    (10051, "zabbix-trapper"),
    (10250, ""),
    (11211, "memcached"),
    (15672, ""),
    (20000, "dnp"),
    (27017, "mongodb"),
    (32400, "plex"),
    (37777, ""),
    (44818, "EtherNetIP-2"),
    (47808, "bacnet"),
    (49152, ""),
    (50000, "ibm-db2"),
    (62078, "iphone-sync"),
];
