//! The certificate with which the app proves itself.

use rcgen::{CertificateParams, DnType, KeyPair, PKCS_RSA_SHA256};
use ring::signature::RsaKeyPair;
use rsa::pkcs8::EncodePrivateKey;
use rsa::{Generate, PrivateKey};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};
use x509_parser::time::ASN1Time;

use crate::clock::Time;
use crate::error::{Error, Result};

/// A generated certificate is valid for so long.
const VALID_DAYS: i64 = 365;

/// A certificate and its key. Without `Debug`, because the key is in clear.
pub struct AppCertificate {
    pub certificate_pem: String,
    pub key_pem: String,
    /// SHA-256 of the certificate.
    pub fingerprint: [u8; 32],
    pub expires_at: Time,
}

/// Makes a key and a certificate that it signed itself. It takes seconds: run it on a thread that may block.
///
/// # Errors
/// `Internal` if the system has no randomness.
pub fn generate(now: Time) -> Result<AppCertificate> {
    let key = PrivateKey::generate(); // Of 3,072 bits.
    let der = key.to_pkcs8_der().map_err(Error::internal)?;
    let der = PrivatePkcs8KeyDer::from(der.as_bytes().to_vec());
    let pair = KeyPair::from_pkcs8_der_and_sign_algo(&der, &PKCS_RSA_SHA256);
    let pair = pair.map_err(Error::internal)?;
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "Posture");
    let date = |at: Time| ASN1Time::from_timestamp(at.s()).map(|it| it.to_datetime());
    params.not_before = date(now.plus_days(-1)).map_err(Error::internal)?;
    params.not_after = date(now.plus_days(VALID_DAYS)).map_err(Error::internal)?;
    let certificate = params.self_signed(&pair).map_err(Error::internal)?;
    read_pem(&certificate.pem(), &pair.serialize_pem())
}

/// Reads a certificate and its key.
///
/// # Errors
/// `Invalid` about `certificatePem` or `keyPem`.
pub fn read_pem(certificate_pem: &str, key_pem: &str) -> Result<AppCertificate> {
    let refused = |field: &str, rule: &str| Error::invalid_field(field, rule);
    let der = CertificateDer::from_pem_slice(certificate_pem.as_bytes());
    let der = der.map_err(|_| refused("certificatePem", "must be one certificate in PEM"))?;
    let parsed = x509_parser::parse_x509_certificate(&der);
    let (_, parsed) = parsed.map_err(|_| refused("certificatePem", "is not a certificate"))?;
    let key = PrivatePkcs8KeyDer::from_pem_slice(key_pem.as_bytes());
    let rule = "must be an RSA key of 2,048 to 4,096 bits in PKCS#8 PEM, not encrypted; convert it with `openssl pkcs8 -topk8 -nocrypt`";
    let key = key.map_err(|_| refused("keyPem", rule))?;
    let pair =
        RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).map_err(|_| refused("keyPem", rule))?;
    if parsed.public_key().subject_public_key.data.as_ref() != pair.public().as_ref() {
        return Err(refused("keyPem", "is not the key of the certificate"));
    }
    Ok(AppCertificate {
        certificate_pem: certificate_pem.to_owned(),
        key_pem: key_pem.to_owned(),
        fingerprint: Sha256::digest(&der).into(),
        expires_at: Time::from_s(parsed.validity().not_after.timestamp()),
    })
}
