//! A file as a request body, read by a blocking reader while it arrives.

use std::io::{self, Read};
use std::pin::Pin;

use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::runtime::Handle;

use crate::error::{Error, Result};

/// The bytes of a body while they arrive. Only what the reader asks for is in memory.
pub struct Upload {
    body: Pin<Box<dyn AsyncRead + Send>>,
    runtime: Handle,
}

impl Upload {
    /// Reads the whole file.
    ///
    /// # Errors
    /// `TooLarge` beyond `bytes_max`; `Invalid` if it does not arrive completely.
    pub async fn whole(self, bytes_max: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.body.take(bytes_max as u64 + 1).read_to_end(&mut bytes).await;
        read.map_err(|it| {
            Error::invalid("the file did not arrive completely; send it again").caused_by(it)
        })?;
        if bytes_max < bytes.len() {
            return Err(Error::too_large(format!("the file is larger than {bytes_max} bytes")));
        }
        Ok(bytes)
    }
}

/// For a thread that may block, such as the store's. Never call it on an async thread.
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
        Some(MetaRequest { description: Some("The file to import."), content, required: true })
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
