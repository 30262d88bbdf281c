//! The facts body as it is sent.

use serde::Deserialize;

/// Everything that one run of a source tells; every part but the source may be absent.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct FactsBody {
    pub source: String,
    #[serde(default)]
    pub(super) scope: String,
    #[serde(default)]
    pub(super) complete: bool,
    #[serde(default)]
    pub(super) confirm_shrink: bool,
    pub(super) observed_at: Option<String>,
    pub(super) observations: Option<Vec<ObservationBody>>,
    pub(super) identities: Option<Vec<IdentityBody>>,
    pub(super) assets: Option<Vec<AssetBody>>,
    pub(super) apps: Option<Vec<AppBody>>,
    pub(super) evidence: Option<Vec<EvidenceBody>>,
    pub(super) sync: Option<SyncBody>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(super) struct ObservationBody {
    pub(super) control: String,
    pub(super) check: Option<String>,
    pub(super) status: Option<String>,
    pub(super) passed: Option<u32>,
    pub(super) failed: Option<u32>,
    pub(super) total: Option<u32>,
    pub(super) findings: Option<String>,
    pub(super) valid_until: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(super) struct IdentityBody {
    pub(super) external_id: Option<String>,
    pub(super) user: String,
    pub(super) display_name: Option<String>,
    pub(super) user_type: Option<String>,
    pub(super) admin: bool,
    #[serde(default)]
    pub(super) roles: Vec<String>,
    pub(super) mfa: Option<bool>,
    pub(super) mfa_enforced: Option<bool>,
    pub(super) enabled: bool,
    pub(super) created_at: Option<String>,
    pub(super) last_sign_in: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(super) struct AssetBody {
    pub(super) external_id: String,
    pub(super) name: String,
    pub(super) asset_type: String,
    pub(super) display_name: Option<String>,
    pub(super) category: Option<String>,
    pub(super) is_critical: Option<bool>,
    pub(super) owner: Option<String>,
    pub(super) description: Option<String>,
    pub(super) tags: Option<Vec<String>>,
    pub(super) hostname: Option<String>,
    pub(super) ip: Option<String>,
    pub(super) mac: Option<String>,
    pub(super) serial: Option<String>,
    #[serde(default)]
    pub(super) is_managed: bool,
    pub(super) last_seen_at: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(super) struct AppBody {
    pub(super) name: String,
    pub(super) publisher: Option<String>,
    pub(super) users: u32,
    pub(super) sanctioned: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(super) struct EvidenceBody {
    pub(super) control: String,
    pub(super) title: String,
    pub(super) valid_until: Option<String>,
    pub(super) reference: String,
    pub(super) sha256: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub(super) struct SyncBody {
    pub(super) status: String,
    pub(super) message: Option<String>,
}

impl FactsBody {
    /// What was seen was seen now, whatever the body says.
    #[must_use]
    pub fn observed_now(self) -> Self {
        Self { observed_at: None, ..self }
    }
}
