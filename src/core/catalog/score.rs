//! Which controls of ours those of the secure score of Defender for Cloud decide, as `checks/defender-cloud.toml` says it: for
//! readers of the score itself.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::Table;

use crate::engine::catalog::reference::AZURE_SCORE;

const TEXT: &str = include_str!("../../../assets/catalog/checks/defender-cloud.toml");

/// What a control of the secure score says of ours.
#[derive(Debug)]
pub struct ScoreLink {
    /// Its code.
    pub control: String,
}

/// By the GUID of their control.
static BY_ID: LazyLock<BTreeMap<String, ScoreLink>> = LazyLock::new(|| {
    let table: Table = TEXT.parse().expect("a test loads it");
    let section = |name: &str| {
        let controls = table[name].as_table().expect("a test loads it");
        let all = controls.iter().flat_map(move |(control, ids)| {
            let ids = ids.as_array().into_iter().flatten().filter_map(|it| it.as_str());
            let link = move || ScoreLink { control: control.clone() };
            ids.filter_map(|it| it.strip_prefix(AZURE_SCORE)).map(move |it| (it.to_owned(), link()))
        });
        all.collect::<Vec<_>>()
    };
    ["controls", "gaps"].map(section).into_iter().flatten().collect()
});

/// Returns the control that a control of the secure score is about. `id`: its GUID in lower case.
#[must_use]
pub fn control_of_score(id: &str) -> Option<&'static ScoreLink> {
    BY_ID.get(id)
}
