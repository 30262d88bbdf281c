//! Values as the wire shows them: moments, ids, words, free JSON.

use std::borrow::Cow;
use std::fmt;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::clock::Time;
use crate::engine::asset::{AssetStatus, AssetType};
use crate::engine::catalog::Level;
use crate::engine::fact::Status;
use crate::engine::posture::SourceType;
use crate::engine::severity::Severity;
use crate::store::global::task::TaskStatus;

macro_rules! shown_type {
    ($name:ident, $title:literal, $schema:expr) => {
        impl Type for $name {
            const IS_REQUIRED: bool = true;
            type RawValueType = Self;
            type RawElementValueType = Self;

            fn name() -> Cow<'static, str> {
                $title.into()
            }

            fn schema_ref() -> MetaSchemaRef {
                MetaSchemaRef::Inline(Box::new($schema))
            }

            fn as_raw_value(&self) -> Option<&Self> {
                Some(self)
            }

            fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
                Box::new(std::iter::once(self))
            }
        }

        /// poem-openapi's `Object` asks for this of every field; bodies are read by serde, so nothing calls it.
        impl ParseFromJSON for $name {
            fn parse_from_json(_: Option<Value>) -> ParseResult<Self> {
                Err(ParseError::custom("is only shown"))
            }
        }
    };
}

macro_rules! shown_text {
    ($name:ident, $title:literal, $schema:expr) => {
        shown_type!($name, $title, $schema);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }

        impl ToJSON for $name {
            fn to_json(&self) -> Option<Value> {
                Some(Value::String(self.0.to_string()))
            }
        }
    };
}

/// RFC 3339, UTC, `Z`, milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct When(pub Time);
shown_text!(When, "when", MetaSchema::new_with_format("string", "date-time"));

/// A UUID in lower case with hyphens.
#[derive(Clone, Copy, Debug)]
pub struct Uid(uuid::fmt::Hyphenated);
shown_text!(Uid, "uid", MetaSchema::new_with_format("string", "uuid"));

impl Uid {
    pub fn of(bytes: &[u8; 16]) -> Self {
        Self(uuid::Uuid::from_bytes(*bytes).hyphenated())
    }
}

/// A JSON object of no fixed shape.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Free(pub Value);
shown_type!(Free, "object", MetaSchema::new("object"));

impl ToJSON for Free {
    fn to_json(&self) -> Option<Value> {
        Some(self.0.clone())
    }
}

macro_rules! word {
    ($(#[$doc:meta])* $name:ident, $of:ty, $title:literal, $all:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(pub $of);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0.as_str())
            }
        }

        shown_type!($name, $title, {
            let enum_items = $all.iter().map(|it| json!(it.as_str())).collect();
            MetaSchema { enum_items, ..MetaSchema::new("string") }
        });

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.0.as_str())
            }
        }

        impl ToJSON for $name {
            fn to_json(&self) -> Option<Value> {
                Some(json!(self.0.as_str()))
            }
        }
    };
}

word!(
    /// The contract's `AssetType`.
    AssetTypeView, AssetType, "AssetType", AssetType::ALL
);
word!(
    /// An asset's status.
    AssetStatusView,
    AssetStatus,
    "AssetStatus",
    [AssetStatus::Active, AssetStatus::Stale, AssetStatus::Retired]
);
word!(
    /// The contract's `ComplianceStatus`.
    StatusView,
    Status,
    "ComplianceStatus",
    [
        Status::Compliant,
        Status::Partial,
        Status::NonCompliant,
        Status::NotAssessed,
        Status::NotApplicable,
    ]
);
word!(
    /// A risk's severity.
    SeverityView, Severity, "Severity", Severity::ALL
);
word!(
    /// What a risk rests on.
    SourceTypeView,
    SourceType,
    "SourceType",
    [SourceType::Control, SourceType::Finding, SourceType::Scan, SourceType::Manual]
);
word!(
    /// How far a remediation task is.
    TaskStatusView, TaskStatus, "TaskStatus", TaskStatus::ALL
);
word!(
    /// Whether a row is a requirement or a detail below one.
    LevelView, Level, "Level", [Level::Requirement, Level::Detail]
);
