//! The `posture` command. Only this file ends the process.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use posture::cli::{Cli, run};
use posture::error::{Chain, Code};

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let line = match error.code {
                Code::Internal => Chain(&error).to_string(),
                _ => error.message().to_owned(),
            };
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(std::io::stderr(), "posture: {line}");
            ExitCode::FAILURE
        }
    }
}
