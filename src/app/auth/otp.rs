//! One-time codes of authenticator apps (TOTP, RFC 6238), and the recovery codes that stand in for them.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use totp_rs::{Builder, Secret, Totp};

use super::password::plain_text;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::secret;

const STEP_S: u64 = 30;
/// The clock of an app may be this many steps ahead or behind.
const STEPS_OFF: u16 = 1;
const DIGITS: u8 = 6;
/// RFC 4226 recommends 160 bits.
const SECRET_BYTES: usize = 20;
/// What apps show before the name of the user.
const ISSUER: &str = "Posture";
pub const N_RECOVERY_CODES: usize = 10;
const RECOVERY_CHARS: usize = 24;

/// Generates the secret that an app will share, in base32.
#[must_use]
pub fn generate_secret() -> String {
    let bytes: [u8; SECRET_BYTES] = secret::random();
    Secret::from(bytes).to_base32()
}

/// The `otpauth://` URL that an app reads from a QR code.
///
/// # Errors
/// `Internal` if the secret is not one of [`generate_secret`].
pub fn url(secret: &str, user: &str) -> Result<String> {
    // A colon would end the name of the issuer.
    let name = user.replace(':', "_");
    let totp = builder(secret)?.with_issuer(Some(ISSUER)).with_account_name(name).build();
    totp.and_then(|it| it.to_url()).map_err(Error::internal)
}

/// Returns the time step of a code that is right now. `last_step`: that of the last code that was accepted. Codes of it
/// and of earlier steps are wrong.
///
/// # Errors
/// As [`url`].
pub fn find_step(secret: &str, code: &str, last_step: u64, now: Time) -> Result<Option<u64>> {
    let now_s = u64::try_from(now.s()).unwrap_or(0);
    let totp: Totp = builder(secret)?.build().map_err(Error::internal)?;
    // If the clock was set back, codes of the time before must not lock out users.
    let was_set_back = now_s / STEP_S + u64::from(STEPS_OFF) < last_step;
    let step = totp.check(&plain(code), now_s);
    Ok(step.filter(|it| was_set_back || last_step < *it))
}

fn builder(secret: &str) -> Result<Builder> {
    let secret = Secret::try_from_base32(secret).map_err(Error::internal)?;
    let builder = Builder::new().with_digits(DIGITS).with_step_duration(STEP_S);
    Ok(builder.with_skew(STEPS_OFF).with_secret(secret))
}

/// Generates new recovery codes.
#[must_use]
pub fn generate_recovery_codes() -> Vec<String> {
    (0..N_RECOVERY_CODES).map(|_| plain_text::<RECOVERY_CHARS>()).collect()
}

/// The digest that is stored. A code of 120 bits needs only a plain hash (ASVS 5.0, 6.5.2).
#[must_use]
pub fn recovery_digest(code: &str) -> [u8; 32] {
    Sha256::digest(plain(code).as_bytes()).into()
}

/// Returns the place of a recovery code among the digests of those that were not used.
#[must_use]
pub fn find_recovery_code(digests: &[[u8; 32]], code: &str) -> Option<usize> {
    let digest = recovery_digest(code);
    digests.iter().position(|it| it.ct_eq(&digest).into())
}

/// The code as it was generated, without what people and apps add to it.
fn plain(code: &str) -> String {
    let is_added = |it: &char| it.is_whitespace() || *it == '-';
    code.chars().filter(|it| !is_added(it)).flat_map(char::to_lowercase).collect()
}
