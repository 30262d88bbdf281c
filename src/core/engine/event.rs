//! The kinds of events and their names.

use std::str::FromStr;

use crate::error::Error;

macro_rules! kinds {
    ($($kind:ident => $name:literal),+ $(,)?) => {
        /// What happened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind {
            $($kind),+
        }

        impl EventKind {
            /// In the contract's order.
            pub const ALL: [Self; 22] = [$(Self::$kind),+];

            /// Returns the contract's name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name),+
                }
            }
        }
    };
}

kinds! {
    ComplianceStatusChanged => "compliance_status_changed",
    ComplianceDriftDetected => "compliance_drift_detected",
    EvidenceExpiring => "evidence_expiring",
    SecurityScoreChanged => "security_score_changed",
    SecurityScoreThresholdCrossed => "security_score_threshold_crossed",
    CriticalRiskDetected => "critical_risk_detected",
    RiskItemCreated => "risk_item_created",
    RiskItemResolved => "risk_item_resolved",
    RiskAssessmentCompleted => "risk_assessment_completed",
    MfaDisabled => "mfa_disabled",
    AdminMfaMissing => "admin_mfa_missing",
    PrivilegeEscalation => "privilege_escalation",
    DormantAccountDetected => "dormant_account_detected",
    RemediationTaskCreated => "remediation_task_created",
    RemediationTaskCompleted => "remediation_task_completed",
    RemediationTaskOverdue => "remediation_task_overdue",
    IntegrationSyncCompleted => "integration_sync_completed",
    IntegrationSyncFailed => "integration_sync_failed",
    ConnectorHealthChanged => "connector_health_changed",
    AssetDiscovered => "asset_discovered",
    ShadowItDetected => "shadow_it_detected",
    AlertTriggered => "alert_triggered",
}

/// Accepts exactly the contract's names. The error for an unknown name lists the supported ones.
impl FromStr for EventKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|it| it.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Error::invalid(format!("unknown event type {text:?}; supported event types: {known}"))
        })
    }
}
