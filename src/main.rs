//! The `posture` command. Only this file ends the process.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use posture::cli::{Cli, failure, run};

/// The system's allocator keeps what threads of the blocking pool once used, and takes longer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(std::io::stderr(), "posture: {}", failure(&error));
            ExitCode::FAILURE
        }
    }
}
