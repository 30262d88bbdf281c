//! The results of a network scan: hosts, their open ports, and what they say about themselves.

use std::net::IpAddr;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::asset::AssetType;

/// An address that answered.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FoundHost {
    pub address: IpAddr,
    /// The name from the reverse look-up, in lower case.
    pub hostname: Option<String>,
    /// Lower-case, colon-separated. `None`: not a neighbor of this machine.
    pub mac: Option<String>,
    /// What showed that the host is up: `echo reply`, `tcp/443 open`, ...
    pub evidence: String,
    /// Open ports in rising order. Of a host with very many, only the first ones.
    pub ports: Vec<FoundPort>,
    /// The number of all open ports.
    pub n_open: u32,
    pub n_closed: u32,
    /// Ports that did not answer in time.
    pub n_silent: u32,
    pub asset_type: AssetType,
    /// The reason for this asset type.
    pub because: String,
    pub answers: Answers,
}

/// Whether a host's answers are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Answers {
    Own,
    /// Almost every probed port was open, as a tarpit or a middlebox does it. The open ports prove nothing.
    OnEveryPort,
    /// Almost every address of its block answers in the same way, as a gateway in between does it. It is not a host of
    /// its own.
    OnEveryAddress,
}

impl Answers {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::OnEveryPort => "every_port",
            Self::OnEveryAddress => "every_address",
        }
    }
}

/// An open TCP port.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FoundPort {
    pub number: u16,
    /// nmap's name of the service. Empty: unknown.
    pub service: String,
    /// What the service sent, printable ASCII only. Empty: it sent nothing, or was not asked.
    pub banner: String,
    /// True if the service is known from what it sent, not from its port.
    pub is_identified: bool,
    pub is_encrypted: bool,
    /// `None`: no certificate was shown.
    pub certificate: Option<Certificate>,
    /// The newest version that it speaks with us, and the outdated versions that it accepts. Empty: not tested.
    pub tls: Vec<String>,
}

/// The first certificate of a server.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Certificate {
    pub subject: String,
    pub issuer: String,
    pub names: Vec<String>,
    pub from: Time,
    pub until: Time,
    pub is_self_signed: bool,
}

/// How the probes of addresses ended. It explains why a scan found nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ProbeCounts {
    pub n_addresses: u64,
    pub n_up: u64,
    /// No probe was answered in time.
    pub n_silent: u64,
    /// A router or this machine reported that there is no route to it.
    pub n_unreachable: u64,
    pub n_open: u64,
    pub n_closed: u64,
    /// Up, but like almost every other address of its block.
    pub n_alike: u64,
}

impl ProbeCounts {
    pub fn add(&mut self, other: &Self) {
        self.n_addresses += other.n_addresses;
        self.n_up += other.n_up;
        self.n_silent += other.n_silent;
        self.n_unreachable += other.n_unreachable;
        self.n_open += other.n_open;
        self.n_closed += other.n_closed;
        self.n_alike += other.n_alike;
    }
}
