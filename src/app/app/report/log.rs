//! The logs of events and of changed requirements, in commit order.

use crate::app::App;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::engine::event::EventKind;
use crate::error::Result;
use crate::id::{ClientId, RiskId};
use crate::store::Snapshot;
use crate::store::global::change::Placed;
use crate::store::global::event::Event;

/// Events that are read at once, where not all that are read are wanted.
const N_AT_ONCE: usize = 1_000;
/// How many events one request looks at.
pub const N_SCANNED_MAX: usize = 100_000;

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
    /// Only those about this risk, and about tasks for it. `None`: whatever they are about.
    pub risk: Option<RiskId>,
    /// Without assessments after any run of a source but its first one.
    pub only_first_runs: bool,
    pub part: LogPart,
    /// Of the last entries, only those before this sequence. `None`: up to the end.
    pub before: Option<u64>,
    /// Of the last entries, only those from then on. `None`: all.
    pub since: Option<Time>,
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
        let list = move |snapshot: &Snapshot| match part {
            LogPart::After(after) => snapshot.list_changes(after, limit, allowed.as_deref()),
            LogPart::Newest => snapshot.list_newest_changes(limit, allowed.as_deref()),
        };
        caller.acting_on(&self.store).read(list).await
    }

    /// Lists events, in commit order, of the clients that the caller may access, and the sequence after which the list
    /// continues. `None`: it does not.
    ///
    /// # Errors
    /// As [`App::list_changes`].
    pub async fn list_events(
        &self,
        caller: &Caller,
        query: EventQuery,
    ) -> Result<(Vec<Event>, Option<u64>)> {
        let EventQuery { client, kinds, risk, only_first_runs, part, before, since, limit } = query;
        let allowed = self.asked_clients(caller, client)?;
        let limit = limit as usize;
        let is_all = kinds.is_empty() && risk.is_none() && !only_first_runs;
        let n_at_once = if is_all { limit + 1 } else { N_AT_ONCE };
        let is_wanted = move |it: &Event| {
            (kinds.is_empty() || kinds.iter().any(|kind| kind.as_str() == it.kind))
                && risk.is_none_or(|risk| it.is_about(risk))
                && !(only_first_runs && it.is_of_later_run())
        };
        let list = move |snapshot: &Snapshot| {
            let allowed = allowed.as_deref();
            match part {
                LogPart::After(after) => {
                    events_after(snapshot, (after, limit, n_at_once), allowed, is_wanted)
                }
                LogPart::Newest => {
                    let n = (limit, n_at_once, N_SCANNED_MAX);
                    Ok((snapshot.list_newest_events(n, (allowed, before, since), is_wanted)?, None))
                }
            }
        };
        caller.acting_on(&self.store).read(list).await
    }
}

/// The first `limit` events that are wanted after a sequence, read `n_at_once` at a time, and the sequence after which the
/// list continues.
fn events_after(
    snapshot: &Snapshot,
    (mut after, limit, n_at_once): (u64, usize, usize),
    clients: Option<&[ClientId]>,
    is_wanted: impl Fn(&Event) -> bool,
) -> Result<(Vec<Event>, Option<u64>)> {
    let (mut found, mut n_scanned) = (Vec::new(), 0);
    while n_scanned < N_SCANNED_MAX {
        let some = snapshot.list_events(after, n_at_once, clients)?;
        let is_end = some.len() < n_at_once;
        n_scanned += some.len();
        for event in some {
            if found.len() == limit {
                return Ok((found, Some(after)));
            }
            after = event.sequence;
            found.extend(Some(event).filter(&is_wanted));
        }
        if is_end {
            return Ok((found, None));
        }
    }
    Ok((found, Some(after)))
}
