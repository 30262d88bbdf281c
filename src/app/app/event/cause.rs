//! Why a client is assessed.

use crate::id::ImportId;

/// Why a client is assessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A run of a source, which is new in its first run. A baseline run is the source's first read of these scopes; it
    /// announces no changes.
    /// A quiet run is an incidental push, which is announced only when it changes something.
    Source { source: String, run: ImportId, is_new: bool, baseline: bool, quiet: bool },
    /// Time alone: results lapse, or a day ends.
    Lapse,
    /// What applies to the client was changed.
    Scope,
    /// A person attested something, or the evidence for an attestation changed.
    Attestation,
    /// Assets were pushed or changed.
    Assets,
    /// The catalog differs from the one used last time.
    Catalogue,
}

impl Cause {
    /// As events and history show it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Source { source, .. } => source,
            Self::Lapse => "lapse",
            Self::Scope => "scope",
            Self::Attestation => "attestation",
            Self::Assets => "assets",
            Self::Catalogue => "catalogue",
        }
    }

    /// Names the run or, if it is none, this assessment.
    pub fn run(&self) -> ImportId {
        if let Self::Source { run, .. } = self { *run } else { ImportId::random() }
    }

    /// Returns true if it is the first run of a source of the client.
    #[must_use]
    pub fn is_of_new_source(&self) -> bool {
        matches!(self, Self::Source { is_new: true, .. })
    }

    /// Returns true if changes are not announced, because this is a source's first read.
    #[must_use]
    pub fn is_baseline(&self) -> bool {
        matches!(self, Self::Source { baseline: true, .. })
    }
}
