//! The tests that need other people's samples: what `ScubaGear` read of real tenants, beside its published verdicts.

use serde_json::Value;

use super::scuba::{answer, tenant};
use crate::harness::sample;

/// Where both differ, and why ours stays: of several domains the files keep one, whose passwords do not expire. The published
/// verdict is about another.
const DIFFERENT: [(&str, &str); 2] = [("1.6", "MS.AAD.6.1v1"), ("1.8", "MS.AAD.6.1v1")];

/// The published verdicts on Entra ID, by policy, and what was read.
fn published(version: &str) -> (Vec<(String, String)>, Value) {
    let bytes = sample::foreign(&format!("scubagear/ScubaResults_v{version}.0.json"));
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut whole: Value = serde_json::from_slice(bytes).unwrap();
    let groups = whole["Results"]["AAD"].as_array().unwrap().iter();
    let controls = groups.flat_map(|it| it["Controls"].as_array().unwrap());
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let verdicts = controls.map(|it| (text(&it["Control ID"]), text(&it["Result"]))).collect();
    (verdicts, whole["Raw"].take())
}

#[test]
#[ignore = "needs the samples of other people"]
fn real_tenants_are_judged_as_published_or_the_difference_is_listed() {
    let mut different = Vec::new();
    let (mut n_same, mut n) = (0, 0);
    for version in ["1.6", "1.8"] {
        let (verdicts, raw) = published(version);
        let tenant = tenant(&raw);
        for (policy, theirs) in verdicts.iter().filter(|it| it.1 != "N/A") {
            let ours =
                answer(policy, &tenant, &raw).unwrap_or_else(|| panic!("no rule for {policy}"));
            let is_same = ours.is_met == (theirs == "Pass");
            let reason = ours.deliberate.map(|it| format!("; our control decides otherwise: {it}"));
            let (is_met, reason) = (ours.is_met, reason.unwrap_or_default());
            println!("v{version} {policy}: {theirs}, ours {is_met}{reason}");
            n += 1;
            n_same += usize::from(is_same);
            if !is_same {
                different.push((version, policy.clone()));
            }
        }
    }
    println!("total {n_same}/{n}");
    assert_eq!(n, 53, "nothing of the samples is left out");
    assert_eq!(different, DIFFERENT.map(|it| (it.0, it.1.to_owned())));
}
