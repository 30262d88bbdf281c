//! Requests to an ACME authority, by way of `egress`.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use poem::http::Request;

use crate::egress::Egress;

/// A longer answer is refused. The longest is a chain of certificates.
const ANSWER_BYTES_MAX: u64 = 256 * 1_024;

pub(super) struct AcmeHttp(pub(super) Arc<Egress>);

type Answered = Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>>;

impl HttpClient for AcmeHttp {
    fn request(&self, request: Request<BodyWrapper<Bytes>>) -> Answered {
        let egress = Arc::clone(&self.0);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap_or_else(|never| match never {}).to_bytes();
            let request = Request::from_parts(head, body);
            let answer = egress.fetch(request, ANSWER_BYTES_MAX).await;
            let answer = answer.map_err(|error| Error::Other(Box::new(error)))?;
            Ok(answer.map(Full::new).into())
        })
    }
}
