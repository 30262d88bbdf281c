//! Frameworks: their identifiers, rows, and the controls that answer them.

use std::collections::BTreeSet;
use std::str::FromStr;

use bincode::{Decode, Encode};

use super::catalog::replacing;
use crate::error::Error;

/// The contract's framework identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum FrameworkId {
    Soc2,
    Hipaa,
    PciDss,
    NistCsf,
    Iso27001,
    Cjis,
    CmmcL1,
    CmmcL2,
    Ferpa,
    Pipeda,
    Loi25,
}

impl FrameworkId {
    /// In the contract's order.
    pub const ALL: [Self; 11] = [
        Self::Soc2,
        Self::Hipaa,
        Self::PciDss,
        Self::NistCsf,
        Self::Iso27001,
        Self::Cjis,
        Self::CmmcL1,
        Self::CmmcL2,
        Self::Ferpa,
        Self::Pipeda,
        Self::Loi25,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Soc2 => "SOC2",
            Self::Hipaa => "HIPAA",
            Self::PciDss => "PCI_DSS",
            Self::NistCsf => "NIST_CSF",
            Self::Iso27001 => "ISO_27001",
            Self::Cjis => "CJIS",
            Self::CmmcL1 => "CMMC_L1",
            Self::CmmcL2 => "CMMC_L2",
            Self::Ferpa => "FERPA",
            Self::Pipeda => "PIPEDA",
            Self::Loi25 => "LOI_25",
        }
    }
}

/// Ignores case. The error for an unknown identifier lists the supported ones.
impl FromStr for FrameworkId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|it| it.as_str().eq_ignore_ascii_case(text)).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Error::not_found(format!("unknown framework; supported framework identifiers: {known}"))
        })
    }
}

#[derive(Clone, Debug)]
pub struct Framework {
    pub id: FrameworkId,
    pub name: String,
    pub version: String,
    pub readiness: ReadinessRule,
    /// Names of the groups of its rows, such as levels of maturity, from the first to reach. Empty: it has none.
    pub groups: Vec<String>,
    /// Rows of level requirement first, then those of level detail.
    pub rows: Vec<FrameworkRow>,
}

impl Framework {
    /// Index of the row with this reference.
    #[must_use]
    pub fn find_row(&self, reference: &str) -> Option<usize> {
        self.rows.iter().position(|it| it.reference == reference)
    }

    /// Indices of the rows that a reference means: its own, or those that replace a row of an earlier version.
    #[must_use]
    pub fn rows_named(&self, reference: &str) -> Vec<usize> {
        let own = self.find_row(reference);
        own.map_or_else(
            || replacing(self.rows.iter().map(|it| &it.formerly), reference),
            |it| vec![it],
        )
    }

    /// Returns the rows of one level by index, each with the indices of the controls that are mapped to it or to a row
    /// below it, in the catalog's order.
    #[must_use]
    pub fn lines(&self, level: Level) -> Vec<(usize, BTreeSet<usize>)> {
        let mut taken: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.rows.len()];
        for (index, row) in self.rows.iter().enumerate() {
            let parent = |it: &usize| self.rows[*it].parent;
            // `take` ends a cycle of parents.
            for above in std::iter::successors(Some(index), parent).take(self.rows.len()) {
                if self.rows[above].level == row.level {
                    taken[above].extend(row.controls.iter().map(|it| it.control));
                }
            }
        }
        let lines = taken.into_iter().enumerate();
        lines.filter(|(index, _)| self.rows[*index].level == level).collect()
    }
}

/// How a framework's `readinessScore` is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadinessRule {
    Mean,
    CompliantShare,
    Sprs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Level {
    Requirement,
    Detail,
}

impl Level {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requirement => "requirement",
            Self::Detail => "detail",
        }
    }
}

/// One reference of a framework.
#[derive(Clone, Debug)]
pub struct FrameworkRow {
    pub reference: String,
    pub level: Level,
    /// The index of a row of the same framework and level that also uses this row's controls.
    pub parent: Option<usize>,
    pub title: String,
    pub description: String,
    /// Indices into [`Framework::groups`], sorted.
    pub groups: Vec<usize>,
    /// References of earlier versions that it replaces, alone or with others.
    pub formerly: Vec<String>,
    /// The framework's readiness is capped while this row is not compliant.
    pub gate: bool,
    /// A profile question. The row applies only if the client's answer is `Used`.
    pub applies: Option<String>,
    pub sprs: Option<Sprs>,
    pub controls: Vec<Mapping>,
}

/// The points of a practice in the SPRS assessment method.
#[derive(Clone, Copy, Debug)]
pub struct Sprs {
    pub weight: u8,
    /// The points that are lost if the practice is only partially met.
    pub partial: Option<u8>,
}

#[derive(Clone, Debug)]
pub struct Mapping {
    /// Index into [`Catalog::controls`].
    pub control: usize,
    pub role: ControlRole,
    pub why: String,
    /// Partial credit in the SPRS method requires this control to be met. A row without any such control gets partial
    /// credit for any partial result.
    pub earns_partial: bool,
    /// For this row, the control counts only if there is evidence about it from the last so many days. `None`: the
    /// control's own rule.
    pub within_days: Option<u16>,
    /// Controls that name this one in `also` do not follow it to this row.
    pub alone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlRole {
    /// Meeting the control is what the requirement asks, as far as technology or an attestation can show.
    Decides,
    /// The control is an indicator.
    Supports,
}

impl ControlRole {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Decides => "decides",
            Self::Supports => "supports",
        }
    }
}
