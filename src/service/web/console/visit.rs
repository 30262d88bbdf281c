//! A request of somebody who is signed in.

use std::collections::BTreeMap;

use poem::Request;

use super::Console;
use super::call::{Caller, Pairs};
use super::way::Way;
use crate::app::access::console_session::{Browser, SignedIn};
use crate::auth::console_session::SessionSecret;
use crate::clock::Time;

/// The part of every path that is the moment a day ago.
const DAY_AGO: &str = "dayAgo";

/// A request of somebody who is signed in.
pub(super) struct Visit {
    pub(super) way: Way,
    pub(super) signed_in: SignedIn,
    pub(super) secret: SessionSecret,
    pub(super) caller: Caller,
    pub(super) path: String,
    /// The parts of the path that have names, and [`DAY_AGO`].
    pub(super) parts: Pairs,
    pub(super) query: Pairs,
}

impl Visit {
    pub(super) fn of(
        way: Way,
        signed_in: SignedIn,
        secret: SessionSecret,
        request: &Request,
        now: Time,
    ) -> Self {
        let caller = Caller::of(&signed_in, request);
        let mut parts = parts(request);
        parts.push((DAY_AGO.to_owned(), now.plus_days(-1).to_string()));
        Self {
            way,
            signed_in,
            secret,
            caller,
            path: request.uri().path().to_owned(),
            parts,
            query: query(request),
        }
    }

    /// The visit in a session in place of this one, which the user's own change ended, and its secret. `None`: the user is
    /// gone.
    pub(super) async fn renewed(
        &self,
        console: &Console,
        request: &Request,
        browser: &Browser,
    ) -> Option<(Self, SessionSecret)> {
        let secret = console.app.renew_console_session(&self.signed_in, browser).await?;
        let signed_in = console.app.resume_console_session(&secret).await?;
        let now = console.app.clock.now();
        Some((Self::of(self.way, signed_in, secret.clone(), request, now), secret))
    }
}

/// The parts of the path that have names.
pub(super) fn parts(request: &Request) -> Pairs {
    let parts = request.path_params::<BTreeMap<String, String>>().unwrap_or_default();
    parts.into_iter().collect()
}

/// The names and values of the query.
pub(super) fn query(request: &Request) -> Pairs {
    let query = request.uri().query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}
