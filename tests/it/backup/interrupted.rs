//! What a stop interrupts: the command of the operator runs again after the start.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::SOON;
use crate::harness::process::{Folder, signal, wait_until};

/// The lines of a file. None if it does not exist.
fn lines(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_command_that_a_stop_interrupted_runs_again_for_the_same_backup() {
    for end in ["-KILL", "-TERM"] {
        let folder = Folder::new();
        std::fs::create_dir(folder.path().join("backups")).unwrap();
        // It ends once there is a file `go`; after a kill nobody ends the first one.
        let script = "echo \"$1\" >> log; while [ -e log ] && [ ! -e go ]; do sleep 0.1; done";
        let text = std::fs::read_to_string(folder.path().join("posture.toml")).unwrap();
        let command = json!(["sh", "-c", script, "sh", "{file}"]);
        let text = format!("{text}[backup]\ndir = \"backups\"\nafter_command = {command}\n");
        folder.write("posture.toml", text.as_bytes());
        let ran = || lines(&folder.path().join("log"));
        let server = folder.serve();
        assert!(wait_until(SOON, || ran().len() == 1), "{end}: the first run");
        signal(server.id(), end);
        drop(server);

        folder.write("go", b"");
        let server = folder.serve();
        assert!(wait_until(SOON, || ran().len() == 2), "{end}: the second run");
        let file = PathBuf::from(&ran()[0]);
        assert_eq!(ran()[1], ran()[0], "{end}");
        assert!(file.is_file(), "{end}");
        let made = std::fs::read_dir(folder.path().join("backups")).unwrap().count();
        assert_eq!(made, 1, "{end}: no other backup is made for it");
        assert_eq!(folder.ask("/api/system")["data"]["notices"], json!([]), "{end}: no failure");
        // The end of the command is stored after it.
        std::thread::sleep(std::time::Duration::from_secs(1));
        assert!(server.stop().success());

        // It came to its end: it does not run a third time.
        let server = folder.serve();
        folder.ok(&["backup"]);
        assert_eq!(ran().len(), 3, "{end}: {:?}", ran());
        assert_ne!(ran()[2], ran()[0], "{end}: it is of the new backup");
        assert!(server.stop().success());
    }
}
