//! From a connection to a client: facts are ingested, and retracted when they are gone.

use std::collections::BTreeSet;

use super::facts::{RunLabel, is_judged, is_listed};
use crate::app::App;
use crate::app::intake::list::{Lists, Shrinking};
use crate::app::intake::run::Intake;
use crate::app::intake::source::{Run, forget_source};
use crate::clock::Time;
use crate::connect::reading::Group;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::ClientBatch;
use crate::store::global::connection::Connection;

/// What a connection brings to one client.
#[derive(Clone, Copy)]
pub(super) struct Feed<'a> {
    pub client: ClientId,
    pub label: RunLabel<'a>,
}

impl<'a> Feed<'a> {
    pub(super) fn of(connection: &'a Connection, client: ClientId, at: Time) -> Self {
        let label = RunLabel { source: &connection.source, name: &connection.name, at };
        Self { client, label }
    }
}

impl App {
    /// Ingests what was read. Only a group that says all that there is replaces all that was known of its scope, which is
    /// retracted if nothing is left of it. `run` is told once.
    pub(super) async fn feed(&self, feed: Feed<'_>, groups: &[&Group], run: Run) -> Result<()> {
        let (listed, unlisted): (Vec<&Group>, Vec<&Group>) =
            groups.iter().copied().partition(|it| is_listed(it));
        let (whole, part): (Vec<&Group>, Vec<&Group>) =
            unlisted.into_iter().partition(|it| it.is_whole);
        let (judged, silent): (Vec<&Group>, Vec<&Group>) =
            whole.into_iter().partition(|it| is_judged(it));
        let gone: BTreeSet<String> = silent.iter().map(|it| it.scope.clone()).collect();
        self.retract(feed, gone).await?;
        let rows = self.store.client_store(feed.client);
        for group in listed {
            let intake = feed.label.listed(&self.catalog(), group);
            self.ingest(&rows, intake).await?;
        }
        let mut run = Some(run);
        for (groups, complete) in [(judged, true), (part, false)] {
            if groups.is_empty() && (complete || run.is_none()) {
                continue; // Unless nothing else tells how the run went.
            }
            let told = run.take().unwrap_or(Run::Quiet);
            let intake = feed.label.intake(&self.catalog(), &groups, complete, told);
            self.ingest(&rows, intake).await?;
        }
        Ok(())
    }

    /// Retracts what the connection found in scopes where it finds nothing any more.
    pub(super) async fn retract(&self, feed: Feed<'_>, scopes: BTreeSet<String>) -> Result<()> {
        let rows = self.store.client_store(feed.client);
        for scope in scopes {
            let lists = Lists {
                scope: scope.clone(),
                at: feed.label.at,
                complete: true,
                shrinking: Shrinking::Confirmed,
                identities: Some(Vec::new()),
                apps: Some(Vec::new()),
                assets: Some(Vec::new()),
                leavers: None,
            };
            let empty = Group { scope, ..Group::default() };
            let intake = feed.label.intake(&self.catalog(), &[&empty], true, Run::Quiet);
            let intake = Intake { shrinking: Shrinking::Confirmed, lists: Some(lists), ..intake };
            self.ingest(&rows, intake).await?;
        }
        Ok(())
    }

    /// The client forgets the connection, whose facts were retracted.
    pub(super) async fn forget_connection(&self, feed: Feed<'_>) -> Result<()> {
        let rows = self.store.client_store(feed.client).reserved();
        let (source, at) = (feed.label.source.to_owned(), feed.label.at);
        rows.write(move |batch: &mut ClientBatch<'_>| forget_source(batch, &source, at)).await
    }
}
