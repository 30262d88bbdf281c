//! Frameworks: their identifiers, rows, and the controls that answer them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use bincode::{Decode, Encode};

use crate::error::{Error, Result};

/// Which framework. Stored rows contain it: variants keep their order, and new ones are appended.
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
    CisV8,
    CyberEssentials,
    Essential8,
    Gdpr,
    Nis2,
    Nist80053,
    Nist800171,
    /// Written by the managed service provider.
    Own(OwnFrameworkId),
}

impl FrameworkId {
    /// Those that this release carries: the contract's, then the others.
    pub const EMBEDDED: [Self; 18] = [
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
        Self::CisV8,
        Self::CyberEssentials,
        Self::Essential8,
        Self::Gdpr,
        Self::Nis2,
        Self::Nist80053,
        Self::Nist800171,
    ];

    /// Those of the contract, in its order.
    pub const CONTRACT: [Self; 11] = {
        let (contract, _) = Self::EMBEDDED.split_first_chunk().expect("there are more");
        *contract
    };

    #[must_use]
    pub fn as_str(&self) -> &str {
        if let Self::Own(own) = self { own.as_str() } else { self.embedded_str() }
    }

    /// Empty for an own framework.
    #[must_use]
    pub const fn embedded_str(self) -> &'static str {
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
            Self::CisV8 => "CIS_V8",
            Self::CyberEssentials => "CYBER_ESSENTIALS",
            Self::Essential8 => "ESSENTIAL_8",
            Self::Gdpr => "GDPR",
            Self::Nis2 => "NIS2",
            Self::Nist80053 => "NIST_800_53",
            Self::Nist800171 => "NIST_800_171_R3",
            Self::Own(_) => "",
        }
    }

    /// Its place among those of the contract. `None`: it is not one of them.
    #[must_use]
    pub fn contract_index(self) -> Option<usize> {
        Self::CONTRACT.iter().position(|it| *it == self)
    }

    /// Returns true if the managed service provider wrote it.
    #[must_use]
    pub const fn is_own(self) -> bool {
        matches!(self, Self::Own(_))
    }

    #[must_use]
    pub fn is_of_contract(self) -> bool {
        self.contract_index().is_some()
    }

    /// Reads an identifier of the contract. Ignores case.
    ///
    /// # Errors
    /// `NotFound` with the identifiers of the contract.
    pub fn of_contract(text: &str) -> Result<Self> {
        let found = text.parse().ok().filter(|it: &Self| it.is_of_contract());
        found.ok_or_else(|| {
            let known = Self::CONTRACT.map(Self::embedded_str).join(", ");
            Error::not_found(format!("unknown framework; supported framework identifiers: {known}"))
        })
    }
}

/// Ignores case. Whether there is such a framework, the catalog knows.
impl FromStr for FrameworkId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let embedded = Self::EMBEDDED.into_iter();
        let mut embedded = embedded.filter(|it| it.embedded_str().eq_ignore_ascii_case(text));
        embedded.next().map_or_else(|| text.parse().map(Self::Own), Ok)
    }
}

/// The identifier of a framework that is not part of the release: capital letters, digits and underscores.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct OwnFrameworkId {
    /// Padded with zeros.
    bytes: [u8; Self::CHARS_MAX],
}

impl OwnFrameworkId {
    pub const CHARS_MAX: usize = 32;
    pub const RULE: &str =
        "must have 2 to 32 letters, digits and underscores, and start with a letter";

    #[must_use]
    pub fn as_str(&self) -> &str {
        let text = str::from_utf8(&self.bytes).unwrap_or_default();
        text.trim_end_matches('\0')
    }
}

impl fmt::Debug for OwnFrameworkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for OwnFrameworkId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_allowed = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let is_id = (2..=Self::CHARS_MAX).contains(&text.len())
            && text.starts_with(|it: char| it.is_ascii_alphabetic())
            && text.chars().all(is_allowed);
        if !is_id {
            return Err(Error::invalid_field("id", Self::RULE));
        }
        let mut bytes = [0; Self::CHARS_MAX];
        bytes[..text.len()].copy_from_slice(text.to_ascii_uppercase().as_bytes());
        Ok(Self { bytes })
    }
}

#[derive(Clone, Debug, Hash)]
pub struct Framework {
    pub id: FrameworkId,
    /// A hash of everything that decides the outcome of its rows.
    pub digest: u64,
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

    /// Index of the row with this reference, in upper or lower case.
    #[must_use]
    pub fn find_row_in_any_case(&self, reference: &str) -> Option<usize> {
        let is_of = |it: &FrameworkRow| it.reference.eq_ignore_ascii_case(reference);
        self.find_row(reference).or_else(|| self.rows.iter().position(is_of))
    }

    /// [`Framework::find_row_in_any_case`], which must be there.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    pub fn get_row(&self, reference: &str) -> Result<usize> {
        let absent = || format!("requirement not found in {}", self.id.as_str());
        self.find_row_in_any_case(reference).ok_or_else(|| Error::not_found(absent()))
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

    /// Indices of the controls that any of its rows names.
    #[must_use]
    pub fn controls(&self) -> BTreeSet<usize> {
        self.rows.iter().flat_map(|it| &it.controls).map(|it| it.control).collect()
    }

    /// Returns for each row the mappings of it and of the rows below it, by control, one for each: the one that decides,
    /// if any does.
    #[must_use]
    pub fn mappings(&self) -> Vec<Vec<&Mapping>> {
        let mut all: Vec<Vec<&Mapping>> = vec![Vec::new(); self.rows.len()];
        for (index, row) in self.rows.iter().enumerate() {
            let parent = |it: &usize| self.rows[*it].parent;
            // `take` ends a cycle of parents.
            for above in std::iter::successors(Some(index), parent).take(self.rows.len()) {
                if self.rows[above].level == row.level {
                    all[above].extend(&row.controls);
                }
            }
        }
        for mappings in &mut all {
            mappings.sort_by_key(|it| (it.control, it.role != ControlRole::Decides));
            mappings.dedup_by_key(|it| it.control);
        }
        all
    }
}

/// Indices of those that once had this name.
pub(super) fn replacing<'a>(
    former: impl Iterator<Item = &'a Vec<String>>,
    name: &str,
) -> Vec<usize> {
    let had = |(index, former): (usize, &Vec<String>)| {
        former.iter().any(|it| it == name).then_some(index)
    };
    former.enumerate().filter_map(had).collect()
}

/// How a framework's `readinessScore` is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadinessRule {
    Mean,
    CompliantShare,
    Sprs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
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
#[derive(Clone, Debug, Hash)]
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
#[derive(Clone, Copy, Debug, Hash)]
pub struct Sprs {
    pub weight: u8,
    /// The points that are lost if the practice is only partially met.
    pub partial: Option<u8>,
}

#[derive(Clone, Debug, Hash)]
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
