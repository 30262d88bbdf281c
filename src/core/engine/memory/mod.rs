//! What an observation knows of single subjects, and of those before it.

pub mod remember;

use bincode::{Decode, Encode};

/// How many failing subjects of an observation are kept by name.
pub const N_NAMES_MAX: usize = 20;

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
    /// It says how many pass and fail. As many as before are the same ones, and of fewer it is not known which are left out.
    Counted,
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
    /// The day on which it was seen to fail last, as of [`Time::day`].
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
    /// How many they are: more than `carried` has where they were only counted.
    pub n_carried: u32,
    /// Subjects that failed before and that it saw passing, sorted.
    pub healed: Vec<u64>,
    /// Where it looked at fewer subjects than there are and names none.
    pub narrow: Option<NarrowCount>,
}

/// The counts of an observation that looked at fewer subjects than an earlier one: no more of them pass than can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct NarrowCount {
    /// How many subjects there are, as far as is known.
    pub n_known: u64,
    /// How many it says pass.
    pub n_passed: u32,
}

impl Memory {
    /// Returns what only an earlier observation saw of a subject.
    #[must_use]
    pub fn find_carried(&self, hash: u64) -> Option<&CarriedSubject> {
        find_carried(&self.carried, hash)
    }
}

/// Finds a subject among sorted ones.
#[must_use]
pub fn find_carried(carried: &[CarriedSubject], hash: u64) -> Option<&CarriedSubject> {
    carried.binary_search_by_key(&hash, |it| it.hash).ok().map(|at| &carried[at])
}
