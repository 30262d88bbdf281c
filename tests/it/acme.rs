//! A certificate from an ACME authority: Pebble, the test server of Let's Encrypt.

mod account;
mod directory;
mod front;
mod needs_pebble;
mod pebble;
