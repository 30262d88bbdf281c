//! Decisions of people that are contradicted by what was seen, as the API shows them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::wire::framework::FrameworkName;
use crate::api::wire::reply::Null;
use crate::api::wire::said::ContradictedDecisionView;
use crate::api::wire::view::When;
use crate::engine::catalog::Catalog;
use crate::engine::contradiction::{Contradiction, DecidedThing};

/// How many contradictions of a client are shown.
pub const N_CONTRADICTIONS_SHOWN: usize = 200;

/// A decision of a person that is contradicted by what was seen.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Contradiction")]
#[serde(rename_all = "camelCase")]
pub struct ContradictionView {
    decision: ContradictedDecisionView,
    /// Null: it is not about a control.
    control_code: Null<String>,
    /// Null: it is not about a requirement.
    framework_id: Null<FrameworkName>,
    /// The framework's own reference. Null: it is not about a requirement.
    requirement: Null<String>,
    /// The question of the profile. Null: it is not about a platform.
    platform: Null<String>,
    /// Of the control or the requirement.
    title: Null<String>,
    /// Who decided.
    by: String,
    at: When,
    /// When the decision expires. Null: it does not.
    until: Null<When>,
    /// Null: an answer of the profile has none.
    reason: Null<String>,
    /// The codes of the controls that were seen failing. Empty for a platform.
    controls: Vec<String>,
    /// How many were seen failing, by all checks. 0 for a platform: that something of it was seen is enough.
    failing: u64,
    /// The first 10 sources that saw it.
    sources: Vec<String>,
    source_count: u32,
    /// When the newest of it was observed.
    last_seen_at: When,
}

impl ContradictionView {
    pub(super) fn of(it: Contradiction, catalog: &Catalog) -> Self {
        let (mut control_code, mut row, mut platform, mut title) = (None, None, None, None);
        match it.about {
            DecidedThing::Control(code) => {
                title = catalog.find_control(&code).map(|it| catalog.controls[it].title.clone());
                control_code = Some(code);
            }
            DecidedThing::Row { framework, reference } => {
                let found = catalog.find_framework(framework);
                let found = found.and_then(|it| Some(&it.rows[it.find_row(&reference)?]));
                title = found.map(|it| it.title.clone());
                row = Some((FrameworkName(framework), reference));
            }
            DecidedThing::Platform(question) => platform = Some(question),
        }
        let (framework_id, requirement) = row.unzip();
        Self {
            decision: ContradictedDecisionView(it.kind),
            control_code: control_code.into(),
            framework_id: framework_id.into(),
            requirement: requirement.into(),
            platform: platform.into(),
            title: title.into(),
            by: it.by,
            at: When(it.at),
            until: it.until.map(When).into(),
            reason: it.reason.into(),
            controls: it.seen.controls,
            failing: it.seen.n_failing,
            sources: it.seen.sources,
            source_count: it.seen.n_sources,
            last_seen_at: When(it.seen.at),
        }
    }
}
