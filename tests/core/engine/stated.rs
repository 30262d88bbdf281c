//! Parts of controls that people answer for.

use posture_core::engine::basis::Basis;
use posture_core::engine::catalog::facet::{FacetSet, Population};
use posture_core::engine::fact::Status::{Compliant, NonCompliant, NotAssessed, Partial};
use posture_core::engine::fact::{Attestation, Status, Usage};
use posture_core::engine::posture::ControlOutcome;
use posture_core::engine::posture::PartialBecause::{self, Claimed, Failing, Unseen};
use posture_core::engine::severity::Severity;
use posture_core::engine::{ControlPart, StatedPart};
use proptest::prelude::*;
use proptest::sample::Index;

use super::generate::{any_part, any_world};
use super::part::of_two_facets;
use super::world::{Placed, TODAY, World, attested, control, day, seen};

type Said = (Status, Option<u8>, Option<PartialBecause>, String);

fn facet(name: &str) -> ControlPart {
    ControlPart { facet: Some(name.to_owned()), ..ControlPart::default() }
}

fn said(part: ControlPart, status: Status) -> StatedPart {
    let mut said = attested(status);
    (said.control, said.at) = ("A-1".to_owned(), day(TODAY - 1));
    (said.evidence, said.until) = (Some("doc".to_owned()), Some(day(TODAY + 30)));
    StatedPart { part, said }
}

fn bare(mut it: StatedPart) -> StatedPart {
    it.said.evidence = None;
    it
}

fn of(mut world: World, parts: &[StatedPart]) -> Said {
    world.parts = parts.to_vec();
    let control = world.assess().controls.remove(0);
    (control.status, control.score, control.partial_because, control.findings.unwrap_or_default())
}

#[test]
fn a_part_that_a_person_shows_with_evidence_is_seen() {
    let world = || of_two_facets().seen(seen(3, 0));
    let with = of(world(), &[said(facet("f1"), Compliant)]);
    assert_eq!((with.0, with.1), (Compliant, Some(100)), "{}", with.3);
    let without = of(world(), &[bare(said(facet("f1"), Compliant))]);
    assert_eq!((without.0, without.2), (Partial, Some(Claimed)));
    assert_eq!(without.1, of(world(), &[]).1, "a claim changes no score");
    assert_eq!(without.3, "\"Check\" passes. Said, not shown: \"Part 1 is met\".");
    let fails = of(world(), &[said(facet("f1"), NonCompliant)]);
    assert_eq!((fails.0, fails.2), (NonCompliant, None));
    assert!(fails.3.contains("Part 1 is met, as ann attests"), "{}", fails.3);
    let other = of(world(), &[said(facet("f0"), Compliant)]);
    assert_eq!((other.0, other.2), (Partial, Some(Unseen)), "the other facet is not seen");
}

#[test]
fn a_part_alone_is_not_the_control() {
    let with = of(of_two_facets(), &[said(facet("f1"), Compliant)]);
    assert_eq!((with.0, with.2), (Partial, Some(Unseen)), "{}", with.3);
    let both = [said(facet("f0"), Compliant), said(facet("f1"), Compliant)];
    assert_eq!(of(of_two_facets(), &both).0, Compliant);
    let claimed = of(of_two_facets(), &[bare(said(facet("f1"), Compliant))]);
    assert_eq!((claimed.0, claimed.1, claimed.2), (Partial, Some(50), Some(Claimed)));
    assert!(claimed.3.starts_with("\"Part 1 is met\": attested as met by ann"), "{}", claimed.3);
    let mut old = said(facet("f1"), Compliant);
    old.said.until = Some(day(TODAY));
    assert_eq!(of(of_two_facets(), &[old]).0, NotAssessed, "it has ended");
    let mut world = of_two_facets();
    world.parts = both.to_vec();
    assert_eq!(world.assess().grounds[0].basis, Basis::AttestedWithEvidence);
    assert_eq!(world.seen(seen(3, 0)).assess().grounds[0].basis, Basis::Observed);
}

#[test]
fn what_fails_fails_whoever_says_so_unless_a_person_stands_over_it() {
    let failing = || of_two_facets().seen(seen(2, 1)).seen(seen(1, 0).check("c2"));
    let said_met = said(facet("f0"), Compliant);
    assert_eq!(of(failing(), std::slice::from_ref(&said_met)).2, Some(Failing));
    let passing = || of_two_facets().seen(seen(3, 0)).seen(seen(1, 0).check("c2"));
    assert_eq!(
        of(passing(), &[said(facet("f0"), NonCompliant)]).0,
        NonCompliant,
        "an honest failure"
    );
    let mut over = said_met;
    over.said.overrides = true;
    let mut world = failing();
    world.parts = vec![over.clone()];
    let posture = world.assess();
    assert_eq!(posture.controls[0].status, Compliant);
    assert_eq!(posture.contradictions.len(), 1);
    assert_eq!(posture.contradictions[0].by, "ann");
    // A check that looks at more than the part still fails.
    let mut wide = failing();
    wide.show("c1", 0, FacetSet::all(2));
    assert_eq!(of(wide, &[over]).2, Some(Failing));
}

#[test]
fn what_is_out_of_date_is_answered_by_what_a_person_shows_later() {
    let lapsed = || of_two_facets().seen(seen(0, 1).at(TODAY - 50)).seen(seen(1, 0).check("c2"));
    assert_eq!(of(lapsed(), &[]).0, NotAssessed);
    assert_eq!(of(lapsed(), &[said(facet("f0"), Compliant)]).0, Compliant);
    let mut before = said(facet("f0"), Compliant);
    before.said.at = day(TODAY - 40);
    assert_eq!(of(lapsed(), &[before]).0, NotAssessed, "it was said while the failure counted");
}

#[test]
fn a_person_answers_for_a_platform_and_for_one_of_its_accounts() {
    let mut control = control("A-1", Severity::High);
    control.over = Population::Accounts;
    control.platforms = vec!["m365".to_owned(), "google".to_owned()];
    let mut world = World::new(vec![control]);
    world.map("c1", &[0]);
    let place = |platform: &str, scope: Option<&str>| ControlPart {
        platform: Some(platform.to_owned()),
        scope: scope.map(str::to_owned),
        facet: None,
    };
    let world = world.says("google", Usage::Used).seen(seen(3, 0).scope("m365/one"));
    assert_eq!(of(world.clone(), &[]).2, Some(Unseen));
    assert_eq!(of(world.clone(), &[said(place("google", None), Compliant)]).0, Compliant);
    let claimed = of(world.clone(), &[bare(said(place("google", None), Compliant))]);
    assert_eq!(claimed.2, Some(Claimed));
    assert!(claimed.3.ends_with("Said, not shown: Google Workspace."), "{}", claimed.3);
    // Of two accounts, one that is attested leaves the other unseen.
    let two = |world: World| world.seen(seen(1, 0).scope("google/a").check("u"));
    let two = two(world).seen(seen(1, 0).scope("google/b").check("u"));
    let a = said(place("google", Some("google/a")), Compliant);
    let b = said(place("google", Some("google/b")), Compliant);
    let one = of(two.clone(), std::slice::from_ref(&a));
    assert!(one.3.ends_with("Not seen: Google Workspace b."), "{}", one.3);
    assert_eq!(of(two, &[a, b]).0, Compliant);
}

fn rank(it: &Said) -> (u8, u8) {
    let status = match it.0 {
        NonCompliant => 0,
        Partial => 1,
        Compliant => 2,
        NotAssessed | Status::NotApplicable => 3,
    };
    (status, it.1.unwrap_or(0))
}

proptest! {
    /// That a part is met lowers nothing, and without evidence it meets nothing.
    #[test]
    fn what_a_person_calls_met_lowers_nothing(
        (world, part) in any_world().prop_flat_map(|it| {
            let n = it.catalog.controls.len();
            (Just(it), any_part(n))
        }),
    ) {
        let mut part = StatedPart { said: Attestation { overrides: false, ..part.said }, ..part };
        part.said.status = Compliant;
        let at = world.catalog.find_control(&part.said.control).unwrap();
        let mut before = world;
        before.parts.retain(|it| (&it.said.control, &it.part) != (&part.said.control, &part.part));
        let was = before.assess().controls.swap_remove(at);
        prop_assume!(was.status != NotAssessed && was.status != Status::NotApplicable);
        let mut with = before.clone();
        with.parts.push(part.clone());
        let now = with.assess().controls.swap_remove(at);
        let rank = |it: &ControlOutcome| rank(&(it.status, it.score, None, String::new()));
        prop_assert!(rank(&was) <= rank(&now), "{was:?} became {now:?}");
        part.said.evidence = None;
        let mut claimed = before.clone();
        claimed.parts.push(part);
        let now = claimed.assess().controls.swap_remove(at);
        prop_assert_eq!((was.status, was.score), (now.status, now.score));
    }

    /// Evidence that is taken away raises nothing.
    #[test]
    fn less_evidence_of_a_part_raises_nothing(world in any_world(), which in any::<Index>()) {
        prop_assume!(!world.parts.is_empty());
        let mut more = world;
        let n = which.index(more.parts.len());
        more.parts[n].said.status = Compliant;
        more.parts[n].said.evidence = Some("doc".to_owned());
        let mut less = more.clone();
        less.parts[n].said.evidence = None;
        let (more, less) = (more.assess(), less.assess());
        for (more, less) in more.controls.iter().zip(&less.controls) {
            let is_worse_known = less.status == NotAssessed || more.status == NotAssessed;
            prop_assert!(is_worse_known || (less.status, less.score) == (more.status, more.score)
                || less.score <= more.score, "{less:?} is better than {more:?}");
        }
    }
}
