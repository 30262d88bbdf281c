//! `posture alert rule`: what triggers an alert.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::call::{Call, call, with_session};
use crate::cli::client_name::Names;
use crate::cli::option::{body, id};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::id::AlertRuleId;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum RuleCommand {
    /// List alert rules.
    List,
    /// Add an alert rule and print its id.
    Add(RuleAddArgs),
    /// Change, enable or disable an alert rule.
    Set(RuleSetArgs),
    /// Remove an alert rule. Its open alerts close.
    Remove {
        /// Rule id, as shown by `posture alert rule list`.
        rule: String,
    },
}

/// The condition of a rule: one of these.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(in crate::cli) struct RuleCondition {
    /// The overall score is below N.
    #[arg(long, value_name = "N")]
    score_below: Option<u32>,
    /// The readiness for a framework is below N.
    #[arg(long, value_name = "FRAMEWORK=N")]
    readiness_below: Option<String>,
    /// There are at least N open risks of this severity or a worse one.
    #[arg(long, value_name = "SEVERITY=N")]
    open_risks: Option<String>,
    /// The control is partly met, because something fails, or not compliant.
    #[arg(long, value_name = "CODE")]
    control_failing: Option<String>,
    /// A source that reported before is silent for this many hours.
    #[arg(long, value_name = "HOURS")]
    source_silent: Option<u32>,
    /// At least N tasks are overdue.
    #[arg(long, value_name = "N")]
    tasks_overdue: Option<u32>,
    /// A decision is contradicted by what was seen. The built-in rule watches this for all clients.
    #[arg(long)]
    decision_contradicted: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture alert rule add --name 'Score below 60' --score-below 60
  posture alert rule add --name 'Critical risks' --open-risks critical=1 --client 'Acme Ltd'")]
pub(in crate::cli) struct RuleAddArgs {
    /// Name of the rule, which its alerts carry.
    #[arg(long)]
    name: String,
    /// Watch only this client, by name or id. Can be repeated. Default: all clients, including those added later.
    #[arg(long = "client", value_name = "CLIENT")]
    clients: Vec<String>,
    #[command(flatten)]
    condition: RuleCondition,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  posture alert rule set RULE --enabled false")]
pub(in crate::cli) struct RuleSetArgs {
    /// Rule id, as shown by `posture alert rule list`.
    rule: String,
    /// Name of the rule.
    #[arg(long)]
    name: Option<String>,
    /// Whether the rule triggers alerts.
    #[arg(long)]
    enabled: Option<bool>,
    /// Watch only this client, by name or id, or `all`. Can be repeated.
    #[arg(long = "client", value_name = "CLIENT")]
    clients: Vec<String>,
    #[command(flatten)]
    condition: RuleCondition,
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: RuleCommand) -> Result<()> {
    match command {
        RuleCommand::List => list(options, json),
        RuleCommand::Add(args) => {
            let condition = args.condition.json()?.ok_or_else(|| {
                Error::invalid("pass what triggers the alert, such as --score-below 60")
            })?;
            let body = json!({ "name": args.name, "condition": condition });
            print::id(json, &client_name::add(options, "/api/alert-rules", body, &args.clients)?)
        }
        RuleCommand::Set(args) => {
            let (path, body) = (path(&args.rule)?, args.body()?);
            let (answer, names) = with_session(options, async |session| {
                let answer = client_name::change(session, &path, body, &args.clients).await?;
                Ok((answer, Names::unless_json(session, json).await?))
            })?;
            show(json, &answer, &names)
        }
        RuleCommand::Remove { rule } => {
            let answer = call(options, Call::delete(path(&rule)?))?;
            print::done(json, &answer, &format!("removed alert rule {rule}"))
        }
    }
}

fn path(rule: &str) -> Result<String> {
    let id: AlertRuleId = id(rule, "the id of an alert rule", "alert rule list")?;
    Ok(format!("/api/alert-rules/{id}"))
}

impl RuleCondition {
    /// As the API takes it. `None`: no option was given.
    fn json(&self) -> Result<Option<Value>> {
        if let Some(value) = self.score_below {
            return Ok(Some(json!({ "type": "score_below", "value": value })));
        }
        if let Some(text) = &self.readiness_below {
            let (framework, value) = pair("--readiness-below", "FRAMEWORK=N", text)?;
            let condition =
                json!({ "type": "readiness_below", "framework": framework, "value": value });
            return Ok(Some(condition));
        }
        if let Some(text) = &self.open_risks {
            let (severity, value) = pair("--open-risks", "SEVERITY=N", text)?;
            let condition =
                json!({ "type": "open_risks_at_least", "severity": severity, "value": value });
            return Ok(Some(condition));
        }
        if let Some(code) = &self.control_failing {
            return Ok(Some(json!({ "type": "control_failing", "controlCode": code })));
        }
        if let Some(hours) = self.source_silent {
            return Ok(Some(json!({ "type": "source_silent", "hours": hours })));
        }
        if self.decision_contradicted {
            return Ok(Some(json!({ "type": "decision_contradicted" })));
        }
        let overdue = |it| json!({ "type": "tasks_overdue_at_least", "value": it });
        Ok(self.tasks_overdue.map(overdue))
    }
}

/// Reads a name and a number. `form`: how the help of the option shows them.
fn pair<'a>(option: &str, form: &str, text: &'a str) -> Result<(&'a str, u32)> {
    let read = text.split_once('=').and_then(|(name, n)| Some((name, n.parse().ok()?)));
    read.ok_or_else(|| Error::invalid(format!("{option} {text}: must have the form {form}")))
}

impl RuleSetArgs {
    /// What is to change, apart from the clients.
    fn body(&self) -> Result<Value> {
        Ok(body(vec![
            ("name", self.name.as_deref().map(Value::from)),
            ("enabled", self.enabled.map(Value::from)),
            ("condition", self.condition.json()?),
        ]))
    }
}

/// What triggers an alert, in words.
fn words(condition: &Value) -> String {
    let cell = |name: &str| print::cell(&condition[name]);
    let count = |name: &str, noun: &str| print::count(&condition[name], noun);
    match condition["type"].as_str() {
        Some("score_below") => format!("the score is below {}", cell("value")),
        Some("readiness_below") => {
            format!("the readiness for {} is below {}", cell("framework"), cell("value"))
        }
        Some("open_risks_at_least") => {
            format!("at least {}, {} or worse", count("value", "open risk"), cell("severity"))
        }
        Some("control_failing") => format!("control {} fails", cell("controlCode")),
        Some("source_silent") => format!("a source is silent for {}", count("hours", "hour")),
        Some("decision_contradicted") => "a decision is contradicted by what was seen".to_owned(),
        Some("tasks_overdue_at_least") => format!("at least {}", count("value", "overdue task")),
        Some(_) | None => print::cell(condition),
    }
}

fn list(options: &Config, json: bool) -> Result<()> {
    let (answer, names) = with_session(options, async |session| {
        let answer = session.call(Call::get("/api/alert-rules")).await?;
        Ok((answer, Names::unless_json(session, json).await?))
    })?;
    let heading = ["ID", "STATE", "CLIENTS", "NAME", "TRIGGERS WHEN"];
    print::list(json, print::rows(&answer["data"]), ("no alert rules", &heading), |it| {
        let clients = client_names(it, &names);
        vec![
            print::cell(&it["id"]),
            if it["enabled"] == true { "enabled".to_owned() } else { "disabled".to_owned() },
            if clients.is_empty() { "all".to_owned() } else { print::first(&clients, 1) },
            print::cell(&it["name"]),
            words(&it["condition"]),
        ]
    })
}

/// The names of the clients that a rule is limited to.
fn client_names(rule: &Value, names: &Names) -> Vec<String> {
    print::rows(&rule["clientIds"]).iter().map(|it| names.name(it)).collect()
}

fn show(json: bool, answer: &Value, names: &Names) -> Result<()> {
    if json {
        return print::json(answer);
    }
    let mut rule = answer["data"].clone();
    let clients = client_names(&rule, names);
    rule["clients"] = if clients.is_empty() { json!("all") } else { json!(clients.join(", ")) };
    rule["words"] = json!(words(&rule["condition"]));
    let names = [
        ("rule", "name"),
        ("id", "id"),
        ("enabled", "enabled"),
        ("clients", "clients"),
        ("triggers when", "words"),
    ];
    print::fields(&rule, &names)
}
