//! Pages for people, and the links that events carry.

mod docs;
mod guide;
mod link;

use poem::http::{StatusCode, header};
use poem::{Response, Route, RouteMethod, get};

/// What answers outside of the API: the guides under `/docs`, the links under `/go`, and `/`, which leads to the guides.
#[must_use]
pub fn pages() -> Route {
    let start = get(poem::endpoint::make_sync(|_| see_other("/docs/")));
    Route::new().at("/", start).nest("/docs", docs::routes()).at("/go/*link", follow())
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

fn see_other(location: &str) -> Response {
    Response::builder().status(StatusCode::SEE_OTHER).header(header::LOCATION, location).finish()
}
