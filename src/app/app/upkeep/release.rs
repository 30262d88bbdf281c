//! What a start makes of a database that was assessed with another catalog, or by other rules.

use crate::app::App;
use crate::app::event::cause::Cause;
use crate::app::notice::NoticeKind;
use crate::clock::Time;
use crate::error::{Chain, Result};
use crate::store::global::client::ClientState;
use crate::store::{Batch, ClientSnapshot, ReleaseRecord, Snapshot};

/// How long the notice is open.
const NOTICE_DAYS: i64 = 7;

impl App {
    /// What to keep of this release. `None`: it is kept already.
    pub(in crate::app) async fn new_release(&self) -> Result<Option<ReleaseRecord>> {
        let known = self.store.read(Snapshot::find_release).await?;
        let digest = self.frameworks.release_digest();
        if known.is_some_and(|it| it.digest == digest) {
            return Ok(None);
        }
        let is_new = self.has_outdated().await?;
        let since = if is_new { self.clock.now() } else { Time::EPOCH };
        Ok(Some(ReleaseRecord { digest, since, n_clients: 0 }))
    }

    /// Whether a client was assessed with another catalog, or by other rules.
    async fn has_outdated(&self) -> Result<bool> {
        let clients = self.clients.directory.list();
        let digest = self.catalog().digest;
        let find = move |snapshot: &Snapshot| {
            for it in clients {
                let assessed = snapshot.client(it.id).find_assessed()?;
                if assessed.is_some_and(|it| it.catalog_digest != digest) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        self.store.read(find).await
    }

    /// Reassesses every client that was assessed with another catalog, and makes those due whose expected loss was
    /// calculated with other inputs. Call it at start, before anything reads results: stored rows are identified by their
    /// position in the catalog. A client that cannot be assessed is logged, and the others continue.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn reassess_outdated(&self) -> Result<()> {
        let digest = self.catalog().digest;
        let release = self.store.read(Snapshot::find_release).await?;
        let mut n_assessed = 0;
        for client in self.clients.directory.list() {
            if client.state == ClientState::Erasing {
                continue;
            }
            let rows = self.store.client_store(client.id);
            let read = |it: &ClientSnapshot| Ok((it.find_assessed()?, it.find_expected_loss()?));
            let (Some(assessed), loss) = rows.read(read).await? else { continue };
            let is_priced = loss.map(|it| it.base) == self.options.loss.base_loss(&client);
            let now = self.clock.now();
            let done = if assessed.catalog_digest != digest {
                n_assessed += 1;
                let cause = cause_of_catalog(assessed.at, release.as_ref());
                self.reassess(&rows, cause).await.map(|_| ())
            } else if !is_priced {
                rows.write(move |batch| batch.hasten_due(now)).await
            } else {
                Ok(())
            };
            if let Err(error) = done {
                let id = client.id;
                tracing::error!(client.id = %id, error = %Chain(&error), "client `{id}` was not assessed: {}", Chain(&error));
            }
        }
        let count = move |batch: &mut Batch| {
            let release = batch.find_release()?;
            let counted =
                |it: ReleaseRecord| ReleaseRecord { n_clients: it.n_clients + n_assessed, ..it };
            release.map_or(Ok(()), |it| batch.put_release(&counted(it)))
        };
        if n_assessed != 0 {
            self.store.write(count).await?;
        }
        self.note_release().await
    }

    /// Opens the notice that results changed with the release, or closes it.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn note_release(&self) -> Result<()> {
        let release = self.store.read(Snapshot::find_release).await?;
        let is_new = |it: &ReleaseRecord| {
            it.n_clients != 0 && self.clock.now() < it.since.plus_days(NOTICE_DAYS)
        };
        let Some(release) = release.filter(is_new) else {
            self.notices.close(NoticeKind::ReleaseChanged);
            return Ok(());
        };
        let n = release.n_clients;
        let clients = if n == 1 { "1 client was".to_owned() } else { format!("{n} clients were") };
        let message = format!(
            "this release assesses with another catalog or other rules: {clients} assessed again. What changed has the cause \
             `catalogue`; of it, only scores, readiness and new critical failures were announced, and no alert opens for 24 hours"
        );
        self.notices.open(NoticeKind::ReleaseChanged, release.since, message);
        Ok(())
    }
}

/// Why a client is assessed that was last assessed with another catalog.
pub(super) fn cause_of_catalog(assessed_at: Time, release: Option<&ReleaseRecord>) -> Cause {
    let is_of_release = release.is_some_and(|it| assessed_at <= it.since);
    if is_of_release { Cause::Release } else { Cause::Catalogue }
}
