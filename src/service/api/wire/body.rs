//! Request bodies. The handler parses them, so that it decides the order of checks.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use poem::http::header;
use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::problem::Failure;
use super::reply::Null;
use super::schema::{self, Example};
use crate::encoding;
use crate::error::{Error, Result};
use crate::store::global::audit::PendingAct;
use crate::text::line;

/// A longer JSON body is refused.
pub const BODY_BYTES_MAX: usize = 64 * 1024;
/// Deeper nesting of arrays and objects is refused.
pub const JSON_DEPTH_MAX: usize = 32;
/// Of a longer name of a charset, the rest is not shown.
const CHARSET_CHARS_MAX: usize = 40;

/// The bytes of a JSON body that the document describes as `Doc`; more than `BYTES_MAX` are refused. Larger bodies, which are
/// not kept in memory while they arrive, are [`super::upload::LargeBody`].
pub struct Body<Doc, const BYTES_MAX: usize = BODY_BYTES_MAX> {
    bytes: Bytes,
    doc: PhantomData<Doc>,
}

impl<Doc, const BYTES_MAX: usize> Body<Doc, BYTES_MAX> {
    /// Reads the body as what it is documented as.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(&self) -> Result<Doc>
    where
        Doc: DeserializeOwned,
    {
        read(&self.bytes)
    }
}

/// Reads bytes as a JSON object.
///
/// # Errors
/// `Invalid` with the field that breaks a rule: a wrong type, null where it is not allowed, a duplicate or unknown field.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let text = encoding::text(bytes)
        .map_err(|_| Error::invalid_field(WHOLE, format!("is not UTF-8; {TO_SEND_UTF8}")))?;
    check_shape(text.as_bytes())?;
    let text = with_plain_integers(text);
    let mut json = serde_json::Deserializer::from_str(&text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        refused(&path, &error.into_inner())
    })?;
    json.end().map_err(|error| refused(WHOLE, &error))?;
    Ok(value)
}

/// What an error calls the body if no single field is to blame.
const WHOLE: &str = "body";
/// Windows PowerShell sends a text as ISO-8859-1.
const TO_SEND_UTF8: &str = "send UTF-8 with Content-Type: application/json, in Windows PowerShell with \
                            -Body ([Text.Encoding]::UTF8.GetBytes($json))";

/// serde's rules about a field that it reports for the object around it, and our words for them.
const OF_A_MEMBER: [(&str, &str); 2] =
    [("missing field `", "is required"), ("duplicate field `", "is a duplicate")];

/// An error that names the field.
fn refused(path: &str, error: &serde_json::Error) -> Error {
    let text = error.to_string();
    if matches!(error.classify(), Category::Syntax | Category::Eof) {
        let place = text.rsplit_once(" at line ").map(|it| format!(" at line {}", it.1));
        return Error::invalid_field(
            WHOLE,
            format!("is not valid JSON{}", place.unwrap_or_default()),
        );
    }
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |it| it.0);
    for (start, rule) in OF_A_MEMBER {
        let Some(name) = text.strip_prefix(start).and_then(|it| it.strip_suffix('`')) else {
            continue;
        };
        let field = if path == "." { name.to_owned() } else { format!("{path}.{name}") };
        return Error::invalid_field(field, rule);
    }
    Error::invalid_field(if path == "." { WHOLE } else { path }, plain(text))
}

/// serde's sentence with JSON's types instead of Rust's.
fn plain(text: &str) -> String {
    let Some((found, expected)) = text.rsplit_once(", expected ") else { return text.to_owned() };
    if found.starts_with("unknown variant `") {
        return format!("must be {}", expected.replace('`', ""));
    }
    let expected = match expected {
        "u8" => "an integer from 0 to 255",
        "u16" => "an integer from 0 to 65535",
        "u32" => "an integer from 0 to 4294967295",
        "u64" => "an integer from 0 to 18446744073709551615",
        "i64" => "an integer",
        "a sequence" => "an array",
        "a map" => "an object",
        other => other,
    };
    format!("{found}, expected {expected}")
}

/// Refuses what is not an object, and what is nested too deep.
fn check_shape(bytes: &[u8]) -> Result<()> {
    let start = bytes.iter().find(|it| !it.is_ascii_whitespace());
    if start != Some(&b'{') {
        return Err(Error::invalid_field(WHOLE, "must be a JSON object"));
    }
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in bytes {
        match (in_text, escaped, byte) {
            (true, true, _) => escaped = false,
            (true, false, b'\\') => escaped = true,
            (_, _, b'"') => in_text = !in_text,
            (false, _, b'{' | b'[') => depth += 1,
            (false, _, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => (),
        }
        if JSON_DEPTH_MAX < depth {
            let rule = format!("is nested deeper than {JSON_DEPTH_MAX} levels");
            return Err(Error::invalid_field(WHOLE, rule));
        }
    }
    Ok(())
}

/// Writes whole numbers such as `40.0`, as PowerShell and spreadsheets write them, as integers. `40.5` and `4e1` stay as
/// they are.
fn with_plain_integers(json: &str) -> Cow<'_, str> {
    let is_of_number = |it: &u8| it.is_ascii_digit() || b"+-.eE".contains(it);
    let bytes = json.as_bytes();
    let (mut plain, mut n_written) = (String::new(), 0);
    let (mut at, mut in_text) = (0, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if in_text => at += 1,
            b'"' => in_text = !in_text,
            it if !in_text && is_of_number(it) => {
                let n = bytes[at..].iter().take_while(|it| is_of_number(it)).count();
                if let Some(n_whole) = whole_part(&json[at..at + n]) {
                    plain.push_str(&json[n_written..at + n_whole]);
                    n_written = at + n;
                }
                at += n - 1;
            }
            _ => (),
        }
        at += 1;
    }
    if n_written == 0 {
        return Cow::Borrowed(json);
    }
    plain.push_str(&json[n_written..]);
    Cow::Owned(plain)
}

/// How long the whole part of a number is of which the rest is `.0`, or so many zeros. `None`: it is another number, or none.
fn whole_part(number: &str) -> Option<usize> {
    let (whole, rest) = number.split_once('.')?;
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let is_whole = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    let is_zero = !rest.is_empty() && rest.bytes().all(|it| it == b'0');
    (is_whole && is_zero).then_some(whole.len())
}

impl<'a, Doc: JsonSchema + Example + Send, const BYTES_MAX: usize> ApiExtractor<'a>
    for Body<Doc, BYTES_MAX>
{
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        schema::register_body::<Doc>(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        Some(json_meta::<Doc>())
    }

    async fn from_request(
        request: &'a Request,
        body: &mut RequestBody,
        _: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        check_content_type(request).map_err(Failure::from)?;
        let body: http_body_util::combinators::BoxBody<Bytes, std::io::Error> = body.take()?.into();
        let bytes = collect(body, BYTES_MAX).await.map_err(Failure::from)?;
        let act = request.data::<PendingAct>().filter(|it| it.has_actor());
        if let Some(act) = act {
            act.set_fields(member_names(&bytes));
        }
        Ok(Self { bytes, doc: PhantomData })
    }
}

/// How the document describes a JSON body.
pub(super) fn json_meta<Doc: JsonSchema>() -> MetaRequest {
    let content = vec![MetaMediaType {
        content_type: "application/json",
        schema: schema::reference::<Doc>(),
    }];
    MetaRequest { description: None, content, required: true }
}

/// Empty for what is not an object.
fn member_names(bytes: &[u8]) -> Vec<String> {
    let members =
        serde_json::from_slice::<BTreeMap<String, &RawValue>>(encoding::without_mark(bytes));
    members.map(|it| it.into_keys().collect()).unwrap_or_default()
}

async fn collect(
    body: http_body_util::combinators::BoxBody<Bytes, std::io::Error>,
    bytes_max: usize,
) -> Result<Bytes> {
    let collected = Limited::new(body, bytes_max).collect().await;
    collected.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            return Error::too_large(format!("the body is larger than {bytes_max} bytes"));
        }
        Error::invalid_field(WHOLE, "did not arrive completely; send it again").caused_by(error)
    })
}

/// # Errors
/// `UnsupportedMediaType` if the body is not sent as JSON, or not as UTF-8.
pub fn check_content_type(request: &Request) -> Result<()> {
    let given = request.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let mut parts = given.unwrap_or_default().split(';').map(str::trim);
    if !parts.next().is_some_and(|it| it.eq_ignore_ascii_case("application/json")) {
        let rule = "send the body with Content-Type: application/json";
        return Err(Error::unsupported_media_type(rule));
    }
    let named = parts.find_map(|it| {
        let (name, value) = it.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"').to_ascii_lowercase())
    });
    match named.as_deref() {
        None | Some("utf-8" | "utf8" | "us-ascii") => Ok(()),
        Some(other) => {
            let other = line(other, CHARSET_CHARS_MAX);
            let rule = format!("a body in {other} is not accepted; {TO_SEND_UTF8}");
            Err(Error::unsupported_media_type(rule))
        }
    }
}

/// A field that may be absent but not null.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    json: D,
) -> std::result::Result<Option<T>, D::Error> {
    T::deserialize(json).map(Some)
}

/// A field that must be there and may be null.
pub fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    json: D,
) -> std::result::Result<Null<T>, D::Error> {
    Option::<T>::deserialize(json).map(Null)
}

/// A field of a change. `None`: it is absent. `Some(None)`: it is null, which clears what it names.
#[derive(Clone, Debug)]
pub struct Change<T>(pub Option<Option<T>>);

impl<T> Default for Change<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> std::result::Result<Self, D::Error> {
        Option::deserialize(json).map(|it| Self(Some(it)))
    }
}

impl<T: JsonSchema> JsonSchema for Change<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schema::or_null::<T>(generator)
    }
}

/// The example of a body in the document. It is read as a request would be, so that it cannot be wrong.
macro_rules! example {
    ($body:ty, $json:tt) => {
        impl $crate::api::wire::schema::Example for $body {
            fn example() -> serde_json::Value {
                let example = serde_json::json!($json);
                let _: Self =
                    serde_json::from_value(example.clone()).expect("an example is a valid body");
                example
            }
        }
    };
}
pub(in crate::api) use example;
