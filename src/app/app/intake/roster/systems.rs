//! Scans of systems for vulnerabilities: what a run adds to what is known, and what that shows about controls.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use super::lists_plan::ListsPlan;
use crate::app::assessment::estate::since;
use crate::app::intake::derived;
use crate::app::intake::limit::require_vulnerabilities;
use crate::clock::Time;
use crate::engine::asset::{Asset, AssetStatus, AssetType};
use crate::engine::catalog::Catalog;
use crate::engine::fact::{
    ControlVerdict, N_FAILING_MAX, Observation, Subject, Verdict, failing_line, subject_hash,
};
use crate::engine::memory::{Memory, N_NAMES_MAX, NamedSubject};
use crate::engine::severity::Severity;
use crate::engine::vulnerability::{
    self, CRITICAL_DAYS, Exploited, HIGH_DAYS, SCAN_DAYS, SystemScan, SystemSummary,
};
use crate::error::Result;
use crate::id::{AssetId, ImportId};
use crate::store::ClientSnapshot;
use crate::store::per_client::fact::ObservationKey;
use crate::store::per_client::scan::{ScanKey, StoredScan};

/// The source of what the scans of all tools together show.
const VULNERABILITY_SOURCE: &str = "vulnerabilities";
const CHECK: &str = "vulnerabilities";
/// How many scans of a system by a source are kept: the newest, and those that count again once it is undone.
const N_SCANS_KEPT: usize = 3;
/// The scans of a system are removed once the newest is so old.
const SCANS_KEPT_DAYS: i64 = 365;
/// How many assets are in memory at once.
const N_ASSETS_AT_ONCE: usize = 500;

/// What scans are judged by.
#[derive(Clone, Copy, Debug)]
pub(in crate::app) struct ScanJudge<'a> {
    pub catalog: &'a Catalog,
    pub exploited: &'a Exploited,
    /// For how many days a system is new, so that nobody is expected to scan it.
    pub new_days: u16,
    pub now: Time,
}

/// What is known of all systems.
#[derive(Default)]
struct Known {
    /// By system.
    summaries: BTreeMap<String, SystemSummary>,
    /// By system: hashes of the identifiers that sources use for it.
    subjects: HashMap<String, Vec<u64>>,
    /// The newest scan.
    newest: Option<(Time, ImportId)>,
    n_found: usize,
}

impl Known {
    fn add(&mut self, it: &StoredScan, judge: &ScanJudge<'_>) {
        let at = (it.scan.at, it.import);
        self.newest = self.newest.max(Some(at));
        self.n_found += it.scan.found.len();
        if it.scan.is_outdated(judge.now) {
            return;
        }
        let (system, summary) = (it.scan.system.clone(), it.scan.summary(judge.exploited));
        self.subjects.entry(system.clone()).or_default().push(subject_hash(&it.scan.external_id));
        let all = self.summaries.entry(system).or_insert(summary);
        *all = all.and(summary);
    }
}

/// Plans what the scans of a run change.
pub(in crate::app) fn plan(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    (source, import): (&str, ImportId),
    scans: &[SystemScan],
    judge: &ScanJudge<'_>,
) -> Result<()> {
    if scans.is_empty() {
        return Ok(());
    }
    // One system may have several identifiers.
    let mut by_system: BTreeMap<&str, SystemScan> = BTreeMap::new();
    for scan in scans {
        let merged = match by_system.remove(scan.system.as_str()) {
            Some(known) => known.and(scan),
            None => scan.clone(),
        };
        by_system.insert(&scan.system, merged);
    }
    let (mut stored, mut newest) = (Vec::new(), BTreeSet::new());
    for scan in by_system.into_values() {
        let known = rows.list_scans(&scan.system, source)?;
        let before = known.iter().find(|it| it.scan.at <= scan.at);
        let scan = scan.over(before.map(|it| &it.scan));
        let n_newer = known.iter().take_while(|it| scan.at < it.scan.at).count();
        if N_SCANS_KEPT <= n_newer {
            continue;
        }
        let n_older_kept = N_SCANS_KEPT - 1 - n_newer;
        let outdated = known.iter().skip(n_newer + n_older_kept);
        plan.forgotten_scans.extend(outdated.map(ScanKey::from));
        if n_newer == 0 {
            newest.insert(scan.system.clone());
        }
        stored.push(StoredScan { source: source.to_owned(), import, scan });
    }
    let new = stored.iter().filter(|it| newest.contains(&it.scan.system));
    let new = new.map(|it| (it.scan.system.as_str(), it)).collect();
    derive(plan, rows, (source, new), None, judge)?;
    plan.scans = stored;
    Ok(())
}

/// Plans what undoing the scans of a run changes.
pub(in crate::app) fn undo(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    import: ImportId,
    judge: &ScanJudge<'_>,
) -> Result<()> {
    let scans = rows.find_scans_of_import(import)?;
    if scans.is_empty() {
        return Ok(());
    }
    plan.forgotten_scans.extend(scans);
    derive(plan, rows, ("", BTreeMap::new()), Some(import), judge)
}

/// Replaces what the newest scans show about controls.
///
/// `new`: those of the run that are newer than the known ones of their source. `without`: the run that is undone.
fn derive(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    (source, mut new): (&str, BTreeMap<&str, &StoredScan>),
    without: Option<ImportId>,
    judge: &ScanJudge<'_>,
) -> Result<()> {
    let mut known = Known::default();
    let mut outdated = Vec::new();
    rows.visit_systems(None, without, |scans| {
        for it in &scans {
            if it.source == source && new.contains_key(it.scan.system.as_str()) {
                continue;
            }
            if it.scan.at.plus_days(SCANS_KEPT_DAYS) <= judge.now {
                outdated.push((it.scan.system.clone(), it.source.clone()));
                continue;
            }
            known.add(it, judge);
        }
        if let Some(it) = scans.first().and_then(|it| new.remove(it.scan.system.as_str())) {
            known.add(it, judge);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    for it in new.values() {
        known.add(it, judge);
    }
    for (system, source) in outdated {
        let scans = rows.list_scans(&system, &source)?;
        plan.forgotten_scans.extend(scans.iter().map(ScanKey::from));
    }
    if without.is_none() {
        require_vulnerabilities(known.n_found)?;
    }
    let unscanned = unscanned(rows, &mut known, judge)?;
    let unscanned: Vec<&str> = unscanned.iter().map(String::as_str).collect();
    let verdicts = vulnerability::verdicts(&known.summaries, &unscanned);
    restate(plan, rows, &known, &verdicts, judge.catalog)
}

/// Returns the names of the systems of the client that no scan saw, and notes their identifiers. Those that are new are left out.
fn unscanned(
    rows: &ClientSnapshot,
    known: &mut Known,
    judge: &ScanJudge<'_>,
) -> Result<Vec<String>> {
    let new = rows.list_new_assets(since(judge.new_days, judge.now))?;
    let new: HashSet<AssetId> = new.iter().map(|it| it.id).collect();
    let scanned: HashSet<u64> = known.subjects.values().flatten().copied().collect();
    let mut found = BTreeSet::new();
    let mut after = None;
    loop {
        let some = rows.list_assets_after(after, N_ASSETS_AT_ONCE)?;
        let Some(last) = some.last() else { return Ok(found.into_iter().collect()) };
        after = Some(last.id);
        for asset in some.iter().filter(|it| is_to_be_scanned(it) && !new.contains(&it.id)) {
            let names = [asset.hostname.as_deref(), asset.ip.as_deref(), Some(&asset.name)];
            let mut names = names.into_iter().flatten().map(str::to_lowercase);
            let subjects = asset.subjects();
            let is_scanned = names.any(|it| known.summaries.contains_key(&it))
                || subjects.iter().any(|it| scanned.contains(it));
            if !is_scanned && found.insert(asset.name.clone()) {
                known.subjects.insert(asset.name.clone(), subjects);
            }
        }
    }
}

/// Returns true for a computer or device on a network. What only the inventory of a cloud lists has no address here.
fn is_to_be_scanned(asset: &Asset) -> bool {
    let is_system = match asset.asset_type {
        AssetType::Server
        | AssetType::Workstation
        | AssetType::VirtualMachine
        | AssetType::NetworkDevice
        | AssetType::Device => true,
        AssetType::User
        | AssetType::Mobile
        | AssetType::Container
        | AssetType::SaasApp
        | AssetType::CloudResource
        | AssetType::Identity
        | AssetType::Mailbox
        | AssetType::FileShare
        | AssetType::Database => false,
    };
    let has_address = asset.hostname.is_some() || asset.ip.is_some() || asset.mac.is_some();
    is_system && has_address && asset.status == AssetStatus::Active
}

/// Writes one observation for each control of which the scans show something now, or showed it before.
fn restate(
    plan: &mut ListsPlan,
    rows: &ClientSnapshot,
    known: &Known,
    verdicts: &[ControlVerdict<'_>],
    catalog: &Catalog,
) -> Result<()> {
    let Some((at, import)) = known.newest else { return Ok(()) };
    for code in vulnerability::CONTROLS {
        let key = ObservationKey {
            subject: Subject::Control(code.to_owned()),
            source: VULNERABILITY_SOURCE.to_owned(),
            scope: String::new(),
            check: CHECK.to_owned(),
            observed_at: at,
            import,
        };
        let before = rows.list_observations_like(&key)?;
        let shown = verdicts.iter().find(|it| it.code == code);
        let now = match shown {
            Some(shown) => observation(&key, shown, known, catalog),
            // Time does not bring back what it showed before.
            None => before.iter().find(|it| it.observed_at < at).map(|it| Observation {
                import,
                verdict: Verdict::Gone,
                ..it.present(at)
            }),
        };
        let outdated = before.iter().map(ObservationKey::from).filter(|it| at <= it.observed_at);
        plan.corrected.removed.extend(outdated.filter(|it| now.is_none() || *it != key));
        plan.corrected.replaced.extend(now);
    }
    Ok(())
}

fn observation(
    key: &ObservationKey,
    shown: &ControlVerdict<'_>,
    known: &Known,
    catalog: &Catalog,
) -> Option<Observation> {
    let of = |name: &&str| known.subjects.get(*name).into_iter().flatten().copied();
    let failing: BTreeSet<u64> = shown.failing.iter().flat_map(of).collect();
    Some(Observation {
        severity: Severity::High,
        findings: findings(shown),
        failing: failing.into_iter().take(N_FAILING_MAX).collect(),
        memory: Memory { names: names(&shown.failing), ..Memory::default() }.into(),
        ..derived::observation(catalog, key.clone(), shown)?
    })
}

/// A system may have several ids or none, so its name stands for it, and has a hash that no id has.
fn names(failing: &[&str]) -> Vec<NamedSubject> {
    let named = failing.iter().filter(|it| !it.is_empty()).take(N_NAMES_MAX);
    let name = |it: &&str| NamedSubject {
        hash: subject_hash(&format!("system\0{it}")),
        name: (*it).to_owned(),
    };
    named.map(name).collect()
}

/// Names failing systems on the first line, then says why they fail, and of how many nothing can be said.
fn findings(shown: &ControlVerdict<'_>) -> Option<String> {
    let mut lines = Vec::new();
    if !shown.failing.is_empty() {
        lines.push(failing_line(&shown.failing, shown.failing.len()));
        lines.push(if shown.code == vulnerability::SCANNED {
            format!("Not scanned in the last {SCAN_DAYS} days, or with a vulnerability that is critical or known to be exploited.")
        } else {
            format!(
                "A fix is missing for more than {CRITICAL_DAYS} days if its severity is critical or the flaw is known to be exploited, \
                 {HIGH_DAYS} days if it is high."
            )
        });
    }
    if shown.n_unknown != 0 {
        lines.push(format!(
            "Unknown for {} of the systems: the scanner did not sign in, or does not say since when there is a fix.",
            shown.n_unknown
        ));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}
