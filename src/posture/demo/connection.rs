//! The connections of the demonstration, and what they read: made up, so that nobody is called.

use std::collections::BTreeMap;

use super::fill::operator;
use super::portfolio::{CLIENTS, DemoClient, Suite};
use crate::app::App;
use crate::app::connect::NewConnection;
use crate::app::connect::org::{MappedTo, OrgMapping};
use crate::clock::Time;
use crate::connect::reading::{Group, Org, Reading, Stream, StreamState};
use crate::connect::settings::Settings;
use crate::error::Result;
use crate::id::{ClientId, ConnectionId};
use crate::serve::ServeOptions;

const TOOL: &str = "ninjaone";
/// Clients whose connections are not well, so that there is something to mend.
const WITHOUT_CONSENT: &str = "Kingsmere Surveyors";
const WITHOUT_PERMISSION: &str = "Harrowgate Insurance Brokers";
const WITHOUT_KEY: &str = "Thornbury Logistics";
const WITHOUT_P1: [&str; 2] = ["Juniper Tax Partners", "Jasperfield Builders"];
/// Organizations of the tool that are no clients of the portfolio.
const OTHER_ORGS: [(&str, u32); 2] = [("Bramblewick Pottery", 6), ("Northbridge Lab", 11)];

/// Connections read what is made up here.
pub fn allow(options: &mut ServeOptions) {
    options.app.connect.made_up = Some(read);
}

/// Adds the connections, unless an earlier start did.
///
/// # Errors
/// Those of the store.
pub async fn furnish(app: &App) -> Result<()> {
    let by = operator();
    if !app.list_connections(&by, (None, Vec::new()), (None, 1)).await?.is_empty() {
        return Ok(());
    }
    let clients = app.clients.directory.list();
    let known: BTreeMap<&str, ClientId> =
        clients.iter().map(|it| (it.name.as_str(), it.id)).collect();
    let tool =
        add(app, None, TOOL, &[("region", "eu"), ("client_id", "demo"), ("client_secret", "demo")]);
    let tool = tool.await?; // Its organizations are known now.
    let mapping = |(index, it): (usize, &DemoClient)| {
        let to = MappedTo::Client(*known.get(it.name)?);
        Some(OrgMapping { external_id: (index + 1).to_string(), to })
    };
    let mappings = CLIENTS.iter().enumerate().filter_map(mapping).collect();
    app.map_connection_orgs(&by, tool, || Ok(mappings)).await?;
    app.run_connection(tool).await;
    for profile in &CLIENTS {
        let Some(&client) = known.get(profile.name) else { continue };
        let domain = profile.domain();
        add(app, Some(client), "dns", &[("", &domain)]).await?;
        if profile.suite == Suite::Microsoft {
            add(app, Some(client), "m365", &[("tenant", &domain)]).await?;
        }
    }
    Ok(())
}

/// A setting without a name is a domain.
async fn add(
    app: &App,
    client: Option<ClientId>,
    kind: &str,
    settings: &[(&str, &str)],
) -> Result<ConnectionId> {
    let owned = |it: &(&str, &str)| (it.0.to_owned(), it.1.to_owned());
    let (domains, named): (Vec<_>, Vec<_>) =
        settings.iter().map(owned).partition(|it| it.0.is_empty());
    let domains: Vec<String> = domains.into_iter().map(|it| it.1).collect();
    let new = NewConnection {
        client,
        kind: kind.to_owned(),
        name: None,
        domains: (!domains.is_empty()).then_some(domains),
        settings: named.into_iter().collect(),
    };
    let id = app.add_connection(&operator(), new).await?.connection.id;
    // Now, and not beside the first looks at the demonstration.
    app.run_connection(id).await;
    Ok(id)
}

fn read(settings: &Settings, _: Time) -> Reading {
    match settings.kind.as_str() {
        TOOL => read_tool(),
        kind => {
            let tenant = settings.values.get("tenant").or(settings.domains.first());
            let domain = tenant.map(String::as_str).unwrap_or_default();
            let profile = CLIENTS.iter().find(|it| it.domain() == domain);
            profile.map_or_else(Reading::default, |it| read_client(kind, it))
        }
    }
}

/// Streams of a part of an environment, each with how many rows there are for each hundred employees.
type Part = (&'static str, &'static [(&'static str, u64)]);

const TENANT: [Part; 3] = [
    (
        "directory",
        &[
            ("organization", 0),
            ("users", 115),
            ("userRegistrationDetails", 115),
            ("roleAssignments", 6),
        ],
    ),
    ("policies", &[("conditionalAccessPolicies", 9), ("authorizationPolicy", 0)]),
    ("services", &[("secureScores", 0), ("directoryAudits", 20), ("mailboxUsageDetail", 121)]),
];
const DOMAIN: [&str; 5] = ["spf", "dkim", "dmarc", "mx", "mta_sts"];
const TOOL_STREAMS: [&str; 4] = ["devices", "operating_systems", "antivirus", "os_patches"];

fn read_client(kind: &str, profile: &DemoClient) -> Reading {
    if kind == "dns" {
        let streams = DOMAIN.iter().map(|it| complete(it, 1)).collect();
        return Reading { groups: vec![group(&profile.domain(), streams)], ..Reading::default() };
    }
    if profile.name == WITHOUT_CONSENT {
        let why =
            "an administrator of the tenant has not consented yet; send them the consent link";
        return unread(why, true);
    }
    if profile.name == WITHOUT_KEY {
        return unread(
            "a Conditional Access policy of the tenant blocks the app; exclude the app's service principal from it",
            false,
        );
    }
    let groups = TENANT.iter().map(|(scope, streams)| {
        let streams = streams.iter().map(|(name, per_hundred)| {
            let n_rows = 1 + u64::from(profile.employees) * per_hundred / 100;
            match *name {
                "userRegistrationDetails" if profile.name == WITHOUT_PERMISSION => {
                    let why = "not allowed; grant the app AuditLog.Read.All and consent again";
                    missing(name, StreamState::Denied, why)
                }
                "userRegistrationDetails" if WITHOUT_P1.contains(&profile.name) => {
                    let why = "the client has no license for this: it needs Microsoft Entra ID P1";
                    missing(name, StreamState::Unlicensed, why)
                }
                _ => complete(name, n_rows),
            }
        });
        group(scope, streams.collect())
    });
    Reading { groups: groups.collect(), ..Reading::default() }
}

fn read_tool() -> Reading {
    let of_client = |(index, it): (usize, &DemoClient)| org(index, it.name, it.employees);
    let others = OTHER_ORGS.iter().enumerate();
    let others = others.map(|(index, (name, n))| org(CLIENTS.len() + index, name, *n));
    let orgs: Vec<Org> = CLIENTS.iter().enumerate().map(of_client).chain(others).collect();
    let n_devices = orgs.iter().filter_map(|it| it.n_devices).map(u64::from).sum();
    let mut streams = vec![complete("organizations", orgs.len() as u64)];
    streams.extend(TOOL_STREAMS.iter().map(|it| complete(it, n_devices)));
    Reading { groups: vec![group("", streams)], orgs: Some(orgs), ..Reading::default() }
}

fn org(index: usize, name: &str, n_devices: u32) -> Org {
    let external_id = (index + 1).to_string();
    Org { external_id, name: name.to_owned(), n_devices: Some(n_devices), ..Org::default() }
}

fn group(scope: &str, streams: Vec<Stream>) -> Group {
    Group { scope: scope.to_owned(), streams, ..Group::default() }
}

fn complete(name: &str, n_rows: u64) -> Stream {
    let (name, reason) = (name.to_owned(), String::new());
    Stream { name, state: StreamState::Complete, reason, n_rows }
}

fn missing(name: &str, state: StreamState, why: &str) -> Stream {
    Stream { name: name.to_owned(), state, reason: why.to_owned(), n_rows: 0 }
}

/// Nothing could be read.
fn unread(why: &str, awaits_consent: bool) -> Reading {
    let streams = vec![missing("sign_in", StreamState::Failed, why)];
    Reading { groups: vec![group("", streams)], awaits_consent, ..Reading::default() }
}
