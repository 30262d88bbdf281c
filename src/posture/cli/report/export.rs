//! `posture export`: everything about a client or all clients, as lines of JSON, or a report about one framework.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::download::{self, ReportFormat};
use super::file::{PartFile, require_replaceable, unwritable};
use crate::cli::call::{Call, encoded, with_session};
use crate::cli::serve::stop_signal;
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::{Error, Result};

/// A longer line is refused. The longest have the requirements of a framework, and are far shorter.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture export --output all.ndjson
  posture export --client 'Acme Ltd' | jq -r 'select(.kind == \"risk\") | .data.title'
  posture export --client 'Acme Ltd' --framework SOC2 --format xlsx --output acme-soc2.xlsx

Without --framework, each line is {\"kind\", \"clientId\", \"data\"}; the last one, of the kind `end`, counts the others.
FILE appears when the export is complete: an interrupted one leaves none.")]
pub(in crate::cli) struct ExportArgs {
    /// Only this client, by name or id. Default: all clients.
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// A report about this framework of the client instead, such as SOC2: each requirement with its status, its controls
    /// and why.
    #[arg(long, requires = "client", value_name = "FRAMEWORK")]
    framework: Option<String>,
    /// Format of the report. Default: csv.
    #[arg(long, value_enum, requires = "framework")]
    format: Option<FrameworkFormat>,
    /// File to write, or - for standard output. A file that exists is replaced.
    #[arg(long, short, default_value = "-", value_name = "FILE")]
    output: PathBuf,
}

/// The format of a report about a framework.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum FrameworkFormat {
    /// A table as text.
    Csv,
    /// A table as a spreadsheet.
    Xlsx,
    /// Assessment results in NIST's JSON format.
    Oscal,
}

impl FrameworkFormat {
    const fn report(self) -> ReportFormat {
        match self {
            Self::Csv => ReportFormat::Csv,
            Self::Xlsx => ReportFormat::Xlsx,
            Self::Oscal => ReportFormat::Oscal,
        }
    }
}

pub(in crate::cli) fn run(options: &Config, json: bool, args: &ExportArgs) -> Result<()> {
    match (&args.client, &args.framework) {
        (Some(client), Some(framework)) => report(options, json, args, client, framework),
        _ => lines(options, json, args),
    }
}

fn report(
    options: &Config,
    json: bool,
    args: &ExportArgs,
    client: &str,
    framework: &str,
) -> Result<()> {
    let format = args.format.map_or(ReportFormat::Csv, FrameworkFormat::report);
    download::run(options, json, (format, &args.output), async |session| {
        let client = client_name::path(session, client).await?;
        Ok(format!("{client}/reports/{}", encoded(framework)))
    })
}

fn lines(options: &Config, json: bool, args: &ExportArgs) -> Result<()> {
    let to_stdout = args.output == Path::new("-");
    if !to_stdout {
        require_replaceable(&args.output, "all.ndjson")?;
    }
    let (n_lines, part) = with_session(options, async |session| {
        let path = match &args.client {
            Some(it) => format!("{}/export", client_name::path(session, it).await?),
            None => "/api/export".to_owned(),
        };
        let stopped = stop_signal()?;
        let part = if to_stdout { None } else { Some(PartFile::create(&args.output)?) };
        let mut lines = ExportLines::to(part.as_ref())?;
        let mut put = |bytes: &[u8]| lines.put(bytes);
        let copied = tokio::select! {
            copied = session.stream(Call::get(path), &mut put) => copied,
            () = stopped => Err(Error::unavailable("the export was interrupted")),
        };
        Ok((lines.end(copied)?, part))
    })?;
    if let Some(part) = part {
        part.rename(&args.output)?;
    }
    match n_lines {
        Some(n) if !to_stdout && !json => {
            let file = args.output.display();
            print::line(&format!("{file}: {}", print::count(&n.into(), "line")))
        }
        Some(_) | None => Ok(()),
    }
}

/// The lines on their way to a file or to standard output. Only the last one is held.
struct ExportLines {
    out: BufWriter<Box<dyn Write + Send>>,
    /// What messages call the file.
    name: String,
    /// The last line, or as much of it as has come.
    last: Vec<u8>,
    n_bytes: u64,
    bar: ProgressBar,
    /// Invisible characters are escaped: a terminal could obey them.
    is_escaped: bool,
    /// Standard output has no reader anymore.
    is_closed: bool,
}

impl ExportLines {
    /// `None`: to standard output.
    fn to(part: Option<&PartFile>) -> Result<Self> {
        let out: Box<dyn Write + Send> = match part {
            None => Box::new(io::stdout()),
            Some(it) => Box::new(
                it.file.try_clone().map_err(|error| unwritable(it.path.display(), &error))?,
            ),
        };
        let bar = if part.is_some() && io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{spinner} {bytes} {bytes_per_sec}");
            ProgressBar::no_length().with_style(style.expect("the template is well formed"))
        } else {
            ProgressBar::hidden()
        };
        Ok(Self {
            out: BufWriter::new(out),
            name: part.map_or("standard output".to_owned(), |it| it.path.display().to_string()),
            last: Vec::new(),
            n_bytes: 0,
            bar,
            is_escaped: part.is_none() && io::stdout().is_terminal(),
            is_closed: false,
        })
    }

    /// Writes the lines that are followed by another one, and holds the last.
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.n_bytes += bytes.len() as u64;
        self.bar.set_position(self.n_bytes);
        // Only the end of what is held may be a line break.
        let start = self.last.len().saturating_sub(1);
        self.last.extend_from_slice(bytes);
        let rest = self.last.strip_suffix(b"\n").unwrap_or(&self.last);
        let line_break = rest[start..].iter().rposition(|it| *it == b'\n');
        let whole: Vec<u8> = self.last.drain(..line_break.map_or(0, |it| start + it + 1)).collect();
        if LINE_BYTES_MAX < self.last.len() {
            let rule = format!("the export has a line of more than {LINE_BYTES_MAX} bytes");
            return Err(Error::unavailable(rule));
        }
        self.write(&whole)
    }

    fn write(&mut self, lines: &[u8]) -> Result<()> {
        if self.is_escaped {
            let shown = print::escaped(&String::from_utf8_lossy(lines));
            return self.written(|it| it.write_all(shown.as_bytes()));
        }
        self.written(|it| it.write_all(lines))
    }

    fn written(
        &mut self,
        write: impl FnOnce(&mut BufWriter<Box<dyn Write + Send>>) -> io::Result<()>,
    ) -> Result<()> {
        write(&mut self.out).map_err(|error| {
            self.is_closed = error.kind() == io::ErrorKind::BrokenPipe;
            unwritable(&self.name, &error)
        })
    }

    /// How many lines there were, as the last one says. `None`: standard output was closed before.
    ///
    /// # Errors
    /// That of copying; `Unavailable` if the last line is missing.
    fn end(mut self, copied: Result<()>) -> Result<Option<u64>> {
        let last = std::mem::take(&mut self.last);
        let flushed =
            copied.and_then(|()| self.write(&last)).and_then(|()| self.written(Write::flush));
        self.bar.finish_and_clear();
        if self.is_closed {
            return Ok(None);
        }
        flushed?;
        let last: Value = serde_json::from_slice(&last).unwrap_or_default();
        match last["data"]["lines"].as_u64().filter(|_| last["kind"] == "end") {
            Some(n) => Ok(Some(n)),
            None => Err(Error::unavailable(match last["data"]["message"].as_str() {
                Some(message) if last["kind"] == "error" => message.to_owned(),
                _ => "the export ended before its last line; try again".to_owned(),
            })),
        }
    }
}
