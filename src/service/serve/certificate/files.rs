//! A certificate from PEM files, which are read again when they change.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::{Presented, certified, say};
use crate::blocking;
use crate::bounded_file;
use crate::clock::Clock;
use crate::encoding;
use crate::error::{Chain, Error, Result};

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

/// A file as it was last looked at: time and size of its content, device and inode.
type FileMark = Option<[i64; 5]>;

/// Reads the files for the first time.
///
/// # Errors
/// `Invalid` if a file cannot be read or holds something else, or the key is not that of the certificate.
pub fn present(files: &CertificateFiles, presented: &Presented) -> Result<()> {
    let key = read(files)?;
    say(&files.origin(), &key, Clock::System.now());
    presented.present(key);
    Ok(())
}

/// Reads the files again whenever they change, until the stop. What cannot be read is logged once, and the certificate that
/// was read before stays. `changed` gets each new one; `now` asks for a look at once.
pub(in crate::serve) async fn follow(
    files: &CertificateFiles,
    changed: impl Fn(CertifiedKey),
    now: &Notify,
    mut stop: watch::Receiver<bool>,
) {
    let (mut seen, mut refused) = (files.marks(), None);
    loop {
        let is_asked = tokio::select! {
            _ = stop.wait_for(|stopping| *stopping) => return,
            () = now.notified() => true,
            () = sleep(LOOK_EVERY) => false,
        };
        let asked = files.clone();
        // After a refusal the files are tried again: the certificate and the key may arrive one after the other.
        let is_due = move |marks| is_asked || marks != seen || refused.is_some();
        let looked = blocking::run((), move || {
            let marks = asked.marks();
            Ok((marks, is_due(marks).then(|| read(&asked))))
        });
        let Ok((marks, Some(read))) = looked.await else { continue };
        seen = marks;
        match read {
            Ok(key) => {
                say(&files.origin(), &key, Clock::System.now());
                changed(key);
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

impl CertificateFiles {
    fn origin(&self) -> String {
        format!("in {}", self.certificate.display())
    }

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
    let text = content("server.tls_key", &files.key)?;
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        let shown = files.key.display();
        if is_encrypted(&text) {
            return Error::invalid(format!(
                "server.tls_key: {shown} holds a private key that is encrypted; \
                 decrypt it into another file with: openssl pkey -in {shown} -out FILE"
            ));
        }
        if !matches!(error, pem::Error::NoItemsFound) {
            return not_pem("server.tls_key", &files.key, &error);
        }
        Error::invalid(format!("server.tls_key: {shown} holds no private key"))
    })?;
    certified(&chain, &key).map_err(|why| {
        let key = files.key.display();
        Error::invalid(format!("server.tls_cert {shown} with server.tls_key {key}: {why}"))
    })
}

/// Whether it holds an encrypted key, in the new format (PKCS #8) or the old one (RFC 1421).
fn is_encrypted(pem: &[u8]) -> bool {
    let starts = [&b"-----BEGIN ENCRYPTED PRIVATE KEY-----"[..], b"Proc-Type: 4,ENCRYPTED"];
    let mut lines = pem.split(|it| matches!(it, b'\n' | b'\r'));
    lines.any(|line| starts.iter().any(|it| line.starts_with(it)))
}

fn content(name: &str, path: &Path) -> Result<Vec<u8>> {
    let shown = path.display();
    let bytes = bounded_file::read(path, FILE_BYTES_MAX).map_err(|error| {
        if error.kind() == ErrorKind::FileTooLarge {
            return Error::invalid(format!("{name}: {shown} is larger than 1 MiB"));
        }
        Error::invalid(format!("{name}: cannot read {shown}: {error}")).caused_by(error)
    })?;
    let pem = encoding::pem(&bytes);
    pem.map(<[u8]>::to_vec).map_err(|why| Error::invalid(format!("{name}: {shown} {why}")))
}

fn not_pem(name: &str, path: &Path, error: &pem::Error) -> Error {
    Error::invalid(format!("{name}: {} is not PEM: {error}", path.display()))
}
