//! The authorities whose certificates requests accept: those of Mozilla's list, and those of a file.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use crate::bounded_file;
use crate::encoding;
use crate::error::{Error, Result};

/// More certificates in a file are refused.
const ROOTS_MAX: usize = 256;
/// A larger file is refused.
const FILE_BYTES_MAX: u64 = 1_024 * 1_024;

/// The authorities of a file, besides those of Mozilla's list. `Default`: no others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedRoots(Arc<Vec<CertificateDer<'static>>>);

impl TrustedRoots {
    /// Reads a file of PEM certificates. `key`: the setting that names it.
    ///
    /// # Errors
    /// `Invalid` if it cannot be read, or holds no certificates of authorities, or too many.
    pub fn read(key: &str, path: &Path) -> Result<Self> {
        let about = |what: String| Error::invalid(format!("{key}: {} {what}", path.display()));
        let pem = bounded_file::read(path, FILE_BYTES_MAX).map_err(|error| {
            if error.kind() == ErrorKind::FileTooLarge {
                return about("is larger than 1 MiB".to_owned());
            }
            about(format!("cannot be read: {error}")).caused_by(error)
        })?;
        Self::parse(&pem).map_err(|error| about(error.message().to_owned()))
    }

    /// Reads certificates in PEM.
    ///
    /// # Errors
    /// `Invalid` if it holds no certificates of authorities, or too many. The message has no subject.
    pub fn parse(pem: &[u8]) -> Result<Self> {
        let pem = encoding::pem(pem).map_err(|why| Error::invalid(why.to_string()))?;
        let roots = CertificateDer::pem_slice_iter(pem)
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|error| Error::invalid(format!("is not PEM: {error}")))?;
        if !(1..=ROOTS_MAX).contains(&roots.len()) {
            let n = roots.len();
            let rule = format!("holds {n} certificates; 1 to {ROOTS_MAX} are allowed");
            return Err(Error::invalid(rule));
        }
        for root in &roots {
            RootCertStore::empty().add(root.clone()).map_err(|error| {
                Error::invalid(format!("holds an unusable certificate: {error}"))
            })?;
        }
        Ok(Self(Arc::new(roots)))
    }

    /// These authorities, in DER.
    pub fn list(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// These authorities alone.
    pub(super) fn alone(&self) -> RootCertStore {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(self.0.iter().cloned());
        store
    }

    /// These authorities and those of Mozilla's list.
    #[must_use]
    pub fn with_public(&self) -> RootCertStore {
        let mut store = self.alone();
        store.add_parsable_certificates(TLS_SERVER_ROOT_CERTS.iter().cloned());
        store
    }

    pub(super) fn rules(&self) -> TlsConfig {
        if self.0.is_empty() {
            return TlsConfig::default();
        }
        let all = TLS_SERVER_ROOT_CERTS.iter().chain(self.0.iter());
        let all = all.map(|it| Certificate::from_der(it).to_owned());
        TlsConfig::builder().root_certs(RootCerts::from(all)).build()
    }
}
