//! Other people's samples through the front door.

use posture::import::{self, Format};

use crate::harness::process::Folder;
use crate::harness::sample::foreign;

/// Files that have no results that say something, with the words that they are refused with.
const NO_RESULTS: &[(&str, Format, &str)] = &[
    ("xccdf/arf_cpe_check_os_platform.xml", Format::Xccdf, "every record of the file was skipped"),
    (
        "xccdf/deb11-content-on-deb12-all-notapplicable.xml.gz",
        Format::Xccdf,
        "every record of the file was skipped, so nothing was imported: result notapplicable: the rule does not apply",
    ),
    ("xccdf/rds_results-xccdf.xml", Format::Xccdf, "no rule was selected"),
    (
        "stig_checklist/small_ckl_overrides.ckl",
        Format::StigChecklist,
        "it is not known which host the results are about",
    ),
];

#[test]
#[ignore = "needs other people's samples"]
fn a_file_without_results_says_so() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client("Acme");
    for (file, format, words) in NO_RESULTS {
        let bytes = foreign(file);
        let head = &bytes[..bytes.len().min(import::HEAD_BYTES_MAX)];
        assert_eq!(import::detect(head), Some(*format), "{file}");
        folder.write("file.xml", &bytes);
        let done = folder.run(&["import", "--client", "Acme", "--observed-at", "now", "file.xml"]);
        assert!(done.code == 1 && done.err.contains(words), "{file}: {}", done.err);
    }
    let all = folder.json(&["import", "list", "--client", "Acme"])["data"].clone();
    assert_eq!(all.as_array().unwrap().len(), 0, "{all}");
}
