//! `posture secrets rotate`: another key file, the same secrets.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use hmac::{Hmac, KeyInit, Mac};
use posture::app::certificate::{IssuedCertificate, ProvenOrder};
use posture::secret::Sealer;
use posture::store::global::certificate::AcmeContact;
use serde_json::Value;
use sha2::Sha256;

use crate::harness::Posture;
use crate::harness::process::{Done, Folder};
use crate::webhook::Receiver;

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
[data]
dir = "data"
[webhooks]
allow_http_networks = ["127.0.0.0/8"]
allow_private_networks = ["127.0.0.0/8"]
"#;

fn hex(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

fn refused(folder: &Folder, args: &[&str], message: &str) {
    let Done { code, out, err } = folder.run(args);
    assert_eq!((code, out.as_str(), err), (1, "", format!("posture: {message}\n")));
}

/// Two secrets, both in use, and a header.
struct Endpoint {
    id: String,
    old: String,
    new: String,
    receiver: Receiver,
}

impl Endpoint {
    fn add(folder: &Folder) -> Self {
        let receiver = Receiver::start();
        let url = receiver.sink.url();
        let words =
            ["webhook", "add", "--url", &url, "--event", "all", "--header", "X-Token: abc-123"];
        let made = folder.json(&words)["data"].clone();
        let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
        let (id, old) = (text(&made, "id"), text(&made, "secret"));
        let new = text(&folder.json(&["webhook", "rotate", &id])["data"], "secret");
        Self { id, old, new, receiver }
    }

    /// A delivery is signed with both secrets, and has the header.
    fn is_served(&self, folder: &Folder) {
        let n = self.receiver.requests().len();
        folder.ok(&["webhook", "test", &self.id]);
        let request = self.receiver.wait(n + 1);
        let header = |name: &str| request.header(name).unwrap().to_owned();
        assert_eq!(header("x-service-signature"), hex(&self.new, &request.body));
        assert_eq!(header("x-service-signature-previous"), hex(&self.old, &request.body));
        assert_eq!(header("x-token"), "abc-123");
    }
}

/// The names of key files that were kept.
fn kept(folder: &Folder) -> Vec<String> {
    let names = fs::read_dir(folder.path().join("data")).unwrap();
    let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
    names.filter(|it| it.starts_with("posture.key.until-")).collect()
}

#[test]
fn a_new_key_file_opens_the_same_secrets_and_the_old_one_is_kept_for_backups() {
    let folder = Folder::new();
    folder.write("posture.toml", CONFIG.as_bytes());
    let server = folder.serve();
    let endpoint = Endpoint::add(&folder);
    endpoint.is_served(&folder);
    folder.ok(&["backup", "one.redb"]);
    refused(&folder, &["secrets", "rotate"], "the service is running; stop it first");
    server.stop();
    let file = folder.path().join("data/posture.key");
    let before = fs::read(&file).unwrap();
    let said = folder.ok(&["secrets", "rotate"]);
    assert!(
        said.starts_with("4 values of the database sealed with the new key in data/posture.key\n"),
        "{said}"
    );
    let kept = kept(&folder);
    assert_eq!(kept.len(), 1);
    assert!(said.contains(&kept[0]), "{said}");
    let old_file = folder.path().join("data").join(&kept[0]);
    assert_eq!(fs::read(&old_file).unwrap(), before);
    assert_ne!(fs::read(&file).unwrap(), before);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!folder.path().join("data/posture.key.new").exists());

    let server = folder.serve();
    endpoint.is_served(&folder);
    let log = folder.json(&["audit", "list"])["data"].to_string();
    assert!(log.contains("rotate key file"), "{log}");
    assert_eq!(folder.json(&["audit", "verify"])["data"]["whole"], true);
    server.stop();

    let restored = folder.json(&["restore", "one.redb", "--replace"]);
    assert_eq!(restored["data"]["keyFile"], "other");
    fs::copy(&old_file, &file).unwrap();
    let server = folder.serve();
    endpoint.is_served(&folder);
    server.stop();
}

#[test]
fn an_interrupted_rotation_is_finished_or_forgotten_at_the_next_start() {
    let folder = Folder::new();
    folder.write("posture.toml", CONFIG.as_bytes());
    let server = folder.serve();
    let endpoint = Endpoint::add(&folder);
    server.stop();
    let data = folder.path().join("data");
    let path = |name: &str| data.join(name);
    // Interrupted before the database took it: the new file may be cut off.
    folder.write("data/posture.key.new", b"");
    folder.ok(&["client", "list"]);
    assert!(!path("posture.key.new").exists());
    Sealer::create(&path("posture.key.new")).unwrap();
    let before = fs::read(path("posture.key")).unwrap();
    folder.ok(&["client", "list"]);
    assert!(!path("posture.key.new").exists());
    assert_eq!(fs::read(path("posture.key")).unwrap(), before);
    // Interrupted after it.
    folder.ok(&["secrets", "rotate"]);
    let after = fs::read(path("posture.key")).unwrap();
    fs::rename(path("posture.key"), path("posture.key.new")).unwrap();
    fs::rename(path(&kept(&folder)[0]), path("posture.key")).unwrap();
    let server = folder.serve();
    endpoint.is_served(&folder);
    server.stop();
    assert_eq!(fs::read(path("posture.key")).unwrap(), after);
    assert_eq!(fs::read(path(&kept(&folder)[0])).unwrap(), before);
}

#[test]
fn a_provided_key_file_is_rotated_to_another() {
    let folder = Folder::new();
    let with_key = |name: &str| {
        CONFIG.replace("dir = \"data\"", &format!("dir = \"data\"\nkey_file = \"{name}\""))
    };
    folder.write("posture.toml", CONFIG.as_bytes());
    let unused = "--to is for an installation whose data.key_file names the key file; leave it out";
    refused(&folder, &["secrets", "rotate", "--to", "second"], unused);
    Sealer::create(&folder.path().join("first")).unwrap();
    folder.write("posture.toml", with_key("first").as_bytes());
    let server = folder.serve();
    let endpoint = Endpoint::add(&folder);
    server.stop();
    let missing = "data.key_file names a key file that Posture does not write; pass --to FILE for the new one";
    refused(&folder, &["secrets", "rotate"], missing);
    let said = folder.json(&["secrets", "rotate", "--to", "second"])["data"].clone();
    assert_eq!(
        (&said["keyFile"], &said["keptAs"], &said["sealed"]),
        (&"second".into(), &Value::Null, &4.into())
    );
    let other = "the key file is not the one that this database was last used with; put that one back first";
    refused(&folder, &["secrets", "rotate", "--to", "third"], other);
    folder.write("posture.toml", with_key("second").as_bytes());
    let server = folder.serve();
    endpoint.is_served(&folder);
    server.stop();
}

#[test]
fn sessions_end_and_the_key_of_the_certificate_stays() {
    let posture = Posture::start();
    let user = serde_json::json!({"email": "a@example.com", "role": "admin", "password": crate::strangers::world::PASSWORD});
    assert_eq!(posture.operator("POST", "/api/users", &user).status, 201);
    let token = posture.log_in("a@example.com", crate::strangers::world::PASSWORD);
    let issued = IssuedCertificate {
        directory: "https://ca.example/dir".to_owned(),
        domains: vec!["posture.example.com".to_owned()],
        chain_pem: "chain".to_owned(),
        key_pem: "key in clear".to_owned(),
    };
    posture.block_on(posture.app.put_certificate(issued)).unwrap();
    let order = ProvenOrder {
        directory: "https://ca.example/dir".to_owned(),
        domains: vec!["posture.example.com".to_owned()],
        url: "https://ca.example/order/1".to_owned(),
        at: posture.now(),
        key_pem: "its key in clear".to_owned(),
    };
    posture.block_on(posture.app.put_order(order)).unwrap();
    let contact = AcmeContact { directory: "https://ca.example/dir".to_owned(), email: None };
    posture.block_on(posture.app.put_acme_account(contact, "credentials")).unwrap();
    let (key, new) = (posture.dir().join("posture.key"), posture.dir().join("new"));
    let (old, fresh) = (Sealer::open(&key).unwrap(), Sealer::create(&new).unwrap());
    let done = posture.block_on(posture.app.reseal(old, fresh)).unwrap();
    assert_eq!((done.n_sealed, done.n_locked), (4, 0));
    let posture = posture
        .restart_after(|dir| fs::rename(dir.join("new"), dir.join("posture.key")).unwrap(), |_| ());
    let found = posture.block_on(posture.app.find_certificate()).unwrap().unwrap();
    assert_eq!((found.key_pem.as_str(), found.chain_pem.as_str()), ("key in clear", "chain"));
    let order = posture.block_on(posture.app.find_order()).unwrap().unwrap();
    assert_eq!(order.key_pem, "its key in clear");
    let account =
        posture.block_on(posture.app.find_acme_account("https://ca.example/dir")).unwrap();
    assert_eq!(account.as_deref(), Some("credentials"));
    assert_eq!(posture.as_user(&token, "GET", "/api/me", &Value::Null).status, 401);
}
