//! Connections as they are shown.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::wire::reply::Null;
use crate::api::wire::view::{Uid, When};
use crate::app::connect::consent::Consent;
use crate::app::connect::trial::{Foreseen, Trial};
use crate::app::connect::twin::Twin;
use crate::connect::kind::{Field, FieldRule, Kind, KindScope, uses_microsoft_app};
use crate::connect::reading::{Group as ReadGroup, Org};
use crate::connect::settings::Settings;
use crate::error::Result;
use crate::store::global::connection::{ConnectionState, ConnectionWithRun, GroupRun, StreamRun};

/// A connection to the environment of a client, or to a tool that sees many.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Connection")]
#[serde(rename_all = "camelCase")]
pub(super) struct ConnectionView {
    id: Uid,
    /// Null: it is your own tool, which sees many clients. They are mapped to its organizations.
    client_id: Null<Uid>,
    /// A name of `list_connection_kinds`.
    kind: String,
    name: String,
    /// The name of the source of its facts.
    source: String,
    /// Of kind `dns`, the domains whose records are read. Otherwise empty.
    domains: Vec<String>,
    /// What was entered for it, without secrets.
    settings: BTreeMap<String, String>,
    /// Where an administrator of the client consents to being read. Null: this kind needs no consent, or the app is not set.
    consent_url: Null<String>,
    /// What is missing before it can be read for the first time: `microsoft_app`, the app that you register and set, or
    /// `consent`, that of an administrator of the client. Null: neither is known to be missing.
    waits_for: Null<String>,
    paused: bool,
    /// `paused`; `pending` until the first run has ended and what it waits for is there; `healthy` if the last run read everything,
    /// `degraded` if it read a part, `failing` if it read nothing.
    health: String,
    /// Runs in a row that did not read everything.
    failures: u32,
    /// Null: it never ran.
    last_run_at: Null<When>,
    /// When everything was last read. Null: never.
    last_success_at: Null<When>,
    /// Null: it is paused.
    next_run_at: Null<When>,
    /// What the last run read, by part of the environment. Empty until the first run has ended.
    parts: Vec<PartView>,
    /// Up to 10 other connections that you may see and that read the same: of the same kind, with the same settings. One of them
    /// may be at the wrong client.
    twins: Vec<TwinView>,
    created_at: When,
    updated_at: When,
}

/// A connection that reads the same.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionTwin")]
#[serde(rename_all = "camelCase")]
pub(super) struct TwinView {
    connection_id: Uid,
    client_id: Uid,
}

impl From<Twin> for TwinView {
    fn from(it: Twin) -> Self {
        Self { connection_id: Uid::of(it.id.as_bytes()), client_id: Uid::of(it.client.as_bytes()) }
    }
}

/// A part of an environment that is read on its own.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionPart")]
#[serde(rename_all = "camelCase")]
pub(super) struct PartView {
    /// Of the DNS, the domain. Empty: all of it.
    scope: String,
    streams: Vec<StreamView>,
    /// What is worth knowing and decides nothing.
    notes: Vec<NoteView>,
}

/// One collection that was read.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionStream")]
#[serde(rename_all = "camelCase")]
pub(super) struct StreamView {
    name: String,
    /// `complete`, `partial`, `denied`, `unlicensed` or `failed`. Nothing is concluded from what is not complete.
    state: String,
    /// Why it is not complete. Null: it is.
    reason: Null<String>,
    /// Records that were read.
    rows: u64,
}

/// Something worth knowing.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionNote")]
pub(super) struct NoteView {
    name: String,
    text: String,
}

impl From<(String, String)> for NoteView {
    fn from((name, text): (String, String)) -> Self {
        Self { name, text }
    }
}

fn optional(text: String) -> Null<String> {
    Some(text).filter(|it| !it.is_empty()).into()
}

impl From<StreamRun> for StreamView {
    fn from(it: StreamRun) -> Self {
        Self { name: it.name, state: it.state, reason: optional(it.reason), rows: it.n_rows }
    }
}

impl From<GroupRun> for PartView {
    fn from(it: GroupRun) -> Self {
        Self {
            scope: it.scope,
            streams: it.streams.into_iter().map(StreamView::from).collect(),
            notes: it.notes.into_iter().map(NoteView::from).collect(),
        }
    }
}

impl ConnectionView {
    pub(super) fn of(it: ConnectionWithRun, consent: Consent, twins: Vec<Twin>) -> Result<Self> {
        let health = it.health().to_owned();
        let ConnectionWithRun { connection, run, due } = it;
        let settings = Settings::parse(&connection.settings)?;
        Ok(Self {
            id: Uid::of(connection.id.as_bytes()),
            client_id: connection.client.map(|it| Uid::of(it.as_bytes())).into(),
            kind: settings.kind,
            name: connection.name,
            source: connection.source,
            domains: settings.domains,
            settings: settings.values,
            consent_url: consent.link.into(),
            waits_for: consent.waits_for.map(str::to_owned).into(),
            paused: connection.state == ConnectionState::Paused,
            health,
            failures: run.as_ref().map_or(0, |it| it.n_failures),
            last_run_at: run.as_ref().map(|it| When(it.at)).into(),
            last_success_at: run.as_ref().and_then(|it| it.last_success_at).map(When).into(),
            next_run_at: due.map(When).into(),
            // Parts without a stream are those that an earlier run read.
            parts: run
                .into_iter()
                .flat_map(|it| it.groups)
                .filter(|it| !it.streams.is_empty())
                .map(PartView::from)
                .collect(),
            twins: twins.into_iter().map(TwinView::from).collect(),
            created_at: When(connection.created_at),
            updated_at: When(connection.updated_at),
        })
    }
}

/// What a connection can read now, and what that decides.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionTest")]
#[serde(rename_all = "camelCase")]
pub(super) struct TestView {
    /// All streams were read to the end, but for those that the client has no license for.
    complete: bool,
    parts: Vec<TestPartView>,
    /// Of a tool that sees many clients: its organizations.
    organizations: Vec<TestOrgView>,
}

/// What was read of an organization.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionTestOrganization")]
#[serde(rename_all = "camelCase")]
pub(super) struct TestOrgView {
    external_id: String,
    name: String,
    /// Null: not all of them could be read.
    devices: Null<u32>,
    /// What a run would say of controls of the client that it is.
    controls: Vec<TestControlView>,
}

/// What was read of a part of an environment.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionTestPart")]
#[serde(rename_all = "camelCase")]
pub(super) struct TestPartView {
    /// Of the DNS, the domain. Empty: all of it.
    scope: String,
    streams: Vec<StreamView>,
    /// What a run would say of controls.
    controls: Vec<TestControlView>,
    notes: Vec<NoteView>,
}

/// What a run would say of a control.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionTestControl")]
#[serde(rename_all = "camelCase")]
pub(super) struct TestControlView {
    control_code: String,
    check: String,
    /// `compliant`, `partial`, `non_compliant` or `not_applicable`.
    status: String,
    findings: String,
}

impl From<Foreseen> for TestControlView {
    fn from(it: Foreseen) -> Self {
        Self {
            control_code: it.control.to_owned(),
            check: it.check,
            status: it.status.as_str().to_owned(),
            findings: it.findings,
        }
    }
}

fn controls(all: Vec<Foreseen>) -> Vec<TestControlView> {
    all.into_iter().map(TestControlView::from).collect()
}

impl From<(Org, Vec<Foreseen>)> for TestOrgView {
    fn from((it, foreseen): (Org, Vec<Foreseen>)) -> Self {
        Self {
            external_id: it.external_id,
            name: it.name,
            devices: it.n_devices.into(),
            controls: controls(foreseen),
        }
    }
}

impl From<(ReadGroup, Vec<Foreseen>)> for TestPartView {
    fn from((it, foreseen): (ReadGroup, Vec<Foreseen>)) -> Self {
        let stream = |it: crate::connect::reading::Stream| StreamView {
            name: it.name,
            state: it.state.as_str().to_owned(),
            reason: optional(it.reason),
            rows: it.n_rows,
        };
        Self {
            scope: it.scope,
            streams: it.streams.into_iter().map(stream).collect(),
            controls: controls(foreseen),
            notes: it.notes.into_iter().map(NoteView::from).collect(),
        }
    }
}

impl From<Trial> for TestView {
    fn from(Trial { reading, controls, org_controls }: Trial) -> Self {
        let parts = reading.groups.into_iter().zip(controls);
        let parts: Vec<TestPartView> = parts.map(TestPartView::from).collect();
        let mut streams = parts.iter().flat_map(|it| &it.streams);
        let complete = streams.all(|it| ["complete", "unlicensed"].contains(&it.state.as_str()));
        let organizations = reading.orgs.into_iter().flatten().zip(org_controls);
        Self { complete, parts, organizations: organizations.map(TestOrgView::from).collect() }
    }
}

/// A kind of connection.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionKind")]
#[serde(rename_all = "camelCase")]
pub(super) struct KindView {
    name: String,
    title: String,
    /// True: it is your own tool, which sees many clients. False: it reads the environment of one client.
    provider: bool,
    /// True: it was made by what the vendor wrote. No answer of a real system was seen.
    unproven: bool,
    /// True: it uses the app that you register with Microsoft once. See `get_microsoft_app`.
    microsoft_app: bool,
    fields: Vec<FieldView>,
}

/// What is to be entered for a connection.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ConnectionField")]
pub(super) struct FieldView {
    /// Its name in `settings`.
    name: String,
    help: String,
    required: bool,
    /// It is kept sealed and never shown.
    secret: bool,
    /// The values that are allowed. Empty: others than these.
    values: Vec<String>,
    /// A value may have several lines, as PEM does.
    multiline: bool,
}

impl From<Kind> for KindView {
    fn from(it: Kind) -> Self {
        Self {
            provider: it.scope == KindScope::Provider,
            unproven: it.is_unproven,
            microsoft_app: uses_microsoft_app(&it.name),
            fields: it.fields.iter().cloned().map(FieldView::from).collect(),
            name: it.name.into_owned(),
            title: it.title.into_owned(),
        }
    }
}

impl From<Field> for FieldView {
    fn from(it: Field) -> Self {
        let multiline = matches!(it.rule, FieldRule::Authorities);
        let values = match it.rule {
            FieldRule::OneOf(words) => words.into_iter().map(Cow::into_owned).collect(),
            FieldRule::Text
            | FieldRule::Tenant
            | FieldRule::Domain
            | FieldRule::Email
            | FieldRule::ServiceAccountKey
            | FieldRule::Origin
            | FieldRule::Host
            | FieldRule::Port
            | FieldRule::Authorities
            | FieldRule::Fingerprint
            | FieldRule::Ids
            | FieldRule::AwsAccount
            | FieldRule::AwsRole => Vec::new(),
        };
        Self {
            name: it.name.into_owned(),
            help: it.help.into_owned(),
            required: it.is_required,
            secret: it.is_secret,
            values,
            multiline,
        }
    }
}
