//! Ports that should not be reachable, by class, and which ports a scan covered.

use crate::engine::severity::Severity;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Tcp,
    Udp,
}

impl Protocol {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }

    /// Returns `None` for a protocol whose ports are not checked (`sctp`, `ip`).
    pub fn find(text: &str) -> Option<Self> {
        [Self::Tcp, Self::Udp].into_iter().find(|it| it.as_str() == text)
    }
}

/// The services that one check is about.
pub struct ServiceClass {
    /// Id of the check.
    pub check: &'static str,
    pub title: &'static str,
    pub severity: Severity,
    /// The usual ports of the services. An open one fails, whatever answers on it.
    pub ports: &'static [(Protocol, u16)],
    /// nmap's names of the services, for those that probing found on other ports.
    pub services: &'static [&'static str],
    pub remediation: &'static str,
}

use Protocol::{Tcp, Udp};

pub const CLASSES: [ServiceClass; 13] = [
    ServiceClass {
        check: "rdp",
        title: "Remote Desktop is not reachable",
        severity: Severity::High,
        ports: &[(Tcp, 3389)],
        services: &["ms-wbt-server"],
        remediation: "Close port 3389 in the firewall and offer remote desktops through a VPN or \
            a gateway with MFA.",
    },
    ServiceClass {
        check: "smb",
        title: "Windows file sharing is not reachable",
        severity: Severity::High,
        ports: &[(Tcp, 139), (Tcp, 445)],
        services: &["microsoft-ds", "netbios-ssn"],
        remediation: "Allow ports 139 and 445 only from the networks that need the shares, and \
            turn SMB 1 off.",
    },
    ServiceClass {
        check: "vnc",
        title: "VNC is not reachable",
        severity: Severity::High,
        ports: &[(Tcp, 5800), (Tcp, 5900), (Tcp, 5901), (Tcp, 5902), (Tcp, 5903)],
        services: &["vnc", "vnc-http"],
        remediation: "Stop VNC or bind it to the local host, and reach it through a VPN or SSH.",
    },
    ServiceClass {
        check: "telnet",
        title: "Telnet is not offered",
        severity: Severity::High,
        ports: &[(Tcp, 23), (Tcp, 2323)],
        services: &["telnet"],
        remediation: "Turn telnet off and manage the device through SSH or HTTPS.",
    },
    ServiceClass {
        check: "database",
        title: "Databases are not reachable",
        severity: Severity::High,
        ports: &[
            (Tcp, 1433),
            (Tcp, 1521),
            (Tcp, 3306),
            (Tcp, 5432),
            (Tcp, 5984),
            (Tcp, 6379),
            (Tcp, 9042),
            (Tcp, 9200),
            (Tcp, 11211),
            (Tcp, 27017),
            (Tcp, 50000),
            (Udp, 1434),
        ],
        services: &[
            "ms-sql-s",
            "ms-sql-m",
            "oracle-tns",
            "mysql",
            "postgresql",
            "couchdb",
            "redis",
            "cassandra",
            "elasticsearch",
            "memcached",
            "mongodb",
            "ibm-db2",
        ],
        remediation: "Let the database listen only where its applications are, and block its port \
            elsewhere.",
    },
    ServiceClass {
        check: "ftp",
        title: "FTP is not offered",
        severity: Severity::Medium,
        ports: &[(Tcp, 21)],
        services: &["ftp"],
        remediation: "Turn FTP off; use SFTP or HTTPS for transfers.",
    },
    ServiceClass {
        check: "tftp",
        title: "TFTP is not offered",
        severity: Severity::Medium,
        ports: &[(Udp, 69)],
        services: &["tftp"],
        remediation: "Turn TFTP off, or allow it only in the network where devices are \
            provisioned.",
    },
    ServiceClass {
        check: "r-services",
        title: "rexec, rlogin and rsh are not offered",
        severity: Severity::High,
        ports: &[(Tcp, 512), (Tcp, 513), (Tcp, 514)],
        services: &["exec", "login", "shell"],
        remediation: "Remove the r-services and use SSH.",
    },
    ServiceClass {
        check: "snmp",
        title: "SNMP is not reachable",
        severity: Severity::Medium,
        ports: &[(Udp, 161)],
        services: &["snmp"],
        remediation: "Allow SNMP only from the monitoring system, and use version 3.",
    },
    ServiceClass {
        check: "x11",
        title: "X11 is not reachable",
        severity: Severity::High,
        ports: &[(Tcp, 6000), (Tcp, 6001), (Tcp, 6002), (Tcp, 6003), (Tcp, 6004), (Tcp, 6005)],
        services: &["X11"],
        remediation: "Start the X server without TCP (-nolisten tcp) and forward windows through \
            SSH.",
    },
    ServiceClass {
        check: "docker-api",
        title: "Docker's API is not reachable",
        severity: Severity::Critical,
        ports: &[(Tcp, 2375), (Tcp, 2376)],
        services: &["docker"],
        remediation: "Bind Docker's API to its local socket; anyone who reaches it without TLS owns \
            the host.",
    },
    ServiceClass {
        check: "winrm",
        title: "WinRM is not reachable",
        severity: Severity::Medium,
        ports: &[(Tcp, 5985), (Tcp, 5986)],
        services: &["wsman", "wsmans"],
        remediation: "Allow ports 5985 and 5986 only from the management network.",
    },
    ServiceClass {
        check: "ipmi",
        title: "IPMI is not reachable",
        severity: Severity::High,
        ports: &[(Udp, 623)],
        services: &["asf-rmcp", "ipmi"],
        remediation: "Put management controllers into a network of their own, and turn IPMI over \
            LAN off.",
    },
];

/// Ports of one protocol, as ranges from first to last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortRanges(Vec<(u16, u16)>);

impl PortRanges {
    /// Parses a list such as `1-1024,3389`. Parts that are not numbers are left out.
    pub fn of(text: &str) -> Self {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
        };
        Self(text.split(',').filter_map(range).collect())
    }

    /// Returns the number of ports. The ranges must not overlap.
    pub fn n_ports(&self) -> u64 {
        self.0.iter().map(|(first, last)| u64::from(last.saturating_sub(*first)) + 1).sum()
    }

    pub fn contains(&self, port: u16) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&port))
    }
}
