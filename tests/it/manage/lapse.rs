//! A check that failed and is not reported any more: silence is no fix, and neither is what another check passes.

use serde_json::{Value, json};

use super::controls::{attest, control};
use super::told;
use crate::harness::Posture;

/// Its checks in these tests are `a` and `b` of the source `script`.
const CODE: &str = "END-02";

/// Pushes what the checks saw: how many passed and failed.
fn push(posture: &Posture, client: &str, complete: bool, seen: &[(&str, u32, u32)]) {
    let seen = seen.iter().map(|(check, passed, failed)| {
        json!({"control": CODE, "check": check, "passed": passed, "failed": failed})
    });
    let body = json!({
        "source": "script", "complete": complete, "confirmShrink": true,
        "observations": seen.collect::<Vec<_>>(),
    });
    let answer = posture.operator("POST", &format!("/api/clients/{client}/facts"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn status(posture: &Posture, client: &str) -> Value {
    control(posture, client, CODE)["status"].clone()
}

fn n_risks(posture: &Posture, client: &str) -> Value {
    posture.read(&posture.key(), &format!("/clients/{client}/risks"))["pagination"]["total"].clone()
}

/// How the client's risks were resolved so far.
fn resolutions(posture: &Posture) -> Vec<Value> {
    let all = told(posture, "risk_item_resolved").into_iter();
    all.map(|it| it["object"]["resolution"].clone()).collect()
}

/// Check `b` fails once; check `a` passes and is reported on.
fn with_a_lapsed_failure(posture: &Posture) -> String {
    let client = posture.client("A");
    push(posture, &client, false, &[("a", 7, 0), ("b", 0, 7)]);
    for _ in 0..3 {
        posture.pass_days(14);
        push(posture, &client, false, &[("a", 7, 0)]);
    }
    client
}

#[test]
fn what_another_check_passes_neither_makes_a_control_compliant_nor_resolves_its_risk() {
    let posture = Posture::start();
    let client = with_a_lapsed_failure(&posture);
    for _ in 0..3 {
        assert_eq!(status(&posture, &client), "not_assessed");
        assert_eq!(n_risks(&posture, &client), 1);
        assert_eq!(resolutions(&posture), [] as [Value; 0]);
        posture.pass_days(14);
        push(&posture, &client, false, &[("a", 7, 0)]);
    }
    let posture = posture.restart();
    posture.pass_days(1);
    assert_eq!(status(&posture, &client), "not_assessed", "also after a restart");
    push(&posture, &client, false, &[("b", 7, 0)]);
    assert_eq!(status(&posture, &client), "compliant");
    assert_eq!(n_risks(&posture, &client), 0);
    assert_eq!(resolutions(&posture), ["fixed"]);
}

#[test]
fn what_is_gone_from_a_complete_read_is_resolved_but_not_as_fixed() {
    let posture = Posture::start();
    let client = with_a_lapsed_failure(&posture);
    push(&posture, &client, true, &[("a", 7, 0)]);
    assert_eq!(status(&posture, &client), "compliant");
    assert_eq!(n_risks(&posture, &client), 0);
    assert_eq!(resolutions(&posture), ["gone"]);
}

#[test]
fn a_person_can_decide_about_a_check_that_is_not_reported_any_more() {
    let posture = Posture::start();
    let client = with_a_lapsed_failure(&posture);
    let shown = attest(&posture, &client, CODE, &json!({"evidence": "wiki/1"}));
    assert_eq!(shown["status"], "compliant");
    assert_eq!(resolutions(&posture), ["fixed"]);
}
