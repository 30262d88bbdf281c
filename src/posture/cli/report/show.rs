//! `posture show`: one client on one screen.

use clap::Args;
use serde_json::{Value, json};

use super::event::contradicted;
use crate::cli::call::{Call, ServerSession, with_session};
use crate::cli::decision::estate;
use crate::cli::{client_name, print};
use crate::clock::{Clock, Time};
use crate::config::Config;
use crate::engine::risk::rounded;
use crate::error::Result;
use crate::page::PULL_LIMIT_MAX;

/// Risks that are shown.
const N_RISKS_SHOWN: usize = 5;
/// Score changes that are shown.
const N_MOVES_SHOWN: usize = 3;
const N_UNSEEN_SHOWN: usize = 5;
/// Controls listed for one score change.
const N_CONTROLS_SHOWN: usize = 4;
/// Decisions that are contradicted by what was seen, and sources of one, that are shown.
const N_CONTRADICTIONS_SHOWN: usize = 20;
const N_SOURCES_NAMED: usize = 3;
/// Profile questions that are shown.
const N_QUESTIONS_SHOWN: usize = 5;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture show 'Acme Ltd'
  posture show 'Acme Ltd' --json | jq .data.posture.score.overallScore

With --json, each member of `data` is the answer of an operation of the API: `client`, `posture`, `frameworks` (those
in scope), `risks` (the worst that are not accepted), `openRisks` (how many of each severity), `acceptedRisks` (how many),
`tasks` (open or in progress) and `alerts` (open).")]
pub(in crate::cli) struct ShowArgs {
    /// Name or id of the client.
    client: String,
}

pub(in crate::cli) fn run(options: &Config, json: bool, args: &ShowArgs) -> Result<()> {
    let data = with_session(options, async |session| read(session, &args.client).await)?;
    if json {
        return print::json(&json!({ "data": data }));
    }
    show_score(&data)?;
    show_frameworks(&data["frameworks"])?;
    show_contradictions(&data["posture"])?;
    show_risks(&data)?;
    show_work(&data)?;
    show_unseen(&data["posture"]["unseen"])?;
    show_moves(&data["posture"]["moves"])?;
    show_questions(&data)
}

async fn read(session: &ServerSession, client: &str) -> Result<Value> {
    let id = client_name::find(session, client).await?;
    let path = format!("/api/clients/{id}");
    let risks = format!("{path}/risks");
    let get = async |path: &str| -> Result<Value> {
        Ok(session.call(Call::get(path)).await?["data"].take())
    };
    let count = async |query: &str| -> Result<Value> {
        let answer = session.call(Call::get(format!("{risks}?limit=1&{query}"))).await?;
        Ok(answer["pagination"]["total"].clone())
    };
    let mut open = json!({});
    for severity in ["critical", "high", "medium", "low"] {
        open[severity] = count(&format!("accepted=false&severity={severity}")).await?;
    }
    let frameworks = get(&format!("{path}/compliance")).await?;
    let in_scope = print::rows(&frameworks).iter().filter(|it| it["inScope"] == true);
    let tasks = format!("/api/tasks?clientId={id}&status=open&status=in_progress");
    let mut alerts = session.list(&format!("/api/alerts?clientId={id}"), PULL_LIMIT_MAX).await?;
    alerts.retain(|it| it["closedAt"].is_null());
    Ok(json!({
        "client": get(&path).await?,
        "posture": get(&format!("{path}/posture")).await?,
        "frameworks": in_scope.collect::<Vec<_>>(),
        "risks": get(&format!("{risks}?accepted=false&limit={N_RISKS_SHOWN}")).await?,
        "openRisks": open,
        "acceptedRisks": count("accepted=true").await?,
        "tasks": session.list(&tasks, PULL_LIMIT_MAX).await?,
        "alerts": alerts,
    }))
}

fn show_score(data: &Value) -> Result<()> {
    let (client, posture) = (&data["client"], &data["posture"]);
    let inactive = if client["active"] == false { "  (inactive)" } else { "" };
    print::line(&format!(
        "{}  {}{inactive}",
        print::cell(&client["name"]),
        print::cell(&client["id"])
    ))?;
    print::line("")?;
    let score = &posture["score"];
    if score.is_null() {
        return print::line("score       none yet; `posture import` brings in the first results");
    }
    print::line(&format!("score       {}", score_text(score, posture)))?;
    let n = |name: &str| score[name].as_u64().unwrap_or(0);
    let total = n("controlsTotal");
    let [compliant, partial, non_compliant] =
        ["controlsCompliant", "controlsPartial", "controlsNonCompliant"].map(n);
    let unassessed = total.saturating_sub(compliant + partial + non_compliant);
    print::line(&format!(
        "controls    {compliant} of {total} compliant, {partial} partly met or met where seen, {non_compliant} not compliant, \
         {unassessed} not assessed"
    ))?;
    if let Some(text) = change_text(score, &posture["moves"], Clock::System.now()) {
        print::line(&format!("change      {text}"))?;
    }
    let loss = &posture["expectedLoss"];
    if let (Some(now), Some(exposure)) = (loss["now"].as_u64(), loss["exposure"].as_u64()) {
        print::line(&format!(
            "dollars     about {} a year expected from incidents, {} of it from what fails now",
            print::dollars(rounded(now)),
            print::dollars(rounded(exposure))
        ))?;
    }
    Ok(())
}

/// A score with its grade, and how far it can be trusted.
pub(in crate::cli) fn score_text(score: &Value, posture: &Value) -> String {
    let (number, grade) = (print::cell(&score["overallScore"]), print::cell(&score["grade"]));
    let provisional = if posture["provisional"] == true { "provisional, " } else { "" };
    format!("{number} {grade}, {provisional}coverage {} %", print::cell(&posture["coverage"]))
}

/// How the score changed since yesterday and in the last week.
fn change_text(score: &Value, moves: &Value, now: Time) -> Option<String> {
    let current = score["overallScore"].as_i64()?;
    let since = |days: i64, name: &str| {
        let before = score_at(moves, now.plus_days(-days))?;
        Some(match current - before {
            0 => format!("none {name}"),
            it => format!("{it:+} {name}"),
        })
    };
    let texts = [since(1, "since yesterday"), since(7, "in the last week")];
    let known: Vec<String> = texts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// The score at a time, from the changes since then, newest first. `None`: there was none, it is too long ago, or the rules
/// of assessment changed since then.
fn score_at(moves: &Value, at: Time) -> Option<i64> {
    let is_before = |it: &Value| {
        it["at"].as_str().and_then(|it| it.parse().ok()).is_some_and(|it: Time| it <= at)
    };
    let moves = moves.as_array()?;
    let mut since = moves.iter().take_while(|it| !is_before(it));
    if since.any(|it| it["cause"] == "catalogue") {
        return None;
    }
    moves.iter().find(|it| is_before(it))?["to"].as_i64()
}

fn show_frameworks(frameworks: &Value) -> Result<()> {
    let all = print::rows(frameworks);
    if all.is_empty() {
        return Ok(());
    }
    print::line("")?;
    let rows: Vec<_> = all
        .iter()
        .map(|it| {
            let cell = |name: &str| print::cell(&it[name]);
            let n = |name: &str| it[name].as_u64().unwrap_or(0);
            let assessed = n("passedControls") + n("partialControls") + n("failedControls");
            let unassessed = n("totalControls").saturating_sub(assessed);
            let readiness = if assessed == 0 { "-".to_owned() } else { cell("readinessScore") };
            vec![
                cell("frameworkId"),
                readiness,
                cell("passedControls"),
                cell("partialControls"),
                cell("failedControls"),
                unassessed.to_string(),
            ]
        })
        .collect();
    let heading =
        ["FRAMEWORK", "READINESS", "COMPLIANT", "PARTLY MET", "NOT COMPLIANT", "NOT ASSESSED"];
    print::table(&heading, &rows)
}

/// Decisions that are contradicted by what was seen.
fn show_contradictions(posture: &Value) -> Result<()> {
    let n = &posture["contradictionCount"];
    if *n == 0 {
        return Ok(());
    }
    print::line("")?;
    let verb = if *n == 1 { "is" } else { "are" };
    let decisions = print::count(n, "decision");
    print::line(&format!("{decisions} {verb} contradicted by what was seen"))?;
    let all = print::rows(&posture["contradictions"]).iter().take(N_CONTRADICTIONS_SHOWN);
    let row = |it: &Value| {
        let seen = match it["failing"].as_u64() {
            Some(0) | None => String::new(),
            Some(n) => format!("{n} failing, "),
        };
        let sources: Vec<String> = print::rows(&it["sources"]).iter().map(print::cell).collect();
        vec![
            contradicted(it).unwrap_or_default(),
            print::cell(&it["by"]),
            print::day(&it["at"]),
            print::cell(&it["reason"]),
            format!("{seen}by {}", print::first(&sources, N_SOURCES_NAMED)),
        ]
    };
    print::table(&["DECISION", "BY", "SINCE", "WHY", "SEEN"], &all.map(row).collect::<Vec<_>>())
}

fn show_risks(data: &Value) -> Result<()> {
    print::line("")?;
    let open = &data["openRisks"];
    let counts: Vec<String> = ["critical", "high", "medium", "low"]
        .iter()
        .filter(|it| open[**it] != 0)
        .map(|it| format!("{} {it}", open[*it]))
        .collect();
    let accepted = match &data["acceptedRisks"] {
        it if *it == 0 => String::new(),
        it => format!("; {it} accepted"),
    };
    if counts.is_empty() {
        return print::line(&format!("no open risks{accepted}"));
    }
    print::line(&format!("open risks: {}{accepted}", counts.join(", ")))?;
    let rows: Vec<_> = print::rows(&data["risks"]).iter().map(risk_row).collect();
    print::table(&["SEVERITY", "SCORE", "CONTROL", "DOLLARS", "RISK"], &rows)
}

fn risk_row(it: &Value) -> Vec<String> {
    vec![
        print::cell(&it["severity"]),
        print::cell(&it["riskScore"]),
        print::cell(&it["controlCode"]),
        it["dollarImpact"].as_u64().map_or_else(|| "-".to_owned(), print::dollars),
        print::cell(&it["title"]),
    ]
}

fn show_work(data: &Value) -> Result<()> {
    let (tasks, alerts) = (print::rows(&data["tasks"]), print::rows(&data["alerts"]));
    let n_overdue = tasks.iter().filter(|it| it["overdue"] == true).count();
    let overdue = if n_overdue == 0 { String::new() } else { format!(", {n_overdue} overdue") };
    print::line("")?;
    print::line(&format!(
        "{}{overdue}; {}",
        print::count(&json!(tasks.len()), "open task"),
        print::count(&json!(alerts.len()), "open alert"),
    ))
}

fn show_moves(moves: &Value) -> Result<()> {
    let all = print::rows(moves);
    if all.is_empty() {
        return Ok(());
    }
    print::line("")?;
    let row = |it: &Value| {
        let controls: Vec<String> = print::rows(&it["controls"]).iter().map(print::cell).collect();
        let from = if it["from"].is_null() { "none".to_owned() } else { print::cell(&it["from"]) };
        vec![
            print::minute(&it["at"]),
            format!("{from} -> {}", print::cell(&it["to"])),
            print::cell(&it["cause"]),
            print::first(&controls, N_CONTROLS_SHOWN),
        ]
    };
    let rows: Vec<_> = all.iter().take(N_MOVES_SHOWN).map(row).collect();
    print::table(&["LAST CHANGES", "SCORE", "CAUSE", "CONTROLS"], &rows)
}

/// The things that nobody looked at of which most depends.
fn show_unseen(all: &Value) -> Result<()> {
    let all = print::rows(all);
    let row = |it: &Value| vec![print::cell(&it["what"]), estate::controls(it)];
    let rows: Vec<_> = all.iter().take(N_UNSEEN_SHOWN).map(row).collect();
    if rows.is_empty() {
        return Ok(());
    }
    print::line("")?;
    print::table(&["NOT LOOKED AT", "CONTROLS"], &rows)?;
    match all.len().saturating_sub(N_UNSEEN_SHOWN) {
        0 => Ok(()),
        n => print::line(&format!("and {n} more: posture estate list")),
    }
}

fn show_questions(data: &Value) -> Result<()> {
    let all = print::rows(&data["posture"]["questions"]);
    if all.is_empty() {
        return Ok(());
    }
    let text = |it: &Value| {
        format!("{} ({})", print::cell(&it["question"]), print::count(&it["count"], "requirement"))
    };
    let asked: Vec<String> = all.iter().map(text).collect();
    let text = format!("does the client use: {}", print::first(&asked, N_QUESTIONS_SHOWN));
    print::line("")?;
    print::line(&print::wrapped(&text, "does the client use: ".len()))?;
    let id = print::cell(&data["client"]["id"]);
    print::line(&format!(
        "answer each: posture client set {id} --profile QUESTION=used,QUESTION=unused"
    ))
}
