//! What people decide about results, and the work that follows from them.

pub(super) mod alert;
pub(super) mod batch;
pub(super) mod control;
pub(super) mod estate;
pub(super) mod evidence;
pub(super) mod history;
pub(super) mod requirement;
pub(super) mod risk;
pub(super) mod rule;
pub(super) mod statement;
mod subject;
pub(super) mod task;

use clap::Args;
use serde_json::Value;

use crate::cli::option::body;
use crate::cli::print;

/// What no longer holds.
#[derive(Debug, Args)]
pub(super) struct WithdrawArgs<W: Args> {
    #[command(flatten)]
    which: W,
    /// Why it no longer holds.
    #[arg(long, alias = "reason", value_name = "TEXT")]
    note: Option<String>,
}

impl<W: Args> WithdrawArgs<W> {
    /// The body that withdraws it: `member` without a value.
    fn body(&self, member: &str, nothing: Value) -> Value {
        body(vec![(member, Some(nothing)), ("reason", self.note.as_deref().map(Value::from))])
    }
}

/// A decision in a sentence. `what`: the member that says what was decided.
fn sentence(decision: &Value, what: &str) -> String {
    let cell = |name: &str| print::cell(&decision[name]);
    let (what, by, on, reason) =
        (cell(what), cell("by"), print::day(&decision["at"]), cell("reason"));
    let until = print::given(" until ", &decision["until"], print::end);
    let evidence = print::given("; evidence: ", &decision["evidence"], print::cell);
    format!("{what} by {by} on {on}{until}: {reason}{evidence}")
}
