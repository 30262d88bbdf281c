//! What verdicts rest on.

/// How many sources of one verdict are named.
pub const N_SOURCES_NAMED_MAX: usize = 16;

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// Nothing that is valid.
    #[default]
    Nothing,
    /// Sources observed it.
    Observed,
    /// A person said so and named evidence.
    AttestedWithEvidence,
    /// A person said so.
    Attested,
    /// What decided it expired, and nothing newer replaced it.
    Lapsed,
    /// The client's profile: what it asks about is unused.
    Profile,
    /// The controls of the requirement.
    Controls,
    /// A person decided that the requirement is out of scope.
    Decision,
}

impl Basis {
    pub const ALL: [Self; 8] = [
        Self::Nothing,
        Self::Observed,
        Self::AttestedWithEvidence,
        Self::Attested,
        Self::Lapsed,
        Self::Profile,
        Self::Controls,
        Self::Decision,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Observed => "observed",
            Self::AttestedWithEvidence => "attested_with_evidence",
            Self::Attested => "attested",
            Self::Lapsed => "lapsed",
            Self::Profile => "profile",
            Self::Controls => "controls",
            Self::Decision => "decision",
        }
    }
}

/// What the verdict about a control rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ground {
    pub basis: Basis,
    /// Those that observed it, sorted; the first [`N_SOURCES_NAMED_MAX`].
    pub sources: Vec<String>,
    pub n_sources: u32,
}

impl Ground {
    #[must_use]
    pub fn of(basis: Basis) -> Self {
        Self { basis, ..Self::default() }
    }

    /// What these sources observed, each of which may be there several times.
    #[must_use]
    pub fn observed<'a>(all: impl IntoIterator<Item = &'a str>) -> Self {
        let mut sources: Vec<&str> = Vec::new();
        for it in all {
            if sources.last() != Some(&it) {
                sources.push(it);
            }
        }
        sources.sort_unstable();
        sources.dedup();
        let named = sources.iter().take(N_SOURCES_NAMED_MAX).map(|it| (*it).to_owned()).collect();
        let n_sources = u32::try_from(sources.len()).unwrap_or(u32::MAX);
        Self { basis: Basis::Observed, sources: named, n_sources }
    }
}
