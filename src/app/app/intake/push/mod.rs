//! The facts body, which a connector or integrator sends about a client. All of it is checked before any of it is
//! stored.

mod body;
mod counted;
mod field;
mod listed;

use std::collections::{BTreeMap, HashSet};

use sha2::{Digest, Sha256};

pub use self::body::FactsBody;
use self::body::SyncBody;
use self::field::{bad, optional, text, time};
use self::listed::{apps, assets, identities};
use crate::app::App;
use crate::app::assessment::evidence::{NewEvidence, TITLE_CHARS_MAX};
use crate::app::assessment::statement::REFERENCE_CHARS_MAX;
use crate::app::input::require_future;
use crate::app::intake::file::{Imported, find_known};
use crate::app::intake::limit::{
    N_RUN_APPS_MAX, N_RUN_ASSETS_MAX, N_RUN_EVIDENCE_MAX, N_RUN_IDENTITIES_MAX,
    N_RUN_OBSERVATIONS_MAX, N_RUN_SUBJECTS_MAX, require_run,
};
use crate::app::intake::list::{Lists, Shrinking};
use crate::app::intake::run::{Idempotent, Intake, IntakeOutcome, NewRun};
use crate::app::intake::source::Run;
use crate::clock::Time;
use crate::engine::catalog::{Catalog, Control};
use crate::engine::fact::{DERIVED_CHECK, FINDINGS_CHARS_MAX, Observation, Subject, Verdict};
use crate::engine::memory::sparse::SparseMemory;
use crate::engine::severity::Severity;
use crate::error::{Detail, Error, Result};
use crate::id::{ClientId, ImportId};
use crate::import::fold::Folded;
use crate::import::fold::outcome::SubjectOutcomes;
use crate::store::ClientStore;
use crate::store::per_client::import::{Dating, ImportAge};

/// A larger body is refused.
pub const FACTS_BYTES_MAX: u64 = 16 * 1024 * 1024;
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 200;
/// How long an answer is kept for the same `Idempotency-Key`.
pub const ANSWER_HOURS: i64 = 24;
/// `validUntil` is at most so many times the maximum age of the control after the observation, and at most so many days.
const AGES_MAX: i64 = 4;
const DAYS_MAX: i64 = 400;
const LABEL_CHARS_MAX: usize = 200;
/// How far ahead a source's clock may be.
const AHEAD_S_MAX: i64 = 300;

/// A request that may be sent twice.
#[derive(Clone, Debug)]
pub struct Once {
    /// The caller and its `Idempotency-Key`.
    pub key: String,
    /// Makes the answer that is stored under it.
    pub render: fn(&IntakeOutcome) -> String,
}

/// Facts and who sends them.
#[derive(Clone, Debug)]
pub struct Push {
    pub body: FactsBody,
    /// The name of the file where it came from. It may be empty.
    pub file_name: String,
    /// The digest of the bytes as they were received.
    pub digest: [u8; 32],
    /// The sender's name for the record of the run.
    pub by: String,
    pub once: Option<Once>,
    /// It is a file: what only people may say is skipped, and not refused.
    pub is_file: bool,
}

/// Facts that were checked as a whole and can be ingested.
#[derive(Clone, Debug)]
pub struct CheckedPush(Box<Intake>);

/// The result of a push.
#[derive(Clone, Debug)]
pub enum FactsPush {
    Taken(Box<IntakeOutcome>),
    /// The same request came before with the same key. This was its answer.
    Replayed(String),
}

impl App {
    /// Checks facts about a client. It takes as long as there are many of them: run it on a thread that may block.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule.
    pub fn check_push(&self, client: ClientId, push: Push) -> Result<CheckedPush> {
        let idempotent = push.once.as_ref().map(|it| Idempotent {
            key: Sha256::digest(it.key.as_bytes()).into(),
            digest: digest_of(client, &push.digest),
            render: it.render,
        });
        let reader = FactsReader { catalog: &self.catalog(), now: self.clock.now() };
        reader.intake(push, idempotent).map(|it| CheckedPush(Box::new(it)))
    }

    /// Imports a file of facts, unless the same bytes were imported before; `again` imports them anyway. The same file
    /// sent twice at once is imported once.
    ///
    /// # Errors
    /// Those of [`App::ingest`].
    pub async fn import_facts(
        &self,
        rows: &ClientStore,
        CheckedPush(intake): CheckedPush,
        again: bool,
    ) -> Result<Imported> {
        let digest = intake.import.digest;
        let lock = self.clients.lock(rows.id()).await;
        let known = rows.read(move |snapshot| find_known(snapshot, &digest)).await?;
        if let Some(known) = known.filter(|_| !again) {
            self.intakes.count_known_file();
            return Ok(Imported::Known(Box::new(known)));
        }
        let outcome = self.ingest_locked(rows, *intake, &lock).await?;
        self.intakes.count_file();
        Ok(Imported::Changed(Box::new(outcome)))
    }

    /// Ingests what a source reports about a client: all of it or nothing.
    ///
    /// # Errors
    /// `Conflict` if the key was used with another body; those of [`App::ingest`].
    pub async fn push_facts(
        &self,
        rows: &ClientStore,
        CheckedPush(intake): CheckedPush,
    ) -> Result<FactsPush> {
        let now = self.clock.now();
        let lock = self.clients.lock(rows.id()).await;
        if let Some(it) = intake.idempotent.clone() {
            let known = self.store.read(move |snapshot| snapshot.find_answer(&it.key)).await?;
            let is_kept = |at: Time| now < at.plus_s(ANSWER_HOURS * 3_600);
            match known.filter(|it| is_kept(it.at)) {
                Some(known) if known.digest == it.digest => {
                    return Ok(FactsPush::Replayed(known.body));
                }
                Some(_) => {
                    return Err(Error::conflict(
                        "this Idempotency-Key was used with another body; use a new key",
                    ));
                }
                None => (),
            }
        }
        let outcome = self.ingest_locked(rows, *intake, &lock).await?;
        Ok(FactsPush::Taken(Box::new(outcome)))
    }
}

fn digest_of(client: ClientId, body: &[u8; 32]) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(client.as_bytes());
    digest.update(body);
    digest.finalize().into()
}

/// Turns a body into an intake.
struct FactsReader<'a> {
    catalog: &'a Catalog,
    now: Time,
}

impl FactsReader<'_> {
    fn intake(&self, push: Push, idempotent: Option<Idempotent>) -> Result<Intake> {
        let Push { body, file_name, digest, by, is_file, .. } = push;
        let source = text("source", &body.source, LABEL_CHARS_MAX)?;
        if LABEL_CHARS_MAX < body.scope.chars().count() {
            return bad("scope", format!("must be at most {LABEL_CHARS_MAX} characters"));
        }
        require_sizes(&body)?;
        let (at, age) = self.observed_at(&body)?;
        let id = ImportId::random();
        let ReadObservations { observations, outcomes, claims, n_adjusted } =
            self.read_observations(&body, (&source, id), at, is_file)?;
        let identities = body.identities.as_ref().map(|it| identities(it)).transpose()?;
        let apps = body.apps.as_ref().map(|it| apps(it)).transpose()?;
        let assets = assets(&body)?;
        let evidence = self.evidence(&body, &by)?;
        let ids = body.assets.is_some();
        let ids = ids.then(|| assets.iter().map(|it| it.external_id.clone()).collect());
        let n_rows = observations.len()
            + assets.len()
            + evidence.len()
            + identities.as_ref().map_or(0, Vec::len)
            + apps.as_ref().map_or(0, Vec::len);
        let run = run(&body)?;
        let observed = (!observations.is_empty()).then_some(at);
        let new = NewRun {
            id,
            name: file_name,
            format: "facts".to_owned(),
            digest,
            source,
            by,
            at: self.now,
        };
        let folded = Folded {
            scans: Vec::new(),
            leavers: Vec::new(),
            observations,
            outcomes,
            assets,
            silent: Vec::new(),
            skipped: skipped(claims.len()),
            n_records: n_rows as u64,
            scopes: vec![body.scope.clone()],
            observed_from: observed,
            observed_to: observed,
            file_observed_at: age.file_observed_at,
        };
        let mut intake = Intake::of(new, folded);
        intake.import.complete = body.complete && body.observations.is_some();
        let shrinking = Shrinking::confirmed_if(body.confirm_shrink);
        Ok(Intake {
            age,
            n_adjusted,
            evidence,
            seen_at: at,
            run,
            shrinking,
            lists: Some(Lists {
                scope: body.scope,
                at,
                complete: body.complete,
                shrinking,
                identities,
                apps,
                assets: ids,
                leavers: None,
            }),
            idempotent,
            ..intake
        })
    }

    /// The time of the observations, and who said it.
    fn observed_at(&self, body: &FactsBody) -> Result<(Time, ImportAge)> {
        let said = body.observed_at.as_ref().map(|it| time("observedAt", it)).transpose();
        if body.is_declared_current {
            // What counts is not what the body says, right or wrong.
            let file_observed_at = said.ok().flatten();
            let age = ImportAge { dating: Dating::Now, file_observed_at, ..ImportAge::default() };
            return Ok((self.now, age));
        }
        let said = said?;
        if said.is_some_and(|it| self.now.plus_s(AHEAD_S_MAX) < it) {
            return bad("observedAt", "must not be in the future");
        }
        let at = said.map_or(self.now, |it| it.min(self.now));
        Ok((at, ImportAge { file_observed_at: said, ..ImportAge::default() }))
    }

    fn evidence(&self, body: &FactsBody, by: &str) -> Result<Vec<NewEvidence>> {
        let mut keys = HashSet::new();
        let mut all = Vec::new();
        for (index, it) in body.evidence.iter().flatten().enumerate() {
            let field = |name: &str| format!("evidence[{index}].{name}");
            if self.catalog.controls_named(&it.control).is_empty() {
                return bad(field("control"), format!("unknown control {:?}", it.control));
            }
            let control = self.catalog.current_code(&it.control);
            if !keys.insert((control, &it.reference)) {
                return bad(field("reference"), "is a duplicate for this control");
            }
            let valid_until = it.valid_until.as_ref().map(|it| {
                let (field, end) = (field("validUntil"), time(&field("validUntil"), it)?);
                require_future(&field, end, self.now).map(|()| end)
            });
            let sha256 = it.sha256.as_ref().map(|it| {
                let rule =
                    || Error::invalid_field(field("sha256"), "must be 64 hexadecimal digits");
                crate::app::assessment::evidence::digest(it).ok_or_else(rule)
            });
            all.push(NewEvidence {
                control: control.to_owned(),
                title: text(&field("title"), &it.title, TITLE_CHARS_MAX)?,
                reference: text(&field("reference"), &it.reference, REFERENCE_CHARS_MAX)?,
                sha256: sha256.transpose()?,
                valid_until: valid_until.transpose()?,
                by: by.to_owned(),
            });
        }
        Ok(all)
    }

    fn read_observations(
        &self,
        body: &FactsBody,
        origin: (&str, ImportId),
        at: Time,
        is_file: bool,
    ) -> Result<ReadObservations> {
        let mut read = ReadObservations::default();
        self.observations(body, origin, at, &mut read)?;
        read.require_by_people(is_file).map(|()| read)
    }

    fn observations(
        &self,
        body: &FactsBody,
        (source, import): (&str, ImportId),
        at: Time,
        read: &mut ReadObservations,
    ) -> Result<()> {
        let mut keys = HashSet::new();
        for (index, it) in body.observations.iter().flatten().enumerate() {
            let field = |name: &str| format!("observations[{index}].{name}");
            let Some(control) = self.catalog.controls_named(&it.control).first().copied() else {
                return bad(field("control"), format!("unknown control {:?}", it.control));
            };
            let control = &self.catalog.controls[control];
            if !control.is_automatic() {
                read.claims.push((field("control"), control.code.clone()));
                continue;
            }
            let (facets, platform, check) = counted::part(control, it, &field)?;
            let check = text(&field("check"), &check, LABEL_CHARS_MAX)?;
            if check == DERIVED_CHECK {
                return bad(
                    field("check"),
                    "`identities` is reserved for what lists of accounts show; use another name",
                );
            }
            if !keys.insert((&it.control, check.clone())) {
                return bad(field("check"), "is a duplicate for this control");
            }
            let valid_until = it.valid_until.as_ref();
            let valid_until = valid_until.map(|it| time(&field("validUntil"), it)).transpose()?;
            if valid_until.is_some_and(|it| it <= at) {
                return bad(field("validUntil"), "must be after observedAt");
            }
            let latest = at.plus_days(ends_within_days(control));
            read.n_adjusted += u32::from(valid_until.is_some_and(|it| latest < it));
            let valid_until = valid_until.map(|it| it.min(latest));
            let mut observation = Observation {
                subject: Subject::Control(it.control.clone()),
                source: source.to_owned(),
                scope: body.scope.clone(),
                check,
                observed_at: at,
                valid_until,
                import,
                verdict: Verdict::Gone,
                accepted: 0,
                severity: Severity::Medium,
                title: control.title.clone(),
                findings: it
                    .findings
                    .as_ref()
                    .map(|it| text(&field("findings"), it, FINDINGS_CHARS_MAX))
                    .transpose()?,
                remediation: None,
                failing: Vec::new(),
                memory: SparseMemory::default(),
                facets,
                platform,
            };
            counted::tell(&mut observation, body, it, &mut read.outcomes, &field)?;
            read.observations.push(observation);
        }
        Ok(())
    }
}

/// What the observations of a body come to.
#[derive(Default)]
struct ReadObservations {
    observations: Vec<Observation>,
    outcomes: SubjectOutcomes,
    /// Those about controls that only people can speak of: the field, and the code of the control.
    claims: Vec<(String, String)>,
    /// How many of them end earlier than they say.
    n_adjusted: u32,
}

impl ReadObservations {
    /// # Errors
    /// `Invalid` with all fields that only people may fill, unless it is a file, of which they are skipped.
    fn require_by_people(&self, is_file: bool) -> Result<()> {
        let Some((field, code)) = self.claims.first().filter(|_| !is_file) else { return Ok(()) };
        let rule = |code: &str| {
            format!(
                "{code} is about what people do, so that only people can say it: attest the control"
            )
        };
        let mut error = Error::invalid_field(field, rule(code));
        let more = self.claims.iter().skip(1);
        error
            .details
            .extend(more.map(|(field, code)| Detail { field: field.clone(), message: rule(code) }));
        Err(error)
    }
}

/// What a file said that only people may say.
fn skipped(n_claims: usize) -> BTreeMap<String, u32> {
    let reason = "a control that only people can speak of: attest it".to_owned();
    let n = u32::try_from(n_claims).unwrap_or(u32::MAX);
    (n != 0).then_some((reason, n)).into_iter().collect()
}

/// Nothing counts for longer than this after it was seen.
fn ends_within_days(control: &Control) -> i64 {
    (i64::from(control.max_age_days) * AGES_MAX).min(DAYS_MAX)
}

/// Refuses a body with too many entries before any of them is looked at.
fn require_sizes(body: &FactsBody) -> Result<()> {
    let FactsBody { observations, identities, apps, assets, evidence, .. } = body;
    require_run("observations", observations.as_ref().map(Vec::len), N_RUN_OBSERVATIONS_MAX)?;
    let subjects = observations.iter().flatten().filter_map(|it| it.subjects.as_ref());
    let n_subjects = subjects.map(Vec::len).sum();
    require_run("observations[].subjects", Some(n_subjects), N_RUN_SUBJECTS_MAX)?;
    require_run("identities", identities.as_ref().map(Vec::len), N_RUN_IDENTITIES_MAX)?;
    require_run("apps", apps.as_ref().map(Vec::len), N_RUN_APPS_MAX)?;
    require_run("assets", assets.as_ref().map(Vec::len), N_RUN_ASSETS_MAX)?;
    require_run("evidence", evidence.as_ref().map(Vec::len), N_RUN_EVIDENCE_MAX)
}

fn run(body: &FactsBody) -> Result<Run> {
    let Some(SyncBody { status, message }) = &body.sync else {
        return Ok(if body.complete { Run::Completed } else { Run::Quiet });
    };
    let message = optional("sync.message", message.as_ref())?;
    match status.as_str() {
        "completed" => Ok(Run::Completed),
        "partial" => Ok(Run::Degraded { message }),
        "failed" => Ok(Run::Failed { message }),
        _ => bad("sync.status", "must be one of completed, partial, failed"),
    }
}
