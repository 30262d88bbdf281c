//! Why a client is assessed.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::id::ImportId;
use crate::store::per_client::statement::StatementNumber;

/// The causes that are no source. No new source may have such a name.
const WORDS: [&str; 10] = [
    "lapse",
    "scope",
    "attestation",
    "assets",
    "catalogue",
    "undo",
    "first_look",
    "estate",
    "baseline",
    "upgrade",
];

fn is_reserved(source: &str) -> bool {
    WORDS.contains(&source)
}

/// # Errors
/// `Invalid` if a source may not have this name, because it is that of another cause.
pub fn require_free_name(source: &str) -> Result<()> {
    if !is_reserved(source) {
        return Ok(());
    }
    let rule = format!("must not be {}, which say why something changed", WORDS.join(", "));
    Err(Error::invalid_field("source", rule))
}

/// Why a client is assessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A run of a source, which is new in its first run. A quiet run is an incidental push, which is announced only when it
    /// changes something.
    Source { source: String, run: ImportId, is_new: bool, first_look: FirstLook, quiet: bool },
    /// Time alone: results lapse, or a day ends.
    Lapse,
    /// What applies to the client was changed.
    Scope,
    /// A person said what there is.
    Estate,
    /// What was new counts from now on.
    Due,
    /// A person attested something, or the evidence for an attestation changed.
    Attestation,
    /// Assets were pushed or changed.
    Assets,
    /// The catalog differs from the one used last time.
    Catalogue,
    /// A release with another catalog or other rules took over.
    Release,
    /// What was said or imported by mistake is undone.
    Undo(Undone),
}

/// What of a run a source looks at for the first time. Nothing changed there: it is only seen now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstLook {
    Nothing,
    /// All of it: it is the first read of these scopes.
    Run,
    /// Its checks, or its accounts, beside what was read before.
    Part(NewPart),
}

/// What follows from a part of a run that is read for the first time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewPart {
    /// Codes of controls.
    pub controls: BTreeSet<String>,
    /// The checks are new, so that those without a control are, too.
    pub has_checks: bool,
}

/// What is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    Import(ImportId),
    Statement(StatementNumber),
}

impl Cause {
    /// As events and history show it.
    #[must_use]
    pub fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Source { source, .. } if is_reserved(source) => {
                return Cow::Owned(format!("source:{source}"));
            }
            Self::Source { source, .. } => source,
            Self::Lapse => "lapse",
            Self::Scope => "scope",
            Self::Estate | Self::Due => "estate",
            Self::Attestation => "attestation",
            Self::Assets => "assets",
            Self::Catalogue | Self::Release => "catalogue",
            Self::Undo(_) => "undo",
        })
    }

    /// Names the run or, if it is none, this assessment.
    pub fn run(&self) -> ImportId {
        match self {
            Self::Source { run, .. } | Self::Undo(Undone::Import(run)) => *run,
            Self::Lapse
            | Self::Scope
            | Self::Estate
            | Self::Due
            | Self::Attestation
            | Self::Assets
            | Self::Catalogue
            | Self::Release
            | Self::Undo(Undone::Statement(_)) => ImportId::random(),
        }
    }

    /// Returns true if it is the first run of a source of the client.
    #[must_use]
    pub fn is_of_new_source(&self) -> bool {
        matches!(self, Self::Source { is_new: true, .. })
    }

    /// Returns true if not all changes are announced, because a source looks at something for the first time.
    #[must_use]
    pub fn is_baseline(&self) -> bool {
        matches!(self, Self::Source { first_look: FirstLook::Run | FirstLook::Part(_), .. })
    }

    /// Returns true if it is a source's first read of these scopes.
    #[must_use]
    pub fn is_first_read(&self) -> bool {
        matches!(self, Self::Source { first_look: FirstLook::Run, .. })
    }
}
