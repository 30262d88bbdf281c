//! Where people reach the service.

use super::{read, refused};

#[test]
fn the_public_url_is_read_as_browsers_write_it() {
    for (written, read_as) in [
        ("HTTPS://P.Example:443/", "https://p.example"),
        ("https://p.example.", "https://p.example"),
        ("https://p.example:08443", "https://p.example:8443"),
        ("http://P.Example:80", "http://p.example"),
        ("https://[FD00:0::1]:443", "https://[fd00::1]"),
        ("https://192.0.2.7", "https://192.0.2.7"),
    ] {
        let server = read(&format!("[server]\npublic_url = \"{written}\"\n")).server;
        assert_eq!(server.public_url.as_deref(), Some(read_as), "{written}");
    }
}

#[test]
fn a_public_url_that_is_no_origin_is_refused() {
    let url = "is not a URL of a host, such as \"https://posture.example.com\"";
    let below = "has a path, and pages do not work below one; give the service a name or a port of its own, and write";
    for (written, rule) in [
        ("posture.lan", url.to_owned()),
        ("https://a/?b", url.to_owned()),
        ("https://a/#b", url.to_owned()),
        ("ftp://a", url.to_owned()),
        ("https://", url.to_owned()),
        ("https://me@a", url.to_owned()),
        ("https://a:0", url.to_owned()),
        ("https://A:443/b/", format!("{below} \"https://a\"")),
        ("https://a:444//", format!("{below} \"https://a:444\"")),
    ] {
        let text = format!("[server]\npublic_url = \"{written}\"\n");
        refused(&text, &format!("2: server.public_url: {written:?} {rule}"));
    }
}
