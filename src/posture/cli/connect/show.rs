//! Connections as people read them.

use serde_json::Value;

use crate::cli::call::{Call, call};
use crate::cli::print;
use crate::config::Config;
use crate::error::{Error, Result};

pub(super) fn show(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let data = &answer["data"];
    let mut shown = data.clone();
    shown["settings"] = settings(&data["settings"]).into();
    print::fields(
        &shown,
        &[
            ("id", "id"),
            ("client", "clientId"),
            ("kind", "kind"),
            ("name", "name"),
            ("domains", "domains"),
            ("settings", "settings"),
            ("consent", "consentUrl"),
            ("waits for", "waitsFor"),
            ("health", "health"),
            ("paused", "paused"),
            ("last run", "lastRunAt"),
            ("last complete run", "lastSuccessAt"),
            ("next run", "nextRunAt"),
        ],
    )?;
    show_parts(data)
}

/// As they are entered, without certificates.
fn settings(all: &Value) -> String {
    let all = all.as_object().into_iter().flatten();
    let one = |(name, value): (&String, &Value)| match value.as_str() {
        Some(text) if text.contains('\n') => format!("{name}=({} lines)", text.lines().count()),
        _ => format!("{name}={}", print::cell(value)),
    };
    all.map(one).collect::<Vec<_>>().join(" ")
}

fn show_parts(data: &Value) -> Result<()> {
    let parts = print::rows(&data["parts"]);
    if parts.is_empty() {
        return Ok(());
    }
    let mut rows = Vec::new();
    for part in parts {
        for it in print::rows(&part["streams"]) {
            let cell = |name: &str| print::cell(&it[name]);
            rows.push(vec![
                print::cell(&part["scope"]),
                cell("name"),
                cell("state"),
                cell("rows"),
                cell("reason"),
            ]);
        }
    }
    print::table(&["PART", "STREAM", "STATE", "ROWS", "REASON"], &rows)?;
    for part in parts {
        for note in print::rows(&part["notes"]) {
            let words = [&part["scope"], &note["name"], &note["text"]].map(print::cell);
            let words: Vec<String> = words.into_iter().filter(|it| !it.is_empty()).collect();
            print::line(&words.join(": "))?;
        }
    }
    Ok(())
}

/// # Errors
/// `Invalid` if not everything could be read, so that scripts notice.
pub(super) fn show_test(json: bool, answer: &Value) -> Result<()> {
    if json {
        print::json(answer)?;
    } else {
        show_parts(&answer["data"])?;
        let mut rows = Vec::new();
        let parts = print::rows(&answer["data"]["parts"]).iter();
        for part in parts.chain(print::rows(&answer["data"]["organizations"])) {
            let whose = if part["name"].is_string() { &part["name"] } else { &part["scope"] };
            for it in print::rows(&part["controls"]) {
                let cell = |name: &str| print::cell(&it[name]);
                let words = it["findings"].as_str().unwrap_or_default().replace('\n', " ");
                rows.push(vec![
                    print::cell(whose),
                    cell("controlCode"),
                    cell("status"),
                    print::cell(&words.into()),
                ]);
            }
        }
        let heading = ["PART", "CONTROL", "STATUS", "BECAUSE"];
        if rows.is_empty() {
            print::line("it would decide no control")?;
        } else {
            print::table(&heading, &rows)?;
        }
    }
    if answer["data"]["complete"] == true {
        return Ok(());
    }
    Err(Error::invalid("not everything could be read; nothing is concluded from what is missing"))
}

pub(super) fn kinds(options: &Config, json: bool) -> Result<()> {
    let answer = call(options, Call::get("/api/connection-kinds"))?;
    if json {
        return print::json(&answer);
    }
    let mut rows = Vec::new();
    for kind in print::rows(&answer["data"]) {
        let of = if kind["provider"] == true { "your own tool" } else { "one client" };
        let proof = if kind["unproven"] == true { " (unproven)" } else { "" };
        let title = format!("{}{proof}", print::cell(&kind["title"]));
        let first = [print::cell(&kind["name"]), title, of.to_owned()];
        let fields = print::rows(&kind["fields"]);
        if fields.is_empty() {
            let domains = [
                "(--domain)",
                "A domain that sends or receives the client's mail. Can be repeated.",
            ];
            let domains = domains.map(str::to_owned);
            rows.push(first.clone().into_iter().chain(domains).collect());
        }
        for (index, it) in fields.iter().enumerate() {
            let head = if index == 0 { first.clone() } else { [const { String::new() }; 3] };
            let values = print::cell(&it["values"]).replace(',', ", ");
            let values = if values.is_empty() { values } else { format!(" One of: {values}.") };
            let secret = if it["secret"] == true { " Secret." } else { "" };
            let optional = if it["required"] == true { "" } else { " Optional." };
            let help = format!("{}{values}{secret}{optional}", print::cell(&it["help"]));
            rows.push(head.into_iter().chain([print::cell(&it["name"]), help]).collect());
        }
    }
    print::table(&["KIND", "TITLE", "READS", "SETTING", "MEANING"], &rows)
}
