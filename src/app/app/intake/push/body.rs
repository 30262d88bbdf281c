//! The facts body as it is sent.

use serde::Deserialize;

/// Everything that one run of a source reports. Every part except the source may be absent.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct FactsBody {
    pub source: String,
    #[serde(default)]
    pub(in crate::app) scope: String,
    #[serde(default)]
    pub(in crate::app) complete: bool,
    #[serde(default)]
    pub(in crate::app) confirm_shrink: bool,
    pub(in crate::app) observed_at: Option<String>,
    pub(in crate::app) observations: Option<Vec<ObservationBody>>,
    pub(in crate::app) identities: Option<Vec<IdentityBody>>,
    pub(in crate::app) assets: Option<Vec<AssetBody>>,
    pub(in crate::app) apps: Option<Vec<AppBody>>,
    pub(in crate::app) evidence: Option<Vec<PushedEvidence>>,
    pub(in crate::app) sync: Option<SyncBody>,
    /// The facts show the present state, whatever time the body has.
    #[serde(skip)]
    pub(in crate::app) is_declared_current: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(in crate::app) struct ObservationBody {
    pub(in crate::app) control: String,
    pub(in crate::app) check: Option<String>,
    pub(in crate::app) status: Option<String>,
    pub(in crate::app) passed: Option<u32>,
    pub(in crate::app) failed: Option<u32>,
    pub(in crate::app) total: Option<u32>,
    pub(in crate::app) facet: Option<String>,
    pub(in crate::app) platform: Option<String>,
    pub(in crate::app) subjects: Option<Vec<SubjectBody>>,
    #[serde(default)]
    pub(in crate::app) whole: bool,
    pub(in crate::app) of: Option<u32>,
    pub(in crate::app) findings: Option<String>,
    pub(in crate::app) valid_until: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(in crate::app) struct SubjectBody {
    pub(in crate::app) id: String,
    pub(in crate::app) name: Option<String>,
    pub(in crate::app) outcome: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(in crate::app) struct IdentityBody {
    pub(in crate::app) external_id: Option<String>,
    pub(in crate::app) user: String,
    pub(in crate::app) display_name: Option<String>,
    pub(in crate::app) user_type: Option<String>,
    pub(in crate::app) admin: bool,
    #[serde(default)]
    pub(in crate::app) roles: Vec<String>,
    pub(in crate::app) mfa: Option<bool>,
    pub(in crate::app) mfa_enforced: Option<bool>,
    pub(in crate::app) enabled: bool,
    pub(in crate::app) created_at: Option<String>,
    pub(in crate::app) last_sign_in: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(in crate::app) struct AssetBody {
    pub(in crate::app) external_id: String,
    pub(in crate::app) name: String,
    pub(in crate::app) asset_type: String,
    pub(in crate::app) display_name: Option<String>,
    pub(in crate::app) category: Option<String>,
    pub(in crate::app) is_critical: Option<bool>,
    pub(in crate::app) owner: Option<String>,
    pub(in crate::app) description: Option<String>,
    pub(in crate::app) tags: Option<Vec<String>>,
    pub(in crate::app) hostname: Option<String>,
    pub(in crate::app) ip: Option<String>,
    pub(in crate::app) mac: Option<String>,
    pub(in crate::app) serial: Option<String>,
    #[serde(default)]
    pub(in crate::app) is_managed: bool,
    pub(in crate::app) last_seen_at: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(in crate::app) struct AppBody {
    pub(in crate::app) name: String,
    pub(in crate::app) publisher: Option<String>,
    pub(in crate::app) users: u32,
    pub(in crate::app) sanctioned: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(in crate::app) struct PushedEvidence {
    pub(in crate::app) control: String,
    pub(in crate::app) title: String,
    pub(in crate::app) valid_until: Option<String>,
    pub(in crate::app) reference: String,
    pub(in crate::app) sha256: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(in crate::app) struct SyncBody {
    pub(in crate::app) status: String,
    pub(in crate::app) message: Option<String>,
}

impl FactsBody {
    /// Dates the facts now, whatever time the body has.
    #[must_use]
    pub fn observed_now(self) -> Self {
        Self { is_declared_current: true, ..self }
    }
}
