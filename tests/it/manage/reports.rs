//! Reports to hand on, as tables.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use calamine::{Data, Reader, Xlsx};
use flate2::read::DeflateDecoder;
use posture::clock::Time;
use rawzip::ZipArchive;
use serde_json::{Value, json};

use super::controls::attest;
use super::{GOOD, MIXED, import, patched, read, refused_field};
use crate::harness::{Answer, Posture};

const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

fn ask(posture: &Posture, path: &str) -> Answer {
    let answer = posture.operator("GET", path, &Value::Null);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer
}

/// The rows of a table by their headings.
type Rows = Vec<BTreeMap<String, String>>;

fn by_heading(mut lines: impl Iterator<Item = Vec<String>>) -> Rows {
    let headings = lines.next().unwrap();
    lines.map(|cells| headings.iter().cloned().zip(cells).collect()).collect()
}

pub(super) fn csv_rows(answer: &Answer) -> Rows {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&*answer.body);
    let lines = reader.records().map(|it| it.unwrap().iter().map(str::to_owned).collect());
    by_heading(lines)
}

/// What a spreadsheet shows of a cell; times as in CSV.
fn shown(cell: &Data) -> String {
    match cell {
        Data::Empty => String::new(),
        Data::String(text) => text.clone(),
        Data::Float(number) => number.to_string(),
        Data::DateTime(time) => of_days(time.as_f64()),
        Data::Int(_)
        | Data::Bool(_)
        | Data::DateTimeIso(_)
        | Data::DurationIso(_)
        | Data::Error(_) => {
            panic!("a cell {cell:?}")
        }
    }
}

/// A spreadsheet counts days from 1899-12-30 on.
#[expect(clippy::float_arithmetic, reason = "that is how a spreadsheet keeps a time")]
fn of_days(n_days: f64) -> String {
    let s = format!("{:.0}", (n_days - 25_569.0) * 86_400.0);
    Time::from_s(s.parse().unwrap()).to_string()
}

fn xlsx_rows(answer: &Answer) -> Rows {
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(answer.body.clone())).unwrap();
    assert_eq!(book.sheet_names().len(), 1);
    let formulas = book.worksheet_formula(&book.sheet_names()[0]).unwrap();
    assert!(formulas.used_cells().next().is_none(), "no text is a formula");
    let sheet = book.worksheet_range_at(0).unwrap().unwrap();
    let lines: Vec<Vec<String>> = sheet.rows().map(|row| row.iter().map(shown).collect()).collect();
    by_heading(lines.into_iter())
}

/// The XML of the one sheet.
fn sheet_xml(answer: &Answer) -> String {
    let archive = ZipArchive::from_slice(&answer.body).unwrap();
    let entries = archive.entries().map(Result::unwrap);
    let mut entries = entries.filter(|it| it.file_path().as_bytes() == b"xl/worksheets/sheet1.xml");
    let sheet = archive.get_entry(entries.next().unwrap().wayfinder()).unwrap();
    let mut xml = String::new();
    DeflateDecoder::new(sheet.data()).read_to_string(&mut xml).unwrap();
    xml
}

/// The texts of a list.
fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect()
}

fn decide(posture: &Posture, client: &str, row: &str, body: &Value) {
    let path = format!("/api/clients/{client}/compliance/{row}");
    let answer = posture.operator("PUT", &path, body);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn a_report_says_of_each_requirement_what_the_api_says() {
    let posture = Posture::start();
    let client = posture.client("Acme Ltd");
    import(&posture, &client, "", MIXED);
    attest(&posture, &client, "GOV-06", &json!({"evidence": "plan, page 3"}));
    let out = json!({"decision": "out_of_scope", "reason": "no offices", "by": "Ada"});
    decide(&posture, &client, "SOC2/CC6.4", &out);
    let answer = ask(&posture, &format!("/api/clients/{client}/reports/soc2"));
    assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(
        answer.header("content-disposition"),
        Some("attachment; filename=\"Acme-Ltd-SOC2.csv\"")
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let rows = csv_rows(&answer);
    let detail = read(&posture, &format!("/api/clients/{client}/compliance/SOC2"));
    let requirements = detail["requirements"].as_array().unwrap();
    assert_eq!(rows.len(), requirements.len());
    for (row, requirement) in rows.iter().zip(requirements) {
        assert_eq!((&*row["Client"], &*row["Framework"]), ("Acme Ltd", "SOC2"));
        assert_eq!(row["Requirement"], requirement["requirement"].as_str().unwrap());
        assert_eq!(row["Title"], requirement["title"].as_str().unwrap());
        assert_eq!(row["Status"], requirement["overallStatus"].as_str().unwrap());
        assert_eq!(row["Score"], requirement["complianceScore"].to_string());
        assert_eq!(row["Because"], texts(&requirement["because"]).join(". "));
        for control in requirement["controls"].as_array().unwrap() {
            let words = match control["status"].as_str().unwrap() {
                "partial" if control["partialBecause"] == "unseen" => "met where seen",
                "partial" if control["partialBecause"] == "claimed" => "said, not shown",
                "partial" => "partly met",
                "non_compliant" => "not compliant",
                "not_assessed" => "not assessed",
                other => other,
            };
            let result = format!("{} {words}", control["controlCode"].as_str().unwrap());
            assert!(row["Controls"].contains(&result), "{}: {result}", row["Controls"]);
        }
    }
    let row = |reference: &str| rows.iter().find(|it| it["Requirement"] == reference).unwrap();
    let now = posture.now().to_string();
    let seen = row("CC6.1");
    assert_eq!((&seen["Last seen"], &seen["Sources"]), (&now, &format!("prowler {now}")));
    let out = row("CC6.4");
    let decided = ["Status", "Decision", "Decision reason", "Decided by"].map(|it| &*out[it]);
    assert_eq!(decided, ["not_applicable", "out_of_scope", "no offices", "Ada"]);
    assert_eq!((&out["Decided at"], &*out["Decided until"]), (&now, ""));
    let attested: Vec<_> = rows.iter().filter(|it| !it["Attestations"].is_empty()).collect();
    assert!(!attested.is_empty());
    for it in attested {
        assert!(it["Controls"].contains("GOV-06 compliant"), "{}", it["Controls"]);
        assert!(it["Attestations"].starts_with("GOV-06 compliant by "), "{}", it["Attestations"]);
        assert!(it["Attestations"].ends_with(" [plan, page 3]"), "{}", it["Attestations"]);
    }
}

#[test]
fn a_spreadsheet_has_the_cells_of_the_text() {
    let posture = Posture::start();
    let client = posture.client("Acme");
    import(&posture, &client, "", MIXED);
    let out = json!({"decision": "out_of_scope", "reason": "no offices", "by": "Ada"});
    decide(&posture, &client, "SOC2/CC6.4", &out);
    for path in [
        format!("/api/clients/{client}/reports/SOC2"),
        format!("/api/clients/{client}/reports/NIST_800_53"),
        "/api/portfolio/report".to_owned(),
    ] {
        let text = csv_rows(&ask(&posture, &format!("{path}?format=csv")));
        let sheet = ask(&posture, &format!("{path}?format=xlsx"));
        assert_eq!(sheet.header("content-type"), Some(XLSX));
        assert_eq!(xlsx_rows(&sheet), text, "{path}");
        let xml = sheet_xml(&sheet);
        for part in ["state=\"frozen\"", "ySplit=\"1\"", "<autoFilter ref=\"A1:", "<cols>"] {
            assert!(xml.contains(part), "{path}: {part}");
        }
        assert!(!text.is_empty());
    }
}

#[test]
fn what_has_expired_is_not_reported() {
    let posture = Posture::start();
    let client = posture.client("A");
    let until = posture.now().plus_days(10).to_string();
    attest(&posture, &client, "GOV-06", &json!({"evidence": "e", "until": until}));
    let body = json!({"decision": "out_of_scope", "reason": "r", "by": "Ada", "until": until});
    decide(&posture, &client, "SOC2/CC6.4", &body);
    let path = format!("/api/clients/{client}/reports/SOC2");
    let n_told = || {
        let rows = csv_rows(&ask(&posture, &path));
        let is_told = |it: &&BTreeMap<String, String>| {
            [&it["Decision"], &it["Attestations"]].iter().any(|it| !it.is_empty())
        };
        rows.iter().filter(is_told).count()
    };
    assert_ne!(n_told(), 0);
    posture.pass_days(11);
    posture.sweep();
    assert_eq!(n_told(), 0);
}

#[test]
fn no_text_becomes_a_formula() {
    let posture = Posture::start();
    let starts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=HYPERLINK(\"http://x\";\"y\")"];
    for start in starts {
        let client = posture.client("A");
        patched(
            &posture,
            &format!("/api/clients/{client}"),
            &json!({"name": start.trim(), "allowSameName": true}),
        );
        let name = read(&posture, &format!("/api/clients/{client}"))["name"].clone();
        let body = json!({"decision": "out_of_scope", "reason": start, "by": "Ada"});
        decide(&posture, &client, "SOC2/CC6.4", &body);
        let path = format!("/api/clients/{client}/reports/SOC2");
        let find = |rows: Rows| rows.into_iter().find(|it| it["Requirement"] == "CC6.4").unwrap();
        let text = find(csv_rows(&ask(&posture, &path)));
        assert_eq!(text["Decision reason"], format!("'{start}"));
        assert!(text["Client"].starts_with('\''), "{}", text["Client"]);
        let sheet = find(xlsx_rows(&ask(&posture, &format!("{path}?format=xlsx"))));
        assert_eq!(sheet["Decision reason"], start.trim());
        assert_eq!(sheet["Client"], name.as_str().unwrap().trim());
    }
    let portfolio = csv_rows(&ask(&posture, "/api/portfolio/report"));
    assert!(portfolio.iter().all(|it| it["Client"].starts_with('\'')));
    // Semicolons separate cells where commas are decimal points.
    let bytes = ask(&posture, "/api/portfolio/report").text();
    assert!(bytes.contains("\"'=HYPERLINK(\"\"http://x\"\";\"\"y\"\")\""), "{bytes:.2000}");
}

#[test]
fn the_portfolio_has_a_row_for_each_active_client_that_the_caller_may_see() {
    let posture = Posture::start();
    let clients = super::programs::in_order(&posture, ["Good", "Mixed", "Unknown", "Inactive"]);
    import(&posture, &clients[0], "", GOOD);
    import(&posture, &clients[1], "", MIXED);
    patched(&posture, &format!("/api/clients/{}", clients[3]), &json!({"active": false}));
    let scope = json!({"settings": {"frameworks": ["SOC2", "CIS_V8"]}});
    patched(&posture, &format!("/api/clients/{}", clients[1]), &scope);
    let answer = ask(&posture, "/api/portfolio/report");
    assert_eq!(
        answer.header("content-disposition"),
        Some("attachment; filename=\"portfolio.csv\"")
    );
    let rows = csv_rows(&answer);
    let standings = read(&posture, "/api/portfolio/scores");
    let standings = standings.as_array().unwrap();
    assert_eq!((rows.len(), standings.len()), (3, 3));
    let text = |it: &Value| match it {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => it.to_string(),
    };
    for (row, it) in rows.iter().zip(standings) {
        for (heading, value) in [
            ("Client", &it["clientName"]),
            ("Client id", &it["clientId"]),
            ("Score", &it["score"]["overallScore"]),
            ("Grade", &it["score"]["grade"]),
            ("Coverage %", &it["coverage"]),
            ("Critical risks", &it["risks"]["critical"]),
            ("High risks", &it["risks"]["high"]),
            ("Medium risks", &it["risks"]["medium"]),
            ("Low risks", &it["risks"]["low"]),
        ] {
            assert_eq!(row[heading], text(value), "{heading}");
        }
        assert_eq!(row["Provisional"] == "yes", it["provisional"] == true);
        assert_eq!(row["Attention"], texts(&it["attention"]).join(", "));
        for framework in it["frameworks"].as_array().unwrap() {
            let id = framework["framework"].as_str().unwrap();
            for (figure, member) in [
                ("readiness", "readinessScore"),
                ("passed", "passedControls"),
                ("partial", "partialControls"),
                ("failed", "failedControls"),
                ("total", "totalControls"),
            ] {
                let value =
                    if framework["inScope"] == true { &framework[member] } else { &Value::Null };
                assert_eq!(row[&format!("{id} {figure}")], text(value), "{id} {figure}");
            }
        }
    }
    let scopes = json!(["read:portfolio"]);
    let key = posture.key_with(&json!({"scopes": scopes, "clientIds": [clients[1], clients[3]]}));
    for format in ["csv", "xlsx"] {
        let own = posture.fetch(&key, &format!("/api/portfolio/report?format={format}"));
        let own = if format == "csv" { csv_rows(&own) } else { xlsx_rows(&own) };
        assert_eq!(own, rows[1..2], "{format}");
    }
}

#[test]
fn a_report_that_cannot_be_made_is_refused_like_the_reads() {
    let posture = Posture::start();
    let client = posture.client("A");
    let get = |path: &str| posture.operator("GET", path, &Value::Null);
    let of = |rest: &str| get(&format!("/api/clients/{client}/{rest}"));
    let absent = of("reports/SOC3");
    assert_eq!((absent.status, absent.problem()), (404, of("compliance/SOC3").problem()));
    for (path, rule) in [
        (format!("/api/clients/{client}/reports/SOC2?format=doc"), "csv, xlsx, oscal, html, pdf"),
        ("/api/portfolio/report?format=oscal".to_owned(), "csv, xlsx, html, pdf"),
    ] {
        let refused = refused_field(&get(&path));
        assert_eq!(refused, ("format".to_owned(), format!("must be one of {rule}")));
    }
    let other = posture.client("B");
    let key = posture.key_with(&json!({"scopes": ["read:compliance"], "clientIds": [other]}));
    let foreign = posture.fetch(&key, &format!("/api/clients/{client}/reports/SOC2"));
    assert_eq!(foreign.status, 403);
    let own = posture.fetch(&key, &format!("/api/clients/{other}/reports/SOC2"));
    assert_eq!(own.status, 200);
}
