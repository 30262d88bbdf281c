//! Every fuzz target as an executable of `cargo fuzz`, which names them.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "target.rs"]
mod target;

fuzz_target!(|bytes: &[u8]| target::named(env!("CARGO_BIN_NAME"))(bytes));
