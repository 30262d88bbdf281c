//! Path and query parameters: taken as text, so that who calls is settled before what they ask.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::str::FromStr;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use poem_openapi::types::{ParseFromParameter, ParseResult, Type};
use serde_json::json;

use crate::engine::asset::AssetType;
use crate::engine::catalog::FrameworkId;
use crate::engine::fact::Status;
use crate::engine::severity::Severity;
use crate::error::{Error, Result};
use crate::page::{Cut, LIMIT_DEFAULT, LIMIT_MAX};
use crate::store::global::task::TaskStatus;

/// A later offset is refused.
pub const OFFSET_MAX: u64 = 1_000_000_000;

/// What the document says of a parameter.
pub trait Described: Send + Sync + 'static {
    fn schema() -> MetaSchema;
}

/// A parameter as it was sent, documented as `D`.
#[derive(Clone, Debug)]
pub struct Raw<D> {
    pub text: String,
    described: PhantomData<D>,
}

impl<D: Described> Type for Raw<D> {
    const IS_REQUIRED: bool = true;
    type RawValueType = Self;
    type RawElementValueType = Self;

    fn name() -> Cow<'static, str> {
        "text".into()
    }

    fn schema_ref() -> MetaSchemaRef {
        MetaSchemaRef::Inline(Box::new(D::schema()))
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }

    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
        Box::new(std::iter::once(self))
    }
}

impl<D: Described> ParseFromParameter for Raw<D> {
    fn parse_from_parameter(text: &str) -> ParseResult<Self> {
        Ok(Self { text: text.to_owned(), described: PhantomData })
    }
}

macro_rules! described {
    ($(#[$doc:meta])* $name:ident, $schema:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name;

        impl Described for $name {
            fn schema() -> MetaSchema {
                $schema
            }
        }
    };
}

fn integer(default: u64, minimum: u64, maximum: Option<u64>) -> MetaSchema {
    let bound = |it: u64| u32::try_from(it).map_or(f64::MAX, f64::from);
    MetaSchema {
        default: Some(json!(default)),
        minimum: Some(bound(minimum)),
        maximum: maximum.map(bound),
        ..MetaSchema::new("integer")
    }
}

fn one_of(words: impl IntoIterator<Item = &'static str>) -> MetaSchema {
    let enum_items = words.into_iter().map(|it| json!(it)).collect();
    MetaSchema { enum_items, ..MetaSchema::new("string") }
}

described!(
    /// A UUID in the path.
    Id,
    MetaSchema::new_with_format("string", "uuid")
);
described!(
    /// Any text.
    Text,
    MetaSchema::new("string")
);
described!(
    /// Rows of a page.
    Limit,
    integer(u64::from(LIMIT_DEFAULT), 1, Some(u64::from(LIMIT_MAX)))
);
described!(
    /// Entries of the score history.
    HistoryLimit,
    integer(u64::from(HISTORY_DEFAULT), 1, Some(u64::from(LIMIT_MAX)))
);
described!(
    /// Rows to pass over.
    Offset,
    integer(0, 0, Some(OFFSET_MAX))
);
described!(
    /// A place in the event log.
    Sequence,
    integer(0, 0, None)
);
described!(
    /// The contract's `AssetType`.
    AssetTypeWord,
    one_of(AssetType::ALL.map(AssetType::as_str))
);
described!(
    /// The only allowed value is `true`.
    TrueWord,
    one_of(["true"])
);
described!(
    /// A risk's severity.
    SeverityWord,
    one_of(Severity::ALL.map(Severity::as_str))
);
described!(
    /// How far a remediation task is.
    TaskStatusWord,
    one_of(TaskStatus::ALL.map(TaskStatus::as_str))
);
described!(
    /// One of the framework identifiers.
    FrameworkWord,
    one_of(FrameworkId::ALL.map(FrameworkId::as_str))
);
described!(
    /// The contract's `ComplianceStatus`.
    StatusWord,
    one_of(Status::ALL.map(Status::as_str))
);
described!(
    /// Which rows of a framework.
    LevelWord,
    one_of(["requirement", "detail"])
);

/// Entries of the score history when the caller does not say.
pub const HISTORY_DEFAULT: u32 = 30;

impl Raw<Id> {
    /// # Errors
    /// `NotFound`: what is not an id names nothing.
    pub fn read<T: FromStr<Err = Error>>(&self) -> Result<T> {
        self.text.parse()
    }
}

fn number(name: &str, text: &str, rule: &str) -> Result<u64> {
    // `+5` and the like parse as numbers elsewhere; the contract's integers are digits.
    if text.is_empty() || !text.bytes().all(|it| it.is_ascii_digit()) {
        return Err(Error::invalid_field(name, rule));
    }
    text.parse().map_err(|_| Error::invalid_field(name, rule))
}

fn limit(text: Option<&str>, default: u32) -> Result<u32> {
    let rule = format!("must be an integer from 1 to {LIMIT_MAX}");
    let Some(text) = text else { return Ok(default) };
    let limit = number("limit", text, &rule)?;
    match u32::try_from(limit) {
        Ok(limit @ 1..=LIMIT_MAX) => Ok(limit),
        _ => Err(Error::invalid_field("limit", rule)),
    }
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn cut(given_limit: Option<&Raw<Limit>>, given_offset: Option<&Raw<Offset>>) -> Result<Cut> {
    let limit = limit(given_limit.map(|it| it.text.as_str()), LIMIT_DEFAULT)?;
    let rule = format!("must be an integer from 0 to {OFFSET_MAX}");
    let offset = given_offset.map_or(Ok(0), |it| number("offset", &it.text, &rule))?;
    if OFFSET_MAX < offset {
        return Err(Error::invalid_field("offset", rule));
    }
    Ok(Cut { limit, offset })
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn after(given: Option<&Raw<Sequence>>) -> Result<u64> {
    let rule = "must be a sequence: an integer from 0";
    given.map_or(Ok(0), |it| number("after", &it.text, rule))
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn before(given: Option<&Raw<Sequence>>) -> Result<Option<u64>> {
    let rule = "must be a sequence: an integer from 0";
    given.map(|it| number("before", &it.text, rule)).transpose()
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn n_history(given: Option<&Raw<HistoryLimit>>) -> Result<u32> {
    limit(given.map(|it| it.text.as_str()), HISTORY_DEFAULT)
}

fn word<T: Copy>(name: &str, text: &str, all: &[T], as_str: fn(T) -> &'static str) -> Result<T> {
    all.iter().copied().find(|it| as_str(*it) == text).ok_or_else(|| {
        let known = all.iter().map(|it| as_str(*it)).collect::<Vec<_>>().join(", ");
        Error::invalid_field(name, format!("must be one of {known}"))
    })
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn asset_type(given: Option<&Raw<AssetTypeWord>>) -> Result<Option<AssetType>> {
    let read = |it: &Raw<_>| word("assetType", &it.text, &AssetType::ALL, AssetType::as_str);
    given.map(read).transpose()
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn severity(given: Option<&Raw<SeverityWord>>) -> Result<Option<Severity>> {
    let read = |it: &Raw<_>| word("severity", &it.text, &Severity::ALL, Severity::as_str);
    given.map(read).transpose()
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn task_status(given: Option<&Raw<TaskStatusWord>>) -> Result<Option<TaskStatus>> {
    let read = |it: &Raw<_>| word("status", &it.text, &TaskStatus::ALL, TaskStatus::as_str);
    given.map(read).transpose()
}

/// A framework in the query: it has to be there.
///
/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn framework(given: Option<&Raw<FrameworkWord>>) -> Result<FrameworkId> {
    let known = || {
        let all = FrameworkId::ALL.map(FrameworkId::as_str).join(", ");
        Error::invalid_field("framework", format!("must be one of {all}"))
    };
    given.and_then(|it| it.text.parse().ok()).ok_or_else(known)
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn status(given: Option<&Raw<StatusWord>>) -> Result<Option<Status>> {
    let read = |it: &Raw<_>| word("status", &it.text, &Status::ALL, Status::as_str);
    given.map(read).transpose()
}

/// An id in the query: unlike one in the path, one that names nothing is a mistake.
///
/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn id<T: FromStr<Err = Error>>(name: &str, given: Option<&Raw<Id>>) -> Result<Option<T>> {
    let bad = |_| Error::invalid_field(name, "must be a UUID");
    given.map(|it| it.text.parse().map_err(bad)).transpose()
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn only_true(name: &str, given: Option<&Raw<TrueWord>>) -> Result<bool> {
    match given.map(|it| it.text.as_str()) {
        None => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Error::invalid_field(name, "the only allowed value is true")),
    }
}
