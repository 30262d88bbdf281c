//! Imports an assessor's file, and undoes an import.

pub mod binding;

use std::io::{BufRead, BufReader, Read, Seek};

use sha2::{Digest, Sha256};

use binding::Binding;

use crate::app::App;
use crate::app::assessment::log::Entry;
use crate::app::assessment::statement::REASON_CHARS_MAX;
use crate::app::input::require_length;
use crate::app::intake::list::Lists;
use crate::app::intake::run::{Discovery, Intake, IntakeOutcome, NewRun};
use crate::auth::caller::Caller;
use crate::blocking::Cancellation;
use crate::clock::Time;
use crate::engine::control::valid_until;
use crate::engine::fact::Observation;
use crate::engine::memory::Extent;
use crate::engine::vulnerability::SCAN_DAYS;
use crate::error::{Error, Result};
use crate::id::{ClientId, ImportId};
use crate::import::fold::{Fold, Folded, ImportOrigin, Observed};
use crate::import::inventory::{self, Columns, Kind};
use crate::import::unpack::{self, Fault, Packing};
use crate::import::{self, Format, guess, known_formats};
use crate::store::per_client::columns::ColumnPairs;
use crate::store::per_client::import::{Dating, Import, ImportAge};
use crate::store::per_client::statement::Topic;
use crate::store::{ClientSnapshot, ClientStore};

/// A larger file is refused.
pub const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The format is detected from this much of the file's start.
const HEAD_BYTES: usize = 64 * 1024;
const S_PER_DAY: i64 = 86_400;
/// Of a file that says nothing, so many reasons are named.
const N_REASONS_NAMED: usize = 3;

/// The time of the file's observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedAt {
    File,
    Now,
    At(Time),
}

/// How to import a file.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// The name of the file where it came from. It may be empty.
    pub file_name: String,
    /// `None`: it is detected from the file's start.
    pub format: Option<Format>,
    /// `None`: the name of the format's tool.
    pub source: Option<String>,
    /// Which columns of an inventory or list of people who left are what. `None`: those of the source's list before.
    pub columns: Option<ColumnPairs>,
    pub observed_at: ObservedAt,
    /// Import the file even if it was imported before.
    pub again: bool,
    /// The file covers the scopes that it names in full: anything missing from it is gone.
    pub complete: bool,
    /// What the file is about belongs to the client, even if it belongs to another one, or the client has another one.
    pub bind: bool,
    /// The clients that the caller may reach. `None`: all.
    pub reach: Option<Vec<ClientId>>,
    pub by: String,
}

/// The result of an import.
#[derive(Clone, Debug)]
pub enum Imported {
    Changed(Box<IntakeOutcome>),
    /// The same bytes were imported before, by this import. Nothing was done.
    Known(Box<KnownImport>),
}

/// An import of the past, and how current it was. `None`: it is of a release that did not keep it.
pub type KnownImport = (Import, Option<ImportAge>);

/// Counts and hashes the bytes that are read, and refuses more than [`FILE_BYTES_MAX`]. Reading fails once it is canceled.
struct Measured<'a, R> {
    inner: R,
    cancellation: &'a Cancellation,
    digest: Sha256,
    n_bytes: u64,
}

impl<R: Read> Read for Measured<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.cancellation.check().map_err(std::io::Error::other)?;
        let n = self.inner.read(buffer)?;
        self.digest.update(&buffer[..n]);
        self.n_bytes += n as u64;
        if FILE_BYTES_MAX < self.n_bytes {
            return Err(std::io::Error::new(
                std::io::ErrorKind::FileTooLarge,
                format!("the file is larger than {} MiB", FILE_BYTES_MAX >> 20),
            ));
        }
        Ok(n)
    }
}

impl App {
    /// Reads the whole file, then imports all of it or nothing.
    ///
    /// # Errors
    /// `Invalid` if the format is unknown, the file is damaged, or its observations are too old; `TooLarge`;
    /// `Unavailable` if the disk does not accept the write.
    pub async fn import_file(
        &self,
        rows: &ClientStore,
        order: ImportRequest,
        file: impl Read + Seek + Send + 'static,
    ) -> Result<Imported> {
        let id = ImportId::random();
        let now = self.clock.now();
        let given = given(rows, &order).await?;
        let observed = match order.observed_at {
            ObservedAt::File => Observed::File { now },
            ObservedAt::Now => Observed::At(now),
            ObservedAt::At(time) => Observed::At(time.min(now)),
        };
        let read = move |cancellation: &Cancellation| {
            let whole = read_whole(file, given, id, observed, cancellation);
            // What a reader says of an error of its input is not the reason.
            whole.map_err(|error| cancellation.check().err().unwrap_or(error))
        };
        let whole = self.read_file(read).await?;
        let digest = whole.digest;
        // Locked from here on: the same file sent twice at once is imported once.
        let lock = self.clients.lock(rows.id()).await;
        let known = rows.read(move |snapshot| find_known(snapshot, &digest)).await?;
        if let Some(known) = known.filter(|_| !order.again) {
            self.intakes.count_known_file();
            return Ok(Imported::Known(Box::new(known)));
        }
        let format = whole.format;
        keep_columns(rows, &order, format, &whole.source).await?;
        let catalog = self.catalog();
        let intake = intake(whole, id, &order, now, |it| valid_until(&catalog, it))?;
        let binding = Binding {
            client: rows.id(),
            import: id,
            is_forced: order.bind,
            reach: order.reach,
            by: order.by.clone(),
        };
        self.bind_tenants(binding, format, &intake.scopes).await?;
        let outcome = match self.ingest_locked(rows, intake, &lock).await {
            Ok(outcome) => outcome,
            Err(error) => {
                self.free_tenants(rows.id(), id, &order.by).await?;
                return Err(error);
            }
        };
        self.intakes.count_file();
        Ok(Imported::Changed(Box::new(outcome)))
    }

    /// Undoes an import: retracts its facts and reassesses the client. Assets that it found stay.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if it was already undone; `Invalid` for the reason.
    pub async fn undo_import(
        &self,
        by: &Caller,
        rows: &ClientStore,
        id: ImportId,
        reason: String,
    ) -> Result<IntakeOutcome> {
        require_length("reason", Some(&reason), REASON_CHARS_MAX)?;
        let now = self.clock.now();
        let lock = self.clients.lock(rows.id()).await;
        let found = rows
            .read(move |snapshot| {
                let retracted = snapshot.find_observations_of_import(id)?;
                let reads = snapshot.find_reads_of_import(id)?;
                Ok(snapshot.find_import(id)?.map(|it| (it, retracted, reads)))
            })
            .await?;
        let (import, retracted, reads) =
            found.ok_or_else(|| Error::not_found("import not found"))?;
        if import.retracted_at.is_some() {
            return Err(Error::conflict("the import was already undone"));
        }
        let author = by.own_author();
        let undone = Entry { topic: Topic::Import(id), reason, author };
        let intake = Intake::undoing(import, retracted, reads, undone, now);
        let outcome = self.ingest_locked(rows, intake, &lock).await?;
        self.free_tenants(rows.id(), id, &by.name()).await?;
        self.intakes.count_undone_file();
        Ok(outcome)
    }
}

/// Finds the import in which exactly these bytes came before.
pub(super) fn find_known(rows: &ClientSnapshot, digest: &[u8; 32]) -> Result<Option<KnownImport>> {
    let Some(import) = rows.find_import_by_digest(digest)? else { return Ok(None) };
    let age = rows.find_import_age(import.id)?;
    Ok(Some((import, age)))
}

/// A file that was read to its end.
struct WholeFile {
    format: Format,
    source: String,
    folded: Folded,
    digest: [u8; 32],
}

/// What the caller says of a file.
struct Given {
    format: Option<Format>,
    source: Option<String>,
    columns: Columns,
}

async fn given(rows: &ClientStore, order: &ImportRequest) -> Result<Given> {
    let pairs = match (&order.columns, order.source.clone()) {
        (Some(pairs), _) => pairs.clone(),
        (None, Some(source)) => rows.read(move |snapshot| snapshot.list_columns(&source)).await?,
        // The format may not be known yet.
        (None, None) => {
            let read = |rows: &ClientSnapshot| {
                let mut pairs = rows.list_columns(Format::Inventory.tool())?;
                pairs.extend(rows.list_columns(Format::Leavers.tool())?);
                Ok(pairs)
            };
            rows.read(read).await?
        }
    };
    Ok(Given { format: order.format, source: order.source.clone(), columns: Columns::of(&pairs)? })
}

/// Keeps the columns for the next list of the source.
async fn keep_columns(
    rows: &ClientStore,
    order: &ImportRequest,
    format: Format,
    source: &str,
) -> Result<()> {
    let Some(pairs) = order.columns.clone() else { return Ok(()) };
    let Some(kind) = format.list_kind() else {
        return Err(Error::invalid(format!(
            "the file is {format}; only an inventory and a list of people who left have columns: pass --format {} or --format {} \
             if it is one",
            Format::Inventory,
            Format::Leavers
        )));
    };
    Columns::of(&pairs)?.require(kind)?;
    let source = source.to_owned();
    rows.write(move |batch| batch.put_columns(&source, &pairs)).await
}

fn read_whole(
    file: impl Read + Seek,
    given: Given,
    import: ImportId,
    observed: Observed,
    cancellation: &Cancellation,
) -> Result<WholeFile> {
    let measured = Measured { inner: file, cancellation, digest: Sha256::new(), n_bytes: 0 };
    let mut file = BufReader::with_capacity(HEAD_BYTES, measured);
    let start = file.fill_buf().map_err(|it| unreadable(&it))?;
    let packing = unpack::detect(start);
    let fold =
        |unpacked: &mut dyn BufRead| fold_records(unpacked, given, import, observed, cancellation);
    let fault = Fault::default();
    let (read, digest) = match packing {
        None => {
            let read = fold(&mut file);
            (read, file.into_inner().digest)
        }
        Some(Packing::Stream(packing)) => {
            let read = {
                let unpacked = unpack::stream(packing, &mut file, &fault);
                fold(&mut buffered(unpacked, cancellation))
            };
            (read, file.into_inner().digest)
        }
        Some(Packing::Zip) => {
            // What an archive has in it is said at its end.
            std::io::copy(&mut file, &mut std::io::sink()).map_err(|it| unreadable(&it))?;
            let Measured { inner, digest, .. } = file.into_inner();
            let archive = unpack::open(inner, cancellation)?;
            let unpacked = archive.unpacked(&fault)?;
            (fold(&mut buffered(unpacked, cancellation)), digest)
        }
    };
    // What a reader says of an error of its input is not the reason.
    let (format, source, folded) = read.map_err(|error| fault.take().unwrap_or(error))?;
    Ok(WholeFile { format, source, folded, digest: digest.finalize().into() })
}

/// What is unpacked, which may be much more than what is read for it.
fn buffered<'a>(
    unpacked: impl Read + 'a,
    cancellation: &'a Cancellation,
) -> BufReader<impl Read + 'a> {
    BufReader::with_capacity(HEAD_BYTES, Cancelable { inner: unpacked, cancellation })
}

/// Reading fails once it is canceled.
struct Cancelable<'a, R> {
    inner: R,
    cancellation: &'a Cancellation,
}

impl<R: Read> Read for Cancelable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.cancellation.check().map_err(std::io::Error::other)?;
        self.inner.read(buffer)
    }
}

/// Reads the records of a file that is not compressed, to its end.
fn fold_records(
    mut file: impl BufRead,
    Given { format, source, columns }: Given,
    import: ImportId,
    observed: Observed,
    cancellation: &Cancellation,
) -> Result<(Format, String, Folded)> {
    let mut head = Vec::new();
    let mut start = Read::by_ref(&mut file).take(HEAD_BYTES as u64);
    start.read_to_end(&mut head).map_err(|it| unreadable(&it))?;
    let Some(format) = format.or_else(|| import::detect(&head)) else {
        return Err(unknown_format(&head));
    };
    if format.needs_source() && source.is_none() {
        return Err(Error::invalid(
            "the report does not say which host, cluster, system or repository it is about; repeat with --source and a name for it, \
             which stands for it from then on",
        ));
    }
    let source = source.unwrap_or_else(|| format.source(&head).to_owned());
    let mut fold = Fold::new(ImportOrigin {
        tool: format.tool(),
        source: source.clone(),
        import,
        valid_until: None,
        observed,
    });
    let mut input = head.as_slice().chain(file);
    import::read_with(format, &columns, &mut input, &mut |record| {
        cancellation.check()?;
        fold.add(if format.is_nameless() { record.about(&source) } else { record })
    })?;
    // What follows the last record belongs to the file's digest too.
    std::io::copy(&mut input, &mut std::io::sink()).map_err(|it| unreadable(&it))?;
    Ok((format, source, fold.finish()))
}

fn unreadable(error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::FileTooLarge {
        return Error::too_large(error.to_string());
    }
    Error::invalid(format!("the file could not be read to its end: {error}"))
}

fn unknown_format(head: &[u8]) -> Error {
    if let Err(error) = import::refuse_encoded(head) {
        return error;
    }
    let known = known_formats();
    Error::invalid(match guess::look(head) {
        Some((what, instead)) => format!(
            "the file looks like {what}, which cannot be imported as it is: {instead}. The formats are {known}"
        ),
        None => {
            format!("the file's format was not recognized; pass --format with one of {known}")
        }
    })
}

/// Refuses a file that says nothing, though it has records.
fn refuse_skipped(folded: &Folded) -> Result<()> {
    let says_nothing =
        folded.observations.is_empty() && folded.assets.is_empty() && folded.scans.is_empty();
    let says_nothing = says_nothing && folded.leavers.is_empty();
    if folded.n_records == 0 || !says_nothing {
        return Ok(());
    }
    let mut reasons: Vec<_> = folded.skipped.iter().collect();
    reasons.sort_by_key(|it| std::cmp::Reverse(*it.1));
    let named = reasons.iter().take(N_REASONS_NAMED).map(|(reason, n)| format!("{reason} ({n})"));
    let named = named.collect::<Vec<_>>().join("; ");
    let rule = "every record of the file was skipped, so nothing was imported";
    Err(Error::invalid(format!("{rule}: {named}")))
}

/// # Errors
/// `Invalid` if nothing of it counts any more.
fn refuse_outdated(
    Folded { observations, scans, .. }: &Folded,
    newest: Time,
    now: Time,
    valid_until: impl Fn(&Observation) -> Time,
) -> Result<()> {
    let is_current = |it: &Observation| now < valid_until(it);
    if observations.iter().any(is_current) || scans.iter().any(|it| !it.is_outdated(now)) {
        return Ok(());
    }
    let counts_s = |it: &Observation| valid_until(it).s_since(it.observed_at);
    let of_scans = scans.iter().map(|_| SCAN_DAYS * S_PER_DAY);
    let longest_s = observations.iter().map(counts_s).chain(of_scans).max();
    let n_days = longest_s.unwrap_or_default() / S_PER_DAY;
    let n = observations.len() + scans.len();
    Err(Error::invalid(format!(
        "all {n} observations are too old to count: the newest is from {newest}, and they count for {n_days} days at most. \
        Nothing was imported. If the file shows the current state, repeat with --observed-at now"
    )))
}

fn intake(
    WholeFile { format, source, folded, digest }: WholeFile,
    id: ImportId,
    order: &ImportRequest,
    now: Time,
    valid_until: impl Fn(&Observation) -> Time,
) -> Result<Intake> {
    refuse_skipped(&folded)?;
    if order.observed_at == ObservedAt::File && !format.has_times() {
        return Err(Error::invalid(
            "the file does not say when its results were found; repeat with --observed-at and that time, or with \
             --observed-at now if it shows the current state",
        ));
    }
    let observed = folded.observations.iter().map(|it| it.observed_at);
    let times: Vec<Time> = observed.chain(folded.scans.iter().map(|it| it.at)).collect();
    let (oldest, newest) = (times.iter().min().copied(), times.iter().max().copied());
    if let (ObservedAt::File, Some(newest)) = (order.observed_at, newest) {
        refuse_outdated(&folded, newest, now, valid_until)?;
    }
    let seen_at = newest.unwrap_or(now);
    let run = NewRun {
        id,
        name: order.file_name.clone(),
        format: format.as_str().to_owned(),
        digest,
        source,
        by: order.by.clone(),
        at: now,
    };
    let is_complete = order.complete || format.is_whole();
    let mut folded = Folded { observed_from: oldest, observed_to: newest, ..folded };
    if is_complete {
        folded.observations.append(&mut folded.silent);
    }
    let lists = format.list_kind().map(|kind| {
        let lists = Lists { at: seen_at, complete: is_complete, ..Lists::default() };
        match kind {
            Kind::Assets => Lists {
                scope: inventory::SCOPE.to_owned(),
                assets: Some(folded.assets.iter().map(|it| it.external_id.clone()).collect()),
                ..lists
            },
            Kind::Leavers => Lists {
                scope: inventory::LEAVERS_SCOPE.to_owned(),
                leavers: Some(folded.leavers.clone()),
                ..lists
            },
        }
    });
    let dating = match order.observed_at {
        ObservedAt::File => Dating::File,
        ObservedAt::Now => Dating::Now,
        ObservedAt::At(_) => Dating::Given,
    };
    let age = ImportAge { dating, file_observed_at: folded.file_observed_at, n_outdated: 0 };
    let mut intake = Intake {
        age,
        lists,
        seen_at,
        discovery: if format.is_about_hosts() {
            Discovery::OfKnownSource
        } else {
            Discovery::OfKnownScopes
        },
        ..Intake::of(run, folded)
    };
    intake.import.complete = is_complete;
    intake.extent_if_held = Some(Extent::Named);
    // A check of a host is about the host itself.
    Ok(match (format.is_about_hosts(), is_complete) {
        (true, _) => intake,
        (false, true) => intake.speaking_of(Extent::Complete),
        (false, false) => intake.speaking_of(Extent::Named),
    })
}
