//! Runs a scan: claims it, scans it block by block, adds its hosts to the inventory, and settles it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sha2::{Digest, Sha256};
use tokio::sync::{oneshot, watch};

use super::host::{self, ScannedPorts};
use crate::app::App;
use crate::app::intake::run::{Discovery, Intake, NewRun};
use crate::app::intake::step::N_ASSETS_PER_COMMIT;
use crate::app::inventory::asset::{Sighting, merge};
use crate::app::scan::registry::RunningScan;
use crate::app::scan::request::{NOT_ALLOWED, SOURCE, absent};
use crate::clock::Time;
use crate::engine::asset::Seen;
use crate::engine::network::scan::{Answers, FoundHost};
use crate::error::{Chain, Code, Error, Result};
use crate::id::{AssetId, ClientId, ScanId};
use crate::import::Record;
use crate::import::fold::{Fold, Folded, ImportOrigin};

use crate::scan::plan::{ScanPlan, ScanRequest};
use crate::scan::port::{Ports, usual_tls};
use crate::scan::{self, Done, ScanSettings};
use crate::store::global::scan::{Difference, Scan, ScanStatus};
use crate::store::{Batch, ClientBatch, Store};

/// A scan that takes longer fails. What it found stays listed.
const RUNTIME_H: i64 = 6;
/// Our own scan reports checks of this tool.
const TOOL: &str = "nmap";
/// How many changes since the previous scan are listed.
const N_CHANGES_KEPT: usize = 200;

/// How the thread of a scan ended.
#[derive(Debug)]
enum Ended {
    /// Every block is done, or it was stopped.
    Well,
    /// It cannot be performed.
    Failed(Error),
    /// What it found could not be stored. It continues later.
    Lost(Error),
}

impl App {
    /// Returns the next scan to run, marked as running: the oldest that is not in progress, which may be one that ran
    /// when the previous process ended. Scans of clients without a scan in progress go first, so that one client's
    /// scans do not delay everyone else's.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn claim_scan(&self, under_way: BTreeSet<ScanId>) -> Result<Option<Scan>> {
        let now = self.clock.now();
        let claim = move |batch: &mut Batch| {
            let (running, mut waiting): (Vec<Scan>, Vec<Scan>) =
                batch.list_open_scans()?.into_iter().partition(|it| under_way.contains(&it.id));
            for scan in waiting.iter_mut().filter(|it| it.is_cancelled) {
                // The previous process ended before it could do this.
                (scan.status, scan.finished_at) = (ScanStatus::Cancelled, Some(now));
                batch.put_scan(scan)?;
            }
            let n_before = waiting.len();
            waiting.retain(|it| !it.is_cancelled);
            let n_cancelled = n_before - waiting.len();
            let is_busy = |it: &Scan| running.iter().any(|other| other.client == it.client);
            waiting.sort_by_key(is_busy);
            let Some(mut scan) = waiting.into_iter().next() else {
                return Ok((None, n_cancelled));
            };
            scan.status = ScanStatus::Running;
            scan.started_at.get_or_insert(now);
            batch.put_scan(&scan)?;
            Ok((Some(scan), n_cancelled))
        };
        let (scan, n_cancelled) = self.store.write(claim).await?;
        (0..n_cancelled).for_each(|_| self.scans.count_end(ScanStatus::Cancelled));
        Ok(scan)
    }

    /// Runs a claimed scan to its end, or until the service stops. Then it stays running, and continues after the next
    /// start.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept what it found. Then it is claimed again.
    pub async fn run_scan(&self, scan: Scan, mut stop: watch::Receiver<bool>) -> Result<()> {
        let live = self.scans.begin(scan.id, &scan.tally);
        // A cancellation from now on finds the scan here. An earlier one is in the row.
        let id = scan.id;
        let row = match self.store.read(move |snapshot| snapshot.find_scan(id)).await {
            Ok(row) => row,
            Err(error) => {
                self.scans.end(id);
                return Err(error);
            }
        };
        if row.is_none_or(|it| it.is_cancelled || it.status.has_ended()) {
            live.is_cancelled.store(true, Ordering::Relaxed);
        }
        let ended = tokio::select! {
            ended = self.scan_to_end(&scan, &live) => ended,
            _ = stop.wait_for(|stopping| *stopping) => {
                live.is_stopped.store(true, Ordering::Relaxed);
                Ok(None)
            }
        };
        let settled = match ended {
            Ok(Some(ended)) => self.settle_scan(scan.id, ended).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        self.scans.end(scan.id);
        settled
    }

    /// Returns `None` if the service stops.
    async fn scan_to_end(&self, scan: &Scan, live: &Arc<RunningScan>) -> Result<Option<Ended>> {
        let order = ScanRequest {
            targets: scan.targets.clone(),
            exclude: scan.exclude.clone(),
            ports: Some(scan.ports.clone()),
        };
        let policy = self.options.scan.policy();
        // What is allowed may have changed since the scan was requested.
        let plan = match ScanPlan::of(&order, &policy) {
            Ok(plan) => plan,
            // Callers who are limited to the client see the reason. They must not learn which networks others have.
            Err(error) if error.code == Code::Forbidden && scan.client.is_some() => {
                tracing::warn!(scan.id = %scan.id, "scan {}: {}", scan.id, Chain(&error));
                return Ok(Some(Ended::Failed(Error::forbidden(NOT_ALLOWED))));
            }
            Err(error) => return Ok(Some(Ended::Failed(error))),
        };
        let settings = ScanSettings {
            n_sockets: scan.n_threads,
            per_host: self.options.scan.per_host,
            own: policy.own,
            asks: true,
            resolver: None,
        };
        let until = scan.started_at.unwrap_or(scan.created_at).plus_s(RUNTIME_H * 3_600);
        let (store, clock, live) = (self.store.clone(), self.clock.clone(), Arc::clone(live));
        let (id, done) = (scan.id, scan.done.iter().copied().collect::<BTreeSet<u32>>());
        let registry = Arc::clone(&self.scans);
        let (sender, ended) = oneshot::channel();
        let work = move || {
            let stop = || {
                live.is_cancelled.load(Ordering::Relaxed)
                    || live.is_stopped.load(Ordering::Relaxed)
                    || until <= clock.now()
            };
            let mut lost = None;
            let mut sink = |done: Done| {
                keep(&store, id, done).map_err(|error| {
                    let shown = Error::unavailable("what the scan found could not be stored");
                    lost = Some(error);
                    shown
                })
            };
            let how = (&registry.pace, &live.progress);
            let ran = scan::run(&plan, &done, &settings, how, &stop, &mut sink);
            let _ = sender.send(match (ran, lost) {
                (_, Some(error)) => Ended::Lost(error),
                (Err(error), None) => Ended::Failed(error),
                (Ok(()), None) => Ended::Well,
            });
        };
        let thread = std::thread::Builder::new().name("scan".to_owned());
        thread.spawn(work).map_err(Error::internal)?;
        Ok(Some(ended.await.unwrap_or_else(|_| Ended::Failed(Error::internal("a scan panicked")))))
    }

    async fn settle_scan(&self, id: ScanId, ended: Ended) -> Result<()> {
        let scan = self.store.read(move |it| it.find_scan(id)).await?;
        let Some(scan) = scan.filter(|it| !it.status.has_ended()) else { return Ok(()) };
        if scan.is_cancelled {
            return self.end_scan(id, ScanStatus::Cancelled, None).await;
        }
        match ended {
            Ended::Lost(error) if error.code == Code::NotFound => Ok(()), // Its client was erased.
            Ended::Lost(error) => Err(error),
            Ended::Failed(error) => {
                let message = error.message().to_owned();
                tracing::warn!(scan.id = %id, "scan `{id}` failed: {message}");
                self.end_scan(id, ScanStatus::Failed, Some(message)).await
            }
            Ended::Well if scan.tally.n_addresses < scan.n_hosts => {
                let (n, all) = (scan.tally.n_addresses, scan.n_hosts);
                let message = format!(
                    "the scan did not finish within {RUNTIME_H} hours: {n} of {all} addresses were scanned. Scan fewer addresses \
                     or ports, or raise scan.packets_per_s"
                );
                self.end_scan(id, ScanStatus::Failed, Some(message)).await
            }
            Ended::Well => match self.import_results(&scan).await {
                Ok(note) => self.end_scan(id, ScanStatus::Completed, note).await,
                Err(error) if error.code == Code::Unavailable => Err(error),
                Err(error) if error.code == Code::Conflict => {
                    self.end_scan(id, ScanStatus::Cancelled, None).await
                }
                Err(error) => {
                    tracing::error!(scan.id = %id, error = %Chain(&error), "scan `{id}` was not imported: {}", Chain(&error));
                    let message = error.message().to_owned();
                    self.end_scan(id, ScanStatus::Failed, Some(message)).await
                }
            },
        }
    }

    /// `message`: why it failed, or a note about one that completed.
    async fn end_scan(
        &self,
        id: ScanId,
        status: ScanStatus,
        message: Option<String>,
    ) -> Result<()> {
        let now = self.clock.now();
        let difference = if status == ScanStatus::Completed {
            self.store.read(move |snapshot| difference(snapshot, id)).await?
        } else {
            None
        };
        let write = move |batch: &mut Batch| {
            let Some(mut scan) = batch.find_scan(id)? else { return Ok(false) };
            scan.status = status;
            scan.finished_at.get_or_insert(now);
            scan.difference.clone_from(&difference);
            if status == ScanStatus::Completed {
                scan.note = message.clone().or_else(|| scan::explain(&scan.tally));
            } else {
                scan.error.clone_from(&message);
            }
            batch.put_scan(&scan).map(|()| true)
        };
        if self.store.write(write).await? {
            self.scans.count_end(status);
        }
        Ok(())
    }

    /// Adds the hosts of a finished scan to its client's inventory and facts, or to the inventory of no client. Doing
    /// it twice changes nothing. Returns a note, if there is one.
    async fn import_results(&self, scan: &Scan) -> Result<Option<String>> {
        let (id, now) = (scan.id, self.clock.now());
        // After a crash in between, the time stays the same.
        let write = move |batch: &mut Batch| {
            let mut scan = batch.find_scan(id)?.ok_or_else(absent)?;
            if scan.is_cancelled {
                return Err(Error::conflict("the scan was canceled"));
            }
            let at = *scan.finished_at.get_or_insert(now);
            batch.put_scan(&scan)?;
            Ok(at)
        };
        let at = self.store.write(write).await?;
        let Some(client) = scan.client else {
            let hosts = self.fold_hosts(scan, at, false).await?.assets;
            return self.import_unassigned(hosts, at).await.map(|()| None);
        };
        let rows = self.store.client_store(client);
        let import = scan.import;
        if rows.read(move |snapshot| snapshot.find_import(import)).await?.is_some() {
            return Ok(None); // Already done, before a crash.
        }
        let (folded, note) = match self.fold_hosts(scan, at, true).await {
            Ok(folded) => (folded, None),
            Err(error) if error.code == Code::Invalid => {
                let note = "the hosts were added to the inventory without checks, because one scan cannot have so many; \
                            scan smaller networks";
                (self.fold_hosts(scan, at, false).await?, Some(note.to_owned()))
            }
            Err(error) => return Err(error),
        };
        self.ingest(&rows, intake(scan, folded, at)).await.map(|_| note)
    }

    /// `checks`: whether to fold the checks too, and not only the hosts.
    ///
    /// # Errors
    /// `Invalid` if there are more checks than one run may have.
    async fn fold_hosts(&self, scan: &Scan, at: Time, checks: bool) -> Result<Folded> {
        let (id, origin, ports) =
            (scan.id, ImportOrigin::at(TOOL, SOURCE, scan.import, at), scan.ports.clone());
        let read = move |snapshot: &crate::store::Snapshot| {
            let asked = ScannedPorts { ports: &ports, usual_tls: &usual_tls(), at };
            let mut fold = Fold::new(origin);
            for (number, found) in (1..).zip(snapshot.list_scan_hosts(id)?) {
                host::records(&found, number, &asked, &mut |it| {
                    let is_left_out = !checks && matches!(it, Record::Check(_));
                    if is_left_out { Ok(()) } else { fold.add(it) }
                })?;
            }
            Ok(fold.finish())
        };
        self.store.read(read).await
    }

    /// Adds hosts of no client: they are merged like those of a client, but nothing is assessed or announced.
    async fn import_unassigned(&self, hosts: Vec<Seen>, at: Time) -> Result<()> {
        let (hosts, now) = (Arc::new(hosts), self.clock.now());
        let rows = self.store.client_store(ClientId::UNASSIGNED);
        let mut met = Arc::new(HashSet::new());
        for start in (0..hosts.len()).step_by(N_ASSETS_PER_COMMIT) {
            let (hosts, before) = (Arc::clone(&hosts), Arc::clone(&met));
            let write = move |batch: &mut ClientBatch<'_>| {
                let sight = Sighting { source: SOURCE, seen_at: at, now, is_late: false };
                let end = hosts.len().min(start + N_ASSETS_PER_COMMIT);
                let mut met = HashSet::new();
                for host in &hosts[start..end] {
                    let is_met = |it: &AssetId| met.contains(it) || before.contains(it);
                    let (id, _) = merge(batch, &sight, host, is_met)?;
                    met.insert(id);
                }
                Ok(met)
            };
            let new = rows.write(write).await?;
            Arc::make_mut(&mut met).extend(new);
        }
        Ok(())
    }
}

/// Stores the hosts of one block, and that the block is done, in one commit.
fn keep(store: &Store, id: ScanId, done: Done) -> Result<()> {
    let write = move |batch: &mut Batch| {
        let mut scan = batch.find_scan(id)?.ok_or_else(absent)?;
        if scan.status.has_ended() || scan.done.contains(&done.index) {
            return Ok(());
        }
        scan.done.push(done.index);
        scan.tally.add(&done.tally);
        batch.put_scan(&scan)?;
        done.hosts.iter().try_for_each(|it| batch.put_scan_host(id, it))
    };
    store.write_now(write)
}

fn intake(scan: &Scan, folded: Folded, at: Time) -> Intake {
    let run = NewRun {
        id: scan.import,
        name: scan.name.clone().unwrap_or_else(|| scan.targets.join(" ")),
        format: SOURCE.to_owned(),
        digest: Sha256::digest(scan.id.as_bytes()).into(),
        source: SOURCE.to_owned(),
        by: scan.by.clone(),
        at,
    };
    Intake { discovery: Discovery::OfKnownSource, ..Intake::of(run, folded) }
}

/// Returns what changed since the last completed scan of the same targets. `None`: there was none.
fn difference(snapshot: &crate::store::Snapshot, id: ScanId) -> Result<Option<Difference>> {
    let Some(scan) = snapshot.find_scan(id)? else { return Ok(None) };
    let same =
        |it: &Scan| it.id < id && it.status == ScanStatus::Completed && it.targets == scan.targets;
    let previous = snapshot.list_scans(Some(scan.client))?.into_iter().find(same);
    let Some(previous) = previous else { return Ok(None) };
    let (before, after) = (snapshot.list_scan_hosts(previous.id)?, snapshot.list_scan_hosts(id)?);
    let both = [&previous.ports, &scan.ports].map(|it| Ports::parse(it));
    let is_asked = |number: u16| both.iter().flatten().all(|it| it.contains(number));
    Ok(Some(compared(previous.id, &before, &after, is_asked)))
}

fn compared(
    previous: ScanId,
    before: &[FoundHost],
    after: &[FoundHost],
    is_asked: impl Fn(u16) -> bool,
) -> Difference {
    let by_address = |all: &'_ [FoundHost]| -> BTreeSet<IpAddr> {
        all.iter().filter(|it| it.answers != Answers::OnEveryAddress).map(|it| it.address).collect()
    };
    let (known, seen) = (by_address(before), by_address(after));
    let mut difference = Difference {
        previous,
        n_hosts_new: count(seen.difference(&known).count()),
        n_hosts_gone: count(known.difference(&seen).count()),
        n_ports_opened: 0,
        n_ports_closed: 0,
        changes: Vec::new(),
    };
    let mut changes = Vec::new();
    changes.extend(seen.difference(&known).map(|it| format!("{it}: new")));
    changes.extend(known.difference(&seen).map(|it| format!("{it}: gone")));
    let old: BTreeMap<IpAddr, &FoundHost> = before.iter().map(|it| (it.address, it)).collect();
    for host in after.iter().filter(|it| known.contains(&it.address) && seen.contains(&it.address))
    {
        let Some(was) = old.get(&host.address) else { continue };
        let open = |it: &FoundHost| -> BTreeSet<u16> {
            it.ports.iter().map(|it| it.number).filter(|it| is_asked(*it)).collect()
        };
        let (was, is) = (open(was), open(host));
        let address = host.address;
        difference.n_ports_opened += count(is.difference(&was).count());
        difference.n_ports_closed += count(was.difference(&is).count());
        let opened = is.difference(&was).map(|it| format!("{address}: tcp/{it} opened"));
        let closed = was.difference(&is).map(|it| format!("{address}: tcp/{it} closed"));
        let n_left = N_CHANGES_KEPT.saturating_sub(changes.len());
        changes.extend(opened.chain(closed).take(n_left));
    }
    changes.truncate(N_CHANGES_KEPT);
    Difference { changes, ..difference }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
