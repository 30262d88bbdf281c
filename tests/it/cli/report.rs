//! Reports that `posture export` and `posture portfolio` write.

use serde_json::Value;

use super::{now_s, on_terminal, refusal, some_checks};
use crate::harness::http::send_socket;
use crate::harness::process::Folder;

fn folder() -> (Folder, String) {
    let folder = Folder::new();
    let client = folder.client("Acme Ltd");
    folder.write("some.json", &some_checks(now_s()));
    folder.ok(&["import", "--client", &client, "some.json"]);
    (folder, client)
}

const OF_ACME: [&str; 5] = ["export", "--client", "acme ltd", "--framework", "soc2"];

fn read(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path().join(name)).unwrap()
}

#[test]
fn a_report_is_what_the_api_answers() {
    let (folder, client) = folder();
    let alone = folder.ok(&OF_ACME);
    let _server = folder.serve();
    let asked = |path: &str| send_socket(&folder.socket(), "GET", path, &[], b"");
    let report = format!("/api/clients/{client}/reports/SOC2");
    assert_eq!(alone, asked(&report).text(), "CSV by default, and without a server too");
    assert_eq!(folder.ok(&[&OF_ACME[..], &["--format", "csv"]].concat()), alone);
    folder.write("soc2.csv", b"old");
    let saved = folder.ok(&[&OF_ACME[..], &["--output", "soc2.csv"]].concat());
    assert_eq!(saved, "soc2.csv: written\n");
    assert_eq!(read(&folder, "soc2.csv"), alone.as_bytes());
    let oscal = folder.ok(&[&OF_ACME[..], &["--format", "oscal"]].concat());
    let oscal: Value = serde_json::from_str(&oscal).unwrap();
    let title = &oscal["assessment-results"]["metadata"]["title"];
    assert!(title.as_str().unwrap().ends_with(": Acme Ltd"), "{title}");
    folder.ok(&[&OF_ACME[..], &["--format", "xlsx", "-o", "soc2.xlsx"]].concat());
    assert!(read(&folder, "soc2.xlsx").starts_with(b"PK"));
    let portfolio = folder.ok(&["portfolio", "--format", "csv"]);
    assert_eq!(portfolio, asked("/api/portfolio/report").text());
    folder.ok(&["portfolio", "--format", "xlsx", "--output", "all.xlsx"]);
    assert!(read(&folder, "all.xlsx").starts_with(b"PK"));
}

#[test]
fn a_spreadsheet_is_never_written_to_a_terminal() {
    let (folder, _) = folder();
    for args in
        [[&OF_ACME[..], &["--format", "xlsx"]].concat(), vec!["portfolio", "--format", "xlsx"]]
    {
        let done = on_terminal(&folder, 200, &args);
        let says = "posture: a terminal cannot show a spreadsheet; name a file, such as --output report.xlsx\n";
        assert_eq!((done.code, &*done.out), (1, says), "{args:?}");
    }
    let shown = on_terminal(&folder, 200, &OF_ACME);
    let table = folder.ok(&OF_ACME);
    let without_mark = table.strip_prefix('\u{feff}').unwrap();
    assert_eq!((shown.code, &*shown.out), (0, without_mark));
}

#[test]
fn a_report_that_is_refused_leaves_no_file() {
    let (folder, _) = folder();
    let unknown = ["export", "--client", "acme ltd", "--framework", "soc3", "-o", "soc3.csv"];
    let done = folder.run(&unknown);
    assert!(refusal(&done).contains("unknown framework; must be one of"), "{}", done.err);
    assert!(!folder.path().join("soc3.csv").exists());
    let done = folder.run(&[&OF_ACME[..], &["-o", "."]].concat());
    assert!(refusal(&done).contains("such as ./report.csv"), "{}", done.err);
    for args in [
        &["export", "--framework", "SOC2"][..],
        &["export", "--client", "acme ltd", "--format", "csv"],
        &["portfolio", "--output", "all.csv"],
        &["portfolio", "--format", "oscal"],
        &["portfolio", "--format", "csv", "--sort", "name"],
    ] {
        assert_eq!(folder.run(args).code, 2, "{args:?}");
    }
}
