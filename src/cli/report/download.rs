//! Saves a report that the API makes, or prints it.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use clap::ValueEnum;

use super::file::{PartFile, require_replaceable, unwritable};
use crate::cli::call::{Call, ServerSession, with_session};
use crate::cli::print;
use crate::config::Config;
use crate::error::{Error, Result};

/// The format of a report about a framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormat {
    /// A table as text.
    Csv,
    /// A table as a spreadsheet.
    Xlsx,
    /// Assessment results in NIST's JSON format.
    Oscal,
}

impl ReportFormat {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Xlsx => "xlsx",
            Self::Oscal => "oscal",
        }
    }

    /// The name of a file with it.
    const fn example(self) -> &'static str {
        match self {
            Self::Csv => "report.csv",
            Self::Xlsx => "report.xlsx",
            Self::Oscal => "report.oscal.json",
        }
    }
}

/// Gets a report in a format, and writes it to a file, or to standard output if it is `-`. `path`: the path of its
/// operation.
///
/// # Errors
/// `Invalid` if a terminal cannot show the format, or the file cannot be written; those of the call.
pub(super) fn run(
    options: &Config,
    json: bool,
    (format, output): (ReportFormat, &Path),
    path: impl AsyncFnOnce(&ServerSession) -> Result<String>,
) -> Result<()> {
    let to_stdout = output == Path::new("-");
    if !to_stdout {
        require_replaceable(output, format.example())?;
    } else if format == ReportFormat::Xlsx && io::stdout().is_terminal() {
        return Err(Error::invalid(format!(
            "a terminal cannot show a spreadsheet; name a file, such as --output {}",
            format.example()
        )));
    }
    let content = with_session(options, async |session| {
        let path = path(session).await?;
        let mut content = Vec::new();
        let mut put = |piece: &[u8]| {
            content.extend_from_slice(piece);
            Ok(())
        };
        let call = Call::get(format!("{path}?format={}", format.as_str()));
        session.stream(call, &mut put).await?;
        Ok(content)
    })?;
    if to_stdout {
        return print::bytes(&content);
    }
    let mut part = PartFile::create(output)?;
    part.file.write_all(&content).map_err(|it| unwritable(part.path.display(), &it))?;
    part.rename(output)?;
    if json { Ok(()) } else { print::line(&format!("{}: written", output.display())) }
}
