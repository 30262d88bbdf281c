//! Parts of controls that people answer for: what no tool sees of a facet, a platform or one of its accounts.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use bincode::{Decode, Encode};

use super::current::{CheckResult, EvidenceClaim};
use super::place::Place;
use crate::clock::Time;
use crate::engine::basis::{Basis, Ground};
use crate::engine::catalog::facet::FacetSet;
use crate::engine::catalog::{Catalog, Control};
use crate::engine::contradiction::Hidden;
use crate::engine::fact::{Attestation, Observation, Status, Subject, Verdict};
use crate::engine::memory::sparse::SparseMemory;
use crate::engine::statement::platform_name;

/// What of a control a statement is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct ControlPart {
    /// By its name. `None`: each of them.
    pub facet: Option<String>,
    /// By the question of the profile. `None`: wherever it is asked.
    pub platform: Option<String>,
    /// One account of the platform, such as `aws/123456789012`. `None`: each of them.
    pub scope: Option<String>,
}

/// What a person says about a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedPart {
    pub part: ControlPart,
    pub said: Attestation,
}

impl ControlPart {
    /// Nothing of the control is named: it is about all of it.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.facet.is_none() && self.platform.is_none() && self.scope.is_none()
    }

    /// Returns the field that names something that the control does not have, and what it has. `None`: it is a part of it.
    #[must_use]
    pub fn problem(&self, control: &Control) -> Option<(&'static str, String)> {
        let code = &control.code;
        if let Some(facet) = &self.facet {
            let names: Vec<&str> = control.facets.iter().map(|it| it.name.as_str()).collect();
            if names.len() < 2 {
                return Some(("facet", format!("must be absent: {code} has one part")));
            }
            if !names.contains(&facet.as_str()) {
                return Some(("facet", format!("must be one of {code}: {}", names.join(", "))));
            }
        }
        let platform = self.platform.as_ref()?;
        let all = Self::platforms(control);
        if all.is_empty() {
            return Some(("platform", format!("must be absent: {code} names no platforms")));
        }
        let is_named = all.contains(&platform.as_str());
        (!is_named).then(|| ("platform", format!("must be one of {code}: {}", all.join(", "))))
    }

    /// The platforms on which a control or one of its facets is asked.
    #[must_use]
    pub fn platforms(control: &Control) -> Vec<&str> {
        let of_facets = control.facets.iter().flat_map(|it| &it.platforms);
        let all = control.platforms.iter().chain(of_facets).map(String::as_str);
        all.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Names it, such as `"Domains renew by themselves" in AWS 123456789012`. The whole of a control has no name.
    #[must_use]
    pub fn name(&self, control: &Control) -> String {
        let facet = self.facet.as_ref().map(|name| {
            let known = control.find_facet(name).map(|it| control.facets[it].says.as_str());
            format!("\"{}\"", known.unwrap_or(name))
        });
        let place = self.platform.as_deref().map(|platform| {
            let account = self.scope.as_deref().and_then(|it| it.split_once('/'));
            let account = account.map_or_else(String::new, |it| format!(" {}", it.1));
            format!("{}{account}", platform_name(platform))
        });
        match (facet, place) {
            (Some(facet), Some(place)) => format!("{facet} in {place}"),
            (facet, place) => facet.or(place).unwrap_or_default(),
        }
    }

    fn place(&self) -> &str {
        self.scope.as_deref().or(self.platform.as_deref()).unwrap_or_default()
    }

    fn facets(&self, control: &Control) -> FacetSet {
        let named = |name: &String| control.find_facet(name).map_or(FacetSet::NONE, FacetSet::one);
        self.facet.as_ref().map_or(control.all_facets(), named)
    }
}

impl fmt::Display for ControlPart {
    /// As a topic of a list: `length, aws/123456789012`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = Some(self.place()).filter(|it| !it.is_empty());
        match (self.facet.as_deref(), place) {
            (Some(facet), Some(place)) => write!(f, "{facet}, {place}"),
            (facet, place) => f.write_str(facet.or(place).unwrap_or_default()),
        }
    }
}

impl StatedPart {
    /// It says that the part is met, and names no evidence.
    fn is_bare(&self) -> bool {
        self.said.status == Status::Compliant && self.said.effective() != Status::Compliant
    }

    /// Returns it as what the person saw. `None`: it shows nothing.
    fn observation(&self, catalog: &Catalog) -> Option<Observation> {
        let Attestation { control: code, status, reason, by, at, until, .. } = &self.said;
        let control = &catalog.controls[catalog.find_control(code)?];
        let facets = self.part.facets(control);
        if self.is_bare() || facets.is_empty() {
            return None;
        }
        let mut check = self.part.name(control);
        check.retain(|it| it != '"');
        let _ = write!(check, ", as {by} attests");
        Some(Observation {
            subject: Subject::Control(control.code.clone()),
            source: by.clone(),
            scope: self.part.place().to_owned(),
            check,
            observed_at: *at,
            valid_until: Some(until.unwrap_or(Time::MAX)),
            import: Observation::SAID,
            verdict: Verdict::Stated(*status),
            accepted: 0,
            severity: control.severity,
            title: control.title.clone(),
            findings: Some(reason.clone()),
            remediation: None,
            failing: Vec::new(),
            memory: SparseMemory::default(),
            facets: facets.iter().map(|it| control.facets[it].name.clone()).collect(),
            platform: self.part.platform.clone(),
        })
    }

    fn is(&self, observation: &Observation) -> bool {
        let part = &self.part;
        let is_of_control =
            matches!(&observation.subject, Subject::Control(it) if *it == self.said.control);
        let is_of_facet = part.facet.as_ref().is_none_or(|it| observation.facets == [it.clone()]);
        is_of_control
            && is_of_facet
            && observation.platform == part.platform
            && observation.scope == part.place()
            && observation.observed_at == self.said.at
    }
}

/// What people attest about parts, as observations.
pub(in crate::engine) fn observations(catalog: &Catalog, all: &[StatedPart]) -> Vec<Observation> {
    all.iter().filter_map(|it| it.observation(catalog)).collect()
}

/// What people say about parts of one control without evidence.
#[derive(Debug, Default)]
pub(in crate::engine) struct BareParts<'a>(Vec<&'a StatedPart>);

impl<'a> BareParts<'a> {
    pub(in crate::engine) fn of(control: &Control, all: &'a [StatedPart], now: Time) -> Self {
        let is_bare = |it: &&StatedPart| {
            it.said.control == control.code && it.is_bare() && it.said.is_valid(now)
        };
        let mut all: Vec<_> = all.iter().filter(is_bare).collect();
        all.sort_by(|a, b| (a.said.at, &a.part).cmp(&(b.said.at, &b.part)));
        Self(all)
    }

    pub(in crate::engine) fn newest(&self) -> Option<&'a StatedPart> {
        self.0.last().copied()
    }

    /// Whether one of them is about all of this. `platform`: where it is asked; `None`: anywhere.
    pub(in crate::engine) fn cover(
        &self,
        control: &Control,
        (facets, platform, account): (FacetSet, Option<&str>, Option<&str>),
    ) -> bool {
        self.0.iter().any(|it| {
            let said = it.part.scope.as_deref().and_then(|it| it.split_once('/'));
            let is_there = it.part.platform.is_none() || it.part.platform.as_deref() == platform;
            is_there
                && said.is_none_or(|(_, said)| account.is_none_or(|it| it == said))
                && facets.without(it.part.facets(control)).is_empty()
        })
    }
}

/// Lets what people show stand over what sources saw failing of the same part, if it is meant to, or was said after that was out
/// of date: it counts as passing. Otherwise what a source saw failing fails, and so does what a person says does.
///
/// Returns what was seen failing and is stood over.
pub(in crate::engine) fn settle<'a>(
    control: &Control,
    claims: &mut [EvidenceClaim<'a>],
    parts: &'a [StatedPart],
    now: Time,
) -> Option<Hidden<'a>> {
    let shows_part = |it: &&EvidenceClaim<'_>| {
        it.current.worst.is_said() && now < it.until && it.result.failed == 0
    };
    let mut hidden = None;
    if parts.is_empty() {
        return hidden;
    }
    for claim in claims.iter().filter(shows_part).copied().collect::<Vec<_>>() {
        let Some(stated) = parts.iter().find(|it| it.is(claim.current.worst)) else { continue };
        let Attestation { overrides, at, .. } = stated.said;
        let over = claims.iter_mut();
        let is_within = |it: &EvidenceClaim<'_>| it.is_within(control, &claim);
        let over = over.filter(|it| is_within(it) && (overrides || it.until <= at));
        let over: Vec<_> = over.map(|it| std::mem::replace(it, it.passing())).collect();
        hidden = hidden.or(Hidden::of(&stated.said, &over));
    }
    hidden
}

/// What a verdict by these claims rests on. What people attest is its ground only if no source saw anything.
pub(in crate::engine) fn ground<'a>(claims: impl Iterator<Item = EvidenceClaim<'a>>) -> Ground {
    let mut is_said_failing = false;
    let seen = claims.filter(|it| {
        let is_said = it.current.worst.is_said();
        is_said_failing |= is_said && it.result.is_failing();
        !is_said
    });
    let ground = Ground::observed(seen.map(|it| it.place().0));
    match ground.n_sources {
        0 if is_said_failing => Ground::of(Basis::Attested),
        0 => Ground::of(Basis::AttestedWithEvidence),
        _ => ground,
    }
}

impl EvidenceClaim<'_> {
    /// Whether all that a source saw is of the part that a person speaks of.
    fn is_within(&self, control: &Control, said: &Self) -> bool {
        let (seen, place) = (self.current.worst, said.current.place);
        let is_there = match (self.current.place, place) {
            (_, Place::Client) => true,
            (
                Place::Platform { platform, account },
                Place::Platform { platform: said, account: of_account },
            ) => platform == said && (of_account.is_none() || account == of_account),
            (_, _) => false,
        };
        let facets = match self.shows.with(self.fails) {
            // It is not known of which its failure is one.
            FacetSet::NONE => control.all_facets(),
            known => known,
        };
        is_there && !seen.is_said() && facets.without(said.shows).is_empty()
    }

    /// Returns it as if everything that it knows had passed.
    fn passing(&self) -> Self {
        let CheckResult { passed, failed, unseen, .. } = self.result;
        let result = CheckResult {
            status: Status::Compliant,
            passed: passed + failed + unseen,
            failed: 0,
            unseen: 0,
            muted: 0,
            is_critical: false,
            ..self.result
        };
        Self { result, ..*self }
    }
}
