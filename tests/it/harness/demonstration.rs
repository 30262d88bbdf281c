//! The demonstration. It takes long to make: one test makes it for all of them.

use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::LazyLock;

use super::postgres;
use super::process::{Beside, Folder, signal};

static FILES: LazyLock<[(&str, Vec<u8>); 2]> = LazyLock::new(|| {
    let folder = Folder::new();
    make(&folder);
    ["posture.key", "posture.redb"]
        .map(|name| (name, std::fs::read(folder.path().join("data").join(name)).unwrap()))
});

impl Folder {
    /// With the demonstration, as the start that completed it left it. On PostgreSQL each test makes its own.
    pub(crate) fn demonstration() -> Self {
        let folder = Self::new();
        if !postgres::is_wanted() {
            let data = folder.path().join("data");
            DirBuilder::new().mode(0o700).create(&data).unwrap();
            for (name, bytes) in &*FILES {
                let mut options = File::options();
                let options = options.write(true).create_new(true).mode(0o600);
                options.open(data.join(name)).unwrap().write_all(bytes).unwrap();
            }
        }
        folder
    }
}

/// In three starts: the first one is killed, the second one is asked to stop.
fn make(folder: &Folder) {
    let (mut demo, said) = until(folder, "week 6 of 26");
    assert!(
        said[0].contains("filling the database with made-up clients: week 1 of 26"),
        "{said:?}"
    );
    demo.kill();
    let server = folder.serve();
    assert!(server.stop().success());
    let log = std::fs::read_to_string(folder.path().join("serve.log")).unwrap();
    assert!(log.contains("the demonstration portfolio is not complete"), "{log}");

    let (mut demo, said) = until(folder, "week 11 of 26");
    assert!(!said.iter().any(|it| it.contains("http://")), "{said:?}");
    signal(demo.id(), "-TERM");
    let rest: String =
        std::iter::repeat_with(|| demo.line()).take_while(|it| !it.is_empty()).collect();
    assert!(demo.wait().success());
    assert!(rest.contains("stopped; the next `posture serve --demo` continues"), "{rest}");
    assert!(!rest.contains("http://") && !rest.contains("password"), "no banner: {rest}");

    let server = folder.serve_with(&["--demo"]);
    let mut line = String::new();
    while !line.contains("X-API-Key") {
        line = server.line();
        assert!(!line.contains("is revoked"), "there was no key before: {line}");
    }
    assert!(server.stop().success());
}

/// The demonstration until it says something that contains `wanted`; everything that it said.
fn until(folder: &Folder, wanted: &str) -> (Beside, Vec<String>) {
    let mut demo = folder.serve_beside_with(&["--demo"]);
    let mut said = Vec::new();
    while !said.last().is_some_and(|it: &String| it.contains(wanted)) {
        said.push(demo.line());
        assert_ne!(said.last().unwrap(), "", "it never says {wanted}: {said:?}");
    }
    (demo, said)
}
