//! An authority that is not Pebble: slow, mistaken, or unknown.

use std::io::Write;
use std::time::Duration;

use super::front::Front;
use crate::harness::process::{Folder, wait_until};

const NAME: &str = "posture.example.com";
const WAIT: Duration = Duration::from_mins(1);

/// Its directory leads to URLs that begin so, and takes so long between its head and its body.
fn authority(base: Option<&'static str>, pause: Duration) -> Front {
    Front::start(move |request, stream| {
        let own = format!("https://{}", request.header("host").unwrap());
        let base = base.unwrap_or(&own);
        let body = format!(
            "{{\"newNonce\":\"{base}/nonce\",\"newAccount\":\"{base}/account\",\"newOrder\":\"{base}/order\"}}"
        );
        let n = body.len();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {n}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(pause);
        // Fails if the service no longer waits.
        drop(stream.write_all(body.as_bytes()));
    })
}

fn log(folder: &Folder) -> String {
    std::fs::read_to_string(folder.path().join("serve.log")).unwrap()
}

#[test]
fn an_authority_may_take_its_time_over_an_answer() {
    let authority = authority(None, Duration::from_secs(3));
    let folder = authority.folder([0, 0], NAME);
    let _server = folder.serve();
    let has_asked = |line: &str| authority.requests().iter().any(|it| it.line == line);
    assert!(wait_until(WAIT, || has_asked("HEAD /nonce")), "{}", log(&folder));
    assert!(has_asked("GET /dir"));
}

#[test]
fn a_refused_url_of_an_authority_names_no_setting_of_webhooks() {
    for (base, rule) in [
        ("http://127.0.0.1:1", "http:// is not allowed to 127.0.0.1; "),
        ("http://ca.example.com", "must begin with `https://`; "),
    ] {
        let authority = authority(Some(base), Duration::ZERO);
        let folder = authority.folder([0, 0], NAME);
        let _server = folder.serve();
        let said = format!(
            "{base}/nonce: not sent: {rule}the directory at `server.acme_directory` names it"
        );
        assert!(wait_until(WAIT, || log(&folder).contains(&said)), "{}", log(&folder));
        assert!(!log(&folder).contains("webhooks."), "{}", log(&folder));
    }
}

#[test]
fn an_unknown_authority_can_be_made_known_by_a_setting() {
    let authority = authority(None, Duration::ZERO);
    let folder = authority.folder([0, 0], NAME);
    let text = std::fs::read_to_string(folder.path().join("posture.toml")).unwrap();
    folder.write("posture.toml", text.replace("acme_ca_file = \"ca.pem\"\n", "").as_bytes());
    let _server = folder.serve();
    let said = "UnknownIssuer; if the authority is your own, name the file of its root in `server.acme_ca_file`";
    assert!(wait_until(WAIT, || log(&folder).contains(said)), "{}", log(&folder));
}
