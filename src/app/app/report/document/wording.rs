//! What the catalog says of controls and risks, in the language of a report.

use crate::engine::catalog::{Catalog, Control};
use crate::engine::posture::Risk;
use crate::paper::Language;

/// The title of a control, and what to do about it.
pub(super) fn control(language: Language, control: &Control) -> (&str, &str) {
    match (language, &control.french) {
        (Language::French, Some(it)) => (&it.title, &it.remediation),
        (Language::English, _) | (Language::French, None) => (&control.title, &control.remediation),
    }
}

/// The title of a risk: of a control that is not met, of a check that failed, or of many checks.
pub(super) fn risk(language: Language, catalog: &Catalog, risk: &Risk) -> String {
    let title = &risk.title;
    match language {
        Language::English => title.clone(),
        Language::French => {
            let control = risk.control_code().and_then(|it| catalog.find_control(it));
            let gap = control.and_then(|it| catalog.controls[it].french.as_ref());
            gap.map_or_else(|| finding(title), |it| it.gap.clone())
        }
    }
}

/// What a tool says stays as the tool says it.
fn finding(title: &str) -> String {
    let check = title.strip_prefix("Check failed: \"").and_then(|it| it.strip_suffix('"'));
    if let Some(check) = check {
        return format!("Vérification échouée\u{a0}: «\u{a0}{check}\u{a0}»");
    }
    match title.split_once(" more findings of ") {
        Some((n, tool)) => format!("{n} autres constats de {tool}"),
        None => title.to_owned(),
    }
}
