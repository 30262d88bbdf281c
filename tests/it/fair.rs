//! Fair shares: large bodies, uploads, reads and assessments of one caller do not stop those of others.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::Posture;
use crate::harness::process::wait_until;

#[test]
fn a_client_whose_assessment_takes_long_does_not_keep_others_waiting() {
    let posture = Posture::start();
    let key = posture.key();
    let mut clients = ["A", "B", "C"].map(|it| posture.client(it));
    clients.sort_unstable(); // They are due in this order.
    for client in &clients {
        let facts = json!({"source": "test", "observations": [{"control": "DAT-01", "status": "compliant"}]});
        let path = format!("/api/clients/{client}/facts");
        assert_eq!(posture.operator("POST", &path, &facts).status, 200);
    }
    let score = |client: &str| {
        posture.read(&key, &format!("/clients/{client}/scores"))["data"]["current"]["overallScore"]
            .clone()
    };
    assert_ne!(score(&clients[2]), 0);
    let slow: Vec<_> = clients[..2]
        .iter()
        .map(|it| posture.block_on(posture.app.clients.lock(it.parse().unwrap())))
        .collect();
    // Everything has lapsed, and all are due.
    posture.clock.set(posture.now().plus_days(400));
    let has_lapsed = || score(&clients[2]) == Value::from(0);
    assert!(wait_until(Duration::from_secs(20), has_lapsed), "it waited for the others");
    assert_ne!(score(&clients[0]), 0, "which are still being assessed");
    drop(slow);
    assert!(wait_until(Duration::from_secs(20), || score(&clients[0]) == Value::from(0)));
}
