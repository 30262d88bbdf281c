//! Answers that are files to save.

use std::marker::PhantomData;

use bytes::Bytes;
use futures_util::Stream;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use poem::http::header;
use poem::{Body, IntoResponse, Response};
use poem_openapi::ApiResponse;
use poem_openapi::registry::{MetaMediaType, MetaResponses, MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::Type;

use super::reply::{JSON, success};
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::paper::table::{Column, Table};
use crate::text::file_word;

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    Csv,
    Xlsx,
    Oscal,
    Html,
    Pdf,
}

impl FileFormat {
    pub const OF_FRAMEWORKS: [Self; 5] =
        [Self::Csv, Self::Xlsx, Self::Oscal, Self::Html, Self::Pdf];
    pub const OF_PORTFOLIO: [Self; 4] = [Self::Csv, Self::Xlsx, Self::Html, Self::Pdf];
    pub const DOCUMENTS: [Self; 2] = [Self::Html, Self::Pdf];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Xlsx => "xlsx",
            Self::Oscal => "oscal",
            Self::Html => "html",
            Self::Pdf => "pdf",
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Self::Oscal => JSON,
            Self::Html => "text/html; charset=utf-8",
            Self::Pdf => "application/pdf",
        }
    }

    const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Xlsx => "xlsx",
            Self::Oscal => "oscal.json",
            Self::Html => "html",
            Self::Pdf => "pdf",
        }
    }

    /// Begins a table.
    ///
    /// # Errors
    /// `Internal` if the format is no table.
    pub fn table(self, columns: &[Column], now: Time) -> Result<Table> {
        match self {
            Self::Csv => Table::csv(columns),
            Self::Xlsx => Table::xlsx(columns, now),
            Self::Oscal | Self::Html | Self::Pdf => Err(Error::internal("this format is no table")),
        }
    }

    fn schema(self) -> MetaSchemaRef {
        match self {
            Self::Csv | Self::Html => String::schema_ref(),
            Self::Xlsx | Self::Pdf => {
                MetaSchemaRef::Inline(Box::new(MetaSchema::new_with_format("string", "binary")))
            }
            Self::Oscal => MetaSchemaRef::Inline(Box::new(MetaSchema::new("object"))),
        }
    }
}

/// Which formats an operation answers with.
pub trait Formats: Send {
    const ALL: &'static [FileFormat];
}

/// A table, OSCAL, or for people to read.
pub struct FrameworkFormat;
/// A table, or for people to read.
pub struct PortfolioFormat;
/// For people to read.
pub struct ReadableFormat;

impl Formats for ReadableFormat {
    const ALL: &'static [FileFormat] = &FileFormat::DOCUMENTS;
}

impl Formats for FrameworkFormat {
    const ALL: &'static [FileFormat] = &FileFormat::OF_FRAMEWORKS;
}

impl Formats for PortfolioFormat {
    const ALL: &'static [FileFormat] = &FileFormat::OF_PORTFOLIO;
}

/// `200` with a file. Never cached.
pub struct FileReply<F> {
    name: String,
    format: FileFormat,
    content: Vec<u8>,
    formats: PhantomData<F>,
}

impl<F> FileReply<F> {
    /// The file's name consists of the words.
    pub fn of(words: &[&str], format: FileFormat, content: Vec<u8>) -> Self {
        let name = words.iter().map(|it| file_word(it)).collect::<Vec<_>>().join("-");
        let name = format!("{name}.{}", format.extension());
        Self { name, format, content, formats: PhantomData }
    }
}

impl<F: Formats> IntoResponse for FileReply<F> {
    fn into_response(self) -> Response {
        let disposition = format!("attachment; filename=\"{}\"", self.name);
        Response::builder()
            .content_type(self.format.content_type())
            .header(header::CONTENT_DISPOSITION, disposition)
            .header(header::CACHE_CONTROL, "no-store")
            .body(self.content)
    }
}

impl<F: Formats> ApiResponse for FileReply<F> {
    fn meta() -> MetaResponses {
        let content = |it: &FileFormat| MetaMediaType {
            content_type: it.content_type(),
            schema: it.schema(),
        };
        let mut file = success(200, "The report, as a file.", String::schema_ref());
        file.responses.iter_mut().for_each(|it| it.content = F::ALL.iter().map(content).collect());
        file
    }

    fn register(_: &mut Registry) {}
}

/// `200` with a file as somebody brought it. Never shown by a browser: it may be anything.
pub struct Attachment {
    disposition: String,
    n_bytes: u64,
    content: Body,
}

impl Attachment {
    pub fn of(
        name: &str,
        n_bytes: u64,
        pieces: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static,
    ) -> Self {
        // The first is for clients that do not know RFC 6266.
        let simple =
            |it: char| if it.is_ascii_alphanumeric() || "._-".contains(it) { it } else { '_' };
        let plain: String = name.chars().map(simple).collect();
        let encoded = utf8_percent_encode(name, &ATTRIBUTE);
        let disposition = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}");
        Self { disposition, n_bytes, content: Body::from_bytes_stream(pieces) }
    }
}

impl IntoResponse for Attachment {
    fn into_response(self) -> Response {
        Response::builder()
            .content_type(BINARY)
            .header(header::CONTENT_DISPOSITION, self.disposition)
            .header(header::CONTENT_LENGTH, self.n_bytes)
            .header(header::CACHE_CONTROL, "no-store")
            .body(self.content)
    }
}

impl ApiResponse for Attachment {
    fn meta() -> MetaResponses {
        let schema = MetaSchema::new_with_format("string", "binary");
        let schema = MetaSchemaRef::Inline(Box::new(schema));
        let mut file = success(200, "The file.", String::schema_ref());
        let content = file.responses.iter_mut();
        content.for_each(|it| {
            it.content = vec![MetaMediaType { content_type: BINARY, schema: schema.clone() }];
        });
        file
    }

    fn register(_: &mut Registry) {}
}

/// `200` with a picture. Nothing that is written in it runs.
pub struct Picture {
    media_type: &'static str,
    content: Vec<u8>,
}

impl Picture {
    pub const fn of(media_type: &'static str, content: Vec<u8>) -> Self {
        Self { media_type, content }
    }
}

impl IntoResponse for Picture {
    fn into_response(self) -> Response {
        Response::builder()
            .content_type(self.media_type)
            .header(header::CONTENT_DISPOSITION, "attachment")
            .header(header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox")
            .header(header::CACHE_CONTROL, "no-store")
            .body(self.content)
    }
}

impl ApiResponse for Picture {
    fn meta() -> MetaResponses {
        let schema = MetaSchema::new_with_format("string", "binary");
        let schema = MetaSchemaRef::Inline(Box::new(schema));
        let mut file = success(200, "The picture.", String::schema_ref());
        let content = |it: &'static str| MetaMediaType { content_type: it, schema: schema.clone() };
        file.responses.iter_mut().for_each(|it| {
            it.content = Vec::from(["image/png", "image/svg+xml"].map(content));
        });
        file
    }

    fn register(_: &mut Registry) {}
}

const BINARY: &str = "application/octet-stream";
/// What RFC 8187 leaves as it is.
const ATTRIBUTE: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
