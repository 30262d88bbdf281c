//! The history of a client's verdicts: from when to when each was what, on what it rested, and why it changed.

use std::collections::BTreeMap;

use super::verdict::{CONTROLS, WHOLE};
use crate::clock::Time;
use crate::engine::catalog::{Catalog, Control};
use crate::engine::framework::{Framework, FrameworkId, FrameworkRow};
use crate::error::Result;
use crate::store::ClientSnapshot;
use crate::store::per_client::history::verdict::{ChangePoint, ChangePointId, Verdict};

/// A time in which a verdict was the same.
#[derive(Clone, Debug)]
pub struct VerdictSpan {
    pub id: ChangePointId,
    pub verdict: Verdict,
    /// The change with which it began. `None`: before what is kept.
    pub began: Option<ChangePoint>,
    /// `None`: it is so now.
    pub ended_at: Option<Time>,
}

/// What a client's score and frameworks came to at the end of a UTC day.
#[derive(Clone, Debug)]
pub struct DayFigures {
    /// Days since 1970-01-01.
    pub day: u32,
    /// `None`: there was none to show.
    pub score: Option<u8>,
    /// Empty: before the history of verdicts began.
    pub frameworks: Vec<FrameworkFigures>,
}

#[derive(Clone, Copy, Debug)]
pub struct FrameworkFigures {
    pub id: FrameworkId,
    pub readiness: u8,
    pub sprs: Option<i16>,
}

/// What a history is of.
pub struct HistorySubject {
    group: String,
    /// The name that it has now, and earlier ones.
    names: Vec<String>,
}

impl HistorySubject {
    #[must_use]
    pub fn control(control: &Control) -> Self {
        Self { group: CONTROLS.to_owned(), names: all_names(&control.code, &control.formerly) }
    }

    #[must_use]
    pub fn row(framework: &Framework, row: &FrameworkRow) -> Self {
        let group = framework.id.as_str().to_owned();
        Self { group, names: all_names(&row.reference, &row.formerly) }
    }

    fn whole(group: &str) -> Self {
        Self { group: group.to_owned(), names: vec![WHOLE.to_owned()] }
    }

    /// What it became with each change of it, newest first.
    fn changes(&self, rows: &ClientSnapshot) -> Result<Vec<(ChangePointId, Verdict)>> {
        let mut positions = BTreeMap::new();
        for outline in rows.list_outlines(&self.group)? {
            let find = |name: &String| outline.names.iter().position(|it| it == name);
            positions.extend(self.names.iter().find_map(find).map(|it| (outline.digest, it)));
        }
        rows.list_changes_of_verdict(&self.group, &positions)
    }
}

fn all_names(name: &str, formerly: &[String]) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(formerly.iter().cloned()).collect()
}

/// Up to `limit` spans, newest first, from before one.
pub fn list(
    rows: &ClientSnapshot,
    subject: &HistorySubject,
    before: Option<ChangePointId>,
    limit: usize,
) -> Result<Vec<VerdictSpan>> {
    let changes = subject.changes(rows)?;
    let older = changes.iter().skip(1).map(|(_, it)| Some(it)).chain([None]);
    let begins = changes.iter().zip(older).filter(|((_, it), older)| Some(it) != *older);
    let all: Vec<(ChangePointId, &Verdict)> = begins.map(|((id, it), _)| (*id, it)).collect();
    let first = before.map_or(0, |before| all.partition_point(|(id, _)| before <= *id));
    let newer = first.checked_sub(1).map(|it| rows.find_change_point(all[it].0)).transpose()?;
    let mut ended_at = newer.flatten().map(|it| it.at);
    let mut spans = Vec::new();
    for (id, verdict) in all.into_iter().skip(first).take(limit) {
        let began = rows.find_change_point(id)?;
        let next = began.as_ref().map(|it| it.at);
        spans.push(VerdictSpan { id, verdict: verdict.clone(), began, ended_at });
        ended_at = next;
    }
    Ok(spans)
}

/// The figures of each of the last `limit` days before one, newest first.
pub fn list_days(
    rows: &ClientSnapshot,
    catalog: &Catalog,
    today: u32,
    before: Option<u32>,
    limit: u32,
) -> Result<Vec<DayFigures>> {
    let scores = HistorySubject::whole(CONTROLS).changes(rows)?;
    let frameworks = catalog.frameworks.iter();
    let frameworks = frameworks
        .map(|it| Ok((it.id, HistorySubject::whole(it.id.as_str()).changes(rows)?)))
        .collect::<Result<Vec<_>>>()?;
    let kept = rows.list_days(u32::MAX)?;
    let earlier: BTreeMap<u32, u8> =
        kept.iter().map(|it| (it.calculated_at.day(), it.score.overall)).collect();
    let began = scores.last().map(|(id, _)| id.day());
    let first = began.into_iter().chain(earlier.keys().next().copied()).min();
    let Some(first) = first else { return Ok(Vec::new()) };
    let last = before.map_or(today, |it| it.saturating_sub(1)).min(today);
    let days = (first..=last).rev().take(limit as usize);
    let figures = days.map(|day| DayFigures {
        day,
        score: match at_end_of(&scores, day) {
            Some(it) => it.score,
            None => earlier.range(..=day).next_back().map(|(_, it)| *it),
        },
        frameworks: frameworks
            .iter()
            .filter_map(|(id, changes)| {
                let verdict = at_end_of(changes, day)?;
                let readiness = verdict.score?;
                Some(FrameworkFigures { id: *id, readiness, sprs: verdict.sprs })
            })
            .collect(),
    });
    Ok(figures.collect())
}

/// `changes`: newest first.
fn at_end_of(changes: &[(ChangePointId, Verdict)], day: u32) -> Option<&Verdict> {
    let newest = changes.partition_point(|(id, _)| day < id.day());
    changes.get(newest).map(|(_, it)| it)
}
