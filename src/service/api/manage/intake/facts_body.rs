//! The body of a push of facts, as the document describes it. It is read as `FactsBody`, on a floor below the API; a test
//! compares the fields of both.
#![expect(dead_code, reason = "the members are only described here")]

use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::wire::body::{example, present};
use crate::api::wire::input::Sha256Text;
use crate::api::wire::reply::Null;
use crate::api::wire::view::{
    AssetTypeView, ReportedStatusView, SubjectOutcomeView, SyncStatusView, When,
};

/// What one run of a source reports about a client. Everything except the source may be absent. An absent list says
/// nothing.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "Facts")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FactsDoc {
    /// The name of the source. An API key must send its own source label; a user or the operator may send any name.
    #[schemars(length(min = 1, max = 200))]
    source: String,
    /// The part of the client that the source reports about: an account, a tenant, a host, a subnet. Default: empty.
    #[schemars(length(max = 200))]
    #[serde(default, deserialize_with = "present")]
    scope: Option<String>,
    /// The lists in this body are complete for the scope: what they do not contain is treated as removed.
    /// Default: false.
    #[serde(default, deserialize_with = "present")]
    complete: Option<bool>,
    /// A complete list that is more than 30 % (and more than 5 entries) shorter than before is treated as partial until a
    /// second one confirms it. True confirms it at once. Default: false.
    #[serde(default, deserialize_with = "present")]
    confirm_shrink: Option<bool>,
    /// Default: now. At most five minutes in the future.
    #[serde(default)]
    observed_at: Null<When>,
    #[serde(default)]
    observations: Null<Vec<FactsObservationDoc>>,
    #[serde(default)]
    identities: Null<Vec<FactsIdentityDoc>>,
    #[serde(default)]
    assets: Null<Vec<FactsAssetDoc>>,
    #[serde(default)]
    apps: Null<Vec<FactsAppDoc>>,
    #[serde(default)]
    evidence: Null<Vec<FactsEvidenceDoc>>,
    /// How the run went. Default: completed if `complete` is true, otherwise the run is not recorded.
    #[serde(default)]
    sync: Null<FactsSyncDoc>,
}

/// What a source observed about a control: a status, or how many subjects passed and failed.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "FactsObservation")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FactsObservationDoc {
    /// The code of a control in the catalog.
    control: String,
    /// Distinguishes several observations of one control. Default: `reported`. `identities` is reserved for what follows
    /// from lists of accounts.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default)]
    check: Null<String>,
    /// Required without counts. Not together with counts.
    #[serde(default)]
    status: Null<ReportedStatusView>,
    /// Two of `passed`, `failed` and `total` are required without a status.
    #[serde(default)]
    passed: Null<u32>,
    #[serde(default)]
    failed: Null<u32>,
    #[serde(default)]
    total: Null<u32>,
    /// The only part of the control that was looked at: the name of a facet. Default: all of them, unless `check` is given.
    #[serde(default)]
    facet: Null<String>,
    /// The platform that was looked at, as the question of the profile is called. Default: the scope says it, as `aws/…`, or
    /// else all platforms of the client.
    #[serde(default)]
    platform: Null<String>,
    /// What was looked at, one by one, in place of counts: what failed before and is not named still fails. At most 50,000 in a
    /// body.
    #[serde(default)]
    subjects: Null<Vec<FactsSubjectDoc>>,
    /// All that there is was looked at: what failed before and is missing is gone. Default: false.
    #[serde(default, deserialize_with = "present")]
    whole: Option<bool>,
    /// How many there are. What is missing of them counts as unseen.
    #[serde(default)]
    of: Null<u32>,
    #[schemars(length(min = 1, max = 1000))]
    #[serde(default)]
    findings: Null<String>,
    /// Default: as long as observations of the control count.
    #[serde(default)]
    valid_until: Null<When>,
}

/// Something that a check looked at.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "FactsSubject")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FactsSubjectDoc {
    /// The source's own identifier of it. Where it is an asset, its `externalId`.
    #[schemars(length(min = 1, max = 500))]
    id: String,
    /// Default: `id`.
    #[schemars(length(min = 1, max = 500))]
    #[serde(default)]
    name: Null<String>,
    outcome: SubjectOutcomeView,
}

/// An account. Null means unknown, never "no".
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "FactsIdentity")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FactsIdentityDoc {
    /// The source's own identifier of the account. Default: `user`.
    #[schemars(length(min = 1, max = 500))]
    #[serde(default)]
    external_id: Null<String>,
    #[schemars(length(min = 1, max = 500))]
    user: String,
    #[schemars(length(min = 1, max = 500))]
    #[serde(default)]
    display_name: Null<String>,
    /// `guest`, or `member`. Null: unknown.
    #[serde(default)]
    user_type: Null<String>,
    admin: bool,
    #[schemars(length(max = 200))]
    #[serde(default, deserialize_with = "present")]
    roles: Option<Vec<String>>,
    #[serde(default)]
    mfa: Null<bool>,
    #[serde(default)]
    mfa_enforced: Null<bool>,
    enabled: bool,
    #[serde(default)]
    created_at: Null<When>,
    /// A date-time of RFC 3339, or `never`. Null: unknown.
    #[serde(default)]
    last_sign_in: Null<String>,
}

/// An asset. Owner, criticality, tags and description apply only until a person changes them.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "FactsAsset")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FactsAssetDoc {
    #[schemars(length(min = 1, max = 500))]
    external_id: String,
    #[schemars(length(min = 1, max = 500))]
    name: String,
    asset_type: AssetTypeView,
    #[schemars(length(max = 500))]
    #[serde(default)]
    display_name: Null<String>,
    #[schemars(length(min = 1, max = 100))]
    #[serde(default)]
    category: Null<String>,
    #[serde(default)]
    is_critical: Null<bool>,
    #[schemars(length(max = 255))]
    #[serde(default)]
    owner: Null<String>,
    /// At most 16 KiB.
    #[schemars(length(max = 16384))]
    #[serde(default)]
    description: Null<String>,
    /// At most 128 characters each.
    #[schemars(length(max = 64))]
    #[serde(default)]
    tags: Null<Vec<String>>,
    #[schemars(length(min = 1, max = 500))]
    #[serde(default)]
    hostname: Null<String>,
    #[schemars(length(min = 1, max = 500))]
    #[serde(default)]
    ip: Null<String>,
    #[schemars(length(min = 1, max = 500))]
    #[serde(default)]
    mac: Null<String>,
    #[schemars(length(min = 1, max = 500))]
    #[serde(default)]
    serial: Null<String>,
    /// Default: false.
    #[serde(default, deserialize_with = "present")]
    is_managed: Option<bool>,
    #[serde(default)]
    last_seen_at: Null<When>,
}

/// An application in use.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "FactsApp")]
#[serde(deny_unknown_fields)]
pub struct FactsAppDoc {
    #[schemars(length(min = 1, max = 500))]
    name: String,
    #[schemars(length(min = 1, max = 500))]
    #[serde(default)]
    publisher: Null<String>,
    /// How many users use it.
    users: u32,
    /// Whether the client allows it. Null or absent: the client's setting `sanctionedApps` decides.
    #[serde(default)]
    sanctioned: Null<bool>,
}

/// Where the evidence for a control is.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "FactsEvidence")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FactsEvidenceDoc {
    /// The code of a control in the catalog.
    control: String,
    #[schemars(length(min = 1, max = 200))]
    title: String,
    #[serde(default)]
    valid_until: Null<When>,
    #[schemars(length(min = 1, max = 1000))]
    reference: String,
    #[serde(default)]
    sha256: Null<Sha256Text>,
}

/// How the run went.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "FactsSync")]
#[serde(deny_unknown_fields)]
pub struct FactsSyncDoc {
    status: SyncStatusView,
    #[schemars(length(min = 1, max = 500))]
    #[serde(default)]
    message: Null<String>,
}

example!(FactsDoc, {
    "source": "entra",
    "scope": "contoso.onmicrosoft.com",
    "complete": true,
    "observations": [{"control": "ID-01", "passed": 20, "failed": 2, "findings": "2 of 22 users have no MFA"}],
    "identities": [{
        "user": "ada@example.com",
        "admin": true,
        "roles": ["Global Administrator"],
        "mfa": true,
        "enabled": true,
        "lastSignIn": "2026-11-19T08:12:00Z",
    }],
});
