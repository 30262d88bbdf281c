//! The `posture` command. Only this file ends the process.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use posture::cli::{Cli, failure, run};

/// The system's allocator holds on to memory that threads of the blocking pool freed, and is slower.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed standard error cannot be reported.
            let _ = writeln!(std::io::stderr(), "posture: {}", failure(&error));
            ExitCode::FAILURE
        }
    }
}
