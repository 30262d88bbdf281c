//! Files of evidence: the file itself, in the register of a client.

use std::fs::File;
use std::io::Read;

use sha2::{Digest, Sha256};

use crate::app::App;
use crate::app::assessment::evidence::{N_EVIDENCE_MAX, NewEvidence, register};
use crate::app::assessment::statement::Statement;
use crate::app::decision::evidence::{Entered, full};
use crate::app::event::cause::Cause;
use crate::app::input::require_name;
use crate::blocking::{self, Cancellation};
use crate::error::{Error, Result};
use crate::id::EvidenceId;
use crate::store::per_client::evidence::file::{EvidenceFile, PART_BYTES};
use crate::store::per_client::evidence::{Evidence, RegisteredEvidence};
use crate::store::{ClientSnapshot, ClientStore};

/// A larger file is refused.
pub const EVIDENCE_FILE_BYTES_MAX: u64 = 20 * 1024 * 1024;
/// How much the files of one client's evidence may have together.
pub const EVIDENCE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
pub const FILE_NAME_CHARS_MAX: usize = 200;
/// Parts that one commit stores: other clients' writes go between.
const N_PARTS_AT_ONCE: usize = 5;

/// A file that is there completely.
pub struct NewFile {
    pub name: String,
    pub content: File,
    pub n_bytes: u64,
}

impl App {
    /// Adds a person's evidence with its file. The same file for the same control and reference renews its entry.
    ///
    /// # Errors
    /// `Invalid` with what breaks a rule; `Conflict` if the register is full; those of [`App::reassess`].
    pub async fn add_evidence_file(
        &self,
        rows: &ClientStore,
        new: NewEvidence,
        file: NewFile,
    ) -> Result<Entered> {
        let now = self.clock.now();
        self.check_evidence(&new, now)?;
        check_name(&file.name)?;
        if file.n_bytes == 0 {
            return Err(Error::invalid("the file is empty"));
        }
        let NewFile { name, content, n_bytes } = file;
        let (sha256, content) = self.read_file(move |it| digest(content, it)).await?;
        let lock = self.clients.lock(rows.id()).await;
        let (known, broken_off) = {
            let (catalog, new) = (self.catalog(), new.clone());
            let find = move |it: &ClientSnapshot| {
                look(it, &register(it, &catalog)?, &new, sha256, n_bytes)
            };
            rows.read(find).await?
        };
        let is_new = known.is_none();
        let made = || EvidenceFile { evidence: EvidenceId::made_at(now), name, n_bytes };
        let file = known.unwrap_or_else(made);
        if is_new {
            store_parts(&rows.unrecorded(), broken_off, file.clone(), content).await?;
        }
        let evidence = Evidence {
            id: file.evidence,
            control: new.control,
            title: new.title,
            reference: new.reference,
            sha256: Some(sha256),
            valid_until: new.valid_until,
            added_at: now,
            by: new.by,
        };
        let statement = Statement::PutEvidence(evidence.clone());
        self.state(rows, statement, Cause::Attestation, &lock).await?;
        let entry = RegisteredEvidence { evidence, source: None, file: Some(file) };
        Ok(if is_new { Entered::Added(entry) } else { Entered::Renewed(entry) })
    }
}

/// Returns the file of the entry that is renewed, and those that broke off before.
fn look(
    rows: &ClientSnapshot,
    all: &[RegisteredEvidence],
    new: &NewEvidence,
    sha256: [u8; 32],
    n_bytes: u64,
) -> Result<(Option<EvidenceFile>, Vec<EvidenceId>)> {
    let same = all.iter().find(|it| {
        let entry = &it.evidence;
        it.source.is_none()
            && it.file.is_some()
            && (&entry.control, &entry.reference, entry.sha256)
                == (&new.control, &new.reference, Some(sha256))
    });
    if let Some(same) = same {
        return Ok((same.file.clone(), Vec::new()));
    }
    if N_EVIDENCE_MAX <= all.len() {
        return Err(full());
    }
    let kept: u64 = all.iter().filter_map(|it| it.file.as_ref()).map(|it| it.n_bytes).sum();
    if EVIDENCE_BYTES_MAX < kept + n_bytes {
        let (max, kept) = (EVIDENCE_BYTES_MAX >> 20, kept >> 20);
        return Err(Error::conflict(format!(
            "the files of the client's evidence have {kept} of at most {max} MiB; remove evidence that is no longer needed"
        )));
    }
    let is_broken_off = |id: &EvidenceId| all.iter().all(|it| it.evidence.id != *id);
    let files = rows.list_evidence_files()?.into_iter().map(|it| it.evidence);
    Ok((None, files.filter(is_broken_off).collect()))
}

/// Stores a file in several commits. It is in the register with none of them.
async fn store_parts(
    rows: &ClientStore,
    broken_off: Vec<EvidenceId>,
    file: EvidenceFile,
    mut content: File,
) -> Result<()> {
    for id in broken_off {
        rows.write(move |batch| batch.remove_evidence_file(id)).await?;
    }
    let (id, n_parts) = (file.evidence, file.n_parts());
    rows.write(move |batch| batch.put_evidence_file(&file)).await?;
    let mut number = 0;
    while number < n_parts {
        let read = move || {
            let mut parts = Vec::new();
            while parts.len() < N_PARTS_AT_ONCE {
                let mut part = Vec::with_capacity(PART_BYTES);
                let n = Read::by_ref(&mut content).take(PART_BYTES as u64).read_to_end(&mut part);
                if n.map_err(Error::internal)? == 0 {
                    break;
                }
                parts.push(part);
            }
            Ok((parts, content))
        };
        let (parts, rest) = blocking::run((), read).await?;
        content = rest;
        let first = number;
        number += u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let put = move |batch: &mut crate::store::ClientBatch<'_>| {
            (first..).zip(&parts).try_for_each(|(n, part)| batch.put_evidence_part(id, n, part))
        };
        rows.write(put).await?;
    }
    Ok(())
}

/// The digest of a file, and the file again from its start.
fn digest(mut file: File, cancellation: &Cancellation) -> Result<([u8; 32], File)> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; PART_BYTES];
    loop {
        cancellation.check()?;
        match file.read(&mut buffer).map_err(Error::internal)? {
            0 => break,
            n => digest.update(&buffer[..n]),
        }
    }
    std::io::Seek::rewind(&mut file).map_err(Error::internal)?;
    Ok((digest.finalize().into(), file))
}

/// A name is shown to people and is what a browser saves the file as.
fn check_name(name: &str) -> Result<()> {
    require_name("fileName", name, FILE_NAME_CHARS_MAX)?;
    if name.contains(['/', '\\']) {
        return Err(Error::invalid_field("fileName", "must be a file name without its folder"));
    }
    Ok(())
}
