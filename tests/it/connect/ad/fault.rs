//! Domain controllers that refuse, break off, lie or never end.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use posture::connect::ad::{Directory, judge};
use posture::connect::reading::StreamState;
use posture::egress::Trust;

use super::domain::{World, now, user};
use super::server::{Asked, BIND, Server, bound, done, message, notice, page, reference};
use super::{LONG, config, read_within, stream};

fn read(answer: impl Fn(&World, &Asked) -> Vec<u8> + Send + Sync + 'static) -> Directory {
    let world = World::new();
    let server = Server::start(move |asked| answer(&world, asked));
    read_within(&config(server.address.port(), server.trust()), LONG)
}

/// Nothing was read, for this reason, and nothing is judged.
fn is_unread(directory: &Directory, why: &str) {
    assert_eq!(directory.streams.len(), 5);
    for it in &directory.streams {
        assert_eq!(it.state, StreamState::Failed, "{it:?}");
        assert!(it.reason.contains(why), "{why}: {it:?}");
    }
    for group in judge(directory, now()) {
        assert!(group.observations.is_empty() && group.accounts.is_none(), "{group:?}");
        assert!(!group.streams.is_empty());
    }
}

#[test]
fn a_refused_sign_in_says_why() {
    for (data, why) in [
        ("525", "user name is unknown"),
        ("52e", "password is wrong"),
        ("530", "at this time"),
        ("531", "from this computer"),
        ("532", "has expired; set a new one"),
        ("533", "is disabled"),
        ("701", "has expired; extend it"),
        ("773", "must change its password"),
        ("775", "is locked out"),
        ("999", "user name or the password is wrong"),
    ] {
        let text = format!(
            "80090308: LdapErr: DSID-0C0903A9, comment: AcceptSecurityContext error, data {data}, v1db1\0"
        );
        let directory = read(move |_, asked| bound(asked.id, 49, &text));
        is_unread(&directory, why);
        is_unread(&directory, "the sign-in was refused");
    }
    for (code, why) in [(8, "stronger sign-in"), (51, "busy"), (53, "result 53 (nobody is there)")]
    {
        is_unread(&read(move |_, asked| bound(asked.id, code, "nobody is there")), why);
    }
}

#[test]
fn a_sign_in_without_a_password_is_not_made() {
    let server = Server::start(|asked| bound(asked.id, 0, ""));
    for (user, password) in [("", "secret"), ("reader", ""), ("", "")] {
        let mut config = config(server.address.port(), server.trust());
        config.user = user.to_owned();
        config.password = password.to_owned();
        is_unread(&read_within(&config, LONG), "is missing");
    }
    for port in [3_268, 3_269] {
        is_unread(&read_within(&config(port, server.trust()), LONG), "global catalog");
    }
    assert!(server.asked().is_empty());
    let shown = format!("{:?}", config(636, Trust::Public));
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn what_is_no_domain_controller_is_told() {
    let directory = read(|_, asked| match asked.operation {
        BIND => bound(asked.id, 0, ""),
        _ => [super::server::Row::new("").encode(asked.id), done(asked.id, 0)].concat(),
    });
    is_unread(&directory, "not a domain controller");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    is_unread(&read_within(&config(closed.port(), Trust::Public), LONG), "does not accept");
}

/// A way in which the answer to a search goes wrong, and what is said of it.
type Fault = (&'static str, fn(&Asked) -> Vec<u8>);

const FAULTS: [Fault; 10] = [
    ("closed the connection", |_| Vec::new()),
    ("ends the connection: the server is busy", |_| notice()),
    ("not made", |asked| page(asked.id + 1, "")),
    ("not made", |asked| user("x", 9).encode(asked.id - 1)),
    ("not valid LDAP", |_| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
    ("not valid LDAP", |asked| message(asked.id, &[0x64, 2, 4, 9])),
    ("more than 4 MiB", |_| vec![0x30, 0x84, 0x7f, 0xff, 0xff, 0xff]),
    ("does not answer the search", |asked| bound(asked.id, 0, "")),
    ("does not answer the search", |asked| reference(asked.id).repeat(1_001)),
    ("same rows again", |asked| {
        [user("x", 9).encode(asked.id).repeat(2), page(asked.id, "")].concat()
    }),
];

#[test]
fn a_search_that_goes_wrong_fails_with_all_that_follow() {
    for (why, fault) in FAULTS {
        let directory =
            read(
                move |world, asked| {
                    if asked.wants("pwdLastSet") { fault(asked) } else { world.answer(asked) }
                },
            );
        for name in ["users", "groups", "computers", "password_settings"] {
            let found = stream(&directory, name);
            assert_eq!(found.state, StreamState::Failed, "{why}: {found:?}");
            assert!(found.reason.contains(why), "{why}: {found:?}");
        }
        assert!(directory.policy.is_some(), "what was read before counts");
        let groups = judge(&directory, now());
        assert!(groups[0].accounts.is_none() && groups[0].observations.is_empty());
    }
}

#[test]
fn an_answer_that_breaks_off_fails() {
    let whole = [user("x", 9).encode(3), page(3, "")].concat();
    for n in [1, 2, 3, whole.len() / 2, whole.len() - 1] {
        let cut = whole[..n].to_vec();
        let world = World::new();
        let server = Server::start(move |asked| {
            if asked.wants("pwdLastSet") { cut.clone() } else { world.answer(asked) }
        });
        // The server keeps the connection open, so that only the deadline ends it.
        let start = Instant::now();
        let limit = Duration::from_millis(700);
        let directory = read_within(&config(server.address.port(), server.trust()), limit);
        assert!(start.elapsed() < LONG, "it ends by the deadline");
        assert!(directory.users.is_none());
        let users = stream(&directory, "users");
        assert_eq!(users.state, StreamState::Failed);
    }
}

#[test]
fn a_refused_search_touches_no_other() {
    for (code, state, why) in [
        (50, StreamState::Denied, "may not read this"),
        (10, StreamState::Failed, "domain controller of this domain"),
        (32, StreamState::Failed, "does not exist"),
        (12, StreamState::Failed, "in pages"),
        (1, StreamState::Failed, "result 1"),
    ] {
        let directory = read(move |world, asked| {
            if asked.wants("pwdLastSet") { done(asked.id, code) } else { world.answer(asked) }
        });
        let users = stream(&directory, "users");
        assert_eq!((users.state, users.n_rows), (state, 0), "{users:?}");
        assert!(users.reason.contains(why), "{users:?}");
        assert!(directory.computers.is_some() && directory.groups.is_some());
        let groups = judge(&directory, now());
        assert!(groups[0].accounts.is_none() && groups[0].observations.is_empty(), "{groups:?}");
    }
}

#[test]
fn a_server_that_says_nothing_is_left_by_the_deadline() {
    let limit = Duration::from_millis(500);
    let plain = TcpListener::bind("127.0.0.1:0").unwrap(); // Nobody accepts.
    let start = Instant::now();
    is_unread(
        &read_within(&config(plain.local_addr().unwrap().port(), Trust::Public), limit),
        "handshake",
    );
    let world = World::new();
    let server = Server::start(move |asked| {
        if asked.wants("pwdLastSet") {
            std::thread::sleep(LONG);
        }
        world.answer(asked)
    });
    let directory = read_within(&config(server.address.port(), server.trust()), limit);
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    let users = stream(&directory, "users");
    assert_eq!((users.state, &*users.reason), (StreamState::Failed, "no answer in time"));
    assert!(directory.policy.is_some());
}
