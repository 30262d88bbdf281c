//! A handle that reaches the rows of one client only.

use crate::error::Result;
use crate::id::{BatchId, ClientId};
use crate::store::{Batch, ClientBatch, ClientSnapshot, Store, Versions};

/// One client's rows and no others. Cheap to clone.
#[derive(Clone)]
pub struct ClientStore {
    pub(in crate::store) store: Store,
    client: ClientId,
    batch: Option<BatchId>,
}

impl ClientStore {
    pub(in crate::store) fn new(store: Store, client: ClientId) -> Self {
        Self { store, client, batch: None }
    }

    #[must_use]
    pub fn id(&self) -> ClientId {
        self.client
    }

    /// [`Store::reserved`] of this client.
    #[must_use]
    pub fn reserved(&self) -> Self {
        Self { store: self.store.reserved(), ..*self }
    }

    /// A handle whose writes are not recorded as what the caller did: for the commits of a run before the one that
    /// decides.
    #[must_use]
    pub fn unrecorded(&self) -> Self {
        Self { store: self.store.acting(None), ..*self }
    }

    /// A handle whose statements belong to a batch.
    #[must_use]
    pub fn in_batch(&self, batch: BatchId) -> Self {
        Self { batch: Some(batch), ..self.clone() }
    }

    /// [`Store::snapshot`] of this client.
    ///
    /// # Errors
    /// As there.
    pub fn snapshot(&self) -> Result<ClientSnapshot> {
        Ok(self.store.snapshot()?.client(self.client))
    }

    /// [`Store::read`] of this client.
    ///
    /// # Errors
    /// As there.
    pub async fn read<T, F>(&self, body: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&ClientSnapshot) -> Result<T> + Send + 'static,
    {
        let client = self.client;
        self.store.read(move |snapshot| body(&snapshot.client(client))).await
    }

    /// [`Store::write`] of this client. A client that is being erased is refused: rows written now would stay forever.
    ///
    /// # Errors
    /// As there; `NotFound` when the client is gone.
    pub async fn write<T, F>(&self, mut body: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut ClientBatch<'_>) -> Result<T> + Send + 'static,
    {
        let (client, made_in) = (self.client, self.batch);
        let write = move |batch: &mut Batch| {
            let mut rows = batch.client(client);
            rows.rows.made_in = made_in;
            rows.require_client()?;
            body(&mut rows)
        };
        self.store.write(write).await
    }

    /// [`Store::write_now`] of this client, for tests and benchmarks: the client need not exist. Same errors.
    pub fn write_now<T, F>(&self, mut body: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&mut ClientBatch<'_>) -> Result<T> + Send + 'static,
    {
        let client = self.client;
        self.store.write_now(move |batch| body(&mut batch.client(client)))
    }

    /// [`Store::versions`] of this client.
    #[must_use]
    pub fn versions(&self) -> Versions {
        self.store.versions(self.client)
    }
}
