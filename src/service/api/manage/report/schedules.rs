//! Reports by e-mail on schedule: list, add, change, remove, send now.

use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::{Path, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::edge::caller::By;
use crate::api::edge::right::{Administer, SendReport, View};
use crate::api::wire::body::{Body, example, present};
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::input::{Ref, TextOf};
use crate::api::wire::param::{self, Id, Raw, TrueWord};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Gone, Made, Null};
use crate::api::wire::view::{LanguageView, PeriodView, Uid, When};
use crate::api::{Group, Web};
use crate::app::report::schedule::{NewSchedule, ScheduleChange};
use crate::clock::zone::Zone;
use crate::error::Result;
use crate::id::{ClientId, ReportScheduleId};
use crate::store::global::report::schedule::{
    LastSending, RefusedRecipient, ReportSchedule, Rhythm, SendingFailure,
};

/// A report, when it is sent to whom, and what became of its last message.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ReportSchedule")]
#[serde(rename_all = "camelCase")]
pub struct ScheduleView {
    id: Uid,
    /// Null: the report is about all clients.
    client_id: Null<Uid>,
    client_name: Null<String>,
    /// Null: it is the report about the client, or about all clients.
    framework: Null<FrameworkName>,
    recipients: Vec<String>,
    language: LanguageView,
    when: RhythmView,
    /// When the next message, or the next attempt at one, is due.
    next_at: When,
    /// It is being sent.
    sending: bool,
    /// Null: nothing was sent yet.
    last: Null<LastSendingView>,
    created_at: When,
    updated_at: When,
}

/// When a report is due.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ReportRhythm")]
#[serde(rename_all = "camelCase")]
pub struct RhythmView {
    every: TextOf<PeriodView>,
    /// Of a week: 1, Monday, to 7. Of a month, or of the first month of a quarter: 1 to 31; in a month without it, the last
    /// day.
    day: u32,
    hour: u32,
    /// A time zone of the IANA database.
    time_zone: String,
}

/// When a report is to be due.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "ReportRhythmSet")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RhythmBody {
    every: TextOf<PeriodView>,
    /// Of a week: 1, Monday, to 7. Of a month, or of the first month of a quarter: 1 to 31; in a month without it, the last
    /// day.
    #[schemars(range(min = 1, max = 31))]
    day: u32,
    #[schemars(range(min = 0, max = 23))]
    hour: u32,
    /// A time zone of the IANA database. Default: that of the client, or of the service provider.
    #[schemars(length(min = 1, max = 64))]
    #[serde(default, deserialize_with = "present")]
    time_zone: Option<String>,
}

/// What became of a message.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ReportSending")]
#[serde(rename_all = "camelCase")]
pub struct LastSendingView {
    /// When it was due.
    due_at: When,
    /// When the last attempt ended.
    at: When,
    /// Recipients whose mail the server took.
    delivered: Vec<String>,
    /// Recipients that the server refused for good.
    refused: Vec<RefusedView>,
    /// Why the other recipients got nothing. Null: there are none.
    failure: Null<SendingFailureView>,
    /// Another attempt follows, at `nextAt`.
    retrying: bool,
    /// Due times that passed before it was sent, for which there was no message of their own.
    missed: u32,
}

/// A recipient that the server refused.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ReportRefusal")]
#[serde(rename_all = "camelCase")]
pub struct RefusedView {
    recipient: String,
    message: String,
}

/// Why something was not sent.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ReportSendingFailure")]
#[serde(rename_all = "camelCase")]
pub struct SendingFailureView {
    /// `unreachable`, `tls`, `greeting`, `login`, `sender`, `recipient`, `later`, `too_large`, `refused` or `report`. Later releases may
    /// know more.
    kind: String,
    /// What happened, and what to do.
    message: String,
}

impl ScheduleView {
    fn of(web: &Web, it: ReportSchedule) -> Self {
        let client = it.client.and_then(|it| web.app.clients.directory.find(it));
        Self {
            id: Uid::of(it.id.as_bytes()),
            client_id: it.client.map(|it| Uid::of(it.as_bytes())).into(),
            client_name: client.map(|it| it.name.clone()).into(),
            framework: it.framework.map(FrameworkName).into(),
            recipients: it.recipients,
            language: LanguageView(it.language),
            when: RhythmView {
                every: TextOf::of(it.rhythm.every.as_str()),
                day: it.rhythm.day.into(),
                hour: it.rhythm.hour.into(),
                time_zone: it.rhythm.zone,
            },
            next_at: When(it.next.due),
            sending: it.next.is_under_way,
            last: it.last.map(LastSendingView::of).into(),
            created_at: When(it.created_at),
            updated_at: When(it.updated_at),
        }
    }
}

impl LastSendingView {
    fn of(it: LastSending) -> Self {
        let refused = |RefusedRecipient { recipient, why }: RefusedRecipient| RefusedView {
            recipient,
            message: why.message,
        };
        let failure = |SendingFailure { kind, message }| SendingFailureView { kind, message };
        Self {
            due_at: When(it.slot),
            at: When(it.at),
            delivered: it.delivered,
            refused: it.refused.into_iter().map(refused).collect(),
            failure: it.failure.map(failure).into(),
            retrying: it.is_retried,
            missed: it.n_missed,
        }
    }
}

impl RhythmBody {
    fn read(self, zone: &Zone) -> Result<Rhythm> {
        // What a byte cannot hold is refused with the other rules.
        let byte = |it: u32| u8::try_from(it).unwrap_or(u8::MAX);
        Ok(Rhythm {
            every: self.every.read("when.every")?.0,
            day: byte(self.day),
            hour: byte(self.hour),
            zone: self.time_zone.unwrap_or_else(|| zone.name().to_owned()),
        })
    }
}

/// A schedule to add.
#[derive(JsonSchema, Deserialize)]
#[schemars(rename = "ReportScheduleCreate")]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a JSON object")]
pub struct NewScheduleBody {
    /// Absent: the report is about all clients.
    #[serde(default, deserialize_with = "present")]
    client_id: Option<Ref<ClientId>>,
    /// Absent: it is the report about the client. In upper or lower case.
    #[schemars(length(min = 1, max = 64))]
    #[serde(default, deserialize_with = "present")]
    framework: Option<String>,
    #[schemars(length(min = 1, max = 20))]
    recipients: Vec<String>,
    /// Default: `msp.language` of the configuration.
    #[serde(default, deserialize_with = "present")]
    language: Option<LanguageView>,
    when: RhythmBody,
}

example!(NewScheduleBody, {
    "clientId": "018f6f2e-7a53-7cc0-9b53-1f2a3c4d5e6f",
    "recipients": ["ada@example.com"],
    "when": {"every": "month", "day": 1, "hour": 8, "timeZone": "Europe/Paris"},
});

/// What to change of a schedule. Absent fields stay as they are.
#[derive(Default, JsonSchema, Deserialize)]
#[schemars(rename = "ReportScheduleChange")]
#[serde(rename_all = "camelCase", default, deny_unknown_fields, expecting = "a JSON object")]
pub struct ScheduleBody {
    #[schemars(length(min = 1, max = 20))]
    #[serde(deserialize_with = "present")]
    recipients: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    language: Option<LanguageView>,
    #[serde(deserialize_with = "present")]
    when: Option<RhythmBody>,
}

example!(ScheduleBody, {"recipients": ["ada@example.com", "grace@example.com"]});

impl ScheduleBody {
    fn change(self, zone: &Zone) -> Result<ScheduleChange> {
        Ok(ScheduleChange {
            recipients: self.recipients,
            language: self.language.map(|it| it.0),
            rhythm: self.when.map(|it| it.read(zone)).transpose()?,
        })
    }
}

pub struct ReportSchedules;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl ReportSchedules {
    /// List report schedules
    ///
    /// Oldest first. Callers who are limited to clients see only those of their clients.
    #[oai(path = "/report-schedules", method = "get", operation_id = "list_report_schedules")]
    async fn list_report_schedules(
        &self,
        web: Held<&Arc<Web>>,
        by: By<View>,
        /// Only those of this client.
        #[oai(name = "clientId")]
        client_id: Query<Option<Raw<Id>>>,
        /// Only those whose last message did not reach everybody, and is not tried again.
        failing: Query<Option<Raw<TrueWord>>>,
    ) -> Result<Data<Vec<ScheduleView>>, Failure> {
        let client = param::id("clientId", client_id.0.as_ref())?;
        let failing = param::only_true("failing", failing.0.as_ref())?;
        let all = web.app.list_report_schedules(&by.0, client, failing).await?;
        Ok(Data::of(&all.into_iter().map(|it| ScheduleView::of(&web, it)).collect::<Vec<_>>()))
    }

    /// Add a report schedule
    ///
    /// The report is sent by e-mail as a signed PDF, for the first time at its next due time. After a stop of the service,
    /// one message is sent for all due times that passed. A client has at most 20, and so has the report about all clients;
    /// there are at most 10,000. The report about all clients needs an account that may access all clients.
    #[oai(path = "/report-schedules", method = "post", operation_id = "add_report_schedule")]
    async fn add_report_schedule(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        body: Body<NewScheduleBody>,
    ) -> Result<Made<ScheduleView>, Failure> {
        let body = body.read()?;
        let framework = body.framework.as_deref().map(|it| {
            let catalog = web.app.catalog();
            catalog.framework_named(it).map(|it| it.id).map_err(|it| it.about("framework"))
        });
        let client = body.client_id.map(|it| it.0);
        let zone = web.app.time_zone_of(client);
        let new = NewSchedule {
            client,
            framework: framework.transpose()?,
            recipients: body.recipients,
            language: body.language.map(|it| it.0),
            rhythm: body.when.read(&zone)?,
        };
        let added = web.app.add_report_schedule(&by.0, new).await?;
        Ok(Made::Added(ScheduleView::of(&web, added)))
    }

    /// Change a report schedule
    ///
    /// What is being sent, or tried again, still follows the schedule of before.
    #[oai(
        path = "/report-schedules/:reportScheduleId",
        method = "patch",
        operation_id = "change_report_schedule"
    )]
    async fn change_report_schedule(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "reportScheduleId")] report_schedule_id: Path<Raw<Id>>,
        body: Body<ScheduleBody>,
    ) -> Result<Data<ScheduleView>, Failure> {
        let id = report_schedule_id.read::<ReportScheduleId>()?;
        let change = |client| body.read()?.change(&web.app.time_zone_of(client));
        let changed = web.app.change_report_schedule(&by.0, id, change).await?;
        Ok(Data::of(&ScheduleView::of(&web, changed)))
    }

    /// Remove a report schedule
    ///
    /// A message that is being sent may still arrive.
    #[oai(
        path = "/report-schedules/:reportScheduleId",
        method = "delete",
        operation_id = "remove_report_schedule"
    )]
    async fn remove_report_schedule(
        &self,
        web: Held<&Arc<Web>>,
        by: By<Administer>,
        #[oai(name = "reportScheduleId")] report_schedule_id: Path<Raw<Id>>,
    ) -> Result<Gone, Failure> {
        web.app.remove_report_schedule(&by.0, report_schedule_id.read()?).await?;
        Ok(Gone)
    }

    /// Send a scheduled report now
    ///
    /// It is sent in the background, within seconds, to all recipients of the schedule; a message that is tried again is
    /// tried now. The next due time stays. `last` says what became of it.
    #[oai(
        path = "/report-schedules/:reportScheduleId/send",
        method = "post",
        operation_id = "send_report_schedule"
    )]
    async fn send_report_schedule(
        &self,
        web: Held<&Arc<Web>>,
        by: By<SendReport>,
        #[oai(name = "reportScheduleId")] report_schedule_id: Path<Raw<Id>>,
    ) -> Result<Data<ScheduleView>, Failure> {
        let due = web.app.hasten_report_schedule(&by.0, report_schedule_id.read()?).await?;
        Ok(Data::of(&ScheduleView::of(&web, due)))
    }
}
