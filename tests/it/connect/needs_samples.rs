//! The tests that need other people's samples: what `ScubaGear` and `ScubaGoggles` read from the DNS of real tenants, beside what
//! they say of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use posture::connect::reading::JudgedStatus::{self, Compliant, NonCompliant, Partial};
use serde_json::Value;

use super::zone::{DOMAIN, Zone, find};
use crate::harness::sample;

/// Their verdict on one domain beside ours.
struct Case {
    policy: &'static str,
    records: Vec<String>,
    theirs: bool,
    ours: Option<JudgedStatus>,
}

/// Where both differ, and why ours stays.
///
/// - `MS.EXO.4.1`, `MS.EXO.4.2` (v1.8) and `GWS.GMAIL.4.1`, `GWS.GMAIL.4.2`: the domain has two DMARC records. RFC 7489, 6.6.3,
///   has receivers ignore both. `ScubaGoggles` says so too ("will fail the policy check"), `ScubaGear` passes it.
/// - `GWS.GMAIL.2.1`: the key in the sample is cut off (390 of 392 characters), so that no mail can be verified by it. Scuba only
///   looks whether there is a record.
/// - `GWS.GMAIL.4.2`: it asks for `p=reject`; our control, as our catalog has it, accepts `quarantine`. No sample has one.
const DIFFERENT: [&str; 3] = ["MS.EXO.4.1", "MS.EXO.4.2", "GWS.GMAIL.2.1"];

fn raw(path: &str) -> Value {
    let bytes = sample::foreign(path);
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    serde_json::from_slice::<Value>(bytes).unwrap()["Raw"].take()
}

/// What was read of each domain. One alone is not in a list.
fn reads(raw: &Value, name: &str) -> Vec<Value> {
    raw[name].as_array().cloned().unwrap_or_else(|| vec![raw[name].clone()])
}

/// The records, and without what a query left between the strings of one.
fn records(read: &Value) -> Vec<String> {
    let all = read["rdata"].as_array().unwrap().iter();
    all.map(|it| it.as_str().unwrap().replace("\" \"", "")).collect()
}

fn judge(check: &str, at: &str, records: &[String]) -> Option<JudgedStatus> {
    // Real includes are not in the samples: they are there, with nothing more to look up.
    let mut lines = String::from(
        "example.com A 192.0.2.1\nspf.protection.outlook.com TXT v=spf1 ip4:192.0.2.0/24 -all\n\
         outlook.com TXT v=spf1 ip4:192.0.2.0/24 -all\n\
         spf.efwd.registrar-servers.com TXT v=spf1 ip4:192.0.2.0/24 -all\n\
         example.com MX 0 example-com.mail.protection.outlook.com.\n",
    );
    for record in records {
        writeln!(lines, "{at} TXT {record}").unwrap();
    }
    let (group, _) = Zone::new(&lines).judge(DOMAIN);
    find(&group, check).map(|it| it.status)
}

/// The verdicts of both, for the records of one file. Theirs follows from their rules, as the file's own results show: what each
/// counts as met is in its `Results`, by number of domains, because the names in the samples are made up.
fn cases(path: &str, policies: [&'static str; 4]) -> Vec<Case> {
    let raw = raw(path);
    let is_goggles = path.contains("scubagoggles");
    let [spf, dkim, dmarc, reject] = policies;
    let mut cases = Vec::new();
    for read in reads(&raw, "spf_records") {
        let records = records(&read);
        let theirs = records.iter().any(|it| it.starts_with("v=spf1 ") && it.contains("-all"));
        let ours = judge("spf", DOMAIN, &records);
        cases.push(Case { policy: spf, records, theirs, ours });
    }
    for read in reads(&raw, "dkim_records") {
        let records = records(&read);
        let theirs = records.iter().any(|it| it.starts_with("v=DKIM1;"));
        let ours = judge("dkim", &format!("selector1._domainkey.{DOMAIN}"), &records);
        cases.push(Case { policy: dkim, records, theirs, ours });
    }
    for read in reads(&raw, "dmarc_records") {
        let records = records(&read);
        let is_one = !is_goggles || records.len() < 2;
        for (policy, word) in [(dmarc, "v=DMARC1;"), (reject, "p=reject;")] {
            let has = |it: &String| format!("{it};").contains(word);
            let theirs = is_one && records.iter().any(has);
            let ours = judge("dmarc", &format!("_dmarc.{DOMAIN}"), &records);
            cases.push(Case { policy, records: records.clone(), theirs, ours });
        }
    }
    cases
}

#[test]
#[ignore = "needs the samples of other people"]
fn real_records_are_judged_as_scuba_does_or_the_difference_is_listed() {
    let exo = ["MS.EXO.2.2", "MS.EXO.3.1", "MS.EXO.4.1", "MS.EXO.4.2"];
    let gmail = ["GWS.GMAIL.3.1", "GWS.GMAIL.2.1", "GWS.GMAIL.4.1", "GWS.GMAIL.4.2"];
    let mut all = cases("scubagear/ScubaResults_v1.8.0.json", exo);
    all.extend(cases("scubagear/ScubaResults_v1.6.0.json", exo));
    all.extend(cases("scubagoggles/ScubaResults_v1.0.1.json", gmail));
    let mut agreement: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut different = Vec::new();
    for case in &all {
        let ours = match case.ours {
            Some(Compliant) => true,
            Some(Partial | NonCompliant) | None => false,
            Some(JudgedStatus::NotApplicable) => panic!("{:?}", case.records),
        };
        let counts = agreement.entry(case.policy).or_default();
        counts[0] += usize::from(ours == case.theirs);
        counts[1] += 1;
        if ours != case.theirs {
            different.push(case.policy);
        }
    }
    for (policy, [n_same, n]) in &agreement {
        println!("{policy}: {n_same} of {n} domains as Scuba");
    }
    assert_eq!(all.len(), 24, "nothing of the samples is left out");
    assert_eq!(different, DIFFERENT, "{agreement:?}");
}

/// How many domains their own results have in violation, as the file says; fewer by one where [`DIFFERENT`] has the policy.
#[test]
#[ignore = "needs the samples of other people"]
fn their_results_have_as_many_domains_in_violation_as_we_find() {
    let path = "scubagoggles/ScubaResults_v1.0.1.json";
    let gmail = ["GWS.GMAIL.3.1", "GWS.GMAIL.2.1", "GWS.GMAIL.4.1", "GWS.GMAIL.4.2"];
    let bytes = sample::foreign(path);
    let whole: Value =
        serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).unwrap();
    let cases = cases(path, gmail);
    for policy in gmail {
        let of_policy: Vec<&Case> = cases.iter().filter(|it| it.policy == policy).collect();
        let is_different = DIFFERENT.contains(&policy);
        let n_ours = of_policy.iter().filter(|it| it.ours != Some(Compliant)).count();
        let n_ours = n_ours - usize::from(is_different);
        let said = said_of(&whole, policy);
        let expected =
            format!("{n_ours} of {} agency domain(s) found in violation", of_policy.len());
        assert!(said.starts_with(&expected), "{policy}: {expected}: {said}");
    }
}

/// The details of a control in the results.
fn said_of(whole: &Value, policy: &str) -> String {
    let groups =
        whole["Results"].as_object().unwrap().values().flat_map(|it| it.as_array().unwrap());
    let mut controls = groups.flat_map(|it| it["Controls"].as_array().unwrap());
    let control = controls.find(|it| it["Control ID"].as_str().unwrap().starts_with(policy));
    control.unwrap()["Details"].as_str().unwrap().to_owned()
}
