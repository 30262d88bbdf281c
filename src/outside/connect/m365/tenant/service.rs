//! What other services of Microsoft 365 say: the secure score, sharing of files, and the audit log.

use serde_json::Number;

use super::field::{Rows, row};

row! {
    /// Of `/security/secureScores`: one day's score.
    SecureScore {
        created_date_time: Option<String>,
        current_score: Option<Number>,
        max_score: Option<Number>,
        control_scores: Rows<ControlScore>,
    }

    ControlScore {
        control_name: Option<String>,
        score: Option<Number>,
    }

    /// Of `/security/secureScoreControlProfiles`.
    ControlProfile {
        /// The name of the control.
        id: Option<String>,
        title: Option<String>,
        max_score: Option<Number>,
        deprecated: Option<bool>,
        /// Oldest first.
        control_state_updates: Rows<ControlStateUpdate>,
    }

    ControlStateUpdate {
        state: Option<String>,
    }

    /// Of `/admin/sharepoint/settings`.
    SharePointSettings {
        sharing_capability: Option<String>,
        is_resharing_by_external_users_enabled: Option<bool>,
    }

    /// Of `/auditLogs/directoryAudits`.
    DirectoryAudit {
        activity_date_time: Option<String>,
    }
}

/// A score in thousandths. Graph writes up to two decimals, or none.
///
/// `None`: negative, or too large for a score.
#[must_use]
pub fn thousandths(number: &Number) -> Option<u64> {
    let text = number.to_string();
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let decimals: String = decimals.chars().chain("000".chars()).take(3).collect();
    let whole: u64 = whole.parse().ok()?;
    whole.checked_mul(1_000)?.checked_add(decimals.parse().ok()?)
}
