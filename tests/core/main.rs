//! What the lowest package promises: texts, the engine, the catalog, files of known tools.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on says so")]
#![allow(unreachable_pub, reason = "nothing here leaves the crate; `pub` says what a file gives")]

mod catalog;
mod engine;
mod import;
mod origin;
mod text;

mod harness;
