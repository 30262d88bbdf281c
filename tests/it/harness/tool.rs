//! Third-party tools, in the cache folder where `tests/tools` installs them.

use std::path::PathBuf;
use std::process::Command;

use sha2::{Digest, Sha256};

fn cache() -> PathBuf {
    let named = std::env::var_os("XDG_CACHE_HOME").filter(|it| !it.is_empty()).map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    named.unwrap_or_else(home).join("posture-tests")
}

/// The folder of the Node packages that the lock file names.
pub fn npm() -> PathBuf {
    let digest = Sha256::digest(include_bytes!("../../data/npm/package-lock.json"));
    let first = u64::from_be_bytes(digest[..8].try_into().unwrap());
    let folder = cache().join(format!("npm-{:012x}", first >> 16));
    assert!(folder.is_dir(), "{} is missing; tests/tools installs it", folder.display());
    folder
}

/// A Python with the package standardwebhooks.
pub fn python() -> PathBuf {
    let python = cache().join("venv-standardwebhooks-1.0.1/bin/python");
    assert!(python.is_file(), "{} is missing; tests/tools installs it", python.display());
    python
}

/// A Python with the package dnslib.
pub fn dnslib() -> PathBuf {
    let python = cache().join("venv-dnslib-0.9.26/bin/python");
    assert!(python.is_file(), "{} is missing; tests/tools installs it", python.display());
    python
}

/// A Python with the package aiosmtpd.
pub fn aiosmtpd() -> PathBuf {
    let python = cache().join("venv-aiosmtpd-1.4.6/bin/python");
    assert!(python.is_file(), "{} is missing; tests/tools installs it", python.display());
    python
}

/// A Python with the package pypdf.
pub fn pypdf() -> PathBuf {
    let python = cache().join("venv-pypdf-7.1.1/bin/python");
    assert!(python.is_file(), "{} is missing; tests/tools installs it", python.display());
    python
}

/// A Python with the package selenium.
pub fn selenium() -> PathBuf {
    let python = cache().join("venv-selenium-4.51.0/bin/python");
    assert!(python.is_file(), "{} is missing; tests/tools installs it", python.display());
    python
}

/// A Python with the package moto.
pub fn moto() -> PathBuf {
    let python = cache().join("venv-moto-5.2.5/bin/python");
    assert!(python.is_file(), "{} is missing; tests/tools installs it", python.display());
    python
}

/// A Python with the package pyotp.
pub fn pyotp() -> PathBuf {
    let python = cache().join("venv-pyotp-2.12.1/bin/python");
    assert!(python.is_file(), "{} is missing; tests/tools installs it", python.display());
    python
}

/// The program Schemathesis.
pub fn schemathesis() -> PathBuf {
    let program = cache().join("venv-schemathesis-4.32.5/bin/st");
    assert!(program.is_file(), "{} is missing; tests/tools installs it", program.display());
    program
}

/// The generator of clients.
pub fn openapi_generator_jar() -> PathBuf {
    let lib = cache().join("venv-openapi-generator-7.26.0/lib");
    let versions = std::fs::read_dir(lib).into_iter().flatten();
    let inside = "site-packages/openapi_generator_cli/openapi-generator.jar";
    let jar = versions.map(|it| it.unwrap().path().join(inside)).find(|it| it.is_file());
    jar.expect("openapi-generator is missing; tests/tools installs it")
}

/// A Python with what the clients need that it generates.
pub fn openapi_generator_python() -> PathBuf {
    let python = cache().join("venv-openapi-generator-7.26.0/bin/python");
    assert!(python.is_file(), "{} is missing; tests/tools installs it", python.display());
    python
}

/// The programs of Pebble, an ACME authority for tests.
pub fn pebble(name: &str) -> PathBuf {
    let program = cache().join("pebble/usr/bin").join(name);
    assert!(program.is_file(), "{} is missing; tests/tools installs it", program.display());
    program
}

/// The folder with the packages of Samba, to lay over this machine's own files.
pub fn samba() -> PathBuf {
    let folder = cache().join("samba");
    assert!(folder.is_dir(), "{} is missing; tests/tools installs it", folder.display());
    folder
}

/// The folder with the packages of PostgreSQL.
fn postgres_folder() -> PathBuf {
    cache().join("postgresql")
}

/// A program of PostgreSQL.
pub fn postgres(name: &str) -> PathBuf {
    let versions = std::fs::read_dir(postgres_folder().join("usr/lib/postgresql"));
    let programs = versions.ok().into_iter().flatten();
    let programs = programs.map(|it| it.unwrap().path().join("bin").join(name));
    let program = programs.filter(|it| it.is_file()).max();
    program.expect("PostgreSQL is missing; tests/tools installs it")
}

/// Where the libraries of these programs are that this machine does not have.
pub fn postgres_libraries() -> PathBuf {
    postgres_folder().join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH))
}

/// A proxy that an example in `packaging` is for, with the libraries that this machine does not have.
pub fn proxy(name: &str) -> Command {
    let folder = cache().join("proxies");
    let programs = ["usr/sbin", "usr/bin"].map(|it| folder.join(it).join(name));
    let program = programs.iter().find(|it| it.is_file());
    let program = program.unwrap_or_else(|| panic!("{name} is missing; tests/tools installs it"));
    let mut command = Command::new(program);
    let libraries = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    command.env("LD_LIBRARY_PATH", folder.join(libraries));
    command
}

/// The library that sets the clock of a process which is started with it.
pub fn faketime() -> PathBuf {
    let library = cache().join("faketime/libfaketimeMT.so.1");
    assert!(library.is_file(), "{} is missing; tests/tools installs it", library.display());
    library
}

/// What Patroni and etcd are run by.
pub fn patroni(name: &str) -> PathBuf {
    let program = cache().join("patroni-4.1.5").join(name);
    assert!(program.is_file(), "{} is missing; tests/tools installs it", program.display());
    program
}
