//! Lists in pages, and attributes in ranges.

use posture::connect::ad::{Directory, StreamName};
use posture::connect::reading::StreamState;

use super::domain::{World, user};
use super::server::{Asked, BASE, Row, Server, done, page, reference};
use super::{LONG, config, read_within, stream};

const N_ROWS: usize = 3_001;

/// Serves the users of a world in pages of the size that is asked for, with the same or another cookie for each.
fn paged(world: &World, asked: &Asked, is_same_cookie: bool) -> Vec<u8> {
    if !asked.wants("pwdLastSet") {
        return world.answer(asked);
    }
    let (n_rows, _) = asked.page.clone().unwrap();
    assert_eq!(n_rows, 500);
    let from: usize = asked.cookie().trim_start_matches('c').parse().unwrap_or(0);
    let to = (from + 500).min(world.users.len());
    let mut bytes: Vec<u8> =
        world.users[from..to].iter().flat_map(|it| it.encode(asked.id)).collect();
    bytes.extend(reference(asked.id));
    let next = if is_same_cookie { "c0".to_owned() } else { format!("c{to}") };
    bytes.extend(page(asked.id, if to == world.users.len() { "" } else { &next }));
    bytes
}

fn many(n: usize) -> World {
    let mut world = World::new();
    let n_more = n - world.users.len();
    let rids = 2_000..2_000 + u32::try_from(n_more).unwrap();
    world.users.extend(rids.map(|it| user(&format!("user{it}"), it)));
    world
}

fn read(
    world: World,
    answer: impl Fn(&World, &Asked) -> Vec<u8> + Send + Sync + 'static,
) -> Directory {
    let server = Server::start(move |asked| answer(&world, asked));
    read_within(&config(server.address.port(), server.trust()), LONG)
}

#[test]
fn all_pages_are_read() {
    for n in [499, 500, 501, 1_000, N_ROWS] {
        let world = many(n);
        let server = Server::start(move |asked| paged(&world, asked, false));
        let directory = read_within(&config(server.address.port(), server.trust()), LONG);
        assert_eq!(directory.users.as_ref().unwrap().len(), n);
        assert_eq!(stream(&directory, "users").n_rows, n as u64);
        let pages = server.asked().iter().filter(|it| it.wants("pwdLastSet")).count();
        assert_eq!(pages, n.div_ceil(500), "{n}");
    }
}

/// Some servers keep one cookie for a whole list, and know where it stands.
#[test]
fn a_cookie_may_stay_the_same() {
    let place = std::sync::Mutex::new(0);
    let directory = read(many(1_001), move |world, asked| {
        if !asked.wants("pwdLastSet") {
            return world.answer(asked);
        }
        let mut place = place.lock().unwrap();
        let to = (*place + 500).min(world.users.len());
        let rows = &world.users[*place..to];
        *place = to;
        let mut bytes: Vec<u8> = rows.iter().flat_map(|it| it.encode(asked.id)).collect();
        bytes.extend(page(asked.id, if to == world.users.len() { "" } else { "same" }));
        bytes
    });
    assert_eq!(directory.users.as_ref().unwrap().len(), 1_001);
}

fn failed<'a>(directory: &'a Directory, name: &str) -> &'a str {
    let found = stream(directory, name);
    assert_eq!(found.state, StreamState::Failed, "{found:?}");
    &found.reason
}

#[test]
fn a_page_that_repeats_is_an_error() {
    let directory = read(many(1_001), |world, asked| paged(world, asked, true));
    assert!(failed(&directory, "users").contains("same rows again"), "{directory:?}");
    assert!(directory.users.is_none());
    assert!(failed(&directory, "computers").contains("same rows again"), "the connection is over");
    assert!(directory.policy.is_some(), "what was read before counts");
}

#[test]
fn empty_pages_without_an_end_are_an_error() {
    for is_same_cookie in [true, false] {
        let n_pages = std::sync::atomic::AtomicUsize::new(0);
        let directory = read(World::new(), move |world, asked| {
            if !asked.wants("pwdLastSet") {
                return world.answer(asked);
            }
            let n = n_pages.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            page(asked.id, &if is_same_cookie { "c".to_owned() } else { format!("c{n}") })
        });
        assert!(failed(&directory, "users").contains("empty pages"), "{directory:?}");
    }
}

#[test]
fn one_empty_page_is_none() {
    let directory = read(many(501), |world, asked| match &*asked.cookie() {
        "" if asked.wants("pwdLastSet") => page(asked.id, "c0"),
        _ => paged(world, asked, false),
    });
    assert_eq!(directory.users.as_ref().unwrap().len(), 501);
}

#[test]
fn a_limit_of_the_server_leaves_a_part() {
    for (code, why) in [(4, "size limit"), (3, "time limit"), (11, "administrative limit")] {
        let directory = read(World::new(), move |world, asked| {
            if !asked.wants("pwdLastSet") {
                return world.answer(asked);
            }
            [world.users[0].encode(asked.id), done(asked.id, code)].concat()
        });
        let users = stream(&directory, "users");
        assert_eq!((users.state, users.n_rows), (StreamState::Partial, 1));
        assert!(users.reason.contains(why), "{users:?}");
        assert!(directory.users.is_none() && directory.computers.is_some());
    }
}

/// The members of Domain Admins come in ranges of this many.
fn ranged(world: &World, asked: &Asked, names: &[String], step: usize) -> Vec<u8> {
    let in_range = |row: &Row, from: usize| {
        let to = from + step;
        let last = if names.len() <= to { "*".to_owned() } else { (to - 1).to_string() };
        let values = names[from..to.min(names.len())].iter().map(|it| it.as_bytes().to_vec());
        row.clone().with_all(&format!("member;range={from}-{last}"), values)
    };
    let mut world = world.clone();
    let admins = world.tops[0].clone().with_all("member", []);
    if let Some(range) = asked.attributes.iter().find_map(|it| it.strip_prefix("member;range=")) {
        assert_eq!(asked.base, admins.dn);
        let from = range.strip_suffix("-*").unwrap().parse().unwrap();
        return [in_range(&Row::new(&admins.dn), from).encode(asked.id), done(asked.id, 0)]
            .concat();
    }
    world.tops[0] = in_range(&admins, 0);
    world.answer(asked)
}

#[test]
fn all_members_are_read_in_ranges() {
    for n in [1_500, 1_501, N_ROWS] {
        let world = many(n);
        let names: Vec<String> = world.users.iter().map(|it| it.dn.clone()).collect();
        let directory = read(world, move |world, asked| ranged(world, asked, &names, 1_500));
        let groups = directory.groups.as_ref().unwrap();
        let admins = groups.iter().find(|it| it.name == "Domain Admins").unwrap();
        assert_eq!(admins.members.len(), n);
        assert_eq!(stream(&directory, StreamName::Groups.as_str()).n_rows, 5);
    }
}

#[test]
fn members_whose_ranges_break_off_are_no_complete_list() {
    let values = |n: usize| vec![b"CN=x".to_vec(); n];
    for (next, n_values, why) in [
        ("member", 0, "break off"),
        ("member;range=2-1", 0, "have no end"),
        ("member;range=3-*", 2, "do not follow each other"),
    ] {
        let directory = read(World::new(), move |world, asked| {
            let mut world = world.clone();
            let admins = world.tops[0].clone().without("member");
            if asked.attributes.iter().any(|it| it.starts_with("member;range=")) {
                let row = Row::new(&admins.dn).with_all(next, values(n_values));
                return [row.encode(asked.id), done(asked.id, 0)].concat();
            }
            let named = |it: &str| format!("CN={it},CN=Users,{BASE}").into_bytes();
            let members = ["Administrator", "anna"].map(named);
            world.tops[0] = admins.with_all("member;range=0-1", members);
            world.answer(asked)
        });
        let groups = stream(&directory, "groups");
        assert_eq!(groups.state, StreamState::Partial, "{groups:?}");
        assert!(groups.reason.contains(why), "{groups:?}");
        assert!(directory.groups.is_none());
    }
}
