//! The two text formats of metrics, and which one a scraper takes: `OpenMetrics`, and Prometheus' own before it, in which a
//! counter is called by the name of its samples.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use poem::Response;
use poem::http::{HeaderMap, header};

use super::compression::thousandths;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The most that a scraper can like a format: `q=1`.
const WEIGHT_MAX: u16 = 1_000;

/// The answer to a scrape. `text`: in `OpenMetrics`, which is sent unless the scraper likes the other format more.
pub fn respond(text: String, headers: &HeaderMap) -> Response {
    let likes = |media: &str| weight(headers, media);
    if likes("application/openmetrics-text") < likes("text/plain") {
        return Response::builder().content_type(PROMETHEUS).body(prometheus(&text));
    }
    Response::builder().content_type(OPEN_METRICS).body(text)
}

/// How much a caller likes a type of content, in thousandths. The most specific range of `Accept` counts.
fn weight(headers: &HeaderMap, media: &str) -> u16 {
    let kind = media.split('/').next().unwrap_or(media);
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|it| it.to_str().ok());
    let ranges = values.flat_map(|it| it.split(',')).filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let rank = if name == media {
            2
        } else if name.strip_suffix("/*") == Some(kind) {
            1
        } else if name == "*/*" {
            0
        } else {
            return None;
        };
        let weight = parts.filter_map(|it| it.split_once('=')).find(|it| it.0.trim() == "q");
        let weight = weight.map_or(Some(WEIGHT_MAX), |it| thousandths(it.1.trim()));
        Some((rank, weight.unwrap_or(0)))
    });
    ranges.max().map_or(0, |it| it.1)
}

/// `OpenMetrics` as text of version 0.0.4.
fn prometheus(text: &str) -> String {
    let described = |line: &'_ str| {
        let (word, rest) = line.strip_prefix("# ")?.split_once(' ')?;
        let (name, said) = rest.split_once(' ')?;
        Some((word.to_owned(), name.to_owned(), said.to_owned()))
    };
    let types = text.lines().filter_map(described).filter(|it| it.0 == "TYPE");
    let types: BTreeMap<String, String> = types.map(|it| (it.1, it.2)).collect();
    let mut converted = String::with_capacity(text.len());
    for line in text.lines() {
        match described(line) {
            Some((word, name, said)) if word == "HELP" || word == "TYPE" => {
                let is_counter = types.get(&name).is_some_and(|it| it == "counter");
                let end = if is_counter { "_total" } else { "" };
                let said = if said == "unknown" { "untyped" } else { &said };
                let _ = writeln!(converted, "# {word} {name}{end} {said}");
            }
            // Units, and the mark at the end.
            _ if line.starts_with('#') => (),
            _ => {
                converted.push_str(line);
                converted.push('\n');
            }
        }
    }
    converted
}
