//! Erases a client: all that is about it, and leaves a receipt that says so with digests only.

use sha2::{Digest, Sha256};

use crate::app::App;
use crate::app::assessment::log;
use crate::app::decision::client::ClientWrites;
use crate::app::decision::statement::{self, StatementKind};
use crate::auth::caller::Caller;
use crate::engine::framework::FrameworkId;
use crate::error::Result;
use crate::id::ClientId;
use crate::page::{Cut, Page};
use crate::store::global::client::receipt::{ErasureReceipt, client_digest};
use crate::store::global::client::{Client, ClientState};
use crate::store::per_client::asset::AssetFilter;
use crate::store::per_client::statement::{Deed, StatementRecord};
use crate::store::{Batch, ClientSnapshot, ClientStore, Snapshot};

/// How many rows one commit of an erasure removes: small, so that other writers do not wait.
const N_ERASED_AT_ONCE: usize = 500;

impl App {
    /// Erases the client and everything about it. No reader sees it from now on. Its rows are removed in small steps,
    /// which continue after a restart. Returns the receipt.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` under a hold.
    pub async fn remove_client(&self, caller: &Caller, id: ClientId) -> Result<ErasureReceipt> {
        let _lock = self.clients.lock(id).await;
        let (client, rows) = self.reach_any(caller, id)?;
        self.require_no_hold(&rows, "the client is not erased").await?;
        let erasing = Client { state: ClientState::Erasing, ..(*client).clone() };
        let assets = rows.clone();
        let contents = rows.read(move |it| Contents::of(it, &assets)).await?;
        let begun_at = self.clock.now();
        let receipt = ErasureReceipt {
            client_sha256: client_digest(id),
            begun_at,
            finished_at: None,
            by: caller.name(),
            backups_until: self.backups_until(begun_at),
            counts: contents.counts,
            statements_sha256: contents.statements_sha256,
            evidence_sha256: contents.evidence_sha256,
        };
        let store = caller.acting_on(&self.store).reserved();
        let writes = ClientWrites::of_erasure(receipt.clone());
        self.keep_client(&store, erasing, writes).await?;
        self.erase_client(id).await?;
        Ok(self.store.read(move |it| it.find_erasure(id)).await?.unwrap_or(receipt))
    }

    /// Continues an erasure until nothing of the client remains.
    pub async fn erase_client(&self, id: ClientId) -> Result<()> {
        let store = self.store.reserved();
        // Events first: while they are there, their deliveries can be queued again.
        let erase = move |batch: &mut Batch| batch.erase_client_events(id, N_ERASED_AT_ONCE);
        while store.write(erase).await? == N_ERASED_AT_ONCE {}
        self.erase_outlived_deliveries(id).await?;
        let now = self.clock.now();
        let erase = move |batch: &mut Batch| {
            let more = batch.erase_client_chunk(id, N_ERASED_AT_ONCE)?;
            let receipt = if more { None } else { batch.find_erasure(id)? };
            if let Some(receipt) = receipt {
                batch.put_erasure(&ErasureReceipt { finished_at: Some(now), ..receipt })?;
            }
            Ok(more)
        };
        while store.write(erase).await? {}
        self.clients.directory.remove(id);
        self.forget_empty_batches().await
    }

    /// Deliveries can be kept longer than events. Then only their own rows say whose they are.
    async fn erase_outlived_deliveries(&self, id: ClientId) -> Result<()> {
        let store = self.store.reserved();
        let mut after = None;
        loop {
            let list = move |snapshot: &Snapshot| {
                snapshot.list_outlived_deliveries(id, after, N_ERASED_AT_ONCE)
            };
            let found = store.read(list).await?;
            if !found.deliveries.is_empty() {
                store.write(move |batch| batch.erase_deliveries(&found.deliveries)).await?;
            }
            let Some(next) = found.next else { return Ok(()) };
            after = Some(next);
        }
    }

    /// Receipts of erased clients, newest first.
    pub async fn list_erasures(&self, cut: Cut) -> Result<Page<ErasureReceipt>> {
        let all = self.store.read(Snapshot::list_erasures).await?;
        Ok(Page::of(all.into_iter(), cut))
    }
}

/// What there is of a client.
struct Contents {
    counts: Vec<(String, u64)>,
    statements_sha256: Option<[u8; 32]>,
    evidence_sha256: Vec<[u8; 32]>,
}

impl Contents {
    fn of(rows: &ClientSnapshot, assets: &ClientStore) -> Result<Self> {
        let mut statements = rows.list_statements(None, usize::MAX, |_| true)?;
        statements.reverse();
        statements.extend(log::records_to_begin_with(rows)?.unwrap_or_default());
        let evidence = rows.list_evidence()?;
        let mut n_assets = 0;
        assets.visit_assets(&AssetFilter::default(), |_| n_assets += 1)?;
        let counts = [
            ("statements", statements.len() as u64),
            ("evidence", evidence.len() as u64),
            ("facts", rows.count_facts()?),
            ("imports", rows.list_imports()?.len() as u64),
            ("assets", n_assets),
            ("risks", rows.list_risks()?.len() as u64),
        ];
        Ok(Self {
            counts: counts.map(|(what, n)| (what.to_owned(), n)).to_vec(),
            statements_sha256: (!statements.is_empty()).then(|| digest(&statements)),
            evidence_sha256: evidence.into_iter().filter_map(|it| it.sha256).collect(),
        })
    }
}

/// The digest of one line for each statement, a JSON array of strings: number, when it was recorded, kind, framework, subject,
/// what it says or does, reason, by, account.
fn digest(statements: &[StatementRecord]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for it in statements {
        let says = match &it.deed {
            Deed::State(content) => content.answer.as_str().to_owned(),
            Deed::Withdraw { statement } => format!("withdraws {statement}"),
            Deed::Undo { record } => format!("undoes {record}"),
        };
        let framework = statement::framework(&it.topic);
        let line = serde_json::json!([
            it.number.to_string(),
            it.recorded_at.to_string(),
            StatementKind::of(&it.topic).as_str(),
            framework.as_ref().map_or("", FrameworkId::as_str),
            statement::subject(&it.topic),
            says,
            it.reason,
            it.author.by,
            it.author.account,
        ]);
        hash.update(format!("{line}\n"));
    }
    hash.finalize().into()
}
