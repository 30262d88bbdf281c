//! `posture connect map`.

use clap::Args;
use serde_json::{Value, json};

use super::path;
use crate::cli::call::{Call, ServerSession, with_session};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::{Error, Result};

/// Organizations of one request.
const N_AT_ONCE: usize = 1_000;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture connect map 018f6f2e-7a53-7cc0-9b53-1f2a3c4d5e6f
  posture connect map 018f6f2e-7a53-7cc0-9b53-1f2a3c4d5e6f 7 'Acme Ltd'
  posture connect map 018f6f2e-7a53-7cc0-9b53-1f2a3c4d5e6f --by-name")]
pub(in crate::cli) struct MapArgs {
    /// Connection id, as shown by `posture connect list`.
    id: String,
    /// The tool's id of an organization. Without it, the organizations are listed.
    organization: Option<String>,
    /// The client that it is, by name or id.
    #[arg(requires = "organization")]
    client: Option<String>,
    /// The organization is no client.
    #[arg(long, requires = "organization", conflicts_with = "client")]
    ignore: bool,
    /// Nobody knows which client the organization is.
    #[arg(long, requires = "organization", conflicts_with_all = ["client", "ignore"])]
    clear: bool,
    /// Map every organization that is not mapped yet to the client of the same name, ignoring case.
    #[arg(long, conflicts_with = "organization")]
    by_name: bool,
}

pub(super) fn run(options: &Config, json: bool, args: &MapArgs) -> Result<()> {
    let path = format!("{}/organizations", path(&args.id)?);
    let answer = with_session(options, async |session| {
        let mappings = match &args.organization {
            None if args.by_name => by_name(session, &path).await?,
            None => Vec::new(),
            Some(organization) => {
                let client = match &args.client {
                    Some(client) => Some(client_name::find(session, client).await?.to_string()),
                    None if args.ignore || args.clear => None,
                    None => {
                        let rule =
                            "name the client that the organization is, or say --ignore or --clear";
                        return Err(Error::invalid(rule));
                    }
                };
                vec![json!({
                    "externalId": organization, "clientId": client, "ignored": args.ignore,
                })]
            }
        };
        for some in mappings.chunks(N_AT_ONCE) {
            let body = json!({ "organizations": some });
            session.call(Call::of("PATCH", path.as_str(), &body)).await?;
        }
        session.call(Call::get(path.as_str())).await
    })?;
    if json {
        return print::json(&answer);
    }
    let row = |it: &Value| {
        let client = match (&it["clientId"], &it["ignored"]) {
            (_, Value::Bool(true)) => "(ignored)".to_owned(),
            (Value::Null, _) => "(not mapped)".to_owned(),
            (client, _) => print::cell(client),
        };
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            cell("externalId"),
            cell("name"),
            client,
            cell("devices"),
            print::minute(&it["lastSeenAt"]),
        ]
    };
    let heading = ["ORGANIZATION", "NAME", "CLIENT", "DEVICES", "LAST SEEN"];
    print::list(false, print::rows(&answer["data"]), ("no organizations", &heading), row)
}

/// A name that two clients have maps nothing.
async fn by_name(session: &ServerSession, path: &str) -> Result<Vec<Value>> {
    let orgs = session.call(Call::get(path)).await?;
    let mut mappings = Vec::new();
    for org in print::rows(&orgs["data"]) {
        let is_open = org["clientId"].is_null() && org["ignored"] == false;
        let name = org["name"].as_str().unwrap_or_default().trim();
        if !is_open || name.is_empty() {
            continue;
        }
        if let [client] = client_name::of_name(session, name).await?.as_slice() {
            mappings.push(json!({
                "externalId": org["externalId"], "clientId": client["id"], "ignored": false,
            }));
        }
    }
    Ok(mappings)
}
