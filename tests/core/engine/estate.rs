//! What people say about what exists: that these are all, and that one is not meant or gone.

use posture_core::engine::catalog::facet::Population;
use posture_core::engine::estate::{
    EstateKind, FirstSight, FirstSights, KnownEstate, MemberDecision, N_MEMBERS_MAX, QuietDevice,
    SaidWhole, SystemCounts, Unseen, UnseenKind,
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
    let members = without.assess().estate.members;
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

/// So many servers that a source lists, of which these are new or stale.
fn servers(n: u32, quiet: Vec<QuietDevice>) -> World {
    let mut world = over(Population::Servers, &[]);
    let systems = SystemCounts { n_servers: n, is_listed: true, ..SystemCounts::NONE };
    world.estate = KnownEstate { systems, quiet, ..KnownEstate::default() };
    world
}

/// Seen first on this day, by a source that had looked before.
fn late(days: &[(&str, i64)], counted_to: i64) -> FirstSights {
    let sight = |it: &(&str, i64)| (it.0.to_owned(), FirstSight { at: day(it.1), is_late: true });
    FirstSights {
        members: days.iter().map(sight).collect(),
        new_days: 7,
        counted_to: day(counted_to),
        ..FirstSights::NONE
    }
}

fn quiet(name: &str, new_until: Option<i64>) -> QuietDevice {
    QuietDevice {
        names: vec![name.to_owned()],
        counts: SystemCounts { n_servers: 1, ..SystemCounts::NONE },
        new_until: new_until.map(day),
    }
}

#[test]
fn what_is_new_is_asked_of_no_control_that_did_not_see_it() {
    let world = of_clouds().seen(seen(3, 0).scope("aws/1"));
    let mut world = whole(world, EstateKind::CloudAccounts, 1);
    let other = seen(3, 0).scope("azure/2").check("of another control");
    world = world.seen(other);
    assert_eq!(status(&world), Partial, "a platform that was there");
    world.estate.sights = late(&[("azure", TODAY), ("azure/2", TODAY)], TODAY);
    assert_eq!(status(&world), Compliant);
    assert_eq!(world.assess().changes_at, Some(day(TODAY + 7)));
    world.estate.sights.counted_to = day(TODAY + 7);
    assert_eq!(status(&world), Partial, "it is due");
    world.estate.sights.counted_to = day(TODAY);
    let failed = world.seen(seen(0, 4).scope("azure/2"));
    assert_eq!(status(&failed), NonCompliant, "a failure counts at once");
}

#[test]
fn what_a_source_sees_on_its_first_day_is_not_new() {
    let mut world = of_clouds().seen(seen(3, 0).scope("aws/1"));
    let is_late = |world: &World| world.assess().estate.members[1].is_late;
    world.estate.sights = late(&[], TODAY);
    assert!(!is_late(&world));
    let source = world.observations[0].source.clone();
    world.estate.sights.sources.insert(source.clone(), day(TODAY));
    assert!(!is_late(&world));
    world.estate.sights.sources.insert(source, day(TODAY - 1));
    assert!(is_late(&world));
    let full = (0..N_MEMBERS_MAX)
        .map(|it| (format!("gcp/{it}"), FirstSight { at: day(TODAY), is_late: true }));
    world.estate.sights.members = full.collect();
    assert!(!is_late(&world), "it is not kept when it was seen first");
}

proptest! {
    #![proptest_config(config())]

    /// Of random servers, one that counts and was not seen keeps the control from being met, whichever of those that are new or
    /// stale were seen. None of these does so.
    #[test]
    fn one_server_of_many_is_partial_with_new_and_stale_ones(
        all in vec((0..3u8, any::<bool>()), 1..12),
    ) {
        let name = |at: usize| format!("h{at}");
        let kept = all.iter().enumerate().filter(|(_, it)| it.0 != 0);
        let kept = kept.map(|(at, it)| quiet(&name(at), (it.0 == 1).then_some(TODAY + 1)));
        let mut world = servers(u32::try_from(all.len()).unwrap(), kept.collect());
        for (at, _) in all.iter().enumerate().filter(|(_, it)| it.1) {
            world = world.seen(seen(1, 0).scope(&format!("host/{}", name(at))));
        }
        let saw_any = all.iter().any(|it| it.1);
        let is_met = saw_any && all.iter().all(|it| it.0 != 0 || it.1);
        prop_assert_eq!(status(&world) == Compliant, is_met);
    }

    /// The same of cloud accounts. Somebody said how many there are before the new ones came.
    #[test]
    fn one_account_of_many_is_partial_with_new_ones(
        all in vec((any::<bool>(), any::<bool>()), 1..12),
    ) {
        let name = |at: usize| format!("aws/{at}");
        let mut world = of_clouds();
        for (at, it) in all.iter().enumerate() {
            let check = if it.1 { "c1" } else { "u" };
            world = world.seen(seen(1, 0).scope(&name(at)).check(check));
        }
        let names: Vec<String> = (0..all.len()).map(name).collect();
        let new = names.iter().zip(&all).filter(|(_, it)| it.0);
        let new: Vec<(&str, i64)> = new.map(|(name, _)| (name.as_str(), TODAY)).collect();
        let n_old = u32::try_from(all.len() - new.len()).unwrap();
        world.estate.sights = late(&new, TODAY);
        let world = whole(world, EstateKind::CloudAccounts, n_old);
        let sees_old = all.iter().any(|it| !it.0) && all.iter().all(|it| it.0 || it.1);
        let sees_new = all.iter().any(|it| it.0 && it.1);
        prop_assert_eq!(status(&world) == Compliant, sees_old && !sees_new);
    }

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
