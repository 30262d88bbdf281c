//! The catalog's types: controls, frameworks and their mapping, checks of known tools.

use std::cmp::Ordering;
use std::collections::btree_map::Range;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::ops::Bound;
use std::str::FromStr;

use bincode::{Decode, Encode};

use crate::engine::severity::Severity;
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

/// A loaded, validated catalog. Every index in it is in bounds.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// A hash of the bytes of all its files, which identifies the catalog.
    pub digest: u64,
    pub categories: Vec<Category>,
    pub controls: Vec<Control>,
    /// In the order of [`FrameworkId::ALL`], one each.
    pub frameworks: Vec<Framework>,
    /// The tools whose checks are known, by name.
    pub tools: BTreeMap<String, Tool>,
}

/// A tool that assesses clients.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Of findings that no control is mapped to. Index into [`Catalog::categories`].
    pub category: usize,
    /// Check id -> indices of the controls that it decides.
    pub checks: BTreeMap<String, Vec<usize>>,
}

impl Catalog {
    #[must_use]
    pub fn framework(&self, id: FrameworkId) -> &Framework {
        &self.frameworks[id as usize]
    }

    /// Index of the control with this code.
    #[must_use]
    pub fn find_control(&self, code: &str) -> Option<usize> {
        self.controls.iter().position(|it| it.code == code)
    }

    /// Indices of the controls that a code means: its own, or those that replace a control of an earlier release.
    #[must_use]
    pub fn controls_named(&self, code: &str) -> Vec<usize> {
        let own = self.find_control(code);
        own.map_or_else(
            || replacing(self.controls.iter().map(|it| &it.formerly), code),
            |it| vec![it],
        )
    }

    /// The code that something about one control has now: of those that replace its control, the first.
    #[must_use]
    pub fn current_code<'a>(&'a self, code: &'a str) -> &'a str {
        self.controls_named(code).first().map_or(code, |it| &self.controls[*it].code)
    }

    /// Returns the indices of the controls that a tool's check decides. Empty: the check is not mapped.
    #[must_use]
    pub fn controls_of_check(&self, tool: &str, check: &str) -> &[usize] {
        self.tools.get(tool).and_then(|it| it.checks.get(check)).map_or(&[], Vec::as_slice)
    }
}

/// [`Catalog::controls_of_check`] for many checks. It is fast if the checks come in their order.
pub(super) struct CheckWalk<'a> {
    catalog: &'a Catalog,
    tool: &'a str,
    /// The tool's checks from near the last one on.
    rest: Peekable<Range<'a, String, Vec<usize>>>,
    last: &'a str,
}

impl<'a> CheckWalk<'a> {
    /// A check that is more than this many checks after the last one is looked up in the map.
    const N_STEPS_MAX: usize = 4;

    pub(super) fn of(catalog: &'a Catalog) -> Self {
        Self { catalog, tool: "", rest: Range::default().peekable(), last: "" }
    }

    pub(super) fn controls_of(&mut self, tool: &'a str, check: &'a str) -> &'a [usize] {
        if self.tool != tool || check < self.last {
            self.look_up(tool, check);
        }
        self.last = check;
        for _ in 0..Self::N_STEPS_MAX {
            let Some((name, controls)) = self.rest.peek() else { return &[] };
            match name.as_str().cmp(check) {
                Ordering::Less => self.rest.next(),
                Ordering::Equal => return controls,
                Ordering::Greater => return &[],
            };
        }
        self.look_up(tool, check);
        let found = self.rest.peek().filter(|(name, _)| *name == check);
        found.map_or(&[], |(_, controls)| controls)
    }

    fn look_up(&mut self, tool: &'a str, check: &str) {
        let checks = self.catalog.tools.get(tool).map(|it| &it.checks);
        self.tool = tool;
        self.rest = checks
            .map(|it| it.range::<str, _>((Bound::Included(check), Bound::Unbounded)))
            .unwrap_or_default()
            .peekable();
    }
}

#[derive(Clone, Debug)]
pub struct Category {
    pub code: String,
    /// The key in `categoryScores`.
    pub name: String,
}

/// A technical control: something that can be decided about each client.
#[derive(Clone, Debug)]
pub struct Control {
    pub code: String,
    pub title: String,
    /// What is wrong while it is not met, as the title of its risk.
    pub gap: String,
    /// Index into [`Catalog::categories`].
    pub category: usize,
    pub severity: Severity,
    pub decided_by: Vec<Decider>,
    /// Profile questions. The control does not apply if the client answers `unused` to all of them. Empty: it always
    /// applies.
    pub platforms: Vec<String>,
    pub max_age_days: u16,
    /// What is true if the control is met.
    pub requires: String,
    /// The question that a person answers to attest the control.
    pub question: Option<String>,
    pub risk: String,
    pub remediation: String,
    /// Indices of more general controls. It supports each row that one of them is mapped to.
    pub also: Vec<usize>,
    /// `None`: only the checks that are mapped to it, and reports about it, decide it.
    pub open_findings: Option<OpenFindings>,
    /// Codes of earlier releases that it replaces, alone or with others.
    pub formerly: Vec<String>,
}

/// Decides a control by every check of these tools that is at least this severe, whatever other control it decides.
#[derive(Clone, Debug)]
pub struct OpenFindings {
    pub tools: Vec<String>,
    pub severity: Severity,
}

impl Control {
    /// Returns true if anything other than an attestation can decide it.
    #[must_use]
    pub fn is_automatic(&self) -> bool {
        self.decided_by.iter().any(|it| *it != Decider::Attestation)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    Assessor,
    Connector,
    Scan,
    Dns,
    Push,
    Attestation,
    Derived,
}

impl Decider {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assessor => "assessor",
            Self::Connector => "connector",
            Self::Scan => "scan",
            Self::Dns => "dns",
            Self::Push => "push",
            Self::Attestation => "attestation",
            Self::Derived => "derived",
        }
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

/// Indices of those that once had this name.
fn replacing<'a>(former: impl Iterator<Item = &'a Vec<String>>, name: &str) -> Vec<usize> {
    let had = |(index, former): (usize, &Vec<String>)| {
        former.iter().any(|it| it == name).then_some(index)
    };
    former.enumerate().filter_map(had).collect()
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
