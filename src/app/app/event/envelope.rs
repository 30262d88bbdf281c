//! What all events share: the delivery body around an event's object, its `dedupKey`, and the link to what it is about.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::engine::framework::FrameworkId;
use crate::error::{Error, Result};
use crate::id::{ClientId, EventId, RiskId, TaskId};
use crate::store::per_client::condition::Condition;
use crate::store::per_client::reference::{ExternalReference, Referenced};
use crate::store::{ClientBatch, Installation};

/// The object of one event type.
pub trait EventBody: Serialize {
    const KIND: EventKind;
    /// What `previous` holds. [`NoPrevious`] for a type without it.
    type Previous: Serialize;

    /// Names the condition within its client. The same in all events about one condition.
    fn key(&self) -> String;

    /// What a person who follows the event's `url` sees.
    fn link(&self) -> Link {
        Link::Client
    }
}

/// The event type never has an earlier state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub enum NoPrevious {}

/// What an event's `url` leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    Client,
    Requirements(FrameworkId),
    Risk(RiskId),
    Source(String),
    Task(TaskId),
}

impl Link {
    /// The address below `server.public_url`. These addresses never change.
    fn path(&self, client: ClientId) -> String {
        match self {
            Self::Client => format!("/go/client/{client}"),
            Self::Requirements(framework) => {
                format!("/go/requirement/{client}/{}", framework.as_str())
            }
            Self::Risk(id) => format!("/go/risk/{client}/{id}"),
            Self::Source(name) => {
                format!("/go/source/{client}/{}", utf8_percent_encode(name, NON_ALPHANUMERIC))
            }
            Self::Task(id) => format!("/go/task/{id}"),
        }
    }
}

/// An event that is yet to get its place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    id: EventId,
    kind: EventKind,
    created: Time,
    key: String,
    link: Link,
    /// When the condition that it is about was opened.
    opened_at: Time,
    object: Map<String, Value>,
    previous: Option<Map<String, Value>>,
}

impl NewEvent {
    /// An event without an earlier state.
    pub fn new<T: EventBody>(body: &T, now: Time) -> Self {
        Self {
            id: EventId::random(),
            kind: T::KIND,
            created: now,
            key: body.key(),
            link: body.link(),
            opened_at: now,
            object: fields(body),
            previous: None,
        }
    }

    /// A made-up event of a type: `object` is as its schema says, and says `test` besides.
    #[must_use]
    pub fn test(kind: EventKind, name: &str, mut object: Map<String, Value>, now: Time) -> Self {
        object.insert("test".to_owned(), true.into());
        Self::of_object(kind, format!("test/{name}"), object, now)
    }

    /// An event about a client as a whole, with an object that is not its type's own.
    #[must_use]
    pub fn of_object(kind: EventKind, key: String, object: Map<String, Value>, now: Time) -> Self {
        let (id, link) = (EventId::random(), Link::Client);
        Self { id, kind, created: now, key, link, opened_at: now, object, previous: None }
    }

    pub fn members(&self) -> &Map<String, Value> {
        &self.object
    }

    /// With what differed before. `None`: there was no earlier state.
    #[must_use]
    pub fn after<T: EventBody>(body: &T, previous: Option<&T::Previous>, now: Time) -> Self {
        Self { previous: previous.map(fields), ..Self::new(body, now) }
    }

    /// The event as of another moment than the one it was made for.
    #[must_use]
    pub fn at(self, created: Time) -> Self {
        Self { created, opened_at: created, ..self }
    }

    /// About a condition that was opened at an earlier time.
    #[must_use]
    pub fn opened_at(self, opened_at: Time) -> Self {
        Self { opened_at, ..self }
    }

    pub fn id(&self) -> EventId {
        self.id
    }

    pub fn kind(&self) -> EventKind {
        self.kind
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    /// As a list of open conditions shows it.
    pub fn object(&self, client: ClientId, name: &str, installation: &Installation) -> Value {
        Value::Object(self.completed(client, name, installation))
    }

    /// The object with the members that every event has.
    fn completed(
        &self,
        client: ClientId,
        name: &str,
        installation: &Installation,
    ) -> Map<String, Value> {
        let mut object = self.object.clone();
        complete(&mut object, client, name, installation, (&self.key, self.opened_at), &self.link);
        object
    }

    /// What announces a stored condition again. `None`: it cannot be read.
    pub fn of_condition(it: &Condition, now: Time) -> Option<Self> {
        let kind = it.kind.parse().ok()?;
        Some(Self::of_object(kind, it.key.clone(), serde_json::from_str(&it.object).ok()?, now))
    }

    /// The object as a condition stores it.
    pub fn object_text(&self) -> String {
        Value::Object(self.object.clone()).to_string()
    }

    /// The event's condition when it opens. `before`: as it was stored. `None`: it is open already.
    pub fn condition(&self, before: Option<&Condition>, now: Time) -> Option<Condition> {
        Condition::opened(before, (&self.key, self.kind.as_str()), self.object_text(), now)
    }

    /// Opens the event's condition. Returns the event with its occurrence, or `None` when the condition is open already.
    pub fn open(&self, batch: &mut ClientBatch<'_>, now: Time) -> Result<Option<Self>> {
        let opened =
            batch.open_condition(&self.key, self.kind.as_str(), self.object_text(), now)?;
        Ok(opened.map(|n| self.clone().with_occurrence(n)))
    }

    /// Replaces what the list of open conditions shows of the event's condition.
    pub fn replace_condition(&self, batch: &mut ClientBatch<'_>) -> Result<()> {
        batch.replace_condition(&self.key, self.object_text())
    }

    #[must_use]
    pub fn with_occurrence(mut self, occurrence: u32) -> Self {
        self.object.insert("occurrence".to_owned(), occurrence.into());
        self
    }

    /// Gives the event its place in the log, in the commit that makes it true. Returns its sequence.
    pub fn add(&self, batch: &mut ClientBatch<'_>) -> Result<u64> {
        let installation = batch.installation()?;
        let client = batch.id();
        let name = batch.find_profile()?.map_or_else(String::new, |it| it.name);
        let mut referring = self.clone();
        let list = |about| batch.list_references(about);
        add_references(&mut referring.object, self.referenced(), list)?;
        batch.add_event(self.id, self.kind, self.created, |sequence| {
            referring.body(client, &name, &installation, sequence)
        })
    }

    /// The risk or task that it is about.
    pub fn referenced(&self) -> Option<Referenced> {
        match self.link {
            Link::Risk(id) => Some(Referenced::Risk(id)),
            Link::Task(id) => Some(Referenced::Task(id)),
            Link::Client | Link::Requirements(_) | Link::Source(_) => None,
        }
    }

    /// The body of a delivery: made once, signed, stored, and sent again byte for byte.
    pub fn body(
        &self,
        client: ClientId,
        name: &str,
        installation: &Installation,
        sequence: u64,
    ) -> Result<String> {
        let mut object = self.completed(client, name, installation);
        object.insert("sequence".to_owned(), sequence.into());
        let data = DeliveryData {
            msp_id: &installation.msp_id,
            client_id: client.to_string(),
            object,
            previous: self.previous.as_ref(),
        };
        let body = DeliveryBody {
            id: self.id.wire(),
            kind: self.kind.as_str(),
            created: self.created.to_string(),
            data,
        };
        serde_json::to_string(&body).map_err(Error::internal)
    }
}

/// A condition's `dedupKey`: unique over all clients. One that was opened by a release before these keys keeps the key
/// that it was announced with until it closes.
#[must_use]
pub fn dedup_key(
    client: ClientId,
    key: &str,
    opened_at: Time,
    installation: &Installation,
) -> String {
    if opened_at < installation.scoped_keys_since {
        return key.to_owned();
    }
    format!("{client}/{key}")
}

/// Adds the members that the object of every event has.
pub fn complete(
    object: &mut Map<String, Value>,
    client: ClientId,
    name: &str,
    installation: &Installation,
    (key, opened_at): (&str, Time),
    link: &Link,
) {
    let key = dedup_key(client, key, opened_at, installation);
    object.insert("dedupKey".to_owned(), key.into());
    object.insert("clientName".to_owned(), name.into());
    if let Some(start) = &installation.public_url {
        object.insert("url".to_owned(), format!("{start}{}", link.path(client)).into());
    }
}

/// Adds what other systems call the client, and the risk or task that an object is about. `list`: finds that.
pub fn add_references(
    object: &mut Map<String, Value>,
    about: Option<Referenced>,
    list: impl Fn(Referenced) -> Result<Vec<ExternalReference>>,
) -> Result<()> {
    let mut put = |member: &str, about: Referenced| {
        let all = list(about)?.into_iter();
        let all: Vec<_> = all.map(|it| json!({ "system": it.system, "id": it.id })).collect();
        if !all.is_empty() {
            object.insert(member.to_owned(), all.into());
        }
        Ok(())
    };
    put("clientExternalReferences", Referenced::Client)?;
    about.map_or(Ok(()), |it| put("externalReferences", it))
}

/// # Panics
/// When the value does not serialize to a JSON object: every event body is a struct with named fields.
pub(super) fn fields(it: &impl Serialize) -> Map<String, Value> {
    let Value::Object(members) = serde_json::to_value(it).expect("an event body serializes") else {
        unreachable!("an event body is a struct with named fields")
    };
    members
}

#[derive(Serialize)]
struct DeliveryBody<'a> {
    id: String,
    #[serde(rename = "type")]
    kind: &'a str,
    created: String,
    data: DeliveryData<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeliveryData<'a> {
    msp_id: &'a str,
    client_id: String,
    object: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<&'a Map<String, Value>>,
}
