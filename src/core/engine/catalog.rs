//! The catalog's types: controls, frameworks and their mapping, checks of known tools.

pub mod facet;
pub mod reference;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::iter::Peekable;
use std::ops::Bound;

use super::framework::{Framework, FrameworkId, replacing};
use crate::engine::severity::Severity;
use crate::error::{Error, Result};
use facet::{Facet, FacetSet, Population};
use reference::references;

/// A loaded, validated catalog. Every index in it is in bounds.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// A hash of its content, which identifies the catalog.
    pub digest: u64,
    pub categories: Vec<Category>,
    pub controls: Vec<Control>,
    /// In the order of their identifiers: those of the contract, one each, then the others.
    pub frameworks: Vec<Framework>,
    /// The tools whose checks are known, by name.
    pub tools: BTreeMap<String, Tool>,
    /// What the sources that name controls themselves show of those with several facets. By source, then by index of the
    /// control. What is not listed shows all of it.
    pub shown_by_sources: BTreeMap<String, BTreeMap<usize, FacetSet>>,
}

/// A tool that assesses clients.
#[derive(Clone, Debug, Hash)]
pub struct Tool {
    /// Of findings that no control is mapped to. Index into [`Catalog::categories`].
    pub category: usize,
    /// The checks are known by their [`references`], not by their names.
    pub is_by_reference: bool,
    /// Check id, or reference -> the controls that it decides, in their order.
    pub checks: BTreeMap<String, Vec<CheckLink>>,
    /// Check id -> with which others it shows what its link says.
    pub together: BTreeMap<String, Vec<Together>>,
}

/// The checks without which a check does not show some facets of a control.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Together {
    /// Index into [`Catalog::controls`].
    pub control: usize,
    /// What its success shows if these checks pass too.
    pub shows: FacetSet,
    pub checks: Vec<String>,
}

impl Tool {
    /// The controls that a check decides, each once.
    fn links_of(&self, check: &str) -> Cow<'_, [CheckLink]> {
        if !self.is_by_reference {
            return Cow::Borrowed(self.checks.get(check).map_or(&[], Vec::as_slice));
        }
        let found = references(check).filter_map(|it| self.checks.get(it));
        let mut links: Vec<CheckLink> = found.flatten().copied().collect();
        links.sort_unstable();
        links.dedup_by(|next, kept| {
            let is_same = next.control == kept.control;
            if is_same {
                kept.shows = kept.shows.with(next.shows);
                kept.fails = kept.fails.with(next.fails);
                kept.needs_others |= next.needs_others;
            }
            is_same
        });
        Cow::Owned(links)
    }

    /// The groups that a check is the first of.
    pub(super) fn groups_of(&self, check: &str) -> impl Iterator<Item = &Together> {
        let is_named = !self.is_by_reference;
        let named = self.together.get(check).filter(|_| is_named);
        let referred = references(check).filter(move |_| !is_named);
        let referred = referred.filter_map(|it| self.together.get(it));
        named.into_iter().chain(referred).flatten()
    }

    /// Returns true if the check with this name is the one that the catalog lists so.
    pub(super) fn is_listed_as(&self, name: &str, listed: &str) -> bool {
        if self.is_by_reference { references(name).any(|it| it == listed) } else { name == listed }
    }
}

/// A control that a check decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckLink {
    /// Index into [`Catalog::controls`].
    pub control: usize,
    /// What its success shows. None: its failure counts against the control, and its success only beside others.
    pub shows: FacetSet,
    /// Of what its failure is one. None: of no facet that the catalog names.
    pub fails: FacetSet,
    /// Its success shows it only with that of others: see [`Tool::together`].
    pub needs_others: bool,
}

impl CheckLink {
    #[must_use]
    pub const fn shows_only_gaps(&self) -> bool {
        self.shows.is_empty()
    }
}

/// A check that decides a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ControlCheck<'a> {
    pub tool: &'a str,
    pub check: &'a str,
    /// As in [`CheckLink`].
    pub shows: FacetSet,
    /// As in [`CheckLink`].
    pub fails: FacetSet,
}

impl Catalog {
    /// The same catalog with these frameworks of the managed service provider instead of those that it has.
    #[must_use]
    pub fn with_own(&self, own: Vec<Framework>) -> Self {
        let mut catalog = self.clone();
        if own.is_empty() && !catalog.frameworks.iter().any(|it| it.id.is_own()) {
            return catalog;
        }
        catalog.frameworks.retain(|it| !it.id.is_own());
        catalog.frameworks.extend(own);
        catalog.frameworks.sort_by_key(|it| it.id);
        catalog.seal();
        catalog
    }

    #[must_use]
    pub fn find_framework(&self, id: FrameworkId) -> Option<&Framework> {
        let at = self.frameworks.binary_search_by_key(&id, |it| it.id).ok()?;
        Some(&self.frameworks[at])
    }

    /// # Errors
    /// `NotFound` if there is no such framework.
    pub fn get_framework(&self, id: FrameworkId) -> Result<&Framework> {
        self.find_framework(id).ok_or_else(|| Error::not_found("framework not found"))
    }

    /// Returns the framework with this identifier. Ignores case.
    ///
    /// # Errors
    /// `NotFound` with all identifiers.
    pub fn framework_named(&self, text: &str) -> Result<&Framework> {
        let found = text.parse().ok().and_then(|id| self.find_framework(id));
        found.ok_or_else(|| {
            let known: Vec<_> = self.frameworks.iter().map(|it| it.id.as_str()).collect();
            Error::not_found(format!("unknown framework; must be one of {}", known.join(", ")))
        })
    }

    /// Returns one of the contract's frameworks by its identifier. Ignores case.
    ///
    /// # Errors
    /// `NotFound` with the identifiers of the contract.
    pub fn contract_framework(&self, text: &str) -> Result<&Framework> {
        self.get_framework(FrameworkId::of_contract(text)?)
    }

    /// For how many days what is seen of a control counts. `None`: there is no such control.
    #[must_use]
    pub fn find_max_age_days(&self, code: &str) -> Option<u16> {
        self.find_control(code).map(|it| self.controls[it].max_age_days)
    }

    /// Index of the control with this code.
    #[must_use]
    pub fn find_control(&self, code: &str) -> Option<usize> {
        self.controls.iter().position(|it| it.code == code)
    }

    /// # Errors
    /// `NotFound` if there is no control with this code.
    pub fn get_control(&self, code: &str) -> Result<&Control> {
        let index = self.find_control(code);
        Ok(&self.controls[index.ok_or_else(|| Error::not_found("control not found"))?])
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

    /// The codes of the controls that replace a control of an earlier release. Empty: it is a control of this one, or
    /// unknown.
    #[must_use]
    pub fn codes_replacing(&self, code: &str) -> Vec<&str> {
        let all = self.controls_named(code).into_iter().map(|it| self.controls[it].code.as_str());
        all.filter(|it| *it != code).collect()
    }

    /// The code that something about one control has now: of those that replace its control, the first.
    #[must_use]
    pub fn current_code<'a>(&'a self, code: &'a str) -> &'a str {
        self.controls_named(code).first().map_or(code, |it| &self.controls[*it].code)
    }

    /// Returns the controls that a tool's check decides. Empty: the check is not mapped.
    #[must_use]
    pub fn links_of_check(&self, tool: &str, check: &str) -> Cow<'_, [CheckLink]> {
        self.tools.get(tool).map_or(Cow::Borrowed(&[]), |it| it.links_of(check))
    }

    /// Returns for each control the checks, or references, that decide it, by tool and in their order.
    #[must_use]
    pub fn checks_of_controls(&self) -> Vec<Vec<ControlCheck<'_>>> {
        let mut checks = vec![Vec::new(); self.controls.len()];
        for (tool, it) in &self.tools {
            for (check, links) in &it.checks {
                for &CheckLink { control, shows, fails, .. } in links {
                    checks[control].push(ControlCheck { tool, check, shows, fails });
                }
            }
        }
        checks
    }
}

/// [`Catalog::links_of_check`] for many checks. It is fast if the checks come in their order.
pub(super) struct CheckWalk<'a> {
    catalog: &'a Catalog,
    name: &'a str,
    tool: Option<&'a Tool>,
    /// The tool's checks from near the last one on.
    rest: Peekable<Range<'a, String, Vec<CheckLink>>>,
    last: &'a str,
}

impl<'a> CheckWalk<'a> {
    /// A check that is more than this many checks after the last one is looked up in the map.
    const N_STEPS_MAX: usize = 4;

    pub(super) fn of(catalog: &'a Catalog) -> Self {
        Self { catalog, name: "", tool: None, rest: Range::default().peekable(), last: "" }
    }

    pub(super) fn links_of(&mut self, tool: &'a str, check: &'a str) -> Cow<'a, [CheckLink]> {
        if self.name != tool {
            (self.name, self.tool) = (tool, self.catalog.tools.get(tool));
            self.look_up(check);
        }
        match self.tool {
            Some(tool) if tool.is_by_reference => tool.links_of(check),
            _ => Cow::Borrowed(self.walk_to(check)),
        }
    }

    fn walk_to(&mut self, check: &'a str) -> &'a [CheckLink] {
        if check < self.last {
            self.look_up(check);
        }
        self.last = check;
        for _ in 0..Self::N_STEPS_MAX {
            let Some((name, links)) = self.rest.peek() else { return &[] };
            match name.as_str().cmp(check) {
                Ordering::Less => self.rest.next(),
                Ordering::Equal => return links,
                Ordering::Greater => return &[],
            };
        }
        self.look_up(check);
        let found = self.rest.peek().filter(|(name, _)| *name == check);
        found.map_or(&[], |(_, links)| links)
    }

    fn look_up(&mut self, check: &str) {
        let checks = self.tool.map(|it| &it.checks);
        self.rest = checks
            .map(|it| it.range::<str, _>((Bound::Included(check), Bound::Unbounded)))
            .unwrap_or_default()
            .peekable();
    }
}

#[derive(Clone, Debug, Hash)]
pub struct Category {
    pub code: String,
    /// The key in `categoryScores`.
    pub name: String,
}

/// What people read of a control.
#[derive(Clone, Debug, Hash)]
pub struct Wording {
    pub title: String,
    pub gap: String,
    pub remediation: String,
}

/// A technical control: something that can be decided about each client.
#[derive(Clone, Debug, Hash)]
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
    /// Title, gap and remediation in French. `None`: the catalog has none.
    pub french: Option<Wording>,
    /// Indices of more general controls. It supports each row that one of them is mapped to.
    pub also: Vec<usize>,
    /// `None`: only the checks that are mapped to it, and reports about it, decide it.
    pub open_findings: Option<OpenFindings>,
    /// With fewer different checks, not counting those that show only gaps of it, what passes decides only beside other
    /// evidence: a narrow look cannot show that it is met.
    pub n_checks_min: u16,
    pub over: Population,
    /// At least one. A control with one has no parts that are seen apart.
    pub facets: Vec<Facet>,
    /// On which of its platforms some source can show which of its facets.
    pub shown_on: Vec<(String, FacetSet)>,
    /// Codes of earlier releases that it replaces, alone or with others.
    pub formerly: Vec<String>,
}

/// Decides a control by every check of these tools that is at least this severe, whatever other control it decides.
#[derive(Clone, Debug, Hash)]
pub struct OpenFindings {
    pub tools: Vec<String>,
    pub severity: Severity,
}

impl Control {
    /// Returns true if its code, its title or what it requires has these words, which are in lower case.
    #[must_use]
    pub fn says(&self, words: &str) -> bool {
        let texts = [&self.code, &self.title, &self.requires];
        texts.iter().any(|it| it.to_lowercase().contains(words))
    }

    #[must_use]
    pub fn all_facets(&self) -> FacetSet {
        FacetSet::all(self.facets.len())
    }

    /// Those of which one subject that fails makes it not met.
    #[must_use]
    pub fn any_facets(&self) -> FacetSet {
        let any = self.facets.iter().enumerate().filter(|(_, it)| it.is_any);
        any.fold(FacetSet::NONE, |all, (index, _)| all.with(FacetSet::one(index)))
    }

    /// Returns the place of a facet by its name.
    #[must_use]
    pub fn find_facet(&self, name: &str) -> Option<usize> {
        self.facets.iter().position(|it| it.name == name)
    }

    /// Returns true if anything other than an attestation can decide it.
    #[must_use]
    pub fn is_automatic(&self) -> bool {
        self.decided_by.iter().any(|it| *it != Decider::Attestation)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
