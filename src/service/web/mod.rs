//! Pages for people, and the links that events carry.

mod asset;
pub mod console;
mod docs;
mod guide;
mod link;
mod search;

use std::sync::Arc;

use poem::http::{StatusCode, header};
use poem::{Response, Route, RouteMethod, get};

/// What answers outside of the API: the console, the guides under `/docs`, and the links under `/go`.
#[must_use]
pub fn pages(console: &Arc<console::Console>) -> Route {
    let docs = docs::routes(|| console::unknown(console));
    let routes = Route::new().nest("/docs", docs).at("/go/*link", follow(console));
    console::routes(routes, console)
}

/// Leads to the resource that a link names. Anything that is not a link is as unknown as any other path.
fn follow(console: &Arc<console::Console>) -> RouteMethod {
    let console = Arc::clone(console);
    get(poem::endpoint::make(move |request: poem::Request| {
        let console = Arc::clone(&console);
        async move {
            let link = request.uri().path().strip_prefix("/go/");
            match link.and_then(link::destination) {
                Some(destination) => Ok(see_other(&destination)),
                None => console::nowhere(&console, &request).await,
            }
        }
    }))
}

/// Leads to another page.
fn see_other(location: &str) -> Response {
    Response::builder().status(StatusCode::SEE_OTHER).header(header::LOCATION, location).finish()
}
