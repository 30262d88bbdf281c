//! Pages for people: the documentation of the API. They are embedded and load nothing from outside.

use bytes::Bytes;
use poem::http::header;
use poem::{Response, Route, RouteMethod, get};

/// The page may load only from this service. Swagger UI sets inline styles and shows embedded images.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The routes below `/docs`.
#[must_use]
pub fn docs() -> Route {
    Route::new()
        .at("/", file("text/html; charset=utf-8", include_bytes!("../../assets/docs/index.html")))
        .at("/start.js", file(SCRIPT, include_bytes!("../../assets/docs/start.js")))
        .at("/swagger-ui.css", file("text/css", include_bytes!("../../assets/docs/swagger-ui.css")))
        .at(
            "/swagger-ui-bundle.js",
            file(SCRIPT, include_bytes!("../../assets/docs/swagger-ui-bundle.js")),
        )
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

fn file(content_type: &'static str, bytes: &'static [u8]) -> RouteMethod {
    get(poem::endpoint::make_sync(move |_| {
        Response::builder()
            .content_type(content_type)
            .header(header::CACHE_CONTROL, "no-cache")
            .header(header::CONTENT_SECURITY_POLICY, POLICY)
            .body(Bytes::from_static(bytes))
    }))
}
