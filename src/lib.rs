//! Posture: facts about an MSP's clients in, a JSON API and signed events out.
//!
//! Floors, highest first; a module uses lower floors only, and `tests/tidy.rs` holds the table:
//! cli > config > demo > serve > api web > work > app > auth connect mail oidc scan webhook > store import catalog egress background >
//! engine paper > id clock secret origin page peer request text `toml_reader` blocking `fair_limit` > error.
//!
//! What is absent matters: only `store/engine/redb` says `redb`; only `api`, `web`, `serve` and `cli` say `poem` or `hyper`;
//! only `egress` says `ureq`; only `scan` opens probe sockets; only `connect` asks the DNS; only `mail` says `lettre`; only
//! `paper` writes PDF; only `config` reads the environment; only `main` ends the process; `engine` cannot fail on input it
//! accepted; `api` cannot name `Store`, so a handler reaches a client's rows only through its caller.
//! `assets/docs/architecture.md` describes the rooms and the rules.

pub mod api;
pub mod app;
pub mod auth;
pub mod background;
pub mod blocking;
pub mod bounded_file;
pub mod catalog;
pub mod cli;
pub mod clock;
pub mod config;
pub mod connect;
pub mod demo;
pub mod egress;
pub mod encoding;
pub mod engine;
pub mod error;
pub mod fair_limit;
pub mod id;
pub mod import;
pub mod mail;
pub mod oidc;
pub mod origin;
pub mod page;
pub mod paper;
pub mod passkey;
pub mod peer;
pub mod poll;
pub mod request;
pub mod scan;
pub mod secret;
pub mod serve;
pub mod store;
pub mod text;
pub mod toml_reader;
pub mod web;
pub mod webhook;
pub mod work;
