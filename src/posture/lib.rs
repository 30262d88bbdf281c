//! Posture: facts about an MSP's clients in, a JSON API and signed events out.
//!
//! This is the highest of six packages: the command, its configuration, the demonstration. Cargo holds the order of the packages, and
//! `tests/tidy.rs` the floors inside of each; `assets/docs/architecture.md` describes the rooms and the rules.
//!
//! What is absent matters: only `store/engine/redb` says `redb`; only `api`, `web`, `serve` and `cli` say `poem` or `hyper`;
//! only `egress` says `ureq`; only `scan` opens probe sockets; only `connect` asks the DNS; only `mail` says `lettre`; only
//! `paper` writes PDF; only `config` reads the environment; only `main` ends the process; `engine` cannot fail on input it
//! accepted; `api` cannot name `Store`, so a handler reaches a client's rows only through its caller.

pub use posture_app::{app, auth, background, work};
pub use posture_core::{
    blocking, bounded_file, catalog, clock, encoding, engine, error, fair_limit, id, import,
    origin, page, paper, peer, poll, request, secret, text, toml_reader,
};
pub use posture_outside::{connect, egress, mail, oidc, passkey, scan, webhook};
pub use posture_service::{api, serve, web};
pub use posture_store::store;

pub mod cli;
pub mod config;
pub mod demo;
