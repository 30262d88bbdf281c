//! The addresses that requests may be sent to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::LazyLock;

use ipnetwork::IpNetwork;

use super::refusal::Refusal;
use super::root::TrustedRoots;
use super::target::Scheme;

/// Where requests may be sent, besides public addresses over https.
#[derive(Clone, Debug, Default)]
pub struct EgressPolicy {
    /// Networks to which `http:` is allowed. Everywhere else only `https:` is.
    pub allow_http_networks: Vec<IpNetwork>,
    /// Non-public networks that are allowed. Addresses with [`Reach::Never`] remain forbidden.
    pub allow_private_networks: Vec<IpNetwork>,
    /// The service's own listeners, which are forbidden. An unspecified address means every local address on that port.
    pub own: Vec<SocketAddr>,
    pub roots: TrustedRoots,
    pub sender: Sender,
}

/// Whose requests they are: a refusal names the settings of its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sender {
    #[default]
    Webhooks,
    /// The order of a certificate. Every private network is allowed.
    Acme,
    /// Reading clients' environments.
    Connections,
    /// Signing people in at an identity provider. Every private network is allowed.
    SignIn,
    /// Messages by SMTP. Every private network is allowed.
    Mail,
}

impl Sender {
    /// What to do about a URL that begins with `http://`.
    pub(super) const fn advice_on_http(self) -> &'static str {
        match self {
            Self::Webhooks => "set `webhooks.allow_http_networks` to allow `http://`",
            Self::Acme => {
                "the directory at `server.acme_directory` names it: all URLs there must be `https://`"
            }
            Self::Connections => "set `connect.allow_http_networks` to allow `http://`",
            Self::SignIn => {
                "only an issuer on this machine may have `http://` URLs: all others must be `https://`"
            }
            Self::Mail => "messages do not go over http",
        }
    }

    /// The setting that allows private networks.
    pub(super) const fn private_setting(self) -> &'static str {
        match self {
            Self::Webhooks | Self::Acme | Self::SignIn | Self::Mail => {
                "webhooks.allow_private_networks"
            }
            Self::Connections => "connect.allow_private_networks",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Public,
    /// Allowed if `allow_private_networks` contains the address.
    Allowed,
    /// Forbidden, whatever the policy says.
    Never,
}

use Reach::{Allowed, Never, Public};

/// All addresses: the first network that contains one decides. IPv4-mapped addresses are converted to IPv4 before.
const RANGES: &[(&str, Reach, &str)] = &[
    ("0.0.0.0/8", Never, "an unspecified address"),
    ("10.0.0.0/8", Allowed, "a private address"),
    ("100.100.100.200/32", Never, "a metadata service"),
    ("100.64.0.0/10", Allowed, "an address behind a carrier's NAT"),
    ("127.0.0.0/8", Allowed, "a loopback address"),
    ("168.63.129.16/32", Never, "a metadata service"),
    ("169.254.169.254/32", Never, "a metadata service"),
    ("169.254.0.0/16", Never, "a link-local address"),
    ("172.16.0.0/12", Allowed, "a private address"),
    ("192.0.0.192/32", Never, "a metadata service"),
    ("192.0.0.0/24", Allowed, "a reserved address"),
    ("192.0.2.0/24", Allowed, "a documentation address"),
    ("192.88.99.0/24", Allowed, "a reserved address"),
    ("192.168.0.0/16", Allowed, "a private address"),
    ("198.18.0.0/15", Allowed, "a benchmarking address"),
    ("198.51.100.0/24", Allowed, "a documentation address"),
    ("203.0.113.0/24", Allowed, "a documentation address"),
    ("224.0.0.0/4", Never, "a multicast address"),
    ("255.255.255.255/32", Never, "the broadcast address"),
    ("240.0.0.0/4", Allowed, "a reserved address"),
    ("0.0.0.0/0", Public, "a public address"),
    ("::/128", Never, "an unspecified address"),
    ("::1/128", Allowed, "a loopback address"),
    ("::/96", Never, "an IPv4-compatible address"),
    ("64:ff9b::/96", Allowed, "a NAT64 address"),
    ("64:ff9b:1::/48", Never, "a local-use NAT64 address"),
    ("2001::/23", Never, "a Teredo or other protocol address"),
    ("2001:db8::/32", Allowed, "a documentation address"),
    ("2002::/16", Never, "a 6to4 address"),
    ("3fff::/20", Allowed, "a documentation address"),
    ("2000::/3", Public, "a public address"),
    ("fd00:ec2::/32", Never, "a metadata service"),
    ("fd20:ce::254/128", Never, "a metadata service"),
    ("fc00::/7", Allowed, "a private address"),
    ("fe80::/10", Never, "a link-local address"),
    ("ff00::/8", Never, "a multicast address"),
    ("::/0", Allowed, "a reserved address"),
];

static NETWORKS: LazyLock<Vec<(IpNetwork, Reach, &str)>> = LazyLock::new(|| {
    let network = |text: &str| text.parse().expect("a network in CIDR notation");
    RANGES.iter().map(|(text, reach, name)| (network(text), *reach, *name)).collect()
});

impl EgressPolicy {
    /// Any network, because the authority is in the configuration. Still nothing is sent to addresses with [`Reach::Never`].
    #[must_use]
    pub fn for_acme(roots: TrustedRoots) -> Self {
        let all = ["0.0.0.0/0", "::/0"].map(|it| it.parse().expect("a network"));
        let sender = Sender::Acme;
        Self { allow_private_networks: all.to_vec(), roots, sender, ..Self::default() }
    }

    /// [`EgressPolicy::for_acme`] for an identity provider. One on this machine may have `http:` URLs.
    #[must_use]
    pub fn for_sign_in(issuer: &str, roots: TrustedRoots) -> Self {
        let loopback = ["127.0.0.0/8", "::1/128"].map(|it| it.parse().expect("a network"));
        let is_plain = issuer.starts_with("http:");
        let allow_http_networks = if is_plain { loopback.to_vec() } else { Vec::new() };
        Self { allow_http_networks, sender: Sender::SignIn, ..Self::for_acme(roots) }
    }

    /// Any network, because the server is in the configuration. Its own authorities are those of the mail.
    #[must_use]
    pub fn for_mail() -> Self {
        Self { sender: Sender::Mail, ..Self::for_acme(TrustedRoots::default()) }
    }

    /// Any network, over http as well, because a person at this machine names the proxy in front of the service.
    #[must_use]
    pub fn for_proxy_check(roots: TrustedRoots) -> Self {
        let policy = Self::for_acme(roots);
        Self { allow_http_networks: policy.allow_private_networks.clone(), ..policy }
    }

    /// Refuses an address that a request with this scheme may not be sent to.
    pub(super) fn judge(&self, scheme: Scheme, to: SocketAddr) -> Result<(), Refusal> {
        let address = to.ip().to_canonical();
        let (reach, name) = reach(address);
        let because = match reach {
            Never => Some("requests are never sent there".to_owned()),
            Allowed if !holds(&self.allow_private_networks, address) => {
                Some(format!("add it to `{}` to allow it", self.sender.private_setting()))
            }
            Allowed | Public => None,
        };
        if let Some(because) = because {
            return Err(Refusal(format!("{address} is {name}; {because}")));
        }
        if self.own.iter().any(|it| is_own(*it, address, to.port())) {
            let port = to.port();
            return Err(Refusal(format!("port {port} of {address} is this service")));
        }
        if let Some(embedded) = embedded(address) {
            self.judge(scheme, SocketAddr::new(embedded.into(), to.port()))?;
        }
        if scheme == Scheme::Http && !holds(&self.allow_http_networks, address) {
            let advice = self.sender.advice_on_http();
            return Err(Refusal(format!("http:// is not allowed to {address}; {advice}")));
        }
        Ok(())
    }
}

fn reach(address: IpAddr) -> (Reach, &'static str) {
    let mut networks = NETWORKS.iter();
    let found = networks.find(|(network, ..)| network.contains(address));
    let (_, reach, name) = found.expect("the last of each family holds every address");
    (*reach, name)
}

fn holds(networks: &[IpNetwork], address: IpAddr) -> bool {
    networks.iter().any(|it| it.contains(address))
}

/// The IPv4 address that a NAT64 gateway would connect to.
fn embedded(address: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(address) = address else { return None };
    let ([0x64, 0xff9b, 0, 0, 0, 0, ..], [.., a, b, c, d]) = (address.segments(), address.octets())
    else {
        return None;
    };
    Some(Ipv4Addr::new(a, b, c, d))
}

fn is_own(own: SocketAddr, address: IpAddr, port: u16) -> bool {
    let own_address = own.ip().to_canonical();
    own.port() == port
        && (own_address == address || own_address.is_unspecified() && is_local(address))
}

/// Returns true if the address belongs to this host, because the system would also send from it. Sends nothing.
fn is_local(address: IpAddr) -> bool {
    let from: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let route = || {
        let socket = UdpSocket::bind((from, 0))?;
        socket.connect((address, 9))?;
        socket.local_addr()
    };
    address.is_loopback() || route().is_ok_and(|it| it.ip() == address)
}
