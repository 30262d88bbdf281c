//! Successful answers: documented by their type, serialized by serde directly.

use std::borrow::Cow;
use std::marker::PhantomData;

use bytes::Bytes;
use futures_util::Stream;
use poem::http::{StatusCode, header};
use poem::{Body, IntoResponse, Response};
use poem_openapi::ApiResponse;
use poem_openapi::registry::{
    MetaHeader, MetaMediaType, MetaResponse, MetaResponses, MetaSchema, MetaSchemaRef, Registry,
};
use poem_openapi::types::Type;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::schema;
use crate::page;

/// The approximate size of a row, to reserve space: a body that grows step by step is copied each time.
const ROW_BYTES: usize = 384;

pub const JSON: &str = "application/json; charset=utf-8";
const NDJSON: &str = "application/x-ndjson";

/// The bytes of an answer and their tag.
#[derive(Clone, Debug)]
pub struct Rendered {
    pub body: Bytes,
    /// Quoted, as in the header.
    pub etag: header::HeaderValue,
}

#[derive(Serialize)]
struct Enveloped<'a, T> {
    data: &'a T,
}

#[derive(Serialize)]
struct Paged<'a, T> {
    data: &'a [T],
    pagination: Pagination,
}

#[derive(Serialize)]
struct Stretched<'a, T> {
    data: &'a [T],
    next: Option<&'a str>,
}

impl Rendered {
    /// `n_bytes`: the approximate length of the body.
    fn of(value: &impl Serialize, n_bytes: usize) -> Self {
        let mut body = Vec::with_capacity(n_bytes);
        serde_json::to_writer(&mut body, value)
            .expect("views have string keys and no failing parts");
        let etag = format!("\"{:032x}\"", xxh3_128(&body));
        let etag = header::HeaderValue::from_str(&etag).expect("hexadecimal digits are visible");
        Self { body: body.into(), etag }
    }

    /// `{"data": value}`.
    pub fn data<T: Serialize>(value: &T) -> Self {
        Self::of(&Enveloped { data: value }, ROW_BYTES)
    }

    /// `{"data": [...], "pagination": {...}}`.
    pub fn page<T: Serialize>(page: &page::Page<T>) -> Self {
        let page::Cut { limit, offset } = page.cut;
        let pagination = Pagination { total: page.total, limit, offset };
        let n_bytes = ROW_BYTES * (1 + page.items.len());
        Self::of(&Paged { data: &page.items, pagination }, n_bytes)
    }

    /// `{"data": [...], "next": ...}`.
    fn stretch<T: Serialize>(stretch: &page::Stretch<T>) -> Self {
        let shown = Stretched { data: &stretch.items, next: stretch.next.as_deref() };
        Self::of(&shown, ROW_BYTES * (1 + stretch.items.len()))
    }

    /// The answer to a GET. Only the caller may cache it, and must revalidate it each time.
    fn respond(self) -> Response {
        Response::builder()
            .content_type(JSON)
            .header(header::ETAG, self.etag)
            .header(header::CACHE_CONTROL, "private, no-cache")
            .body(self.body)
    }
}

/// Which rows of a list these are.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Pagination {
    /// Rows of the whole filtered list.
    pub total: u64,
    pub limit: u32,
    pub offset: u64,
}

/// `200 {"data": T}`.
pub struct Data<T> {
    rendered: Rendered,
    is_kept: bool,
    documented: PhantomData<T>,
}

impl<T> Data<T> {
    /// An answer that the caller may cache and revalidate.
    pub fn rendered(rendered: Rendered) -> Self {
        Self { rendered, is_kept: true, documented: PhantomData }
    }
}

impl<T> Data<T> {
    /// A complete answer that was given before.
    pub fn again(body: String) -> Self {
        let rendered =
            Rendered { body: body.into(), etag: header::HeaderValue::from_static("\"\"") };
        Self { rendered, is_kept: false, documented: PhantomData }
    }
}

impl<T: Serialize> Data<T> {
    /// A large answer, which the caller may cache and revalidate.
    pub fn kept(value: &T) -> Self {
        Self::rendered(Rendered::data(value))
    }

    /// An answer that must not be cached.
    pub fn of(value: &T) -> Self {
        Self { is_kept: false, ..Self::rendered(Rendered::data(value)) }
    }
}

impl<T: Send> IntoResponse for Data<T> {
    fn into_response(self) -> Response {
        if self.is_kept {
            return self.rendered.respond();
        }
        Response::builder()
            .content_type(JSON)
            .header(header::CACHE_CONTROL, "no-store")
            .body(self.rendered.body)
    }
}

fn object(properties: Vec<(&'static str, MetaSchemaRef)>) -> MetaSchemaRef {
    let required = properties.iter().map(|(name, _)| *name).collect();
    let schema = MetaSchema { required, properties, ..MetaSchema::new("object") };
    MetaSchemaRef::Inline(Box::new(schema))
}

fn array(items: MetaSchemaRef) -> MetaSchemaRef {
    let schema = MetaSchema { items: Some(Box::new(items)), ..MetaSchema::new("array") };
    MetaSchemaRef::Inline(Box::new(schema))
}

const LIMIT_HEADERS: [(&str, &str); 4] = [
    ("RateLimit-Limit", "The limit of the window that is closest to exhaustion."),
    ("RateLimit-Remaining", "Requests left in that window."),
    ("RateLimit-Reset", "Seconds until that window ends."),
    ("RateLimit-Policy", "All windows, as limit;w=seconds."),
];

pub(super) fn success(
    status: u16,
    description: &'static str,
    schema: MetaSchemaRef,
) -> MetaResponses {
    let header = |(name, description): (&str, &str)| MetaHeader {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        required: false,
        deprecated: false,
        schema: String::schema_ref(),
    };
    MetaResponses {
        responses: vec![MetaResponse {
            description,
            status: Some(status),
            status_range: None,
            content: vec![MetaMediaType { content_type: JSON, schema }],
            headers: LIMIT_HEADERS.into_iter().map(header).collect(),
        }],
    }
}

impl<T: JsonSchema> ApiResponse for Data<T> {
    fn meta() -> MetaResponses {
        success(200, "Success.", object(vec![("data", schema::reference::<T>())]))
    }

    fn register(registry: &mut Registry) {
        schema::register_answer::<T>(registry);
    }
}

/// `200 {"data": [T], "pagination": Pagination}`.
pub struct PageReply<T>(Rendered, PhantomData<T>);

impl<T> PageReply<T> {
    pub fn rendered(rendered: Rendered) -> Self {
        Self(rendered, PhantomData)
    }
}

impl<T: Send> IntoResponse for PageReply<T> {
    fn into_response(self) -> Response {
        self.0.respond()
    }
}

impl<T: JsonSchema> ApiResponse for PageReply<T> {
    fn meta() -> MetaResponses {
        let data = array(schema::reference::<T>());
        let schema =
            object(vec![("data", data), ("pagination", schema::reference::<Pagination>())]);
        success(200, "Success.", schema)
    }

    fn register(registry: &mut Registry) {
        schema::register_answer::<T>(registry);
        schema::register_answer::<Pagination>(registry);
    }
}

/// `200 {"data": [T], "next": string or null}`.
pub struct StretchReply<T>(Rendered, PhantomData<T>);

impl<T: Serialize> StretchReply<T> {
    pub fn of(stretch: &page::Stretch<T>) -> Self {
        Self(Rendered::stretch(stretch), PhantomData)
    }
}

impl<T: Send> IntoResponse for StretchReply<T> {
    fn into_response(self) -> Response {
        self.0.respond()
    }
}

impl<T: JsonSchema> ApiResponse for StretchReply<T> {
    fn meta() -> MetaResponses {
        let next = MetaSchema {
            description: Some(
                "Where the list continues: send it as the cursor. Null: these are the last rows.",
            ),
            nullable: true,
            ..MetaSchema::new("string")
        };
        let next = MetaSchemaRef::Inline(Box::new(next));
        let schema = object(vec![("data", array(schema::reference::<T>())), ("next", next)]);
        success(200, "Success.", schema)
    }

    fn register(registry: &mut Registry) {
        schema::register_answer::<T>(registry);
    }
}

/// `201 {"data": T}` for what was added, `200 {"data": T}` for what already existed. Never cached, because it may contain a
/// secret that is shown once.
pub enum Made<T> {
    Added(T),
    Known(T),
}

impl<T: Serialize + Send> IntoResponse for Made<T> {
    fn into_response(self) -> Response {
        let (status, value) = match &self {
            Self::Added(value) => (StatusCode::CREATED, value),
            Self::Known(value) => (StatusCode::OK, value),
        };
        Response::builder()
            .status(status)
            .content_type(JSON)
            .header(header::CACHE_CONTROL, "no-store")
            .body(Rendered::data(value).body)
    }
}

impl<T: JsonSchema> ApiResponse for Made<T> {
    fn meta() -> MetaResponses {
        let schema = || object(vec![("data", schema::reference::<T>())]);
        let mut made = success(201, "Created.", schema());
        made.responses.extend(
            success(200, "It already existed. This is its current state.", schema()).responses,
        );
        made
    }

    fn register(registry: &mut Registry) {
        schema::register_answer::<T>(registry);
    }
}

/// Newline-delimited JSON, sent while it is read. Never cached.
pub struct Lines(Body);

impl Lines {
    pub fn of(pieces: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static) -> Self {
        Self(Body::from_bytes_stream(pieces))
    }
}

impl IntoResponse for Lines {
    fn into_response(self) -> Response {
        Response::builder()
            .content_type(NDJSON)
            .header(header::CACHE_CONTROL, "no-store")
            .body(self.0)
    }
}

impl ApiResponse for Lines {
    fn meta() -> MetaResponses {
        // As a file: generators of clients have no type for lines of JSON, and leave out what they do not know.
        let schema = MetaSchema::new_with_format("string", "binary");
        let schema = MetaSchemaRef::Inline(Box::new(schema));
        let mut lines = success(200, "Lines of JSON.", schema);
        let content = lines.responses.iter_mut().flat_map(|it| it.content.iter_mut());
        content.for_each(|it| it.content_type = NDJSON);
        lines
    }

    fn register(_: &mut Registry) {}
}

/// `202 {"data": T}`: accepted, and done in the background.
pub struct Accepted<T>(pub T);

impl<T: Serialize + Send> IntoResponse for Accepted<T> {
    fn into_response(self) -> Response {
        Response::builder()
            .status(StatusCode::ACCEPTED)
            .content_type(JSON)
            .header(header::CACHE_CONTROL, "no-store")
            .body(Rendered::data(&self.0).body)
    }
}

impl<T: JsonSchema> ApiResponse for Accepted<T> {
    fn meta() -> MetaResponses {
        success(
            202,
            "Accepted. It is done in the background.",
            object(vec![("data", schema::reference::<T>())]),
        )
    }

    fn register(registry: &mut Registry) {
        schema::register_answer::<T>(registry);
    }
}

/// `204`, no body.
pub struct Gone;

impl IntoResponse for Gone {
    fn into_response(self) -> Response {
        Response::builder().status(StatusCode::NO_CONTENT).finish()
    }
}

impl ApiResponse for Gone {
    fn meta() -> MetaResponses {
        let mut gone = success(204, "Done. The response has no body.", object(Vec::new()));
        gone.responses.iter_mut().for_each(|it| it.content.clear());
        gone
    }

    fn register(_: &mut Registry) {}
}

/// A field that is always there and may be null. In a request body serde takes an absent one for null unless
/// [`super::body::nullable`] reads it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Null<T>(pub Option<T>);

impl<T> Default for Null<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> From<Option<T>> for Null<T> {
    fn from(value: Option<T>) -> Self {
        Self(value)
    }
}

impl<T: JsonSchema> JsonSchema for Null<T> {
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
