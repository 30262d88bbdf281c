//! What answers: the API, the console, and the connections that bring requests.

use posture_app::{app, auth, background, work};
use posture_core::{
    blocking, bounded_file, catalog, clock, encoding, engine, error, fair_limit, id, import,
    origin, page, paper, peer, poll, request, secret, text,
};
use posture_outside::{connect, egress, oidc, passkey, scan, webhook};
use posture_store::store;

pub mod api;
pub mod serve;
pub mod web;
