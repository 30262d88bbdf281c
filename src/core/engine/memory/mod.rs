//! What an observation knows of single subjects, and of those before it.

pub mod remember;
pub mod sparse;

use bincode::{Decode, Encode};

use crate::clock::Time;

/// How many failing subjects of an observation are kept by name.
pub const N_NAMES_MAX: usize = 200;

/// How many passing subjects of an observation are kept, in case that an older one comes later.
pub const N_PASSING_MAX: usize = 10_000;

/// Of which subjects an observation speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Extent {
    /// Of all that there are, however few.
    #[default]
    All,
    /// Of all that there are, unless they are far fewer than before.
    Complete,
    /// Of those that it names.
    Named,
    /// It says how many pass and names those that fail. As many as before are the same ones, and of fewer it is not known which
    /// are left out.
    Counted,
    /// It says how many pass and fail and names none. As many as before, or all that there are (`are_all`), are the same ones that
    /// were only counted. `failed`: what it says, although some of them may be those that are known by name.
    Numbers { failed: u32, are_all: bool },
    /// It is a status. What was counted before stands.
    Said(Word),
}

/// A status that is only said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Word {
    Compliant,
    Partial,
    NonCompliant,
}

impl Extent {
    /// How many it says fail, if it names none of them.
    const fn said_to_fail(self) -> Option<u32> {
        match self {
            Self::Numbers { failed, .. } => Some(failed),
            Self::All | Self::Complete | Self::Named | Self::Counted | Self::Said(_) => None,
        }
    }

    /// It says how many there are, and that it looked at all of them.
    const fn are_all_numbers(self) -> bool {
        matches!(self, Self::Numbers { are_all: true, .. })
    }
}

/// A failing subject by its name.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct NamedSubject {
    /// [`crate::engine::fact::subject_hash`] of it.
    pub hash: u64,
    pub name: String,
}

/// A subject that failed before, and of which nothing was said since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct CarriedSubject {
    pub hash: u64,
    /// The day on which it was seen to fail last, in days since 1970.
    pub failed_on: u32,
}

/// What an observation knows of single subjects, and of those before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Memory {
    pub extent: Extent,
    /// The first [`N_NAMES_MAX`] of its failing subjects.
    pub names: Vec<NamedSubject>,
    /// Those of its failing subjects that are muted at the source, sorted.
    pub muted: Vec<u64>,
    /// Those of its failing subjects that only earlier observations saw, sorted.
    pub carried: Vec<CarriedSubject>,
    /// Those that only earlier observations saw and that are only counted.
    pub nameless: NamelessSubjects,
    /// Subjects that it saw passing, sorted: the first [`N_PASSING_MAX`], and all that failed before. An observation that comes
    /// later and is older may have seen them failing.
    pub healed: Vec<u64>,
    /// How many subjects there are, as far as is known, where it looked at fewer while some failed before.
    pub n_known: u64,
    /// Where it looked at fewer subjects than there are and names none: how many it says pass. No more pass than can.
    pub n_said_to_pass: Option<u32>,
    /// When a run that speaks of all subjects lost so many that it is believed once a second one agrees.
    pub shrank_at: Option<Time>,
}

/// Failing subjects that are counted, and not known one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct NamelessSubjects {
    pub n: u32,
    /// The day on which they were seen to fail last, in days since 1970.
    pub failed_on: u32,
}

impl Memory {
    /// How many failing subjects only earlier observations saw.
    #[must_use]
    pub fn n_carried(&self) -> u32 {
        u32::try_from(self.carried.len()).unwrap_or(u32::MAX).saturating_add(self.nameless.n)
    }

    /// Returns what only an earlier observation saw of a subject.
    #[must_use]
    pub fn find_carried(&self, hash: u64) -> Option<&CarriedSubject> {
        let found = self.carried.binary_search_by_key(&hash, |it| it.hash).ok();
        found.map(|at| &self.carried[at])
    }
}
