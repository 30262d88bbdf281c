//! The JSON schema of each event's delivery body, made from the structs that are serialized.

use std::any::TypeId;

use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Value, json};

use super::account::{
    AdminMfaMissing, DormantAccountDetected, MfaDisabled, PrivilegeEscalation, ShadowItDetected,
};
use super::alert::AlertTriggered;
use super::asset::AssetDiscovered;
use super::envelope::{EventBody, NoPrevious};
use super::expiry::EvidenceExpiring;
use super::posture::{
    ComplianceDriftDetected, ComplianceStatusChanged, RiskAssessmentCompleted,
    SecurityScoreChanged, SecurityScoreThresholdCrossed,
};
use super::risk::{CriticalRiskDetected, RiskItemCreated, RiskItemResolved};
use super::source::{ConnectorHealthChanged, IntegrationSyncCompleted, IntegrationSyncFailed};
use super::summary::{self, EventSummary};
use super::task::{RemediationTaskCompleted, RemediationTaskCreated, RemediationTaskOverdue};
use crate::engine::event::EventKind;

/// One event type as the API document describes it.
#[derive(Debug)]
pub struct EventSchema {
    pub kind: EventKind,
    /// When the event fires: the first sentence of its struct's documentation.
    pub summary: String,
    /// Of the whole delivery body, in the dialect of OpenAPI 3.0.
    pub body: Value,
}

/// All event types, in the contract's order.
#[must_use]
pub fn all() -> Vec<EventSchema> {
    let settings = SchemaSettings::openapi3().for_serialize().with(|it| {
        it.inline_subschemas = true;
        it.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let it = &mut generator;
    let all = [
        of::<ComplianceStatusChanged<'_>>(it),
        of::<ComplianceDriftDetected<'_>>(it),
        of::<EvidenceExpiring<'_>>(it),
        of::<SecurityScoreChanged<'_>>(it),
        of::<SecurityScoreThresholdCrossed<'_>>(it),
        of::<CriticalRiskDetected<'_>>(it),
        of::<RiskItemCreated<'_>>(it),
        of::<RiskItemResolved<'_>>(it),
        of::<RiskAssessmentCompleted<'_>>(it),
        of::<MfaDisabled<'_>>(it),
        of::<AdminMfaMissing<'_>>(it),
        of::<PrivilegeEscalation<'static>>(it),
        of::<DormantAccountDetected<'_>>(it),
        of::<RemediationTaskCreated<'_>>(it),
        of::<RemediationTaskCompleted<'_>>(it),
        of::<RemediationTaskOverdue<'_>>(it),
        of::<IntegrationSyncCompleted<'_>>(it),
        of::<IntegrationSyncFailed<'_>>(it),
        of::<ConnectorHealthChanged<'_>>(it),
        of::<AssetDiscovered<'_>>(it),
        of::<ShadowItDetected<'_>>(it),
        of::<AlertTriggered<'_>>(it),
    ];
    all.into()
}

fn of<T: EventBody<Previous: JsonSchema + 'static> + JsonSchema>(
    generator: &mut SchemaGenerator,
) -> EventSchema {
    let object = subschema::<T>(generator);
    let of_many = summary::is_summarized(T::KIND).then(|| subschema::<EventSummary<'_>>(generator));
    let has_previous = TypeId::of::<T::Previous>() != TypeId::of::<NoPrevious>();
    let previous = has_previous.then(|| subschema::<T::Previous>(generator));
    described(T::KIND, object, of_many, previous)
}

/// `of_many`: of the event that stands for many of this type. `previous`: of what the object was before.
fn described(
    kind: EventKind,
    mut object: Value,
    of_many: Option<Value>,
    previous: Option<Value>,
) -> EventSchema {
    let description = object["description"].as_str().unwrap_or_default().to_owned();
    add_common_members(&mut object);
    if let Some(mut of_many) = of_many {
        add_common_members(&mut of_many);
        object = json!({"anyOf": [object, of_many]});
    }
    let mut data = json!({
        "type": "object",
        "required": ["mspId", "clientId", "object"],
        "properties": {
            "mspId": {"type": "string", "description": "Names the managed service provider."},
            "clientId": {"type": "string", "format": "uuid"},
            "object": object,
        },
    });
    if let Some(previous) = previous {
        data["properties"]["previous"] = previous;
    }
    let body = json!({
        "type": "object",
        "description": description,
        "required": ["id", "type", "created", "data"],
        "properties": {
            "id": {
                "type": "string",
                "description": "The same in every attempt. Begins with `evt_`.",
            },
            "type": {"type": "string", "enum": [kind.as_str()]},
            "created": {"type": "string", "format": "date-time"},
            "data": data,
        },
    });
    EventSchema { kind, summary: description, body }
}

/// The schema of a type in the dialect of OpenAPI 3.0, which says `nullable` where JSON Schema lists the type `null`.
fn subschema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    let mut schema = generator.subschema_for::<T>();
    for transform in generator.transforms_mut() {
        transform.transform(&mut schema);
    }
    schema.to_value()
}

/// The members that `envelope` adds to the object of every event.
fn add_common_members(object: &mut Value) {
    let references = |description: &str| {
        json!({
            "type": "array",
            "description": description,
            "items": {
                "type": "object",
                "required": ["system", "id"],
                "properties": {"system": {"type": "string"}, "id": {"type": "string"}},
            },
        })
    };
    let common = json!({
        "clientExternalReferences": references("What the client is called in other systems. Absent if it has no such name."),
        "externalReferences": references(
            "What the risk or task that the event is about is called in other systems. Absent if it has no such name.",
        ),
        "dedupKey": {
            "type": "string",
            "description": "The same in all events about one condition, and unique over all clients.",
        },
        "clientName": {"type": "string"},
        "test": {
            "type": "boolean",
            "description": "True in a test delivery, whose other members are made up. Absent otherwise.",
        },
        "url": {
            "type": "string",
            "format": "uri",
            "description": "Where a person reads about it. Present when `server.public_url` is set.",
        },
        "sequence": {
            "type": "integer",
            "format": "uint64",
            "minimum": 0,
            "description": "Rises by one from event to event, over all clients.",
        },
    });
    let members = object["properties"].as_object_mut().expect("an event object has members");
    members.extend(common.as_object().expect("made as one above").clone());
    let required = object["required"].as_array_mut().expect("an event object has required members");
    required.extend(["dedupKey", "clientName", "sequence"].map(Value::from));
}
