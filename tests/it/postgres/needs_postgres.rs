//! The tests that need a PostgreSQL server.

mod failover;
mod moving;
mod node;
mod opening;
mod partition;
mod replica;
mod standby;

use serde_json::json;

use crate::harness::process::{Folder, Server};

/// A folder whose service uses this database.
pub(super) fn folder(url: &str) -> Folder {
    let folder = Folder::new();
    folder.write("database.url", url.as_bytes());
    folder.write("posture.toml", CONFIG.as_bytes());
    folder
}

pub(super) const CONFIG: &str = "\
[server]
listen = \"127.0.0.1:0\"
[data]
dir = \"data\"
[database]
engine = \"postgres\"
url_file = \"database.url\"
";

/// Another node of the same installation.
pub(super) fn other_node(first: &Folder, url: &str) -> Folder {
    let other = folder(url);
    std::fs::create_dir(other.path().join("data")).unwrap();
    let key = "data/posture.key";
    std::fs::copy(first.path().join(key), other.path().join(key)).unwrap();
    other
}

/// The name of the database of a URL.
fn name(url: &str) -> &str {
    url.rsplit('/').next().unwrap().split('?').next().unwrap()
}

/// Pushes an asset; the status.
fn push(server: &Server, key: &str, client: &str, name: &str) -> u16 {
    let body = json!({
        "clientId": client, "name": name, "externalId": name, "assetType": "server",
    });
    server.send("POST", key, "/assets", &body).status
}

/// The names of all assets, sorted.
fn assets(server: &Server, key: &str, client: &str) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        let path = format!("/clients/{client}/assets?limit=100&offset={}", names.len());
        let answer = server.get(key, &path);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let page = answer.json()["data"].as_array().unwrap().clone();
        if page.is_empty() {
            names.sort_unstable();
            return names;
        }
        names.extend(page.iter().map(|it| it["name"].as_str().unwrap().to_owned()));
    }
}

/// The sequences of all events, as they are listed.
fn events(folder: &Folder) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::new();
    loop {
        let after = all.last().copied().unwrap_or(0);
        let page = folder.ask(&format!("/api/events?after={after}&limit=100"));
        let page = page["data"].as_array().unwrap().clone();
        if page.is_empty() {
            return all;
        }
        let sequence = |it: &serde_json::Value| it["data"]["object"]["sequence"].as_u64().unwrap();
        all.extend(page.iter().map(sequence));
    }
}
