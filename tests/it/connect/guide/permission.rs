//! What the guide has a client grant, and what is asked for.

use std::collections::BTreeSet;

use posture::connect::google::StreamKind;
use posture::connect::microsoft::registration::PERMISSIONS;
use serde_json::{Value, json};

use super::chapter::CONNECT;
use crate::connect::aws::cloud::Cloud;
use crate::connect::graph::{Graph, Told};
use crate::connect::tenant::{add, init, ran, streams};
use crate::connect::vendor::told;

/// The permissions that a tenant is asked for when it denies everything, or all that these paths lead to.
fn asked_for(graph: &Graph) -> BTreeSet<String> {
    let folder = graph.folder();
    let _server = folder.serve();
    folder.client("Acme");
    init(&folder);
    let id = add(&folder);
    let now = ran(&folder, &id, &Value::Null);
    let reasons = streams(&now).into_iter().map(|it| it.2);
    let grants = reasons.filter_map(|it| {
        let (_, rest) = it.split_once("grant the app ")?;
        Some(rest.split_once(" and consent again")?.0.to_owned())
    });
    grants.flat_map(|it| it.split(" and ").map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn the_permissions_of_microsoft_365_are_those_that_are_asked_for() {
    let denied = r#"{"error":{"code":"Authorization_RequestDenied","message":"x"}}"#;
    let graph = Graph::start();
    graph.sink.put_before(move |request, server| {
        let is_data = request.line.contains(" /v1.0/");
        if is_data { told(403, &[], denied) } else { server(request) }
    });
    let mut asked = asked_for(&graph);

    // Only a tenant without Entra ID P1 is asked for what each person registered, and members only of groups with roles.
    let graph = Graph::start();
    let report = "/reports/authenticationMethods/userRegistrationDetails";
    let no_license = "Authentication_RequestFromNonPremiumTenantOrB2CTenant";
    graph.answers.fail(report, 403, no_license, "Tenant doesn't have premium license");
    let group = json!({
        "principalId": "g1", "roleDefinitionId": "r1", "directoryScopeId": "/",
        "principal": {"@odata.type": "#microsoft.graph.group", "displayName": "g1"},
    });
    graph.answers.set("/roleManagement/directory/roleAssignments", Told::List(vec![group]));
    for path in ["/users/u1/authentication/methods", "/groups/g1/transitiveMembers"] {
        graph.answers.set(path, Told::Raw(403, Vec::new(), denied.to_owned()));
    }
    asked.extend(asked_for(&graph));
    assert_eq!(CONNECT.names(&["application permission"]), asked);
    let page: BTreeSet<String> = PERMISSIONS.iter().map(|it| it.name.to_owned()).collect();
    assert_eq!(page, asked, "what the console has registered");
}

#[test]
fn the_scopes_of_google_are_those_that_tokens_are_for() {
    let chapter = CONNECT.below(&["Google Workspace"]);
    let scopes = StreamKind::oauth_scopes();
    assert_eq!(chapter.blocks("text"), [scopes.join(",")]);
    let ends = chapter.names(&["scope (ends in)"]);
    let start = "https://www.googleapis.com/auth/";
    let expected = scopes.iter().map(|it| it.strip_prefix(start).unwrap().to_owned());
    assert_eq!(ends, expected.collect());
}

#[test]
fn the_policy_of_aws_allows_what_is_called() {
    let chapter = CONNECT.below(&["AWS"]);
    let policy: Value = serde_json::from_str(&chapter.blocks("json")[0]).unwrap();
    let allowed = policy["Statement"][0]["Action"].as_array().unwrap().iter();
    let allowed: BTreeSet<String> = allowed.map(|it| it.as_str().unwrap().to_owned()).collect();
    assert_eq!(allowed, chapter.names(&["calls"]));
    let cloud = Cloud::start();
    cloud.read();
    // Those of which the name is in the request, and not in its path alone.
    let called = cloud.script.names().into_iter().filter_map(|it| {
        let [service, _, action] = it.split(' ').collect::<Vec<_>>()[..] else { return None };
        let is_named = service != "sts" && !action.starts_with('/');
        is_named.then(|| format!("{service}:{action}"))
    });
    let called: BTreeSet<String> = called.collect();
    assert!(8 < called.len() && called.is_subset(&allowed), "{called:?}");
}
