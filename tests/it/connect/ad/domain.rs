//! A whole domain on the scripted server: what is read of it, and what is made of less.

use posture::clock::Time;
use posture::connect::ad::{AccountKind, Directory, judge};
use posture::connect::reading::StreamState;
use posture::engine::identity::LastSignIn;

use super::server::{Asked, BASE, BIND, Row, Server, bound, done, page, reference};
use super::{LONG, config, find, read_within, states, stream};
use crate::harness::process::wait_until;

/// 2026-11-23T00:00:00Z in ticks of 100 ns since 1601.
const NOW_TICKS: i64 = 134_398_656_000_000_000;
const DAY_TICKS: i64 = 864_000_000_000;

pub fn now() -> Time {
    "2026-11-23T00:00:00Z".parse().unwrap()
}

fn domain_sid() -> Vec<u8> {
    let parts = [21_u32, 1_744_501_890, 1_492_746_933, 1_133_689_913];
    let mut bytes = vec![1, 4, 0, 0, 0, 0, 0, 5];
    bytes.extend(parts.iter().flat_map(|it| it.to_le_bytes()));
    bytes
}

fn sid(rid: u32) -> Vec<u8> {
    let mut bytes = [domain_sid(), rid.to_le_bytes().to_vec()].concat();
    bytes[1] += 1;
    bytes
}

pub fn user(name: &str, rid: u32) -> Row {
    let mut guid = [0x11; 16];
    guid[..4].copy_from_slice(&rid.to_le_bytes());
    Row::new(&format!("CN={name},CN=Users,{BASE}"))
        .with_all("objectClass", ["top", "person", "user"].map(|it| it.as_bytes().to_vec()))
        .with("objectGUID", guid)
        .with("objectSid", sid(rid))
        .with("sAMAccountName", name)
        .with("userAccountControl", "512")
        .with("primaryGroupID", "513")
        .with("accountExpires", i64::MAX.to_string())
        .with("lastLogon", "0")
        .with("pwdLastSet", (NOW_TICKS - 10 * DAY_TICKS).to_string())
        .with("whenCreated", "20250102030405.0Z")
}

pub(super) fn computer(name: &str, flags: u32) -> Row {
    let mut guid = [0x22; 16];
    guid[..name.len().min(16)].copy_from_slice(&name.as_bytes()[..name.len().min(16)]);
    Row::new(&format!("CN={name},CN=Computers,{BASE}"))
        .with("objectGUID", guid)
        .with("sAMAccountName", format!("{name}$"))
        .with("dNSHostName", format!("{name}.ACME.test"))
        .with("operatingSystem", "Windows Server 2019 Standard")
        .with("operatingSystemVersion", "10.0 (17763)")
        .with("userAccountControl", flags.to_string())
        .with("lastLogonTimestamp", (NOW_TICKS - 40 * DAY_TICKS).to_string())
}

pub(super) fn group(name: &str, sid: Vec<u8>, members: &[&str]) -> Row {
    let members = members.iter().map(|it| it.as_bytes().to_vec());
    Row::new(&format!("CN={name},CN=Users,{BASE}"))
        .with("sAMAccountName", name)
        .with("objectSid", sid)
        .with("groupType", "-2147483646")
        .with_all("member", members)
}

/// What the server has. Searches are told apart by what they ask for.
#[derive(Clone, Debug)]
pub struct World {
    pub root: Row,
    pub policy: Row,
    pub users: Vec<Row>,
    pub tops: Vec<Row>,
    pub inner: Vec<Row>,
    pub computers: Vec<Row>,
    pub settings: Vec<Row>,
}

impl World {
    pub fn new() -> Self {
        let named = |name: &str| format!("CN={name},CN=Users,{BASE}");
        let administrator = named("Administrator");
        let tops = vec![
            group("Domain Admins", sid(512), &[&administrator, &named("Helpdesk")]),
            group("Schema Admins", sid(518), &[&administrator]),
            group("Enterprise Admins", sid(519), &[&administrator]),
            group(
                "Administrators",
                vec![1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 32, 2, 0, 0],
                &[&administrator, &named("Domain Admins"), &named("Enterprise Admins")],
            ),
        ];
        let anna = user("anna", 1_104)
            .with("userPrincipalName", "anna@acme.test")
            .with("displayName", "Anna Berg")
            .with("lastLogonTimestamp", (NOW_TICKS - 100 * DAY_TICKS).to_string());
        let recent = user("bob", 1_105)
            .with("lastLogonTimestamp", (NOW_TICKS - 3 * DAY_TICKS).to_string())
            .with("lastLogon", (NOW_TICKS - 60 * DAY_TICKS).to_string());
        let classes = ["top", "computer", "msDS-GroupManagedServiceAccount"];
        let managed = user("backup$", 1_106)
            .with_all("objectClass", classes.map(|it| it.as_bytes().to_vec()))
            .with("servicePrincipalName", "backup/srv1");
        Self {
            root: Row::new("")
                .with("defaultNamingContext", BASE)
                .with("rootDomainNamingContext", BASE),
            policy: Row::new(BASE)
                .with("objectSid", domain_sid())
                .with("minPwdLength", "7")
                .with("pwdHistoryLength", "24")
                .with("pwdProperties", "1")
                .with("lockoutThreshold", "0")
                .with("ms-DS-MachineAccountQuota", "10"),
            users: vec![
                user("Administrator", 500),
                user("krbtgt", 502)
                    .with("userAccountControl", "514")
                    .with("servicePrincipalName", "kadmin/changepw")
                    .with("pwdLastSet", (NOW_TICKS - 200 * DAY_TICKS).to_string()),
                anna,
                recent,
                managed,
                user("gone", 1_107).with("accountExpires", (NOW_TICKS - DAY_TICKS).to_string()),
            ],
            tops,
            inner: vec![group("Helpdesk", sid(1_200), &[&named("anna"), &named("Helpdesk")])],
            computers: vec![
                computer("DC1", 532_480),
                computer("SRV1", 4_096),
                computer("OLD", 4_098),
            ],
            settings: vec![
                Row::new("CN=Strict")
                    .with("name", "Strict")
                    .with("msDS-MinimumPasswordLength", "14")
                    .with("msDS-PasswordHistoryLength", "24")
                    .with("msDS-PasswordReversibleEncryptionEnabled", "FALSE")
                    .with("msDS-LockoutThreshold", "5")
                    .with("msDS-PSOAppliesTo", named("Domain Admins")),
            ],
        }
    }

    pub fn answer(&self, asked: &Asked) -> Vec<u8> {
        let id = asked.id;
        if asked.operation == BIND {
            return bound(id, 0, "");
        }
        let rows: Vec<&Row> = if asked.wants("defaultNamingContext") {
            vec![&self.root]
        } else if asked.wants("minPwdLength") {
            vec![&self.policy]
        } else if asked.wants("pwdLastSet") {
            self.users.iter().collect()
        } else if asked.wants("groupType") && asked.filter == 0xa1 {
            self.tops.iter().collect()
        } else if asked.wants("groupType") {
            self.inner.iter().collect()
        } else if asked.wants("operatingSystem") {
            self.computers.iter().collect()
        } else if asked.wants("msDS-MinimumPasswordLength") {
            self.settings.iter().collect()
        } else {
            return done(id, 32);
        };
        let mut bytes: Vec<u8> = rows.iter().flat_map(|it| it.encode(id)).collect();
        if asked.page.is_some() {
            bytes.extend(reference(id));
            bytes.extend(page(id, ""));
        } else {
            bytes.extend(done(id, 0));
        }
        bytes
    }

    pub(super) fn read(self) -> Directory {
        let server = Server::start(move |asked| self.answer(asked));
        read_within(&config(server.address.port(), server.trust()), LONG)
    }
}

#[test]
fn a_domain_is_read_completely() {
    let world = World::new();
    let server = Server::start(move |asked| world.answer(asked));
    let directory = read_within(&config(server.address.port(), server.trust()), LONG);
    for (name, state) in states(&directory) {
        assert_eq!(state, StreamState::Complete, "{name}: {:?}", stream(&directory, name));
    }
    assert_eq!(directory.streams.len(), 5);
    assert_eq!(directory.domain, "acme.test");
    let asked = server.asked();
    assert_eq!((&*asked[0].user, &*asked[0].password), ("reader@acme.test", "secret"));
    let is_gone = || server.asked().last().unwrap().operation == 0x42;
    assert!(wait_until(LONG, is_gone), "it says goodbye");

    let users = directory.users.as_ref().unwrap();
    let anna = users.iter().find(|it| it.short_name == "anna").unwrap();
    assert_eq!(anna.id, "00000450-1111-1111-1111-111111111111", "its first part is turned round");
    assert_eq!((&*anna.user, anna.rid), ("anna@acme.test", 1_104));
    assert_eq!(anna.created_at, Some("2025-01-02T03:04:05Z".parse().unwrap()));
    assert_eq!(anna.expires_at, None);
    assert_eq!(anna.password_set_at, Some("2026-11-13T00:00:00Z".parse().unwrap()));
    assert_eq!(anna.last_sign_in, LastSignIn::At(now().plus_days(-86)), "14 days of lag");
    let administrator = &users[0];
    assert_eq!(
        (&*administrator.user, administrator.last_sign_in),
        ("Administrator", LastSignIn::Never)
    );
    let managed = users.iter().find(|it| it.short_name == "backup$").unwrap();
    assert_eq!((managed.kind, managed.is_service), (AccountKind::ManagedService, true));
    let groups = directory.groups.as_ref().unwrap();
    assert_eq!(groups.len(), 5);
    let admins = groups.iter().find(|it| it.name == "Domain Admins").unwrap();
    assert_eq!(admins.sid, "S-1-5-21-1744501890-1492746933-1133689913-512");
    let computers = directory.computers.as_ref().unwrap();
    let server = &computers[1];
    assert_eq!((&*server.name, server.host.as_deref()), ("SRV1", Some("srv1.acme.test")));
    assert_eq!(server.os.as_deref(), Some("Windows Server 2019 Standard"));
    assert_eq!(server.os_version.as_deref(), Some("10.0 (17763)"));
    assert_eq!(server.last_seen, LastSignIn::At(now().plus_days(-26)));
    assert!(computers[2].flags.is_disabled() && computers[0].flags.is_domain_controller());
    assert_eq!(directory.policy.as_ref().unwrap().rules.length_min, 7);
    assert!(directory.password_settings.as_ref().unwrap()[0].is_assigned);
}

#[test]
fn its_accounts_are_those_of_people_with_their_groups() {
    let groups = judge(&World::new().read(), now());
    let scopes: Vec<&str> = groups.iter().map(|it| it.scope.as_str()).collect();
    assert_eq!(scopes, ["directory", "computers", "policy", "password_settings"]);
    let streams: Vec<usize> = groups.iter().map(|it| it.streams.len()).collect();
    assert_eq!(streams, [2, 1, 1, 1], "each stream is in one group");
    let accounts = groups[0].accounts.as_ref().unwrap();
    assert_eq!(accounts.len(), 5, "a managed service account is none of a person");
    let of = |user: &str| accounts.iter().find(|it| it.user == user).unwrap();
    let anna = of("anna@acme.test");
    assert_eq!(anna.roles, ["Administrators", "Domain Admins"], "through Helpdesk");
    assert!(anna.is_admin && anna.is_enabled && anna.mfa.is_none() && anna.mfa_enforced.is_none());
    assert_eq!(anna.is_dormant(now(), 90), Some(false), "it may have signed in 86 days ago");
    assert_eq!(anna.is_dormant(now(), 80), Some(true));
    let bob = of("bob");
    assert!(!bob.is_admin && bob.roles.is_empty());
    assert_eq!(bob.last_sign_in, LastSignIn::At(now()), "no later than now");
    assert_eq!(of("Administrator").is_dormant(now(), 90), Some(true), "never since it was created");
    assert!(!of("gone").is_enabled, "it has expired");
    assert!(!of("krbtgt").is_enabled);
    assert_eq!(groups[0].notes, [("domain".to_owned(), "acme.test".to_owned())]);
    let admins = find(&groups, "domain_administrators").unwrap();
    assert!(
        admins.findings.starts_with("Administrator, anna@acme.test\n2 enabled accounts"),
        "{admins:?}"
    );
}

/// What is left where the account may not see something.
fn less(change: impl FnOnce(&mut World)) -> Directory {
    let mut world = World::new();
    change(&mut world);
    world.read()
}

fn is_partial(directory: &Directory, name: &str, why: &str) {
    let stream = stream(directory, name);
    assert_eq!(stream.state, StreamState::Partial, "{stream:?}");
    assert!(stream.reason.contains(why), "{stream:?}");
}

#[test]
fn hidden_accounts_and_fields_are_no_complete_list() {
    let hidden = less(|it| it.users.retain(|it| !it.dn.contains("krbtgt")));
    is_partial(&hidden, "users", "krbtgt are not visible");
    let flags = less(|it| it.users[2] = it.users[2].clone().without("userAccountControl"));
    is_partial(&flags, "users", "userAccountControl of 1 of 6 objects is missing");
    let all = |name: &str| {
        let name = name.to_owned();
        less(move |it| it.users = it.users.drain(..).map(|it| it.without(&name)).collect())
    };
    is_partial(&all("pwdLastSet"), "users", "pwdLastSet: it is absent from all 6");
    is_partial(&all("servicePrincipalName"), "users", "servicePrincipalName");
    let sign_ins = less(|it| {
        let users = it.users.drain(..);
        it.users = users.map(|it| it.without("lastLogon").without("lastLogonTimestamp")).collect();
    });
    is_partial(&sign_ins, "users", "lastLogonTimestamp and lastLogon");
    for directory in [hidden, flags, all("pwdLastSet"), sign_ins] {
        assert!(directory.users.is_none());
        let groups = judge(&directory, now());
        assert!(groups[0].accounts.is_none() && groups[0].observations.is_empty(), "{groups:?}");
        assert!(find(&groups, "password_policy").is_some(), "others are not touched");
    }
}

#[test]
fn a_sign_in_that_may_not_be_read_is_unknown() {
    let directory = less(|it| it.users[3] = user("bob", 1_105).without("lastLogon"));
    let bob = directory.users.as_ref().unwrap().iter().find(|it| it.user == "bob").unwrap().clone();
    assert_eq!(bob.last_sign_in, LastSignIn::Unknown);
    let groups = judge(&directory, now());
    let bob =
        groups[0].accounts.as_ref().unwrap().iter().find(|it| it.user == "bob").unwrap().clone();
    assert_eq!(bob.is_dormant(now(), 90), None);
}

#[test]
fn hidden_computers_are_no_complete_list() {
    let hidden = less(|it| drop(it.computers.remove(0)));
    is_partial(&hidden, "computers", "no domain controller is visible");
    let systems = less(|it| {
        it.computers = it.computers.drain(..).map(|it| it.without("operatingSystem")).collect();
    });
    is_partial(&systems, "computers", "operatingSystem");
    assert!(systems.computers.is_none());
}

#[test]
fn hidden_groups_are_no_complete_list() {
    let absent = less(|it| drop(it.tops.remove(1)));
    is_partial(&absent, "groups", "some of the built-in administrator groups");
    let members = less(|it| {
        for row in it.tops.iter_mut().chain(&mut it.inner) {
            *row = row.clone().without("member");
        }
    });
    is_partial(&members, "groups", "may not read the members");
    let no_sid = less(|it| it.policy = it.policy.clone().without("objectSid"));
    is_partial(&no_sid, "groups", "SID of the domain");
    for directory in [absent, members, no_sid] {
        let groups = judge(&directory, now());
        assert!(groups[0].accounts.is_none() && find(&groups, "domain_administrators").is_none());
        assert!(find(&groups, "krbtgt_password").is_some(), "it needs no group");
    }
}

#[test]
fn a_domain_below_another_has_no_groups_of_the_forest() {
    let directory = less(|it| {
        it.root = it.root.clone().with("rootDomainNamingContext", "DC=test");
        it.tops.retain(|it| it.dn.contains("Domain Admins") || it.dn.contains("Administrators"));
    });
    assert_eq!(stream(&directory, "groups").state, StreamState::Complete);
    let groups = judge(&directory, now());
    assert!(find(&groups, "domain_administrators").is_none(), "Enterprise Admins is elsewhere");
    let (_, note) = groups[0].notes.iter().find(|it| it.0 == "administrators").unwrap();
    assert!(note.starts_with("1 of the members") && note.contains("enterprise admins"), "{note}");
}

#[test]
fn policies_that_may_not_be_read_are_denied() {
    let directory = less(|it| it.settings.clear());
    let settings = stream(&directory, "password_settings");
    assert_eq!(settings.state, StreamState::Denied, "{settings:?}");
    assert!(settings.reason.contains("CN=Password Settings Container,CN=System,DC=acme,DC=test"));
    let groups = judge(&directory, now());
    let failed = find(&groups, "password_policy").unwrap();
    assert!(failed.findings.contains("domain policy: minimum length 7"), "{failed:?}");
    let directory = less(|it| {
        it.settings.clear();
        it.policy = it.policy.clone().with("minPwdLength", "14").with("lockoutThreshold", "5");
    });
    let groups = judge(&directory, now());
    assert!(find(&groups, "password_policy").is_none(), "a policy may be weaker");
    assert!(find(&groups, "account_lockout").is_none());
    let admin = less(|it| {
        it.settings.clear();
        it.policy = it.policy.clone().with("minPwdLength", "14").with("lockoutThreshold", "5");
        it.root = it.root.clone().with_all("tokenGroups", [sid(513), sid(512)]);
    });
    assert_eq!(stream(&admin, "password_settings").state, StreamState::Complete);
    assert!(find(&judge(&admin, now()), "account_lockout").is_some(), "an administrator sees all");
    let partly = less(|it| it.policy = it.policy.clone().without("lockoutThreshold"));
    is_partial(&partly, "policy", "lockoutThreshold of 1 of 1");
    assert!(judge(&partly, now())[2].observations.is_empty());
}

#[test]
fn computers_become_assets_and_say_what_they_run() {
    let world = || {
        let mut world = World::new();
        let day = |n: i64| (NOW_TICKS - n * DAY_TICKS).to_string();
        let desk = |name: &str, os: &str, version: &str, days: i64| {
            computer(name, 4_096)
                .with("operatingSystem", os)
                .with("operatingSystemVersion", version)
                .with("lastLogonTimestamp", day(days))
        };
        world.computers.extend([
            desk("NEW", "Windows 11 Pro", "10.0 (26200)", 2),
            desk("SEVEN", "Windows 7 Professional", "6.1 (7601)", 3),
            desk("AWAY", "Windows 7 Professional", "6.1 (7601)", 200),
            desk("MAC", "Mac OS X", "12.6", 1),
            computer("PLANNED", 4_096).without("lastLogonTimestamp").with("lastLogon", "0"),
        ]);
        world
    };
    let groups = judge(&world().read(), now());
    assert!(groups.iter().all(|it| it.is_whole), "{groups:?}");
    let assets = groups[1].assets.as_ref().unwrap();
    let names: Vec<&str> = assets.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        ["DC1", "SRV1", "NEW", "SEVEN", "AWAY", "MAC"],
        "disabled ones and those never used are none"
    );
    let new = &assets[2];
    assert_eq!(new.seen_at, Some(now().plus_days(-2)), "without the lag, which is only possible");
    assert_eq!(new.hostname.as_deref(), Some("new.acme.test"));
    assert!(!new.is_managed, "a domain manages nothing");
    let os = find(&groups, "os_support").unwrap();
    assert_eq!(os.control, "END-09");
    assert_eq!(
        os.findings.lines().next(),
        Some("SEVEN"),
        "one that was away for long is not judged: {os:?}"
    );
    assert_eq!(os.count.as_ref().unwrap().n_passed, 3, "{os:?}");
    let others = ["END-01", "END-02"];
    assert!(!groups[1].observations.iter().any(|it| others.contains(&it.control)));
    let mut hidden = world();
    hidden.computers.remove(0);
    let groups = judge(&hidden.read(), now());
    assert_eq!(
        (groups[0].is_whole, groups[1].is_whole),
        (false, false),
        "administrators may be computers"
    );
    assert!(groups[1].assets.is_none() && find(&groups, "os_support").is_none());
    let mut ordinary = world();
    ordinary.settings.clear();
    let groups = judge(&ordinary.read(), now());
    assert_eq!([2, 3].map(|it: usize| groups[it].is_whole), [true, false]);
    assert!(find(&groups, "password_policy").is_some(), "the policy of the domain fails by itself");
}
