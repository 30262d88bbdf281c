//! The way to the DNS: queries to the configured name servers, over UDP and, where an answer does not fit, TCP.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::config::{NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError, NoRecords};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use hickory_resolver::{ResolverBuilder, TokioResolver};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::answer::{Answer, Query, RecordKind};
use crate::error::{Error, Result};
use crate::text::line;

/// One try of a query. Then the next name server has its turn.
const TRY_TIMEOUT: Duration = Duration::from_secs(3);
/// Tries after the first.
const N_RETRIES: usize = 1;
/// Queries on their way at the same time. More wait.
const N_QUERIES_AT_ONCE: usize = 16;
/// Longer texts of errors are cut.
const CAUSE_CHARS_MAX: usize = 120;

/// How long to wait for answers.
#[derive(Clone, Copy, Debug)]
pub struct DnsLimits {
    /// For one query with all its tries.
    pub query: Duration,
    /// For all queries about one domain.
    pub domain: Duration,
}

impl Default for DnsLimits {
    fn default() -> Self {
        Self { query: Duration::from_secs(10), domain: Duration::from_mins(1) }
    }
}

/// Asks the name servers of this host, or one that a person named.
pub struct DnsResolver {
    pub limits: DnsLimits,
    resolver: TokioResolver,
    turns: Semaphore,
}

impl DnsResolver {
    /// The name servers in `/etc/resolv.conf`, as it is now.
    ///
    /// # Errors
    /// `Unavailable` when the file cannot be read or names no server.
    pub fn system() -> Result<Self> {
        let builder = TokioResolver::builder_tokio().map_err(|error| {
            Error::unavailable("/etc/resolv.conf names no name server").caused_by(error)
        })?;
        Self::new(builder)
    }

    /// One name server. It must resolve names of others too.
    ///
    /// # Errors
    /// `Internal` when the resolver cannot be set up.
    pub fn at(address: SocketAddr) -> Result<Self> {
        let mut server = NameServerConfig::udp_and_tcp(address.ip());
        for connection in &mut server.connections {
            connection.port = address.port();
        }
        let config = ResolverConfig::from_name_servers(vec![server]);
        let provider = TokioRuntimeProvider::default();
        Self::new(TokioResolver::builder_with_config(config, provider))
    }

    fn new(mut builder: ResolverBuilder<TokioRuntimeProvider>) -> Result<Self> {
        let options = builder.options_mut();
        options.timeout = TRY_TIMEOUT;
        options.attempts = N_RETRIES;
        options.edns0 = true; // Without it, most DKIM keys would need TCP.
        options.use_hosts_file = ResolveHosts::Never;
        let resolver = builder.build().map_err(Error::internal)?;
        let turns = Semaphore::new(N_QUERIES_AT_ONCE);
        Ok(Self { limits: DnsLimits::default(), resolver, turns })
    }

    /// Forgets earlier answers, so that a record that was just repaired is seen as far as the name servers see it.
    pub(super) fn forget(&self) {
        self.resolver.clear_cache();
    }

    /// Asks, and waits for the answer until the deadline at most.
    pub(super) async fn ask(&self, query: &Query, deadline: Instant) -> Answer {
        let turn = timeout_at(deadline, self.turns.acquire()).await;
        let Ok(Ok(_turn)) = turn else { return late() };
        let until = deadline.min(Instant::now() + self.limits.query);
        timeout_at(until, self.answer(query)).await.unwrap_or_else(|_| late())
    }

    async fn answer(&self, query: &Query) -> Answer {
        let Ok(mut name) = Name::from_ascii(&query.name) else {
            return Answer::Failed("the name cannot be asked for".to_owned());
        };
        name.set_fqdn(true);
        let kind = record_type(query.kind);
        match self.resolver.lookup(name.clone(), kind).await {
            Ok(lookup) => records(&lookup, kind),
            Err(NetError::Dns(DnsError::NoRecordsFound(none))) => self.none(name, &none).await,
            Err(NetError::Dns(DnsError::ResponseCode(code))) => refused(code),
            Err(NetError::Timeout) => late(),
            Err(NetError::Proto(_)) => {
                Answer::Failed("the answer of the name server is not valid".to_owned())
            }
            Err(NetError::Truncated) => {
                Answer::Failed("the answer of the name server is cut off".to_owned())
            }
            Err(error) => {
                let why = line(&error.to_string(), CAUSE_CHARS_MAX);
                Answer::Failed(format!("the name server cannot be reached ({why})"))
            }
        }
    }

    /// Tells a name without records from an answer that only looks like one.
    async fn none(&self, name: Name, none: &NoRecords) -> Answer {
        if none.response_code == ResponseCode::NXDomain {
            return Answer::NoName;
        }
        if none.response_code != ResponseCode::NoError {
            return refused(none.response_code);
        }
        if none.soa.is_some() {
            return Answer::NoData;
        }
        if none.ns.is_some() {
            let why = "the name server refers to others and does not resolve";
            return Answer::Failed(why.to_owned());
        }
        // The library follows a few CNAME records, and then answers as if there were no data.
        match self.resolver.lookup(name, RecordType::CNAME).await {
            Ok(_) => Answer::Failed("its CNAME records lead nowhere, or in a circle".to_owned()),
            Err(NetError::Dns(DnsError::NoRecordsFound(_))) => Answer::NoData,
            Err(_) => late(),
        }
    }
}

fn late() -> Answer {
    Answer::Failed("no answer in time".to_owned())
}

fn refused(code: ResponseCode) -> Answer {
    let words = [
        (ResponseCode::ServFail, "SERVFAIL"),
        (ResponseCode::Refused, "REFUSED"),
        (ResponseCode::FormErr, "FORMERR"),
        (ResponseCode::NotImp, "NOTIMP"),
    ];
    let word = words.iter().find(|it| it.0 == code).map(|it| it.1.to_owned());
    let word = word.unwrap_or_else(|| format!("code {}", u16::from(code)));
    Answer::Failed(format!("the name server answered {word}"))
}

fn record_type(kind: RecordKind) -> RecordType {
    match kind {
        RecordKind::A => RecordType::A,
        RecordKind::Aaaa => RecordType::AAAA,
        RecordKind::Caa => RecordType::CAA,
        RecordKind::Dnskey => RecordType::DNSKEY,
        RecordKind::Ds => RecordType::DS,
        RecordKind::Mx => RecordType::MX,
        RecordKind::Txt => RecordType::TXT,
    }
}

fn records(lookup: &Lookup, kind: RecordType) -> Answer {
    let wanted = lookup.answers().iter().filter(|it| it.record_type() == kind);
    let records: Vec<String> = wanted.map(|it| text(&it.data)).collect();
    if records.is_empty() {
        return Answer::Failed("the answer has no record of this kind".to_owned());
    }
    Answer::Records(records)
}

fn text(data: &RData) -> String {
    if let RData::TXT(txt) = data {
        return String::from_utf8_lossy(&txt.txt_data.concat()).into_owned();
    }
    if let RData::CAA(caa) = data {
        let value = String::from_utf8_lossy(&caa.value);
        return format!("{} {} \"{value}\"", caa.flags(), caa.tag);
    }
    data.to_string()
}
