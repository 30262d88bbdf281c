//! A database on a PostgreSQL server, and nodes that take it over from each other.

mod needs_patroni;
mod needs_postgres;
mod nodes;
mod writers;

use posture::store::PostgresOptions;
use rustls::RootCertStore;

#[track_caller]
fn refused(url: &str, rule: &str) {
    let error = PostgresOptions::parse(url, RootCertStore::empty()).unwrap_err();
    assert!(error.message().starts_with(rule), "{url}: {}", error.message());
    assert!(!error.message().contains("secret"), "{}", error.message());
}

#[test]
fn a_url_must_verify_a_server_on_another_host() {
    let parse = |url: &str| PostgresOptions::parse(url, RootCertStore::empty()).map(|_| ());
    parse("postgres://posture:secret@db.example/posture").unwrap();
    parse("postgresql://posture:secret@a.example,b.example:6432/x?target_session_attrs=read-write")
        .unwrap();
    parse("postgres://posture@db.example/posture?connect_timeout=2&sslmode=verify-full").unwrap();
    parse("postgres://db.example/posture?user=posture&password=secret").unwrap();
    parse("postgres:///posture?host=/run/postgresql&user=posture").unwrap();
    for host in ["localhost", "127.0.0.1:5433", "[::1]", "%2Frun%2Fpostgresql"] {
        parse(&format!("postgres://posture@{host}/posture?sslmode=disable")).unwrap();
    }
    let elsewhere = "sslmode=disable is only for a server on this host";
    refused("postgres://u:secret@db.example/d?sslmode=disable", elsewhere);
    refused("postgres://u:secret@localhost,db.example/d?sslmode=disable", elsewhere);
    refused("postgres://u:secret@localhost/d?sslmode=disable&hostaddr=10.0.0.1", elsewhere);
    for mode in ["allow", "prefer", "require", "verify-ca", ""] {
        let url = format!("postgres://u:secret@localhost/d?sslmode={mode}");
        refused(&url, "sslmode must be verify-full");
    }
    parse("postgres://u:pass?sslmode=disable@db.example/d").unwrap();
    refused("postgres://u:secret@h/d?sslrootcert=ca.pem", "sslrootcert is not read");
}

#[test]
fn what_is_no_url_of_a_server_is_refused_without_its_password() {
    let rule = "must be a URL such as postgres://";
    for url in [
        "",
        "host=localhost password=secret",
        "https://secret@h/d",
        "postgres:///d",
        "postgres://h/d",
    ] {
        refused(url, rule);
    }
    refused("postgres://u:secret@h:port/d", rule);
    refused("postgres://u:secret@h/d?secret=1", rule);
}
