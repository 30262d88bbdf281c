//! Network scans: start, show, cancel, list.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use ipnetwork::IpNetwork;
use tokio::sync::Notify;

use crate::app::App;
use crate::app::client::settings::Settings;
use crate::auth::caller::Caller;
use crate::engine::asset::Asset;
use crate::engine::network::scan::{FoundHost, ProbeCounts};
use crate::error::{Code, Error, Result};
use crate::id::{ClientId, ImportId, ScanId};
use crate::page::{Cut, Page};
use crate::scan::attached_networks;
use crate::scan::plan::{ScanPlan, ScanPolicy, ScanRequest};
use crate::store::Batch;
use crate::store::global::client::ClientState;
use crate::store::global::scan::{Scan, ScanStatus};

/// The source name of what scans find.
pub const SOURCE: &str = "scan";
pub const NAME_CHARS_MAX: usize = 200;
pub const THREADS_MAX: u32 = 1_024;
const THREADS_DEFAULT: u32 = 256;
/// Scans that are queued or running. More are refused.
pub const N_OPEN_MAX: usize = 32;
/// The same of one client, or of no client, so that one client's scans do not keep those of the others out.
pub const N_OPEN_PER_CLIENT_MAX: usize = 4;
/// How many scans are kept for each client, and for no client. Older ones are removed.
const N_KEPT: usize = 50;
/// Why a scan is refused, for callers who must not learn which networks other clients have.
pub(super) const NOT_ALLOWED: &str = "a target may not be scanned: it is not within both the client's scanNetworks and \
    `scan.allowed_networks`, which an administrator of this server sets";
/// Hosts removed in one commit.
const N_FORGOTTEN_AT_ONCE: usize = 500;

/// What scans may do.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// The private networks attached to this host may be scanned.
    pub allow_attached: bool,
    pub allowed: Vec<IpNetwork>,
    pub excluded: Vec<IpNetwork>,
    /// Probes a second, all scans together.
    pub per_s: u32,
    /// Connections to one host at a time.
    pub per_host: u32,
    pub n_concurrent: u32,
    /// The service's own listeners.
    pub own: Vec<SocketAddr>,
}

/// What `posture.toml.example` says.
impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            allow_attached: true,
            allowed: Vec::new(),
            excluded: Vec::new(),
            per_s: 500,
            per_host: 8,
            n_concurrent: 2,
            own: Vec::new(),
        }
    }
}

impl ScanOptions {
    /// Returns the policy for the networks that are attached to this host now.
    pub(in crate::app) fn policy(&self) -> ScanPolicy {
        let mut allowed = self.allowed.clone();
        if self.allow_attached {
            allowed.extend(attached_networks());
        }
        // An allowed network that is just the address of a listener means that listener.
        let is_named = |it: &SocketAddr| {
            let one = |network: &IpNetwork| IpNetwork::from(it.ip()) == *network;
            self.allowed.iter().any(one)
        };
        let own = self.own.iter().filter(|it| !is_named(it)).copied().collect();
        ScanPolicy { allowed, excluded: self.excluded.clone(), own }
    }
}

/// A scan to start.
#[derive(Clone, Debug, Default)]
pub struct NewScan {
    pub client: Option<ClientId>,
    pub name: Option<String>,
    pub targets: Vec<String>,
    pub exclude: Vec<String>,
    pub ports: Option<String>,
    pub threads: Option<u64>,
}

/// A scan and its progress.
#[derive(Clone, Debug)]
pub struct ScanWithProgress {
    pub scan: Scan,
    pub n_done: u64,
    pub n_up: u64,
    pub n_open: u64,
}

impl App {
    /// Checks and queues a scan.
    ///
    /// # Errors
    /// `Invalid` with the field that breaks a rule; `Forbidden` if a target is not allowed, or the caller may not
    /// access the client; `NotFound` for the client; `Conflict` if too many scans are queued or running.
    pub async fn start_scan(&self, caller: &Caller, new: NewScan) -> Result<ScanWithProgress> {
        let name = new.name.filter(|it| !it.trim().is_empty());
        if name.as_ref().is_some_and(|it| NAME_CHARS_MAX < it.chars().count()) {
            let rule = format!("must be at most {NAME_CHARS_MAX} characters");
            return Err(Error::invalid_field("name", rule));
        }
        let client = self.client_of_scan(caller, new.client)?;
        let order = ScanRequest { targets: new.targets, exclude: new.exclude, ports: new.ports };
        let plan = ScanPlan::of(&order, &self.policy_for(caller, client));
        let plan = plan.map_err(|error| match (error.code, caller.allowed_clients()) {
            // A caller who is limited to clients must not learn which networks other clients have.
            (Code::Forbidden, Some(_)) => Error::forbidden(NOT_ALLOWED),
            _ => error,
        })?;
        let threads = new.threads.map_or(THREADS_DEFAULT, |it| {
            u32::try_from(it).unwrap_or(THREADS_MAX).clamp(1, THREADS_MAX)
        });
        let texts = |all: &[IpNetwork]| all.iter().map(ToString::to_string).collect();
        let now = self.clock.now();
        let scan = Scan {
            id: ScanId::made_at(now),
            client,
            name,
            targets: texts(&plan.targets),
            exclude: order.exclude,
            ports: plan.ports.to_string(),
            n_threads: threads,
            status: ScanStatus::Queued,
            by: caller.name(),
            created_at: now,
            started_at: None,
            finished_at: None,
            error: None,
            note: None,
            n_hosts: plan.n_hosts,
            tally: ProbeCounts::default(),
            done: Vec::new(),
            is_cancelled: false,
            import: ImportId::random(),
            difference: None,
        };
        let row = scan.clone();
        let write = move |batch: &mut Batch| {
            if let Some(client) = row.client {
                batch.client(client).require_client()?;
            }
            let open = batch.list_open_scans()?;
            let n_own = open.iter().filter(|it| it.client == row.client).count();
            if N_OPEN_PER_CLIENT_MAX <= n_own {
                return Err(Error::conflict(format!(
                    "{N_OPEN_PER_CLIENT_MAX} scans of this client are already queued or running; wait until one ends, or \
                     cancel one"
                )));
            }
            if N_OPEN_MAX <= open.len() {
                return Err(Error::conflict(format!(
                    "{N_OPEN_MAX} scans are already queued or running; try again later"
                )));
            }
            batch.note_object(&row.id);
            batch.put_scan(&row)
        };
        caller.acting_on(&self.store).write(write).await?;
        self.scans.wake.notify_one();
        Ok(self.shown_scan(scan))
    }

    /// What a caller may have scanned for a client. What is allowed to all may be another client's network, so that a caller who
    /// is limited to clients may only have those scanned that are this client's.
    fn policy_for(&self, caller: &Caller, client: Option<ClientId>) -> ScanPolicy {
        let mut policy = self.options.scan.policy();
        if caller.allowed_clients().is_some() {
            let client = client.and_then(|it| self.clients.directory.find(it));
            let own = client.map(|it| Settings::of(&it.settings).scan_networks());
            policy.allowed = common(&policy.allowed, &own.unwrap_or_default());
        }
        policy
    }

    /// Returns the client that is named, or else the caller's only client, or else the only active client, or else
    /// none.
    fn client_of_scan(&self, caller: &Caller, named: Option<ClientId>) -> Result<Option<ClientId>> {
        if let Some(id) = named {
            return Ok(Some(self.reach_active(caller, id)?.0.id));
        }
        match caller.allowed_clients() {
            Some([one]) => Ok(Some(self.reach_active(caller, *one)?.0.id)),
            Some(_) => Err(Error::invalid_field(
                "clientId",
                "is required, because you may access several clients",
            )),
            None => {
                let mut all = self.clients.directory.list();
                all.retain(|it| it.state == ClientState::Active);
                Ok(if let [one] = all.as_slice() { Some(one.id) } else { None })
            }
        }
    }

    fn may_see(caller: &Caller, scan: &Scan) -> bool {
        match scan.client {
            Some(client) => caller.may_reach(client),
            None => caller.allowed_clients().is_none(),
        }
    }

    fn shown_scan(&self, scan: Scan) -> ScanWithProgress {
        if let Some(live) = self.scans.find(scan.id) {
            let read = |it: &std::sync::atomic::AtomicU64| it.load(Ordering::Relaxed);
            let progress = &live.progress;
            let (n_done, n_up, n_open) =
                (read(&progress.n_done), read(&progress.n_up), read(&progress.n_open));
            return ScanWithProgress { scan, n_done, n_up, n_open };
        }
        let ProbeCounts { n_addresses, n_up, n_open, .. } = scan.tally;
        ScanWithProgress { scan, n_done: n_addresses, n_up, n_open }
    }

    /// # Errors
    /// `NotFound`, also if the caller may not access its client.
    pub async fn get_scan(&self, caller: &Caller, id: ScanId) -> Result<ScanWithProgress> {
        let scan =
            caller.acting_on(&self.store).read(move |snapshot| snapshot.find_scan(id)).await?;
        let scan = scan.filter(|it| Self::may_see(caller, it)).ok_or_else(absent)?;
        Ok(self.shown_scan(scan))
    }

    /// Newest first. `client`: only the scans of this client.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the client.
    pub async fn list_scans(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        cut: Cut,
    ) -> Result<Page<ScanWithProgress>> {
        if let Some(client) = client {
            self.reach_any(caller, client)?;
        }
        let mut all =
            caller.acting_on(&self.store).read(move |it| it.list_scans(client.map(Some))).await?;
        all.retain(|it| Self::may_see(caller, it));
        Ok(Page::of(all.into_iter(), cut).map(|it| self.shown_scan(it)))
    }

    /// Cancels a scan. What it found stays listed, but is not added to an inventory. A canceled scan stays as it is.
    ///
    /// # Errors
    /// As [`App::get_scan`]; `Conflict` if it has already finished.
    pub async fn cancel_scan(&self, caller: &Caller, id: ScanId) -> Result<ScanWithProgress> {
        self.get_scan(caller, id).await?;
        let (now, is_live) = (self.clock.now(), self.scans.find(id).is_some());
        let write = move |batch: &mut Batch| {
            let mut scan = batch.find_scan(id)?.ok_or_else(absent)?;
            if scan.status == ScanStatus::Cancelled {
                return Ok((scan, false));
            }
            if scan.status.has_ended() {
                let status = scan.status.as_str();
                return Err(Error::conflict(format!(
                    "the scan has already ended with status {status}"
                )));
            }
            if scan.finished_at.is_some() {
                return Err(Error::conflict(
                    "the scan has already finished; its results are being added to the inventory",
                ));
            }
            scan.is_cancelled = true;
            if !is_live {
                (scan.status, scan.finished_at) = (ScanStatus::Cancelled, Some(now));
            }
            batch.put_scan(&scan)?;
            Ok((scan, !is_live))
        };
        let (scan, has_ended) = caller.acting_on(&self.store).write(write).await?;
        if has_ended {
            self.scans.count_end(ScanStatus::Cancelled);
        }
        if let Some(live) = self.scans.find(id) {
            live.is_cancelled.store(true, Ordering::Relaxed);
        }
        Ok(self.shown_scan(scan))
    }

    /// Lists hosts in the order of their addresses.
    ///
    /// # Errors
    /// As [`App::get_scan`].
    pub async fn list_scan_hosts(
        &self,
        caller: &Caller,
        id: ScanId,
        cut: Cut,
    ) -> Result<Page<FoundHost>> {
        self.get_scan(caller, id).await?;
        caller.acting_on(&self.store).read(move |snapshot| snapshot.page_scan_hosts(id, cut)).await
    }

    /// Lists assets that scans found, of all clients that the caller may access, in the order in which they were first
    /// seen. Assets of no client are only for callers who are not limited to clients.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the client that is named.
    pub async fn list_scanned_assets(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        cut: Cut,
    ) -> Result<Page<(Option<ClientId>, Asset)>> {
        let clients: Vec<ClientId> = if let Some(client) = client {
            vec![self.reach_active(caller, client)?.0.id]
        } else {
            let mut all = self.clients.directory.list();
            all.retain(|it| it.state == ClientState::Active && caller.may_reach(it.id));
            let mut all: Vec<ClientId> = all.into_iter().map(|it| it.id).collect();
            all.extend(caller.allowed_clients().is_none().then_some(ClientId::UNASSIGNED));
            all
        };
        let read = move |snapshot: &crate::store::Snapshot| {
            let mut all = Vec::new();
            for client in clients {
                let ids = snapshot.client(client).list_assets_of_source(SOURCE)?;
                all.extend(ids.into_iter().map(|it| (it, client)));
            }
            all.sort_unstable();
            let page = Page::of(all.into_iter(), cut);
            let mut items = Vec::new();
            for (id, client) in page.items {
                let whose = (client != ClientId::UNASSIGNED).then_some(client);
                items.extend(snapshot.client(client).find_asset(id)?.map(|it| (whose, it)));
            }
            Ok(Page { items, total: page.total, cut })
        };
        caller.acting_on(&self.store).read(read).await
    }

    /// Removes old scans beyond those that are kept. Returns true if more may remain.
    ///
    /// # Errors
    /// `Unavailable` if the disk does not accept the write.
    pub async fn forget_scans(&self) -> Result<bool> {
        let all = self.store.read(|snapshot| snapshot.list_scans(None)).await?;
        let mut n_of: BTreeMap<Option<ClientId>, usize> = BTreeMap::new();
        let old = all.into_iter().find(|it| {
            let n = n_of.entry(it.client).or_default();
            *n += 1;
            N_KEPT < *n && it.status.has_ended()
        });
        let Some(old) = old else { return Ok(false) };
        let write = move |batch: &mut Batch| batch.remove_scan_chunk(old.id, N_FORGOTTEN_AT_ONCE);
        self.store.reserved().write(write).await?;
        Ok(true)
    }

    /// Notified of each new scan.
    pub fn scan_wake(&self) -> &Notify {
        &self.scans.wake
    }
}

/// The networks that are within one of each list.
fn common(some: &[IpNetwork], others: &[IpNetwork]) -> Vec<IpNetwork> {
    let both = |it: &IpNetwork| {
        others.iter().filter_map(|other| narrower(*it, *other)).collect::<Vec<_>>()
    };
    some.iter().flat_map(both).collect()
}

/// Of two networks one of which holds the other, the held one.
fn narrower(one: IpNetwork, other: IpNetwork) -> Option<IpNetwork> {
    let (narrow, wide) = if one.prefix() < other.prefix() { (other, one) } else { (one, other) };
    wide.contains(narrow.network()).then_some(narrow)
}

pub(in crate::app) fn absent() -> Error {
    Error::not_found("scan not found")
}
