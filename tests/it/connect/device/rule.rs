//! END-*, DAT-01: each rule with what passes, each way to fail, and what is unknown.

use std::collections::BTreeSet;

use posture::clock::Time;
use posture::connect::device::{
    Antivirus, Device, Fact, Last, Patch, PatchSeverity, PatchState, PatchStatus, Patching, judge,
};
use posture::connect::reading::JudgedStatus::{
    self, Compliant, NonCompliant, NotApplicable, Partial,
};
use posture::engine::asset::AssetType;

use super::{days_ago, device, judge_by, now, status};

/// The rule's answer about one device: the status of a list that has no other.
fn one(fact: Fact, change: impl FnOnce(&mut Device)) -> Option<JudgedStatus> {
    let mut it = device("a");
    change(&mut it);
    status(fact, &[it])
}

const ALL: [Fact; 14] = [
    Fact::Unmanaged,
    Fact::LastSeen,
    Fact::Compliance,
    Fact::Encryption,
    Fact::Antivirus,
    Fact::Threats,
    Fact::OsPatches,
    Fact::SoftwarePatches,
    Fact::Os,
    Fact::Reboot,
    Fact::Jailbreak,
    Fact::Firewall,
    Fact::Edr,
    Fact::Backup,
];

#[test]
fn what_is_not_known_is_not_judged() {
    let devices = [device("a"), device("b")];
    assert_eq!(judge(&devices, &BTreeSet::new(), now()), []);
    for fact in ALL.into_iter().filter(|it| ![Fact::Unmanaged, Fact::LastSeen].contains(it)) {
        let is_of_others = [Fact::Jailbreak, Fact::Backup].contains(&fact);
        let expected = is_of_others.then_some(NotApplicable);
        assert_eq!(status(fact, &devices), expected, "{fact:?}");
    }
}

#[test]
fn a_fact_that_the_source_cannot_tell_is_not_judged_even_if_devices_have_it() {
    let it = Device { firewall: Some(false), ..device("a") };
    assert_eq!(judge(&[it], &BTreeSet::from([Fact::Os]), now()), []);
}

#[test]
fn what_may_be_a_computer_keeps_a_list_from_being_met() {
    let good = Device { encrypted: Some(true), ..device("a") };
    for reported in [Some(true), Some(false), None] {
        let unsure = Device { kind: None, encrypted: reported, ..device("b") };
        let all = [good.clone(), unsure.clone()];
        assert_eq!(status(Fact::Encryption, &all), Some(Partial), "{reported:?}");
        let excluded = Device { managed: Some(false), ..unsure };
        assert_eq!(status(Fact::Encryption, &[good.clone(), excluded]), Some(Compliant));
    }
    let printer = Device { kind: Some(AssetType::NetworkDevice), ..device("p") };
    assert_eq!(status(Fact::Encryption, &[good, printer]), Some(Compliant));
}

#[test]
fn a_complete_list_without_members_does_not_apply() {
    for fact in ALL {
        assert_eq!(status(fact, &[]), Some(NotApplicable), "{fact:?}");
    }
    let switch = Device { kind: Some(AssetType::NetworkDevice), ..device("a") };
    assert_eq!(status(Fact::Firewall, std::slice::from_ref(&switch)), Some(NotApplicable));
    let strange = Device { kind: None, ..device("b") };
    assert_eq!(status(Fact::Firewall, &[switch, strange]), None, "it may be a computer");
}

#[test]
fn a_flag_decides_alone_and_unknown_never_passes() {
    type Set = fn(&mut Device, Option<bool>);
    let flags: [(Fact, Set); 3] = [
        (Fact::Compliance, |it, flag| it.compliant = flag),
        (Fact::Encryption, |it, flag| it.encrypted = flag),
        (Fact::Firewall, |it, flag| it.firewall = flag),
    ];
    for (fact, set) in flags {
        let list = |flags: &[Option<bool>]| {
            let devices = flags.iter().enumerate().map(|(at, flag)| {
                let mut it = device(&format!("d{at}"));
                set(&mut it, *flag);
                it
            });
            status(fact, &devices.collect::<Vec<_>>())
        };
        assert_eq!(list(&[Some(true), Some(true)]), Some(Compliant), "{fact:?}");
        assert_eq!(list(&[Some(true), Some(false)]), Some(NonCompliant), "{fact:?}");
        assert_eq!(list(&[Some(true), None]), Some(Partial), "{fact:?}");
        assert_eq!(list(&[Some(true), None, None]), None, "{fact:?}");
        assert_eq!(list(&[Some(false), None, None]), Some(NonCompliant), "{fact:?}");
    }
}

#[test]
fn findings_name_what_fails_and_say_what_to_do() {
    let devices = [
        Device { encrypted: Some(false), ..device("ws-1") },
        Device { encrypted: Some(true), ..device("ws-2") },
        Device { encrypted: None, ..device("ws-3") },
    ];
    let judged = judge_by(Fact::Encryption, &devices).unwrap();
    assert_eq!(
        judged.findings,
        "WS-1\n1 of 2 fail. A disk is not fully encrypted, or its protection is suspended. Turn on BitLocker or FileVault \
         by policy.\nUnknown for 1 more."
    );
    let count = judged.count.unwrap();
    assert_eq!((count.n_passed, count.failing), (1, vec!["ws-1".to_owned()]));
    assert_eq!((judged.control, &*judged.check), ("END-04", "encryption"));
}

#[test]
fn a_device_that_is_silent_fails_to_check_in_and_nothing_else_is_judged_by_it() {
    let seen = |last| one(Fact::LastSeen, |it| it.last_seen = last);
    assert_eq!(seen(Some(Last::At(days_ago(30)))), Some(Compliant));
    assert_eq!(seen(Some(Last::At(days_ago(30).plus_s(-1)))), Some(NonCompliant));
    assert_eq!(seen(Some(Last::Never)), Some(NonCompliant));
    assert_eq!(seen(Some(Last::At(now().plus_s(3_600)))), Some(Compliant), "its clock is ahead");
    assert_eq!(seen(None), None);
    for flag in [true, false] {
        let silent = |it: &mut Device| {
            it.firewall = Some(flag);
            it.last_seen = Some(Last::At(days_ago(31)));
        };
        assert_eq!(one(Fact::Firewall, silent), None, "there are computers, but none to judge by");
    }
}

#[test]
fn only_devices_of_the_right_kind_that_have_an_agent_are_members() {
    let bad = |kind, agent, managed| {
        one(Fact::Firewall, |it| {
            (it.kind, it.agent, it.managed) = (Some(kind), agent, managed);
            it.firewall = Some(false);
        })
    };
    for kind in [AssetType::Server, AssetType::Workstation, AssetType::VirtualMachine] {
        assert_eq!(bad(kind, None, Some(true)), Some(NonCompliant), "{kind:?}");
        assert_eq!(bad(kind, Some(true), None), Some(NonCompliant), "{kind:?}");
        assert_eq!(bad(kind, Some(false), Some(true)), Some(NotApplicable), "{kind:?}");
        assert_eq!(bad(kind, None, Some(false)), Some(NotApplicable), "{kind:?}");
    }
    for kind in [AssetType::Mobile, AssetType::NetworkDevice, AssetType::Device] {
        assert_eq!(bad(kind, Some(true), Some(true)), Some(NotApplicable), "{kind:?}");
    }
    let silent =
        |kind| one(Fact::LastSeen, |it| (it.kind, it.last_seen) = (Some(kind), Some(Last::Never)));
    assert_eq!(silent(AssetType::Mobile), Some(NonCompliant));
    assert_eq!(silent(AssetType::NetworkDevice), Some(NotApplicable));
}

#[test]
fn only_a_list_that_also_has_unmanaged_computers_shows_that_there_are_none() {
    let managed = [device("a"), device("b")];
    assert_eq!(status(Fact::Unmanaged, &managed), Some(Compliant));
    let one_is_not = [device("a"), Device { managed: Some(false), ..device("b") }];
    assert_eq!(status(Fact::Unmanaged, &one_is_not), Some(NonCompliant));
    let of_rmm = |devices: &[Device]| {
        let judged = judge(devices, &BTreeSet::from([Fact::LastSeen]), now());
        judged.into_iter().find(|it| it.control == "END-01").map(|it| (it.status, it.count))
    };
    assert_eq!(of_rmm(&managed), None);
    assert_eq!(of_rmm(&[]), None);
    let (status, count) = of_rmm(&one_is_not).unwrap();
    assert_eq!((status, count.unwrap().n_passed), (NonCompliant, 1));
}

#[test]
fn agents_alone_do_not_show_that_every_computer_has_one() {
    let edr = |flag| Device { edr: Some(flag), ..device(if flag { "a" } else { "b" }) };
    let by = |facts: &[Fact], devices: &[Device]| {
        let judged = judge(devices, &facts.iter().copied().collect(), now());
        judged.into_iter().find(|it| it.control == "END-19").map(|it| (it.status, it.findings))
    };
    let (status, findings) = by(&[Fact::Edr], &[edr(true)]).unwrap();
    assert_eq!(status, Partial);
    assert!(findings.starts_with("Agents that report to the service: 1."), "{findings}");
    assert_eq!(by(&[Fact::Edr], &[edr(true), edr(false)]).unwrap().0, NonCompliant);
    assert_eq!(by(&[Fact::Edr, Fact::Unmanaged], &[edr(true)]).unwrap().0, Compliant);
    assert_eq!(by(&[Fact::Edr], &[device("c")]), None);
}

fn product(running: Option<bool>, current: Option<bool>) -> Antivirus {
    Antivirus { product: Some("Guard".to_owned()), running, current }
}

#[test]
fn one_product_that_runs_and_is_current_is_enough() {
    let (yes, no) = (Some(true), Some(false));
    for (products, expected) in [
        (vec![product(yes, yes)], Some(Compliant)),
        (vec![product(no, no), product(yes, yes)], Some(Compliant)),
        (vec![product(None, None), product(yes, yes)], Some(Compliant)),
        (vec![product(yes, no)], Some(NonCompliant)),
        (vec![product(no, yes)], Some(NonCompliant)),
        (vec![product(no, None)], Some(NonCompliant)),
        (vec![], Some(NonCompliant)),
        // What runs and what is current are two products.
        (vec![product(yes, no), product(no, yes)], Some(NonCompliant)),
        (vec![product(yes, None)], None),
        (vec![product(None, yes)], None),
        (vec![product(no, no), product(yes, None)], None),
    ] {
        let said = format!("{products:?}");
        assert_eq!(one(Fact::Antivirus, |it| it.antivirus = Some(products)), expected, "{said}");
    }
    let offline = |it: &mut Device| (it.antivirus, it.online) = (Some(Vec::new()), Some(false));
    assert_eq!(one(Fact::Antivirus, offline), None, "what is offline reports nothing");
}

#[test]
fn no_threats_say_nothing_where_no_product_runs() {
    let threats = |n, products: Option<Vec<Antivirus>>| {
        one(Fact::Threats, |it| (it.threats, it.antivirus) = (n, products))
    };
    assert_eq!(threats(Some(0), None), Some(Compliant));
    assert_eq!(threats(Some(0), Some(vec![product(Some(true), Some(false))])), Some(Compliant));
    assert_eq!(threats(Some(0), Some(vec![])), None);
    assert_eq!(threats(Some(0), Some(vec![product(Some(false), None)])), None);
    assert_eq!(threats(Some(1), Some(vec![])), Some(NonCompliant));
    assert_eq!(threats(None, None), None);
}

fn patched(change: impl FnOnce(&mut Patching)) -> Option<JudgedStatus> {
    one(Fact::OsPatches, |it| {
        it.os_patches =
            Patching { state: None, open: Some(vec![]), installed: Some(Last::At(days_ago(60))) };
        change(&mut it.os_patches);
    })
}

#[test]
fn a_summary_of_patches_decides_if_it_is_certain() {
    let state = |state| one(Fact::OsPatches, |it| it.os_patches.state = Some(state));
    assert_eq!(state(PatchState::Current), Some(Compliant));
    assert_eq!(state(PatchState::Failed), Some(NonCompliant));
    assert_eq!(state(PatchState::NoPolicy), Some(NonCompliant));
    assert_eq!(state(PatchState::Pending), None);
}

#[test]
fn that_nothing_is_pending_counts_where_patches_were_installed() {
    assert_eq!(patched(|_| ()), Some(Compliant));
    assert_eq!(patched(|it| it.installed = Some(Last::At(days_ago(61)))), None);
    assert_eq!(patched(|it| it.installed = Some(Last::Never)), None);
    assert_eq!(patched(|it| it.installed = None), None);
    assert_eq!(patched(|it| it.open = None), None);
}

#[test]
fn a_patch_may_be_pending_for_as_long_as_its_severity_allows() {
    use PatchSeverity::{Critical, Important, Other};
    use PatchStatus::{Closed, Failed, Pending};
    let open = |severity, status, since: Option<Time>| {
        patched(|it| it.open = Some(vec![Patch { severity, status, since }]))
    };
    let at = |days: i64, more_s: i64| Some(days_ago(days).plus_s(-more_s));
    assert_eq!(open(Some(Critical), Some(Pending), at(14, 0)), Some(Compliant));
    assert_eq!(open(Some(Critical), Some(Pending), at(14, 1)), Some(NonCompliant));
    assert_eq!(open(Some(Important), Some(Pending), at(30, 0)), Some(Compliant));
    assert_eq!(open(Some(Important), Some(Pending), at(30, 1)), Some(NonCompliant));
    assert_eq!(open(Some(Other), Some(Pending), at(400, 0)), Some(Compliant));
    assert_eq!(open(Some(Other), Some(Failed), None), Some(Compliant));
    assert_eq!(open(Some(Critical), Some(Failed), None), Some(NonCompliant));
    assert_eq!(open(Some(Critical), Some(Closed), at(400, 0)), Some(Compliant));
    assert_eq!(open(Some(Critical), Some(Pending), None), None, "since when is not known");
    assert_eq!(open(Some(Critical), None, at(1, 0)), None);
    assert_eq!(open(None, Some(Pending), at(1, 0)), None);
    let software = |severity, since| {
        one(Fact::SoftwarePatches, |it| {
            let patch = Patch { severity: Some(severity), status: Some(Pending), since };
            let installed = Some(Last::At(days_ago(1)));
            it.software_patches = Patching { state: None, open: Some(vec![patch]), installed };
        })
    };
    assert_eq!(software(Critical, at(30, 0)), Some(Compliant));
    assert_eq!(software(Critical, at(30, 1)), Some(NonCompliant));
    assert_eq!(software(Important, at(99, 0)), Some(Compliant), "only critical ones count");
}

#[test]
fn a_restart_may_be_pending_for_7_days() {
    let reboot =
        |needs, boot| one(Fact::Reboot, |it| (it.needs_reboot, it.last_boot) = (needs, boot));
    assert_eq!(reboot(Some(false), None), Some(Compliant));
    assert_eq!(reboot(Some(true), Some(days_ago(7))), Some(Compliant));
    assert_eq!(reboot(Some(true), Some(days_ago(7).plus_s(-1))), Some(NonCompliant));
    assert_eq!(reboot(Some(true), None), None);
    assert_eq!(reboot(None, Some(days_ago(99))), None);
}

#[test]
fn phones_must_not_be_jailbroken() {
    let phone = |flag| {
        one(Fact::Jailbreak, |it| {
            (it.kind, it.jailbroken) = (Some(AssetType::Mobile), flag);
        })
    };
    assert_eq!(phone(Some(false)), Some(Compliant));
    assert_eq!(phone(Some(true)), Some(NonCompliant));
    assert_eq!(phone(None), None);
}

#[test]
fn servers_need_a_backup_of_the_last_48_hours() {
    let backup = |kind, last| one(Fact::Backup, |it| (it.kind, it.backup) = (Some(kind), last));
    let server = |last| backup(AssetType::Server, last);
    assert_eq!(server(Some(Last::At(days_ago(2)))), Some(Compliant));
    assert_eq!(server(Some(Last::At(days_ago(2).plus_s(-1)))), Some(NonCompliant));
    assert_eq!(server(Some(Last::Never)), Some(NonCompliant));
    assert_eq!(server(None), None);
    assert_eq!(backup(AssetType::Workstation, Some(Last::Never)), Some(NotApplicable));
}
