//! The certificate of the service and the account with the authority that issues it. Their keys are sealed.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::app::App;
use crate::clock::Time;
use crate::error::Result;
use crate::secret::{Locked, Sealer};
use crate::store::global::certificate::{
    AcmeAccount, AcmeContact, AcmeFailures, AcmeOrder, StoredCertificate,
};
use crate::store::{Batch, Snapshot};

/// What the sealed values are for.
const ACCOUNT: &str = "acme account";
const KEY: &str = "certificate key";
const ORDER: &str = "key of an order";

/// What is known of the certificate that the service presents.
pub struct Certificates {
    sealer: Sealer,
    /// Seconds since 1970. 0: none is presented.
    until_s: AtomicI64,
    n_failures: AtomicU64,
}

/// A certificate with its chain and its key, as the authority issued it. Without `Debug`, because the key is in clear.
pub struct IssuedCertificate {
    /// Of the authority that issued it.
    pub directory: String,
    pub domains: Vec<String>,
    pub chain_pem: String,
    pub key_pem: String,
}

/// An order that the authority was asked to issue the certificate of. Without `Debug`, because the key is in clear.
pub struct ProvenOrder {
    /// Of the authority.
    pub directory: String,
    pub domains: Vec<String>,
    pub url: String,
    /// When it was proven.
    pub at: Time,
    pub key_pem: String,
}

/// The certificate that the service presents, for metrics and the state of the service.
#[derive(Clone, Copy, Debug)]
pub struct CertificateHealth {
    /// `None`: the service presents none.
    pub until: Option<Time>,
    /// Orders that failed since the start.
    pub n_failures: u64,
}

impl Certificates {
    pub(super) fn new(sealer: Sealer) -> Self {
        Self { sealer, until_s: AtomicI64::new(0), n_failures: AtomicU64::new(0) }
    }
}

/// Hands each sealed value out, to be sealed anew.
pub(super) fn reseal(batch: &mut Batch, each: &mut dyn FnMut(&str, &mut Vec<u8>)) -> Result<()> {
    if let Some(mut account) = batch.find_acme_account()? {
        each(ACCOUNT, &mut account.credentials);
        batch.put_acme_account(&account)?;
    }
    if let Some(mut certificate) = batch.find_certificate()? {
        each(KEY, &mut certificate.key);
        batch.put_certificate(&certificate)?;
    }
    if let Some(mut order) = batch.find_acme_order()? {
        each(ORDER, &mut order.key);
        batch.put_acme_order(Some(&order))?;
    }
    Ok(())
}

impl App {
    /// The server says what it presents.
    pub fn note_certificate(&self, until: Option<Time>) {
        self.certificates.until_s.store(until.map_or(0, Time::s), Ordering::Relaxed);
    }

    /// An order failed. It is remembered, so that a restart does not place the next one at once.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn certificate_failed(&self, failures: AcmeFailures) -> Result<()> {
        self.certificates.n_failures.fetch_add(1, Ordering::Relaxed);
        self.store.write(move |batch: &mut Batch| batch.put_acme_failures(Some(&failures))).await
    }

    /// The last orders, if they failed.
    ///
    /// # Errors
    /// `Internal` if that is damaged.
    pub async fn find_certificate_failures(&self) -> Result<Option<AcmeFailures>> {
        self.store.read(Snapshot::find_acme_failures).await
    }

    pub fn certificate_health(&self) -> CertificateHealth {
        let until_s = self.certificates.until_s.load(Ordering::Relaxed);
        CertificateHealth {
            until: (until_s != 0).then(|| Time::from_s(until_s)),
            n_failures: self.certificates.n_failures.load(Ordering::Relaxed),
        }
    }

    /// `None` if there is none, or its key was sealed with another key file.
    ///
    /// # Errors
    /// `Internal` if it is damaged.
    pub async fn find_certificate(&self) -> Result<Option<IssuedCertificate>> {
        let Some(stored) = self.store.read(Snapshot::find_certificate).await? else {
            return Ok(None);
        };
        Ok(self.unseal(KEY, &stored.key).map(|key_pem| IssuedCertificate {
            directory: stored.directory,
            domains: stored.domains,
            chain_pem: stored.chain_pem,
            key_pem,
        }))
    }

    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn put_certificate(&self, issued: IssuedCertificate) -> Result<()> {
        let stored = StoredCertificate {
            key: self.certificates.sealer.seal(KEY, &issued.key_pem),
            directory: issued.directory,
            domains: issued.domains,
            chain_pem: issued.chain_pem,
        };
        let names = stored.domains.join(", ");
        let write = move |batch: &mut Batch| {
            batch.put_acme_failures(None)?;
            batch.put_acme_order(None)?;
            batch.put_certificate(&stored)
        };
        self.store.write(write).await?;
        if let Err(error) = self.record(&format!("certificate issued for {names}")).await {
            tracing::warn!("a certificate could not be recorded in the audit log: {error}");
        }
        Ok(())
    }

    /// Keeps an order before the authority is asked to issue its certificate, so that a restart finds it again. Until that
    /// certificate is put.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn put_order(&self, order: ProvenOrder) -> Result<()> {
        let stored = AcmeOrder {
            key: self.certificates.sealer.seal(ORDER, &order.key_pem),
            directory: order.directory,
            domains: order.domains,
            url: order.url,
            at: order.at,
        };
        self.store.write(move |batch: &mut Batch| batch.put_acme_order(Some(&stored))).await
    }

    /// The order whose certificate was not put yet. `None` as in [`App::find_certificate`].
    ///
    /// # Errors
    /// `Internal` if it is damaged.
    pub async fn find_order(&self) -> Result<Option<ProvenOrder>> {
        let Some(stored) = self.store.read(Snapshot::find_acme_order).await? else {
            return Ok(None);
        };
        Ok(self.unseal(ORDER, &stored.key).map(|key_pem| ProvenOrder {
            directory: stored.directory,
            domains: stored.domains,
            url: stored.url,
            at: stored.at,
            key_pem,
        }))
    }

    /// Forgets the order: it cannot be continued.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn remove_order(&self) -> Result<()> {
        self.store.write(|batch: &mut Batch| batch.put_acme_order(None)).await
    }

    /// The credentials of the account with this authority. `None` as in [`App::find_certificate`].
    ///
    /// # Errors
    /// `Internal` if they are damaged.
    pub async fn find_acme_account(&self, directory: &str) -> Result<Option<String>> {
        let stored = self.store.read(Snapshot::find_acme_account).await?;
        let stored = stored.filter(|it| it.directory == directory);
        Ok(stored.and_then(|it| self.unseal(ACCOUNT, &it.credentials)))
    }

    /// A new account, which was told this contact.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn put_acme_account(&self, contact: AcmeContact, credentials: &str) -> Result<()> {
        let stored = AcmeAccount {
            directory: contact.directory.clone(),
            credentials: self.certificates.sealer.seal(ACCOUNT, credentials),
        };
        let write = move |batch: &mut Batch| {
            batch.put_acme_account(&stored)?;
            batch.put_acme_contact(&contact)
        };
        self.store.write(write).await
    }

    /// What the authority was last told. `None`: that is not known.
    ///
    /// # Errors
    /// `Internal` if it is damaged.
    pub async fn find_acme_contact(&self) -> Result<Option<AcmeContact>> {
        self.store.read(Snapshot::find_acme_contact).await
    }

    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn put_acme_contact(&self, contact: AcmeContact) -> Result<()> {
        self.store.write(move |batch: &mut Batch| batch.put_acme_contact(&contact)).await
    }

    /// `None` if it cannot be read: then a new one is made.
    fn unseal(&self, place: &str, sealed: &[u8]) -> Option<String> {
        let opened = self.certificates.sealer.open_sealed(place, sealed);
        opened
            .inspect_err(|locked| {
                let why = match locked {
                    Locked::OtherKey => "it was sealed with another key file",
                    Locked::Damaged => "it is damaged",
                };
                tracing::warn!("the {place} of the database is not used: {why}; a new one is made");
            })
            .ok()
    }
}
