//! What people say about what exists: that these are all, and that one is not meant or gone.

use posture_core::engine::catalog::facet::Population;
use posture_core::engine::estate::{
    EstateKind, KnownEstate, MemberDecision, SaidWhole, SystemCounts, Unseen, UnseenKind,
};
use posture_core::engine::fact::Status::{Compliant, NonCompliant, NotAssessed, Partial};
use posture_core::engine::fact::{Status, Usage};
use posture_core::engine::severity::Severity;
use proptest::collection::vec;
use proptest::prelude::*;

use super::law::config;
use super::world::{Placed, TODAY, World, control, day, seen};

/// One control over members of clouds.
fn of_clouds() -> World {
    over(Population::CloudAccounts, &["aws", "azure"])
}

fn over(over: Population, platforms: &[&str]) -> World {
    let mut control = control("A-1", Severity::High);
    control.over = over;
    control.platforms = platforms.iter().map(|it| (*it).to_owned()).collect();
    let mut world = World::new(vec![control]);
    world.map("c1", &[0]);
    world
}

fn status(world: &World) -> Status {
    world.control().status
}

fn whole(mut world: World, kind: EstateKind, n_known: u32) -> World {
    world.estate.said_whole.push(SaidWhole { kind, n_known, until: day(TODAY + 30) });
    world
}

fn decided(mut world: World, name: &str, is_retired: bool, counts: SystemCounts) -> World {
    world.estate.members.push(MemberDecision {
        names: vec![name.to_owned()],
        counts,
        is_retired,
        at: day(TODAY),
        until: Some(day(TODAY + 10)),
    });
    world
}

fn left_out(world: World, name: &str) -> World {
    decided(world, name, false, SystemCounts::NONE)
}

#[test]
fn one_cloud_account_stands_for_itself_until_somebody_says_that_these_are_all() {
    let world = of_clouds().seen(seen(3, 0).scope("aws/1"));
    let one = world.control();
    assert_eq!((one.status, one.score), (Partial, Some(74)));
    let findings = one.findings.unwrap();
    assert_eq!(findings, "\"Check\" passes. Not seen: other cloud accounts, if there are any.");
    assert!(world.assess().risks.is_empty());
    let what = "other cloud accounts, if there are any".to_owned();
    let controls = vec!["A-1".to_owned()];
    assert_eq!(world.assess().unseen, [Unseen { kind: UnseenKind::CloudAccounts, what, controls }]);
    let all = whole(world, EstateKind::CloudAccounts, 1);
    assert_eq!(status(&all), Compliant);
    assert_eq!(all.assess().unseen, []);
    let more = all.clone().seen(seen(3, 0).scope("aws/2"));
    assert_eq!(status(&more), Partial, "there are more than were known");
    assert_eq!(all.assess().changes_at, Some(day(TODAY + 30)));
    let ended = all.seen(seen(3, 0).scope("aws/1").at(TODAY + 25)).on(TODAY + 30);
    assert_eq!(status(&ended), Partial);
}

#[test]
fn what_speaks_of_the_client_as_a_whole_needs_nobody_s_word() {
    assert_eq!(status(&of_clouds().seen(seen(3, 0).scope(""))), Compliant);
}

#[test]
fn a_platform_that_is_used_and_never_looked_at_is_listed() {
    let mut world = of_clouds();
    world.profile.insert("azure".to_owned(), Usage::Used);
    assert_eq!(status(&world), NotAssessed);
    let unseen = world.assess().unseen;
    assert_eq!(unseen.len(), 1);
    assert_eq!((unseen[0].kind, unseen[0].what.as_str()), (UnseenKind::Platform, "Azure"));
}

#[test]
fn an_account_that_is_not_meant_neither_passes_nor_fails() {
    let world = of_clouds().seen(seen(3, 0).scope("aws/1")).seen(seen(0, 4).scope("aws/2"));
    let world = whole(world, EstateKind::CloudAccounts, 2);
    assert_eq!(status(&world), NonCompliant);
    let without = left_out(world, "aws/2");
    assert_eq!(status(&without), Compliant);
    assert!(without.assess().risks.is_empty() && without.assess().fixed.is_empty());
    let members = without.assess().estate;
    let ids: Vec<_> = members.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["aws", "aws/1", "aws/2"], "it stays listed");
    assert_eq!(without.assess().changes_at, Some(day(TODAY + 10)));
    assert_eq!(status(&without.on(TODAY + 10)), NonCompliant, "the decision ended");
}

#[test]
fn what_is_gone_is_back_once_it_is_seen() {
    let world = of_clouds().seen(seen(3, 0).scope("aws/1")).seen(seen(0, 4).scope("aws/2"));
    let gone = decided(world, "aws/2", true, SystemCounts::NONE);
    assert_eq!(status(&gone), Partial);
    let back = gone.seen(seen(1, 0).scope("aws/2").check("other").at(TODAY + 1)).on(TODAY + 1);
    assert_eq!(status(&back), NonCompliant, "what failed before fails again");
}

#[test]
fn a_device_that_is_gone_is_not_asked_for_and_its_failures_are_over() {
    let host = |n: u32, failed: u32| seen(1, failed).scope(&format!("host/H{n}/cis"));
    let mut world = over(Population::Computers, &[]);
    world.estate = KnownEstate {
        systems: SystemCounts { n_computers: 3, ..SystemCounts::NONE },
        ..KnownEstate::default()
    };
    let world = world.seen(host(1, 0)).seen(host(2, 1));
    assert_eq!(status(&world), Partial);
    let one = SystemCounts { n_computers: 1, ..SystemCounts::NONE };
    let fewer = decided(decided(world, "h2", true, one), "h3", true, one);
    let listed = whole(fewer.clone(), EstateKind::Computers, 3);
    assert_eq!(status(&listed), Compliant);
    assert_eq!(status(&fewer), Partial, "nobody says that these are all");
    let more = whole(fewer, EstateKind::Computers, 2);
    assert_eq!(status(&more), Partial, "more are known than were then");
}

proptest! {
    #![proptest_config(config())]

    /// Of random clouds and devices, what was seen of a strict part of the known never makes the control compliant.
    #[test]
    fn one_of_many_is_partial(
        accounts in vec((any::<bool>(), 0..6u32, any::<bool>()), 1..12),
        n_unseen in 1..4u32,
        says_all in any::<bool>(),
    ) {
        let name = |(is_aws, n, _): &(bool, u32, bool)| {
            format!("{}/{n}", if *is_aws { "aws" } else { "azure" })
        };
        let mut world = of_clouds();
        // What other checks saw makes the accounts known.
        for n in 0..n_unseen {
            world = world.seen(seen(1, 0).scope(&format!("aws/unseen{n}")).check("u"));
        }
        for it in &accounts {
            world = world.seen(seen(u32::from(it.2), u32::from(!it.2)).scope(&name(it)));
        }
        if says_all {
            world = whole(world, EstateKind::CloudAccounts, 100);
        }
        prop_assert_ne!(status(&world), Compliant);
    }

    /// Taking a member out is the same as if nothing had ever been seen of it.
    #[test]
    fn a_member_that_is_left_out_is_as_if_it_had_never_been_seen(
        accounts in vec((0..5u32, 0..3u32, 0..3u32), 1..12),
        out in 0..5u32,
    ) {
        let story = |keeps: &dyn Fn(u32) -> bool| {
            let kept = accounts.iter().filter(|it| keeps(it.0));
            kept.fold(of_clouds(), |world, (account, passed, failed)| {
                let scope = format!("aws/{account}");
                let other = seen(1, 0).scope(&scope).check(&format!("u{passed}"));
                world.seen(seen(*passed, *failed).scope(&scope)).seen(other)
            })
        };
        let without = story(&|it| it != out).assess();
        let left = left_out(story(&|_| true), &format!("aws/{out}")).assess();
        prop_assert_eq!(without.controls, left.controls);
        prop_assert_eq!(without.risks, left.risks);
        prop_assert_eq!(without.unseen, left.unseen);
    }
}
