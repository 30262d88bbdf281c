//! Lists of devices, accounts and apps that are suddenly far shorter bring nothing until a second run agrees: a service that
//! hides some from its credential answers like one that has fewer.

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
use crate::store::per_client::roster::{ListKind, Reads, Roster};

/// How many organizations are named whose lists shrank.
const N_HELD_SHOWN: usize = 5;

/// A list that is not believed yet.
struct Shrunk {
    kind: ListKind,
    n: usize,
    n_before: u32,
}

impl Shrunk {
    /// The stream that says that some are missing, and what they are.
    fn words(&self) -> (&'static str, &'static str) {
        match self.kind {
            ListKind::Observations | ListKind::Assets => ("device counts", "devices"),
            ListKind::Identities => ("account counts", "accounts"),
            ListKind::Apps => ("app counts", "apps"),
            ListKind::Leavers => ("people who left", "people"),
        }
    }
}

impl App {
    /// Holds the parts of a client's environment of which a list shrank, and all parts if it is the list of accounts: who a
    /// client's people are matters to what is said anywhere.
    pub(super) async fn hold_shrunk(&self, feed: Feed<'_>, reading: &mut Reading) -> Result<()> {
        let mut found = Vec::new();
        for group in &reading.groups {
            found.push(self.find_shrunk(feed, group).await?);
        }
        let of_accounts = |it: &Shrunk| it.kind == ListKind::Identities;
        let is_all_held = found.iter().flatten().any(of_accounts);
        for (group, shrunk) in reading.groups.iter_mut().zip(found) {
            if is_all_held || !shrunk.is_empty() {
                group.say_nothing();
            }
            group.streams.extend(shrunk.iter().map(|it| {
                let ((name, those), Shrunk { n, n_before, .. }) = (it.words(), it);
                let reason = format!(
                    "{n} {those}, and there were {n_before}; they count when a second run agrees"
                );
                shrunk_stream(name, reason, *n as u64)
            }));
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
                let Some(it) = found.first() else { continue };
                let ((name, those), Shrunk { n, n_before, .. }) = (it.words(), it);
                org.groups.iter_mut().for_each(Group::say_nothing);
                held.push((name, format!("{} has {n} {those} and had {n_before}", org.name)));
                break;
            }
        }
        let Some(&(name, _)) = held.first() else { return Ok(()) };
        let n_rows = held.len() as u64;
        let more = held.len().saturating_sub(N_HELD_SHOWN);
        let mut said: Vec<String> = held.into_iter().take(N_HELD_SHOWN).map(|it| it.1).collect();
        said.extend((0 < more).then(|| format!("so do {more} more organizations")));
        let reason = format!("{}; nothing of it counts until a second run agrees", said.join("; "));
        let streams = vec![shrunk_stream(name, reason, n_rows)];
        reading.groups.push(Group { streams, ..Group::default() });
        Ok(())
    }

    /// Says which lists of a part shrank, and notes that for the second run.
    async fn find_shrunk(&self, feed: Feed<'_>, group: &Group) -> Result<Vec<Shrunk>> {
        let lists = feed.label.lists(group);
        let counts = [
            (ListKind::Assets, lists.assets.as_ref().map(Vec::len)),
            (ListKind::Identities, lists.identities.as_ref().map(Vec::len)),
            (ListKind::Apps, lists.apps.as_ref().map(Vec::len)),
        ];
        if counts.iter().all(|it| it.1.is_none()) {
            return Ok(Vec::new());
        }
        let rows = self.store.client_store(feed.client);
        let (source, scope) = (feed.label.source.to_owned(), group.scope.clone());
        let find = move |it: &ClientSnapshot| {
            let known = counts.into_iter().filter_map(|(part, n)| Some((part, n?)));
            let roster = |part| Roster { source: &source, scope: &scope, part };
            known.map(|(part, n)| Ok((part, n, it.find_reads(roster(part))?))).collect()
        };
        let found: Vec<(ListKind, usize, Option<Reads>)> = rows.read(find).await?;
        let shrunk = found.into_iter().filter_map(|(kind, n, before)| {
            let before = before.filter(|it| judge(Some(*it), n, &lists).0 == ReadKind::Held)?;
            Some(Shrunk { kind, n, n_before: before.n })
        });
        let shrunk: Vec<Shrunk> = shrunk.collect();
        if !shrunk.is_empty() {
            let kinds: Vec<ListKind> = shrunk.iter().map(|it| it.kind).collect();
            self.ingest(&rows, feed.label.doubted(&self.catalog(), group, &kinds)).await?;
        }
        Ok(shrunk)
    }
}

fn shrunk_stream(name: &str, reason: String, n_rows: u64) -> Stream {
    Stream { name: name.to_owned(), state: StreamState::Partial, reason, n_rows }
}
