//! What people at the MSP decide about a client: tasks, attestations, acceptances, what is out of scope.

use super::person;
use super::portfolio::DemoClient;
use super::story::Story;
use super::view::Gap;
use crate::app::App;
use crate::app::assessment::evidence::NewEvidence;
use crate::app::decision::Said;
use crate::app::decision::control::NewAttestation;
use crate::app::decision::estate::NewWhole;
use crate::app::decision::evidence::Entered;
use crate::app::decision::risk::{NewAcceptance, RiskChange};
use crate::app::decision::task::{NewTask, TITLE_CHARS_MAX, TaskChange};
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::engine::ControlPart;
use crate::engine::catalog::{Catalog, Control};
use crate::engine::estate::EstateKind;
use crate::engine::fact::Status;
use crate::engine::severity::Severity;
use crate::error::Result;
use crate::id::EvidenceId;
use crate::store::global::task::{Task, TaskStatus};
use crate::store::per_client::posture::OpenRisk;
use crate::store::{ClientSnapshot, ClientStore};

/// How many controls a model client attests.
const N_ATTESTED: usize = 12;
/// Out of this many weeks, one brings a new task, and one a task that is done.
const TASK_WEEKS: u64 = 8;
const DONE_WEEKS: u64 = 10;
const TASK_DAYS: i64 = 21;
/// By then every source of a client was read.
const ESTATE_WEEK: u64 = 3;
/// More are asked for than there ever are.
const N_TASKS: u32 = 100;
/// Risks that a client lives with, and why.
const ACCEPTED: [&str; 4] = [
    "The imaging workstation is replaced in spring. Until then it is in a network of its own.",
    "The vendor fixes this with the next release. The board accepted it on the adviser's advice.",
    "The cost is out of proportion for a site that closes this year.",
    "Covered by the cyber policy; the insurer knows about it.",
];
/// Controls that do not apply to some clients, and why.
const OUT_OF_SCOPE: [(&str, &str); 4] = [
    ("NET-19", "The client has no telephones on its network."),
    ("PRV-16", "The client does no research."),
    ("PRV-17", "The client does no direct marketing."),
    ("PHY-07", "No equipment leaves the building."),
];

/// The desk of one client at one time.
pub(super) struct Desk<'a> {
    pub(super) app: &'a App,
    pub(super) catalog: &'a Catalog,
    pub(super) by: &'a Caller,
    pub(super) rows: &'a ClientStore,
    pub(super) client: &'static DemoClient,
    /// Indices of the controls that only a person can decide.
    pub(super) controls: &'a [usize],
    pub(super) week: u64,
    pub(super) at: Time,
}

impl Desk<'_> {
    /// Does what a week brings. What was done before an interruption is not done again.
    pub(super) async fn work(&self) -> Result<()> {
        if self.is_week("scope", 4, 3) {
            self.scope_out().await?;
        }
        if self.client.story == Story::Model && self.week == 2 {
            self.attest_all().await?;
        }
        if self.week == ESTATE_WEEK && self.client.chance("estate", 3) != 0 {
            self.say_whole().await?;
        }
        if self.is_week("attest", 3, 8) {
            self.attest_one().await?;
        }
        if self.client.chance(&format!("task/{}", self.week), TASK_WEEKS) == 0 {
            self.open_task().await?;
        }
        if self.client.chance(&format!("done/{}", self.week), DONE_WEEKS) == 0 {
            self.complete_task().await?;
        }
        if self.is_week("accept", 3, 10) {
            self.accept_risk().await?;
        }
        Ok(())
    }

    /// Returns true at one of `of` clients, in one week from `first` on.
    fn is_week(&self, what: &str, of: u64, first: u64) -> bool {
        let is_chosen = self.client.chance(what, of) == 0;
        is_chosen && self.week == first + self.client.chance(&format!("{what}/week"), 12)
    }

    fn pick<'t, T>(&self, what: &str, from: &'t [T]) -> &'t T {
        let index = usize::try_from(self.client.chance(what, from.len() as u64)).unwrap_or(0);
        &from[index]
    }

    fn attestation(&self, reason: &str, evidence_id: Option<EvidenceId>) -> NewAttestation {
        NewAttestation {
            part: ControlPart::default(),
            status: Status::Compliant,
            reason: reason.to_owned(),
            evidence: None,
            evidence_id,
            until: Some(self.at.plus_days(330)),
            overrides: false,
            by: self.by.author(person::ADVISER.to_owned()),
        }
    }

    async fn attest(&self, control: &Control, reason: &str, overrides: bool) -> Result<()> {
        let evidence = NewEvidence {
            control: control.code.clone(),
            title: format!("{}: signed record", control.title),
            reference: format!("dms://{}/signed/{}", self.client.short(), control.code),
            sha256: None,
            valid_until: Some(self.at.plus_days(340)),
            by: person::ADVISER.to_owned(),
        };
        let (Entered::Added(evidence) | Entered::Renewed(evidence)) =
            self.app.add_evidence(self.rows, evidence).await?;
        let new =
            NewAttestation { overrides, ..self.attestation(reason, Some(evidence.evidence.id)) };
        self.app.attest_control(self.rows, &control.code, new).await
    }

    fn stated(&self) -> impl Iterator<Item = &Control> {
        let all = self.controls.iter().map(|it| &self.catalog.controls[*it]);
        all.filter(|it| !it.is_automatic())
    }

    async fn attest_all(&self) -> Result<()> {
        let reason = "Went through the documents with the client's management.";
        for control in self.stated().take(N_ATTESTED) {
            self.attest(control, reason, false).await?;
        }
        Ok(())
    }

    /// The client's management went through the lists of what there is.
    async fn say_whole(&self) -> Result<()> {
        for kind in [EstateKind::CloudAccounts, EstateKind::Computers, EstateKind::Servers] {
            let new = NewWhole {
                reason: "Went through the list with the client's management.".to_owned(),
                until: None,
                by: self.by.author(person::ADVISER.to_owned()),
            };
            self.app.say_whole(self.rows, kind, new).await?;
        }
        Ok(())
    }

    /// What the last visit found is in order now: a person says so before the next one.
    async fn attest_one(&self) -> Result<()> {
        let is_open =
            |it: &&Control| Gap::of(self.client, it, self.week).is_some_and(|it| it.failing < 500);
        let Some(control) = self.stated().find(is_open) else { return Ok(()) };
        let reason = "Closed after the last review; the signed document is on file.";
        self.attest(control, reason, true).await
    }

    async fn scope_out(&self) -> Result<()> {
        let (code, reason) = *self.pick("scope/which", &OUT_OF_SCOPE);
        let new = NewAttestation {
            status: Status::NotApplicable,
            until: None,
            ..self.attestation(reason, None)
        };
        self.app.attest_control(self.rows, code, new).await
    }

    async fn risks(&self) -> Result<Vec<OpenRisk>> {
        let mut risks = self.rows.read(ClientSnapshot::list_risks).await?;
        risks.retain(|it| it.closed.is_none());
        risks.sort_by_key(|it| (std::cmp::Reverse(it.risk.score), it.id));
        Ok(risks)
    }

    async fn tasks(&self) -> Result<Vec<Task>> {
        let client = Some(self.rows.id());
        self.app.list_tasks(self.by, client, Vec::new(), None, None, N_TASKS).await
    }

    async fn open_task(&self) -> Result<()> {
        let tasks = self.tasks().await?;
        if tasks.iter().any(|it| it.created_at == self.at) {
            return Ok(());
        }
        let risks = self.risks().await?;
        let is_free =
            |it: &&OpenRisk| !it.is_accepted() && tasks.iter().all(|task| task.risk != Some(it.id));
        let Some(risk) = risks.iter().find(is_free) else { return Ok(()) };
        let control = risk.risk.control_code().map(str::to_owned);
        let known = control.as_ref().and_then(|it| self.catalog.find_control(it));
        let step = known.map_or(risk.risk.title.as_str(), |it| {
            first_sentence(&self.catalog.controls[it].remediation)
        });
        let assignee =
            self.pick(&format!("assignee/{}", self.week), &[person::ENGINEER, person::ADVISER]);
        let new = NewTask {
            client: self.rows.id(),
            title: Some(step.chars().take(TITLE_CHARS_MAX).collect()),
            description: Some(risk.risk.description.clone()),
            risk: Some(risk.id),
            control,
            assignee: Some((*assignee).to_owned()),
            due_at: Some(self.at.plus_days(TASK_DAYS)),
            references: Vec::new(),
        };
        self.app.add_task(self.by, new).await.map(|_| ())
    }

    async fn complete_task(&self) -> Result<()> {
        let tasks = self.tasks().await?;
        if tasks.iter().any(|it| it.completed_at == Some(self.at)) {
            return Ok(());
        }
        let Some(task) = tasks.iter().find(|it| it.status.is_open()) else { return Ok(()) };
        let change = TaskChange { status: Some(TaskStatus::Done), ..TaskChange::default() };
        self.app.change_task(self.by, task.id, |_| Ok(change)).await.map(|_| ())
    }

    async fn accept_risk(&self) -> Result<()> {
        let risks = self.risks().await?;
        let is_done =
            |it: &OpenRisk| it.accepted.as_ref().is_some_and(|accepted| accepted.at == self.at);
        if risks.iter().any(is_done) {
            return Ok(());
        }
        let is_bearable = |it: &&OpenRisk| it.risk.severity < Severity::High && !it.is_accepted();
        let Some(risk) = risks.iter().find(is_bearable) else { return Ok(()) };
        let new = NewAcceptance {
            until: self.at.plus_days(365),
            reason: (*self.pick("accept/why", &ACCEPTED)).to_owned(),
            by: self.by.author(person::ADVISER.to_owned()),
        };
        let (client, id) = (self.rows.id(), risk.id);
        let change = RiskChange { acceptance: Some(Said::Stated(new)), references: None };
        self.app.change_risk(self.by, client, id, || Ok(change)).await.map(|_| ())
    }
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text.trim_end_matches('.'), |end| &text[..end])
}
