//! `posture export`: everything about a client or all clients, as lines of JSON.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::cli::call::{Call, with_session};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::{Error, Result};

/// The last line is shorter. It says how much the export holds.
const LAST_LINE_BYTES_MAX: usize = 4 * 1024;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture export --output all.ndjson
  posture export --client 'Acme Ltd' | jq -r 'select(.kind == \"risk\") | .data.title'

Each line is {\"kind\", \"clientId\", \"data\"}; the last one, of the kind `end`, counts the others. FILE appears when the
export is complete: an interrupted one leaves none.")]
pub(in crate::cli) struct ExportArgs {
    /// Only this client, by name or id. Default: all clients.
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// File to write, or - for standard output. A file that exists is replaced.
    #[arg(long, short, default_value = "-", value_name = "FILE")]
    output: PathBuf,
}

pub(in crate::cli) fn run(options: &Config, json: bool, args: &ExportArgs) -> Result<()> {
    let to_screen = args.output == Path::new("-");
    let part = (!to_screen).then(|| part_of(&args.output));
    let written = with_session(options, async |session| {
        let path = match &args.client {
            Some(it) => format!("{}/export", client_name::path(session, it).await?),
            None => "/api/export".to_owned(),
        };
        let mut lines = ExportLines::to(part.as_deref())?;
        let mut put = |bytes: &[u8]| lines.put(bytes);
        let copied = tokio::select! {
            copied = session.stream(Call::get(path), &mut put) => copied,
            _ = tokio::signal::ctrl_c() => Err(Error::unavailable("the export was interrupted")),
        };
        lines.end(copied)
    });
    let n_lines = match (written, &part) {
        (Ok(n_lines), Some(part)) => {
            std::fs::rename(part, &args.output).map_err(|it| unwritable(&args.output, &it))?;
            n_lines
        }
        (Ok(n_lines), None) => n_lines,
        (Err(error), part) => {
            if let Some(part) = part {
                // The first error is told; there may be no file.
                drop(std::fs::remove_file(part));
            }
            return Err(error);
        }
    };
    match n_lines {
        Some(n) if !to_screen && !json => {
            let file = args.output.display();
            print::line(&format!("{file}: {}", print::count(&n.into(), "line")))
        }
        Some(_) | None => Ok(()),
    }
}

/// The file beside the final one that an export is written to.
fn part_of(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    file.with_file_name(name)
}

fn unwritable(file: &Path, error: &io::Error) -> Error {
    Error::invalid(format!("{}: cannot be written: {error}", file.display()))
}

/// The lines on their way to a file or to standard output. Only the last one is held.
struct ExportLines {
    out: BufWriter<Box<dyn Write + Send>>,
    file: PathBuf,
    last: Vec<u8>,
    n_bytes: u64,
    bar: ProgressBar,
    /// Whoever read standard output wants no more.
    is_closed: bool,
}

impl ExportLines {
    /// `None`: to standard output.
    fn to(file: Option<&Path>) -> Result<Self> {
        let out: Box<dyn Write + Send> = match file {
            None => Box::new(io::stdout()),
            Some(file) => {
                let mut options = File::options();
                let made = options.write(true).create(true).truncate(true).mode(0o600).open(file);
                Box::new(made.map_err(|it| unwritable(file, &it))?)
            }
        };
        let bar = if file.is_some() && io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{spinner} {bytes} {bytes_per_sec}");
            ProgressBar::no_length().with_style(style.expect("the template is well formed"))
        } else {
            ProgressBar::hidden()
        };
        let file = file.unwrap_or(Path::new("standard output")).to_owned();
        let (out, last) = (BufWriter::new(out), Vec::new());
        Ok(Self { out, file, last, n_bytes: 0, bar, is_closed: false })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.written(|it| it.write_all(bytes))?;
        self.n_bytes += bytes.len() as u64;
        self.bar.set_position(self.n_bytes);
        let start = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        match start.iter().rposition(|it| *it == b'\n') {
            Some(at) => self.last = bytes[at + 1..].to_vec(),
            None if self.last.ends_with(b"\n") => self.last = bytes.to_vec(),
            None => self.last.extend_from_slice(bytes),
        }
        if LAST_LINE_BYTES_MAX < self.last.len() {
            self.last.clear();
        }
        Ok(())
    }

    fn written(
        &mut self,
        write: impl FnOnce(&mut BufWriter<Box<dyn Write + Send>>) -> io::Result<()>,
    ) -> Result<()> {
        write(&mut self.out).map_err(|error| {
            self.is_closed = error.kind() == io::ErrorKind::BrokenPipe;
            unwritable(&self.file, &error)
        })
    }

    /// How many lines there were, as the last one says. `None`: standard output was closed before.
    ///
    /// # Errors
    /// That of copying; `Unavailable` if the last line is missing.
    fn end(mut self, copied: Result<()>) -> Result<Option<u64>> {
        let flushed = copied.and_then(|()| self.written(Write::flush));
        self.bar.finish_and_clear();
        if self.is_closed {
            return Ok(None);
        }
        flushed?;
        let last: Value = serde_json::from_slice(&self.last).unwrap_or_default();
        match last["data"]["lines"].as_u64().filter(|_| last["kind"] == "end") {
            Some(n) => Ok(Some(n)),
            None => Err(Error::unavailable(match last["data"]["message"].as_str() {
                Some(message) if last["kind"] == "error" => message.to_owned(),
                _ => "the export ended before its last line; try again".to_owned(),
            })),
        }
    }
}
