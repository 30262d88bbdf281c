//! What a network scan found: hosts, their open ports, and what they say of themselves.

use std::net::IpAddr;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::asset::AssetType;

/// An address that answered.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FoundHost {
    pub address: IpAddr,
    /// By reverse look-up, in lower case.
    pub hostname: Option<String>,
    /// Lower-case, colon-separated. `None`: not a neighbour of this machine.
    pub mac: Option<String>,
    /// How it was noticed: `echo reply`, `tcp/443 open`, ...
    pub evidence: String,
    /// Open ones in rising order; of a host with very many the first ones.
    pub ports: Vec<FoundPort>,
    /// All open ones.
    pub n_open: u32,
    pub n_closed: u32,
    /// Ports that did not answer in time.
    pub n_silent: u32,
    pub asset_type: AssetType,
    /// Why it is taken for that.
    pub because: String,
    pub answers: Answers,
}

/// Whether a host's answers are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Answers {
    Own,
    /// Almost every probed port was open, as a tarpit or a middlebox does it: nothing follows from any of them.
    OnEveryPort,
    /// Almost every address of its block answers in the same way, as a gateway in between does it: no thing of its own.
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
    /// nmap's name of the service; empty when nothing tells it.
    pub service: String,
    /// What it said, printable ASCII only; empty when it said nothing, or was not asked.
    pub banner: String,
    /// The service is known by what it said, not by its port.
    pub is_told: bool,
    pub is_encrypted: bool,
    /// `None`: no certificate was shown.
    pub certificate: Option<Certificate>,
    /// The newest version that it speaks with us, and what it should refuse but takes. Empty: not asked.
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

/// How probes of addresses ended, for saying why a scan found nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ProbeCounts {
    pub n_addresses: u64,
    pub n_up: u64,
    /// No probe was answered in time.
    pub n_silent: u64,
    /// A router, or this machine, said that there is no way to it.
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
