//! Keys, users, second factors, passkeys, identities, sessions, and the audit log.

pub mod audit;
pub mod console_session;
pub mod grant;
pub mod key;
pub mod mfa;
pub mod oidc;
pub mod passkey;
pub mod session;
pub mod tally;
pub mod user;

use std::sync::Arc;

use crate::auth::caller::Account;
use crate::auth::console_session::ConsoleSessions;
use crate::auth::keyring::Keyring;
use crate::auth::limit::{Limiter, Operation};
use crate::auth::password::Hasher;
use crate::auth::people::People;
use crate::auth::throttle::Throttle;
use crate::auth::token::TokenKey;
use crate::error::Result;
use crate::secret::Sealer;
use crate::store::Snapshot;
use oidc::{Oidc, OidcOptions};
use tally::AuditTally;

/// Who may do what, and how often. Only this folder can access the token key, the password hashes and the secrets of second factors.
pub struct Access {
    pub keyring: Arc<Keyring>,
    pub people: Arc<People>,
    pub(in crate::app) console_sessions: ConsoleSessions,
    /// Of the versioned interface.
    pub limiter: Limiter,
    /// Of the management API. Starts empty with the process.
    pub management_limiter: Limiter<Account>,
    /// Of operations with a limit of their own. Starts empty with the process.
    pub operation_limiter: Limiter<(Account, Operation)>,
    /// Of calls with a key from outside its networks. Starts empty with the process.
    pub wrong_network_limiter: Limiter,
    hasher: Hasher,
    throttle: Throttle,
    token_key: TokenKey,
    sealer: Sealer,
    /// `None`: people sign in with passwords alone.
    oidc: Option<Oidc>,
    audit: AuditTally,
}

/// What the key that signs session tokens is for.
const SESSIONS: &str = "posture sessions 1";

impl Access {
    /// Loads keys, users and counters.
    ///
    /// # Errors
    /// `Internal` if the database cannot be read.
    pub fn load(snapshot: &Snapshot, sealer: Sealer, oidc: Option<OidcOptions>) -> Result<Self> {
        let people = People::of(
            snapshot.list_users()?,
            snapshot.list_second_factors()?,
            snapshot.list_passkeys()?,
            snapshot.list_identities()?,
        );
        Ok(Self {
            keyring: Arc::new(Keyring::of(snapshot.list_keys()?)?),
            people: Arc::new(people),
            console_sessions: ConsoleSessions::of(snapshot.list_console_sessions()?),
            limiter: Limiter::resume(snapshot.list_windows()?),
            management_limiter: Limiter::default(),
            operation_limiter: Limiter::default(),
            wrong_network_limiter: Limiter::default(),
            hasher: Hasher::default(),
            throttle: Throttle::default(),
            token_key: TokenKey::of(sealer.derive(SESSIONS)),
            sealer,
            oidc: oidc.map(Oidc::of).transpose()?,
            audit: AuditTally::default(),
        })
    }
}
