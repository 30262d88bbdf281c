//! Path and query parameters. Handlers receive them as text, so that the caller is checked before the parameters.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::str::FromStr;

use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::{ParseError, ParseFromParameter, ParseResult, Type};
use schemars::JsonSchema;
use serde_json::json;

use super::framework::FrameworkName;
use super::schema;
use super::view::Word;
use crate::app::report::log::LogPart;
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::framework::Framework;
use crate::error::{Error, Result};
use crate::import::Format;
use crate::page::{Cut, LIMIT_DEFAULT, LIMIT_MAX};

/// A later offset is refused.
pub const OFFSET_MAX: u64 = 1_000_000_000;

/// What the document says about a parameter.
pub trait Described: Send + Sync + 'static {
    fn schema() -> MetaSchemaRef;

    fn register(_: &mut Registry) {}
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
        D::schema()
    }

    fn register(registry: &mut Registry) {
        D::register(registry);
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

/// A parameter without which the operation refuses the request. It may be absent here: the handler says so, after it
/// checked the caller.
#[derive(Clone, Debug)]
pub struct Needed<D>(pub Option<Raw<D>>);

impl<D: Described> Type for Needed<D> {
    const IS_REQUIRED: bool = true;
    type RawValueType = Raw<D>;
    type RawElementValueType = Raw<D>;

    fn name() -> Cow<'static, str> {
        Raw::<D>::name()
    }

    fn schema_ref() -> MetaSchemaRef {
        D::schema()
    }

    fn register(registry: &mut Registry) {
        D::register(registry);
    }

    fn as_raw_value(&self) -> Option<&Raw<D>> {
        self.0.as_ref()
    }

    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Raw<D>> + 'a> {
        Box::new(self.0.iter())
    }
}

impl<D: Described> ParseFromParameter for Needed<D> {
    fn parse_from_parameter(text: &str) -> ParseResult<Self> {
        Raw::parse_from_parameter(text).map(|it| Self(Some(it))).map_err(ParseError::propagate)
    }

    fn parse_from_parameters<I: IntoIterator<Item = A>, A: AsRef<str>>(
        given: I,
    ) -> ParseResult<Self> {
        let given = Option::<Raw<D>>::parse_from_parameters(given);
        given.map(Self).map_err(ParseError::propagate)
    }
}

macro_rules! described {
    ($(#[$doc:meta])* $name:ident, $schema:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name;

        impl Described for $name {
            fn schema() -> MetaSchemaRef {
                MetaSchemaRef::Inline(Box::new($schema))
            }
        }
    };
}

/// A word with a named schema.
impl<W: Word + JsonSchema + Send + Sync + 'static> Described for W {
    fn schema() -> MetaSchemaRef {
        schema::reference::<W>()
    }

    fn register(registry: &mut Registry) {
        schema::register_word::<W>(registry);
    }
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
/// Rows of a page of a list with a limit of its own.
#[derive(Clone, Debug)]
pub struct UpTo<const MAX: u32>;

impl<const MAX: u32> Described for UpTo<MAX> {
    fn schema() -> MetaSchemaRef {
        let schema = integer(u64::from(LIMIT_DEFAULT), 1, Some(u64::from(MAX)));
        MetaSchemaRef::Inline(Box::new(schema))
    }
}

described!(
    /// Entries of the score history.
    HistoryLimit,
    integer(u64::from(HISTORY_DEFAULT), 1, Some(u64::from(LIMIT_MAX)))
);
described!(
    /// Rows to skip.
    Offset,
    integer(0, 0, Some(OFFSET_MAX))
);
described!(
    /// Where a list continues: `next` of an answer, whose type it has, so that typed clients can send it back.
    Cursor,
    MetaSchema::new("string")
);
described!(
    /// A moment, or a day.
    Moment,
    MetaSchema::new("string")
);
described!(
    /// The only allowed value is `true`.
    TrueWord,
    one_of(["true"])
);

described!(
    /// `true` or `false`.
    YesOrNo,
    one_of(["true", "false"])
);

described!(
    /// The format of a file to import.
    FormatWord,
    one_of(Format::ALL.map(Format::as_str).into_iter().chain(["facts"]))
);

/// Entries of the score history if the caller sends no limit.
pub const HISTORY_DEFAULT: u32 = 30;

impl Raw<Id> {
    /// # Errors
    /// `NotFound` for a text that is not an id.
    pub fn read<T: FromStr<Err = Error>>(&self) -> Result<T> {
        self.text.parse()
    }
}

fn number(name: &str, text: &str, rule: &str) -> Result<u64> {
    // Rust also parses `+5`; the contract's integers are digits only.
    if text.is_empty() || !text.bytes().all(|it| it.is_ascii_digit()) {
        return Err(Error::invalid_field(name, rule));
    }
    text.parse().map_err(|_| Error::invalid_field(name, rule))
}

fn limit(text: Option<&str>, default: u32, max: u32) -> Result<u32> {
    let rule = format!("must be an integer from 1 to {max}");
    let Some(text) = text else { return Ok(default) };
    let limit = number("limit", text, &rule)?;
    let limit = u32::try_from(limit).ok().filter(|it| (1..=max).contains(it));
    limit.ok_or_else(|| Error::invalid_field("limit", rule))
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn limit_up_to<const MAX: u32>(given: Option<&Raw<UpTo<MAX>>>) -> Result<u32> {
    limit(given.map(|it| it.text.as_str()), LIMIT_DEFAULT, MAX)
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn cut(given_limit: Option<&Raw<Limit>>, given_offset: Option<&Raw<Offset>>) -> Result<Cut> {
    let limit = limit(given_limit.map(|it| it.text.as_str()), LIMIT_DEFAULT, LIMIT_MAX)?;
    let rule = format!("must be an integer from 0 to {OFFSET_MAX}");
    let offset = given_offset.map_or(Ok(0), |it| number("offset", &it.text, &rule))?;
    if OFFSET_MAX < offset {
        return Err(Error::invalid_field("offset", rule));
    }
    Ok(Cut { limit, offset })
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn after(given: Option<&Raw<Cursor>>) -> Result<u64> {
    let rule = "must be a sequence number: an integer of at least 0";
    given.map_or(Ok(0), |it| number("after", &it.text, rule))
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn before(given: Option<&Raw<Cursor>>) -> Result<Option<u64>> {
    let rule = "must be a sequence number: an integer of at least 0";
    given.map(|it| number("before", &it.text, rule)).transpose()
}

/// Reads the position that a list continues after. `read`: `None` if the text is none.
///
/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn position<T>(
    given: Option<&Raw<Cursor>>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>> {
    let bad = || Error::invalid_field("after", "must be `next` of the previous page");
    given.map(|it| read(&it.text).ok_or_else(bad)).transpose()
}

/// The beginning of a stretch of time: a moment, or the beginning of a day in UTC.
///
/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn from(name: &str, given: Option<&Raw<Moment>>) -> Result<Option<Time>> {
    given.map(|it| moment(name, &it.text).map(|(at, _)| at)).transpose()
}

/// The end of a stretch of time, which is not in it: a moment, or the end of a day in UTC.
///
/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn until(name: &str, given: Option<&Raw<Moment>>) -> Result<Option<Time>> {
    given.map(|it| moment(name, &it.text).map(|(at, days)| at.plus_days(days))).transpose()
}

/// A moment, and for how many days it stands.
fn moment(name: &str, text: &str) -> Result<(Time, i64)> {
    let day = || format!("{text}T00:00:00Z").parse().map(|it| (it, 1));
    text.parse().map(|it| (it, 0)).or_else(|_: Error| day()).map_err(|_| {
        let rule = "must be a date-time such as 2026-11-20T08:00:00Z, or a day such as 2026-11-20";
        no_moment(name, text, rule)
    })
}

/// The error about a moment of a query. A `+` that is not escaped arrives as a space.
pub fn no_moment(name: &str, text: &str, rule: &str) -> Error {
    if text.contains(' ') && text.replace(' ', "+").parse::<Time>().is_ok() {
        let shown = text.replace(' ', "%2B");
        return Error::invalid_field(name, format!("write + as %2B in a URL: {shown}"));
    }
    Error::invalid_field(name, rule)
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn n_history(given: Option<&Raw<HistoryLimit>>) -> Result<u32> {
    limit(given.map(|it| it.text.as_str()), HISTORY_DEFAULT, LIMIT_MAX)
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn word<W: Word>(name: &str, given: Option<&Raw<W>>) -> Result<Option<W>> {
    let read = |it: &Raw<W>| W::read(&it.text).ok_or_else(|| Error::invalid_field(name, W::rule()));
    given.map(read).transpose()
}

/// Words of a parameter that can be repeated. Empty: it was not sent.
///
/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn words<W: Word>(name: &str, given: Option<&Vec<Raw<W>>>) -> Result<Vec<W>> {
    let all = given.into_iter().flatten();
    all.map(|it| W::read(&it.text).ok_or_else(|| Error::invalid_field(name, W::rule()))).collect()
}

/// Returns true if a value is one of those that were asked for, or none were.
pub fn is_asked<W: PartialEq>(asked: &[W], value: &W) -> bool {
    asked.is_empty() || asked.contains(value)
}

/// A framework in the query, which is required.
///
/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn framework<'a>(
    catalog: &'a Catalog,
    given: Option<&Raw<FrameworkName>>,
) -> Result<&'a Framework> {
    let found = word("framework", given)?.and_then(|it| catalog.find_framework(it.0));
    found.ok_or_else(|| {
        let known: Vec<_> = catalog.frameworks.iter().map(|it| it.id.as_str()).collect();
        Error::invalid_field("framework", format!("must be one of {}", known.join(", ")))
    })
}

/// An id in the query. A text that is not an id is invalid here; in a path it is not found.
///
/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn id<T: FromStr<Err = Error>, D>(name: &str, given: Option<&Raw<D>>) -> Result<Option<T>> {
    let bad = |_| Error::invalid_field(name, "must be a UUID");
    given.map(|it| it.text.parse().map_err(bad)).transpose()
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn only_true(name: &str, given: Option<&Raw<TrueWord>>) -> Result<bool> {
    match given.map(|it| it.text.as_str()) {
        None => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Error::invalid_field(name, "must be true or absent")),
    }
}

/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn yes_or_no(name: &str, given: Option<&Raw<YesOrNo>>) -> Result<Option<bool>> {
    match given.map(|it| it.text.as_str()) {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(Error::invalid_field(name, "must be true or false")),
    }
}

/// The part of a log that `after` and `newest` ask for.
///
/// # Errors
/// `Invalid` with the parameter and its rule.
pub fn log_part(given: Option<&Raw<Cursor>>, newest: Option<&Raw<TrueWord>>) -> Result<LogPart> {
    if !only_true("newest", newest)? {
        return Ok(LogPart::After(after(given)?));
    }
    match given {
        None => Ok(LogPart::Newest),
        Some(_) => Err(Error::invalid_field("after", "must be absent with newest")),
    }
}
