//! Reads the files of known tools into records, and folds records into facts.
//!
//! `Result` is about the file as a whole: an `Err` means that it is truncated, invalid or of another format, and nothing of
//! it may be kept. A bad record in an intact file is [`Record::Skipped`], with its reason.

use std::io::{BufRead, Read};

use crate::clock::Time;
use crate::encoding::{self, NotText};
use crate::engine::asset::Seen;
use crate::engine::fact::{regional_hash, subject_hash};
use crate::engine::identity::leaver::Leaver;
use crate::engine::severity::Severity;
use crate::engine::vulnerability::SystemKind;
use crate::error::{Error, Result};

mod about;
mod asff;
mod baseline;
mod cloud;
mod code;
mod document;
pub mod fold;
mod format;
pub mod guess;
pub mod host;
pub mod inventory;
mod json;
mod lynis;
mod markup;
mod moment;
mod nmap;
mod page;
mod pingcastle;
mod plain;
mod prowler;
mod ration;
mod scalar;
mod scap;
mod sheet;
mod tenant;
mod text;
pub mod unpack;
pub mod vulnerability;
mod xml;

pub use format::{Format, known_formats};
use inventory::{Columns, Kind};

/// Longer records (a finding, a row, an XML tag) are not kept in memory: a longer finding is skipped; a file with a longer row
/// or tag is refused.
pub const RECORD_BYTES_MAX: usize = 4 << 20;
/// [`detect`] reads at most this much of the start of a file.
pub const HEAD_BYTES_MAX: usize = 64 << 10;

/// One piece of information in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    Check(Check),
    Asset(Seen),
    /// A vulnerability scanner looked at a system. What it found there are further records, before or after.
    System(ScannedSystem),
    Vulnerability(FoundVulnerability),
    Leaver(Leaver),
    /// A record that was skipped, and why. The same reason always has the same words.
    Skipped {
        /// Number of the record in the file (finding, row or host), from 1.
        at: u64,
        reason: String,
    },
    /// The file has a check, but no result of it that counts: what is known of it stands. It comes with a skipped record.
    Silent {
        scope: String,
        /// As of a check.
        tool: Option<&'static str>,
        check: String,
        observed_at: Option<Time>,
    },
}

impl Record {
    /// The same of a report that does not say what it is about, which is called so.
    #[must_use]
    pub fn about(self, name: &str) -> Self {
        let subject = CheckSubject::of(name.to_owned(), name.to_owned());
        match self {
            Self::Check(check) => Self::Check(Check { subject, ..check }),
            it @ (Self::Asset(_)
            | Self::System(_)
            | Self::Vulnerability(_)
            | Self::Leaver(_)
            | Self::Skipped { .. }
            | Self::Silent { .. }) => it,
        }
    }
}

/// The outcome of a tool's check for one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub scope: String,
    /// The catalog's name of the tool. `None`: the tool of the file.
    pub tool: Option<&'static str>,
    /// The tool's own id of it.
    pub check: String,
    pub outcome: CheckOutcome,
    pub severity: Severity,
    pub title: String,
    pub remediation: Option<String>,
    /// What was observed.
    pub detail: Option<String>,
    pub subject: CheckSubject,
    /// `None`: the file does not say.
    pub observed_at: Option<Time>,
}

/// A system that a vulnerability scanner looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScannedSystem {
    /// Its name or address becomes that by which scans of several tools are recognized as of one system.
    pub seen: Seen,
    pub kind: SystemKind,
    /// As of [`crate::engine::vulnerability::SystemScan`].
    pub is_deep: bool,
    /// `None`: the file does not say.
    pub observed_at: Option<Time>,
}

/// A vulnerability of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundVulnerability {
    /// [`Seen::external_id`] of the system.
    pub system: String,
    /// `CVE-…` where it has one, else the tool's own id.
    pub id: String,
    pub severity: Severity,
    pub title: String,
    /// The package or program. `None`: the file does not say.
    pub component: Option<String>,
    pub installed: Option<String>,
    /// The version, or the update, that fixes it.
    pub fixed: Option<String>,
    pub is_fixable: bool,
    /// When the tool saw it there first. `None`: the file does not say.
    pub first_seen_at: Option<Time>,
    /// Since when there is a fix, or else since when it is known. `None`: the file does not say.
    pub published_at: Option<Time>,
    /// Accepted, muted or suppressed at the source.
    pub is_accepted: bool,
}

/// Ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckOutcome {
    Pass,
    /// Failed, but muted at the source. Never counted as passed or failed.
    Accepted,
    Fail,
}

/// What a check looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSubject {
    /// Equals [`Seen::external_id`] where the subject is an asset.
    pub id: String,
    pub name: String,
    /// Where it is, if there is one of the same id in each region.
    pub region: Option<String>,
}

impl CheckSubject {
    /// One whose id says which it is.
    #[must_use]
    pub const fn of(id: String, name: String) -> Self {
        Self { id, name, region: None }
    }

    /// Returns what identifies it.
    #[must_use]
    pub fn hash(&self) -> u64 {
        match &self.region {
            Some(region) => regional_hash(&self.id, region),
            None => subject_hash(&self.id),
        }
    }
}

/// The format of a file, from its start (up to [`HEAD_BYTES_MAX`]).
///
/// An empty array counts as `prowler-ocsf`. `None`: an unknown format.
#[must_use]
pub fn detect(head: &[u8]) -> Option<Format> {
    let head = &head[..head.len().min(HEAD_BYTES_MAX)];
    let head = encoding::without_mark(head).trim_ascii_start();
    if nmap::masscan::is_report(head) {
        return Some(Format::Masscan);
    }
    match head.first()? {
        b'<' if contains(head, b"<nmaprun") => Some(Format::Nmap),
        b'<' if contains(head, b"<HealthcheckData") => Some(Format::PingCastle),
        b'<' if contains(head, b"<CHECKLIST>") => Some(Format::StigChecklist),
        b'<' => {
            let is_xccdf = contains(head, b"checklists.nist.gov/xccdf")
                || contains(head, b"asset-report-collection");
            is_xccdf.then_some(Format::Xccdf).or_else(|| vulnerability::detect_xml(head))
        }
        b'[' | b'{' => {
            let known = tenant::detect(head).or_else(|| prowler::detect_json(head));
            let known =
                known.or_else(|| scap::detect_json(head)).or_else(|| baseline::detect(head));
            let known = known.or_else(|| vulnerability::detect_json(head));
            let known = known.or_else(|| cloud::detect_json(head));
            known.or_else(|| code::is_report(head).then_some(Format::Sarif))
        }
        b'#' | b'r' if contains(head, b"report_version_major=") => Some(Format::Lynis),
        _ if prowler::csv::is_header(head) => Some(Format::ProwlerCsv),
        _ => cloud::detect(head)
            .or_else(|| vulnerability::detect_table(head))
            .or_else(|| baseline::detect_table(head))
            .or_else(|| inventory::is_leavers(head).then_some(Format::Leavers))
            .or_else(|| inventory::is_table(head).then_some(Format::Inventory)),
    }
}

/// Returns true if all of these names are in the start of a JSON file.
fn has_members(head: &[u8], names: &[&str]) -> bool {
    names.iter().all(|it| contains(head, format!("\"{it}\"").as_bytes()))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|it| it == part)
}

/// Reads a file from its start to its end and hands out its records in the file's order.
///
/// Holds one record at a time; of a report about one thing, what is kept of it.
///
/// # Errors
/// `Invalid` when the file is truncated, invalid, or not of this format: the message says what is wrong, where, and what to
/// do. `Unavailable` when reading it fails. Whatever `records` returns.
pub fn read(
    format: Format,
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    read_with(format, &Columns::default(), input, records)
}

/// [`read`], with the columns of an inventory.
///
/// # Errors
/// As there.
pub fn read_with(
    format: Format,
    columns: &Columns,
    input: &mut dyn BufRead,
    records: &mut dyn FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut start = [0; 3];
    let mut n_start = 0;
    while n_start < start.len() {
        match input.read(&mut start[n_start..]).map_err(unreadable)? {
            0 => break,
            n => n_start += n,
        }
    }
    let start = &start[..n_start];
    refuse_encoded(start)?;
    let mut input = encoding::without_mark(start).chain(input);
    match format {
        Format::ProwlerOcsf => prowler::ocsf::read(&mut input, records),
        Format::ProwlerCsv => prowler::csv::read(&mut input, records),
        Format::ProwlerJson => prowler::json::read(&mut input, records),
        Format::Asff => asff::read(&mut input, records),
        Format::SecurityHubOcsf => cloud::read_ocsf(&mut input, records),
        Format::Nmap => nmap::xml::read(&mut input, records),
        Format::Masscan => nmap::masscan::read(&mut input, records),
        Format::Scuba => tenant::read_scuba(&mut input, records),
        Format::Maester => tenant::read_maester(&mut input, records),
        Format::SecureScore => tenant::read_securescore(&mut input, records),
        Format::ZeroTrust => tenant::read_zerotrust(&mut input, records),
        Format::DefenderCloud => cloud::read_defender(&mut input, records),
        Format::ScoutSuite => cloud::read_scoutsuite(&mut input, records),
        Format::Powerpipe => cloud::read_powerpipe(&mut input, records),
        Format::Sarif => code::read(&mut input, records),
        Format::Lynis => lynis::read(&mut input, records),
        Format::PingCastle => pingcastle::read(&mut input, records),
        Format::Xccdf => scap::read(&mut input, records),
        Format::StigChecklist => scap::read_checklist(&mut input, records),
        Format::StigChecklist3 => scap::read_cklb(&mut input, records),
        Format::Oscal => scap::read_oscal(&mut input, records),
        Format::Inspec => baseline::read_inspec(&mut input, records),
        Format::WazuhSca => baseline::read_wazuh(&mut input, records),
        Format::KubeBench => baseline::read_kubebench(&mut input, records),
        Format::HardeningKitty => baseline::read_hardeningkitty(&mut input, records),
        Format::Inventory => inventory::read(&mut input, Kind::Assets, columns, records),
        Format::Leavers => inventory::read(&mut input, Kind::Leavers, columns, records),
        Format::Nessus => vulnerability::read_nessus(&mut input, records),
        Format::NessusCsv => vulnerability::read_nessus_csv(&mut input, records),
        Format::OpenVas => vulnerability::read_openvas(&mut input, records),
        Format::OpenVasCsv => vulnerability::read_openvas_csv(&mut input, records),
        Format::Qualys => vulnerability::read_qualys(&mut input, records),
        Format::Trivy => vulnerability::read_trivy(&mut input, records),
        Format::Grype => vulnerability::read_grype(&mut input, records),
        Format::DefenderVulnerabilities => vulnerability::read_defender(&mut input, records),
        Format::WazuhVulnerabilities => vulnerability::read_wazuh(&mut input, records),
    }
}

/// Refuses encodings that a report often has by mistake.
///
/// # Errors
/// `Invalid`, with what to do.
pub fn refuse_encoded(start: &[u8]) -> Result<()> {
    if start.is_empty() {
        return Err(Error::invalid("the file is empty"));
    }
    if encoding::is_utf16(start) {
        return Err(Error::invalid(format!("the file {}", NotText::Utf16)));
    }
    if unpack::detect(start).is_some() {
        return Err(Error::invalid("the file is compressed; decompress it first"));
    }
    Ok(())
}

fn unreadable(cause: std::io::Error) -> Error {
    Error::unavailable("reading the file failed; try again").caused_by(cause)
}
