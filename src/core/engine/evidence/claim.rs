//! Which observations speak of which control, and what each shows of it.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeMap;

use super::current::{Current, EvidenceClaim};
use super::stated::{self, StatedPart};
use crate::clock::Time;
use crate::engine::catalog::facet::FacetSet;
use crate::engine::catalog::{Catalog, CheckLink, CheckWalk, Control, OpenFindings};
use crate::engine::contradiction::Hidden;
use crate::engine::evidence::subject::SubjectRulings;
use crate::engine::fact::{DERIVED_CHECK, Observation, Subject, UNNAMED_CHECK};

/// What observations say of controls.
#[derive(Debug)]
pub(in crate::engine) struct Claims<'a> {
    /// One list for each control.
    pub(in crate::engine) by_control: Vec<Vec<EvidenceClaim<'a>>>,
    /// Controls, and how many subjects failed of a check of which nothing is left: a person says that they are no members.
    pub(in crate::engine) silenced: Vec<(usize, u64)>,
    /// The observations that no control is mapped to.
    pub(in crate::engine) unmapped: Vec<&'a Current<'a>>,
    /// Controls, and what people stand over who answer for a part.
    pub(in crate::engine) overruled: Vec<(usize, Hidden<'a>)>,
}

/// Returns what observations say of controls.
///
/// `rulings`: what people decided about subjects of each control. Empty: nothing. `parts`: what they say about parts.
pub(in crate::engine) fn by_control<'a>(
    catalog: &'a Catalog,
    (current, rulings): (&'a [Current<'a>], &'a [Option<SubjectRulings<'a>>]),
    parts: &'a [StatedPart],
    now: Time,
) -> Claims<'a> {
    let codes = LazyCell::new(|| {
        let mut codes: BTreeMap<&str, Vec<CheckLink>> = BTreeMap::new();
        for (index, control) in catalog.controls.iter().enumerate() {
            let shows = control.all_facets();
            let link = CheckLink { control: index, shows, fails: shows, needs_others: false };
            for code in control.formerly.iter().chain([&control.code]) {
                codes.entry(code).or_default().push(link);
            }
        }
        codes
    });
    let mut checks = CheckWalk::of(catalog);
    let links_of = |each: &'a Current<'a>| match &each.worst.subject {
        Subject::Control(code) => {
            Cow::Borrowed(codes.get(code.as_str()).map_or(&[][..], Vec::as_slice))
        }
        Subject::Check { tool } => checks.links_of(tool, &each.worst.check),
    };
    let mapped: Vec<Cow<'_, [CheckLink]>> = current.iter().map(links_of).collect();
    let mut n_claims = vec![0; catalog.controls.len()];
    mapped.iter().flat_map(|it| it.iter()).for_each(|it| n_claims[it.control] += 1);
    let mut claims: Vec<_> = n_claims.into_iter().map(Vec::with_capacity).collect();
    let mut together = Vec::new();
    let (mut unmapped, mut silenced, mut overruled) = (Vec::new(), Vec::new(), Vec::new());
    let rulings_of = |control: usize| rulings.get(control).and_then(Option::as_ref);
    for (each, links) in current.iter().zip(mapped) {
        if links.is_empty() {
            unmapped.push(each);
        }
        for &link in links.iter() {
            let control = &catalog.controls[link.control];
            let rulings = rulings_of(link.control);
            let Some(claim) = each.claim(control.max_age_days, rulings) else {
                let n_intended = rulings.map_or(0, |it| each.n_intended(it));
                silenced.extend((n_intended != 0).then_some((link.control, n_intended)));
                continue;
            };
            if link.needs_others {
                together.push((link.control, claims[link.control].len()));
            }
            let (shows, fails) = facets(catalog, each.worst, link);
            claims[link.control].push(EvidenceClaim { fails, ..claim.showing(shows) });
        }
    }
    for (control, at) in together {
        let claim = claims[control][at];
        if !claim.result.is_failing() {
            let lacks = lacks_others(catalog, control, &claim, beside(&claims[control], at), now);
            claims[control][at] = claim.showing(claim.shows.without(lacks));
        }
    }
    for (index, (control, claims)) in catalog.controls.iter().zip(&mut claims).enumerate() {
        if let Some(findings) = &control.open_findings {
            let taken = current.iter().filter(|it| takes(control, findings, it.worst));
            let rulings = rulings_of(index);
            claims.extend(taken.filter_map(|it| it.claim(control.max_age_days, rulings)));
        }
        let is_narrow = has_few_checks(control, claims, now, |_| true);
        let is_hollow =
            is_narrow || has_few_checks(control, claims, now, |it| !it.result.is_all_failing());
        for it in claims.iter_mut().filter(|it| it.current.is_of_check()) {
            (it.is_narrow, it.is_hollow) = (is_narrow, is_hollow);
        }
        overruled.extend(stated::settle(control, claims, parts, now).map(|it| (index, it)));
    }
    Claims { by_control: claims, silenced, unmapped, overruled }
}

/// What an observation looks at of a control, and of what its failure is one.
fn facets(catalog: &Catalog, it: &Observation, link: CheckLink) -> (FacetSet, FacetSet) {
    if matches!(it.subject, Subject::Check { .. }) {
        return (link.shows, link.fails);
    }
    let named = named(catalog, it, link);
    (named, named)
}

/// What a source looks at that names the control itself: it says which facet, or the catalog knows it, or it is about all of the
/// control if it names no check of its own.
fn named(catalog: &Catalog, it: &Observation, link: CheckLink) -> FacetSet {
    let control = &catalog.controls[link.control];
    if !it.facets.is_empty() {
        let found = it.facets.iter().filter_map(|it| control.find_facet(it));
        return found.fold(FacetSet::NONE, |all, it| all.with(FacetSet::one(it)));
    }
    let source = if it.is_derived() { DERIVED_CHECK } else { it.source.as_str() };
    let of_source = catalog.shown_by_sources.get(source).and_then(|it| it.get(&link.control));
    let is_of_one_check = !it.is_derived() && it.check != UNNAMED_CHECK;
    match of_source {
        Some(facets) => *facets,
        None if is_of_one_check && 1 < control.facets.len() => FacetSet::NONE,
        None => link.shows,
    }
}

/// Those of the same source and scope as one of them. They follow one another.
fn beside<'c, 'a>(claims: &'c [EvidenceClaim<'a>], at: usize) -> &'c [EvidenceClaim<'a>] {
    let place = claims[at].place();
    let is_other = |it: &EvidenceClaim<'_>| it.place() != place;
    let start = claims[..at].iter().rposition(is_other).map_or(0, |it| it + 1);
    let end = claims[at..].iter().position(is_other).map_or(claims.len(), |it| at + it);
    &claims[start..end]
}

/// Returns the facets that a claim does not show because the checks without which it does not do not all pass in the same scope.
fn lacks_others(
    catalog: &Catalog,
    control: usize,
    claim: &EvidenceClaim<'_>,
    beside: &[EvidenceClaim<'_>],
    now: Time,
) -> FacetSet {
    let Some(tool) = catalog.tools.get(claim.current.tool()) else { return FacetSet::NONE };
    let groups = tool.groups_of(&claim.current.worst.check).filter(|it| it.control == control);
    let passes = |check: &String| {
        beside.iter().any(|it| {
            let is_same_tool =
                it.current.is_of_check() && it.current.tool() == claim.current.tool();
            let is_it = is_same_tool && tool.is_listed_as(&it.current.worst.check, check);
            is_it && now < it.until && !it.result.is_failing()
        })
    };
    let (mut asked, mut shown) = (FacetSet::NONE, FacetSet::NONE);
    for group in groups {
        asked = asked.with(group.shows);
        if group.checks.iter().all(passes) {
            shown = shown.with(group.shows);
        }
    }
    asked.without(shown)
}

/// Returns true if fewer different checks were seen than the control asks for, of those with a claim that `counts`.
fn has_few_checks(
    control: &Control,
    claims: &[EvidenceClaim<'_>],
    now: Time,
    counts: impl Fn(&EvidenceClaim<'_>) -> bool,
) -> bool {
    let n_min = usize::from(control.n_checks_min);
    if n_min <= 1 {
        return false;
    }
    let mut checks = Vec::with_capacity(n_min);
    for it in claims.iter().filter(|it| now < it.until && !it.shows_only_gaps() && counts(it)) {
        if checks.len() == n_min {
            break;
        }
        if it.current.is_of_check() && !checks.contains(&it.current.check) {
            checks.push(it.current.check);
        }
    }
    checks.len() < n_min
}

/// Returns true for a serious check of one of the control's platforms, with which scopes of tools begin.
fn takes(control: &Control, findings: &OpenFindings, observation: &Observation) -> bool {
    let Subject::Check { tool } = &observation.subject else { return false };
    let platform = observation.scope.split('/').next().unwrap_or_default();
    findings.tools.contains(tool)
        && findings.severity <= observation.severity
        && control.platforms.iter().any(|it| it == platform)
}
