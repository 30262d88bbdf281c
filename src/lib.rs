//! Posture: facts about an MSP's clients in, a JSON API and signed events out.
//!
//! Floors (a module uses lower floors only; `tests/tidy.rs` holds the table):
//! cli > config > serve > api web > work > app > auth > store import catalog task > engine > id clock page > error.
//!
//! What is absent matters: only `store` says `redb` or `bincode`'s decoder; only `api`, `web`, `serve` and `cli` say
//! `poem` or `hyper`; only `config` reads files and environment at start; only `main` ends the process; `engine`
//! cannot fail on input it accepted; `api` cannot name `Store`.

pub mod clock;

pub mod error;
pub mod id;
pub mod page;
