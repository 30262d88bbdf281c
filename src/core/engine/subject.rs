//! Decisions of people about single subjects of a control.

use bincode::{Decode, Encode};

use crate::clock::Time;

/// How many subjects one decision names at most.
pub const N_SUBJECTS_MAX: usize = 1_000;

/// What a person decided about subjects that fail. Of two decisions of the same time the later one here counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum SubjectRuling {
    /// They are meant to be so: no members of the control, which neither pass nor fail.
    Intended,
    /// They fail, and the risk is accepted.
    Accepted,
}

impl SubjectRuling {
    pub const ALL: [Self; 2] = [Self::Intended, Self::Accepted];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intended => "intended",
            Self::Accepted => "accepted",
        }
    }
}

/// The subjects that a decision is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecidedSubjects {
    /// By [`crate::engine::fact::anywhere`] of the hashes of their ids or names, sorted.
    Named(Vec<u64>),
    /// All whose known name matches. See [`matches`].
    Matching(String),
}

/// One decision about subjects of a control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectDecision {
    /// The control's code.
    pub control: String,
    pub ruling: SubjectRuling,
    pub subjects: DecidedSubjects,
    pub at: Time,
    pub until: Time,
}

/// Returns true if a name has the form of a pattern: `*` stands for any characters, `?` for one, and every other character for
/// itself, in upper or lower case.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // Where to go on if what follows the last star does not match: the star takes one character more.
    let mut star = None;
    loop {
        let (mut rest, mut next) = (pattern.clone(), name.clone());
        match (rest.next(), next.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                pattern = rest;
                star = Some((pattern.clone(), name.clone()));
            }
            (Some(a), Some(b)) if a == '?' || a == b || a.to_lowercase().eq(b.to_lowercase()) => {
                (pattern, name) = (rest, next);
            }
            (_, _) => {
                let Some((after, from)) = star.as_mut() else { return false };
                if from.next().is_none() {
                    return false;
                }
                (pattern, name) = (after.clone(), from.clone());
            }
        }
    }
}
