//! The rules one by one, on domains made by hand.

use posture::connect::ad::{
    Account, AccountFlags, AccountKind, Computer, Directory, DirectoryGroup, DomainPolicy,
    PasswordRules, PasswordSettings, judge,
};
use posture::connect::reading::{Judged, JudgedStatus};
use posture::engine::identity::LastSignIn;
use proptest::prelude::*;

use super::domain::now;
use super::find;

fn dn(name: &str) -> String {
    format!("CN={name},DC=acme,DC=test")
}

fn account(name: &str) -> Account {
    Account {
        id: format!("id-{name}"),
        dn: dn(name),
        kind: AccountKind::User,
        user: name.to_owned(),
        short_name: name.to_owned(),
        display_name: None,
        rid: 1_000,
        primary_group_rid: 513,
        flags: AccountFlags(512),
        created_at: None,
        expires_at: None,
        password_set_at: Some(now().plus_days(-10)),
        last_sign_in: LastSignIn::At(now().plus_days(-1)),
        is_service: false,
    }
}

fn group(name: &str, rid: &str, members: &[&str]) -> DirectoryGroup {
    DirectoryGroup {
        dn: dn(name),
        name: name.to_owned(),
        sid: format!("S-1-5-21-1-2-3-{rid}"),
        is_security: true,
        members: members.iter().map(|it| dn(it)).collect(),
    }
}

fn computer(name: &str, flags: u32) -> Computer {
    Computer {
        id: format!("id-{name}"),
        dn: dn(name),
        name: name.to_owned(),
        host: None,
        os: None,
        os_version: None,
        flags: AccountFlags(flags),
        created_at: None,
        last_seen: LastSignIn::Unknown,
        seen_at: None,
    }
}

fn rules(length_min: i64, n_remembered: i64, n_wrong_max: i64) -> PasswordRules {
    PasswordRules { length_min, n_remembered, is_reversible: false, n_wrong_max }
}

/// Nothing is wrong with it.
fn good() -> Directory {
    Directory {
        domain: "acme.test".to_owned(),
        users: Some(vec![account("anna"), account("bob"), account("carl")]),
        groups: Some(vec![group("Domain Admins", "512", &["anna", "bob"])]),
        computers: Some(vec![computer("DC1", 0x82000), computer("PC1", 0x1000)]),
        policy: Some(DomainPolicy { rules: rules(14, 24, 5), n_computers_to_add: Some(0) }),
        password_settings: Some(Vec::new()),
        streams: Vec::new(),
    }
}

fn judged(directory: &Directory) -> Vec<Judged> {
    judge(directory, now()).into_iter().flat_map(|it| it.observations).collect()
}

/// What is said of the good domain with a change.
fn with(change: impl FnOnce(&mut Directory)) -> Vec<Judged> {
    let mut directory = good();
    change(&mut directory);
    judged(&directory)
}

fn of<'a>(all: &'a [Judged], check: &str) -> Option<&'a Judged> {
    all.iter().find(|it| it.check == check)
}

/// The names that fail, at the beginning of the findings.
fn first_line(judged: &Judged) -> &str {
    judged.findings.lines().next().unwrap()
}

#[test]
fn a_good_domain_is_judged_where_that_shows_something() {
    let all = judged(&good());
    let said: Vec<_> = all.iter().map(|it| (it.control, it.check.as_str(), it.status)).collect();
    let expected = [
        ("ID-07", "domain_administrators", JudgedStatus::Compliant),
        ("ID-15", "password_policy", JudgedStatus::Partial),
        ("ID-25", "account_lockout", JudgedStatus::Compliant),
    ];
    assert_eq!(said, expected, "that weaknesses are absent shows nothing");
    assert!(of(&all, "password_policy").unwrap().findings.contains("does not tell whether common"));
    assert_eq!(
        of(&all, "account_lockout").unwrap().findings,
        "Accounts are locked after at most 5 wrong passwords."
    );
}

#[test]
fn administrators_are_two_to_four_enabled_accounts() {
    let names = ["a", "b", "c", "d", "e", "f"];
    for (n, status) in [
        (0, JudgedStatus::NonCompliant),
        (1, JudgedStatus::NonCompliant),
        (2, JudgedStatus::Compliant),
        (4, JudgedStatus::Compliant),
        (5, JudgedStatus::NonCompliant),
    ] {
        let all = with(|it| {
            it.users = Some(names.map(account).to_vec());
            it.groups = Some(vec![group("Domain Admins", "512", &names[..n])]);
        });
        let found = of(&all, "domain_administrators").unwrap();
        assert_eq!(found.status, status, "{n}: {found:?}");
        let accounts = if n == 1 {
            "1 enabled account is".to_owned()
        } else {
            format!("{n} enabled accounts are")
        };
        assert!(found.findings.contains(&accounts), "{found:?}");
        assert_eq!(found.findings.contains("two to four"), 4 < n);
        assert_eq!(found.findings.contains("second one for emergencies"), n < 2);
    }
    let all = with(|it| {
        let mut users = names.map(account);
        users[2].flags = AccountFlags(514);
        users[3].expires_at = Some(now());
        users[4].kind = AccountKind::ManagedService;
        it.users = Some(users.to_vec());
        it.groups = Some(vec![group("Domain Admins", "512", &names)]);
    });
    let found = of(&all, "domain_administrators").unwrap();
    assert!(found.findings.starts_with("a, b, e, f\n4 enabled accounts"), "{found:?}");
}

#[test]
fn members_of_members_count_and_circles_end() {
    let all = with(|it| {
        it.users = Some(["a", "b", "c", "d", "e"].map(account).to_vec());
        let mut administrators = group("Administrators", "0", &["Domain Admins", "a"]);
        administrators.sid = "S-1-5-32-544".to_owned();
        let mut letters = group("Letters", "1300", &["e"]);
        letters.is_security = false;
        it.groups = Some(vec![
            administrators,
            group("Domain Admins", "512", &["Inner", "Letters"]),
            group("Inner", "1200", &["Domain Admins", "b", "Inner", "Deep"]),
            group("Deep", "1201", &["c", "INNER"]),
            letters,
        ]);
    });
    let found = of(&all, "domain_administrators").unwrap();
    assert_eq!(first_line(found), "a, b, c", "a distribution group gives no rights");
}

#[test]
fn members_by_their_primary_group_count() {
    let all = with(|it| {
        let mut users = ["a", "b", "c"].map(account);
        users[1].primary_group_rid = 512;
        it.users = Some(users.to_vec());
        it.groups = Some(vec![group("Domain Admins", "512", &["a"])]);
    });
    assert_eq!(first_line(of(&all, "domain_administrators").unwrap()), "a, b");
    let all = with(|it| {
        let inner = group("Domain Users", "513", &[]);
        it.groups = Some(vec![group("Domain Admins", "512", &["Domain Users"]), inner]);
    });
    assert_eq!(first_line(of(&all, "domain_administrators").unwrap()), "anna, bob, carl");
}

#[test]
fn members_that_cannot_be_read_leave_the_number_open() {
    for member in ["S-1-5-21-9-9-9-500", "PC1"] {
        let mut directory = good();
        directory.groups = Some(vec![group("Domain Admins", "512", &["anna", "bob", member])]);
        if member == "PC1" {
            assert!(of(&judged(&directory), "domain_administrators").is_some(), "it is a computer");
            directory.computers = None;
        }
        let groups = judge(&directory, now());
        assert!(find(&groups, "domain_administrators").is_none(), "{member}");
        let note = groups[0].notes.iter().find(|it| it.0 == "administrators").unwrap();
        assert!(note.1.contains(&dn(member).to_lowercase()), "{note:?}");
        assert!(groups[0].accounts.is_some());
    }
}

#[test]
fn passwords_are_long_and_not_used_again() {
    let check = |domain: PasswordRules, settings: &[(&str, PasswordRules, bool)]| {
        let settings = settings.iter().map(|(name, rules, is_assigned)| PasswordSettings {
            name: (*name).to_owned(),
            rules: rules.clone(),
            is_assigned: *is_assigned,
        });
        let all = with(|it| {
            it.policy = Some(DomainPolicy { rules: domain, n_computers_to_add: None });
            it.password_settings = Some(settings.collect());
        });
        let found = of(&all, "password_policy").unwrap();
        (found.status, first_line(found).to_owned())
    };
    assert_eq!(check(rules(12, 1, 5), &[]).0, JudgedStatus::Partial);
    let weak = |line: &str| (JudgedStatus::NonCompliant, line.to_owned());
    assert_eq!(check(rules(11, 24, 5), &[]), weak("domain policy: minimum length 11"));
    let reused = "domain policy: old passwords can be used again";
    assert_eq!(check(rules(12, 0, 5), &[]), weak(reused));
    let both = "domain policy: minimum length 0 and old passwords can be used again, policy Old: minimum length 8";
    assert_eq!(check(rules(0, 0, 5), &[("Old", rules(8, 1, 5), true)]), weak(both));
    let unused = ("Unused", rules(1, 0, 0), false);
    assert_eq!(check(rules(14, 24, 5), std::slice::from_ref(&unused)).0, JudgedStatus::Partial);
    let used = ("Used", rules(1, 24, 0), true);
    assert_eq!(check(rules(14, 24, 5), &[unused, used]), weak("policy Used: minimum length 1"));
}

#[test]
fn accounts_lock_after_ten_wrong_passwords_at_most() {
    for (n_wrong_max, status, why) in [
        (0, JudgedStatus::NonCompliant, "domain policy: wrong passwords never lock an account"),
        (1, JudgedStatus::Compliant, "Accounts are locked after at most 1 wrong passwords."),
        (10, JudgedStatus::Compliant, "Accounts are locked after at most 10 wrong passwords."),
        (11, JudgedStatus::NonCompliant, "domain policy: locks after 11 wrong passwords"),
        (-1, JudgedStatus::NonCompliant, "domain policy: wrong passwords never lock an account"),
    ] {
        let all = with(|it| it.policy.as_mut().unwrap().rules.n_wrong_max = n_wrong_max);
        let found = of(&all, "account_lockout").unwrap();
        assert_eq!((found.status, first_line(found)), (status, why));
    }
    let all = with(|it| {
        it.password_settings = Some(vec![PasswordSettings {
            name: "Kiosk".to_owned(),
            rules: rules(14, 24, 0),
            is_assigned: true,
        }]);
    });
    let found = of(&all, "account_lockout").unwrap();
    assert_eq!(first_line(found), "policy Kiosk: wrong passwords never lock an account");
}

#[test]
fn weak_accounts_are_named_if_they_are_enabled() {
    for (bit, control, check) in [
        (0x20, "ID-15", "password_not_required"),
        (0x40_0000, "ID-35", "kerberos_preauthentication"),
        (0x80, "ID-35", "reversible_passwords"),
        (0x8_0000, "ID-35", "unconstrained_delegation_accounts"),
    ] {
        let all = with(|it| {
            let users = it.users.as_mut().unwrap();
            users[0].flags = AccountFlags(0x200 | bit);
            users[1].flags = AccountFlags(0x202 | bit);
        });
        let found = of(&all, check).unwrap_or_else(|| panic!("{check}"));
        assert_eq!((found.control, found.status), (control, JudgedStatus::NonCompliant));
        assert_eq!(first_line(found), "anna");
        let count = found.count.as_ref().unwrap();
        assert_eq!((count.n_passed, &count.failing[..]), (1, &["id-anna".to_owned()][..]));
        assert!(found.findings.contains("1 of 2 fail."), "{found:?}");
        assert_eq!(all.len(), 4, "nothing else is said: {all:?}");
    }
}

#[test]
fn services_of_people_change_their_passwords_every_year() {
    let service = |days: Option<i64>| {
        let all = with(|it| {
            let anna = &mut it.users.as_mut().unwrap()[2];
            anna.is_service = true;
            anna.password_set_at = days.map(|it| now().plus_days(-it));
        });
        of(&all, "service_account_passwords").cloned()
    };
    assert_eq!((service(Some(365)), service(None)), (None, None));
    let found = service(Some(366)).unwrap();
    assert_eq!((found.control, first_line(&found)), ("ID-28", "carl"));
    let all = with(|it| {
        let anna = &mut it.users.as_mut().unwrap()[2];
        (anna.is_service, anna.kind) = (true, AccountKind::ManagedService);
        anna.password_set_at = Some(now().plus_days(-999));
    });
    assert!(of(&all, "service_account_passwords").is_none(), "the domain changes it");
}

#[test]
fn the_password_of_krbtgt_is_changed_twice_a_year() {
    let krbtgt = |days: Option<i64>| {
        let all = with(|it| {
            let mut krbtgt = account("krbtgt");
            (krbtgt.rid, krbtgt.flags) = (502, AccountFlags(514));
            krbtgt.password_set_at = days.map(|it| now().plus_days(-it));
            it.users.as_mut().unwrap().push(krbtgt);
        });
        of(&all, "krbtgt_password").cloned()
    };
    assert_eq!((krbtgt(Some(180)), krbtgt(None)), (None, None));
    let found = krbtgt(Some(181)).unwrap();
    assert_eq!((found.control, found.status), ("ID-35", JudgedStatus::NonCompliant));
    assert!(found.findings.contains("181 days old"), "{found:?}");
}

#[test]
fn administrators_run_no_services() {
    let all = with(|it| {
        let users = it.users.as_mut().unwrap();
        (users[0].is_service, users[2].is_service) = (true, true);
    });
    let found = of(&all, "administrators_with_service_names").unwrap();
    assert_eq!((found.control, first_line(found)), ("ID-35", "anna"));
    let all = with(|it| {
        it.users.as_mut().unwrap()[0].is_service = true;
        it.groups = None;
    });
    assert!(of(&all, "administrators_with_service_names").is_none());
}

#[test]
fn computers_other_than_domain_controllers_do_not_delegate_without_limit() {
    let all = with(|it| {
        it.computers = Some(vec![
            computer("DC1", 0x8_2000),
            computer("RODC", 0x408_1000),
            computer("WEB", 0x8_1000),
            computer("OLD", 0x8_1002),
            computer("PC", 0x1000),
        ]);
    });
    let found = of(&all, "unconstrained_delegation_computers").unwrap();
    assert_eq!((found.control, first_line(found)), ("ID-35", "WEB"));
    assert_eq!(found.count.as_ref().unwrap().failing, ["id-WEB"]);
}

#[test]
fn the_domain_lets_nobody_add_computers_and_stores_no_readable_passwords() {
    let quota = |n: Option<i64>| {
        let all = with(|it| it.policy.as_mut().unwrap().n_computers_to_add = n);
        of(&all, "machine_account_quota").cloned()
    };
    assert_eq!((quota(Some(0)), quota(None)), (None, None));
    let found = quota(Some(10)).unwrap();
    assert_eq!((found.control, found.status), ("ID-35", JudgedStatus::NonCompliant));
    assert!(found.findings.contains("add 10 computers"), "{found:?}");
    let all = with(|it| it.policy.as_mut().unwrap().rules.is_reversible = true);
    assert_eq!(of(&all, "reversible_password_policy").unwrap().control, "ID-35");
}

/// Everything that can be wrong with a domain at once, and what was not read of it.
fn bad(read: [bool; 5]) -> Directory {
    let mut directory = good();
    let users = directory.users.as_mut().unwrap();
    users[0].flags = AccountFlags(0x200 | 0x20 | 0x80 | 0x40_0000 | 0x8_0000);
    (users[0].is_service, users[0].password_set_at) = (true, Some(now().plus_days(-999)));
    users[1].rid = 502;
    users[1].password_set_at = Some(now().plus_days(-999));
    directory.groups = Some(vec![group("Domain Admins", "512", &["anna"])]);
    directory.computers = Some(vec![computer("WEB", 0x8_1000)]);
    let weak = PasswordRules { is_reversible: true, ..rules(7, 0, 0) };
    directory.policy = Some(DomainPolicy { rules: weak, n_computers_to_add: Some(10) });
    let [users, groups, computers, policy, settings] = read;
    directory.users = directory.users.filter(|_| users);
    directory.groups = directory.groups.filter(|_| groups);
    directory.computers = directory.computers.filter(|_| computers);
    directory.policy = directory.policy.filter(|_| policy);
    directory.password_settings = directory.password_settings.filter(|_| settings);
    directory
}

#[test]
fn each_rule_fails_somewhere_and_names_what_to_do() {
    let all = judged(&bad([true; 5]));
    let mut checks: Vec<&str> = all.iter().map(|it| it.check.as_str()).collect();
    checks.sort_unstable();
    let expected = [
        "account_lockout",
        "administrators_with_service_names",
        "domain_administrators",
        "kerberos_preauthentication",
        "krbtgt_password",
        "machine_account_quota",
        "password_not_required",
        "password_policy",
        "reversible_password_policy",
        "reversible_passwords",
        "service_account_passwords",
        "unconstrained_delegation_accounts",
        "unconstrained_delegation_computers",
    ];
    assert_eq!(checks, expected);
    for it in &all {
        assert_eq!(it.status, JudgedStatus::NonCompliant, "{it:?}");
        assert!(it.findings.ends_with('.') && it.findings.len() < 1_000, "{it:?}");
        assert!(!it.findings.contains(['—', '–']) && !it.findings.contains("  "), "{it:?}");
    }
}

proptest! {
    /// The law of reading less: no verdict appears, and none looks better.
    #[test]
    fn reading_less_never_looks_greener(
        read in any::<[bool; 5]>(),
        lengths in prop::array::uniform2(0_i64..20),
        is_bad in any::<bool>(),
    ) {
        let mut whole = if is_bad { bad([true; 5]) } else { good() };
        whole.policy.as_mut().unwrap().rules.length_min = lengths[0];
        whole.password_settings.as_mut().unwrap().push(PasswordSettings {
            name: "Some".to_owned(),
            rules: rules(lengths[1], 24, lengths[1]),
            is_assigned: true,
        });
        let mut part = whole.clone();
        let [users, groups, computers, policy, settings] = read;
        part.users = part.users.filter(|_| users);
        part.groups = part.groups.filter(|_| groups);
        part.computers = part.computers.filter(|_| computers);
        part.policy = part.policy.filter(|_| policy);
        part.password_settings = part.password_settings.filter(|_| settings);
        let all = judged(&whole);
        for it in judged(&part) {
            let before = of(&all, &it.check).map(|it| it.status);
            prop_assert_eq!(before, Some(it.status), "{:?}", it);
        }
        let accounts = judge(&part, now())[0].accounts.is_some();
        prop_assert_eq!(accounts, users && groups);
    }
}
