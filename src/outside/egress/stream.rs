//! TLS connections for protocols other than HTTP, with the policy that holds for requests.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::resolve::NoAddress;
use super::root::TrustedRoots;
use super::target::{self, Target, TargetHost};
use super::{CONNECT_TIMEOUT, Egress, RESOLVE_TIMEOUT};
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::text::line;

/// Names of a certificate that an error shows.
const N_NAMES_SHOWN: usize = 4;
const NAME_CHARS_MAX: usize = 120;
/// Longer error texts that the other side caused are cut.
const CAUSE_CHARS_MAX: usize = 200;

/// Whose certificates a connection accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The authorities of Mozilla's list and those of the policy.
    Public,
    /// These authorities, and no others.
    Authorities(TrustedRoots),
    /// The one certificate, whatever its names and dates are: whoever pinned it looked at it.
    Pinned(Fingerprint),
}

/// The SHA-256 digest of a certificate in DER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

/// Hexadecimal in upper case with colons, as most tools show it.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|it| format!("{it:02X}")).collect();
        f.write_str(&pairs.join(":"))
    }
}

/// Takes hexadecimal in either case, with colons, spaces or nothing between.
impl FromStr for Fingerprint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits: String = text.chars().filter(|it| !matches!(it, ':' | ' ')).collect();
        let bytes = hex::decode(digits).ok().and_then(|it| it.try_into().ok());
        let rule = "must be a SHA-256 fingerprint: 64 hexadecimal digits, with or without colons";
        bytes.map(Self).ok_or_else(|| Error::invalid(rule))
    }
}

/// A connection whose every call ends by one deadline.
pub struct TlsStream {
    stream: tokio_rustls::client::TlsStream<TcpStream>,
    deadline: Instant,
}

impl TlsStream {
    /// # Errors
    /// `Unavailable` if the connection ends or breaks before, or at the deadline.
    pub async fn read_exact(&mut self, buffer: &mut [u8]) -> Result<()> {
        match timeout_at(self.deadline, self.stream.read_exact(buffer)).await {
            Ok(read) => read.map(drop).map_err(|error| broken(&error)),
            Err(_) => Err(late()),
        }
    }

    /// # Errors
    /// As [`TlsStream::read_exact`].
    pub async fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        let write = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        match timeout_at(self.deadline, write).await {
            Ok(written) => written.map_err(|error| broken(&error)),
            Err(_) => Err(late()),
        }
    }
}

fn late() -> Error {
    Error::unavailable("no answer in time")
}

fn broken(error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return Error::unavailable("the server closed the connection");
    }
    Error::unavailable(format!("the connection broke ({})", cause(error)))
}

fn cause(error: impl fmt::Display) -> String {
    line(&error.to_string(), CAUSE_CHARS_MAX)
}

impl Egress {
    /// Opens a TLS connection. `host`: a name or an address, without brackets. `deadline`: of everything that is done with
    /// the connection, including this.
    ///
    /// # Errors
    /// `Unavailable` with the reason, as a sentence without a full stop. If the certificate is not trusted, it names that
    /// certificate and its fingerprint.
    pub async fn connect(
        &self,
        host: &str,
        port: u16,
        trust: &Trust,
        deadline: Instant,
    ) -> Result<TlsStream> {
        let peer = peer(host, port);
        let about = |why: String| Error::unavailable(format!("{}: {why}", cause(&peer)));
        let target = self.endpoint(&peer).map_err(about)?;
        let name = match &target.host {
            TargetHost::Address(address) => ServerName::from(*address),
            TargetHost::Name(name) => ServerName::try_from(name.clone())
                .map_err(|_| about("this is not a host name".to_owned()))?,
        };
        let addresses = timeout_at(deadline, self.find(target)).await;
        let addresses = addresses.map_err(|_| late())?.map_err(about)?;
        let stream = open(&addresses, deadline).await.map_err(about)?;
        let roots = match trust {
            Trust::Public => Some(self.policy.roots.with_public()),
            Trust::Authorities(roots) => Some(roots.alone()),
            Trust::Pinned(_) => None,
        };
        let provider = Arc::new(ring::default_provider());
        let webpki = roots.map(|it| {
            WebPkiServerVerifier::builder_with_provider(Arc::new(it), Arc::clone(&provider)).build()
        });
        let webpki = webpki.transpose().map_err(|error| about(cause(error)))?;
        let shown = Arc::new(OnceLock::new());
        let verifier =
            Verifier { webpki, trust: trust.clone(), provider, shown: Arc::clone(&shown) };
        let config = verifier.config().map_err(|error| about(cause(error)))?;
        let until = deadline.min(Instant::now() + CONNECT_TIMEOUT);
        let shaken = timeout_at(until, TlsConnector::from(config).connect(name, stream)).await;
        match shaken {
            Ok(Ok(stream)) => Ok(TlsStream { stream, deadline }),
            Ok(Err(error)) => Err(about(distrust(&error, trust, shown.get()))),
            Err(_) => Err(about("the server does not complete the TLS handshake".to_owned())),
        }
    }

    /// Finds a server that is called by other means, and checks its addresses. `host`: a name or an address, without
    /// brackets.
    ///
    /// # Errors
    /// `Unavailable` with the reason, as a sentence without a full stop.
    pub async fn addresses(
        &self,
        host: &str,
        port: u16,
        deadline: Instant,
    ) -> Result<Vec<SocketAddr>> {
        let peer = peer(host, port);
        let about = |why: String| Error::unavailable(format!("{}: {why}", cause(&peer)));
        let target = self.endpoint(&peer).map_err(about)?;
        let found = timeout_at(deadline, self.find(target)).await;
        found.map_err(|_| late())?.map_err(about)
    }

    /// What the URL with this authority leads to, so that hosts are read and judged as those of requests are.
    fn endpoint(&self, peer: &str) -> std::result::Result<Target, String> {
        let url = format!("https://{peer}/");
        let uri = self.target(&url).map_err(|refusal| refusal.0)?;
        if uri.authority().is_none_or(|it| it.as_str() != peer) {
            return Err("must be a host name or an IP address".to_owned());
        }
        target::parse(&url).and_then(|uri| Target::of(&uri)).map_err(|refusal| refusal.0)
    }

    async fn find(&self, target: Target) -> std::result::Result<Vec<SocketAddr>, String> {
        let place = Arc::clone(&self.places).acquire_owned().await.expect("never closed");
        let resolver = self.resolver.clone();
        let found = self.on_thread(place, move |_| resolver.addresses(target, RESOLVE_TIMEOUT));
        match found.await {
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(NoAddress::Refused(refusal))) => Err(refusal.0),
            Ok(Err(NoAddress::NotFound)) => Err("the host name could not be resolved".to_owned()),
            Err(failure) => Err(failure.to_string()),
        }
    }
}

/// A server as an error names it.
fn peer(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// How long to wait until one of this many addresses accepts a connection, so that each of them gets a part of the time that is
/// left.
#[must_use]
pub fn time_for_each(n_addresses: usize, left: Duration) -> Duration {
    let n_addresses = u32::try_from(n_addresses).unwrap_or(u32::MAX).max(1);
    CONNECT_TIMEOUT.min(left / n_addresses)
}

/// Connects to the first address that accepts.
async fn open(
    addresses: &[SocketAddr],
    deadline: Instant,
) -> std::result::Result<TcpStream, String> {
    let mut why = String::new();
    for (n_tried, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = time_for_each(addresses.len() - n_tried, left);
        match timeout(wait, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => {
                why = format!("{} does not accept a connection ({error})", address.ip());
            }
            Err(_) => why = format!("{} does not answer", address.ip()),
        }
    }
    Err(why)
}

/// Judges a certificate, and keeps it for the error that shows it.
#[derive(Debug)]
struct Verifier {
    /// `None`: the certificate is pinned.
    webpki: Option<Arc<WebPkiServerVerifier>>,
    trust: Trust,
    provider: Arc<CryptoProvider>,
    shown: Arc<OnceLock<CertificateDer<'static>>>,
}

impl Verifier {
    fn config(self) -> std::result::Result<Arc<ClientConfig>, rustls::Error> {
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider));
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(self));
        Ok(Arc::new(builder.with_no_client_auth()))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        drop(self.shown.set(certificate.clone().into_owned())); // A handshake has one.
        if let Trust::Pinned(pinned) = self.trust {
            if Fingerprint::of(certificate) == pinned {
                return Ok(ServerCertVerified::assertion());
            }
            return Err(CertificateError::ApplicationVerificationFailure.into());
        }
        let unknown = || rustls::Error::from(CertificateError::UnknownIssuer);
        let webpki = self.webpki.as_ref().ok_or_else(unknown)?;
        webpki.verify_server_cert(certificate, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Why a handshake failed, and what to do.
fn distrust(error: &io::Error, trust: &Trust, shown: Option<&CertificateDer<'_>>) -> String {
    let of_tls = error.get_ref().and_then(|it| it.downcast_ref::<rustls::Error>());
    let (Some(rustls::Error::InvalidCertificate(reason)), Some(shown)) = (of_tls, shown) else {
        return format!("the TLS connection failed ({})", cause(error));
    };
    let shown = describe(shown);
    if matches!(trust, Trust::Pinned(_)) {
        return format!(
            "the server presented another certificate than the pinned one: {shown}. If it was renewed on purpose, compare this fingerprint \
             with the server's certificate and pin it (`fingerprint`); if not, someone may be intercepting the connection"
        );
    }
    let authority = "Add the certificate of the authority that issued it (`ca`)";
    #[expect(clippy::wildcard_enum_match_arm, reason = "not ours, and not to be exhausted")]
    let (reason, remedy) = match reason {
        CertificateError::UnknownIssuer => ("no trusted authority issued it".to_owned(), authority),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            ("it has expired".to_owned(), "Renew it on the server")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("it is not valid yet".to_owned(), "Check the clocks of this machine and of the server")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            ("it is not for this host name".to_owned(), "Enter one of its names (`host`)")
        }
        other => (cause(other), authority),
    };
    format!(
        "the certificate of the server is not accepted, because {reason}: {shown}. {remedy}, or compare this fingerprint with the \
         server's certificate and pin it (`fingerprint`)"
    )
}

/// The names of a certificate, until when it is valid, and its fingerprint.
fn describe(der: &CertificateDer<'_>) -> String {
    let fingerprint = Fingerprint::of(der);
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        return format!("SHA-256 fingerprint {fingerprint}");
    };
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let mut names: Vec<String> = alternative
        .iter()
        .flat_map(|it| &it.value.general_names)
        .filter_map(name)
        .take(N_NAMES_SHOWN)
        .collect();
    if names.is_empty() {
        names.push(line(&certificate.subject().to_string(), NAME_CHARS_MAX));
    }
    let until = Time::from_s(certificate.validity().not_after.timestamp()).to_string();
    let day = until.split('T').next().unwrap_or_default();
    format!("names {}, valid until {day}, SHA-256 fingerprint {fingerprint}", names.join(", "))
}

fn name(it: &GeneralName<'_>) -> Option<String> {
    if let GeneralName::DNSName(name) = it {
        return Some(line(name, NAME_CHARS_MAX));
    }
    let GeneralName::IPAddress(bytes) = it else { return None };
    let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
    let v6 = <[u8; 16]>::try_from(*bytes).map(IpAddr::from);
    v4.or(v6).ok().map(|it| it.to_string())
}
