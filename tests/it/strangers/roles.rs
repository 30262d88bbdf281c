//! What each role may, for every operation of the document.

use serde_json::{Value, json};

use super::world::{World, in_order, managed, of_a_session, tried, versioned};
use super::{ABSENT, Names, REFUSED, refuses};
use crate::openapi::Operation;

const ROLES: [&str; 3] = ["viewer", "analyst", "admin"];
const OTHER_CLIENT: &str = "you are not authorized for this client";
const OTHER_CLIENTS: &str = "you are not authorized for all clients of this rule; name only clients that you are authorized for";

fn rank(role: &str) -> usize {
    ROLES.iter().position(|it| *it == role).unwrap()
}

#[test]
fn each_role_may_do_its_own_and_no_more() {
    for role in ROLES {
        let world = World::new();
        let token = world.token(role, &[]);
        let operations = in_order(managed().collect());
        for operation in operations {
            let about = format!("{role} {}", operation.id);
            let needed = operation.role.clone().unwrap();
            let answer = world.ask_as(&operation, &token, None);
            assert!(answer.header("ratelimit-remaining").is_some(), "{about}");
            if rank(role) < rank(&needed) {
                let message = format!("this requires the role {needed}; your role is {role}");
                refuses(&answer, 403, "FORBIDDEN", &message, &about);
                continue;
            }
            let expected = of_a_session(&operation.id).unwrap_or(tried(&operation).3);
            assert_eq!(answer.status, expected, "{about}: {:.300}", answer.text());
        }
    }
}

#[test]
fn a_token_is_nothing_to_the_versioned_interface() {
    let world = World::new();
    let token = world.token("admin", &[]);
    for operation in versioned() {
        let answer = world.ask_as(&operation, &token, None);
        refuses(&answer, 401, "UNAUTHORIZED", REFUSED, &operation.id);
    }
}

#[test]
fn a_user_of_another_client_learns_nothing() {
    let world = World::new();
    let other = world.posture.client("Other");
    let token = world.token("analyst", &[&other]);
    let open = |it: &Operation| it.role.as_deref() != Some("admin");
    for operation in managed().filter(open).filter(|it| it.id != "log_out") {
        let id = operation.id.as_str();
        let there = world.ask_as(&operation, &token, None);
        match tried(&operation).1 {
            Names::Client
            | Names::Import
            | Names::Evidence
            | Names::SubjectDecision
            | Names::Risk => {
                refuses(&there, 403, "FORBIDDEN", OTHER_CLIENT, id);
                let absent = world.ask_as(&operation, &token, Some(ABSENT));
                refuses(&absent, 403, "FORBIDDEN", OTHER_CLIENT, id);
            }
            Names::Batch => refuses(&there, 404, "NOT_FOUND", "batch not found", id),
            Names::Task => refuses(&there, 403, "FORBIDDEN", OTHER_CLIENT, id),
            Names::AlertRule => refuses(&there, 403, "FORBIDDEN", OTHER_CLIENTS, id),
            Names::Scan => refuses(&there, 404, "NOT_FOUND", "scan not found", id),
            Names::ReportSchedule => {
                refuses(&there, 404, "NOT_FOUND", "report schedule not found", id);
            }
            Names::Connection => refuses(&there, 404, "NOT_FOUND", "connection not found", id),
            Names::Nothing
                if ["add_task", "start_scan", "try_batch", "begin_batch"].contains(&id) =>
            {
                refuses(&there, 403, "FORBIDDEN", OTHER_CLIENT, id);
            }
            Names::Nothing if id == "add_alert_rule" => {
                refuses(&there, 403, "FORBIDDEN", OTHER_CLIENTS, id);
            }
            Names::Nothing => {
                let expected = of_a_session(id).unwrap_or(tried(&operation).3);
                let told = there.text();
                assert_eq!(there.status, expected, "{id}: {told:.200}");
                assert!(!told.contains("Canary") && !told.contains(&world.client), "{id}");
            }
            Names::ClientInside | Names::Asset | Names::Key | Names::Webhook | Names::User => {
                panic!("{id} is for admins")
            }
        }
    }
}

#[test]
fn a_limited_user_sees_the_own_clients_whole() {
    let world = World::new();
    let other = world.posture.client("Other");
    let token = world.token("analyst", &[&world.client]);
    let free = world.token("analyst", &[]);
    for path in ["/api/tasks", "/api/conditions", "/api/changes?limit=50", "/api/events?limit=50"] {
        let whole = world.posture.as_user(&free, "GET", path, &Value::Null).json();
        let own = world.posture.as_user(&token, "GET", path, &Value::Null).json();
        assert!(!whole["data"].as_array().unwrap().is_empty(), "{path}");
        let of_client = |it: &&Value| {
            let id = if it["data"]["clientId"].is_string() { &it["data"] } else { *it };
            id["clientId"] == world.client.as_str()
        };
        let expected: Vec<_> =
            whole["data"].as_array().unwrap().iter().filter(of_client).cloned().collect();
        assert_eq!(own["data"], json!(expected), "{path}");
    }
    let clients = world.posture.as_user(&token, "GET", "/api/clients", &Value::Null).json();
    assert_eq!(clients["pagination"]["total"], 1);
    assert_eq!(clients["data"][0]["id"], world.client.as_str());
    let rule = |clients: &[&str]| json!({"name": "r", "clientIds": clients, "condition": {"type": "score_below", "value": 9}});
    let add = |clients: &[&str]| {
        world.posture.as_user(&token, "POST", "/api/alert-rules", &rule(clients))
    };
    assert_eq!(add(&[&world.client]).status, 201);
    assert_eq!(add(&[&world.client, &other]).status, 403, "one foreign client is one too many");
}
