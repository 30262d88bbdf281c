//! Saves a report that the API makes, or prints it.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use super::file::{PartFile, require_replaceable, unwritable};
use crate::cli::call::{Call, ServerSession, with_session};
use crate::cli::print;
use crate::config::Config;
use crate::error::{Error, Result};

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportFormat {
    Csv,
    Xlsx,
    Oscal,
    Html,
    Pdf,
}

impl ReportFormat {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Xlsx => "xlsx",
            Self::Oscal => "oscal",
            Self::Html => "html",
            Self::Pdf => "pdf",
        }
    }

    /// The name of a file with it.
    const fn example(self) -> &'static str {
        match self {
            Self::Csv => "report.csv",
            Self::Xlsx => "report.xlsx",
            Self::Oscal => "report.oscal.json",
            Self::Html => "report.html",
            Self::Pdf => "report.pdf",
        }
    }

    /// What a terminal cannot show. `None`: it is text.
    const fn binary(self) -> Option<&'static str> {
        match self {
            Self::Xlsx => Some("spreadsheet"),
            Self::Pdf => Some("PDF"),
            Self::Csv | Self::Oscal | Self::Html => None,
        }
    }
}

/// Gets a report in a format, and writes it to a file, or to standard output if it is `-`. `path`: the path of its
/// operation, which may have a query.
///
/// # Errors
/// `Invalid` if a terminal cannot show the format, or the file cannot be written; those of the call.
pub(super) fn run(
    options: &Config,
    json: bool,
    (format, output): (ReportFormat, &Path),
    path: impl AsyncFnOnce(&ServerSession) -> Result<String>,
) -> Result<()> {
    save(options, json, output, (format.example(), format.binary()), async |session| {
        let path = path(session).await?;
        let join = if path.contains('?') { '&' } else { '?' };
        Ok(format!("{path}{join}format={}", format.as_str()))
    })
}

/// Gets a file, and writes it, or prints it if `output` is `-`. `such`: the name of such a file, and what a terminal cannot
/// show of it. `path`: the path of its operation, with its query.
///
/// # Errors
/// As [`run`].
pub(in crate::cli) fn save(
    options: &Config,
    json: bool,
    output: &Path,
    such: (&str, Option<&str>),
    path: impl AsyncFnOnce(&ServerSession) -> Result<String>,
) -> Result<()> {
    let (example, binary) = such;
    let to_stdout = output == Path::new("-");
    if !to_stdout {
        require_replaceable(output, example)?;
    } else if let Some(kind) = binary.filter(|_| io::stdout().is_terminal()) {
        return Err(Error::invalid(format!(
            "a terminal cannot show a {kind}; name a file, such as --output {example}"
        )));
    }
    let content = with_session(options, async |session| {
        let path = path(session).await?;
        let mut content = Vec::new();
        let mut put = |piece: &[u8]| {
            content.extend_from_slice(piece);
            Ok(())
        };
        session.stream(Call::get(path), &mut put).await?;
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
