//! Files of an assessor, through the command line into a running server.

use super::figure::{Report, memory_kib, time};
use super::findings::{REAL_FINDING_BYTES, write};
use super::harness::process::Folder;
use super::{Bench, micros};

const MIB: u64 = 1024 * 1024;

pub(super) fn bench(bench: &mut Bench) {
    Report::section("Import of Prowler OCSF files (command line and server, to the commit)");
    let folder = Folder::new();
    let server = folder.serve();
    let client = folder.client("Acme");
    write(&folder, "small.json", 10_000, 600);
    let import = |file: &str| {
        let args = ["import", "--client", &client, file];
        micros(|| assert!(folder.ok(&args).contains("imported as")))
    };
    bench.goal("10,000 findings, first", import("small.json"), 1_000_000);
    let again = ["import", "--client", &client, "--again", "small.json"];
    bench.note("10,000 findings, again", micros(|| drop(folder.ok(&again))));
    assert!(server.stop().success());

    let server = folder.serve();
    let n_findings = 100 * MIB / REAL_FINDING_BYTES as u64;
    let n_bytes = write(&folder, "large.json", n_findings, REAL_FINDING_BYTES);
    let before = memory_kib(server.id(), "VmHWM");
    let micros = import("large.json");
    let at_most = memory_kib(server.id(), "VmHWM");
    let name = format!("{} MiB, {n_findings} findings", n_bytes / MIB);
    Report::note(&name, time(micros));
    let rate = n_bytes * 1_000_000 / micros / MIB;
    Report::note("rate", format!("{rate} MiB/s"));
    let value = format!("{} MiB ({} MiB before)", at_most / 1024, before / 1024);
    Report::note("resident memory of the server at most", value);
    assert!(server.stop().success());
}
