//! What people decide about results, and the work that follows from them.

pub(super) mod alert;
pub(super) mod control;
pub(super) mod evidence;
pub(super) mod requirement;
pub(super) mod risk;
pub(super) mod rule;
pub(super) mod task;

use serde_json::Value;

use crate::cli::print;

/// A decision in a sentence. `what`: the member that says what was decided.
fn statement(decision: &Value, what: &str) -> String {
    let cell = |name: &str| print::cell(&decision[name]);
    let (what, by, on, reason) =
        (cell(what), cell("by"), print::day(&decision["at"]), cell("reason"));
    let until = print::given(" until ", &decision["until"], print::day);
    let evidence = print::given("; evidence: ", &decision["evidence"], print::cell);
    format!("{what} by {by} on {on}{until}: {reason}{evidence}")
}
