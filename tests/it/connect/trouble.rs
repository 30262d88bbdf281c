//! A Microsoft 365 that is busy, breaks off or contradicts itself.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::graph::{Graph, PAGE, Told, user};
use super::tenant::{controls, n_events, read_once, shown, stream};

const USERS: &str = "/users";

fn raw(status: u16, headers: &[(&'static str, &str)], body: &str) -> Told {
    let headers = headers.iter().map(|(name, it)| (*name, (*it).to_owned())).collect();
    Told::Raw(status, headers, body.to_owned())
}

fn http_date(at: Timestamp) -> String {
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

#[test]
fn a_graph_that_asks_to_wait_or_for_a_new_token_is_read_to_the_end() {
    let graph = Graph::start();
    let (folder, _server, client, id) = read_once(&graph);
    let before = controls(&folder, &client);
    let good = graph.answers.swap(USERS, Told::List(Vec::new())).unwrap();
    let soon = http_date(Timestamp::now() + Duration::from_secs(4));
    let mut turns = vec![raw(429, &[], "{}"), raw(401, &[], "{}")];
    for after in ["1", "0", "0.249", "soon", &soon] {
        turns.push(raw(429, &[("Retry-After", after)], "{}"));
    }
    turns.push(good);
    graph.answers.set(USERS, Told::Turns(turns));
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(shown(&folder, &id)["health"], "healthy");
    assert_eq!(controls(&folder, &client), before);
    let asked = graph.asked().iter().filter(|it| it.starts_with("GET /v1.0/users?")).count();
    assert!(8 <= asked, "{asked}");
    // A token that ends between two pages.
    let page = |name: &str, next: Value| {
        Told::Object(json!({"value": [user(name, name)], "@odata.nextLink": next}))
    };
    let next = json!("https://graph.microsoft.com/v1.0/users?$skiptoken=1");
    let turns = vec![page("u1", next), raw(401, &[], "{}"), page("u2", Value::Null)];
    graph.answers.set(USERS, Told::Turns(turns));
    folder.ok(&["connect", "sync", &id]);
    assert_eq!(stream(&shown(&folder, &id), "users").0, "complete");
}

#[test]
fn one_row_more_than_fits_on_pages_is_read() {
    let graph = Graph::start();
    let (folder, _server, _, id) = read_once(&graph);
    let n = 2 * PAGE + 1;
    let all = (0..n).map(|it| user(&format!("u{it}"), &format!("u{it}"))).collect();
    graph.answers.set(USERS, Told::List(all));
    folder.ok(&["connect", "sync", &id]);
    let now = shown(&folder, &id);
    let parts = now["parts"].as_array().unwrap().iter();
    let mut streams = parts.flat_map(|it| it["streams"].as_array().unwrap());
    let users = streams.find(|it| it["name"] == "users").unwrap();
    assert_eq!((&users["state"], &users["rows"]), (&json!("complete"), &json!(n)), "{now}");
}

#[test]
fn a_graph_that_breaks_off_or_goes_in_circles_changes_nothing() {
    let graph = Graph::start();
    let (folder, _server, client, id) = read_once(&graph);
    let before = controls(&folder, &client);
    let cut = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{\"value\": [";
    let circle = json!({
        "value": [user("u1", "ada")],
        "@odata.nextLink": "https://graph.microsoft.com/v1.0/users?$skiptoken=1",
    });
    for (told, state, words) in [
        (Told::Bytes(cut.to_vec()), "failed", "the connection broke"),
        (Told::Object(circle), "partial", "the service sent the same page twice"),
        (
            raw(429, &[("Retry-After", "3600")], "{}"),
            "failed",
            "Microsoft asked to wait for 3600 s",
        ),
        (raw(200, &[], ""), "failed", "the answer is not JSON"),
    ] {
        let good = graph.answers.swap(USERS, told).unwrap();
        assert_eq!(folder.run(&["connect", "sync", &id]).code, 1, "{words}");
        let now = shown(&folder, &id);
        let found = stream(&now, "users");
        assert_eq!((&now["health"], found.0.as_str()), (&json!("degraded"), state), "{found:?}");
        assert!(found.1.contains(words), "{found:?}");
        assert_eq!(controls(&folder, &client), before, "{words}");
        graph.answers.set(USERS, good);
    }
    // Its clock says that ours is an hour behind.
    let ahead = http_date(Timestamp::now() + Duration::from_hours(1));
    let refusal = json!({
        "error": "invalid_client", "error_codes": [700_024],
        "error_description": "AADSTS700024: Client assertion is not within its valid time range.",
    });
    graph.answers.set("token", raw(401, &[("Date", &ahead)], &refusal.to_string()));
    folder.run(&["connect", "sync", &id]);
    let now = shown(&folder, &id);
    let (_, reason) = stream(&now, "sign_in");
    assert_eq!(now["health"], "failing");
    assert!(reason.contains("the clock of this machine is 60 minutes behind"), "{reason}");
    assert_eq!(controls(&folder, &client), before);
    for kind in ["mfa_disabled", "privilege_escalation", "dormant_account_detected"] {
        assert_eq!(n_events(&folder, kind), 0, "{kind}");
    }
    assert_eq!(n_events(&folder, "integration_sync_failed"), 1, "when nothing at all was read");
}
