//! Pages for people, and the links that events carry.

mod asset;
pub mod console;
mod docs;
mod guide;
mod link;

use std::sync::Arc;

use poem::http::{StatusCode, header};
use poem::{Response, Route, RouteMethod, get};

/// What answers outside of the API: the console, the guides under `/docs`, and the links under `/go`.
#[must_use]
pub fn pages(console: &Arc<console::Console>) -> Route {
    let routes = Route::new().nest("/docs", docs::routes()).at("/go/*link", follow());
    console::routes(routes, console)
}

/// Leads to the resource that a link names. Anything that is not a link is as unknown as any other path.
fn follow() -> RouteMethod {
    get(poem::endpoint::make_sync(|request: poem::Request| {
        let link = request.uri().path().strip_prefix("/go/");
        match link.and_then(link::destination) {
            Some(destination) => Ok(see_other(&destination)),
            None => Err(poem::Error::from(poem::error::NotFoundError)),
        }
    }))
}

/// Leads to another page.
fn see_other(location: &str) -> Response {
    Response::builder().status(StatusCode::SEE_OTHER).header(header::LOCATION, location).finish()
}
