//! Which controls of ours those of the secure score of Defender for Cloud decide, as `checks/defender-cloud.toml` says it: for
//! readers of the score itself.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::Table;

use crate::engine::catalog::reference::AZURE_SCORE;

const TEXT: &str = include_str!("../../assets/catalog/checks/defender-cloud.toml");

/// Code of our control, by the GUID of theirs.
static BY_ID: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let table: Table = TEXT.parse().expect("a test loads it");
    let controls = table["controls"].as_table().expect("a test loads it");
    let all = controls.iter().flat_map(|(code, ids)| {
        let ids = ids.as_array().into_iter().flatten().filter_map(|it| it.as_str());
        ids.filter_map(|it| it.strip_prefix(AZURE_SCORE))
            .map(move |it| (it.to_owned(), code.clone()))
    });
    all.collect()
});

/// The code of the control that a control of the secure score decides. `id`: its GUID in lower case.
#[must_use]
pub fn control_of_score(id: &str) -> Option<&'static str> {
    BY_ID.get(id).map(String::as_str)
}
