//! CISA's rules as a judge of ours.

mod needs_standins {
    //! The tests that need the stand-ins: cases that others wrote, each with the verdict of CISA's rules.
    //!
    //! `POSTURE_STANDINS` names the folder; it may hold other cases of the same form.

    use std::collections::BTreeMap;
    use std::fs;
    use std::path::{Path, PathBuf};

    use posture::connect::m365::Tenant;
    use serde_json::{Value, json};

    use crate::connect::m365::scuba::{Answer, answer, policies, tenant};
    use crate::harness::sample;

    /// Of the cases beside this repository: how many have our answer to the question that the policy asks, how many there are, and
    /// in how many our control decides otherwise on purpose.
    const REACHED: [(&str, [usize; 3]); 30] = [
        ("MS.AAD.1.1v1", [448, 448, 27]),
        ("MS.AAD.2.1v1", [443, 443, 35]),
        ("MS.AAD.2.3v1", [445, 445, 28]),
        ("MS.AAD.3.1v1", [432, 432, 30]),
        ("MS.AAD.3.2v2", [451, 451, 38]),
        ("MS.AAD.3.3v2", [24, 24, 0]),
        ("MS.AAD.3.4v1", [2, 2, 0]),
        ("MS.AAD.3.5v2", [3, 3, 0]),
        ("MS.AAD.3.6v1", [436, 436, 21]),
        ("MS.AAD.3.7v1", [435, 435, 4]),
        ("MS.AAD.3.8v1", [6, 6, 1]),
        ("MS.AAD.3.9v1", [7, 7, 1]),
        ("MS.AAD.5.1v1", [3, 3, 0]),
        ("MS.AAD.5.2v1", [4, 4, 0]),
        ("MS.AAD.5.3v1", [2, 2, 0]),
        ("MS.AAD.5.5v1", [3, 3, 0]),
        ("MS.AAD.5.6v1", [3, 3, 0]),
        ("MS.AAD.5.7v1", [3, 3, 0]),
        ("MS.AAD.7.1v1", [3, 3, 0]),
        ("MS.AAD.7.2v1", [5, 5, 0]),
        ("MS.AAD.7.3v1", [3, 3, 0]),
        ("MS.AAD.7.4v1", [10, 10, 0]),
        ("MS.AAD.7.5v1", [1, 1, 0]),
        ("MS.AAD.7.6v1", [3, 3, 0]),
        ("MS.AAD.7.7v1", [3, 3, 0]),
        ("MS.AAD.7.8v1", [5, 5, 0]),
        ("MS.AAD.7.9v1", [3, 3, 0]),
        ("MS.AAD.8.1v1", [5, 5, 0]),
        ("MS.AAD.8.2v1", [1, 1, 0]),
        ("MS.AAD.9.1v1", [9, 9, 2]),
    ];

    #[derive(Default)]
    struct Tally {
        n_same: usize,
        n: usize,
        deliberate: BTreeMap<&'static str, usize>,
        different: Vec<String>,
    }

    fn folder() -> PathBuf {
        let named = std::env::var_os("POSTURE_STANDINS").map(PathBuf::from);
        let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/standins");
        let folder = named.unwrap_or_else(beside);
        assert!(folder.is_dir(), "no stand-ins in {}; set POSTURE_STANDINS", folder.display());
        folder
    }

    fn read(name: &str) -> Value {
        serde_json::from_slice(&fs::read(folder().join(name)).unwrap()).unwrap()
    }

    fn count(tally: &mut Tally, name: &str, theirs: bool, ours: Option<&Answer>) {
        tally.n += 1;
        let Some(Answer { is_met, deliberate }) = ours else {
            tally.different.push(format!("{name}: no rule"));
            return;
        };
        tally.n_same += usize::from(*is_met == theirs);
        if *is_met != theirs {
            tally.different.push(format!("{name}: theirs {theirs}"));
        }
        if let Some(reason) = deliberate {
            *tally.deliberate.entry(*reason).or_default() += 1;
        }
    }

    fn tallies() -> BTreeMap<String, Tally> {
        let mut all: BTreeMap<String, Tally> = BTreeMap::new();
        for case in read("scubagear_aad_cases.json").as_array().unwrap() {
            let [policy, name] = ["policy", "test"].map(|it| case[it].as_str().unwrap());
            let input = &case["input"];
            let ours = answer(policy, &tenant(input), input);
            let tally = all.entry(policy.to_owned()).or_default();
            count(tally, name, case["met"].as_bool().unwrap(), ours.as_ref());
        }
        let raw = sample::foreign("scubagear/ScubaResults_v1.8.0.json");
        let raw = raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&raw);
        let raw = serde_json::from_slice::<Value>(raw).unwrap()["Raw"].take();
        let [roles, plans] = ["privileged_roles", "service_plans"].map(|it| raw[it].clone());
        let others = json!({"privileged_roles": roles, "service_plans": plans});
        let real = tenant(&others);
        let cases = read("scubagear_ca_mutations.json");
        for (index, case) in cases["cases"].as_array().unwrap().iter().enumerate() {
            let policies = Some(policies(&others, &case["value"]));
            let tenant = Tenant { policies, ..real.clone() };
            for (policy, met) in case["met"].as_object().unwrap() {
                let ours = answer(policy, &tenant, &others);
                let tally = all.entry(policy.to_owned()).or_default();
                count(tally, &format!("mutation {index}"), met.as_bool().unwrap(), ours.as_ref());
            }
        }
        all
    }

    #[test]
    #[ignore = "needs the stand-ins"]
    fn our_rules_answer_as_cisa_does_or_the_difference_is_listed() {
        let all = tallies();
        let (mut n_same, mut n) = (0, 0);
        for (policy, it) in &all {
            println!("{policy} {}/{}", it.n_same, it.n);
            for (reason, n) in &it.deliberate {
                println!("    our control decides {n} of them otherwise: {reason}");
            }
            for it in &it.different {
                println!("    {it}");
            }
            n_same += it.n_same;
            n += it.n;
        }
        let n_otherwise: usize = all.values().flat_map(|it| it.deliberate.values()).sum();
        println!(
            "total {n_same}/{n}, {n_otherwise} of them decided otherwise for the reasons above"
        );
        for (policy, it) in &all {
            assert!(it.different.is_empty(), "{policy}: {:?}", it.different);
        }
        for (policy, [n_reached, n_of, n_deliberate]) in REACHED {
            let Some(it) = all.get(policy) else { continue };
            let n_otherwise: usize = it.deliberate.values().sum();
            if it.n == n_of {
                assert_eq!([it.n_same, n_otherwise], [n_reached, n_deliberate], "{policy}");
            } else {
                // Other cases: within 5 percent of what these reach.
                assert!(n_reached * 20 * it.n <= (it.n_same * 20 + it.n) * n_of, "{policy}");
            }
        }
    }
}
