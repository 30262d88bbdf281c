//! `posture catalog`: the catalog in this executable, as the API shows it.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use super::call::{Call, with_session};
use super::{input, print};
use crate::app::exploited::LIST_BYTES_MAX;
use crate::config::Config;
use crate::error::{Error, Result};

#[derive(Debug, Subcommand)]
pub(super) enum CatalogCommand {
    /// List the frameworks.
    List,
    /// Show a framework, or the requirements with a reference.
    Show {
        /// Framework identifier such as `SOC2`, or requirement reference such as CC6.1.
        reference: String,
    },
    /// Show a technical control.
    Control {
        /// Control code, such as ID-01.
        code: String,
    },
    /// Bring CISA's list of vulnerabilities that are known to be exploited, or show which one is in use.
    #[command(after_help = "\
Examples:
  curl -sO https://www.cisa.gov/sites/default/files/feeds/known_exploited_vulnerabilities.json
  posture catalog kev known_exploited_vulnerabilities.json
  posture catalog kev")]
    Kev {
        /// CISA's file `known_exploited_vulnerabilities.json`, or - for standard input.
        file: Option<PathBuf>,
    },
}

pub(super) fn run(options: &Config, json: bool, command: CatalogCommand) -> Result<()> {
    with_session(options, async |session| match command {
        CatalogCommand::List => {
            let answer = session.call(Call::get("/api/frameworks")).await?;
            list(json, &answer)
        }
        CatalogCommand::Show { reference } => {
            let all = session.call(Call::get("/api/frameworks")).await?;
            let ids = all["data"].as_array().into_iter().flatten();
            let ids: Vec<&str> = ids.filter_map(|it| it["frameworkId"].as_str()).collect();
            if let Some(id) = ids.iter().find(|it| it.eq_ignore_ascii_case(&reference)) {
                return show_framework(json, &session.call(framework(id)).await?);
            }
            let mut found = Vec::new();
            for id in ids {
                let answer = session.call(framework(id)).await?;
                let rows = answer["data"]["rows"].as_array().cloned().unwrap_or_default();
                let same = |it: &Value| is_named(&it["requirement"], &reference);
                found.extend(rows.into_iter().filter(same).map(|it| (id, it)));
            }
            show_rows(json, &reference, &found)
        }
        CatalogCommand::Control { code } => {
            let answer = session.call(Call::get("/api/controls")).await?;
            let all = answer["data"].as_array().cloned().unwrap_or_default();
            let found = all.into_iter().find(|it| is_named(&it["controlCode"], &code));
            show_control(json, &found.ok_or_else(|| unknown_control(&code))?)
        }
        CatalogCommand::Kev { file: None } => {
            show_exploited(json, &session.call(Call::get("/api/exploited")).await?)
        }
        CatalogCommand::Kev { file: Some(file) } => {
            let list: Value = serde_json::from_str(&input::text(&file, LIST_BYTES_MAX)?)
                .map_err(|it| Error::invalid(format!("the file is not JSON: {it}")))?;
            let answer = session.call(Call::of("PUT", "/api/exploited", &list)).await?;
            show_exploited(json, &answer)
        }
    })
}

fn show_exploited(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    if answer["data"]["list"].is_null() {
        return print::line(
            "no list of exploited vulnerabilities; `posture catalog kev FILE` brings one",
        );
    }
    let fields = [
        ("version", "version"),
        ("released", "releasedAt"),
        ("entries", "entries"),
        ("brought", "at"),
        ("by", "by"),
    ];
    print::fields(&answer["data"]["list"], &fields)
}

fn framework(id: &str) -> Call {
    Call::get(format!("/api/frameworks/{id}"))
}

fn is_named(value: &Value, name: &str) -> bool {
    value.as_str().is_some_and(|it| it.eq_ignore_ascii_case(name))
}

fn unknown_control(code: &str) -> Error {
    Error::not_found(format!(
        "unknown control `{code}`; `posture catalog show FRAMEWORK` lists controls by requirement"
    ))
}

fn unknown_reference(name: &str) -> Error {
    Error::not_found(format!(
        "unknown framework or reference `{name}`; `posture catalog list` lists the frameworks"
    ))
}

fn list(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let row = |it: &Value| {
        ["frameworkId", "frameworkVersion", "requirements", "details", "automatic", "frameworkName"]
            .map(|name| print::cell(&it[name]))
            .to_vec()
    };
    let rows: Vec<_> = answer["data"].as_array().into_iter().flatten().map(row).collect();
    print::table(&["ID", "VERSION", "REQUIREMENTS", "DETAILS", "AUTOMATIC", "NAME"], &rows)
}

fn show_framework(json: bool, answer: &Value) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let codes = |it: &Value| {
        let all = it["controls"].as_array().into_iter().flatten();
        all.map(|it| print::cell(&it["controlCode"])).collect::<Vec<_>>().join(",")
    };
    let row =
        |it: &Value| vec![print::cell(&it["requirement"]), codes(it), print::cell(&it["title"])];
    let rows: Vec<_> = answer["data"]["rows"].as_array().into_iter().flatten().map(row).collect();
    print::table(&["REFERENCE", "CONTROLS", "TITLE"], &rows)
}

fn show_rows(json: bool, reference: &str, found: &[(&str, Value)]) -> Result<()> {
    if found.is_empty() {
        return Err(unknown_reference(reference));
    }
    if json {
        let rows: Vec<_> = found.iter().map(|(_, it)| it).collect();
        return print::json(&json!({ "data": rows }));
    }
    for (id, row) in found {
        print::line(&format!("{id} {}", print::cell(&row["requirement"])))?;
        print::fields(
            row,
            &[
                ("title", "title"),
                ("description", "description"),
                ("level", "level"),
                ("parent", "parent"),
                ("gate", "gate"),
                ("applies", "applies"),
            ],
        )?;
        for mapping in row["controls"].as_array().into_iter().flatten() {
            let cell = |name: &str| print::cell(&mapping[name]);
            let (code, role, why) = (cell("controlCode"), cell("role"), cell("why"));
            print::line(&format!("  {code} {role}: {why}"))?;
        }
    }
    Ok(())
}

fn show_control(json: bool, control: &Value) -> Result<()> {
    if json {
        return print::json(&json!({ "data": control }));
    }
    let facet = |it: &Value| {
        let one = if it["oneIsEnough"] == true { " (one that fails is enough)" } else { "" };
        format!("{}: {}{one}", print::cell(&it["name"]), print::cell(&it["says"]))
    };
    let facets = control["facets"].as_array().into_iter().flatten().map(facet);
    let mut control = control.clone();
    control["facets"] = json!(facets.collect::<Vec<_>>());
    print::fields(
        &control,
        &[
            ("code", "controlCode"),
            ("title", "title"),
            ("category", "category"),
            ("severity", "severity"),
            ("requires", "requires"),
            ("decided by", "decidedBy"),
            ("platforms", "platforms"),
            ("over", "over"),
            ("parts", "facets"),
            ("max age (days)", "maxAgeDays"),
            ("question", "question"),
            ("risk", "risk"),
            ("remediation", "remediation"),
            ("checks", "checks"),
            ("show only gaps", "gapChecks"),
            ("checks needed", "checksMin"),
            ("requirements", "requirements"),
        ],
    )
}
