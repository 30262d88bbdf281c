//! Tests through the front door, as sentences that are true.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on says so")]

mod abuse;
mod catalog;
mod config;
mod edge;
mod engine;
mod harness;
mod import;
mod listen;
mod store;
mod v1;
