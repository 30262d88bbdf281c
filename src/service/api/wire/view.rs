//! Values as the wire shows them: points in time, ids, words of fixed lists, free JSON.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::file::FileFormat;
use super::kind;
use crate::app::access::mfa::MfaState;
use crate::app::report::portfolio::ClientOrder;
use crate::app::report::posture::RiskOrder;
use crate::clock::Time;
use crate::clock::zone::Deadline;
use crate::engine::asset::{AssetStatus, AssetType};
use crate::engine::basis::Basis;
use crate::engine::catalog::Decider;
use crate::engine::catalog::facet::Population;
use crate::engine::event::EventKind;
use crate::engine::fact::Status;
use crate::engine::framework::{self, FrameworkId, Level};
use crate::engine::network::scan::Answers;
use crate::engine::posture::{PartialBecause, SourceType};
use crate::engine::severity::Severity;
use crate::error::Error;
use crate::paper::Language;
use crate::store::global::key::Scope;
use crate::store::global::report::schedule::Period;
use crate::store::global::scan::ScanStatus;
use crate::store::global::task::TaskStatus;
use crate::store::global::user::Role;
use crate::store::global::webhook::Disabling;

/// What the document says of a type of the wire: an inline schema, or a named one.
macro_rules! wire_type {
    ([$($generic:tt)*] $name:ty, $schema:tt) => {
        wire_type!(@type [$($generic)*] $name, true, stringify!($name), $schema);
    };
    (named $name:ty, $title:expr, $schema:tt) => {
        wire_type!(@type [] $name, false, $title, $schema);
    };
    (@type [$($generic:tt)*] $name:ty, $is_inline:literal, $title:expr, $schema:tt) => {
        impl<$($generic)*> schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                $is_inline
            }

            fn schema_name() -> Cow<'static, str> {
                $title.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

/// Serializes as its `Display` text.
macro_rules! wire_text {
    ([$($generic:tt)*] $name:ty) => {
        impl<$($generic)*> Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }
    };
}

pub(super) use {wire_text, wire_type};

/// RFC 3339, UTC, `Z`, milliseconds. Requests may use any offset.
#[derive(Clone, Copy, Debug)]
pub struct When(pub Time);
wire_type!([] When, {"type": "string", "format": "date-time"});
wire_text!([] When);

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(json: D) -> std::result::Result<Self, D::Error> {
        let time = String::deserialize(json)?.parse();
        time.map(Self).map_err(|error: Error| D::Error::custom(error.message()))
    }
}

/// When something ends: a date-time of RFC 3339 with any offset, or a date, which is the end of that day in the time zone of
/// the client (`timeZone` in its settings), or else of the service provider (`msp.time_zone`). Answers have the moment.
#[derive(Clone, Copy, Debug)]
pub struct End(pub Deadline);
wire_type!([] End, {"type": "string", "anyOf": [{"format": "date-time"}, {"format": "date"}]});

impl<'de> Deserialize<'de> for End {
    fn deserialize<D: Deserializer<'de>>(json: D) -> std::result::Result<Self, D::Error> {
        let end = String::deserialize(json)?.parse();
        end.map(Self).map_err(|error: Error| D::Error::custom(error.message()))
    }
}

/// A UUID in lower case with hyphens.
#[derive(Clone, Copy, Debug)]
pub struct Uid(uuid::fmt::Hyphenated);
wire_type!([] Uid, {"type": "string", "format": "uuid"});
wire_text!([] Uid);

impl Uid {
    pub fn of(bytes: &[u8; 16]) -> Self {
        Self(uuid::Uuid::from_bytes(*bytes).hyphenated())
    }
}

/// A JSON object of no fixed shape.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Free(pub Value);
wire_type!([] Free, {"type": "object", "additionalProperties": {}});

/// A word of a fixed list.
pub trait Word: Sized {
    fn read(text: &str) -> Option<Self>;

    /// What an error says about another word.
    fn rule() -> String;
}

/// Defines a [`Word`] with a named schema, which its doc comment describes. The last argument gives the word of a value;
/// where requests may spell it in other ways, a parser follows.
macro_rules! word {
    (
        $(#[doc = $doc:literal])+
        $name:ident, $of:ty, $title:literal, $all:expr, $as_str:expr
    ) => {
        word!(@type $($doc)+, $name, $of, $title, $all, $as_str);

        impl Word for $name {
            fn read(text: &str) -> Option<Self> {
                $all.into_iter().find(|it| $as_str(*it) == text).map(Self)
            }

            fn rule() -> String {
                format!("must be one of {}", $all.map($as_str).join(", "))
            }
        }
    };
    (
        $(#[doc = $doc:literal])+
        $name:ident, $of:ty, $title:literal, $all:expr, $as_str:expr, $read:expr
    ) => {
        word!(@type $($doc)+, $name, $of, $title, $all, $as_str);

        impl Word for $name {
            fn read(text: &str) -> Option<Self> {
                $read(text).map(Self)
            }

            fn rule() -> String {
                format!("must be one of {}", $all.map($as_str).join(", "))
            }
        }
    };
    (@type $($doc:literal)+, $name:ident, $of:ty, $title:literal, $all:expr, $as_str:expr) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(pub $of);

        impl $name {
            const fn as_str(self) -> &'static str {
                $as_str(self.0)
            }
        }

        wire_type!(named $name, $title, {
            "type": "string",
            "description": concat!($($doc),+).trim_ascii_start(),
            "enum": $all.into_iter().map($as_str).collect::<Vec<_>>(),
        });

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(json: D) -> std::result::Result<Self, D::Error> {
                let word = Self::read(&String::deserialize(json)?);
                word.ok_or_else(|| D::Error::custom(Self::rule()))
            }
        }
    };
}

pub(super) use word;

word!(
    /// What kind of thing an asset is.
    AssetTypeView, AssetType, "AssetType", AssetType::ALL, AssetType::as_str
);
word!(
    /// Whether an asset is still seen: `stale` if it was not seen for `staleAssetDays`, `retired` if a complete read of
    /// its source no longer has it.
    AssetStatusView, AssetStatus, "AssetStatus",
    [AssetStatus::Active, AssetStatus::Stale, AssetStatus::Retired], AssetStatus::as_str
);
word!(
    /// How well a control or requirement is met. For a yes-or-no reading, only `compliant` is met.
    StatusView, Status, "ComplianceStatus",
    [
        Status::Compliant,
        Status::Partial,
        Status::NonCompliant,
        Status::NotAssessed,
        Status::NotApplicable,
    ],
    Status::as_str
);
word!(
    /// Why a control is partial. `failing`: something was seen to fail, or somebody says that it does. `unseen`: what was seen
    /// passes, and not all that is known was seen. `claimed`: somebody says that it is met, without evidence. Only `failing` is a
    /// risk.
    PartialBecauseView, PartialBecause, "PartialBecause", PartialBecause::ALL, PartialBecause::as_str
);
word!(
    /// `undoing`: what it stated is being undone.
    BatchStateView, &'static str, "BatchState", ["running", "finished", "undoing", "undone"], std::convert::identity
);
word!(
    /// `refused`: nothing was stated. `not_undone`: it was stated, and could not be undone.
    BatchMemberStateView, &'static str, "BatchClientState",
    ["waiting", "stated", "refused", "undone", "not_undone"], std::convert::identity
);
word!(
    /// What a verdict rests on. `observed`: sources saw it. `attested_with_evidence`, `attested`: a person said so. `lapsed`:
    /// what decided it expired, and nothing newer replaced it. `profile`: what it asks about is unused. `controls`: of a
    /// requirement, its controls. `decision`: a person decided that the requirement is out of scope. `nothing`: nothing that
    /// is valid.
    BasisView, Basis, "VerdictBasis", Basis::ALL, Basis::as_str
);
word!(
    /// How severe a risk or control is, most severe first.
    SeverityView, Severity, "Severity", Severity::ALL, Severity::as_str
);
word!(
    /// What a risk is based on.
    SourceTypeView, SourceType, "SourceType",
    [SourceType::Control, SourceType::Finding, SourceType::Scan, SourceType::Manual],
    SourceType::as_str
);
word!(
    /// The state of a remediation task.
    TaskStatusView, TaskStatus, "RemediationTaskStatus", TaskStatus::ALL, TaskStatus::as_str
);
word!(
    /// Whether a row is one of a framework's requirements or a detail below one.
    LevelView, Level, "RequirementLevel", [Level::Requirement, Level::Detail], Level::as_str
);
word!(
    /// The identifier of a framework of the contract. Requests may spell it in upper or lower case.
    FrameworkIdView, FrameworkId, "FrameworkId", FrameworkId::CONTRACT, FrameworkId::embedded_str,
    |text: &str| FrameworkId::of_contract(text).ok()
);

word!(
    /// What happened. The guide at `/docs/events` describes each type.
    EventTypeView, EventKind, "EventType", EventKind::ALL, EventKind::as_str
);
word!(
    /// What an API key may do.
    ScopeView, Scope, "Scope", Scope::ALL, Scope::as_str
);
word!(
    /// What a user may do: a `viewer` reads; an `analyst` also works on clients; an `admin` also manages the
    /// installation.
    RoleView, Role, "Role", Role::ALL, Role::as_str
);
word!(
    /// Whether a user has a second factor. `on`: logins need a code. `missing`: the role requires one, which the user must set up
    /// before doing anything else. A user with a passkey is never `missing` one.
    MfaStateView, MfaState, "MfaState", MfaState::ALL, MfaState::as_str
);

impl EventChoice {
    /// The choice of every event type.
    pub const ALL: &'static str = "all";
}

const fn choice(kind: Option<EventKind>) -> &'static str {
    match kind {
        Some(kind) => kind.as_str(),
        None => EventChoice::ALL,
    }
}

fn choices() -> [Option<EventKind>; 1 + EventKind::ALL.len()] {
    let mut all = [None; 1 + EventKind::ALL.len()];
    all.iter_mut().skip(1).zip(EventKind::ALL).for_each(|(to, kind)| *to = Some(kind));
    all
}

word!(
    /// An event type, or `all`.
    EventChoice, Option<EventKind>, "EventChoice", choices(), choice
);
word!(
    /// Why a webhook is disabled: `operator` by a request, `gone` because the endpoint answered 410, `failing` because all
    /// attempts failed for five days, `queue_full` because too many deliveries were waiting.
    DisabledReasonView, Disabling, "WebhookDisabledReason",
    [Disabling::Operator, Disabling::Gone, Disabling::Failing, Disabling::QueueFull],
    Disabling::as_str
);

/// All that can decide a control.
const DECIDERS: [Decider; 7] = [
    Decider::Assessor,
    Decider::Connector,
    Decider::Scan,
    Decider::Dns,
    Decider::Push,
    Decider::Attestation,
    Decider::Derived,
];

/// What a person may attest about a control.
const ATTESTED: [Status; 4] =
    [Status::Compliant, Status::Partial, Status::NonCompliant, Status::NotApplicable];

word!(
    /// What is attested about a control. `not_applicable` takes it out of scope.
    AttestedStatusView, Status, "AttestedStatus", ATTESTED, Status::as_str
);

/// What a person may decide about a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Attested,
    OutOfScope,
}

impl Decision {
    const ALL: [Self; 2] = [Self::Attested, Self::OutOfScope];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Attested => "attested",
            Self::OutOfScope => "out_of_scope",
        }
    }
}

word!(
    /// `attested`: a person confirms what the requirement's controls only support. `out_of_scope`: the requirement does not
    /// apply to the client.
    DecisionWord, Decision, "Decision", Decision::ALL, Decision::as_str
);
word!(
    /// What a control is over. `client`: one thing. `computers`: workstations, servers and virtual machines. `systems`: what has
    /// an address in a network.
    PopulationView, Population, "Population", Population::ALL, Population::as_str
);
word!(
    /// What can decide a control.
    DeciderView, Decider, "Decider", DECIDERS, Decider::as_str
);

/// Of a word that is kept as its text.
const fn same(word: &'static str) -> &'static str {
    word
}

word!(
    /// A for an overall score of 90 or more, B for 80 or more, C for 70 or more, D for 60 or more, F below 60.
    GradeView, &'static str, "Grade", ["A", "B", "C", "D", "F"], same
);
word!(
    /// `decides`: meeting the control is what the requirement asks. `supports`: the control is an indicator.
    MappingRoleView, framework::ControlRole, "MappingRole",
    [framework::ControlRole::Decides, framework::ControlRole::Supports], framework::ControlRole::as_str
);
word!(
    /// `waiting`: an attempt is due at `dueAt`. `sending`: an attempt is in progress. `exhausted`: all attempts failed.
    /// `skipped`: the queue was full of events of this client, the webhook was disabled or limited meanwhile, or the event
    /// is no longer stored.
    DeliveryStatusView, &'static str, "DeliveryStatus",
    ["waiting", "sending", "delivered", "exhausted", "skipped"], same
);
word!(
    /// `csv` and `xlsx`: a table with one row per requirement. `oscal`: assessment results in the JSON format of NIST. `html`
    /// and `pdf`: a signed document for people.
    ReportFormatView, FileFormat, "ReportFormat", FileFormat::OF_FRAMEWORKS, FileFormat::as_str
);
word!(
    /// The format of the report on all clients.
    PortfolioFormatView, FileFormat, "PortfolioFormat", FileFormat::OF_PORTFOLIO, FileFormat::as_str
);
word!(
    /// The format of a report that people read.
    DocumentFormatView, FileFormat, "DocumentFormat", FileFormat::DOCUMENTS, FileFormat::as_str
);
word!(
    /// `added`: the order in which they were added. `name`: the alphabet. `score`: lowest first, those without one last. `coverage`:
    /// least first. `risks`: most open critical risks first, then most high ones, and so on.
    ClientOrderView, ClientOrder, "ClientOrder", ClientOrder::ALL, ClientOrder::as_str
);
word!(
    /// `score`: highest `riskScore` first. `severity`: most severe first, then by `riskScore`. `cost`: highest `dollarImpact` first,
    /// those without one last.
    RiskOrderView, RiskOrder, "RiskOrder", RiskOrder::ALL, RiskOrder::as_str
);
word!(
    /// How often a report is sent.
    PeriodView, Period, "ReportPeriod", Period::ALL, Period::as_str
);
word!(
    /// `en`: English. `fr`: French.
    LanguageView, Language, "Language", Language::ALL, Language::as_str
);
word!(
    /// The state of a network scan. A running scan continues after a restart of the service.
    ScanStatusView, ScanStatus, "ScanStatus",
    [
        ScanStatus::Queued,
        ScanStatus::Running,
        ScanStatus::Completed,
        ScanStatus::Failed,
        ScanStatus::Cancelled,
    ],
    ScanStatus::as_str
);
word!(
    /// `own`: the host answers for itself. `every_port`: something answers on all ports of the address. `every_address`:
    /// something answers on all addresses of the network.
    AnswersView, Answers, "ScannedHostAnswers",
    [Answers::Own, Answers::OnEveryPort, Answers::OnEveryAddress], Answers::as_str
);
word!(
    /// What kind of error it is.
    ErrorCodeView, &'static str, "ErrorCode", kind::KINDS.map(|it| it.code), same
);
word!(
    /// The status of a control as a source reports it.
    ReportedStatusView, &'static str, "ReportedStatus",
    ["compliant", "partial", "non_compliant"], same
);
word!(
    /// What a check came to for one subject. `accepted`: it failed, and is muted or accepted at the source.
    SubjectOutcomeView, &'static str, "SubjectOutcome", ["passed", "failed", "accepted"], same
);
word!(
    /// How a run of a source went. `partial`: it could not read everything.
    SyncStatusView, &'static str, "SyncStatus", ["completed", "partial", "failed"], same
);

/// Who calls, as `GET /api/me` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerKind {
    User,
    Operator,
}

impl CallerKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Operator => "operator",
        }
    }
}

word!(
    /// A `user` who logged in, or the `operator` on the control socket.
    CallerKindView, CallerKind, "CallerKind", [CallerKind::User, CallerKind::Operator], CallerKind::as_str
);
