//! The certificate that the service presents: from files, or from an ACME authority.

pub mod acme;
mod acme_http;
pub mod files;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::{Notify, watch};

use crate::app::App;
use crate::clock::Time;
use crate::engine::network::scan::Certificate;
use crate::error::{Error, Result};
use crate::scan::tls::read_certificate;
use acme::AcmeOptions;
use files::CertificateFiles;

/// By this name a peer asks for HTTP/2 in the handshake.
pub(super) const HTTP_2: &[u8] = b"h2";
/// By this name an authority asks for the answer to its challenge (RFC 8737). Nothing follows the handshake.
pub(super) const ACME_TLS: &[u8] = b"acme-tls/1";

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSource {
    Files(CertificateFiles),
    Acme(AcmeOptions),
}

/// What the service presents now, and what it answers to an authority that asks for proof.
#[derive(Debug, Default)]
pub struct Presented {
    /// `None`: there is no certificate yet, and handshakes fail.
    current: RwLock<Option<Arc<CertifiedKey>>>,
    challenges: RwLock<Challenges>,
    /// Asks for the files to be read, or for an order that waits after a failure, at once.
    pub renew_now: Notify,
}

#[derive(Debug, Default)]
struct Challenges {
    /// HTTP-01: what is answered for each token.
    by_token: HashMap<String, String>,
    /// TLS-ALPN-01: what is presented for each domain.
    by_domain: HashMap<String, Arc<CertifiedKey>>,
}

impl Presented {
    /// The rules of TLS under which it is presented: versions 1.2 and 1.3.
    ///
    /// # Errors
    /// `Internal` if the crypto library lacks its own defaults.
    pub fn config(self: &Arc<Self>) -> Result<Arc<ServerConfig>> {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(Error::internal)?;
        let resolver = Arc::clone(self) as Arc<dyn ResolvesServerCert>;
        let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = vec![HTTP_2.to_vec(), b"http/1.1".to_vec(), ACME_TLS.to_vec()];
        Ok(Arc::new(config))
    }

    /// Connections that are open keep the certificate they began with.
    pub(in crate::serve) fn present(&self, key: CertifiedKey) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(key));
    }

    /// Until when the current certificate is valid.
    fn until(&self) -> Option<Time> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.as_deref().and_then(certificate).map(|it| it.until)
    }

    /// The answer to an authority that asks for this token over plain HTTP.
    pub(super) fn proof(&self, token: &str) -> Option<String> {
        self.challenges.read().unwrap_or_else(PoisonError::into_inner).by_token.get(token).cloned()
    }

    fn change_challenges(&self, change: impl FnOnce(&mut Challenges)) {
        change(&mut self.challenges.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl ResolvesServerCert for Presented {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        if hello.alpn().is_some_and(|mut names| names.any(|it| it == ACME_TLS)) {
            let challenges = self.challenges.read().unwrap_or_else(PoisonError::into_inner);
            return challenges.by_domain.get(hello.server_name()?).cloned();
        }
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Keeps the certificate current, until the stop.
pub(super) async fn keep(
    app: &App,
    source: &CertificateSource,
    presented: &Presented,
    stop: watch::Receiver<bool>,
) {
    app.note_certificate(presented.until());
    let changed = |key| {
        presented.present(key);
        app.note_certificate(presented.until());
    };
    match source {
        CertificateSource::Files(files) => {
            files::follow(files, changed, &presented.renew_now, stop).await;
        }
        CertificateSource::Acme(options) => {
            acme::keep(app, options, presented, changed, stop).await;
        }
    }
}

const TO_MAKE_A_KEY: &str = "use ECDSA on P-256 or P-384, Ed25519, or RSA of 2048 to 8192 bits";

/// # Errors
/// Why the key cannot be used with the certificate.
fn certified(
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
) -> std::result::Result<CertifiedKey, String> {
    let with =
        |chain: Vec<_>| CertifiedKey::from_der(chain, key.clone_key(), &ring::default_provider());
    with(chain.to_vec()).map_err(|error| {
        if matches!(error, rustls::Error::InconsistentKeys(_)) {
            let own = chain.iter().position(|it| with(vec![it.clone()]).is_ok());
            let Some(index) = own else {
                return "the key is not that of the certificate".to_owned();
            };
            let (n, n_all) = (index + 1, chain.len());
            return format!(
                "the key is that of certificate {n} of {n_all}; put it first, then the one that signed it, and so on"
            );
        }
        if matches!(error, rustls::Error::General(_)) {
            return format!("the key is of a kind that is not supported; {TO_MAKE_A_KEY}");
        }
        error.to_string()
    })
}

/// What the certificate says of itself.
fn certificate(key: &CertifiedKey) -> Option<Certificate> {
    key.cert.first().and_then(|it| read_certificate(it))
}

/// Logs whose certificate it is and until when, and warns of what callers will refuse. `origin`: "in cert.pem".
fn say(origin: &str, key: &CertifiedKey, now: Time) {
    let Some(certificate) = certificate(key) else {
        return tracing::warn!("the certificate {origin} cannot be decoded");
    };
    let names = match certificate.names.as_slice() {
        [] => "no names".to_owned(),
        names => names.join(", "),
    };
    let until = certificate.until;
    if until <= now {
        tracing::error!("the certificate {origin} for {names} expired at {until}");
    } else if now < certificate.from {
        let from = certificate.from;
        tracing::error!("the certificate {origin} for {names} is not valid before {from}");
    } else {
        tracing::info!("presenting the certificate {origin} for {names}, valid until {until}");
    }
}
