//! Lists that a source sends about a client: accounts, apps, assets. They are compared with what it sent before.
//! Absence means gone only in a complete read that is accepted.

mod accounts;
mod anew;
mod leavers;
mod lists_plan;
mod merging;
mod systems;

use std::collections::{BTreeMap, HashSet};

use super::list::{AccountJudge, Lists, Rules};
use super::shrink::ReadKind;
use crate::app::App;
use crate::app::client::settings::Settings;
use crate::app::event::account::{self, AccountOrigin};
use crate::engine::identity::{AppUse, Transition};
use crate::error::{Error, Result};
use crate::id::{ClientId, ImportId};
use crate::store::ClientSnapshot;
use crate::store::per_client::roster::{ListKind, Roster};
pub(in crate::app) use leavers::read as read_leavers;
use lists_plan::ConditionChange;
pub use lists_plan::{Corrections, ListsPlan};
pub(in crate::app) use systems::{ScanJudge, plan as plan_scans, undo as undo_scans};

impl App {
    /// # Errors
    /// `NotFound` when the client is gone.
    pub(in crate::app) fn roster_rules(&self, id: ClientId) -> Result<Rules> {
        let absent = || Error::not_found("client not found");
        let client = self.clients.directory.find(id).ok_or_else(absent)?;
        let settings = Settings::of(&client.settings);
        Ok(Rules {
            dormant_after_days: settings.dormant_after_days(&self.options.settings),
            sanctioned_apps: settings.sanctioned_apps(),
        })
    }
}

/// Plans what the lists change.
pub(in crate::app) fn plan(
    rows: &ClientSnapshot,
    run: (&str, ImportId),
    lists: &Lists,
    judge: &AccountJudge<'_>,
) -> Result<ListsPlan> {
    let (source, rules) = (run.0, judge.rules);
    let mut plan = ListsPlan::default();
    plan.scope.clone_from(&lists.scope);
    if let Some(accounts) = &lists.identities {
        accounts::plan(&mut plan, rows, run, lists, accounts, judge)?;
    }
    if let Some(apps) = &lists.apps {
        plan_apps(&mut plan, rows, source, lists, rules, apps)?;
    }
    if let Some(assets) = &lists.assets {
        let roster = Roster { source, scope: &lists.scope, part: ListKind::Assets };
        let known: Vec<String> = rows.list_members(roster)?;
        let kind = plan.take_reads(rows, roster, assets.len(), lists)?;
        let listed: HashSet<&str> = assets.iter().map(String::as_str).collect();
        let known_set: HashSet<&str> = known.iter().map(String::as_str).collect();
        let is_new = |it: &&String| kind != ReadKind::Late && !known_set.contains(it.as_str());
        plan.assets = assets.iter().filter(is_new).cloned().collect();
        if kind.means_gone() {
            let gone = known.iter().filter(|it| !listed.contains(it.as_str()));
            plan.gone.extend(gone.map(|it| (ListKind::Assets, it.clone())));
        }
        plan.moved.entry(ListKind::Assets).or_default().n_gone = plan.n_gone(ListKind::Assets);
    }
    if let Some(people) = &lists.leavers {
        leavers::plan(&mut plan, rows, run, lists, people, judge)?;
    }
    plan.plan_conditions(rows, judge.now)?;
    Ok(plan)
}

/// Plans what undoing the lists of a run changes.
///
/// `scopes`: those of the run.
pub(in crate::app) fn undo(
    rows: &ClientSnapshot,
    run: (&str, ImportId),
    scopes: &[String],
    judge: &AccountJudge<'_>,
) -> Result<ListsPlan> {
    let mut plan = ListsPlan::default();
    for scope in scopes {
        if accounts::undo(&mut plan, rows, run, scope, judge)? {
            plan.scope.clone_from(scope); // A run has lists of one scope.
            break;
        }
    }
    leavers::undo(&mut plan, rows, run, judge)?;
    plan.plan_conditions(rows, judge.now)?;
    Ok(plan)
}

fn plan_apps(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    source: &str,
    lists: &Lists,
    rules: &Rules,
    apps: &[AppUse],
) -> Result<()> {
    let roster = Roster { source, scope: &lists.scope, part: ListKind::Apps };
    let known: Vec<AppUse> = rows.list_members(roster)?;
    let has_baseline = rows.find_reads(roster)?.is_some();
    let kind = plan.take_reads(rows, roster, apps.len(), lists)?;
    if kind == ReadKind::Late {
        return Ok(());
    }
    let mut known: BTreeMap<&str, &AppUse> =
        known.iter().map(|it| (it.name.as_str(), it)).collect();
    for app in apps {
        let before = known.remove(app.name.as_str());
        let is_known = rules.sanctioned_apps.contains(&app.name.to_lowercase());
        let is_shadow = 0 < app.n_users && app.is_sanctioned != Some(true) && !is_known;
        let to = if is_shadow { Transition::Open } else { Transition::Close };
        plan.changes.push(app_change((source, lists), app, to, has_baseline || before.is_some()));
        if before != Some(app) {
            plan.count(ListKind::Apps, before.is_none());
            plan.apps.push(app.clone());
        }
    }
    if kind.means_gone() {
        for (name, app) in known {
            plan.changes.push(app_change((source, lists), app, Transition::Close, true));
            plan.gone.push((ListKind::Apps, name.to_owned()));
        }
    }
    plan.moved.entry(ListKind::Apps).or_default().n_gone = plan.n_gone(ListKind::Apps);
    Ok(())
}

fn app_change(
    (source, lists): (&str, &Lists),
    app: &AppUse,
    to: Transition,
    is_announced: bool,
) -> ConditionChange {
    let event = account::shadow_it(app, AccountOrigin { source, scope: &lists.scope }, lists.at);
    ConditionChange { event, to, is_announced }
}
