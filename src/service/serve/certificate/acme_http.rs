//! Requests to an ACME authority, by way of `egress`.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use poem::http::Request;

use crate::egress::{Egress, PostFailure};
use crate::error::Error as Failure;

/// A longer answer is refused. The longest is a chain of certificates.
const ANSWER_BYTES_MAX: u64 = 256 * 1_024;
/// What TLS says of a certificate that no trusted authority vouches for.
const UNKNOWN_ISSUER: &str = "UnknownIssuer";

pub(super) struct AcmeHttp(pub(super) Arc<Egress>);

type Answered = Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>>;

impl HttpClient for AcmeHttp {
    fn request(&self, request: Request<BodyWrapper<Bytes>>) -> Answered {
        let egress = Arc::clone(&self.0);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap_or_else(|never| match never {}).to_bytes();
            let request = Request::from_parts(head, body);
            let url = request.uri().to_string();
            let answer = egress.fetch(request, ANSWER_BYTES_MAX).await;
            let answer = answer.map_err(|it| Error::Other(Box::new(advised(&url, &it))))?;
            Ok(answer.map(Full::new).into())
        })
    }
}

/// With the setting that helps, if there is one.
fn advised(url: &str, failure: &PostFailure) -> Failure {
    let said = format!("{url}: {failure}");
    if !said.contains(UNKNOWN_ISSUER) {
        return Failure::unavailable(said);
    }
    Failure::unavailable(format!(
        "{said}; if the authority is your own, name the file of its root in `server.acme_ca_file`"
    ))
}
