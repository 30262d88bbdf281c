//! Request bodies that may be large: a file to import, or facts. They arrive on disk.

use std::io::Read;
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use hyper::body::Body as _;
use poem::{Body, Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use schemars::JsonSchema;

use crate::api::wire::body::{BODY_BYTES_MAX, check_content_type, json_meta};
use crate::api::wire::problem::Failure;
use crate::api::wire::schema::{self, Example};
use crate::app::App;
use crate::app::intake::file::FILE_BYTES_MAX;
use crate::app::intake::upload::{ArrivingUpload, Upload, too_large};
use crate::auth::caller::Caller;
use crate::error::{Error, Result};
use crate::id::IngestionId;

type Arriving = BoxBody<Bytes, std::io::Error>;

/// A file as a request body, of which nothing has been read yet.
pub struct FileBody(Arriving);

/// A JSON body that the document describes as `Doc`, of which nothing has been read yet.
pub struct LargeBody<Doc> {
    body: Arriving,
    doc: PhantomData<Doc>,
}

/// A body that is there completely.
pub enum Received {
    /// At most [`BODY_BYTES_MAX`].
    InMemory(Bytes),
    OnDisk(Upload),
}

impl FileBody {
    pub(in crate::api) fn of(body: Body) -> Self {
        Self(body.into())
    }

    /// Receives a form with findings on disk, where it can stay.
    ///
    /// # Errors
    /// Those of [`App::begin_ingestion`]; `TooLarge`; `Invalid` if it does not arrive completely.
    pub(in crate::api) async fn keep(
        mut self,
        app: &App,
        by: &Caller,
    ) -> Result<(IngestionId, Upload)> {
        refuse_announced(&self.0, FILE_BYTES_MAX)?;
        let (id, upload) = app.begin_ingestion(by).await?;
        Ok((id, receive_rest(&mut self.0, upload).await?))
    }

    /// Receives the whole file on disk.
    ///
    /// # Errors
    /// Those of [`App::begin_upload`]; `TooLarge`; `Invalid` if the file does not arrive completely.
    pub async fn receive(mut self, app: &App, by: &Caller, bytes_max: u64) -> Result<Upload> {
        refuse_announced(&self.0, bytes_max)?;
        let upload = app.begin_upload(by, bytes_max).await?;
        receive_rest(&mut self.0, upload).await
    }
}

impl<Doc> LargeBody<Doc> {
    /// Receives the whole body: a small one in memory, a larger one on disk.
    ///
    /// # Errors
    /// As [`FileBody::receive`].
    pub async fn receive(mut self, app: &App, by: &Caller, bytes_max: u64) -> Result<Received> {
        refuse_announced(&self.body, bytes_max)?;
        let mut start = BytesMut::new();
        if self.body.size_hint().lower() <= BODY_BYTES_MAX as u64 {
            while start.len() <= BODY_BYTES_MAX {
                let Some(bytes) = next(&mut self.body).await? else {
                    return Ok(Received::InMemory(start.freeze()));
                };
                start.extend_from_slice(&bytes);
            }
        }
        let mut upload = app.begin_upload(by, bytes_max).await?;
        upload.write(&start).await?;
        drop(start);
        Ok(Received::OnDisk(receive_rest(&mut self.body, upload).await?))
    }
}

impl Received {
    /// Runs `read` on the bytes. A large body is read on a thread that may block, in a place of its own.
    ///
    /// # Errors
    /// Those of `read` and of [`App::read_facts`].
    pub async fn read_with<T: Send + 'static>(
        &self,
        app: &Arc<App>,
        read: impl FnOnce(&[u8]) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let upload = match self {
            Self::InMemory(bytes) => return read(bytes),
            Self::OnDisk(upload) => upload,
        };
        let (mut file, n_bytes) = (upload.reader()?, upload.n_bytes());
        app.read_facts(move |cancellation| {
            let mut bytes = Vec::with_capacity(usize::try_from(n_bytes).unwrap_or(0));
            file.read_to_end(&mut bytes).map_err(Error::internal)?;
            cancellation.check()?;
            read(&bytes)
        })
        .await
    }
}

/// Refuses a body whose length says that it is too large, before any of it is read.
fn refuse_announced(body: &Arriving, bytes_max: u64) -> Result<()> {
    if bytes_max < body.size_hint().lower() { Err(too_large(bytes_max)) } else { Ok(()) }
}

async fn receive_rest(body: &mut Arriving, mut upload: ArrivingUpload) -> Result<Upload> {
    while let Some(bytes) = next(body).await? {
        upload.write(&bytes).await?;
    }
    upload.finish().await
}

/// `None` at the end.
async fn next(body: &mut Arriving) -> Result<Option<Bytes>> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Error::invalid("the body did not arrive completely; send it again").caused_by(error)
        })?;
        if let Ok(bytes) = frame.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

impl<'a> ApiExtractor<'a> for FileBody {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];
    type ParamType = ();
    type ParamRawType = ();

    fn register(_: &mut Registry) {}

    fn request_meta() -> Option<MetaRequest> {
        let schema = MetaSchema::new_with_format("string", "binary");
        let schema = MetaSchemaRef::Inline(Box::new(schema));
        let content = vec![MetaMediaType { content_type: "application/octet-stream", schema }];
        Some(MetaRequest { description: Some("The file to import."), content, required: true })
    }

    async fn from_request(
        _: &'a Request,
        body: &mut RequestBody,
        _: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        Ok(Self(body.take()?.into()))
    }
}

impl<'a, Doc: JsonSchema + Example + Send> ApiExtractor<'a> for LargeBody<Doc> {
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
        Ok(Self { body: body.take()?.into(), doc: PhantomData })
    }
}
