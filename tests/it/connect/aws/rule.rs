//! What an AWS account comes to.

use posture::clock::Time;
use posture::connect::aws::{
    AccessKey, Account, Bucket, Database, IngressRule, LastUse, PublicAccess, Region,
    SecurityGroup, Summary, Trail, User, judge,
};
use posture::connect::reading::Judged;
use posture::connect::reading::JudgedStatus::{self, Compliant, NonCompliant, Partial};

const ALL_ON: PublicAccess = PublicAccess {
    block_acls: true,
    ignore_acls: true,
    block_policy: true,
    restrict_buckets: true,
};

fn at() -> Time {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn days_ago(n: i64) -> Time {
    at().plus_days(-n)
}

fn key(made: i64, last_used: LastUse) -> AccessKey {
    AccessKey { is_active: Some(true), made_at: Some(days_ago(made)), last_used }
}

fn user(name: &str) -> User {
    User {
        name: name.to_owned(),
        arn: format!("arn:{name}"),
        has_password: Some(true),
        has_mfa: Some(true),
        keys: vec![key(30, LastUse::At(days_ago(1)))],
    }
}

fn group(rules: Vec<IngressRule>) -> SecurityGroup {
    SecurityGroup { id: "sg-1".to_owned(), name: "web".to_owned(), rules }
}

fn rule(protocol: &str, ports: Option<(i32, i32)>, range: &str) -> IngressRule {
    IngressRule { protocol: protocol.to_owned(), ports, ranges: vec![range.to_owned()] }
}

fn region(name: &str) -> Region {
    let database = Database {
        arn: format!("arn:db:{name}"),
        name: "shop".to_owned(),
        is_public: Some(false),
        is_encrypted: Some(true),
    };
    Region {
        name: name.to_owned(),
        detectors: Some(vec![Some(true)]),
        security_groups: Some(vec![group(vec![rule("tcp", Some((443, 443)), "0.0.0.0/0")])]),
        databases: Some(vec![database]),
        encrypts_volumes: Some(true),
    }
}

/// A region that nobody uses.
fn idle(name: &str) -> Region {
    let default =
        SecurityGroup { id: "sg-0".to_owned(), name: "default".to_owned(), rules: vec![] };
    Region {
        name: name.to_owned(),
        detectors: Some(vec![]),
        security_groups: Some(vec![default]),
        databases: Some(vec![]),
        encrypts_volumes: Some(false),
    }
}

fn good() -> Account {
    let root = User { has_password: None, keys: vec![], ..user("<root_account>") };
    Account {
        summary: Some(Summary { has_mfa: Some(true), n_access_keys: Some(0) }),
        users: Some(vec![root, user("ann")]),
        public_access: Some(ALL_ON),
        buckets: Some(vec![]),
        trails: Some(vec![trail(Some(true), Some(true))]),
        regions: Some(vec![region("eu-west-1"), idle("us-east-1")]),
    }
}

fn trail(is_multi_region: Option<bool>, is_logging: Option<bool>) -> Trail {
    let [name, arn] = ["all", "arn:all"].map(str::to_owned);
    Trail { name, arn, is_multi_region, is_validated: Some(true), is_logging }
}

fn find(account: &Account, check: &str) -> Option<Judged> {
    judge(account, at()).into_iter().find(|it| it.check == check)
}

fn status(check: &str, change: impl FnOnce(&mut Account)) -> Option<JudgedStatus> {
    let mut account = good();
    change(&mut account);
    find(&account, check).map(|it| it.status)
}

const CHECKS: [(&str, &str); 11] = [
    ("CLD-01", "root_mfa"),
    ("CLD-02", "root_access_keys"),
    ("CLD-03", "console_mfa"),
    ("CLD-04", "access_keys"),
    ("CLD-05", "public_storage"),
    ("CLD-06", "trail"),
    ("CLD-07", "guardduty"),
    ("CLD-10", "admin_ports"),
    ("CLD-12", "volume_encryption"),
    ("CLD-24", "private_databases"),
    ("CLD-25", "encrypted_databases"),
];

/// Those that look at less than their control asks for.
const AT_MOST_PARTIAL: [&str; 5] = [
    "public_storage",
    "guardduty",
    "volume_encryption",
    "private_databases",
    "encrypted_databases",
];

#[test]
fn an_account_where_all_is_well_passes_every_check() {
    let all = judge(&good(), at());
    let checks: Vec<_> = all.iter().map(|it| (it.control, it.check.as_str())).collect();
    assert_eq!(checks, CHECKS);
    for it in all {
        let expected =
            if AT_MOST_PARTIAL.contains(&it.check.as_str()) { Partial } else { Compliant };
        assert_eq!(it.status, expected, "{}: {}", it.check, it.findings);
        let is_partial = expected == Partial;
        assert_eq!(is_partial, it.findings.contains(" not read."), "{}: {}", it.check, it.findings);
    }
    assert_eq!(judge(&Account::default(), at()), []);
}

#[test]
fn a_check_without_one_of_its_lists_says_nothing() {
    let said = |change: fn(&mut Account)| {
        let mut account = good();
        change(&mut account);
        let all = judge(&account, at());
        let lost = CHECKS.iter().filter(|it| !all.iter().any(|judged| judged.check == it.1));
        lost.map(|it| it.1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(said(|it| it.summary = None), "root_mfa root_access_keys");
    assert_eq!(said(|it| it.users = None), "console_mfa access_keys");
    assert_eq!(said(|it| it.public_access = None), "public_storage");
    assert_eq!(said(|it| it.buckets = None), "", "all is blocked whatever they are");
    assert_eq!(said(|it| it.trails = None), "trail");
    let regional = "guardduty admin_ports volume_encryption private_databases encrypted_databases";
    assert_eq!(said(|it| it.regions = None), regional);
    // What one region lacks is unknown of the account.
    let first =
        |it: &mut Account, change: fn(&mut Region)| change(&mut it.regions.as_mut().unwrap()[0]);
    assert_eq!(said(|it| it.regions.as_mut().unwrap()[0].detectors = None), "guardduty");
    assert_eq!(
        said(|it| it.regions.as_mut().unwrap()[0].encrypts_volumes = None),
        "volume_encryption"
    );
    assert_eq!(
        said(|it| it.regions.as_mut().unwrap()[1].security_groups = None),
        "guardduty admin_ports volume_encryption"
    );
    let mut account = good();
    first(&mut account, |it| it.databases = None);
    assert_eq!(find(&account, "private_databases"), None);
    assert_eq!(find(&account, "guardduty"), None, "whether the region is in use is unknown");
}

#[test]
fn the_root_user_needs_mfa_and_no_keys() {
    let summary = |has_mfa, n_access_keys| {
        move |it: &mut Account| it.summary = Some(Summary { has_mfa, n_access_keys })
    };
    assert_eq!(status("root_mfa", summary(Some(false), Some(0))), Some(NonCompliant));
    assert_eq!(status("root_mfa", summary(None, Some(0))), None);
    assert_eq!(status("root_access_keys", summary(Some(true), Some(1))), Some(NonCompliant));
    assert_eq!(status("root_access_keys", summary(Some(true), None)), None);
}

#[test]
fn users_of_the_console_need_mfa() {
    let with = |user: User| move |it: &mut Account| it.users.as_mut().unwrap().push(user);
    let bob = || User { has_mfa: Some(false), ..user("bob") };
    assert_eq!(status("console_mfa", with(bob())), Some(NonCompliant));
    assert_eq!(
        status("console_mfa", with(User { has_password: Some(false), ..bob() })),
        Some(Compliant)
    );
    assert_eq!(status("console_mfa", with(User { has_password: None, ..bob() })), Some(Partial));
    assert_eq!(status("console_mfa", with(User { has_mfa: None, ..bob() })), Some(Partial));
    let mut account = good();
    with(bob())(&mut account);
    assert_eq!(find(&account, "console_mfa").unwrap().count.unwrap().failing, ["arn:bob"]);
}

#[test]
fn keys_are_young_and_used_or_disabled() {
    for (key, expected) in [
        (key(90, LastUse::At(days_ago(1))), Compliant),
        (key(91, LastUse::At(days_ago(1))), NonCompliant),
        (key(60, LastUse::At(days_ago(45))), Compliant),
        (key(60, LastUse::At(days_ago(46))), NonCompliant),
        (key(45, LastUse::Never), Compliant),
        (key(46, LastUse::Never), NonCompliant),
        (key(46, LastUse::Unknown), Partial),
        (key(91, LastUse::Unknown), NonCompliant),
        (AccessKey { is_active: Some(false), ..key(900, LastUse::Never) }, Compliant),
        (AccessKey { is_active: None, ..key(900, LastUse::Never) }, Partial),
        (AccessKey { made_at: None, ..key(1, LastUse::Never) }, Partial),
    ] {
        let bob = User { keys: vec![key], ..user("bob") };
        let found = status("access_keys", |it| it.users.as_mut().unwrap().push(bob));
        assert_eq!(found, Some(expected), "{key:?}");
    }
}

#[test]
fn storage_is_blocked_for_the_account_or_each_bucket() {
    let off = PublicAccess { block_policy: false, ..ALL_ON };
    let open = PublicAccess::default();
    let bucket = |public_access, is_policy_public| Bucket {
        name: "b".to_owned(),
        public_access,
        is_policy_public,
    };
    for (buckets, expected) in [
        (vec![], Some(Partial)),
        (vec![bucket(Some(ALL_ON), Some(false))], Some(Partial)),
        (vec![bucket(Some(open), Some(true))], Some(NonCompliant)),
        (vec![bucket(Some(off), Some(true))], None),
        // Access control lists are not read.
        (vec![bucket(Some(open), Some(false))], None),
        (vec![bucket(Some(ALL_ON), None), bucket(Some(open), Some(false))], Some(Partial)),
        (vec![bucket(None, Some(true))], None),
    ] {
        let found = status("public_storage", |it| {
            it.public_access = Some(off);
            it.buckets = Some(buckets.clone());
        });
        assert_eq!(found, expected, "{buckets:?}");
    }
    assert_eq!(
        status("public_storage", |it| (it.public_access, it.buckets) = (Some(off), None)),
        None
    );
}

#[test]
fn a_trail_records_all_regions() {
    let unvalidated = Trail { is_validated: Some(false), ..trail(Some(true), Some(true)) };
    for (trails, expected) in [
        (vec![], Some(NonCompliant)),
        (vec![trail(Some(true), Some(false))], Some(NonCompliant)),
        (vec![trail(Some(false), Some(true))], Some(Partial)),
        (vec![unvalidated.clone()], Some(Partial)),
        (vec![unvalidated, trail(Some(true), Some(true))], Some(Compliant)),
        (vec![trail(Some(true), None)], None),
        (vec![trail(None, Some(true))], None),
        (vec![trail(Some(false), None)], None),
    ] {
        assert_eq!(status("trail", |it| it.trails = Some(trails.clone())), expected, "{trails:?}");
    }
}

#[test]
fn regions_in_use_are_watched_and_encrypted() {
    let with = |detectors| {
        move |it: &mut Account| it.regions.as_mut().unwrap()[0].detectors = Some(detectors)
    };
    assert_eq!(status("guardduty", with(vec![])), Some(NonCompliant));
    assert_eq!(status("guardduty", with(vec![Some(false)])), Some(NonCompliant));
    assert_eq!(status("guardduty", with(vec![None])), None);
    assert_eq!(status("guardduty", with(vec![None, Some(true)])), Some(Partial));
    let plain = |it: &mut Account| it.regions.as_mut().unwrap()[0].encrypts_volumes = Some(false);
    assert_eq!(status("volume_encryption", plain), Some(NonCompliant));
    let unread = |it: &mut Account| it.regions.as_mut().unwrap()[0].encrypts_volumes = None;
    assert_eq!(status("volume_encryption", unread), None, "a region that was not read");
    let idle = |it: &mut Account| it.regions = Some(vec![idle("us-east-1")]);
    assert_eq!(status("guardduty", idle), None);
}

#[test]
fn ports_for_administration_are_closed_to_the_internet() {
    for (rule, is_open) in [
        (rule("tcp", Some((22, 22)), "0.0.0.0/0"), true),
        (rule("tcp", Some((22, 22)), "::/0"), true),
        (rule("tcp", Some((22, 22)), "192.0.2.0/24"), false),
        (rule("tcp", Some((23, 3388)), "0.0.0.0/0"), false),
        (rule("6", Some((0, 65_535)), "0.0.0.0/0"), true),
        (rule("udp", Some((3389, 3389)), "0.0.0.0/0"), true),
        (rule("tcp", Some((5985, 5986)), "0.0.0.0/0"), true),
        (rule("-1", None, "0.0.0.0/0"), true),
        (rule("tcp", None, "0.0.0.0/0"), true),
        (rule("icmp", Some((-1, -1)), "0.0.0.0/0"), false),
        (rule("tcp", Some((443, 443)), "0.0.0.0/0"), false),
    ] {
        let expected = if is_open { NonCompliant } else { Compliant };
        let groups = vec![group(vec![rule.clone()])];
        let found = status("admin_ports", |it| {
            it.regions.as_mut().unwrap()[1].security_groups = Some(groups);
        });
        assert_eq!(found, Some(expected), "{rule:?}");
    }
}

#[test]
fn databases_are_private_and_encrypted() {
    let first = |change: fn(&mut Database)| {
        move |it: &mut Account| {
            change(&mut it.regions.as_mut().unwrap()[0].databases.as_mut().unwrap()[0]);
        }
    };
    assert_eq!(
        status("private_databases", first(|it| it.is_public = Some(true))),
        Some(NonCompliant)
    );
    assert_eq!(status("private_databases", first(|it| it.is_public = None)), None);
    assert_eq!(
        status("encrypted_databases", first(|it| it.is_encrypted = Some(false))),
        Some(NonCompliant)
    );
    assert_eq!(status("encrypted_databases", first(|it| it.is_encrypted = None)), None);
}
