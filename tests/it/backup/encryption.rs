//! Backups that only the owner of a secret key can read.

use std::str::FromStr;

use age::secrecy::ExposeSecret;
use age::x25519::Identity;

use super::restored_with;
use crate::harness::process::{Done, Folder};

/// Nobody's keys.
fn keys() -> (Identity, String, String) {
    let identity = Identity::generate();
    let (public, secret) = (identity.to_public().to_string(), identity.to_string());
    (identity, public, secret.expose_secret().to_owned())
}

fn folder(recipient: &str) -> Folder {
    let folder = Folder::new();
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\n[backup]\nrecipients = [\"{recipient}\"]\n"
    );
    folder.write("posture.toml", text.as_bytes());
    folder
}

fn holds(file: &[u8], words: &str) -> bool {
    file.windows(words.len()).any(|it| it == words.as_bytes())
}

#[test]
fn an_encrypted_backup_opens_with_the_secret_key_alone() {
    let (_, public, secret) = keys();
    let (_, _, other) = keys();
    let folder = folder(&public);
    folder.client("Canary Holdings");
    let said = folder.ok(&["backup", "one.age"]);
    assert!(said.contains("it is encrypted to backup.recipients"), "{said}");
    let file = std::fs::read(folder.path().join("one.age")).unwrap();
    assert!(file.starts_with(b"age-encryption.org/v1\n"));
    assert!(!holds(&file, "Canary Holdings"));
    let names: Vec<String> = std::fs::read_dir(folder.path().join("data"))
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!names.iter().any(|it| it.starts_with("backup-")), "no clear copy is left: {names:?}");

    std::fs::rename(folder.path().join("data"), folder.path().join("lost")).unwrap();
    let refused = |args: &[&str], message: &str| {
        let Done { code, err, .. } = folder.run(args);
        assert_eq!((code, err.as_str()), (1, format!("posture: one.age: {message}\n").as_str()));
    };
    let missing = "is encrypted; pass the file of the secret key with --identity FILE";
    refused(&["restore", "one.age"], missing);
    folder.write("other.txt", other.as_bytes());
    let wrong = "is encrypted to other keys than that of the identity file";
    refused(&["restore", "one.age", "--identity", "other.txt"], wrong);
    folder.write("public.txt", public.as_bytes());
    let none = "the identity file has no secret key of age (AGE-SECRET-KEY-1...)";
    refused(&["restore", "one.age", "--identity", "public.txt"], none);
    folder.write("key.txt", format!("# created today\n{secret}\n").as_bytes());
    folder.ok(&["restore", "one.age", "--identity", "key.txt"]);
    assert_eq!(folder.json(&["client", "list"])["data"][0]["name"], "Canary Holdings");

    let server = folder.serve();
    let drill = folder.ok(&["backup", "drill", "one.age", "--identity", "key.txt"]);
    assert!(drill.starts_with("one.age, made at "), "{drill}");
    server.stop();
    assert!(!holds(&std::fs::read(folder.path().join("serve.log")).unwrap(), &secret));
    assert!(!folder.ok(&["audit", "list", "--json"]).contains(&secret));
}

#[test]
fn a_changed_encrypted_backup_is_refused() {
    let (_, public, secret) = keys();
    let folder = folder(&public);
    folder.client("Acme");
    folder.ok(&["backup", "one.age"]);
    let whole = std::fs::read(folder.path().join("one.age")).unwrap();
    let file = folder.path().join("changed.age");
    for at in [0, 30, 100, 180, 250, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        std::fs::write(&file, bytes).unwrap();
        let dir = folder.path().join("new");
        assert!(restored_with(&file, &dir, Some(&secret)).is_err(), "byte {at}");
        assert!(!dir.join("posture.redb").exists());
    }
    for length in [10, 200, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&file, &whole[..length]).unwrap();
        assert!(restored_with(&file, &folder.path().join("new"), Some(&secret)).is_err());
    }
}

#[test]
fn a_secret_key_is_not_accepted_as_a_recipient() {
    let (_, _, secret) = keys();
    assert!(Identity::from_str(&secret).is_ok());
    let folder = folder(&secret);
    let Done { code, err, .. } = folder.run(&["status"]);
    assert_eq!(code, 1);
    assert!(err.contains("is a secret key; put the public key here"), "{err}");
    assert!(!err.contains(&secret));
}
