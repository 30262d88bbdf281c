//! Network scans: the request, the progress, and the hosts that were found.
//!
//! A block's hosts and its completion are stored in one commit, so that a scan continues after it when the service restarts.

use std::net::IpAddr;

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::network::scan::{FoundHost, ProbeCounts};
use crate::error::Result;
use crate::id::{AssetId, ClientId, ImportId, ScanId};
use crate::page::{Cut, Page};
use crate::store::Batch;
use crate::store::kernel::transaction::{ClientTransaction, Rows, Transaction};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{CLIENT_SCANS, EXTERNAL, EXTERNAL_NAME, OPEN_SCANS, SCAN_HOSTS, SCANS};

/// A scan of some networks.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Scan {
    pub id: ScanId,
    /// `None`: the scan is for no client.
    pub client: Option<ClientId>,
    pub name: Option<String>,
    /// In CIDR notation, sorted: scans with equal targets can be compared.
    pub targets: Vec<String>,
    pub exclude: Vec<String>,
    pub ports: String,
    /// How many probes may be in progress at once.
    pub n_threads: u32,
    pub status: ScanStatus,
    pub by: String,
    pub created_at: Time,
    pub started_at: Option<Time>,
    /// When its last block was done, or it failed or was canceled.
    pub finished_at: Option<Time>,
    /// Why it failed.
    pub error: Option<String>,
    /// Additional information about the result.
    pub note: Option<String>,
    pub n_hosts: u64,
    /// The totals of the completed blocks.
    pub tally: ProbeCounts,
    /// The completed blocks, by their index in the plan.
    pub done: Vec<u32>,
    /// A cancellation was requested.
    pub is_cancelled: bool,
    /// The import with which its hosts are stored.
    pub import: ImportId,
    pub difference: Option<Difference>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ScanStatus {
    Queued,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl ScanStatus {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    #[must_use]
    pub const fn has_ended(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::Completed | Self::Failed | Self::Cancelled => true,
        }
    }
}

/// What changed since the previous scan of the same targets.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Difference {
    pub previous: ScanId,
    pub n_hosts_new: u32,
    pub n_hosts_gone: u32,
    /// Counts only ports that both scans probed.
    pub n_ports_opened: u32,
    pub n_ports_closed: u32,
    /// The first changes as text, for example `10.0.0.7: tcp/22 opened`.
    pub changes: Vec<String>,
}

fn client_key(client: Option<ClientId>, id: ScanId) -> RowKey {
    let owner = client.map_or([0; 16], |it| *it.as_bytes());
    RowKey::empty().bytes(&owner).bytes(id.as_bytes())
}

fn host_key(id: ScanId, address: IpAddr) -> RowKey {
    let key = RowKey::empty().bytes(id.as_bytes());
    match address {
        IpAddr::V4(it) => key.bytes(&[4]).bytes(&it.octets()),
        IpAddr::V6(it) => key.bytes(&[6]).bytes(&it.octets()),
    }
}

fn id_of(key: &[u8]) -> ScanId {
    ScanId::from_bytes(*key.last_chunk().expect("every key of a scan ends with its id"))
}

impl<R: Rows> Transaction<R> {
    pub fn find_scan(&self, id: ScanId) -> Result<Option<Scan>> {
        self.rows.find_row(SCANS, id.as_bytes())
    }

    /// Newest first. `client`: `None` for all scans, `Some(None)` for scans for no client.
    pub fn list_scans(&self, client: Option<Option<ClientId>>) -> Result<Vec<Scan>> {
        let mut scans: Vec<Scan> = match client {
            None => self.rows.list_rows(SCANS, &Span::all(), usize::MAX)?,
            Some(client) => {
                let owner = client.map_or([0; 16], |it| *it.as_bytes());
                let mut scans = Vec::new();
                for key in
                    self.rows.list_keys_of(CLIENT_SCANS, &Span::prefix(&owner), usize::MAX)?
                {
                    scans.extend(self.find_scan(id_of(&key))?);
                }
                scans
            }
        };
        scans.reverse();
        Ok(scans)
    }

    /// Queued and running scans, in the order in which they were added.
    pub fn list_open_scans(&self) -> Result<Vec<Scan>> {
        let mut scans = Vec::new();
        for key in self.rows.list_keys_of(OPEN_SCANS, &Span::all(), usize::MAX)? {
            scans.extend(self.find_scan(id_of(&key))?);
        }
        Ok(scans)
    }

    /// Ordered by address, IPv4 first.
    pub fn list_scan_hosts(&self, id: ScanId) -> Result<Vec<FoundHost>> {
        self.rows.list_rows(SCAN_HOSTS, &Span::prefix(id.as_bytes()), usize::MAX)
    }

    /// A page of them.
    pub fn page_scan_hosts(&self, id: ScanId, cut: Cut) -> Result<Page<FoundHost>> {
        let keys = self.rows.list_keys_of(SCAN_HOSTS, &Span::prefix(id.as_bytes()), usize::MAX)?;
        let keys = Page::of(keys.into_iter(), cut);
        let mut items = Vec::new();
        for key in keys.items {
            items.extend(self.rows.find_row::<FoundHost>(SCAN_HOSTS, &key)?);
        }
        Ok(Page { items, total: keys.total, cut })
    }
}

impl<R: Rows> ClientTransaction<R> {
    /// The ids of the assets that a source has a name for, in order, without duplicates.
    pub fn list_assets_of_source(&self, source: &str) -> Result<Vec<AssetId>> {
        let table = EXTERNAL.name(self.client);
        let span = Span::prefix(RowKey::of(EXTERNAL_NAME).text(source).as_slice());
        let mut ids = Vec::new();
        for key in self.rows.list_keys_of(&table, &span, usize::MAX)? {
            ids.extend(self.rows.find_row::<AssetId>(&table, &key)?);
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }
}

impl Batch {
    pub fn put_scan(&mut self, scan: &Scan) -> Result<()> {
        self.rows.put_row(CLIENT_SCANS, client_key(scan.client, scan.id).as_slice(), &())?;
        if scan.status.has_ended() {
            self.rows.remove_row(OPEN_SCANS, scan.id.as_bytes())?;
        } else {
            self.rows.put_row(OPEN_SCANS, scan.id.as_bytes(), &())?;
        }
        self.rows.put_row(SCANS, scan.id.as_bytes(), scan)
    }

    pub fn put_scan_host(&mut self, id: ScanId, host: &FoundHost) -> Result<()> {
        self.rows.put_row(SCAN_HOSTS, host_key(id, host.address).as_slice(), host)
    }

    /// Removes up to `n_max` of a scan's hosts, and the scan with the last one. Returns the number of rows.
    pub fn remove_scan_chunk(&mut self, id: ScanId, n_max: usize) -> Result<usize> {
        let keys = self.rows.list_keys_of(SCAN_HOSTS, &Span::prefix(id.as_bytes()), n_max)?;
        for key in &keys {
            self.rows.remove_row(SCAN_HOSTS, key)?;
        }
        if keys.len() == n_max {
            return Ok(n_max);
        }
        let Some(scan) = self.find_scan(id)? else { return Ok(keys.len()) };
        self.rows.remove_row(OPEN_SCANS, id.as_bytes())?;
        self.rows.remove_row(CLIENT_SCANS, client_key(scan.client, id).as_slice())?;
        self.rows.remove_row(SCANS, id.as_bytes())?;
        Ok(keys.len() + 1)
    }

    /// Removes up to `n_max` rows of a client's scans, and returns how many.
    pub(in crate::store) fn remove_client_scans(
        &mut self,
        client: ClientId,
        n_max: usize,
    ) -> Result<usize> {
        let mut n_rows = 0;
        for key in self.rows.list_keys_of(CLIENT_SCANS, &Span::prefix(client.as_bytes()), n_max)? {
            if n_rows < n_max {
                n_rows += self.remove_scan_chunk(id_of(&key), n_max - n_rows)?;
            }
        }
        Ok(n_rows)
    }
}
