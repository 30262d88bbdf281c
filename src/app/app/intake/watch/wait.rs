//! The files that wait in the watch folder: since when each is unchanged, and why one has to wait longer.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::time::{Duration, Instant};

use super::folder::{FolderListing, Listing, Stamp, Verdict};
use super::name::{Owners, Place, shown};
use crate::id::ClientId;

/// A file is finished when it was not changed for so long.
pub const SETTLED_AFTER: Duration = Duration::from_secs(5);
/// A file that could not be taken is tried again after this.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Bounded by what a listing has.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    files: BTreeMap<Place, WaitingFile>,
    /// The problems that were there at the last look. Each is logged once, until it is gone.
    problems: BTreeSet<String>,
}

#[derive(Debug)]
struct WaitingFile {
    stamp: Stamp,
    /// Since when it has been seen like this.
    since: Instant,
    /// It was judged and is only to be moved.
    verdict: Option<Verdict>,
    delay: Option<Delay>,
}

#[derive(Debug)]
struct Delay {
    until: Instant,
    why: String,
}

/// The first finished file of each folder.
#[derive(Debug, Default)]
pub(super) struct ReadyFiles {
    pub files: Vec<Ready>,
    /// A folder has another one.
    pub more: bool,
}

/// A finished file.
#[derive(Debug)]
pub(super) struct Ready {
    pub place: Place,
    pub stamp: Stamp,
    pub client: ClientId,
    /// `None`: it is to be imported.
    pub verdict: Option<Verdict>,
}

impl Waiting {
    /// Compares what is there now with what was there before. Returns the files to take, and what keeps others waiting.
    pub(super) fn look(
        &mut self,
        listing: &Listing,
        owners: &Owners,
        now: Instant,
    ) -> (ReadyFiles, Vec<String>) {
        self.observe(listing, now);
        let mut ready = ReadyFiles::default();
        let mut problems = Vec::new();
        if 0 < listing.n_strays {
            let rule = "files lie directly in the watch folder; move each into a folder in it that has the id or the name of \
                        a client";
            problems.push(rule.to_owned());
        }
        for folder in &listing.folders {
            if let Err(why) = self.look_into(folder, owners, now, &mut ready) {
                problems.push(format!("`{}`: {why}", shown(&folder.name)));
            }
        }
        self.log_new(&problems);
        (ready, problems)
    }

    fn observe(&mut self, listing: &Listing, now: Instant) {
        let mut before = std::mem::take(&mut self.files);
        for folder in &listing.folders {
            for (file, stamp) in &folder.files {
                let place = place(&folder.name, file);
                let known = before.remove(&place).filter(|it| it.stamp == *stamp);
                let new = WaitingFile { stamp: *stamp, since: now, verdict: None, delay: None };
                self.files.insert(place, known.unwrap_or(new));
            }
        }
    }

    /// # Errors
    /// What keeps files waiting that are not being written.
    fn look_into(
        &self,
        folder: &FolderListing,
        owners: &Owners,
        now: Instant,
        ready: &mut ReadyFiles,
    ) -> Result<(), String> {
        let owner = owners.find(&folder.name);
        // A folder that nobody uses is no problem.
        if owner.is_err() && folder.n_files == 0 {
            return Ok(());
        }
        let client = owner?;
        if let Some(error) = folder.error {
            return Err(format!("the folder cannot be read: {error}"));
        }
        let (mut is_first, mut problem) = (true, Ok(()));
        for (file, _) in &folder.files {
            let place = place(&folder.name, file);
            let Some(it) = self.files.get(&place) else { continue };
            if let Some(delay) = &it.delay {
                problem = Err(format!("a file waits and is tried again: {}", delay.why));
            }
            if !it.is_ready(now) {
                continue;
            }
            if !is_first {
                ready.more = true;
                continue;
            }
            is_first = false;
            let (stamp, verdict) = (it.stamp, it.verdict.clone());
            ready.files.push(Ready { place, stamp, client, verdict });
        }
        problem
    }

    fn log_new(&mut self, problems: &[String]) {
        for problem in problems.iter().filter(|it| !self.problems.contains(*it)) {
            tracing::warn!("watch folder: {problem}");
        }
        self.problems = problems.iter().cloned().collect();
    }

    /// It is only to be moved from now on.
    pub(super) fn judged(&mut self, place: &Place, verdict: &Verdict) {
        if let Some(it) = self.files.get_mut(place) {
            it.verdict = Some(verdict.clone());
        }
    }

    /// It could not be taken.
    pub(super) fn delay(&mut self, place: &Place, why: &str, now: Instant) {
        if let Some(it) = self.files.get_mut(place) {
            it.delay = Some(Delay { until: now + RETRY_AFTER, why: why.to_owned() });
        }
    }
}

impl WaitingFile {
    fn is_ready(&self, now: Instant) -> bool {
        self.since + SETTLED_AFTER <= now && self.delay.as_ref().is_none_or(|it| it.until <= now)
    }
}

fn place(folder: &OsStr, file: &OsStr) -> Place {
    Place { folder: folder.to_owned(), file: file.to_owned() }
}
