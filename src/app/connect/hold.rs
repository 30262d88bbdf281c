//! Lists of devices that are suddenly far shorter bring nothing until a second run agrees: a service that hides some from
//! its credential answers like one that has fewer.

use std::collections::BTreeMap;

use super::feed::Feed;
use crate::app::App;
use crate::app::intake::shrink::{ReadKind, judge};
use crate::clock::Time;
use crate::connect::reading::{Group, Reading, Stream, StreamState};
use crate::error::{Code, Result};
use crate::id::ClientId;
use crate::store::ClientSnapshot;
use crate::store::global::connection::Connection;
use crate::store::per_client::roster::{ListKind, Roster};

/// The stream that says that devices are missing.
const SHRUNK: &str = "device counts";
/// How many organizations it names.
const N_HELD_SHOWN: usize = 5;

/// A list that is not believed yet.
struct Shrunk {
    n: usize,
    n_before: u32,
}

impl App {
    /// Holds the parts of a client's environment of which a list shrank.
    pub(super) async fn hold_shrunk(&self, feed: Feed<'_>, reading: &mut Reading) -> Result<()> {
        for group in &mut reading.groups {
            let Some(Shrunk { n, n_before }) = self.find_shrunk(feed, group).await? else {
                continue;
            };
            group.say_nothing();
            let reason = format!(
                "{n} devices, and there were {n_before}; they count when a second run agrees"
            );
            group.streams.push(shrunk_stream(reason, n as u64));
        }
        Ok(())
    }

    /// Holds the organizations of which the list shrank, as a whole.
    pub(super) async fn hold_shrunk_orgs(
        &self,
        connection: &Connection,
        reading: &mut Reading,
        now: Time,
    ) -> Result<()> {
        let id = connection.id;
        let known = self.store.read(move |it| it.list_connection_orgs(id)).await?;
        let known = known.into_iter().filter_map(|it| Some((it.external_id, it.client?)));
        let known: BTreeMap<String, ClientId> = known.collect();
        let mut held = Vec::new();
        for org in reading.orgs.iter_mut().flatten() {
            let Some(client) = known.get(&org.external_id) else { continue };
            let feed = Feed::of(connection, *client, now);
            for at in 0..org.groups.len() {
                let found = match self.find_shrunk(feed, &org.groups[at]).await {
                    Err(error) if error.code == Code::NotFound => break, // It was erased meanwhile.
                    other => other?,
                };
                let Some(Shrunk { n, n_before }) = found else { continue };
                org.groups.iter_mut().for_each(Group::say_nothing);
                held.push(format!("{} has {n} devices and had {n_before}", org.name));
                break;
            }
        }
        if held.is_empty() {
            return Ok(());
        }
        let n_rows = held.len() as u64;
        let more = held.len().saturating_sub(N_HELD_SHOWN);
        held.truncate(N_HELD_SHOWN);
        held.extend((0 < more).then(|| format!("so do {more} more organizations")));
        let reason = format!("{}; nothing of it counts until a second run agrees", held.join("; "));
        let streams = vec![shrunk_stream(reason, n_rows)];
        reading.groups.push(Group { streams, ..Group::default() });
        Ok(())
    }

    /// Says whether the list of a part shrank, and notes that for the second run.
    async fn find_shrunk(&self, feed: Feed<'_>, group: &Group) -> Result<Option<Shrunk>> {
        let lists = feed.label.lists(group);
        let Some(n) = lists.assets.as_ref().map(Vec::len) else { return Ok(None) };
        let rows = self.store.client_store(feed.client);
        let (source, scope) = (feed.label.source.to_owned(), group.scope.clone());
        let find = move |it: &ClientSnapshot| {
            it.find_reads(Roster { source: &source, scope: &scope, part: ListKind::Assets })
        };
        let before = rows.read(find).await?;
        let Some(before) = before.filter(|it| judge(Some(*it), n, &lists).0 == ReadKind::Held)
        else {
            return Ok(None);
        };
        self.ingest(&rows, feed.label.doubted(&self.catalog(), group)).await?;
        Ok(Some(Shrunk { n, n_before: before.n }))
    }
}

fn shrunk_stream(reason: String, n_rows: u64) -> Stream {
    Stream { name: SHRUNK.to_owned(), state: StreamState::Partial, reason, n_rows }
}
