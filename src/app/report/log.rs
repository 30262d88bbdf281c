//! The logs of events and of changed requirements, in commit order.

use crate::app::App;
use crate::auth::caller::Caller;
use crate::engine::event::EventKind;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::Snapshot;
use crate::store::global::change::Placed;
use crate::store::global::event::Event;

/// Entries that are read at once, where not all that are read are wanted.
const N_AT_ONCE: usize = 1_000;

/// Where the wanted part of a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPart {
    /// The first entries after this sequence.
    After(u64),
    /// The last entries.
    Newest,
}

/// Which events are wanted.
#[derive(Clone, Debug)]
pub struct EventQuery {
    /// `None`: of all that the caller may access.
    pub client: Option<ClientId>,
    /// Empty: of every type.
    pub kinds: Vec<EventKind>,
    pub part: LogPart,
    pub limit: u32,
}

impl App {
    /// Lists requirements whose status changed, in commit order, of the clients that the caller may access. `client`: only
    /// of this one.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the client.
    pub async fn list_changes(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
        part: LogPart,
        limit: u32,
    ) -> Result<Vec<Placed>> {
        let allowed = self.asked_clients(caller, client)?;
        let limit = limit as usize;
        let list = move |snapshot: &Snapshot| {
            let read = |after: u64, n: usize| snapshot.list_changes(after, n, allowed.as_deref());
            match part {
                LogPart::After(after) => read(after, limit),
                LogPart::Newest => {
                    newest(snapshot.last_change()?, limit, |it: &Placed| it.sequence, read)
                }
            }
        };
        caller.acting_on(&self.store).read(list).await
    }

    /// Lists events, in commit order, of the clients that the caller may access.
    ///
    /// # Errors
    /// As [`App::list_changes`].
    pub async fn list_events(&self, caller: &Caller, query: EventQuery) -> Result<Vec<Event>> {
        let EventQuery { client, kinds, part, limit } = query;
        let allowed = self.asked_clients(caller, client)?;
        let limit = limit as usize;
        let list = move |snapshot: &Snapshot| {
            let read = |after: u64, n: usize| snapshot.list_events(after, n, allowed.as_deref());
            let is_wanted = |it: &Event| kinds.iter().any(|kind| kind.as_str() == it.kind);
            match part {
                LogPart::After(after) if kinds.is_empty() => read(after, limit),
                LogPart::After(mut after) => {
                    let mut found = Vec::new();
                    while found.len() < limit {
                        let some = read(after, N_AT_ONCE)?;
                        let Some(last) = some.last() else { break };
                        after = last.sequence;
                        found.extend(some.into_iter().filter(is_wanted));
                    }
                    found.truncate(limit);
                    Ok(found)
                }
                LogPart::Newest => {
                    let is_wanted = |it: &Event| kinds.is_empty() || is_wanted(it);
                    let read = |after: u64, n: usize| {
                        Ok(read(after, n)?.into_iter().filter(is_wanted).collect())
                    };
                    newest(snapshot.last_event()?, limit, |it: &Event| it.sequence, read)
                }
            }
        };
        caller.acting_on(&self.store).read(list).await
    }
}

/// The last `limit` entries of a log that ends with the sequence `last`, in commit order. `read` reads what is wanted of up
/// to a number of entries after a sequence.
fn newest<T>(
    last: u64,
    limit: usize,
    sequence: impl Fn(&T) -> u64,
    read: impl Fn(u64, usize) -> Result<Vec<T>>,
) -> Result<Vec<T>> {
    let mut found = Vec::new();
    let mut end = last;
    while 0 < end && found.len() < limit {
        let start = end.saturating_sub(N_AT_ONCE as u64);
        let mut some = read(start, N_AT_ONCE)?;
        some.retain(|it| sequence(it) <= end);
        some.append(&mut found);
        found = some;
        end = start;
    }
    found.drain(..found.len().saturating_sub(limit));
    Ok(found)
}
