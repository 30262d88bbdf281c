//! Operation 1.

use serde_json::json;

use crate::harness::Posture;

#[test]
fn clients_are_listed_in_the_order_in_which_they_were_added() {
    let posture = Posture::start();
    let key = posture.key();
    let first = posture.client("First");
    posture.pass_s(1);
    let second =
        posture.client_with(&json!({"name": "Second", "industry": "Legal", "employeeCount": 7}));
    let body = posture.read(&key, "/clients");
    assert_eq!(
        body,
        json!({
            "data": [
                {
                    "id": first, "name": "First", "industry": null, "employeeCount": null,
                    "createdAt": "2026-03-10T09:00:00.000Z",
                },
                {
                    "id": second, "name": "Second", "industry": "Legal", "employeeCount": 7,
                    "createdAt": "2026-03-10T09:00:01.000Z",
                },
            ],
            "pagination": {"total": 2, "limit": 50, "offset": 0},
        })
    );
}
