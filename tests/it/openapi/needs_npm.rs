//! Tools that others wrote read the document: two linters, and a generator of typed clients.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::tool;

/// Runs a program of the Node packages in a folder, and returns what it writes.
///
/// # Errors
/// The same when it fails.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
    let program = folder.join("node_modules/.bin").join(program);
    let mut command = Command::new(&program);
    command.args(arguments).current_dir(folder);
    // Neither asks for a newer version nor tells where it runs.
    command.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    let done = command.output().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let written = [done.stdout, done.stderr].concat();
    let written = String::from_utf8_lossy(&written).into_owned();
    if done.status.success() { Ok(written) } else { Err(written) }
}

const COMPILER: &str = r#"{
    "compilerOptions": {
        "module": "esnext", "moduleResolution": "bundler", "target": "es2022", "lib": ["es2022", "dom"],
        "strict": true, "noEmit": true, "skipLibCheck": true, "types": []
    },
    "files": ["client.ts"]
}"#;

#[test]
#[ignore = "needs the Node packages that tests/tools installs"]
fn linters_and_generators_read_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    std::os::unix::fs::symlink(tool::npm().join("node_modules"), folder.join("node_modules"))
        .unwrap();
    write("openapi.json", &crate::openapi::DOCUMENT);
    write("redocly.yaml", "extends: [recommended]\n");
    write(".spectral.yaml", "extends: [\"spectral:oas\"]\n");
    write("tsconfig.json", COMPILER);
    write("client.ts", include_str!("client.ts"));
    let run = |program, arguments: &[&str]| match run(folder, program, arguments) {
        Ok(written) => written,
        Err(written) => panic!("{program}:\n{written}"),
    };
    run("redocly", &["lint", "openapi.json"]);
    run("spectral", &["lint", "openapi.json", "--fail-severity=error"]);
    run("openapi-typescript", &["openapi.json", "--output", "api.d.ts"]);
    run("tsc", &["--project", "tsconfig.json"]);
}
