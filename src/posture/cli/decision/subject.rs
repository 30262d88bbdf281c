//! `posture control subjects`: decisions about single subjects of a control.

use clap::Args;
use serde_json::{Value, json};

use crate::cli::call::{Call, encoded};
use crate::cli::option::{body, end, id, query, repeated};
use crate::cli::{client_name, print};
use crate::config::Config;
use crate::error::Result;
use crate::id::SubjectDecisionId;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture control subjects 'Acme Ltd' ID-02
  posture control subjects 'Acme Ltd' ID-02 --intended --pattern 'breakglass-*' --note 'Emergency accounts' --by 'Ada Lovelace'
  posture control subjects 'Acme Ltd' CLD-03 --accept --id bob --id ann --until 2027-03-31 --note 'Replaced in spring' --by Ada
  posture control subjects 'Acme Ltd' ID-02 --withdraw 019c8f3e-5d2a-7a41-8c5e-3f1b2d4c6a70 --note 'They are gone'")]
pub(in crate::cli) struct SubjectsArgs {
    /// Name or id of the client.
    client: String,
    /// Control code, such as ID-02.
    code: String,
    /// They are meant to be so: no members of the control, which neither pass nor fail.
    #[arg(long, group = "ruling", conflicts_with = "withdraw", requires_all = ["note", "by"])]
    intended: bool,
    /// They still fail, and the risk is accepted.
    #[arg(long, group = "ruling", conflicts_with = "withdraw", requires_all = ["note", "by"])]
    accept: bool,
    /// A subject, by the id that the source uses or the name that is listed. Can be repeated.
    #[arg(long = "id", value_name = "ID", conflicts_with = "pattern", requires = "ruling")]
    ids: Vec<String>,
    /// All whose name matches: `*` stands for any characters, `?` for one.
    #[arg(long, requires = "ruling")]
    pattern: Option<String>,
    /// Withdraw a decision: they fail as before.
    #[arg(long, value_name = "DECISION", conflicts_with_all = ["ids", "pattern", "until", "by"])]
    withdraw: Option<String>,
    /// Why.
    #[arg(long, alias = "reason", value_name = "TEXT")]
    note: Option<String>,
    /// Who decides.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// When the decision ends, within a year. A date means the end of that day in the client's time zone. Default: in a year.
    #[arg(long, alias = "valid-until", value_name = "DATE", requires = "ruling")]
    until: Option<String>,
}

pub(in crate::cli) fn run(options: &Config, json: bool, args: &SubjectsArgs) -> Result<()> {
    if let Some(decision) = &args.withdraw {
        return withdraw(options, json, args, decision);
    }
    if args.intended || args.accept {
        let body = args.body()?;
        let decide = |client: &str| Call::of("POST", args.path(client), &body);
        let answer = client_name::call(options, &args.client, decide)?;
        return print::done(json, &answer, &format!("decided: {}", decided(&answer["data"])));
    }
    let list = |client: &str| Call::get(args.path(client));
    let answer = client_name::call(options, &args.client, list)?;
    if json { print::json(&answer) } else { show(&answer["data"]) }
}

impl SubjectsArgs {
    fn path(&self, client: &str) -> String {
        format!("{client}/controls/{}/subjects", encoded(&self.code))
    }

    fn body(&self) -> Result<Value> {
        let until = self.until.as_deref().map(end).transpose()?;
        let ids = (!self.ids.is_empty()).then(|| json!(self.ids));
        Ok(body(vec![
            ("decision", Some(json!(if self.intended { "intended" } else { "accepted" }))),
            ("ids", ids),
            ("pattern", self.pattern.as_deref().map(Value::from)),
            ("reason", self.note.as_deref().map(Value::from)),
            ("by", self.by.as_deref().map(Value::from)),
            ("until", until.map(Value::from)),
        ]))
    }
}

fn withdraw(options: &Config, json: bool, args: &SubjectsArgs, decision: &str) -> Result<()> {
    let id: SubjectDecisionId = id(decision, "a decision id", "control subjects CLIENT CODE")?;
    let query = query(&repeated("reason", args.note.as_slice()));
    let remove = |client: &str| Call::delete(format!("{}/{id}{query}", args.path(client)));
    let answer = client_name::call(options, &args.client, remove)?;
    print::done(json, &answer, &format!("withdrew decision {id}"))
}

fn show(subjects: &Value) -> Result<()> {
    let heading = ["SUBJECT", "DECISION"];
    let all = print::rows(&subjects["subjects"]);
    print::list(false, all, ("no failing subject is known by name", &heading), |it| {
        vec![print::cell(&it["name"]), print::cell(&it["decision"])]
    })?;
    let more = |member: &str, text: &str| match subjects[member].as_u64() {
        None | Some(0) => Ok(()),
        Some(n) => print::line(&format!("{n} {text}")),
    };
    more("unlistedCount", "more are known by name")?;
    more(
        "unnamedCount",
        "more failures are of subjects without a known name, which no pattern matches",
    )?;
    let decisions = print::rows(&subjects["decisions"]);
    if decisions.is_empty() {
        return Ok(());
    }
    print::line("")?;
    let heading = ["DECISION", "STATEMENT", "WHAT", "FAILING NOW", "UNTIL", "BY", "WHY"];
    print::list(false, decisions, ("", &heading), |it| {
        let cell = |name: &str| print::cell(&it[name]);
        vec![
            cell("id"),
            cell("statement"),
            format!("{}: {}", cell("decision"), about(it)),
            cell("matchedCount"),
            print::end(&it["until"]),
            cell("by"),
            cell("reason"),
        ]
    })
}

/// The pattern, or the first of the subjects.
fn about(decision: &Value) -> String {
    let pattern = decision["pattern"].as_str().map(str::to_owned);
    pattern.unwrap_or_else(|| {
        let ids: Vec<String> = print::rows(&decision["ids"]).iter().map(print::cell).collect();
        print::first(&ids, 3)
    })
}

fn decided(decision: &Value) -> String {
    let cell = |name: &str| print::cell(&decision[name]);
    let (until, about) = (print::end(&decision["until"]), about(decision));
    let (what, n) = (cell("decision"), cell("matchedCount"));
    format!("{what} until {until}: {about}; of these, {n} fail now")
}
