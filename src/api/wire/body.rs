//! Request bodies, parsed when the handler asks, so that the order of checks is the handler's.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use poem::http::header;
use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::api::wire::problem::Failure;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::store::global::audit;

/// A longer JSON body is refused.
pub const BODY_BYTES_MAX: usize = 64 * 1024;
/// Deeper nesting of arrays and objects is refused.
pub const JSON_DEPTH_MAX: usize = 32;

/// The bytes of a JSON body that the document describes as `Doc`, at most so many.
pub struct Body<Doc, const BYTES_MAX: usize = BODY_BYTES_MAX> {
    bytes: Bytes,
    doc: PhantomData<Doc>,
}

impl<Doc, const BYTES_MAX: usize> Body<Doc, BYTES_MAX> {
    /// SHA-256 of the bytes.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.bytes).into()
    }

    /// Reads the body as an object.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule: a wrong type, null where it is not allowed, a key twice.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        read(&self.bytes)
    }
}

/// Reads bytes as an object.
///
/// # Errors
/// As [`Body::read`].
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    check_shape(bytes)?;
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        refused(&path, plain(&error.into_inner()))
    })?;
    json.end().map_err(|error| Error::invalid_field(WHOLE, plain(&error)))?;
    Ok(value)
}

/// What a refusal calls the body when no single field is to blame.
const WHOLE: &str = "body";

/// What serde says of a field that it tells of where it knows the object alone, and what we say.
const OF_A_MEMBER: [(&str, &str); 2] =
    [("missing field `", "is required"), ("duplicate field `", "comes more than once")];

/// A refusal that names the field.
fn refused(path: &str, message: String) -> Error {
    for (start, rule) in OF_A_MEMBER {
        let Some(name) = message.strip_prefix(start).and_then(|it| it.strip_suffix('`')) else {
            continue;
        };
        let field = if path == "." { name.to_owned() } else { format!("{path}.{name}") };
        return Error::invalid_field(field, rule);
    }
    Error::invalid_field(if path == "." { WHOLE } else { path }, message)
}

/// serde's sentence without our types' names.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    text.replace("u32", "an integer from 0 to 4294967295").replace("i64", "an integer")
}

/// A member that is a moment.
///
/// # Errors
/// `Invalid` with the field.
pub fn time(field: &str, text: &str) -> Result<Time> {
    text.parse().map_err(|error: Error| error.about(field))
}

/// The member `clientIds`: each once, in id order.
///
/// # Errors
/// `Invalid` with what is no id.
pub fn client_ids(texts: &[String]) -> Result<Vec<ClientId>> {
    let client = |it: &String| {
        let rule = format!("`{it}` is not a client id");
        it.parse().map_err(|_| Error::invalid_field("clientIds", rule))
    };
    let mut ids = texts.iter().map(client).collect::<Result<Vec<ClientId>>>()?;
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Refuses what is not an object, and what nests too deep.
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
            let rule = format!("nests deeper than {JSON_DEPTH_MAX}");
            return Err(Error::invalid_field(WHOLE, rule));
        }
    }
    Ok(())
}

impl<'a, Doc: Type + Send, const BYTES_MAX: usize> ApiExtractor<'a> for Body<Doc, BYTES_MAX> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        Doc::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        let content =
            vec![MetaMediaType { content_type: "application/json", schema: Doc::schema_ref() }];
        Some(MetaRequest { description: None, content, required: true })
    }

    async fn from_request(
        request: &'a Request,
        body: &mut RequestBody,
        _: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        check_content_type(request).map_err(Failure::from)?;
        let body: http_body_util::combinators::BoxBody<Bytes, std::io::Error> = body.take()?.into();
        let bytes = collect(body, BYTES_MAX).await.map_err(Failure::from)?;
        if BYTES_MAX <= BODY_BYTES_MAX && audit::is_named() {
            audit::name_fields(member_names(&bytes));
        }
        Ok(Self { bytes, doc: PhantomData })
    }
}

/// None for what is no object.
fn member_names(bytes: &[u8]) -> Vec<String> {
    let members = serde_json::from_slice::<BTreeMap<String, &RawValue>>(bytes);
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
        Error::invalid_field(WHOLE, "did not arrive whole").caused_by(error)
    })
}

fn check_content_type(request: &Request) -> Result<()> {
    let given = request.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = given.and_then(|it| it.split(';').next()).map(str::trim);
    if essence.is_some_and(|it| it.eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    Err(Error::unsupported_media_type("send the body with Content-Type: application/json"))
}

/// A field that may be absent but not null.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    json: D,
) -> std::result::Result<Option<T>, D::Error> {
    T::deserialize(json).map(Some)
}

/// A field that may be absent (`None`) or null (`Some(None)`).
pub fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    json: D,
) -> std::result::Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(json).map(Some)
}
