//! `posture report schedule`: reports by e-mail on schedule.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::language::Language;
use crate::cli::call::{Call, call, with_session};
use crate::cli::option::{body, id, query};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::Result;
use crate::id::ReportScheduleId;

const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ScheduleCommand {
    /// List the schedules, and what became of their last messages.
    List {
        /// Only those of this client, by name or id.
        #[arg(long, value_name = "CLIENT")]
        client: Option<String>,
        /// Only those whose last message did not reach everybody.
        #[arg(long)]
        failing: bool,
    },
    /// Add a schedule and print its id.
    Add(ScheduleAddArgs),
    /// Send a scheduled report now, too.
    Send {
        /// Schedule id, as shown by `posture report schedule list`.
        schedule: String,
    },
    /// Remove a schedule.
    Remove {
        /// Schedule id, as shown by `posture report schedule list`.
        schedule: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture report schedule add --client 'Acme Ltd' --to ada@acme.example --monthly 1 --hour 8 \\
    --time-zone Europe/Paris --language fr
  posture report schedule add --client 'Acme Ltd' --framework SOC2 --to ada@acme.example --quarterly 1
  posture report schedule add --to grace@example.com --weekly monday")]
pub(in crate::cli) struct ScheduleAddArgs {
    /// Client that the report is about, by name or id. Default: the report is about all clients.
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// Framework that the report is about, such as SOC2. Default: the report about the client.
    #[arg(long, requires = "client")]
    framework: Option<String>,
    /// Address to send the report to. Can be repeated, up to 20 times.
    #[arg(long = "to", value_name = "ADDRESS", required = true)]
    recipients: Vec<String>,
    /// Language of the report. Default: `msp.language` of the configuration.
    #[arg(long, value_enum)]
    language: Option<Language>,
    #[command(flatten)]
    period: PeriodArgs,
    /// Hour of the day, from 0 to 23.
    #[arg(long, default_value_t = 8)]
    hour: u32,
    /// Time zone of the hour, such as Europe/Paris. Default: that of the client, or `msp.time_zone`.
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
}

/// How often: one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct PeriodArgs {
    /// Every week on this day.
    #[arg(long, value_enum, value_name = "WEEKDAY")]
    weekly: Option<Weekday>,
    /// Every month on this day, from 1 to 31. A month without it is due on its last day.
    #[arg(long, value_name = "DAY")]
    monthly: Option<u32>,
    /// Every quarter on this day of its first month.
    #[arg(long, value_name = "DAY")]
    quarterly: Option<u32>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

impl PeriodArgs {
    fn period(&self) -> (&'static str, u32) {
        if let Some(day) = self.weekly {
            ("week", day as u32 + 1)
        } else if let Some(day) = self.monthly {
            ("month", day)
        } else {
            ("quarter", self.quarterly.unwrap_or(1))
        }
    }
}

pub(in crate::cli) fn run(options: &Config, json: bool, command: &ScheduleCommand) -> Result<()> {
    match command {
        ScheduleCommand::List { client, failing } => {
            list(options, json, client.as_deref(), *failing)
        }
        ScheduleCommand::Add(args) => print::id(json, &add(options, args)?),
        ScheduleCommand::Send { schedule } => {
            let path = format!("{}/send", path(schedule)?);
            let answer = call(options, Call::of("POST", path, &json!({})))?;
            let done = "it is being sent; `posture report schedule list` says what becomes of it";
            print::done(json, &answer, done)
        }
        ScheduleCommand::Remove { schedule } => {
            let answer = call(options, Call::delete(path(schedule)?))?;
            print::done(json, &answer, &format!("removed report schedule {schedule}"))
        }
    }
}

fn path(schedule: &str) -> Result<String> {
    let id: ReportScheduleId = id(schedule, "the id of a schedule", "report schedule list")?;
    Ok(format!("/api/report-schedules/{id}"))
}

fn add(options: &Config, args: &ScheduleAddArgs) -> Result<Value> {
    let (every, day) = args.period.period();
    with_session(options, async |session| {
        let client = match &args.client {
            Some(named) => Some(client_name::find(session, named).await?.to_string()),
            None => None,
        };
        let when = body(vec![
            ("every", Some(every.into())),
            ("day", Some(day.into())),
            ("hour", Some(args.hour.into())),
            ("timeZone", args.time_zone.as_deref().map(Value::from)),
        ]);
        let body = body(vec![
            ("clientId", client.map(Value::from)),
            ("framework", args.framework.as_deref().map(Value::from)),
            ("recipients", Some(json!(args.recipients))),
            ("language", args.language.map(|it| it.as_str().into())),
            ("when", Some(when)),
        ]);
        session.call(Call::of("POST", "/api/report-schedules", &body)).await
    })
}

fn list(options: &Config, json: bool, client: Option<&str>, failing: bool) -> Result<()> {
    let answer = with_session(options, async |session| {
        let of = client_name::filter(session, client).await?;
        let failing = if failing { "&failing=true" } else { "" };
        let path = format!("/api/report-schedules{}", query(&format!("{of}{failing}")));
        session.call(Call::get(path)).await
    })?;
    let all = print::rows(&answer["data"]);
    let heading = ["ID", "REPORT", "WHEN", "TO", "NEXT", "LAST"];
    print::list(json, all, ("no report schedules", &heading), |it| {
        let about = it["clientName"].as_str().unwrap_or("all clients");
        let framework = it["framework"].as_str().map(|it| format!(", {it}")).unwrap_or_default();
        let to: Vec<String> = print::rows(&it["recipients"]).iter().map(print::cell).collect();
        vec![
            print::cell(&it["id"]),
            format!("{about}{framework}"),
            when(&it["when"]),
            print::first(&to, 1),
            print::minute(&it["nextAt"]),
            last(&it["last"]),
        ]
    })
}

/// When a report is due, in words.
fn when(it: &Value) -> String {
    let at = format!("{}:00 {}", print::cell(&it["hour"]), print::cell(&it["timeZone"]));
    let day = it["day"].as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or(1);
    match it["every"].as_str() {
        Some("week") => {
            let name = WEEKDAYS.get(day.saturating_sub(1)).copied().unwrap_or_default();
            format!("{name}s at {at}")
        }
        Some("month") => format!("day {day} of the month at {at}"),
        Some(_) | None => format!("day {day} of the quarter at {at}"),
    }
}

/// What became of the last message, in words.
fn last(it: &Value) -> String {
    if it.is_null() {
        return "never".to_owned();
    }
    let n = print::rows(&it["delivered"]).len();
    let mut all = vec![format!("{}: sent to {n}", print::minute(&it["at"]))];
    let refused = print::rows(&it["refused"]).iter();
    all.extend(
        refused.map(|it| {
            format!("{}: {}", print::cell(&it["recipient"]), print::cell(&it["message"]))
        }),
    );
    if let Some(message) = it["failure"]["message"].as_str() {
        let retried = if it["retrying"] == true { ", tried again" } else { "" };
        all.push(format!("not sent{retried}: {message}"));
    }
    if it["missed"] != 0 {
        all.push(format!("{} missed", print::count(&it["missed"], "due time")));
    }
    all.join("; ")
}
