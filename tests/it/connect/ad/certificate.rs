//! Which certificates a connection accepts, and where it goes.

use std::time::Duration;

use posture::connect::ad::Directory;
use posture::connect::reading::StreamState;
use posture::egress::{Egress, EgressPolicy, Fingerprint, Trust, TrustedRoots};
use rcgen::CertificateParams;
use tokio::runtime::Builder;
use tokio::time::Instant;

use super::domain::World;
use super::server::Server;
use super::{LONG, config, local, read_within};

fn server(names: &[&str]) -> Server {
    let world = World::new();
    Server::named(names, move |asked| world.answer(asked))
}

/// Why nothing was read.
fn refusal(directory: &Directory) -> &str {
    assert!(directory.streams.len() == 5, "{directory:?}");
    let first = &directory.streams[0];
    let is_same = |it: &posture::connect::reading::Stream| {
        it.state == StreamState::Failed && it.reason == first.reason && it.n_rows == 0
    };
    assert!(directory.streams.iter().all(is_same), "{directory:?}");
    assert!(directory.users.is_none() && directory.policy.is_none());
    &first.reason
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused_and_shown() {
    let server = server(&["127.0.0.1", "dc1.acme.test"]);
    let directory = read_within(&config(server.address.port(), Trust::Public), LONG);
    let why = refusal(&directory);
    let shown = server.fingerprint.to_string();
    for part in [
        "no trusted authority issued it",
        "127.0.0.1, dc1.acme.test",
        "valid until 4096-01-01",
        &shown,
    ] {
        assert!(why.contains(part), "{part}: {why}");
    }
    assert!(server.asked().is_empty(), "no password was sent");
    let other = self::server(&["127.0.0.1"]);
    let directory = read_within(&config(server.address.port(), other.trust()), LONG);
    let why = refusal(&directory);
    assert!(
        why.contains("another certificate than the pinned one") && why.contains(&shown),
        "{why}"
    );
    assert!(server.asked().is_empty(), "no password was sent");
    let directory = read_within(&config(server.address.port(), server.trust()), LONG);
    assert!(directory.users.is_some());
}

#[test]
fn an_authority_vouches_for_its_names_only() {
    let trusted = |server: &Server| {
        let roots = TrustedRoots::parse(server.pem.as_bytes()).unwrap();
        read_within(&config(server.address.port(), Trust::Authorities(roots)), LONG)
    };
    assert!(trusted(&server(&["127.0.0.1"])).users.is_some());
    let directory = trusted(&server(&["dc1.acme.test"]));
    let why = refusal(&directory);
    assert!(
        why.contains("not for this host name") && why.contains("Enter one of its names"),
        "{why}"
    );
    let mut old = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    old.not_after = rcgen::date_time_ymd(2020, 1, 2);
    let expired = Server::with(&old, |_| Vec::new());
    let directory = trusted(&expired);
    let why = refusal(&directory);
    assert!(why.contains("it has expired") && why.contains("valid until 2020-01-02"), "{why}");
    assert!(why.contains("Renew it on the server") && !why.contains("authority"), "{why}");
    for bad in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(TrustedRoots::parse(bad.as_bytes()).is_err());
    }
}

#[test]
fn a_fingerprint_is_read_in_every_usual_form() {
    let plain = "00ff".repeat(16);
    let upper = ["00", "FF"].repeat(16).join(":");
    for text in [&plain, &upper, &upper.replace(':', " ")] {
        assert_eq!(text.parse::<Fingerprint>().unwrap().to_string(), upper);
    }
    for text in ["", "00ff", &format!("{plain}00"), &plain.replace('f', "g")] {
        assert!(text.parse::<Fingerprint>().unwrap_err().message().contains("64 hexadecimal"));
    }
}

fn connect(egress: &Egress, host: &str, port: u16, limit: Duration) -> String {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let opened = runtime.block_on(async {
        egress.connect(host, port, &Trust::Public, Instant::now() + limit).await
    });
    opened.err().expect("it is refused").message().to_owned()
}

#[test]
fn a_private_address_needs_the_setting_that_the_refusal_names() {
    let server = server(&["127.0.0.1"]);
    let port = server.address.port();
    let closed = Egress::new(EgressPolicy::default(), LONG, 1).unwrap();
    for host in ["127.0.0.1", "::1", "10.1.2.3", "dc1.acme.local"] {
        let why = connect(&closed, host, port, LONG);
        assert!(why.contains("allow_private_networks"), "{host}: {why}");
    }
    let resolved = Egress::with_resolver(EgressPolicy::default(), LONG, 1, |_, port| {
        Ok(vec![([10, 1, 2, 3], port).into()])
    });
    let why = connect(&resolved.unwrap(), "dc1.acme.test", port, LONG);
    assert!(why.contains("10.1.2.3") && why.contains("allow_private_networks"), "{why}");
    let own = EgressPolicy { own: vec![server.address], ..EgressPolicy::default() };
    let own = EgressPolicy { allow_private_networks: vec!["127.0.0.0/8".parse().unwrap()], ..own };
    let why = connect(&Egress::new(own, LONG, 1).unwrap(), "127.0.0.1", port, LONG);
    assert!(why.contains("is this service"), "{why}");
    assert!(server.asked().is_empty());
}

#[test]
fn a_host_is_a_name_or_an_address_and_nothing_else() {
    for host in
        ["", "a/b", "127.0.0.1/x", "user@127.0.0.1", "127.0.0.1:1", "127.1", "a b", "[::1]", "a?b"]
    {
        let why = connect(&local(), host, 636, LONG);
        assert!(why.contains("must") || why.contains("host"), "{host:?}: {why}");
    }
    let nowhere = Egress::with_resolver(EgressPolicy::default(), LONG, 1, |_, _| Ok(Vec::new()));
    let why = connect(&nowhere.unwrap(), "dc1.acme.test", 636, LONG);
    assert_eq!(why, "dc1.acme.test:636: the host name could not be resolved");
}

#[test]
fn the_first_address_that_accepts_is_used() {
    let server = server(&["dc1.acme.test"]);
    let port = server.address.port();
    let policy = EgressPolicy {
        allow_private_networks: vec!["127.0.0.0/8".parse().unwrap()],
        ..EgressPolicy::default()
    };
    let egress = Egress::with_resolver(policy, LONG, 1, |_, port| {
        Ok(vec![([127, 0, 0, 2], port).into(), ([127, 0, 0, 1], port).into()])
    });
    let egress = egress.unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let until = |limit: Duration| Instant::now() + limit;
    let opened = runtime.block_on(async {
        egress.connect("dc1.acme.test", port, &server.trust(), until(LONG)).await
    });
    assert!(opened.is_ok(), "{:?}", opened.err());
    let why = connect(&local(), "127.0.0.2", port, LONG);
    assert!(why.contains("127.0.0.2 does not accept a connection"), "{why}");
}
