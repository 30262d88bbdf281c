//! The security score: applicable controls by weight.

use super::catalog::Catalog;
use super::control::AssessedControl;
use super::posture::Score;
use crate::engine::fact::Status;
use crate::engine::severity::Severity;

/// The highest score while an applicable critical control is not compliant: no A with an unmet critical control.
const UNMET_CRITICAL_SCORE_MAX: u8 = 89;

/// A mean of scores by weight.
#[derive(Clone, Copy, Default)]
struct WeightedMean {
    sum: u64,
    weight: u64,
}

impl WeightedMean {
    fn add(&mut self, score: u8, weight: u32) {
        self.sum += u64::from(score) * u64::from(weight);
        self.weight += u64::from(weight);
    }

    /// Rounded down. `None`: nothing was added.
    fn value(self) -> Option<u8> {
        let mean = self.sum.checked_div(self.weight)?;
        Some(u8::try_from(mean).expect("a mean of scores is at most 100"))
    }
}

/// Returns the score over all applicable controls. A control that is not assessed counts as 0. The score is 0 if no
/// control is applicable.
pub(super) fn score(catalog: &Catalog, controls: &[AssessedControl<'_>]) -> Score {
    let mut overall = WeightedMean::default();
    let mut categories = vec![WeightedMean::default(); catalog.categories.len()];
    let (mut n_total, mut n_compliant, mut n_partial, mut n_non_compliant) = (0, 0, 0, 0);
    let mut has_unmet_critical = false;
    for (control, assessed) in catalog.controls.iter().zip(controls) {
        let outcome = &assessed.outcome;
        match outcome.status {
            Status::Compliant => n_compliant += 1,
            Status::Partial => n_partial += 1,
            Status::NonCompliant => n_non_compliant += 1,
            Status::NotAssessed => (),
            Status::NotApplicable => continue,
        }
        n_total += 1;
        has_unmet_critical |=
            control.severity == Severity::Critical && outcome.status != Status::Compliant;
        let (score, weight) = (outcome.score.unwrap_or(0), control.severity.weight());
        overall.add(score, weight);
        categories[control.category].add(score, weight);
    }
    let overall = overall.value().unwrap_or(0);
    let named = catalog.categories.iter().zip(categories);
    Score {
        overall: if has_unmet_critical { overall.min(UNMET_CRITICAL_SCORE_MAX) } else { overall },
        categories: named.filter_map(|(it, mean)| Some((it.name.clone(), mean.value()?))).collect(),
        n_total,
        n_compliant,
        n_partial,
        n_non_compliant,
    }
}
