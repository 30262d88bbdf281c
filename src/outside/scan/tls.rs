//! Certificates and versions of TLS servers. What they present is read and not trusted.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, ProtocolVersion, SignatureScheme, Stream,
};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::clock::Time;
use crate::engine::network::scan::Certificate;
use crate::scan::stream::{Timed, escaped};

/// Names in a certificate that are kept.
const N_NAMES_KEPT: usize = 8;
const NAME_CHARS_KEPT: usize = 120;

/// What a server presented.
pub(super) struct Spoken {
    pub(super) version: &'static str,
    pub(super) certificate: Option<Certificate>,
    pub(super) said: Vec<u8>,
}

/// Does a TLS handshake, then runs `talk`. `None`: the server speaks no version of TLS that we do.
pub(super) fn speak(
    mut stream: Timed,
    address: IpAddr,
    talk: impl FnOnce(&mut Stream<'_, ClientConnection, Timed>) -> io::Result<Vec<u8>>,
) -> Option<Spoken> {
    let config = CONFIG.clone()?;
    let mut connection = ClientConnection::new(config, ServerName::from(address)).ok()?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).ok()?;
    }
    let is_newest = connection.protocol_version()? == ProtocolVersion::TLSv1_3;
    let version = if is_newest { "TLSv1.3" } else { "TLSv1.2" }; // rustls has no other.
    let shown = connection.peer_certificates().and_then(<[_]>::first);
    let certificate = shown.and_then(|it| read_certificate(it));
    let said = talk(&mut Stream::new(&mut connection, &mut stream)).unwrap_or_default();
    Some(Spoken { version, certificate, said })
}

/// `None`: the crypto library lacks its own defaults, which does not happen.
static CONFIG: LazyLock<Option<Arc<ClientConfig>>> = LazyLock::new(|| {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().ok()?;
    let verifier = Arc::new(CertificateReader(provider));
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    Some(Arc::new(builder.with_no_client_auth()))
});

/// Accepts every certificate: a scan reports it, and sends the server nothing confidential.
#[derive(Debug)]
struct CertificateReader(Arc<CryptoProvider>);

impl ServerCertVerifier for CertificateReader {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// What a scan keeps of a certificate. `None`: it is not an X.509 certificate.
pub fn read_certificate(der: &[u8]) -> Option<Certificate> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let text =
        |text: &str| -> String { escaped(text.as_bytes()).chars().take(NAME_CHARS_KEPT).collect() };
    let (subject, issuer) = (certificate.subject(), certificate.issuer());
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let names = alternative.iter().flat_map(|it| &it.value.general_names);
    let names = names
        .filter_map(|it| if let GeneralName::DNSName(name) = it { Some(text(name)) } else { None });
    let validity = certificate.validity();
    Some(Certificate {
        subject: text(&subject.to_string()),
        issuer: text(&issuer.to_string()),
        names: names.take(N_NAMES_KEPT).collect(),
        from: Time::from_s(validity.not_before.timestamp()),
        until: Time::from_s(validity.not_after.timestamp()),
        is_self_signed: subject.as_raw() == issuer.as_raw(),
    })
}

const HANDSHAKE: u8 = 22;
const SERVER_HELLO: u8 = 2;
/// Ciphers that servers of that time accept, the most common first.
const OLD_CIPHERS: [u16; 10] =
    [0xc013, 0xc014, 0xc009, 0xc00a, 0x002f, 0x0035, 0x0033, 0x0039, 0x000a, 0x0005];

/// Offers nothing newer than TLS 1.1. Returns the version that the server chooses. `None`: it refuses, as it should.
pub(super) fn outdated_version(mut stream: Timed) -> Option<&'static str> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).ok()?;
    stream.write_all(&old_hello(random)).ok()?;
    let mut answer = [0; 11];
    stream.read_exact(&mut answer).ok()?;
    // Record type, its version and length, then the handshake's type, length and version.
    match answer {
        [HANDSHAKE, _, _, _, _, SERVER_HELLO, _, _, _, 3, 2] => Some("TLSv1.1"),
        [HANDSHAKE, _, _, _, _, SERVER_HELLO, _, _, _, 3, 1] => Some("TLSv1.0"),
        [HANDSHAKE, _, _, _, _, SERVER_HELLO, _, _, _, 3, 0] => Some("SSLv3"),
        _ => None,
    }
}

/// A `ClientHello` as it was before TLS 1.2.
fn old_hello(random: [u8; 32]) -> Vec<u8> {
    let length = |n: usize| u16::try_from(n).unwrap_or(0).to_be_bytes();
    let mut extensions = vec![0, 10, 0, 8, 0, 6, 0, 29, 0, 23, 0, 24]; // Groups: x25519, P-256, P-384.
    extensions.extend([0, 11, 0, 2, 1, 0]); // Uncompressed points.
    let mut body = vec![3, 2];
    body.extend(random);
    body.push(0); // No session.
    body.extend(length(2 * OLD_CIPHERS.len()));
    body.extend(OLD_CIPHERS.iter().flat_map(|it| it.to_be_bytes()));
    body.extend([1, 0]); // No compression.
    body.extend(length(extensions.len()));
    body.extend(extensions);
    let mut handshake = vec![1, 0];
    handshake.extend(length(body.len()));
    handshake.extend(body);
    let mut record = vec![HANDSHAKE, 3, 1];
    record.extend(length(handshake.len()));
    record.extend(handshake);
    record
}
