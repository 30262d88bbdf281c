//! Everything that is known must be seen: facets, platforms, accounts, devices.

use posture_core::clock::Time;
use posture_core::engine::catalog::Together;
use posture_core::engine::catalog::facet::{Facet, FacetSet, Population};
use posture_core::engine::estate::{EstateKind, SaidWhole, SystemCounts};
use posture_core::engine::fact::Status::{Compliant, NonCompliant, NotAssessed, Partial};
use posture_core::engine::fact::{Observation, Status, Usage};
use posture_core::engine::posture::PartialBecause;
use posture_core::engine::severity::Severity;

use super::world::{Placed, World, control, facets, seen};

/// One control with two facets: `c1` shows the first, `c2` the second, `c3` only gaps.
pub(super) fn of_two_facets() -> World {
    let mut control = control("A-1", Severity::High);
    control.facets = facets(2);
    let mut world = World::new(vec![control]);
    world.show("c1", 0, FacetSet::one(0));
    world.show("c2", 0, FacetSet::one(1));
    world.show("c3", 0, FacetSet::NONE);
    world
}

/// One control over these members that names these platforms.
fn over(over: Population, platforms: &[&str]) -> World {
    let mut control = control("A-1", Severity::High);
    control.over = over;
    control.platforms = platforms.iter().map(|it| (*it).to_owned()).collect();
    let mut world = World::new(vec![control]);
    world.map("c1", &[0]);
    let kind = EstateKind::CloudAccounts;
    world.estate.said_whole = vec![SaidWhole { kind, n_known: 10, until: Time::MAX }];
    world
}

fn of(world: &World) -> (Status, Option<u8>, Option<PartialBecause>, String) {
    let control = world.assess().controls.remove(0);
    (control.status, control.score, control.partial_because, control.findings.unwrap_or_default())
}

#[test]
fn a_facet_that_nobody_looked_at_keeps_a_control_from_being_met() {
    let one = of(&of_two_facets().seen(seen(3, 0)));
    assert_eq!((one.0, one.1, one.2), (Partial, Some(74), Some(PartialBecause::Unseen)));
    assert_eq!(one.3, "\"Check\" passes. Not seen: \"Part 1 is met\".");
    let both = of(&of_two_facets().seen(seen(3, 0)).seen(seen(1, 0).check("c2")));
    assert_eq!((both.0, both.1), (Compliant, Some(100)));
    let gaps = of(&of_two_facets().seen(seen(3, 0).check("c3")));
    assert_eq!(gaps.0, NotAssessed);
    let fails = of(&of_two_facets().seen(seen(3, 1)));
    assert_eq!((fails.0, fails.1, fails.2), (Partial, Some(68), Some(PartialBecause::Failing)));
    assert!(of_two_facets().seen(seen(3, 0)).assess().risks.is_empty());
}

#[test]
fn many_checks_of_one_facet_do_not_hide_that_the_other_fails() {
    let mut world = of_two_facets();
    for name in ["c4", "c5", "c6"] {
        world.show(name, 0, FacetSet::one(0));
    }
    let passing = |name: &str| seen(1, 0).check(name);
    let world = ["c1", "c4", "c5", "c6"].into_iter().map(passing).fold(world, World::seen);
    let score = |more: Observation| of(&world.clone().seen(more)).1.unwrap();
    assert_eq!(score(seen(0, 3).check("c2")), 24);
    assert_eq!(score(seen(3, 3).check("c2")), 50 + 36);
    // What shows too little lowers what it fails of, and raises nothing.
    assert_eq!(score(seen(0, 3).check("c3")), 19);
    assert_eq!(score(seen(3, 0).check("c3")), of(&world).1.unwrap());
}

#[test]
fn a_source_that_names_a_check_of_its_own_shows_no_facet_unless_it_says_which() {
    let control = |it: Observation| of(&of_two_facets().seen(it.of_control("A-1"))).0;
    assert_eq!(control(seen(1, 0).check("reported")), Compliant);
    assert_eq!(control(seen(1, 0).check("port 3389 of the printer")), NotAssessed);
    let first = Observation { facets: vec!["f0".to_owned()], ..seen(1, 0).check("mine") };
    assert_eq!(control(first.clone()), Partial);
    let second = Observation { facets: vec!["f1".to_owned()], ..seen(1, 0).check("other") };
    let both = of_two_facets().seen(first.of_control("A-1")).seen(second.of_control("A-1"));
    assert_eq!(of(&both).0, Compliant);
}

#[test]
fn one_that_fails_is_enough_where_a_facet_says_so() {
    let mut world = of_two_facets();
    world.catalog.controls[0].facets[0].is_any = true;
    let world = world.seen(seen(99, 1)).seen(seen(1, 0).check("c2"));
    assert_eq!(of(&world).0, NonCompliant);
    let other = of_two_facets().seen(seen(99, 1)).seen(seen(1, 0).check("c2"));
    assert_eq!(of(&other).0, Partial);
    let gap = of_two_facets().seen(seen(1, 0)).seen(seen(1, 0).check("c2"));
    let mut gap = gap.seen(seen(9, 1).check("c3"));
    gap.catalog.controls[0].facets = vec![Facet { is_any: true, ..facets(1).remove(0) }];
    gap.show("c1", 0, FacetSet::WHOLE);
    gap.show("c2", 0, FacetSet::WHOLE);
    assert_eq!(of(&gap).0, Partial, "what shows only gaps of no facet is no member");
    gap.show_gaps("c3", 0, FacetSet::WHOLE);
    assert_eq!(of(&gap).0, NonCompliant, "its failure is one of the facet");
}

/// A failure of another facet than the one of which one is enough.
#[test]
fn a_gap_counts_for_the_facet_that_it_names() {
    let mut world = of_two_facets().seen(seen(9, 0)).seen(seen(9, 0).check("c2"));
    world.catalog.controls[0].facets[0].is_any = true;
    let mut world = world.seen(seen(9, 1).check("c3"));
    world.show_gaps("c3", 0, FacetSet::one(1));
    assert_eq!(of(&world).0, Partial);
    world.show_gaps("c3", 0, FacetSet::one(0));
    assert_eq!(of(&world).0, NonCompliant);
    let mut passes = of_two_facets().seen(seen(9, 0).check("c3"));
    passes.show_gaps("c3", 0, FacetSet::one(0));
    assert_eq!(of(&passes).0, NotAssessed, "its success shows nothing");
}

/// `c1` shows the first facet with `c3`, and the second with `c4`.
#[test]
fn a_check_shows_with_others_only_what_those_that_pass_complete() {
    let mut world = of_two_facets().seen(seen(3, 0)).seen(seen(3, 0).check("c3"));
    world.show("c1", 0, FacetSet::all(2));
    let tool = world.catalog.tools.get_mut("t").unwrap();
    tool.checks.get_mut("c1").unwrap()[0].needs_others = true;
    let group = |facet, check: &str| Together {
        control: 0,
        shows: FacetSet::one(facet),
        checks: vec![check.to_owned()],
    };
    tool.together.insert("c1".to_owned(), vec![group(0, "c3"), group(1, "c4")]);
    let one = of(&world);
    assert_eq!((one.0, one.1), (Partial, Some(74)), "{}", one.3);
    world.show("c4", 0, FacetSet::NONE);
    assert_eq!(of(&world.clone().seen(seen(3, 0).check("c4"))).0, Compliant);
    // The same checks, known by their references.
    world.catalog.tools.get_mut("t").unwrap().is_by_reference = true;
    for (it, name) in world.observations.iter_mut().zip(["A [x c1]", "C [c3]"]) {
        *it = it.clone().check(name);
    }
    assert_eq!(of(&world).3, "Both checks pass. Not seen: \"Part 1 is met\".");
    assert_eq!(of(&world.seen(seen(3, 0).check("D [c4 y]"))).0, Compliant);
}

/// Devices are counted for one facet, and platforms looked at for the other.
#[test]
fn a_facet_of_platforms_is_asked_on_each_of_them() {
    let mut world = of_two_facets();
    world.catalog.controls[0].over = Population::Computers;
    world.catalog.controls[0].facets[0].platforms = vec!["m365".to_owned(), "google".to_owned()];
    world.profile.insert("m365".to_owned(), Usage::Used);
    world.estate.systems =
        SystemCounts { n_computers: 1, is_listed: true, ..SystemCounts::default() };
    let world = world.seen(seen(1, 0).scope("host/a").check("c2"));
    assert_eq!(of(&world).3, "\"Check\" passes. Not seen: Microsoft 365.");
    let entra = world.seen(seen(1, 0).scope("azure/1"));
    assert_eq!(of(&entra).0, Compliant);
    let google = of(&entra.says("google", Usage::Used));
    assert_eq!(google.3, "Both checks pass. Not seen: Google Workspace.");
}

#[test]
fn each_platform_and_account_that_is_known_must_be_seen() {
    let aws = |account: &str| seen(3, 0).scope(&format!("aws/{account}"));
    let world = over(Population::CloudAccounts, &["aws", "azure"]);
    assert_eq!(of(&world.clone().seen(aws("1"))).0, Compliant);
    let mut used = world.clone();
    used.profile.insert("azure".to_owned(), Usage::Used);
    let used = of(&used.seen(aws("1")));
    assert_eq!((used.0, used.2), (Partial, Some(PartialBecause::Unseen)));
    assert_eq!(used.3, "\"Check\" passes. Not seen: Azure.");
    // Something else was seen of it.
    let other = seen(1, 0).scope("azure/7").check("u");
    assert_eq!(of(&world.clone().seen(aws("1")).seen(other)).0, Partial);
    let two = world.clone().seen(aws("1")).seen(aws("2").check("u"));
    let two = of(&two);
    assert_eq!((two.0, two.1), (Partial, Some(74)));
    assert_eq!(two.3, "\"Check\" passes. Not seen: AWS 2.");
    assert_eq!(of(&world.seen(aws("1")).seen(aws("2"))).0, Compliant);
}

/// Of no platform more is shown than of the one that the scope names.
#[test]
fn what_a_scope_begins_with_is_what_was_looked_at() {
    let platforms = [
        ("m365", "m365"),
        ("google", "google"),
        ("googleworkspace", "google"),
        ("aws", "aws"),
        ("azure", "azure"),
        ("gcp", "gcp"),
        ("kubernetes", "kubernetes"),
        ("otherIdentity", "otherIdentity"),
        ("okta", "otherIdentity"),
        ("onPremNetwork", "onPremNetwork"),
    ];
    for (first, platform) in platforms {
        for other in platforms.iter().map(|it| it.1).filter(|it| *it != platform) {
            let mut world = over(Population::Client, &[platform, other]);
            world.profile.insert(platform.to_owned(), Usage::Used);
            world.profile.insert(other.to_owned(), Usage::Used);
            let found = of(&world.seen(seen(3, 0).scope(&format!("{first}/1"))));
            assert_eq!(found.2, Some(PartialBecause::Unseen), "{first}, {other}: {}", found.3);
        }
    }
}

/// Nine of ten accounts stop being read: what passed in them is over, and they are not forgotten.
#[test]
fn an_account_that_is_read_no_more_is_missing_until_it_is_gone() {
    let mut world = over(Population::CloudAccounts, &["aws"]);
    for account in 0..10 {
        let age = if account == 0 { 0 } else { 40 };
        world =
            world.seen(seen(1, 0).scope(&format!("aws/{account}")).at(super::world::TODAY - age));
    }
    let found = of(&world);
    assert_eq!((found.0, found.1), (Partial, Some(50)), "{}", found.3);
    let later = of(&world.on(super::world::TODAY + 20));
    assert_eq!(later.0, Partial);
    let long_after = over(Population::CloudAccounts, &["aws"])
        .seen(seen(1, 0).scope("aws/1").at(super::world::TODAY - 180))
        .seen(seen(1, 0).scope("aws/2"));
    assert_eq!(of(&long_after).0, Compliant);
}

#[test]
fn accounts_of_azure_are_those_of_microsoft_365() {
    let mut world = over(Population::Accounts, &["m365", "azure"]);
    world.profile.insert("azure".to_owned(), Usage::Used);
    assert_eq!(of(&world.seen(seen(3, 0).source("m365").scope("accounts"))).0, Compliant);
    let mut world = over(Population::Client, &["m365", "azure"]);
    world.profile.insert("azure".to_owned(), Usage::Used);
    assert_eq!(of(&world.seen(seen(3, 0).source("m365").scope("settings"))).0, Partial);
    let mut world = over(Population::Client, &["m365"]);
    world.profile.insert("m365".to_owned(), Usage::Used);
    let entra = world.seen(seen(3, 0).scope("azure/1"));
    assert_eq!(of(&entra).0, Compliant, "a setting of the directory");
}

#[test]
fn one_of_many_devices_is_partial() {
    let host = |n: u32| seen(1, 0).scope(&format!("host/h{n}"));
    let listed = |n: u32, n_seen: u32| {
        let mut world = over(Population::Computers, &[]);
        world.estate.systems =
            SystemCounts { n_computers: n, is_listed: true, ..SystemCounts::default() };
        (0..n_seen).fold(world, |world, it| world.seen(host(it)))
    };
    let one = of(&listed(50, 1));
    assert_eq!((one.0, one.1, one.2), (Partial, Some(50), Some(PartialBecause::Unseen)));
    assert_eq!(one.3, "\"Check\" passes. Not seen: 49 of 50 computers.");
    // One of five and more, and 5 % of many, may be unseen; none of fewer.
    for (n, n_seen, expect) in [
        (50, 48, Compliant),
        (50, 47, Partial),
        (5, 4, Compliant),
        (4, 3, Partial),
        (4, 4, Compliant),
    ] {
        assert_eq!(of(&listed(n, n_seen)).0, expect, "{n_seen} of {n}");
    }
    let mut unlisted = over(Population::Computers, &[]).seen(host(1));
    unlisted.estate.systems.n_computers = 1;
    assert_eq!(of(&unlisted).0, Partial, "nobody said that there is one only");
    let twice = ["host/a/cis", "host/a/stig"].map(|it| seen(1, 0).scope(it));
    let twice = twice.into_iter().fold(listed(2, 0), World::seen);
    assert_eq!(of(&twice).0, Partial, "two benchmarks of one computer");
    let of_all = listed(50, 1).seen(seen(50, 0).scope("devices"));
    assert_eq!(of(&of_all).0, Compliant, "a source of all devices");
}

#[test]
fn what_is_unused_and_seen_all_the_same_is_used() {
    let mut world = over(Population::CloudAccounts, &["aws"]);
    let said = super::world::unused_since(super::world::TODAY - 10);
    world.profile.insert("aws".to_owned(), said);
    assert_eq!(of(&world).0, Status::NotApplicable);
    let seen = world.seen(seen(1, 0).scope("aws/1").check("u"));
    assert_eq!(of(&seen).0, NotAssessed);
}
