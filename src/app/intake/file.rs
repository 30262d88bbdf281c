//! Importing an assessor's file, and taking an import back.

use std::io::{BufRead, BufReader, Read};

use sha2::{Digest, Sha256};

use crate::app::App;
use crate::app::intake::ingest::{Discovery, Intake, IntakeOutcome, NewRun};
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::ImportId;
use crate::import::fold::{Fold, Folded, ImportOrigin, Observed};
use crate::import::{self, Format};
use crate::store::ClientStore;
use crate::store::per_client::import::Import;

/// A larger file is refused.
pub const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The format is told from this much of the file's start.
const HEAD_BYTES: usize = 64 * 1024;

/// Which time the file's observations count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedAt {
    File,
    Now,
    At(Time),
}

/// How a file is to be taken.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// As it was called where it came from; may be empty.
    pub file_name: String,
    /// `None`: told from the file's start.
    pub format: Option<Format>,
    /// `None`: the format's tool.
    pub source: Option<String>,
    pub observed_at: ObservedAt,
    /// Take a file that was already imported once more.
    pub again: bool,
    /// The file tells everything about the scopes that it names: what it no longer has is gone.
    pub complete: bool,
    pub by: String,
}

/// What an import came to.
#[derive(Clone, Debug)]
pub enum Imported {
    Changed(Box<IntakeOutcome>),
    /// The same bytes came before, in this import; nothing was done.
    Known(Box<Import>),
}

/// Counts and hashes what it hands on; refuses to go on beyond [`FILE_BYTES_MAX`].
struct Measured<R> {
    inner: R,
    digest: Sha256,
    n_bytes: u64,
}

impl<R: Read> Read for Measured<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.digest.update(&buffer[..n]);
        self.n_bytes += n as u64;
        if FILE_BYTES_MAX < self.n_bytes {
            return Err(std::io::Error::new(
                std::io::ErrorKind::FileTooLarge,
                format!("the file is larger than {} MiB", FILE_BYTES_MAX / 1024 / 1024),
            ));
        }
        Ok(n)
    }
}

impl App {
    /// Reads a file to its end, then takes in all of it or nothing.
    ///
    /// # Errors
    /// `Invalid` when it is of no known format, broken, or too old; `TooLarge`; `Unavailable` when the disk does not
    /// take it.
    pub async fn import_file(
        &self,
        rows: &ClientStore,
        order: ImportRequest,
        file: impl Read + Send + 'static,
    ) -> Result<Imported> {
        let id = ImportId::random();
        let now = self.clock.now();
        let (given, source) = (order.format, order.source.clone());
        let observed = match order.observed_at {
            ObservedAt::File => Observed::File { now },
            ObservedAt::Now => Observed::At(now),
            ObservedAt::At(time) => Observed::At(time.min(now)),
        };
        let read = self.store.run_blocking(move || read_whole(file, given, source, id, observed));
        let (format, folded, digest) = read.await?;
        // From here on alone: the same file sent twice at once is taken once.
        let lock = self.clients.lock(rows.id()).await;
        let known = rows.read(move |snapshot| snapshot.find_import_by_digest(&digest)).await?;
        if let Some(known) = known.filter(|_| !order.again) {
            return Ok(Imported::Known(Box::new(known)));
        }
        let intake = intake(format, folded, digest, id, &order, now, |it| self.is_over(it, now))?;
        let outcome = self.ingest_alone(rows, intake, &lock).await?;
        Ok(Imported::Changed(Box::new(outcome)))
    }

    /// Takes an import's facts back and reassesses. Assets that it found stay.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` when it was taken back before.
    pub async fn undo_import(&self, rows: &ClientStore, id: ImportId) -> Result<IntakeOutcome> {
        let now = self.clock.now();
        let lock = self.clients.lock(rows.id()).await;
        let found = rows
            .read(move |snapshot| {
                let retracted = snapshot.find_observations_of_import(id)?;
                Ok(snapshot.find_import(id)?.map(|it| (it, retracted)))
            })
            .await?;
        let (import, retracted) = found.ok_or_else(|| Error::not_found("import not found"))?;
        if import.retracted_at.is_some() {
            return Err(Error::conflict("the import was already undone"));
        }
        let intake = Intake::undoing(import, retracted, now);
        self.ingest_alone(rows, intake, &lock).await
    }

    /// Whether an observation counts no more today.
    fn is_over(&self, it: &crate::engine::fact::Observation, now: Time) -> bool {
        crate::engine::control::valid_until(&self.catalog, it) <= now
    }
}

type Whole = (Format, Folded, [u8; 32]);

fn read_whole(
    file: impl Read,
    given: Option<Format>,
    source: Option<String>,
    import: ImportId,
    observed: Observed,
) -> Result<Whole> {
    let measured = Measured { inner: file, digest: Sha256::new(), n_bytes: 0 };
    let mut input = BufReader::with_capacity(HEAD_BYTES, measured);
    fill(&mut input)?;
    let detected = import::detect(input.buffer());
    let format = given.or(detected).ok_or_else(unknown_format)?;
    let tool = format.tool();
    let source = source.unwrap_or_else(|| tool.to_owned());
    let mut fold = Fold::new(ImportOrigin { tool, source, import, valid_until: None, observed });
    import::read(format, &mut input, &mut |record| fold.add(record))?;
    // What is behind the last record belongs to the file's digest too.
    std::io::copy(&mut input, &mut std::io::sink()).map_err(|it| unreadable(&it))?;
    Ok((format, fold.finish(), input.into_inner().digest.finalize().into()))
}

/// Has the buffer hold something of the file's start.
fn fill(input: &mut impl BufRead) -> Result<()> {
    let filled = input.fill_buf().map_err(|it| unreadable(&it))?;
    if filled.is_empty() {
        return Err(Error::invalid("the file is empty"));
    }
    Ok(())
}

fn unreadable(error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::FileTooLarge {
        return Error::too_large(error.to_string());
    }
    Error::invalid(format!("the file could not be read to its end: {error}"))
}

fn unknown_format() -> Error {
    let known = Format::ALL.map(Format::as_str).join(", ");
    Error::invalid(format!(
        "the file's format was not recognised; name it with --format (one of {known})"
    ))
}

fn intake(
    format: Format,
    folded: Folded,
    digest: [u8; 32],
    id: ImportId,
    order: &ImportRequest,
    now: Time,
    is_over: impl Fn(&crate::engine::fact::Observation) -> bool,
) -> Result<Intake> {
    let newest = folded.observations.iter().map(|it| it.observed_at).max();
    if let (ObservedAt::File, Some(newest)) = (order.observed_at, newest)
        && folded.observations.iter().all(is_over)
    {
        return Err(Error::invalid(format!(
            "all {} observations are too old to count (the newest is of {newest}); nothing was imported. If the file \
             tells of today's state, repeat with --observed-at now",
            folded.observations.len()
        )));
    }
    let oldest = folded.observations.iter().map(|it| it.observed_at).min();
    let seen_at = newest.unwrap_or(now);
    let run = NewRun {
        id,
        name: order.file_name.clone(),
        format: format.as_str().to_owned(),
        digest,
        source: order.source.clone().unwrap_or_else(|| format.tool().to_owned()),
        by: order.by.clone(),
        at: now,
    };
    let folded = Folded { observed_from: oldest, observed_to: newest, ..folded };
    let mut intake = Intake {
        seen_at,
        discovery: match format {
            Format::Nmap => Discovery::OfKnownSource,
            Format::ProwlerOcsf | Format::ProwlerCsv | Format::ProwlerJson => {
                Discovery::OfKnownScopes
            }
        },
        ..Intake::of(run, folded)
    };
    intake.import.complete = order.complete;
    Ok(intake)
}
