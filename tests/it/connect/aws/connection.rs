//! AWS through the front door.

use std::fmt::Write as _;

use serde_json::Value;

use super::cloud::{Cloud, KEY_ID, ROLE, SECRET};
use crate::connect::tenant::{ran, say_all, shown, status};
use crate::harness::process::{Folder, Server};

/// A folder whose configuration leads to it.
pub fn folder(cloud: &Cloud) -> Folder {
    let folder = Folder::new();
    let mut text = String::from(
        "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[connect]\n\
         allow_http_networks = [\"127.0.0.0/8\"]\nallow_private_networks = [\"127.0.0.0/8\"]\nendpoints = { ",
    );
    for (from, to) in cloud.endpoints() {
        write!(text, "\"{from}\" = \"{to}\", ").unwrap();
    }
    folder.write("posture.toml", (text + "}\n").as_bytes());
    folder.write("key", KEY_ID.as_bytes());
    folder.write("secret", SECRET.as_bytes());
    folder
}

/// The command that adds a connection, without its key.
fn add(role: &str) -> Vec<&str> {
    vec!["connect", "add", "--no-wait", "aws", "--client", "Acme", "--set", role]
}

const KEY: [&str; 4] =
    ["--set-file", "access_key_id=key", "--set-file", "secret_access_key=secret"];

/// A client whose account was read once, in good order.
pub fn read_trusted(cloud: &Cloud) -> (Folder, Server, String, String) {
    let folder = folder(cloud);
    let server = folder.serve();
    let client = folder.client("Acme");
    let id = folder.ok(&[&add(&format!("role_arn={ROLE}"))[..], &KEY].concat());
    let id = id.trim_end().to_owned();
    ran(&folder, &id, &Value::Null);
    cloud.script.trust(&id);
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(shown(&folder, &id)["health"], "healthy");
    say_all(&folder, &client);
    (folder, server, client, id)
}

#[test]
fn a_role_is_awaited_until_it_trusts_the_connection_and_then_decides_controls() {
    let cloud = Cloud::start();
    let folder = folder(&cloud);
    let _server = folder.serve();
    let client = folder.client("Acme");
    let role = format!("role_arn={ROLE}");
    let mut add = add(&role);
    let refused = folder.run(&add);
    assert!(
        refused.err.contains("access_key_id") && refused.err.contains("is required"),
        "{}",
        refused.err
    );
    add.extend(KEY);
    let refused = folder.run(&[&add[..], &["--set", "role_arn=arn:aws:iam::1:role/x"]].concat());
    assert!(refused.err.contains("must be a role, like arn:aws:iam::"), "{}", refused.err);
    let id = folder.ok(&add).trim_end().to_owned();
    let now = ran(&folder, &id, &Value::Null);
    assert_eq!(now["health"], "pending", "{now}");
    let part = &now["parts"][0];
    let reason = part["streams"][0]["reason"].as_str().unwrap();
    assert!(reason.contains(&format!("with the ExternalId {id}")), "{reason}");
    assert!(part["notes"].to_string().contains(&id), "{part}");

    cloud.script.trust(&id);
    folder.ok(&["connect", "sync", &id]);
    let now = shown(&folder, &id);
    assert_eq!(now["health"], "healthy", "{now}");
    assert_eq!(status(&folder, &client, "CLD-01"), "partial", "there may be more accounts");
    say_all(&folder, &client);
    for code in ["CLD-01", "CLD-06", "CLD-10"] {
        assert_eq!(status(&folder, &client, code), "compliant", "{code}");
    }
    for code in ["CLD-05", "CLD-25"] {
        assert_eq!(status(&folder, &client, code), "partial", "{code}");
    }
    folder.ok(&["connect", "set", &id, "--set-file", "secret_access_key=key"]);
    let wrong = folder.run(&["connect", "sync", &id]);
    assert!(wrong.out.contains("the secret access key does not belong"), "{}", wrong.out);
    assert_eq!(status(&folder, &client, "CLD-01"), "compliant", "nothing changes");
    folder.ok(&["connect", "set", &id, "--set-file", "secret_access_key=secret"]);
    folder.ok(&["connect", "sync", &id]);
    let told = shown(&folder, &id).to_string() + &folder.ok(&["audit", "list", "--json"]);
    assert!(!told.contains(SECRET) && !told.contains(KEY_ID), "{told}");
}
