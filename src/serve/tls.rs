//! The certificate that the service presents: read from PEM files, and read again when they change.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use crate::blocking;
use crate::clock::Clock;
use crate::error::{Chain, Error, Result};
use crate::scan::tls::read_certificate;

/// By this name a peer asks for HTTP/2 in the handshake.
pub(super) const HTTP_2: &[u8] = b"h2";
/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Certificates of a file; a longer chain is refused.
const CHAIN_MAX: usize = 16;
/// A larger file is refused.
const FILE_BYTES_MAX: u64 = 1_024 * 1_024;

/// A certificate with its chain, and the file of its private key. Both are PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// What the service presents now.
#[derive(Debug)]
pub struct Presented {
    files: CertificateFiles,
    current: RwLock<Arc<CertifiedKey>>,
    /// Rung to read the files at once.
    pub reread: Notify,
}

/// A file as it was last looked at: time and size of its content, device and inode.
type FileMark = Option<[i64; 5]>;

impl Presented {
    /// Reads the files.
    ///
    /// # Errors
    /// `Invalid` if a file cannot be read or holds something else, or the key is not that of the certificate.
    pub fn read(files: CertificateFiles) -> Result<Arc<Self>> {
        let key = read(&files)?;
        say(&files, &key);
        Ok(Arc::new(Self { files, current: RwLock::new(Arc::new(key)), reread: Notify::new() }))
    }

    /// The rules of TLS under which it is presented: versions 1.2 and 1.3.
    ///
    /// # Errors
    /// `Internal` if the crypto library lacks its own defaults.
    pub fn config(self: &Arc<Self>) -> Result<Arc<ServerConfig>> {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(Error::internal)?;
        let resolver = Arc::clone(self) as Arc<dyn ResolvesServerCert>;
        let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = vec![HTTP_2.to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// Reads the files again whenever they change, until the stop. What cannot be read is logged once, and the certificate
    /// that was read before stays. Connections that are open keep the one they began with.
    pub async fn follow(&self, mut stop: watch::Receiver<bool>) {
        let (mut seen, mut refused) = (self.files.marks(), None);
        loop {
            let is_asked = tokio::select! {
                _ = stop.wait_for(|stopping| *stopping) => return,
                () = self.reread.notified() => true,
                () = sleep(LOOK_EVERY) => false,
            };
            let files = self.files.clone();
            // After a refusal the files are tried again: the certificate and the key may arrive one after the other.
            let is_due = move |marks| is_asked || marks != seen || refused.is_some();
            let looked = blocking::run((), move || {
                let marks = files.marks();
                Ok((marks, is_due(marks).then(|| read(&files))))
            });
            let Ok((marks, Some(read))) = looked.await else { continue };
            seen = marks;
            match read {
                Ok(key) => {
                    say(&self.files, &key);
                    *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
                    refused = None;
                }
                Err(error) if refused != Some(marks) => {
                    tracing::error!(
                        error = %Chain(&error),
                        "the new certificate is not used, the one before stays: {}", Chain(&error)
                    );
                    refused = Some(marks);
                }
                Err(_) => (),
            }
        }
    }
}

impl ResolvesServerCert for Presented {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl CertificateFiles {
    fn marks(&self) -> [FileMark; 2] {
        [&self.certificate, &self.key].map(|path| {
            let mark = |it: Metadata| {
                let [device, inode, size] = [it.dev(), it.ino(), it.size()].map(u64::cast_signed);
                [it.mtime(), it.mtime_nsec(), device, inode, size]
            };
            fs::metadata(path).ok().map(mark)
        })
    }
}

fn read(files: &CertificateFiles) -> Result<CertifiedKey> {
    let chain = content("server.tls_cert", &files.certificate)?;
    let chain = CertificateDer::pem_slice_iter(&chain)
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|error| not_pem("server.tls_cert", &files.certificate, &error))?;
    let shown = files.certificate.display();
    if chain.is_empty() {
        return Err(Error::invalid(format!("server.tls_cert: {shown} holds no certificate")));
    }
    if CHAIN_MAX < chain.len() {
        let n = chain.len();
        return Err(Error::invalid(format!(
            "server.tls_cert: {shown} holds {n} certificates, more than {CHAIN_MAX}"
        )));
    }
    let key = content("server.tls_key", &files.key)?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| {
        if !matches!(error, pem::Error::NoItemsFound) {
            return not_pem("server.tls_key", &files.key, &error);
        }
        let shown = files.key.display();
        Error::invalid(format!(
            "server.tls_key: {shown} holds no private key that is not encrypted"
        ))
    })?;
    CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| {
        let is_other = matches!(error, rustls::Error::InconsistentKeys(_));
        let why = if is_other {
            "the key is not that of the certificate".to_owned()
        } else {
            error.to_string()
        };
        let key = files.key.display();
        Error::invalid(format!("server.tls_cert {shown} with server.tls_key {key}: {why}"))
    })
}

fn content(name: &str, path: &Path) -> Result<Vec<u8>> {
    let shown = path.display();
    let failed = |error: std::io::Error| {
        Error::invalid(format!("{name}: cannot read {shown}: {error}")).caused_by(error)
    };
    if FILE_BYTES_MAX < fs::metadata(path).map_err(failed)?.len() {
        return Err(Error::invalid(format!("{name}: {shown} is larger than 1 MiB")));
    }
    fs::read(path).map_err(failed)
}

fn not_pem(name: &str, path: &Path, error: &pem::Error) -> Error {
    Error::invalid(format!("{name}: {} is not PEM: {error}", path.display()))
}

/// Logs whose certificate it is and until when, and warns of what callers will refuse.
fn say(files: &CertificateFiles, key: &CertifiedKey) {
    let shown = files.certificate.display();
    let Some(certificate) = key.cert.first().and_then(|it| read_certificate(it)) else {
        return tracing::warn!("the certificate in {shown} cannot be decoded");
    };
    let names = match certificate.names.as_slice() {
        [] => "no names".to_owned(),
        names => names.join(", "),
    };
    let until = certificate.until;
    let now = Clock::System.now();
    if until <= now {
        tracing::error!("the certificate in {shown} for {names} expired at {until}");
    } else if now < certificate.from {
        let from = certificate.from;
        tracing::error!("the certificate in {shown} for {names} is not valid before {from}");
    } else {
        tracing::info!("presenting the certificate in {shown} for {names}, valid until {until}");
    }
}
