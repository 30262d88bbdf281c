//! Sessions of the console. They are found in memory by the secret in the browser's cookie, of which only a digest is kept.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::clock::Time;
use crate::id::UserId;
use crate::secret::random;
use crate::store::global::console_session::{ConsoleSession, SessionDigest};

/// A session ends so long after its beginning, whatever happens.
pub const LIFE_S: i64 = 12 * 3_600;
/// A session ends if it is not used for so long.
pub const IDLE_S: i64 = 2 * 3_600;
/// What grants access to others needs a password that was given within so long.
pub const CONFIRMED_S: i64 = 15 * 60;
/// Sessions of one user at a time. The least recently used one ends for another.
pub const N_PER_USER_MAX: usize = 10;

/// Of the digest that forms carry.
const TOKEN_BYTES: usize = 32;

/// What a browser keeps of a session.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionSecret(String);

/// Shows nothing of the secret.
impl std::fmt::Debug for SessionSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionSecret")
    }
}

impl SessionSecret {
    #[must_use]
    pub fn generate() -> Self {
        Self(BASE64.encode(random::<32>()))
    }

    /// As a cookie has it. `None`: no session has such a secret.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let is_one = BASE64.decode(text).is_ok_and(|it| it.len() == 32);
        is_one.then(|| Self(text.to_owned()))
    }

    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn digest(&self) -> SessionDigest {
        Sha256::digest(format!("posture console session {}", self.0)).into()
    }

    /// What the forms of the session carry, so that no other site can send one. It is written in another way each time: pages
    /// are compressed, and the length of one that also shows what a request asked for would tell a token that stays the same,
    /// letter by letter (BREACH).
    #[must_use]
    pub fn form_token(&self) -> String {
        let mask = random::<TOKEN_BYTES>();
        BASE64.encode([mask, xor(self.form_digest(), mask)].concat())
    }

    /// Returns true for what [`SessionSecret::form_token`] made.
    #[must_use]
    pub fn is_form_token(&self, text: &str) -> bool {
        let bytes = BASE64.decode(text).unwrap_or_default();
        let Some((mask, masked)) = bytes.split_first_chunk::<TOKEN_BYTES>() else { return false };
        bool::from(xor(self.form_digest(), *mask).ct_eq(masked))
    }

    fn form_digest(&self) -> [u8; TOKEN_BYTES] {
        Sha256::digest(format!("posture console form {}", self.0)).into()
    }
}

fn xor(bytes: [u8; TOKEN_BYTES], mask: [u8; TOKEN_BYTES]) -> [u8; TOKEN_BYTES] {
    std::array::from_fn(|at| bytes[at] ^ mask[at])
}

/// What a session is called where it is listed. It opens nothing.
#[must_use]
pub fn session_id(session: &ConsoleSession) -> String {
    hex::encode(&session.digest[..8])
}

#[must_use]
pub fn is_live(session: &ConsoleSession, now: Time) -> bool {
    now.s_since(session.begun_at) < LIFE_S && now.s_since(session.used_at) < IDLE_S
}

/// The user proved to be there recently enough to grant access to others.
#[must_use]
pub fn is_confirmed(session: &ConsoleSession, now: Time) -> bool {
    now.s_since(session.confirmed_at) < CONFIRMED_S
}

/// All sessions in memory.
#[derive(Debug, Default)]
pub struct ConsoleSessions {
    all: RwLock<HashMap<SessionDigest, Arc<ConsoleSession>>>,
}

impl ConsoleSessions {
    #[must_use]
    pub fn of(sessions: Vec<ConsoleSession>) -> Self {
        let all = sessions.into_iter().map(|it| (it.digest, Arc::new(it))).collect();
        Self { all: RwLock::new(all) }
    }

    pub fn find(&self, digest: &SessionDigest) -> Option<Arc<ConsoleSession>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    pub fn put(&self, session: Arc<ConsoleSession>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(session.digest, session);
    }

    /// Replaces a session, unless it ended meanwhile.
    pub fn replace(&self, session: Arc<ConsoleSession>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.entry(session.digest).and_modify(|it| *it = session);
    }

    pub fn remove(&self, digest: &SessionDigest) {
        self.all.write().unwrap_or_else(PoisonError::into_inner).remove(digest);
    }

    /// The sessions of a user, the most recently used first.
    pub fn of_user(&self, user: UserId) -> Vec<Arc<ConsoleSession>> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let mut sessions: Vec<_> = all.values().filter(|it| it.user == user).cloned().collect();
        sessions.sort_by_key(|it| std::cmp::Reverse((it.used_at, it.digest)));
        sessions
    }

    /// The sessions that have ended by themselves.
    pub fn expired(&self, now: Time) -> Vec<SessionDigest> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.values().filter(|it| !is_live(it, now)).map(|it| it.digest).collect()
    }
}
