//! What is packaged beside the executable fits the executable.

mod needs_proxies;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::CommandFactory;
use posture::cli::Cli;

use crate::document::NODE_METRICS;
use crate::harness::process::Folder;
use crate::harness::{Posture, send};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of a command and of those below it, as manual pages join them.
fn names(command: &clap::Command, above: &str) -> Vec<String> {
    let name = format!("{above}{}", command.get_name());
    let below = command.get_subcommands().flat_map(|it| names(it, &format!("{name}-")));
    below.chain([name.clone()]).collect()
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = Folder::new();
    assert_eq!(folder.ok(&["man", "pages/man1"]), "");
    let pages = folder.path().join("pages/man1");
    let mut expected = names(&Cli::command(), "");
    expected.sort();
    let mut written: Vec<String> = fs::read_dir(&pages)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .filter(|it| !it.contains("-help"))
        .map(|it| it.strip_suffix(".1").expect("a page of section 1").to_owned())
        .collect();
    written.sort();
    assert_eq!(written, expected);
    let page = fs::read_to_string(pages.join("posture-key-issue.1")).unwrap();
    assert!(page.contains(".SH NAME") && page.contains("\\-\\-scope"), "{page}");
    folder.write("file", b"");
    let done = folder.run(&["man", "file/pages"]);
    assert!(done.code == 1 && done.err.contains("cannot write to file/pages"), "{}", done.err);
}

/// `packaging/licenses` writes the list.
#[test]
fn the_licenses_are_those_of_what_is_inside() {
    let mut tree = Command::new(env!("CARGO"));
    tree.args([
        "tree",
        "--package",
        "posture",
        "--locked",
        "--offline",
        "-e",
        "normal",
        "--prefix",
        "none",
    ]);
    tree.args(["--target", "x86_64-unknown-linux-musl", "--format", "{p}|{l}"]);
    let tree = tree.current_dir(root()).output().unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let rows = tree.lines().filter_map(|line| {
        let (package, license) = line.trim_end_matches(" (*)").split_once('|')?;
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        let license = license.replace(" / ", " OR ").replace('/', " OR ");
        (!name.starts_with("posture")).then(|| format!("{name}\t{version}\t{license}"))
    });
    let inside: BTreeSet<String> = rows.collect();
    let list = text("assets/licenses/list.tsv");
    let is_crate = |it: &&str| !it.contains("\t-\t");
    let listed: BTreeSet<String> = list.lines().filter(is_crate).map(str::to_owned).collect();
    assert_eq!(listed, inside, "run packaging/licenses");

    let folder = Folder::new();
    let data = folder.json(&["licenses"])["data"].as_array().unwrap().clone();
    assert_eq!(data.len(), list.lines().count());
    assert!(data.iter().any(|it| it["name"] == "redb" && it["license"] == "MIT OR Apache-2.0"));
    assert!(data.iter().any(|it| it["name"] == "musl"), "what is no crate is listed too");
    let texts = folder.ok(&["licenses", "--texts"]);
    for part in ["Apache License", "Permission is hereby granted", "Unicode", "Boost Software"] {
        assert!(texts.contains(part), "{part}");
    }
}

/// The names of metrics in a text.
fn metrics(text: &str) -> BTreeSet<String> {
    let words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    words.filter(|it| it.starts_with("posture_")).map(str::to_owned).collect()
}

#[test]
fn dashboard_and_alerts_ask_for_metrics_that_are_served() {
    let posture = Posture::start();
    posture.app.note_certificate(Some(posture.now())); // One metric is there only with HTTPS.
    posture.set_microsoft_app("2027-01-01T00:00:00Z"); // And one only with an app.
    send(posture.address, "GET", "/healthz", &[], b""); // Only what was answered has numbers.
    let mut known = metrics(&send(posture.address, "GET", "/metrics", &[], b"").text());
    known.extend(NODE_METRICS.map(str::to_owned));
    for name in ["packaging/grafana-dashboard.json", "packaging/prometheus-alerts.yml"] {
        let asked = metrics(&text(name));
        assert!(6 < asked.len() && asked.is_subset(&known), "{name}: {asked:?} of {known:?}");
    }
    let _: serde_json::Value =
        serde_json::from_str(&text("packaging/grafana-dashboard.json")).unwrap();
}

#[test]
fn every_file_that_goes_into_a_package_is_there() {
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    let packages = &manifest["package"]["metadata"];
    let debian = packages["deb"]["assets"].as_array().unwrap().iter().map(|it| it[0].as_str());
    let rpm = packages["generate-rpm"]["assets"].as_array().unwrap();
    let rpm = rpm.iter().map(|it| it["source"].as_str());
    let script = text("packaging/build");
    let (mut n_kept, mut n_made) = (0, 0);
    for source in debian.chain(rpm).map(Option::unwrap) {
        if let Some(made) = source.strip_prefix("target/packaging/") {
            let name = made.split('/').next().unwrap();
            assert!(script.contains(&format!("$out/{name}")), "packaging/build makes no {made}");
            n_made += 1;
        } else {
            assert!(root().join(source).is_file(), "{source}");
            n_kept += 1;
        }
    }
    assert!(15 < n_kept && 10 < n_made, "{n_kept}, {n_made}");
}

/// Needs systemd-analyze.
mod needs_systemd {
    use super::{Command, PathBuf, fs, root, text};
    use crate::harness::process::{Folder, binary};

    /// Tenths of what `systemd-analyze security` calls exposure.
    const EXPOSURE_MAX: &str = "15";

    #[test]
    #[ignore = "needs systemd-analyze"]
    fn the_unit_is_well_formed_and_keeps_the_service_apart() {
        let folder = Folder::new();
        let unit: PathBuf = folder.path().join("posture.service");
        let program = binary().to_str().unwrap().to_owned();
        // What a package installs is not there: the executable and its manual page.
        let here = text("packaging/posture.service").replace("/usr/bin/posture", &program);
        let here: String = here
            .lines()
            .filter(|it| !it.starts_with("Documentation="))
            .fold(String::new(), |all, line| all + line + "\n");
        fs::write(&unit, here).unwrap();
        let verified = Command::new("systemd-analyze").arg("verify").arg(&unit).output().unwrap();
        let said = String::from_utf8_lossy(&verified.stderr);
        assert!(verified.status.success() && said.is_empty(), "{said}");

        let mut security = Command::new("systemd-analyze");
        security.args(["security", "--offline=true", "--threshold", EXPOSURE_MAX]);
        let security = security.arg(root().join("packaging/posture.service")).output().unwrap();
        let said = String::from_utf8_lossy(&security.stdout);
        assert!(security.status.success(), "{said}");
    }
}

/// Needs promtool, which comes with Prometheus.
mod needs_promtool {
    use super::{Command, root};

    #[test]
    #[ignore = "needs promtool"]
    fn the_alerts_are_well_formed() {
        let file = root().join("packaging/prometheus-alerts.yml");
        let checked = Command::new("promtool").args(["check", "rules"]).arg(file).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}
