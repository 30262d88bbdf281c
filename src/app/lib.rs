//! What Posture does: use cases, one commit each; who calls; and what runs in the background.

use posture_core::{
    blocking, catalog, clock, engine, error, fair_limit, id, import, layout, origin, page, paper,
    poll, request, secret, text, toml_reader,
};
use posture_outside::{connect, egress, mail, oidc, passkey, scan, webhook};
use posture_store::store;

pub mod app;
pub mod auth;
pub mod background;
pub mod work;
