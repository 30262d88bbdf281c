//! Where the links of events lead: to the resource of the management API, until there are pages for people.

use std::str::FromStr;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::engine::framework::FrameworkId;
use crate::id::{ClientId, RiskId, ScanId, TaskId};

/// As long as the name of a source may be.
const SOURCE_CHARS_MAX: usize = 200;
/// Longer than the longest reference of a framework.
const REFERENCE_CHARS_MAX: usize = 100;

/// The path that a link leads to. `link` is what follows `/go/`, as it was sent. Returns `None` if it is not a link.
///
/// A link is rewritten, nothing is looked up: what exists, and for whom, is known where it leads to. These addresses
/// are kept in tickets, so each works in all later releases; where it leads to may change.
///
/// - `client/<client>`: the client.
/// - `risk/<client>/<risk>`: the open risks of the client. The list has no filter for one risk.
/// - `task/<task>`: the tasks. The list has no filter for one task.
/// - `requirement/<client>/<framework>[/<reference>]`: the portfolio in this framework, with the status of the
///   requirement. The list has no filter for one client, and only the portfolio shows frameworks to users.
/// - `scan/<scan>`: the scan.
/// - `source/<client>/<source>`: the imports of the client. The list has no filter for one source.
pub(super) fn destination(link: &str) -> Option<String> {
    let parts: Vec<&str> = link.split('/').collect();
    match parts.as_slice() {
        ["client", client] => Some(format!("/api/clients/{}", id::<ClientId>(client)?)),
        ["risk", client, risk] => {
            id::<RiskId>(risk)?;
            Some(format!("/api/clients/{}/risks", id::<ClientId>(client)?))
        }
        ["task", task] => {
            id::<TaskId>(task)?;
            Some("/api/tasks".to_owned())
        }
        ["requirement", client, framework] => {
            id::<ClientId>(client)?;
            portfolio(framework)
        }
        ["requirement", client, framework, reference] => {
            id::<ClientId>(client)?;
            let reference = text(reference, REFERENCE_CHARS_MAX)?;
            let reference = utf8_percent_encode(&reference, NON_ALPHANUMERIC);
            Some(format!("{}&requirement={reference}", portfolio(framework)?))
        }
        ["scan", scan] => Some(format!("/api/scan/{}/status", id::<ScanId>(scan)?)),
        ["source", client, source] => {
            text(source, SOURCE_CHARS_MAX)?;
            Some(format!("/api/clients/{}/imports", id::<ClientId>(client)?))
        }
        _ => None,
    }
}

fn portfolio(framework: &str) -> Option<String> {
    let framework: FrameworkId = framework.parse().ok()?;
    Some(format!("/api/portfolio/compliance?framework={}", framework.as_str()))
}

fn id<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// A percent-encoded text. Returns `None` if it is empty, too long or not UTF-8.
fn text(encoded: &str, chars_max: usize) -> Option<String> {
    let text = percent_decode_str(encoded).decode_utf8().ok()?;
    (1..=chars_max).contains(&text.chars().count()).then(|| text.into_owned())
}
