//! What a control or a requirement of a client was, from when to when, and why it changed.

use serde_json::Value;

use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::Result;
use crate::page::PULL_LIMIT_MAX;

/// Lists the spans of the verdict at a path below the client, newest first.
pub(super) fn list(options: &Config, json: bool, client: &str, path: &str) -> Result<()> {
    let all = client_name::list(options, client, &format!("{path}/history"), PULL_LIMIT_MAX)?;
    let heading = ["FROM", "TO", "STATUS", "SCORE", "RESTS ON", "BECAUSE OF"];
    print::list(json, &all, ("never assessed", &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        let minute = |name: &str| print::given("", &it[name], print::minute);
        let status = print::result(&it["status"], &Value::Null);
        vec![minute("from"), minute("to"), status, cell("score"), rests_on(it), cause(it)]
    })
}

fn rests_on(it: &Value) -> String {
    let basis = print::cell(&it["restsOn"]);
    let sources = print::rows(&it["sources"]);
    if sources.is_empty() {
        return basis;
    }
    let mut named: Vec<String> = sources.iter().map(print::cell).collect();
    let n_all = it["sourceCount"].as_u64().unwrap_or_default();
    let n_more = n_all.saturating_sub(named.len() as u64);
    if n_more != 0 {
        named.push(format!("{n_more} more"));
    }
    format!("{basis} by {}", named.join(", "))
}

fn cause(it: &Value) -> String {
    let statement = print::given(" ", &it["statement"], print::cell);
    format!("{}{statement}", print::cell(&it["cause"]))
}
