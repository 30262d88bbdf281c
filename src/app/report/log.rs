//! The logs of events and of changed requirements, in commit order.

use crate::app::App;
use crate::auth::caller::Caller;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::Snapshot;
use crate::store::global::change::Placed;
use crate::store::global::event::Event;

impl App {
    /// Lists requirements whose status changed after a sequence, in commit order, of the clients that the caller may
    /// access. `client`: only of this one.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the client.
    pub async fn list_changes(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Placed>> {
        let allowed = self.asked_clients(caller, client)?;
        let list = move |snapshot: &Snapshot| {
            snapshot.list_changes(after, limit as usize, allowed.as_deref())
        };
        caller.acting_on(&self.store).read(list).await
    }

    /// Lists events after a sequence, in commit order, of the clients that the caller may access.
    ///
    /// # Errors
    /// As [`App::list_changes`].
    pub async fn list_events(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        after: u64,
        limit: u32,
    ) -> Result<Vec<Event>> {
        let allowed = self.asked_clients(caller, client)?;
        let list = move |snapshot: &Snapshot| {
            snapshot.list_events(after, limit as usize, allowed.as_deref())
        };
        caller.acting_on(&self.store).read(list).await
    }
}
