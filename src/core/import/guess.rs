//! What a file looks like that is none of the known formats, and what to import instead.

use super::contains;

/// A kind of file: the texts in its beginning, all of which it has; what it is; and what to do.
type Look = (&'static [&'static str], &'static str, &'static str);

const FINDINGS: &str =
    "import the findings of the same run: prowler-output-*.ocsf.json, or the .csv beside it";
const RESULTS: &str = "import ScubaResults*.json of the same run";
const FACTS: &str = "what it found can be imported as facts";

/// The first that fits.
const LOOKS: &[Look] = &[
    (&["%PDF-"], "a PDF", "export the report as JSON, XML or CSV"),
    (
        &["<html"],
        "a web page",
        "export the report as JSON, XML or CSV; a download that needs a sign-in is a page, too",
    ),
    (&["\"observations\"", "\"source\""], "facts", "pass --format facts"),
    (&["REQUIREMENTS_ID", "CHECKID"], "a compliance report of Prowler", FINDINGS),
    (&["\"class_uid\": 2003", "\"Prowler\""], "a compliance report of Prowler", FINDINGS),
    (&["\"class_uid\""], "OCSF of another product than Prowler", FACTS),
    (
        &["Control ID", "Requirement", "Criticality"],
        "a table of ScubaGear or ScubaGoggles",
        RESULTS,
    ),
    (
        &["\"PolicyId\"", "\"RequirementMet\""],
        "the raw results of ScubaGear or ScubaGoggles",
        RESULTS,
    ),
    (
        &["<assessment-results"],
        "assessment results in OSCAL, as XML",
        "convert it to JSON, as `oscal-cli convert --to json` does",
    ),
    (&["\"plan-of-action-and-milestones\""], "a plan of action in OSCAL", FACTS),
    (&["\"affected_items\""], "an answer of Wazuh", FACTS),
    (&["group_id", "control_id"], "a table of Powerpipe", "export the report as JSON"),
    (
        &["ID,Category,Name,"],
        "a list of HardeningKitty",
        "import a report of it: Invoke-HardeningKitty -Mode Audit -Report",
    ),
    (&["Asset Tag"], "a list of assets", "pass --format inventory"),
    (
        &["Email", "End Date"],
        "a list of people",
        "pass --format leavers if it says when people leave",
    ),
];

/// What a file is that starts so, and what to do, as words for a sentence.
#[must_use]
pub fn look(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let found = LOOKS.iter().find(|it| it.0.iter().all(|part| contains(head, part.as_bytes())));
    found.map(|it| (it.1, it.2))
}
