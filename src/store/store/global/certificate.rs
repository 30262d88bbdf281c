//! The certificate that an ACME authority issued for the service, and the account with that authority.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::table::ACME;

const ACME_ACCOUNT: &[u8] = b"account";
const ACME_CERTIFICATE: &[u8] = b"certificate";
const ACME_FAILURES: &[u8] = b"failures";
const ACME_ORDER: &[u8] = b"order";
const ACME_CONTACT: &[u8] = b"contact";

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AcmeAccount {
    /// The URL of the authority.
    pub directory: String,
    /// Sealed.
    pub credentials: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StoredCertificate {
    /// The URL of the authority that issued it.
    pub directory: String,
    pub domains: Vec<String>,
    /// With the chain.
    pub chain_pem: String,
    /// Sealed.
    pub key: Vec<u8>,
}

/// A proven order, kept before the authority is asked to issue its certificate.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AcmeOrder {
    /// The URL of the authority.
    pub directory: String,
    pub domains: Vec<String>,
    pub url: String,
    pub at: Time,
    /// Of the certificate. Sealed.
    pub key: Vec<u8>,
}

/// Where the authority was last told that it may write to.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AcmeContact {
    /// The URL of the authority.
    pub directory: String,
    /// `None`: nowhere.
    pub email: Option<String>,
}

/// Orders that failed one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AcmeFailures {
    /// The URL of the authority.
    pub directory: String,
    pub domains: Vec<String>,
    pub n_failures: u32,
    /// When the next order is placed.
    pub retry_at: Time,
}

impl<R: Rows> Transaction<R> {
    pub fn find_acme_failures(&self) -> Result<Option<AcmeFailures>> {
        self.rows.find_row(ACME, ACME_FAILURES)
    }

    pub fn find_acme_contact(&self) -> Result<Option<AcmeContact>> {
        self.rows.find_row(ACME, ACME_CONTACT)
    }

    pub fn find_acme_order(&self) -> Result<Option<AcmeOrder>> {
        self.rows.find_row(ACME, ACME_ORDER)
    }

    pub fn find_acme_account(&self) -> Result<Option<AcmeAccount>> {
        self.rows.find_row(ACME, ACME_ACCOUNT)
    }

    pub fn find_certificate(&self) -> Result<Option<StoredCertificate>> {
        self.rows.find_row(ACME, ACME_CERTIFICATE)
    }
}

impl Batch {
    /// `None`: the last order did not fail.
    pub fn put_acme_failures(&mut self, failures: Option<&AcmeFailures>) -> Result<()> {
        match failures {
            Some(failures) => self.rows.put_row(ACME, ACME_FAILURES, failures),
            None => self.rows.remove_row(ACME, ACME_FAILURES).map(|_| ()),
        }
    }

    /// `None`: it came to its end.
    pub fn put_acme_order(&mut self, order: Option<&AcmeOrder>) -> Result<()> {
        match order {
            Some(order) => self.rows.put_row(ACME, ACME_ORDER, order),
            None => self.rows.remove_row(ACME, ACME_ORDER).map(|_| ()),
        }
    }

    pub fn put_acme_contact(&mut self, contact: &AcmeContact) -> Result<()> {
        self.rows.put_row(ACME, ACME_CONTACT, contact)
    }

    pub fn put_acme_account(&mut self, account: &AcmeAccount) -> Result<()> {
        self.rows.put_row(ACME, ACME_ACCOUNT, account)
    }

    pub fn put_certificate(&mut self, certificate: &StoredCertificate) -> Result<()> {
        self.rows.put_row(ACME, ACME_CERTIFICATE, certificate)
    }
}
