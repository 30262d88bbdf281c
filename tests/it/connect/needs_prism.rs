//! The tests that need Prism, which judges requests by the specifications of vendors.

mod mapping;
mod prism;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use posture::clock::Clock;
use posture::connect::call::{Api, Endpoints};
use posture::connect::m365;
use posture::connect::microsoft::{AppKey, Cloud, DIALECT, MicrosoftApp};
use posture::connect::reading::StreamState;
use posture::egress::Egress;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::time::Instant;

use self::prism::{Prism, parameters};
use super::google::server::Google;
use super::graph::{APP, Graph, SECRET, Told};
use super::mapping::tool::{self, Tool};
use super::vendor::local;
use crate::harness::sink::Request;

/// What the specification of Graph does not have, because it was made of a part of Microsoft's: `transitiveMembers` of a group
/// and what belongs to one service principal are reached over types that were left out, the rest is newer, or a function.
const NOT_IN_GRAPH: [&str; 6] = [
    "/transitiveMembers",
    "/appRoleAssignedTo",
    "/delegatedPermissionClassifications",
    "/policies/defaultAppManagementPolicy",
    "/policies/roleManagementPolicyAssignments",
    "/reports/getMailboxUsageDetail",
];

/// Sends requests on, without the first part of their paths. Returns how many different paths were judged.
fn judge(prism: &Prism, requests: &[Request], start: &str) -> usize {
    let mut paths = BTreeSet::new();
    for it in requests {
        let (method, target) = it.line.split_once(' ').unwrap();
        let target = target.strip_prefix(start).unwrap();
        if let Some(refusal) = prism.refusal(method, target, &it.headers) {
            panic!("{method} {target}: {refusal}");
        }
        paths.insert(target.split('?').next().unwrap().to_owned());
    }
    paths.len()
}

/// The paths that a mask of fields names: `a(b,c/d)` is `a/b` and `a/c/d`.
fn fields(mask: &str) -> Vec<String> {
    let (mut all, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, letter) in mask.char_indices().chain([(mask.len(), ',')]) {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                let part = &mask[from..at];
                match part.split_once('(') {
                    Some((name, inner)) => {
                        let inner = inner.strip_suffix(')').unwrap();
                        all.extend(fields(inner).iter().map(|it| format!("{name}/{it}")));
                    }
                    None => all.push(part.to_owned()),
                }
                from = at + 1;
            }
            _ => (),
        }
    }
    all
}

#[test]
#[ignore = "needs Prism"]
fn what_google_does_not_allow_is_refused() {
    let prism = Prism::start("google-workspace-lean-openapi.json");
    let users = "/admin/directory/v1/users?customer=my_customer";
    let bearer = [("authorization".to_owned(), "Bearer x".to_owned())];
    let refusal = |target: &str| prism.refusal("GET", target, &bearer);
    assert_eq!(refusal(users), None);
    for (target, words) in [
        (format!("{users}&maxResults=501"), "must be <= 500"),
        (format!("{users}&projection=FULL"), "must be equal to one of the allowed values"),
        (format!("{users}&maxResult=500"), "no parameter maxResult"),
        ("/admin/directory/v1/user".to_owned(), "404"),
    ] {
        let refusal = refusal(&target).unwrap_or_else(|| panic!("{target} is allowed"));
        assert!(refusal.contains(words), "{refusal}");
    }
    assert!(prism.refusal("GET", users, &[]).unwrap().contains("401"), "without a token");
    assert!(prism.refusal("DELETE", users, &bearer).is_some());
}

#[test]
#[ignore = "needs Prism"]
fn googles_specification_allows_every_request() {
    let google = Google::start();
    google.read();
    let prism = Prism::start("google-workspace-lean-openapi.json");
    assert_eq!(judge(&prism, &google.asked(), ""), 14);
    let mut n_fields = 0;
    for it in google.asked() {
        let (_, target) = it.line.split_once(' ').unwrap();
        let asked = parameters(target).into_iter().find(|it| it.0 == "fields");
        for field in asked.map(|it| fields(it.1)).into_iter().flatten() {
            n_fields += 1;
            assert!(prism.field(target, &field).is_some(), "{target}: {field}");
        }
    }
    assert!(50 < n_fields);
    assert!(prism.field("/admin/directory/v1/users", "users/name/fullname").is_none());
}

/// The requests for the lists of a tool, all of which have fields that its mapping reads.
fn judge_tool(kind: &str, specification: &str, start: &str, tool: &Tool, entered: &[(&str, &str)]) {
    let reading = tool.read(&tool::mapping(kind), entered);
    let mut streams = reading.groups.iter().flat_map(|it| &it.streams);
    assert!(streams.all(|it| it.state == StreamState::Complete), "{reading:#?}");
    let prism = Prism::start(specification);
    let asked = tool.sink.requests().into_iter().filter(|it| it.line.starts_with("GET "));
    let n_paths = judge(&prism, &asked.collect::<Vec<_>>(), start);
    let fields = mapping::fields(&format!("{kind}.toml"));
    let paths: BTreeSet<&str> = fields.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(n_paths, paths.len(), "{paths:?}");
    for it in fields {
        let found = prism.field(it.path.strip_prefix(start).unwrap(), &it.name);
        let schema = found.unwrap_or_else(|| panic!("{}: {}", it.path, it.name));
        if it.words.is_empty() {
            continue;
        }
        for word in schema["enum"].as_array().into_iter().flatten() {
            let is_known = it.words.iter().any(|it| word == it);
            assert!(is_known, "{}: {}: no word for {word}", it.path, it.name);
        }
    }
}

#[test]
#[ignore = "needs Prism"]
fn the_specifications_of_tools_allow_every_request_and_have_every_field() {
    let ninja = tool::ninja();
    ninja.set_page_max(2);
    judge_tool("ninjaone", "ninjaone-api-2.0.9.yaml", "", &ninja, &tool::NINJA_ENTERED);
    let datto = tool::datto(600);
    judge_tool("datto", "datto-rmm-openapi.json", "/api", &datto, &tool::DATTO_ENTERED);
}

#[test]
#[ignore = "needs Prism"]
fn graphs_specification_allows_every_request() {
    let graph = Graph::start();
    let p2 = json!({
        "skuId": "s", "capabilityStatus": "Enabled", "servicePlans": [{
            "servicePlanId": "eec0eb4f-6444-4f95-aba0-50c24d67f998",
            "servicePlanName": "AAD_PREMIUM_P2", "provisioningStatus": "Success",
        }],
    });
    graph.answers.set("/subscribedSkus", Told::List(vec![p2]));
    let report = "/reports/authenticationMethods/userRegistrationDetails";
    let code = "Authentication_RequestFromNonPremiumTenantOrB2CTenant";
    graph.answers.fail(report, 403, code, "Then each person is asked for.");
    for id in ["u1", "u2", "u3"] {
        graph.answers.set(&format!("/users/{id}/authentication/methods"), Told::List(Vec::new()));
    }
    read_tenant(&graph);
    let prism = Prism::start("graph-v1.0-lean-openapi.json");
    // A link to the next page is Graph's own, and files are elsewhere.
    let is_ours =
        |it: &Request| it.line.starts_with("GET /v1.0/") && !it.line.contains("skiptoken");
    let (absent, asked): (Vec<Request>, Vec<Request>) = graph
        .sink
        .requests()
        .into_iter()
        .filter(is_ours)
        .partition(|it| NOT_IN_GRAPH.iter().any(|name| it.line.contains(name)));
    assert_eq!(judge(&prism, &asked, "/v1.0"), 26);
    for it in absent {
        let target = it.line.strip_prefix("GET /v1.0").unwrap();
        let refusal = prism.refusal("GET", target, &it.headers).unwrap_or_default();
        assert!(refusal.contains("404"), "the specification has it by now: {target}: {refusal}");
    }
}

fn read_tenant(graph: &Graph) {
    let at = format!("http://{}", graph.sink.address);
    let origins = ["login.microsoftonline.com", "graph.microsoft.com", "reports.office.com"];
    let endpoints: BTreeMap<String, String> =
        origins.map(|it| (format!("https://{it}"), at.clone())).into();
    let app = MicrosoftApp {
        app_id: APP.to_owned(),
        tenant: "msp.example".to_owned(),
        cloud: Cloud::Global,
        certificate_pem: None,
        fingerprint: None,
    };
    let key = Arc::new(AppKey::Secret(SECRET.to_owned()));
    let egress = Arc::new(Egress::new(local(), Duration::from_secs(20), 8).unwrap());
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let deadline = Instant::now() + Duration::from_mins(2);
        let api =
            Api::new(egress, Arc::new(Endpoints(endpoints)), &DIALECT, Clock::System, deadline);
        let reading = m365::read(&api, &app, &key, "acme.example").await;
        let names: BTreeSet<&str> = reading.groups.iter().map(|it| it.scope.as_str()).collect();
        assert!(names.contains("directory"), "{names:?}");
    });
}
