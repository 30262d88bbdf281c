//! Servers and databases that cannot be used: one line says what to do.

use std::os::unix::fs::PermissionsExt;

use super::{CONFIG, folder, name};
use crate::harness::postgres::{Cluster, OWNER, shared};
use crate::harness::process::{Folder, finish};
use crate::harness::tls::authority;
use crate::harness::tool::faketime;

#[track_caller]
fn refused(folder: &Folder, rule: &str) {
    let done = folder.run(&["client", "list"]);
    assert_eq!((done.code, done.err.lines().count()), (1, 1), "{done:?}");
    assert!(done.err.contains(rule), "{}", done.err);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_wrong_password_and_an_unknown_user_are_named() {
    let cluster = Cluster::start(&[]);
    cluster.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'right'");
    cluster.sql("postgres", "CREATE DATABASE app OWNER app");
    cluster.let_in(&format!(
        "host all {OWNER} 127.0.0.1/32 trust\nhost all app 127.0.0.1/32 scram-sha-256\n"
    ));
    let url =
        |login: &str| format!("postgres://{login}@127.0.0.1:{}/app?sslmode=disable", cluster.port);
    refused(
        &folder(&url("app:wrong")),
        "refused the password of user `app`; correct it in database.url_file",
    );
    refused(
        &folder(&url("nobody:right")),
        "does not let user `nobody` in; allow it in pg_hba.conf",
    );
    folder(&url("app:right")).ok(&["client", "list"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_database_without_the_rights_or_that_is_not_there_is_named() {
    let cluster = shared();
    cluster.sql("postgres", "CREATE ROLE weak LOGIN");
    cluster.sql("postgres", "CREATE DATABASE strong");
    refused(
        &folder(&cluster.url("weak", "strong")),
        "user `weak` may not create tables in database `strong`; make it the owner: ALTER DATABASE strong OWNER TO weak",
    );
    folder(&cluster.url(OWNER, "strong")).ok(&["client", "list"]);
    refused(
        &folder(&cluster.url("weak", "strong")),
        "user `weak` may not use database `strong` or its tables; make it the owner of both",
    );
    refused(
        &folder(&cluster.url("weak", "missing")),
        "the server has no database `missing`; create it: CREATE DATABASE missing OWNER weak",
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_server_that_only_reads_or_does_not_answer_is_named() {
    let cluster = shared();
    cluster.sql("postgres", "CREATE DATABASE still");
    cluster.sql("postgres", "ALTER DATABASE still SET default_transaction_read_only = on");
    let rule = format!(
        "the database server at 127.0.0.1:{} is read-only, as a standby is; name the primary in database.url_file",
        cluster.port
    );
    refused(&folder(&cluster.url(OWNER, "still")), &rule);
    refused(
        &folder("postgres://u@127.0.0.1:9/d?sslmode=disable"),
        "the database server at 127.0.0.1:9 cannot be used: error connecting to server: Connection refused (os error 111); \
         check that it runs, and database.url_file",
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_clock_that_is_an_hour_off_is_named() {
    let folder = folder(&shared().new_database());
    for (shift, rule) in
        [("-1h", " s ahead of the clock of this host"), ("+1h", " s behind the clock of this host")]
    {
        let mut command = folder.command(&["client", "list"]);
        let done = finish(command.env("LD_PRELOAD", faketime()).env("FAKETIME", shift));
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.err.contains(rule) && done.err.contains("set both by NTP"), "{}", done.err);
    }
    folder.ok(&["client", "list"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn another_installation_on_the_same_database_is_refused_with_both_keys() {
    let url = shared().new_database();
    let first = folder(&url);
    first.serve().stop();
    let second = folder(&url);
    refused(&second, "the database belongs to the key file ");
    refused(
        &second,
        "copy posture.key from the node that has used this database, or give this installation a database of its own",
    );
    std::fs::copy(first.path().join("data/posture.key"), second.path().join("data/posture.key"))
        .unwrap();
    second.ok(&["client", "list"]);
    // When the key file is lost everywhere.
    let name = name(&url);
    shared().sql(name, "DELETE FROM posture_rows WHERE t = 'meta' AND k = 'key_file'");
    std::fs::remove_file(second.path().join("data/posture.key")).unwrap();
    second.serve().stop();
    refused(&first, "the database belongs to the key file ");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_database_of_a_newer_release_or_without_its_records_is_refused() {
    let (cluster, url) = (shared(), shared().new_database());
    let name = name(&url);
    let folder = folder(&url);
    folder.ok(&["client", "list"]);
    cluster.sql(name, "UPDATE posture_head SET version = 2");
    refused(&folder, "are from a newer release (schema 2; this one uses up to 1)");
    cluster.sql(
        name,
        "UPDATE posture_head SET version = 1; DELETE FROM posture_rows WHERE t = 'meta'",
    );
    cluster.sql(name, "INSERT INTO posture_rows VALUES ('x', '', '')");
    refused(&folder, "the database on the server is not whole; restore it, or name another");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn the_certificate_of_the_server_is_verified() {
    let root = authority();
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &root).unwrap();
    let place = tempfile::TempDir::new().unwrap();
    let file = |name: &str| place.path().join(name);
    std::fs::write(file("cert.pem"), certificate.pem()).unwrap();
    std::fs::write(file("key.pem"), key.serialize_pem()).unwrap();
    std::fs::write(file("ca.pem"), root.pem()).unwrap();
    std::fs::set_permissions(file("key.pem"), PermissionsExt::from_mode(0o600)).unwrap();
    let cluster = Cluster::start(&[
        "ssl=on",
        &format!("ssl_cert_file={}", file("cert.pem").display()),
        &format!("ssl_key_file={}", file("key.pem").display()),
    ]);
    cluster.sql("postgres", "CREATE DATABASE posture");
    let url = |host: &str| format!("postgres://{OWNER}@{host}:{}/posture", cluster.port);
    let unknown = folder(&url("127.0.0.1"));
    refused(&unknown, "invalid peer certificate: UnknownIssuer");
    let ca_file = format!("{CONFIG}ca_file = \"{}\"\n", file("ca.pem").display());
    unknown.write("posture.toml", ca_file.as_bytes());
    unknown.ok(&["client", "list"]);
    let elsewhere = folder(&url("localhost"));
    elsewhere.write("posture.toml", ca_file.as_bytes());
    refused(&elsewhere, "invalid peer certificate: certificate not valid for name \"localhost\"");
    let plain = folder(&format!("postgres://{OWNER}@127.0.0.1:{}/d", shared().port));
    refused(&plain, "server does not support TLS");
}
