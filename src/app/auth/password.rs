//! Passwords: rules for new ones, and hashing with argon2id, at most four at once.

use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Argon2, Params};
use tokio::sync::Semaphore;
use zxcvbn::Score;

use crate::blocking;
use crate::error::{Error, Result};
use crate::secret;

pub const CHARS_MIN: usize = 12;
/// Longer passwords are refused, never truncated.
pub const BYTES_MAX: usize = 512;
/// Hashes that are computed at once. Each takes 19 MiB, the minimum that OWASP recommends (2 passes, 1 lane).
pub const N_HASHING_MAX: usize = 4;
/// How long a hash waits for a free place.
const TURN_WAIT: Duration = Duration::from_secs(2);
/// A stored hash that requires more memory, in KiB, is not computed, because this service did not write it.
const MEMORY_KIB_MAX: u32 = 128 * 1024;
const PASSES_MAX: u32 = 10;
const LANES_MAX: u32 = 4;
/// Letters and digits that cannot be confused with each other.
const PLAIN: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
const GROUP_CHARS: usize = 4;
const GENERATED_CHARS: usize = 20;

/// Random bytes in the format of a hash, which no password has. It is verified for unknown users, so that they take as long
/// as known ones.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$4a5exCln2GwEMa134oWQBA$ZmGLPlv2evhArBgGL20QBX3WzboQ5cyohPp219jnLBk";

/// Computes hashes.
#[derive(Clone, Debug)]
pub struct Hasher {
    turns: Arc<Semaphore>,
}

impl Default for Hasher {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(N_HASHING_MAX)) }
    }
}

impl Hasher {
    /// # Errors
    /// `Unavailable` if too many logins are waiting.
    pub async fn hash(&self, password: String) -> Result<String> {
        self.in_turn(move || hash(&password)).await
    }

    /// [`check`] and [`Hasher::hash`] of a new password. Judging a long one takes as long as hashing it.
    ///
    /// # Errors
    /// `Invalid` about `field` if the password is easy to guess; `Unavailable` if too many logins are waiting.
    pub async fn hash_checked(
        &self,
        field: &str,
        password: String,
        about_owner: Vec<String>,
    ) -> Result<String> {
        let field = field.to_owned();
        let work = move || {
            let about: Vec<&str> = about_owner.iter().map(String::as_str).collect();
            check(&field, &password, &about)?;
            hash(&password)
        };
        self.in_turn(work).await
    }

    /// Returns true if the password matches the stored hash. `stored`: `None` for an unknown user, which takes as long.
    ///
    /// # Errors
    /// `Unavailable` if too many logins are waiting; `Internal` for an invalid hash.
    pub async fn verify(&self, password: String, stored: Option<&str>) -> Result<bool> {
        let is_known = stored.is_some();
        let stored = stored.unwrap_or(NOBODY).to_owned();
        let matches = self.in_turn(move || verify(&password, &stored)).await?;
        Ok(matches && is_known)
    }

    /// The permit belongs to the work, not to its caller: a caller that disconnects does not free a place.
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let busy = || Error::unavailable("too many logins at once; try again in a moment");
        let turn = Arc::clone(&self.turns).acquire_owned();
        let turn = tokio::time::timeout(TURN_WAIT, turn).await.map_err(|_| busy())?;
        let turn = turn.map_err(|_| busy())?;
        blocking::run(turn, work).await
    }
}

fn hash(password: &str) -> Result<String> {
    let hashed = Argon2::default().hash_password(password.as_bytes());
    hashed.map(|it| it.to_string()).map_err(|error| Error::internal(error.to_string()))
}

fn verify(password: &str, stored: &str) -> Result<bool> {
    let broken = || Error::internal("a stored password hash is not valid");
    let stored = PasswordHash::new(stored).map_err(|_| broken())?;
    let params = Params::try_from(&stored).map_err(|_| broken())?;
    let is_sane = params.m_cost() <= MEMORY_KIB_MAX
        && params.t_cost() <= PASSES_MAX
        && params.p_cost() <= LANES_MAX;
    if !is_sane {
        return Err(Error::internal("a stored password hash requires too much memory or time"));
    }
    Ok(Argon2::default().verify_password(password.as_bytes(), &stored).is_ok())
}

/// Refuses passwords that are easy to guess: short, common, or derived from what is known about the owner.
///
/// # Errors
/// `Invalid` about `field`.
pub fn check(field: &str, password: &str, about_owner: &[&str]) -> Result<()> {
    if password.chars().count() < CHARS_MIN {
        return Err(Error::invalid_field(
            field,
            format!("must have at least {CHARS_MIN} characters"),
        ));
    }
    if BYTES_MAX < password.len() {
        return Err(Error::invalid_field(field, format!("must be at most {BYTES_MAX} bytes")));
    }
    let about: Vec<&str> = about_owner.iter().copied().chain(["posture"]).collect();
    let strength = zxcvbn::zxcvbn(password, &about);
    if Score::Three <= strength.score() {
        return Ok(());
    }
    let warning = strength.feedback().and_then(zxcvbn::feedback::Feedback::warning);
    let why = warning
        .map_or_else(|| "It consists of common words or patterns.".to_owned(), |it| it.to_string());
    let rule = format!("is too easy to guess. {why} Use four or more unrelated words");
    Err(Error::invalid_field(field, rule))
}

/// Generates a password of 100 random bits that is easy to type.
#[must_use]
pub fn generate() -> String {
    plain_text::<GENERATED_CHARS>()
}

/// Generates text that is easy to type: groups of four characters, each of which is five random bits.
pub(super) fn plain_text<const N_CHARS: usize>() -> String {
    let bytes: [u8; N_CHARS] = secret::random();
    let chars = bytes.map(|it| char::from(PLAIN[usize::from(it) % PLAIN.len()]));
    let groups = chars.chunks(GROUP_CHARS).map(|it| it.iter().collect::<String>());
    groups.collect::<Vec<_>>().join("-")
}
