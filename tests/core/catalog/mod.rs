//! The catalogue: what its files may say, and what ours hold.

mod content;
mod fatal;
mod others;
mod proof;
mod shares;

use posture_core::catalog::load;
use posture_core::engine::catalog::facet::FacetSet;
use posture_core::engine::catalog::{Catalog, CheckLink};
use posture_core::engine::framework::{ControlRole, FrameworkId};
use posture_core::engine::severity::Severity;

const CONTROLS: &str = r#"
[[category]]
code = "ID"
name = "Identity"

[[category]]
code = "NET"
name = "Network"

[[control]]
code = "ID-01"
title = "Everybody uses a second factor"
severity = "critical"
decided_by = ["assessor", "connector"]
platforms = ["m365", "google"]
max_age_days = 35
requires = "Every user needs a second factor."
risk = "A stolen password opens every door."
remediation = "Turn on the defaults that ask for a second factor."
also = ["NET-01"]
gap = "Users have no second factor"

[[control]]
code = "NET-01"
title = "Nothing risky is exposed"
severity = "high"
decided_by = ["scan", "attestation"]
platforms = []
max_age_days = 365
requires = "No risky service answers from outside."
question = "Has somebody looked from outside?"
risk = "Whoever finds it first walks in."
remediation = "Close the ports that nobody outside needs to reach."
gap = "Risky services are exposed"
formerly = ["NET-90", "NET-91"]
open_findings = { tools = ["prowler"], severity = "high" }
checks_min = 20
"#;

const PROWLER: &str = r#"
tool = "prowler"
category = "NET"

[controls]
"ID-01" = ["users_have_mfa", "admins_have_mfa"]
"NET-01" = ["users_have_mfa"]

[gaps]
"NET-01" = ["admins_have_mfa"]
"#;

const FRAMEWORK: &str = r#"
id = "{id}"
name = "A framework"
version = "1"
readiness = "mean"
source = "A published document"
date = "2026-11-20"
groups = ["Basic", "Full"]
review = { at = "2026-11-20", method = "unreviewed", sample = 3, right = 2, arguable = 1, wrong = 0 }

[[row]]
reference = "A.1"
level = "requirement"
title = "First"
description = "What must be true so that the first row is met."
gate = true
groups = ["Full", "Basic"]
controls = [
  { code = "ID-01", role = "decides", why = "It is what is asked", within_days = 14 },
  { code = "NET-01", role = "supports", why = "It is a good sign" },
]

[[row]]
reference = "A.1.1"
level = "requirement"
parent = "A.1"
title = "Second"
description = "What must be true so that the second row is met."
applies = "creditReports"
formerly = ["A.0.1"]
controls = [{ code = "NET-01", role = "supports", why = "It is a good sign" }]

[[row]]
reference = "A.1.d"
level = "detail"
parent = "A.1"
title = "Detail"
description = "What must be true so that the detail is met."
controls = [{ code = "NET-01", role = "supports", why = "It is a good sign" }]

[[row]]
reference = "A.1.e"
level = "detail"
title = "Narrow detail"
description = "What must be true so that the narrow detail is met."
controls = [{ code = "NET-01", role = "supports", why = "It is a good sign", alone = true }]
"#;

/// A small catalogue without problems.
fn files() -> Vec<(String, String)> {
    let frameworks = FrameworkId::CONTRACT.map(|id| {
        let name = format!("frameworks/{}.toml", id.as_str());
        (name, FRAMEWORK.replace("{id}", id.as_str()))
    });
    let others = [("controls.toml", CONTROLS), ("checks/prowler.toml", PROWLER)];
    let others = others.map(|(name, text)| (name.to_owned(), text.to_owned()));
    others.into_iter().chain(frameworks).collect()
}

fn load_all(files: &[(String, String)]) -> Result<Catalog, Vec<String>> {
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    load(&files).map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

/// The problems after the first `from` in one file of the small catalogue became `to`, without the folder's name.
fn problems(name: &str, from: &str, to: &str) -> Vec<String> {
    let mut files = files();
    let text = &mut files.iter_mut().find(|(it, _)| it == name).expect("a file of ours").1;
    assert!(text.contains(from), "{name} has no {from:?}");
    *text = text.replacen(from, to, 1);
    let problems = load_all(&files).err().unwrap_or_default();
    problems.into_iter().map(|it| it.replacen("assets/catalog/", "", 1)).collect()
}

#[test]
fn a_catalogue_without_problems_loads() {
    let catalog = load_all(&files()).unwrap();
    assert_eq!(catalog.frameworks.len(), FrameworkId::CONTRACT.len());
    let framework = catalog.find_framework(FrameworkId::Soc2).unwrap();
    assert_eq!(framework.id, FrameworkId::Soc2);
    let [first, second, detail, _] = framework.rows.as_slice() else { panic!("four rows") };
    assert!(first.gate && !second.gate);
    assert_eq!((first.parent, second.parent), (None, Some(0)));
    assert_eq!(detail.parent, None, "its controls are not its requirement's");
    assert_eq!(second.applies.as_deref(), Some("creditReports"));
    assert_eq!(catalog.controls[first.controls[1].control].code, "NET-01");
    assert_eq!(first.controls[0].within_days, Some(14));
    assert_eq!((framework.groups[0].as_str(), first.groups.as_slice()), ("Basic", &[0, 1][..]));
    assert_eq!((second.formerly[0].as_str(), second.groups.len()), ("A.0.1", 0));
    let exposed = &catalog.controls[1];
    assert_eq!(exposed.gap, "Risky services are exposed");
    let findings = exposed.open_findings.as_ref().unwrap();
    assert_eq!((findings.tools[0].as_str(), findings.severity), ("prowler", Severity::High));
    assert_eq!(exposed.formerly, ["NET-90", "NET-91"]);
    let link = |control, shows| CheckLink { control, shows, fails: shows, needs_others: false };
    let (whole, gaps) = (FacetSet::WHOLE, FacetSet::NONE);
    let links = |check: &str| catalog.links_of_check("prowler", check).into_owned();
    assert_eq!(links("users_have_mfa"), [link(0, whole), link(1, whole)]);
    assert_eq!(links("admins_have_mfa"), [link(0, whole), link(1, gaps)]);
    assert_eq!(links("another"), []);
    assert_eq!(catalog.categories[catalog.tools["prowler"].category].code, "NET");
    assert_eq!(catalog.categories[catalog.controls[1].category].name, "Network");
}

/// Controls with two facets, of the first of which one failure is enough.
#[test]
fn a_gap_may_name_the_facet_of_which_its_failure_is_one() {
    let facets = r#"any = ["inside"]
facets = [
    { name = "inside", says = "Nothing answers inside" },
    { name = "outside", says = "Nothing answers outside", platforms = ["aws"] },
]
"#;
    let with = |gaps: &str, facets: &str| {
        let mut files = files();
        files[0].1 = CONTROLS.replace("checks_min = 20\n", facets);
        let found = "[controls]\n\"ID-01\" = [\"users_have_mfa\"]\n";
        files[1].1 = format!("tool = \"prowler\"\ncategory = \"NET\"\n{found}{gaps}");
        load_all(&files)
    };
    let gaps = "[gaps]\n\"NET-01\" = [\"a\"]\n\"NET-01.inside\" = [\"b\", \"c\"]\n\"NET-01.outside\" = [\"c\"]\n\
                [together]\n\"NET-01.outside\" = [[\"b\", \"c\"], [\"b\", \"a\"]]\n";
    let catalog = with(gaps, facets).unwrap();
    let of = |check: &str| {
        let link = catalog.links_of_check("prowler", check)[0];
        (link.shows, link.fails, link.needs_others)
    };
    let (none, inside, outside) = (FacetSet::NONE, FacetSet::one(0), FacetSet::one(1));
    assert_eq!(of("a"), (none, none, false));
    assert_eq!(of("b"), (outside, inside.with(outside), true));
    assert_eq!(of("c"), (none, inside.with(outside), false));
    let groups =
        catalog.tools["prowler"].together["b"].iter().map(|it| (it.shows, it.checks[0].as_str()));
    assert_eq!(groups.collect::<Vec<_>>(), [(outside, "c"), (outside, "a")]);
    assert_eq!(catalog.controls[1].facets[1].platforms, ["aws"]);
    let twice = with(&gaps.replace("[\"a\"]", "[\"b\"]"), facets).unwrap_err();
    assert!(twice[0].ends_with("check \"b\" appears more than once"), "{twice:?}");
    let lotus = with(gaps, &facets.replace("\"aws\"", "\"lotus\"")).unwrap_err();
    assert!(lotus[0].ends_with("platforms: unknown platform \"lotus\""), "{lotus:?}");
}

#[test]
fn a_specific_control_supports_the_rows_of_its_general_one() {
    let catalog = load_all(&files()).unwrap();
    let [first, second, detail, narrow] =
        catalog.find_framework(FrameworkId::Soc2).unwrap().rows.as_slice()
    else {
        panic!("four rows")
    };
    assert_eq!(narrow.controls.len(), 1, "it is mapped alone");
    assert_eq!(first.controls.len(), 2, "it is there already");
    for row in [second, detail] {
        let [written, linked] = row.controls.as_slice() else { panic!("two controls") };
        assert_eq!((written.control, linked.control), (1, 0));
        assert_eq!(linked.role, ControlRole::Supports);
        assert_eq!(linked.why, "Part of NET-01: Nothing risky is exposed");
    }
}

/// Each: the place of the problem, what is replaced in the small catalogue by what, the problem.
const WRONG: &str = r#"
controls.toml:12 | "Everybody uses a second factor" => "x" | control "ID-01": title: must have 5 to 100 characters, not 1
controls.toml:25 | title = "Nothing => titel = 3\ntitle = "Nothing | control "NET-01": unknown key "titel"
controls.toml:23 | severity = "high"\n => | control "NET-01": missing key "severity"
controls.toml:26 | "high" => "awful" | control "NET-01": severity: must be one of "critical", "high", "medium", "low", not "awful"
controls.toml:26 | "high" => 5 | control "NET-01": severity: must be a string, not an integer
controls.toml:14 | ["assessor" => ["oracle" | control "ID-01": decided_by: must be one of "assessor", "connector", "scan", "dns", "push", "attestation", "derived", not "oracle"
controls.toml:14 | ["assessor", "connector"] => [] | control "ID-01": decided_by: must not be empty
controls.toml:14 | ["assessor" => ["connector" | control "ID-01": decided_by: "connector" appears more than once
controls.toml:15 | "google"] => "lotus"] | control "ID-01": platforms: must be one of "m365", "google", "aws", "azure", "gcp", "kubernetes", "otherIdentity", "saas", "onPremNetwork", "mobileDevices", "servers", "customerWebApps", "cardPayments", "softwareDevelopment", "criminalJusticeInformation", "educationRecords", not "lotus"
controls.toml:16 | = 35\n => = 0\n | control "ID-01": max_age_days: must be 1 to 3650, not 0
controls.toml:16 | = 35\n => = 3651\n | control "ID-01": max_age_days: must be 1 to 3650, not 3651
controls.toml:16 | = 35\n => = -1\n | control "ID-01": max_age_days: must be 1 to 3650, not -1
controls.toml:16 | = 35\n => = \n | string values must be quoted, expected literal string
controls.toml:23 | question =  => #  | control "NET-01": question: is required with attestation in decided_by, and not allowed without it
controls.toml:31 | "scan", "attestation" => "scan" | control "NET-01": question: is required with attestation in decided_by, and not allowed without it
controls.toml:30 | from outside." => from outside. " | control "NET-01": requires: must be one line without leading or trailing spaces
controls.toml:19 | Turn on the defaults that ask => Ask | control "ID-01": remediation: must have 40 to 600 characters, not 24
controls.toml:20 | "NET-01" => "NET-02" | control "ID-01": also: no other control "NET-02"
controls.toml:20 | "NET-01" => "ID-01" | control "ID-01": also: no other control "ID-01"
controls.toml:34 | Risky services are exposed => No | control "NET-01": gap: must have 5 to 100 characters, not 2
controls.toml:35 | "NET-90" => "NET-91" | control "NET-01": formerly: "NET-91" appears more than once
controls.toml:35 | "NET-90" => "ID-01" | control "NET-01": formerly: "ID-01" is still a control
controls.toml:10 | gap =  => # | control "ID-01": missing key "gap"
controls.toml:36 | severity = "high" } => severity = "bad" } | control "NET-01": severity: must be one of "critical", "high", "medium", "low", not "bad"
controls.toml:37 | checks_min = 20 => checks_min = 0 | control "NET-01": checks_min: must be 1 to 1000, not 0
controls.toml:2 | [[category]] => [[classes]]\n[[category]] | unknown key "classes"
controls.toml:7 | code = "NET" => code = "ID" | category "ID": another category has this code
controls.toml:8 | "Network" => "Identity" | category "NET": another category has the name "Identity"
controls.toml:24 | code = "NET-01" => code = "WIFI-1" | control "WIFI-1": the code must be a category's code, a hyphen and two digits
controls.toml:24 | code = "NET-01" => code = "ID-01" | control "ID-01": another control has this code
frameworks/SOC2.toml:2 | id = "SOC2" => id = "HIPAA" | id: "HIPAA" does not match the file's name
frameworks/SOC2.toml:1 | name = "A framework"\n => | missing key "name"
frameworks/SOC2.toml:5 | "mean" => "best" | readiness: must be one of "mean", "sprs", "compliant_share", not "best"
frameworks/SOC2.toml:5 | "mean" => "sprs" | the sprs weights sum to 0, must be 313
frameworks/SOC2.toml:7 | 2026-11-20 => 2026-02-30 | date: "2026-02-30" is not a date such as 2026-01-31
frameworks/SOC2.toml:9 | review =  => viewer = "me"\nreview =  | unknown key "viewer"
frameworks/SOC2.toml:1 | review =  => # | missing key "review"
frameworks/SOC2.toml:9 | { at = "2026-11-20" => { at = "today" | at: "today" is not a date such as 2026-01-31
frameworks/SOC2.toml:9 | right = 2 => right = 3 | review: right, arguable and wrong must sum to sample
frameworks/SOC2.toml:8 | "Full" => "Basic" | groups: "Basic" appears more than once
frameworks/SOC2.toml:17 | ["Full", "Basic"] => ["Full", "Best"] | row "A.1": groups: "Best" is not a group of the framework
frameworks/SOC2.toml:19 | within_days = 14 => within_days = 0 | row "A.1": within_days: must be 1 to 3650, not 0
frameworks/SOC2.toml:30 | "A.0.1" => "A.1.d" | row "A.1.1": formerly: "A.1.d" is still a row
frameworks/SOC2.toml:24 | "A.1.1" => "A.1" | row "A.1": another row has this reference
frameworks/SOC2.toml:28 | the second row => the first row | row "A.1.1": the description duplicates that of row "A.1"
frameworks/SOC2.toml:28 | What must be true so that the second => The second | row "A.1.1": description: must have 40 to 300 characters, not 22
frameworks/SOC2.toml:27 | "Second" => "2" | row "A.1.1": title: must have 2 to 240 characters, not 1
frameworks/SOC2.toml:13 | level = "requirement" => level = "note" | row "A.1": level: must be one of "requirement", "detail", not "note"
frameworks/SOC2.toml:16 | gate = true => gate = "yes" | row "A.1": gate: must be a boolean, not a string
frameworks/SOC2.toml:16 | gate = true => gates = true | row "A.1": unknown key "gates"
frameworks/SOC2.toml:29 | creditReports => bank | row "A.1.1": applies: must be one of "paymentServiceProvider", "creditReports", not "bank"
frameworks/SOC2.toml:12 | gate = true => sprs = { weight = 5 } | row "A.1": sprs requires readiness = "sprs"
frameworks/SOC2.toml:26 | parent = "A.1" => parent = "A.9" | row "A.1.1": parent "A.9" is unknown
frameworks/SOC2.toml:26 | parent = "A.1" => parent = "A.1.d" | row "A.1.1": parent "A.1.d" is of level detail
frameworks/SOC2.toml:24 | parent = "A.1" => parent = "A.1.1" | row "A.1.1": is its own ancestor
frameworks/SOC2.toml:24 | level = "requirement" => level = "detail" | row "A.1.1": requirements must come before details
frameworks/SOC2.toml:20 | "NET-01" => "XYZ-9" | row "A.1": unknown control "XYZ-9"
frameworks/SOC2.toml:20 | "NET-01" => "ID-01" | row "A.1": control "ID-01" appears more than once
frameworks/SOC2.toml:19 | "decides" => "proves" | row "A.1": role: must be one of "decides", "supports", not "proves"
frameworks/SOC2.toml:19 | "It is what is asked" => "So" | row "A.1": why: must have 10 to 160 characters, not 2
frameworks/SOC2.toml:19 | role = "decides",  => | row "A.1": missing key "role"
frameworks/SOC2.toml:19 | role =  => weight = 3, role =  | row "A.1": unknown key "weight"
frameworks/SOC2.toml:31 | [{ code = "NET-01", role = "supports", why = "It is a good sign" }] => [] | row "A.1.1": no controls
frameworks/SOC2.toml:31 | [{ code = "NET-01", role = "supports", why = "It is a good sign" }] => ["NET-01"] | row "A.1.1": controls: must be a table, not a string
checks/prowler.toml:2 | tool = "prowler" => tool = "maester" | tool: "maester" does not match the file's name
checks/prowler.toml:7 | "NET-01" => "NET-09" | unknown control or facet "NET-09"
checks/prowler.toml:6 | "admins_have_mfa" => "users_have_mfa" | control "ID-01": check "users_have_mfa" appears more than once
checks/prowler.toml:7 | ["users_have_mfa"] => [] | control "NET-01": no checks
checks/prowler.toml:7 | ["users_have_mfa"] => [3] | NET-01: must be a string, not an integer
checks/prowler.toml:7 | ["users_have_mfa"] => 3 | NET-01: must be an array, not an integer
checks/prowler.toml:10 | ["admins_have_mfa"] => ["users_have_mfa"] | control "NET-01": check "users_have_mfa" appears more than once
checks/prowler.toml:10 | ["admins_have_mfa"] => [] | control "NET-01": no checks
checks/prowler.toml:1 | [controls] => [control] | missing key "controls"
checks/prowler.toml:3 | "NET" => "FOO" | category: unknown category "FOO"
checks/prowler.toml:1 | category = "NET"\n => | missing key "category"
checks/prowler.toml:2 | tool => tools = 1\ntool | unknown key "tools"
"#;

#[test]
fn every_broken_rule_is_reported_at_its_line() {
    for case in WRONG.lines().filter(|it| !it.is_empty()) {
        let [place, change, message] =
            case.splitn(3, " | ").collect::<Vec<_>>().try_into().expect("three parts");
        let name = place.split(':').next().unwrap();
        let (from, to) = change.split_once(" =>").expect("from and to");
        let to = to.strip_prefix(' ').unwrap_or(to);
        let found = problems(name, &from.replace("\\n", "\n"), &to.replace("\\n", "\n"));
        // One change may break a second rule; the case is about this one.
        let expected = format!("{place}: {message}");
        assert!(found.contains(&expected), "{expected}\nis not in {found:#?}");
    }
}

#[test]
fn a_longer_circle_of_parents_is_refused_at_each_of_its_rows() {
    let found = problems("frameworks/SOC2.toml", "gate = true", "parent = \"A.1.1\"");
    let expected = [
        "frameworks/SOC2.toml:12: row \"A.1\": is its own ancestor",
        "frameworks/SOC2.toml:24: row \"A.1.1\": is its own ancestor",
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_problem_of_every_file_is_reported_by_file_and_line() {
    let mut files = files();
    files[0].1 = CONTROLS.replace("= 35\n", "= 0\n").replace("\"high\"", "\"awful\"");
    let soc2 = &mut files[2].1;
    *soc2 = soc2.replace("gate", "gates").replace("\"decides\"", "\"proves\"");
    let found = load_all(&files).unwrap_err();
    let expected = [
        "assets/catalog/controls.toml:16: control \"ID-01\": max_age_days: must be 1 to 3650, not 0",
        "assets/catalog/controls.toml:26: control \"NET-01\": severity: must be one of \"critical\", \"high\", \"medium\", \"low\", not \"awful\"",
        "assets/catalog/controls.toml:36: control \"NET-01\": severity: must be one of \"critical\", \"high\", \"medium\", \"low\", not \"awful\"",
        "assets/catalog/frameworks/SOC2.toml:16: row \"A.1\": unknown key \"gates\"",
        "assets/catalog/frameworks/SOC2.toml:19: row \"A.1\": role: must be one of \"decides\", \"supports\", not \"proves\"",
    ];
    assert_eq!(found, expected);
}

#[test]
fn everything_that_is_not_toml_is_reported() {
    let mut files = files();
    files[0].1.push_str("\nx = \ny = [\n");
    files[2].1.push_str("\nid = \"SOC2\"\nid = \"SOC2\"\n");
    let found = load_all(&files).unwrap_err();
    assert!(
        found.iter().any(|it| it.starts_with("assets/catalog/controls.toml:39: ")),
        "{found:#?}"
    );
    assert!(
        found.iter().any(|it| it.starts_with("assets/catalog/controls.toml:40: ")),
        "{found:#?}"
    );
    let twice = "assets/catalog/frameworks/SOC2.toml:49: duplicate key".to_owned();
    assert!(found.contains(&twice), "{found:#?}");
}

#[test]
fn files_that_are_missing_unknown_or_there_twice_are_named() {
    let mut files = files();
    let hipaa = files.iter().position(|(name, _)| name == "frameworks/HIPAA.toml").unwrap();
    files.remove(hipaa);
    files.push(("frameworks/OTHER.toml".to_owned(), FRAMEWORK.to_owned()));
    files.push(("notes.toml".to_owned(), String::new()));
    files.push(files[1].clone());
    let found = load_all(&files).unwrap_err();
    let expected = [
        "assets/catalog/checks/prowler.toml: appears more than once",
        "assets/catalog/frameworks/OTHER.toml: unknown framework identifier",
        "assets/catalog/notes.toml: not a file of the catalog",
        "assets/catalog/frameworks/HIPAA.toml: missing",
    ];
    assert_eq!(found, expected);
    let none = load(&[]).unwrap_err();
    assert_eq!(none.len(), 12, "the controls and eleven frameworks are missing: {none:?}");
}

#[test]
fn sprs_weights_sum_to_the_whole_scale() {
    let row = |number: u32, sprs: &str| {
        format!(
            "[[row]]\nreference = \"R{number}\"\nlevel = \"requirement\"\ntitle = \"Row\"\n\
             description = \"What must be true so that row number {number} is met.\"\nsprs = {sprs}\n\
             controls = [{{ code = \"ID-01\", role = \"decides\", why = \"It is what is asked\" }}]\n"
        )
    };
    let head = FRAMEWORK.split("[[row]]").next().unwrap();
    let head = head.replace("{id}", "CMMC_L2").replace("\"mean\"", "\"sprs\"");
    let most: String = (0..62).map(|it| row(it, "{ weight = 5, partial = 3 }")).collect();
    let with = |last: &str| {
        let mut files = files();
        let text = &mut files.iter_mut().find(|(it, _)| it.ends_with("CMMC_L2.toml")).unwrap().1;
        *text = format!("{head}{most}{}", row(62, last));
        load_all(&files)
    };
    let catalog = with("{ weight = 3, poam = false }").unwrap();
    let rows = &catalog.find_framework(FrameworkId::CmmcL2).unwrap().rows;
    let sprs = [rows[0].sprs.unwrap(), rows[62].sprs.unwrap()];
    assert_eq!(sprs.map(|it| (it.weight, it.partial)), [(5, Some(3)), (3, None)]);
    let name = "assets/catalog/frameworks/CMMC_L2.toml";
    let less = format!("{name}:5: the sprs weights sum to 311, must be 313");
    assert_eq!(with("{ weight = 1 }").unwrap_err(), [less]);
    let partial = format!("{name}:450: row \"R62\": sprs: partial must be less than weight");
    assert_eq!(with("{ weight = 3, partial = 3 }").unwrap_err(), [partial]);
}

#[test]
fn the_digest_tells_catalogues_apart_and_not_their_order() {
    let digest = |files: &[(String, String)]| load_all(files).unwrap().digest;
    let mut turned = files();
    turned.reverse();
    assert_eq!(digest(&files()), digest(&turned));
}

#[test]
fn only_content_makes_another_catalogue_and_only_what_decides_another_framework() {
    let digests = |from: &str, to: &str| {
        let mut files = files();
        let changed = files.iter_mut().filter(|it| it.1.contains(from)).map(|it| &mut it.1).next();
        let text = changed.unwrap();
        *text = text.replacen(from, to, 1);
        let catalog = load_all(&files).unwrap();
        let of = |id| catalog.find_framework(id).unwrap().digest;
        (catalog.digest, of(FrameworkId::Soc2), of(FrameworkId::Hipaa))
    };
    let now = digests("[[row]]", "[[row]]");
    assert_eq!(digests("[[row]]", "# The first.\n\n[[row]]"), now, "a comment");
    let (all, soc2, hipaa) = digests("It is what is asked", "It is just what is asked");
    assert_eq!((soc2, hipaa), (now.1, now.2), "a text decides nothing");
    assert_ne!(all, now.0, "and is shown");
    let (all, soc2, hipaa) = digests("within_days = 14", "within_days = 15");
    assert_eq!(hipaa, now.2, "another framework");
    assert!(all != now.0 && soc2 != now.1, "a rule of one framework");
    let (_, soc2, hipaa) = digests(r#"["users_have_mfa"]"#, r#"["users_sign_in"]"#);
    assert!(soc2 != now.1 && hipaa != now.2, "a check of a control of both");
}
