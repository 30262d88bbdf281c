//! References to other systems, as requests and answers spell them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::store::per_client::reference::ExternalReference;

/// What something is called in another system.
#[derive(Clone, JsonSchema, Deserialize, Serialize)]
#[schemars(rename = "ExternalReference")]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub struct ReferenceView {
    /// The name of the system, for example of a PSA.
    #[schemars(length(min = 1, max = 100))]
    system: String,
    /// The id there, for example of a company or ticket.
    #[schemars(length(min = 1, max = 200))]
    id: String,
}

impl ReferenceView {
    pub fn all(references: Vec<ExternalReference>) -> Vec<Self> {
        references.into_iter().map(|it| Self { system: it.system, id: it.id }).collect()
    }

    pub fn read(given: Option<Vec<Self>>) -> Option<Vec<ExternalReference>> {
        let reference = |it: Self| ExternalReference { system: it.system, id: it.id };
        given.map(|it| it.into_iter().map(reference).collect())
    }
}
