//! A certificate from an ACME authority: Pebble, the test server of Let's Encrypt.

mod directory;
mod needs_pebble;
mod pebble;
