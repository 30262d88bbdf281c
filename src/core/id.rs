//! Identifiers. A value of one of these types is a valid UUID of that kind of thing.

use std::fmt;
use std::str::FromStr;

use bincode::{Decode, Encode};
use uuid::Uuid;

use crate::clock::Time;
use crate::error::Error;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $noun:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
        pub struct $name([u8; 16]);

        impl $name {
            /// Makes a random id, which cannot be guessed.
            #[must_use]
            pub fn random() -> Self {
                Self(Uuid::new_v4().into_bytes())
            }

            /// Makes an id that sorts after those made before `now` (`UUIDv7`), with 74 random bits.
            #[must_use]
            pub fn made_at(now: Time) -> Self {
                let ms = u64::try_from(now.micros() / 1_000).expect("a Time is not negative");
                let mut noise = [0; 10];
                noise.copy_from_slice(&Uuid::new_v4().as_bytes()[..10]);
                Self(uuid::Builder::from_unix_timestamp_millis(ms, &noise).into_uuid().into_bytes())
            }

            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }

        /// Lower-case and hyphenated.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Uuid::from_bytes(self.0).hyphenated().fmt(f)
            }
        }

        /// Takes the hyphenated form only, in either case.
        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let bad = || Error::not_found(concat!($noun, " not found"));
                if text.len() != 36 {
                    return Err(bad());
                }
                Uuid::try_parse(text).map(|it| Self(it.into_bytes())).map_err(|_| bad())
            }
        }
    };
}

uuid_id!(
    /// Names one client organization, the unit of tenancy.
    ClientId,
    "client"
);

impl ClientId {
    /// The owner of assets that scans without a client found. It is not a client: it has no profile and no other rows.
    pub const UNASSIGNED: Self = Self([0; 16]);
}

uuid_id!(
    /// Names one asset. Made by the store's writer as a `UUIDv7`, strictly rising.
    AssetId,
    "asset"
);
uuid_id!(
    /// Names one user.
    UserId,
    "user"
);
uuid_id!(
    /// Names one passkey of a user. A `UUIDv7`, so ids sort by creation.
    PasskeyId,
    "passkey"
);
uuid_id!(
    /// Names one API key. Stays when the key is rotated.
    KeyId,
    "key"
);
uuid_id!(
    /// Names one import of a file.
    ImportId,
    "import"
);
uuid_id!(
    /// Names one piece of evidence. Stays when it is renewed.
    EvidenceId,
    "evidence"
);
uuid_id!(
    /// Names one risk as long as its condition exists.
    RiskId,
    "risk"
);
uuid_id!(
    /// Names one security score.
    ScoreId,
    "score"
);
uuid_id!(
    /// Names one event.
    EventId,
    "event"
);

impl EventId {
    /// Returns the form that the wire uses: `evt_` and 32 hexadecimal digits.
    #[must_use]
    pub fn wire(&self) -> String {
        format!("evt_{}", Uuid::from_bytes(self.0).simple())
    }
}

uuid_id!(
    /// Names one remediation task. A `UUIDv7`, so ids sort by creation.
    TaskId,
    "task"
);
uuid_id!(
    /// Names one network scan. A `UUIDv7`, so ids sort by creation.
    ScanId,
    "scan"
);
uuid_id!(
    /// Names statements that were made together. A `UUIDv7`, so ids sort by creation.
    BatchId,
    "batch"
);
impl BatchId {
    /// No id of that moment or later is less.
    #[must_use]
    pub fn first_of(time: Time) -> Self {
        let ms = u64::try_from(time.micros() / 1_000).unwrap_or(0).to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&ms[2..]);
        Self(bytes)
    }
}

uuid_id!(
    /// Names one decision about subjects of a control. A `UUIDv7`, so ids sort by creation.
    SubjectDecisionId,
    "decision"
);
uuid_id!(
    /// Names one ingestion of findings. A `UUIDv7`, so ids sort by creation.
    IngestionId,
    "ingestion"
);
uuid_id!(
    /// Names one connection. Stays when its settings change. A `UUIDv7`, so ids sort by creation.
    ConnectionId,
    "connection"
);

uuid_id!(
    /// Names one schedule of a report. A `UUIDv7`, so ids sort by creation.
    ReportScheduleId,
    "report schedule"
);
uuid_id!(
    /// Names one alert rule.
    AlertRuleId,
    "alert rule"
);
uuid_id!(
    /// Names one webhook endpoint. Stays when its secret is rotated.
    WebhookId,
    "webhook"
);
