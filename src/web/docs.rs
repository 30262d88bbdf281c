//! Pages for people: the API's documentation. Everything is in the executable; nothing is loaded from outside.

use bytes::Bytes;
use poem::http::header;
use poem::{Response, Route, RouteMethod, get};

/// The page may load from here alone; Swagger UI sets styles and shows images of its own.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// What lies under `/docs`.
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
