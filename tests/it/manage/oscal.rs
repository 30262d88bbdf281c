//! Reports as OSCAL assessment results, held against NIST's own schema.

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::controls::attest;
use super::{GOOD, MIXED, import, posted, read};
use crate::harness::Posture;

/// The schema of the format's newest release. Those of one minor version differ in corrections only.
fn schema() -> Validator {
    let text = include_str!("../../data/oscal/oscal_complete_schema.json");
    let schema: Value = serde_json::from_str(text).unwrap();
    let options = jsonschema::options().should_validate_formats(true);
    options.build(&schema).unwrap()
}

fn faults(schema: &Validator, document: &Value) -> Vec<String> {
    schema.iter_errors(document).map(|it| format!("{}: {it}", it.instance_path())).collect()
}

fn document(posture: &Posture, client: &str, framework: &str) -> Value {
    let path = format!("/api/clients/{client}/reports/{framework}?format=oscal");
    let answer = posture.operator("GET", &path, &Value::Null);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
    answer.json()
}

fn results(document: &Value) -> &Value {
    &document["assessment-results"]["results"][0]
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn property<'a>(object: &'a Value, name: &str) -> &'a str {
    let found = list(&object["props"]).find(|it| it["name"] == name).unwrap();
    found["value"].as_str().unwrap()
}

fn decide(posture: &Posture, client: &str, row: &str, body: &Value) {
    let path = format!("/api/clients/{client}/compliance/{row}");
    let answer = posture.operator("PUT", &path, body);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// A client with findings, attestations, evidence and decisions.
fn assessed(posture: &Posture) -> String {
    let client = posture.client_with(&json!({"name": " A & B <Ltd> "}));
    import(posture, &client, "", MIXED);
    attest(posture, &client, "GOV-06", &json!({"evidence": "https://wiki.example/plan?p=3"}));
    attest(posture, &client, "GOV-09", &json!({"evidence": "binder-7", "by": "Bob"}));
    let evidence = json!({
        "controlCode": "GOV-06", "title": "Plan", "reference": "share > plans", "by": "Ada",
    });
    posted(posture, &format!("/api/clients/{client}/evidence"), &evidence);
    let out = json!({"decision": "out_of_scope", "reason": "no\noffices", "by": "Ada"});
    decide(posture, &client, "SOC2/CC6.4", &out);
    let met = json!({"decision": "attested", "reason": "seen", "by": "Ada", "evidence": "plan"});
    decide(posture, &client, "HIPAA/164.310(a)(2)(i)", &met);
    client
}

/// References that cannot be identifiers, and two that differ only in such characters.
const ODD: &str = "id = 'ODD'\nname = 'Ours'\n\
    [[row]]\nreference = '1 (a)'\ntitle = 'First'\n\
    [[row]]\nreference = '1 [a'\ntitle = 'Second'\n\
    [[row]]\nreference = '1 {a'\ntitle = 'Third'\n\
    [[row]]\nreference = 'é/ß'\ntitle = 'Fourth'\n";

#[test]
fn every_framework_is_valid_by_the_schema_of_nist() {
    let posture = Posture::start();
    let schema = schema();
    posted(&posture, "/api/own-frameworks", &json!({ "toml": ODD }));
    let frameworks = read(&posture, "/api/frameworks");
    let clients = [assessed(&posture), posture.client("Nothing known")];
    let mut n_documents = 0;
    for framework in frameworks.as_array().unwrap() {
        let id = framework["frameworkId"].as_str().unwrap();
        for client in &clients {
            let document = document(&posture, client, id);
            assert_eq!(faults(&schema, &document), [""; 0], "{id}");
            let findings = list(&results(&document)["findings"]);
            let targets = findings.map(|it| it["target"]["target-id"].as_str().unwrap());
            let targets: Vec<_> = targets.collect();
            let different: BTreeSet<_> = targets.iter().collect();
            assert_eq!(different.len(), targets.len(), "{id}");
            n_documents += 1;
        }
    }
    assert_eq!(n_documents, 2 * 19);
    let mut broken = document(&posture, &clients[0], "SOC2");
    broken["assessment-results"]["results"][0]["findings"][0]["target"]["status"]["state"] =
        json!("compliant");
    assert_ne!(faults(&schema, &broken), [""; 0], "the schema is in use");
}

#[test]
fn only_what_is_compliant_is_satisfied() {
    let posture = Posture::start();
    let client = assessed(&posture);
    import(&posture, &client, "", GOOD);
    attest(&posture, &client, "GOV-01", &json!({"evidence": "e"}));
    let mut seen = BTreeSet::new();
    for framework in ["SOC2", "HIPAA", "NIST_CSF", "CIS_V8"] {
        let document = document(&posture, &client, framework);
        let results = results(&document);
        let detail = read(&posture, &format!("/api/clients/{client}/compliance/{framework}"));
        let mut findings = list(&results["findings"]);
        let selection = &results["reviewed-controls"]["control-selections"][0];
        let mut n_excluded = 0;
        for requirement in list(&detail["requirements"]) {
            let status = requirement["overallStatus"].as_str().unwrap();
            seen.insert(status.to_owned());
            if status == "not_applicable" {
                n_excluded += 1;
                continue;
            }
            let finding = findings.next().unwrap();
            assert_eq!(property(finding, "requirement"), requirement["requirement"]);
            assert_eq!(property(finding, "status"), status);
            let objective = &finding["target"]["status"];
            let expected = match status {
                "compliant" => ("satisfied", "pass"),
                "partial" => ("not-satisfied", "partial"),
                "non_compliant" => ("not-satisfied", "fail"),
                "not_assessed" => ("not-satisfied", "not-assessed"),
                other => panic!("{other}"),
            };
            assert_eq!(
                (&objective["state"], &objective["reason"]),
                (&json!(expected.0), &json!(expected.1))
            );
            let because = list(&requirement["because"]).map(|it| it.as_str().unwrap());
            let because = because.collect::<Vec<_>>().join("\n\n");
            assert_eq!(objective["remarks"].as_str().unwrap_or_default(), because);
        }
        assert!(findings.next().is_none(), "what does not apply has no finding");
        assert_eq!(list(&selection["exclude-controls"]).count(), n_excluded, "{framework}");
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
}

/// Every value of these members, wherever they are.
fn collect<'a>(value: &'a Value, names: &[&str], found: &mut BTreeSet<&'a str>) {
    for (name, member) in value.as_object().into_iter().flatten() {
        if names.contains(&name.as_str()) {
            found.extend(member.as_str());
            found.extend(list(member).filter_map(Value::as_str));
        }
        collect(member, names, found);
    }
    list(value).for_each(|it| collect(it, names, found));
}

#[test]
fn every_identifier_is_defined_in_the_document() {
    let posture = Posture::start();
    let client = assessed(&posture);
    for framework in ["SOC2", "HIPAA"] {
        let document = document(&posture, &client, framework);
        let (mut defined, mut named) = (BTreeSet::new(), BTreeSet::new());
        collect(&document, &["uuid"], &mut defined);
        let references =
            ["observation-uuid", "actor-uuid", "subject-uuid", "party-uuids", "component-uuid"];
        collect(&document, &references, &mut named);
        assert!(3 < named.len());
        assert!(named.is_subset(&defined), "{:?}", named.difference(&defined));
        let plan = document["assessment-results"]["import-ap"]["href"].as_str().unwrap();
        assert!(defined.contains(plan.strip_prefix('#').unwrap()));
    }
}

#[test]
fn an_observation_says_what_a_control_s_result_is_based_on() {
    let posture = Posture::start();
    let client = assessed(&posture);
    let document = document(&posture, &client, "HIPAA");
    let of = |code: &str| {
        let mut all = list(&results(&document)["observations"]);
        all.find(|it| property(it, "control") == code).unwrap()
    };
    let (plan, binder) = (of("GOV-06"), of("GOV-09"));
    assert_eq!(plan["methods"], json!(["EXAMINE"]));
    assert_eq!(plan["collected"], posture.now().to_string());
    assert_eq!(plan["relevant-evidence"][0]["href"], "https://wiki.example/plan?p=3");
    assert_eq!(plan["relevant-evidence"][1], json!({"description": "Plan (share > plans)"}));
    assert_eq!(binder["relevant-evidence"][0]["href"], Value::Null, "it is no link");
    let told = binder["relevant-evidence"][0]["description"].as_str().unwrap();
    assert!(told.contains(" by Bob ") && told.ends_with(" (binder-7)"), "{told}");
    let mut tested = list(&results(&document)["observations"]);
    let tested = tested.find(|it| it["methods"] == json!(["TEST"])).unwrap();
    assert_eq!(tested["origins"][0]["actors"][0]["type"], "tool");
    let statement = &results(&document)["attestations"][0]["parts"][0];
    assert_eq!((&statement["name"], &statement["prose"]), (&json!("attested"), &json!("seen")));
    assert_eq!(property(statement, "requirement"), "164.310(a)(2)(i)");
}

#[test]
fn requirements_of_nist_have_the_identifiers_of_its_catalogs() {
    let posture = Posture::start();
    let client = posture.client("A");
    for (framework, reference, control, statement) in [
        ("NIST_800_53", "AC-2", "ac-2", "ac-2_smt"),
        ("NIST_800_171_R3", "03.01.02", "SP_800_171_03.01.02", "statement_03.01.02"),
        ("NIST_CSF", "GV.RM", "GV.RM", "GV.RM_statement"),
        ("HIPAA", "164.308(a)(1)(ii)(A)", "HIPAA-164.308.a.1.ii.A", "HIPAA-164.308.a.1.ii.A_smt"),
    ] {
        let document = document(&posture, &client, framework);
        let results = results(&document);
        let is_it = |it: &&Value| property(it, "requirement") == reference;
        let finding = list(&results["findings"]).find(is_it).unwrap();
        assert_eq!(finding["target"]["target-id"], statement);
        let selection = &results["reviewed-controls"]["control-selections"][0];
        let mut included = list(&selection["include-controls"]);
        assert!(included.any(|it| it["control-id"] == control), "{control}");
    }
}

#[test]
fn the_same_state_gives_the_same_document() {
    let posture = Posture::start();
    let client = assessed(&posture);
    let read = || {
        let mut document = document(&posture, &client, "SOC2");
        let at = document["assessment-results"]["metadata"]["last-modified"].take();
        (at, document)
    };
    let (at, before) = read();
    posture.pass_s(60);
    let (later, same) = read();
    assert_ne!(later, at);
    assert_eq!(same, before);
    attest(&posture, &client, "GOV-01", &json!({"evidence": "e"}));
    let (_, after) = read();
    let version = |it: &Value| it["assessment-results"]["metadata"]["version"].clone();
    assert_ne!(version(&after), version(&before));
    let id = |it: &Value| it["assessment-results"]["uuid"].clone();
    assert_eq!(id(&after), id(&before), "it is still the report of this client and framework");
}
