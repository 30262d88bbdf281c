//! What the secure score says of controls.

use posture::connect::azure::{ScoreControl, Subscription, judge};
use posture::connect::reading::JudgedStatus::{self, Compliant, NonCompliant, Partial};

const PORTS: &str = "52901099-235c-4971-b9d5-a33fca3a936e";
const UPDATES: [&str; 2] =
    ["05daab2e-f074-4601-ac10-aadf5c9c50f6", "61702b76-1fab-41f2-bcbc-50b7870dcf38"];

fn control(id: &str, n_healthy: u64, n_unhealthy: u64) -> ScoreControl {
    ScoreControl { id: id.to_owned(), name: "Some name".to_owned(), n_healthy, n_unhealthy }
}

fn subscription(name: &str, controls: Vec<ScoreControl>) -> Subscription {
    Subscription { id: name.to_owned(), name: name.to_owned(), controls }
}

#[test]
fn resources_of_all_subscriptions_count_together() {
    type Counts = (u64, u64);
    let two = |first: Counts, second: Counts| {
        [
            subscription("A", vec![control(PORTS, first.0, first.1)]),
            subscription("B", vec![control(PORTS, second.0, second.1)]),
        ]
    };
    let cases: [(Counts, Counts, Option<JudgedStatus>); 6] = [
        ((3, 0), (2, 0), Some(Compliant)),
        ((3, 0), (0, 0), Some(Compliant)),
        ((0, 0), (0, 0), None),
        ((3, 0), (0, 3), Some(Partial)),
        ((3, 0), (0, 4), Some(NonCompliant)),
        ((0, 1), (0, 0), Some(NonCompliant)),
    ];
    for (first, second, expected) in cases {
        let judged = judge(&two(first, second));
        assert_eq!(judged.first().map(|it| it.status), expected, "{first:?} {second:?}");
    }
    let judged = judge(&two((3, 0), (1, 2)));
    assert_eq!(
        (judged[0].control, judged[0].check.as_str()),
        ("CLD-10", "secure_management_ports")
    );
    assert!(judged[0].findings.starts_with("Subscriptions: B\n2 of 6 resources"), "{judged:?}");
    assert!(judge(&[subscription("A", vec![control("other", 1, 1)])]).is_empty());
}

/// As the catalog says it.
#[test]
fn what_shows_too_little_is_partly_met_at_most() {
    let status = |id: &str, n_unhealthy| {
        judge(&[subscription("A", vec![control(id, 2, n_unhealthy)])])[0].status
    };
    let of_computers = "12136bd9-dc24-44f2-9587-7be3af6aac14";
    assert_eq!((status(of_computers, 0), status(of_computers, 3)), (Partial, NonCompliant));
    assert_eq!(status("2d85f639-0bea-4a4a-b6c6-608952a1414a", 0), Partial);
    assert_eq!(status(PORTS, 0), Compliant);
}

#[test]
fn two_controls_of_the_score_can_be_one_of_ours() {
    let all = |first, second| {
        let controls = vec![control(UPDATES[0], first, 0), control(UPDATES[1], 1, second)];
        judge(&[subscription("A", controls)])
    };
    assert_eq!(all(1, 0)[0].status, Partial, "partly met at most");
    assert_eq!(all(0, 1)[0].status, Partial);
    assert_eq!(all(0, 2)[0].status, NonCompliant);
    assert_eq!(all(1, 0)[0].control, "CLD-15");
}
