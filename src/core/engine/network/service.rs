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

/// Words of 64 bits, one bit for each of the 65,536 ports.
type PortBits = [u64; 1_024];

/// Ports of one protocol. Takes the same memory and time whatever list it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSet(Box<PortBits>);

impl Default for PortSet {
    fn default() -> Self {
        Self(Box::new([0; 1_024]))
    }
}

impl PortSet {
    /// Parses a list such as `1-1024,3389`. Parts that are not numbers are left out.
    pub fn of(text: &str) -> Self {
        let mut set = Self::default();
        set.add(text);
        set
    }

    fn add(&mut self, text: &str) {
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            if let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse()) {
                self.insert(first, last);
            }
        }
    }

    /// Adds the ports from `first` to `last`, both included.
    fn insert(&mut self, first: u16, last: u16) {
        if last < first {
            return;
        }
        let (from, to) = (usize::from(first / 64), usize::from(last / 64));
        let (head, tail) = (u64::MAX << (first % 64), u64::MAX >> (63 - last % 64));
        if from == to {
            self.0[from] |= head & tail;
            return;
        }
        self.0[from] |= head;
        self.0[from + 1..to].fill(u64::MAX);
        self.0[to] |= tail;
    }

    pub fn n_ports(&self) -> u64 {
        self.0.iter().map(|it| u64::from(it.count_ones())).sum()
    }

    pub fn contains(&self, port: u16) -> bool {
        self.0[usize::from(port / 64)] & (1 << (port % 64)) != 0
    }
}

/// Ports of all protocols, from any number of lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtocolPorts {
    /// `None`: there was no list of this protocol.
    tcp: Option<PortSet>,
    udp: Option<PortSet>,
}

impl ProtocolPorts {
    /// Adds a list as [`PortSet::of`] reads it.
    pub fn add(&mut self, protocol: Protocol, text: &str) {
        let set = match protocol {
            Tcp => &mut self.tcp,
            Udp => &mut self.udp,
        };
        set.get_or_insert_default().add(text);
    }

    /// Returns true if there was a list of the protocol, even an empty one.
    pub fn names(&self, protocol: Protocol) -> bool {
        self.of(protocol).is_some()
    }

    pub fn contains(&self, protocol: Protocol, port: u16) -> bool {
        self.of(protocol).is_some_and(|it| it.contains(port))
    }

    /// Returns true if there was no list at all.
    pub fn is_empty(&self) -> bool {
        self.tcp.is_none() && self.udp.is_none()
    }

    fn of(&self, protocol: Protocol) -> Option<&PortSet> {
        match protocol {
            Tcp => self.tcp.as_ref(),
            Udp => self.udp.as_ref(),
        }
    }
}
