//! What the authority is told of the account, and of an order that was cut off.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::Value;

use super::front::Front;
use crate::harness::process::Folder;
use crate::harness::sink::Request;

fn log(folder: &Folder) -> String {
    std::fs::read_to_string(folder.path().join("serve.log")).unwrap()
}

/// How many certificates were stored.
fn n_issued(folder: &Folder) -> usize {
    folder.ok(&["audit", "list"]).matches("certificate issued for").count()
}

/// What the signed request says.
fn said(request: &Request) -> Option<Value> {
    let signed: Value = serde_json::from_slice(&request.body).ok()?;
    let said = BASE64_URL_SAFE_NO_PAD.decode(signed["payload"].as_str()?).ok()?;
    serde_json::from_slice(&said).ok()
}

/// The contacts that were sent in requests to such a path, in order.
fn contacts(front: &Front, path: &str) -> Vec<Value> {
    let requests = front.requests();
    let sent = requests.iter().filter(|it| it.line.starts_with(&format!("POST {path}")));
    sent.filter_map(|it| said(it)?.get("contact").cloned()).collect()
}

mod needs_pebble {
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{contacts, log, n_issued};
    use crate::acme::front::Front;
    use crate::acme::needs_pebble::{NAME, OTHER, WAIT, connect, free_ports};
    use crate::acme::pebble::Pebble;
    use crate::harness::process::{signal, wait_until};

    #[test]
    #[ignore = "needs Pebble"]
    fn a_changed_address_is_told_to_the_authority_with_the_next_order() {
        let ports = free_ports();
        let pebble = Pebble::start(ports[0], ports[1]);
        let (front, root) = (Front::of(&pebble, |_| ()), pebble.root());
        let folder = front.folder(ports, NAME);
        let plain = std::fs::read_to_string(folder.path().join("posture.toml")).unwrap();
        let n_ordered = Cell::new(0);
        let order = |domain: &'static str, email: Option<&str>| {
            let email = email.map(|it| format!("acme_email = \"{it}\"\n")).unwrap_or_default();
            let text =
                plain.replace(NAME, domain).replace("[server]\n", &format!("[server]\n{email}"));
            folder.write("posture.toml", text.as_bytes());
            let server = folder.serve();
            let is_presented = || connect(server.address, &root, domain).is_some();
            assert!(wait_until(WAIT, is_presented), "{}", log(&folder));
            // It is presented before it is stored.
            let n = n_ordered.replace(n_ordered.get() + 1) + 1;
            assert!(wait_until(WAIT, || n_issued(&folder) == n), "{}", log(&folder));
            assert!(server.stop().success());
        };
        let told = || contacts(&front, "/my-account/");
        order(NAME, Some("it@example.com"));
        assert!(contacts(&front, "/sign-me-up").contains(&json!(["mailto:it@example.com"])));
        assert_eq!(told(), [] as [Value; 0], "it was told with the account");
        order(OTHER, Some("new@example.com"));
        order(NAME, Some("new@example.com"));
        assert_eq!(told(), [json!(["mailto:new@example.com"])]);
        let n_told = told().len();
        order(OTHER, Some("new@example.com"));
        assert_eq!(told().len(), n_told, "it was told before");
        order(NAME, None);
        assert_eq!(told(), [json!(["mailto:new@example.com"]), json!([])]);
        assert!(!log(&folder).contains("could not be told"), "{}", log(&folder));
    }

    #[test]
    #[ignore = "needs Pebble"]
    fn an_order_that_was_cut_off_is_continued_after_a_restart() {
        let ports = free_ports();
        let pebble = Pebble::start(ports[0], ports[1]);
        let [is_finalized, is_free] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let root = pebble.root();
        let (finalized, free) = (Arc::clone(&is_finalized), Arc::clone(&is_free));
        let front = Front::of(&pebble, move |request| {
            if request.line.starts_with("POST /finalize-order/") {
                finalized.store(true, Ordering::SeqCst);
            }
            // Nothing after that is answered until the service was killed.
            while finalized.load(Ordering::SeqCst) && !free.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let folder = front.folder(ports, NAME);
        let server = folder.serve();
        assert!(wait_until(WAIT, || is_finalized.load(Ordering::SeqCst)), "{}", log(&folder));
        signal(server.id(), "-KILL");
        drop(server);
        let placed = || {
            let requests = front.requests();
            requests.iter().filter(|it| it.line.starts_with("POST /order-plz")).count()
        };
        let n_placed = placed();
        is_free.store(true, Ordering::SeqCst);
        let server = folder.serve();
        let is_presented = |name| connect(server.address, &root, name).is_some();
        assert!(wait_until(WAIT, || is_presented(NAME)), "{}", log(&folder));
        assert_eq!(placed(), n_placed, "no other order: {}", log(&folder));
        assert!(wait_until(WAIT, || n_issued(&folder) == 1), "{}", log(&folder));
        assert!(server.stop().success());

        // It came to its end: other names are another order.
        let text = std::fs::read_to_string(folder.path().join("posture.toml")).unwrap();
        folder.write("posture.toml", text.replace(NAME, OTHER).as_bytes());
        let server = folder.serve();
        let is_presented = || connect(server.address, &root, OTHER).is_some();
        assert!(wait_until(WAIT, is_presented), "{}", log(&folder));
        assert!(n_placed < placed());
        assert!(!log(&folder).contains("cannot be continued"), "{}", log(&folder));
        assert!(server.stop().success());
    }
}
