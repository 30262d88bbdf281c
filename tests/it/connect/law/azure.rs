//! Azure, read from a tenant with two subscriptions that breaks a list at a time.

use posture::connect::reading::Group;
use serde_json::{Value, json};

use super::{Fault, body, drive, faults, groups};
use crate::connect::azure::connection::read;
use crate::connect::azure::{
    Azure, FIRST, SECOND, control, controls_of, real_controls, subscription,
};
use crate::connect::vendor::{json as page, told};

/// A name, and how many resources of each control are healthy and not, in the second of two subscriptions.
type Second = (&'static str, (u64, u64));

const WORLDS: [Second; 3] = [
    ("everything is wrong in the second", (0, 90)),
    ("little is wrong in the second", (90, 1)),
    ("the second is in good order", (90, 0)),
];

fn rows((n_healthy, n_unhealthy): (u64, u64)) -> Vec<Value> {
    let all = real_controls();
    let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
    all.iter().map(|it| control(&name(it), "Some control", n_healthy, n_unhealthy)).collect()
}

fn read_world(second: (u64, u64), fault: Option<(String, Fault)>) -> Vec<Group> {
    let azure = Azure::start();
    let two =
        [subscription(FIRST, "Production", "Enabled"), subscription(SECOND, "Test", "Enabled")];
    azure.answers.list("/subscriptions", &two);
    azure.answers.controls(FIRST, &rows((10, 0)));
    azure.answers.controls(SECOND, &rows(second));
    if let Some((path, fault)) = fault {
        azure.sink.put_before(move |request, server| {
            let (target, query) =
                request.line.split_once(' ').unwrap().1.split_once('?').unwrap_or_default();
            if target != path {
                return server(request);
            }
            let refused = |status| {
                told(status, &[], &json!({"error": {"code": "x", "message": "x"}}).to_string())
            };
            match fault {
                Fault::Denied => refused(403),
                Fault::Failing => refused(501),
                Fault::Cut if query.contains("cut") => refused(400),
                Fault::Cut => {
                    let mut first: Value = serde_json::from_slice(body(&server(request))).unwrap();
                    let rows = first["value"].as_array_mut().unwrap();
                    rows.truncate(1);
                    first["nextLink"] =
                        format!("https://management.azure.com{target}?cut=1").into();
                    page(&first)
                }
            }
        });
    }
    groups(read(&azure, &[]))
}

const CONTROLS: [&str; 9] =
    ["CLD-01", "CLD-10", "CLD-11", "CLD-12", "CLD-13", "CLD-15", "CLD-17", "CLD-19", "END-05"];

#[test]
fn a_subscription_less_shows_no_more() {
    let paths = ["/subscriptions".to_owned(), controls_of(FIRST), controls_of(SECOND)];
    let faults = faults(&paths, String::clone);
    let law = drive("Azure", &WORLDS, &faults, |second, fault| read_world(*second, fault.cloned()));
    law.end(CONTROLS);
}
