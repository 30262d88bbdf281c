//! A file as a request body, read by a blocking reader while it arrives.

use std::io::{self, Read};
use std::pin::Pin;

use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::runtime::Handle;

/// The bytes of a body as they come; at most as many in memory as the reader asks for.
pub struct Upload {
    body: Pin<Box<dyn AsyncRead + Send>>,
    runtime: Handle,
}

/// For a thread that may block: the store's, never an async one.
impl Read for Upload {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.runtime.block_on(self.body.read(buffer))
    }
}

impl<'a> ApiExtractor<'a> for Upload {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];
    type ParamType = ();
    type ParamRawType = ();

    fn register(_: &mut Registry) {}

    fn request_meta() -> Option<MetaRequest> {
        let schema = MetaSchema::new_with_format("string", "binary");
        let schema = MetaSchemaRef::Inline(Box::new(schema));
        let content = vec![MetaMediaType { content_type: "application/octet-stream", schema }];
        Some(MetaRequest { description: Some("The file."), content, required: true })
    }

    async fn from_request(
        _: &'a Request,
        body: &mut RequestBody,
        _: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let body = Box::pin(body.take()?.into_async_read());
        Ok(Self { body, runtime: Handle::current() })
    }
}
