//! Credentials: what is accepted is what was issued, character for character.

use posture::auth::key::KeyText;
use posture::auth::keyring::{HeldKey, Keyring};
use posture::auth::token::{LIFE_S, TokenKey};
use posture::clock::Time;
use posture::id::{KeyId, UserId};
use posture::store::global::key::Key;

/// The one key that the keyring holds. It is in `seeds/key`.
const KEY: &str = include_str!("seeds/key/issued");
/// The one token that was issued, with [`SIGNING_KEY`] at [`ISSUED_AT_S`]. It is in `seeds/token`.
const TOKEN: &str = include_str!("seeds/token/issued");
const SIGNING_KEY: [u8; 32] = [7; 32];
const ISSUED_AT_S: i64 = 1_790_000_000;

pub fn key(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Some(parsed) = KeyText::parse(text) {
        assert_eq!(parsed.reveal(), text);
        assert!(text[8..].starts_with(parsed.prefix()));
        assert!(!format!("{parsed:?}").contains(&text[text.len() - 38..]), "the secret is hidden");
    }
    let is_accepted = ring().verify(text, Time::from_s(ISSUED_AT_S)).is_ok();
    assert_eq!(is_accepted, text == KEY, "{text}");
}

fn ring() -> Keyring {
    let text = KeyText::parse(KEY).expect("the key is well-formed");
    let key = Key {
        id: KeyId::from_bytes([1; 16]),
        prefix: text.prefix().to_owned(),
        name: "fuzz".to_owned(),
        scopes: Vec::new(),
        clients: Vec::new(),
        networks: Vec::new(),
        per_minute: 1,
        per_hour: 1,
        per_day: 1,
        expires_at: None,
        source: "fuzz".to_owned(),
        digest: text.digest(),
        previous: None,
        created_at: Time::EPOCH,
        revoked_at: None,
    };
    let ring = Keyring::default();
    ring.put(&HeldKey::of(key).expect("it has no networks"));
    ring
}

pub fn token(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let key = TokenKey::of(SIGNING_KEY);
    let session = key.verify(text, Time::from_s(ISSUED_AT_S));
    assert_eq!(session.is_some(), text == TOKEN, "{text}");
    let Some(session) = session else { return };
    assert_eq!((session.user, session.version), (UserId::from_bytes([2; 16]), 3));
    assert_eq!(session.expires_at.s(), ISSUED_AT_S + LIFE_S);
    assert!(key.verify(text, session.expires_at).is_none(), "it expires");
    assert!(TokenKey::of([8; 32]).verify(text, Time::from_s(ISSUED_AT_S)).is_none());
}
