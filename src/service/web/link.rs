//! Where the links of events lead: to the pages of the console.

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
/// - `risk/<client>/<risk>`: the risk.
/// - `task/<task>`: the tasks. There is no page of one task.
/// - `requirement/<client>/<framework>[/<reference>]`: the framework, or the requirement.
/// - `scan/<scan>`: the scan.
/// - `source/<client>/<source>`: the observations of the source.
pub(super) fn destination(link: &str) -> Option<String> {
    let parts: Vec<&str> = link.split('/').collect();
    match parts.as_slice() {
        ["client", client] => page_of(client),
        ["risk", client, risk] => {
            Some(format!("{}/risks/{}", page_of(client)?, id::<RiskId>(risk)?))
        }
        ["task", task] => {
            id::<TaskId>(task)?;
            Some("/tasks".to_owned())
        }
        ["requirement", client, framework] => page_in(client, framework),
        ["requirement", client, framework, reference] => {
            let reference = text(reference, REFERENCE_CHARS_MAX)?;
            let reference = utf8_percent_encode(&reference, NON_ALPHANUMERIC);
            Some(format!("{}/{reference}", page_in(client, framework)?))
        }
        ["scan", scan] => Some(format!("/scans/{}", id::<ScanId>(scan)?)),
        ["source", client, source] => {
            let source = text(source, SOURCE_CHARS_MAX)?;
            let source = utf8_percent_encode(&source, NON_ALPHANUMERIC);
            Some(format!("{}/observations?source={source}", page_of(client)?))
        }
        _ => None,
    }
}

fn page_of(client: &str) -> Option<String> {
    Some(format!("/clients/{}", id::<ClientId>(client)?))
}

fn page_in(client: &str, framework: &str) -> Option<String> {
    let framework: FrameworkId = framework.parse().ok()?;
    let framework = utf8_percent_encode(framework.as_str(), NON_ALPHANUMERIC);
    Some(format!("{}/frameworks/{framework}", page_of(client)?))
}

fn id<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// A percent-encoded text. Returns `None` if it is empty, too long or not UTF-8.
fn text(encoded: &str, chars_max: usize) -> Option<String> {
    let text = percent_decode_str(encoded).decode_utf8().ok()?;
    (1..=chars_max).contains(&text.chars().count()).then(|| text.into_owned())
}
