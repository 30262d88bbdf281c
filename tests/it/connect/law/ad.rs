//! Active Directory: every subset of what is read of a domain, and a server that refuses a search at a time.

use posture::connect::ad::{
    Account, AccountFlags, AccountKind, Computer, Directory, DirectoryGroup, DomainPolicy,
    PasswordRules, PasswordSettings, StreamName, judge,
};
use posture::connect::reading::{Group, Stream, StreamState};
use posture::engine::identity::LastSignIn;

use super::{Fault, Law, World, drive, faults};
use crate::connect::ad::domain::{self, now};
use crate::connect::ad::server::{Asked, BASE, Server, done, page};
use crate::connect::ad::{LONG, config, read_within};

/// Of `userAccountControl`.
const NORMAL: u32 = 512;
const NO_PASSWORD: u32 = 0x20;
const NO_PREAUTHENTICATION: u32 = 0x40_0000;
const UNCONSTRAINED: u32 = 0x8_0000;
const N_ACCOUNTS: u32 = 20;

fn dn(name: &str) -> String {
    format!("CN={name},DC=acme,DC=test")
}

fn account(nth: u32, flags: u32) -> Account {
    let name = format!("user{nth}");
    Account {
        id: format!("id-{name}"),
        dn: dn(&name),
        kind: AccountKind::User,
        user: name.clone(),
        short_name: name,
        display_name: None,
        rid: 1_000 + nth,
        primary_group_rid: 513,
        flags: AccountFlags(NORMAL | flags),
        created_at: None,
        expires_at: None,
        password_set_at: Some(now().plus_days(-10)),
        last_sign_in: LastSignIn::At(now().plus_days(-1)),
        is_service: false,
    }
}

fn computer(nth: u32, flags: u32) -> Computer {
    let name = format!("PC{nth}");
    Computer {
        id: format!("id-{name}"),
        dn: dn(&name),
        name,
        host: None,
        os: Some("Windows Server 2025 Standard".to_owned()),
        os_version: Some("10.0 (26100)".to_owned()),
        flags: AccountFlags(flags),
        created_at: None,
        last_seen: LastSignIn::At(now().plus_days(-1)),
        seen_at: Some(now().plus_days(-1)),
    }
}

const fn rules(length_min: i64, n_wrong_max: i64) -> PasswordRules {
    PasswordRules { length_min, n_remembered: 24, is_reversible: false, n_wrong_max }
}

fn settings(length_min: i64) -> PasswordSettings {
    PasswordSettings { name: "own".to_owned(), rules: rules(length_min, 5), is_assigned: true }
}

/// Nothing is wrong with it.
fn good() -> Directory {
    let admins = DirectoryGroup {
        dn: dn("Domain Admins"),
        name: "Domain Admins".to_owned(),
        sid: "S-1-5-21-1-2-3-512".to_owned(),
        is_security: true,
        members: vec![dn("user0"), dn("user1")],
    };
    Directory {
        domain: "acme.test".to_owned(),
        users: Some((0..N_ACCOUNTS).map(|it| account(it, 0)).collect()),
        groups: Some(vec![admins]),
        computers: Some((0..N_ACCOUNTS).map(|it| computer(it, 0x1000)).collect()),
        policy: Some(DomainPolicy { rules: rules(14, 5), n_computers_to_add: Some(0) }),
        password_settings: Some(vec![settings(14)]),
        streams: Vec::new(),
    }
}

/// A name, and how it differs from a domain in good order.
type Change = (&'static str, fn(&mut Directory));

const WORLDS: [Change; 5] = [
    ("everything is wrong", |it| {
        let all = NO_PASSWORD | NO_PREAUTHENTICATION | UNCONSTRAINED;
        let service = |nth| Account {
            is_service: true,
            password_set_at: Some(now().plus_days(-400)),
            last_sign_in: LastSignIn::Never,
            created_at: Some(now().plus_days(-400)),
            ..account(nth, all)
        };
        it.users = Some((0..N_ACCOUNTS).map(service).collect());
        it.groups.as_mut().unwrap()[0].members =
            (0..9).map(|nth| dn(&format!("user{nth}"))).collect();
        let old = |nth| Computer {
            os: Some("Windows Server 2008".to_owned()),
            os_version: None,
            ..computer(nth, 0x1000 | UNCONSTRAINED)
        };
        it.computers = Some((0..N_ACCOUNTS).map(old).collect());
        it.policy = Some(DomainPolicy { rules: rules(7, 0), n_computers_to_add: Some(10) });
        it.password_settings = Some(vec![settings(4)]);
    }),
    ("one account of twenty is weak, and any may add computers", |it| {
        it.users.as_mut().unwrap()[5] = account(5, NO_PASSWORD | NO_PREAUTHENTICATION);
        it.policy.as_mut().unwrap().n_computers_to_add = Some(10);
    }),
    ("one account and one computer of twenty are weak, and so are all administrators", |it| {
        it.users.as_mut().unwrap()[5] = account(5, NO_PASSWORD | UNCONSTRAINED);
        it.computers.as_mut().unwrap()[5] = computer(5, 0x1000 | UNCONSTRAINED);
        for it in &mut it.users.as_mut().unwrap()[..2] {
            it.is_service = true;
        }
    }),
    ("one account of twenty is weak, and so are some passwords", |it| {
        it.users.as_mut().unwrap()[5] = account(5, NO_PASSWORD);
        it.password_settings = Some(vec![settings(4)]);
    }),
    ("in good order", |_| ()),
];

/// What is judged without these streams.
fn parts(mut directory: Directory, without: &[StreamName]) -> Vec<Group> {
    for name in without {
        match name {
            StreamName::Users => directory.users = None,
            StreamName::Groups => directory.groups = None,
            StreamName::Computers => directory.computers = None,
            StreamName::Policy => directory.policy = None,
            StreamName::PasswordSettings => directory.password_settings = None,
        }
    }
    let stream = |it: StreamName| {
        let is_read = !without.contains(&it);
        let state = if is_read { StreamState::Complete } else { StreamState::Denied };
        Stream { name: it.as_str().to_owned(), state, reason: String::new(), n_rows: 0 }
    };
    directory.streams = StreamName::ALL.map(stream).to_vec();
    judge(&directory, now())
}

#[test]
fn no_part_of_a_domain_shows_more_than_all() {
    let mut law = Law::of("AD, every subset");
    for (name, change) in WORLDS {
        let mut directory = good();
        change(&mut directory);
        law.add(World::new(name, parts(directory.clone(), &[]), now()));
        for bits in 1..1_usize << StreamName::ALL.len() {
            let all = StreamName::ALL.iter().enumerate();
            let without: Vec<_> = all.filter(|it| bits & 1 << it.0 != 0).map(|it| *it.1).collect();
            let names: Vec<&str> = without.iter().map(|it| it.as_str()).collect();
            law.hold(&format!("without {}", names.join(", ")), &parts(directory.clone(), &without));
        }
    }
    law.end(["ID-07", "ID-11", "ID-15", "ID-25", "ID-28", "ID-35", "END-09"]);
}

/// Attributes that tell what is asked for.
const SEARCHES: [(&str, &str); 5] = [
    ("policy", "minPwdLength"),
    ("users", "pwdLastSet"),
    ("groups", "groupType"),
    ("computers", "operatingSystem"),
    ("password_settings", "msDS-MinimumPasswordLength"),
];

fn read_world(world: &domain::World, fault: Option<(&'static str, Fault)>) -> Vec<Group> {
    let world = world.clone();
    let server = Server::start(move |asked: &Asked| {
        let whole = world.answer(asked);
        let Some((_, fault)) = fault.filter(|it| asked.wants(it.0)) else { return whole };
        match fault {
            Fault::Denied => done(asked.id, 50),
            Fault::Failing => done(asked.id, 51),
            // The rows, and then that the limit of the server was reached.
            Fault::Cut => {
                let end = if asked.page.is_some() { page(asked.id, "") } else { done(asked.id, 0) };
                [&whole[..whole.len() - end.len()], &done(asked.id, 4)].concat()
            }
        }
    });
    let directory = read_within(&config(server.address.port(), server.trust()), LONG);
    judge(&directory, now())
}

#[test]
fn a_search_less_shows_no_more() {
    let mut weak = domain::World::new();
    // Of several administrators, one is left.
    let administrator = format!("CN=Administrator,CN=Users,{BASE}");
    weak.inner.clear();
    weak.tops[0] = weak.tops[0].clone().with("member", administrator);
    weak.computers[1] =
        weak.computers[1].clone().with("operatingSystem", "Windows Server 2008 R2 Standard");
    let mut better = domain::World::new();
    better.policy = better.policy.with("minPwdLength", "14").with("lockoutThreshold", "5");
    let worlds = [("as many are", weak), ("with a better policy", better)];
    let faults = faults(&SEARCHES, |it| it.0.to_owned());
    let law = drive("Active Directory", &worlds, &faults, |world, fault| {
        read_world(world, fault.map(|((_, attribute), fault)| (*attribute, *fault)))
    });
    law.end(["ID-07", "ID-11", "ID-15", "ID-25", "ID-35", "END-09"]);
}
