//! Sealed secrets, and the file with the key to them.

mod canary;
mod rotate;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use posture::error::Code;
use posture::secret::{Locked, Sealer};
use tempfile::TempDir;

use crate::harness::process::Folder;

#[test]
fn a_secret_opens_with_its_key_at_its_place_and_nowhere_else() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("posture.key");
    let key = Sealer::open(&path).unwrap();
    let sealed = key.seal("webhooks/1/secret", "whsec_x");
    assert!(!sealed.windows(7).any(|it| it == b"whsec_x"));
    let again = Sealer::open(&path).unwrap();
    assert_eq!(again.open_sealed("webhooks/1/secret", &sealed).unwrap(), "whsec_x");
    assert_eq!(again.open_sealed("webhooks/2/secret", &sealed), Err(Locked::Damaged));
    let other = Sealer::random();
    assert_eq!(other.open_sealed("webhooks/1/secret", &sealed), Err(Locked::OtherKey));
    for at in 0..sealed.len() {
        let mut broken = sealed.clone();
        broken[at] ^= 1;
        assert!(again.open_sealed("webhooks/1/secret", &broken).is_err(), "byte {at}");
        assert!(again.open_sealed("webhooks/1/secret", &sealed[..at]).is_err(), "cut at {at}");
    }
    assert_ne!(sealed, key.seal("webhooks/1/secret", "whsec_x"), "never sealed alike");
}

#[test]
fn a_key_file_is_for_its_owner_alone() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("posture.key");
    Sealer::open(&path).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    for open_to in [0o640, 0o604, 0o644] {
        fs::set_permissions(&path, fs::Permissions::from_mode(open_to)).unwrap();
        let error = Sealer::open(&path).unwrap_err();
        assert_eq!(error.code, Code::Invalid);
        assert!(error.message().contains("chmod 600"), "{error}");
    }
}

/// systemd passes a credential on as a file of root that an access list, and so its group bits, lets the service read.
#[test]
fn a_key_file_that_is_provided_may_be_for_the_group_of_root_and_is_never_made() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("posture.key");
    let error = Sealer::open_provided(&path).unwrap_err();
    assert!(error.message().contains("No such file"), "{error}");
    assert!(!path.exists());
    Sealer::open(&path).unwrap();
    let is_of_root = fs::metadata(&path).unwrap().uid() == 0;
    for (mode, is_safe) in
        [(0o400, true), (0o440, is_of_root), (0o640, is_of_root), (0o660, false), (0o404, false)]
    {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(Sealer::open_provided(&path).is_ok(), is_safe, "{mode:o}");
    }
}

#[test]
fn the_configuration_says_where_the_key_file_is() {
    let folder = Folder::new();
    let text = "[server]\nlisten = \"127.0.0.1:0\"\n[data]\ndir = \"data\"\nkey_file = \"key\"\n";
    folder.write("posture.toml", text.as_bytes());
    let done = folder.run(&["serve"]);
    assert!(done.code == 1 && done.err.contains("cannot read key: No such file"), "{}", done.err);
    Sealer::open(&folder.path().join("key")).unwrap();
    assert!(folder.serve().stop().success());
    assert!(!folder.path().join("data/posture.key").exists());
}

#[test]
fn what_is_no_key_file_is_refused_and_left_alone() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("posture.key");
    for text in ["", "short", "AAAA", &"A".repeat(1_000)] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let error = Sealer::open(&path).unwrap_err();
        assert!(error.message().contains("32 bytes in base64"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}
