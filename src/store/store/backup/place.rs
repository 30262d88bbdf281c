//! Where a row is, in words: its table, the client that it belongs to, and its key.

use std::fmt::Write as _;

use crate::id::ClientId;
use crate::store::global::client::Client;
use crate::store::kernel::transaction::{Reading, Rows};
use crate::store::table::{CLIENTS, EXTERNAL, FACTS, HISTORY, POSTURE, PerClient};

/// Longer keys are cut off.
const KEY_CHARS_MAX: usize = 200;

/// Where a row is.
pub(super) struct Place {
    /// `facts: observation` or `keys`.
    pub(super) table: String,
    /// The client that the table belongs to. `None`: a global table.
    pub(super) client: Option<ClientId>,
    /// `None`: a global table, or the client's own row cannot be read.
    pub(super) client_name: Option<String>,
    /// Empty: the whole table.
    pub(super) key: String,
}

impl Place {
    pub(super) fn of(rows: &Reading, table: &str, key: &[u8]) -> Self {
        let Some((client, noun)) = PerClient::parse(table) else {
            return Self {
                table: table.to_owned(),
                client: None,
                client_name: None,
                key: key_text(key),
            };
        };
        let found = rows.find_row::<Client>(CLIENTS, client.as_bytes());
        let (table, rest) = match (kind_of(noun, key.first()), key.split_first()) {
            (Some(kind), Some((_, rest))) => (format!("{noun}: {kind}"), rest),
            (None, _) | (_, None) => (noun.to_owned(), key),
        };
        Self {
            table,
            client: Some(client),
            client_name: found.ok().flatten().map(|it| it.name),
            key: key_text(rest),
        }
    }

    /// As part of a sentence.
    pub(super) fn words(&self) -> String {
        let of = match (&self.client, &self.client_name) {
            (Some(id), Some(name)) => format!(" of client `{name}` ({id})"),
            (Some(id), None) => format!(" of client {id}"),
            (None, _) => String::new(),
        };
        format!("table `{}`{of}, key {}", self.table, self.key)
    }
}

/// What the rows of a per-client table are whose key begins with this byte. See `table.rs`.
fn kind_of(noun: &str, kind: Option<&u8>) -> Option<&'static str> {
    let external = [
        "name",
        "serial number",
        "MAC address",
        "host name",
        "IP address",
        "new device",
        "stale device",
        "first push",
    ];
    let facts = [
        "version",
        "observation",
        "attestation",
        "decision",
        "import",
        "import time",
        "import digest",
        "source",
        "evidence",
        "evidence source",
        "import count",
    ];
    let facts_of_sources = [
        "member",
        "part",
        "source health",
        "run",
        "step",
        "uncounted import",
        "complete read",
        "account list",
    ];
    let posture = [
        "assessment",
        "score",
        "control",
        "framework",
        "risk",
        "touched subject",
        "condition",
        "summary event",
        "summarized",
        "expected loss",
        "framework digest",
        "references",
    ];
    let nouns: &[&str] = match noun {
        _ if noun == EXTERNAL.noun() => &external,
        _ if noun == FACTS.noun() => &facts,
        _ if noun == POSTURE.noun() => &posture,
        _ if noun == HISTORY.noun() => &["day", "move"],
        _ => return None,
    };
    let kind = usize::from(*kind?);
    if noun == FACTS.noun() && FIRST_OF_SOURCES <= kind {
        return facts_of_sources.get(kind - FIRST_OF_SOURCES).copied();
    }
    nouns.get(kind.checked_sub(1)?).copied()
}

/// The first kind of facts that sources report completely.
const FIRST_OF_SOURCES: usize = 20;

/// A key as people read it: ids, numbers and words where it consists of them, else with escapes.
fn key_text(key: &[u8]) -> String {
    let id = |it: &[u8]| -> Option<String> {
        Some(uuid::Uuid::from_bytes(it.try_into().ok()?).hyphenated().to_string())
    };
    let number = |it: &[u8]| Some(u64::from_be_bytes(it.try_into().ok()?).to_string());
    let is_text = !key.is_empty() && key.iter().all(|it| (b' '..=b'~').contains(it));
    let shown = match key.len() {
        _ if is_text => None,
        8 => number(key),
        16 => id(key),
        24 => id(&key[..16]).zip(number(&key[16..])).map(|(id, number)| format!("{id} {number}")),
        32 => id(&key[..16]).zip(id(&key[16..])).map(|(one, other)| format!("{one} {other}")),
        _ => None,
    };
    shown.unwrap_or_else(|| {
        let mut text = String::new();
        write!(text, "{}", key.escape_ascii()).expect("writing to a String does not fail");
        text.chars().take(KEY_CHARS_MAX).collect()
    })
}
