//! What a person finds out: the questionnaire that the adviser goes through with each client, with the evidence.

use super::detail;
use super::person;
use super::portfolio::DemoClient;
use super::story::Story;
use super::view::Gap;
use crate::app::assessment::evidence::NewEvidence;
use crate::clock::Time;
use crate::engine::catalog::{Catalog, Control};
use crate::engine::fact::{Observation, Status, Subject, UNNAMED_CHECK, Verdict};
use crate::engine::memory::sparse::SparseMemory;
use crate::id::ImportId;

pub(super) const SOURCE: &str = "quarterly-review";
pub(super) const SCOPE: &str = "organization";
/// The whole questionnaire is gone through every so many weeks. In between, only what moved or is due.
pub(super) const EVERY_WEEKS: u64 = 12;
/// What was not looked at for this long is due with the next visit.
const DUE_DAYS: u16 = 95;
/// From this level on a client can show evidence.
const LEVEL_WITH_EVIDENCE: u64 = 74;
/// Out of how many controls one has evidence in the register.
const ONE_IN: u64 = 5;

/// Controls that are counted by person.
const BY_PERSON: [&str; 6] = ["GOV-01", "GOV-08", "GOV-20", "GOV-21", "GOV-38", "ID-20"];

/// The visit of a week.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    pub(super) week: u64,
    /// How many weeks ago the last visit was. `None`: this is the first one.
    pub(super) before: Option<u64>,
    pub(super) is_whole: bool,
    pub(super) at: Time,
}

/// What the visit reports of these controls.
pub(super) fn observe(
    client: &DemoClient,
    (catalog, controls): (&Catalog, &[usize]),
    visit: Visit,
    import: ImportId,
) -> Vec<Observation> {
    let all = controls.iter().map(|it| &catalog.controls[*it]);
    let is_due = |control: &&Control| {
        let before = visit.before.map(|it| Gap::of(client, control, visit.week - it));
        let has_moved = before != Some(Gap::of(client, control, visit.week));
        visit.is_whole || control.max_age_days <= DUE_DAYS || has_moved
    };
    let of = |control: &Control| {
        let gap = Gap::of(client, control, visit.week);
        let detail = gap.and_then(|it| detail::of(client, &control.code, it.status(), ""));
        let findings =
            detail.or_else(|| gap.map(|_| format!("Seen at the visit: {}.", control.gap)));
        Observation {
            subject: Subject::Control(control.code.clone()),
            source: SOURCE.to_owned(),
            scope: SCOPE.to_owned(),
            check: UNNAMED_CHECK.to_owned(),
            observed_at: visit.at,
            valid_until: None,
            import,
            verdict: verdict(client, control, gap),
            accepted: 0,
            severity: control.severity,
            title: control.title.clone(),
            findings,
            remediation: None,
            failing: Vec::new(),
            memory: SparseMemory::default(),
            facets: Vec::new(),
            platform: None,
        }
    };
    all.filter(is_due).map(of).collect()
}

fn verdict(client: &DemoClient, control: &Control, gap: Option<Gap>) -> Verdict {
    if BY_PERSON.contains(&control.code.as_str()) {
        let failed = gap.map_or(0, |it| it.count(client.employees as usize));
        let failed = u32::try_from(failed).unwrap_or(0);
        return Verdict::Counted { passed: client.employees - failed, failed };
    }
    Verdict::Stated(gap.map_or(Status::Compliant, Gap::status))
}

/// The evidence that the client shows for what it meets.
pub(super) fn evidence(
    client: &DemoClient,
    (catalog, controls): (&Catalog, &[usize]),
    visit: Visit,
) -> Vec<NewEvidence> {
    let is_shown = |control: &&Control| {
        let has_any = LEVEL_WITH_EVIDENCE <= client.story.level(visit.week);
        let is_chosen = client.story == Story::Model
            || client.chance(&control.code, 1_009).is_multiple_of(ONE_IN);
        has_any
            && visit.is_whole
            && is_chosen
            && !control.is_automatic()
            && Gap::of(client, control, visit.week).is_none()
    };
    let of = |control: &Control| {
        // Some documents are valid for a few months only.
        let days = if client.chance(&control.code, 7) == 0 { 95 } else { 365 };
        NewEvidence {
            control: control.code.clone(),
            title: format!("{}: record for {}", control.title, client.name),
            reference: format!("dms://{}/{}", client.short(), control.code.to_lowercase()),
            sha256: None,
            valid_until: Some(visit.at.plus_days(days)),
            by: person::ADVISER.to_owned(),
        }
    };
    controls.iter().map(|it| &catalog.controls[*it]).filter(is_shown).map(of).collect()
}
