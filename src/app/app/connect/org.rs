//! The organizations of a tool that sees many clients: which client each one is, and what it brings to that client.

use std::collections::{BTreeMap, BTreeSet};

use super::feed::Feed;
use super::run::Outcome;
use super::{absent, is_there};
use crate::app::App;
use crate::auth::caller::Caller;
use crate::clock::Time;
use crate::connect::reading::{Group, Org, Reading};
use crate::error::{Code, Error, Result};
use crate::id::{ClientId, ConnectionId};
use crate::store::global::client::ClientState;
use crate::store::global::connection::Connection;
use crate::store::global::connection::org::ConnectionOrg;
use crate::store::{Batch, Snapshot};

/// Organizations that one request can map.
pub const N_MAPPINGS_MAX: usize = 1_000;
/// An organization that this many complete readings in a row lack is gone.
const N_MISSED: u32 = 2;
/// Rows of one commit.
const N_ROWS: usize = 500;

/// What an organization is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrgMapping {
    pub external_id: String,
    pub to: MappedTo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappedTo {
    Client(ClientId),
    /// It is no client.
    Ignored,
    /// Nobody knows.
    Nothing,
}

impl App {
    /// By their external ids.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if the connection reads one client.
    pub async fn list_connection_orgs(
        &self,
        by: &Caller,
        id: ConnectionId,
    ) -> Result<Vec<ConnectionOrg>> {
        require_provider(&self.get_connection(by, id).await?.connection)?;
        self.store.read(move |it: &Snapshot| it.list_connection_orgs(id)).await
    }

    /// Says which clients organizations are. The connection runs at once.
    ///
    /// # Errors
    /// `NotFound` for the connection or a client; those of `mappings`; `Conflict` if the connection reads one client;
    /// `Invalid` for an organization that no run has seen.
    pub async fn map_connection_orgs(
        &self,
        by: &Caller,
        id: ConnectionId,
        mappings: impl FnOnce() -> Result<Vec<OrgMapping>>,
    ) -> Result<Vec<ConnectionOrg>> {
        let found = self.get_connection(by, id).await?;
        let mappings = mappings()?;
        require_provider(&found.connection)?;
        let now = self.clock.now();
        let write = move |batch: &mut Batch| {
            batch.find_connection(id)?.filter(is_there).ok_or_else(absent)?;
            for (index, it) in mappings.iter().enumerate() {
                let Some(org) = batch.find_connection_org(id, &it.external_id)? else {
                    let rule = format!("no run has seen an organization {}", it.external_id);
                    let field = format!("organizations[{index}].externalId");
                    return Err(Error::invalid_field(field, rule));
                };
                let (client, is_ignored) = match it.to {
                    MappedTo::Client(client) => {
                        batch.client(client).require_client()?;
                        (Some(client), false)
                    }
                    MappedTo::Ignored => (None, true),
                    MappedTo::Nothing => (None, false),
                };
                batch.put_connection_org(id, &ConnectionOrg { client, is_ignored, ..org })?;
            }
            batch.put_due_connection(id, Some(now))?;
            batch.list_connection_orgs(id)
        };
        let orgs = by.acting_on(&self.store).write(write).await?;
        self.connects.wake();
        Ok(orgs)
    }

    /// Brings what was read of organizations to the clients that they are. A client that does not take it keeps none of the
    /// others waiting.
    pub(super) async fn feed_orgs(
        &self,
        connection: &Connection,
        reading: &Reading,
        outcome: &Outcome,
        now: Time,
    ) -> Result<()> {
        let id = connection.id;
        let known = self.store.read(move |it: &Snapshot| it.list_connection_orgs(id)).await?;
        let read: Option<BTreeMap<&str, &Org>> = reading
            .orgs
            .as_ref()
            .map(|orgs| orgs.iter().map(|it| (it.external_id.as_str(), it)).collect());
        let mut orgs = match &read {
            Some(read) => merged(known, read, now),
            None => known,
        };
        let mut failure = None;
        for org in &mut orgs {
            if let Err(error) = self.retract_if_moved(connection, org, now).await {
                failure = Some(error);
            }
        }
        let mut clients: BTreeMap<ClientId, Vec<&Org>> = BTreeMap::new();
        for org in &mut orgs {
            let Some(client) = self.active_client(org) else { continue };
            if org.fed.as_ref().is_some_and(|(fed, _)| *fed != client) {
                continue; // It could not be retracted yet.
            }
            let brought = clients.entry(client).or_default();
            let found = read.as_ref().and_then(|it| it.get(org.external_id.as_str()));
            let Some(found) = found else { continue };
            let (_, before) = org.fed.take().unwrap_or((client, Vec::new()));
            let mut scopes: Vec<String> = found.groups.iter().map(|it| it.scope.clone()).collect();
            let gone = before.into_iter().filter(|it| !scopes.contains(it));
            let gone: BTreeSet<String> = gone.collect();
            match self.retract(Feed::of(connection, client, now), gone.clone()).await {
                Err(error) if error.code != Code::NotFound => {
                    scopes.extend(gone);
                    failure = Some(error);
                }
                Ok(()) | Err(_) => (),
            }
            org.fed = Some((client, scopes));
            brought.push(found);
        }
        // First, so that nothing is brought of which nobody knows afterwards.
        self.put_orgs(id, &orgs).await?;
        for (client, brought) in clients {
            let feed = Feed::of(connection, client, now);
            let brought = self.still_of(id, client, brought).await?;
            let brought: Vec<&Group> = brought.into_iter().flat_map(|it| &it.groups).collect();
            match self.feed(feed, &brought, outcome.run()).await {
                Err(error) if error.code != Code::NotFound => failure = Some(error),
                Ok(()) | Err(_) => (),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Those of these organizations that are still this client: the run may have taken minutes.
    async fn still_of<'a>(
        &self,
        id: ConnectionId,
        client: ClientId,
        mut orgs: Vec<&'a Org>,
    ) -> Result<Vec<&'a Org>> {
        let names: Vec<String> = orgs.iter().map(|it| it.external_id.clone()).collect();
        let find = move |it: &Snapshot| {
            let find = |name: &String| it.find_connection_org(id, name);
            names.iter().map(find).collect::<Result<Vec<_>>>()
        };
        let found = self.store.read(find).await?;
        let is_of = |it: &ConnectionOrg| it.client == Some(client);
        let mut still = found.iter().map(|it| it.as_ref().is_some_and(is_of));
        orgs.retain(|_| still.next().unwrap_or(false));
        Ok(orgs)
    }

    fn active_client(&self, org: &ConnectionOrg) -> Option<ClientId> {
        let client = org.client.filter(|_| org.n_missed == 0)?;
        let known = self.clients.directory.find(client)?;
        (known.state == ClientState::Active).then_some(client)
    }

    /// Retracts what an organization brought to a client that it is not any more.
    async fn retract_if_moved(
        &self,
        connection: &Connection,
        org: &mut ConnectionOrg,
        now: Time,
    ) -> Result<()> {
        let is_gone = N_MISSED <= org.n_missed;
        let Some((client, scopes)) = org.fed.clone() else { return Ok(()) };
        if org.client == Some(client) && !is_gone {
            return Ok(());
        }
        match self.retract(Feed::of(connection, client, now), scopes.into_iter().collect()).await {
            Err(error) if error.code != Code::NotFound => Err(error),
            Ok(()) | Err(_) => {
                org.fed = None;
                Ok(())
            }
        }
    }

    async fn put_orgs(&self, id: ConnectionId, orgs: &[ConnectionOrg]) -> Result<()> {
        for some in orgs.chunks(N_ROWS) {
            let some = some.to_vec();
            let write = move |batch: &mut Batch| {
                for org in &some {
                    let Some(known) = batch.find_connection_org(id, &org.external_id)? else {
                        batch.put_connection_org(id, org)?;
                        continue;
                    };
                    if N_MISSED <= org.n_missed && org.fed.is_none() {
                        batch.remove_connection_org(id, &org.external_id)?;
                        continue;
                    }
                    // What it is may have been changed meanwhile.
                    let (client, is_ignored) = (known.client, known.is_ignored);
                    batch.put_connection_org(
                        id,
                        &ConnectionOrg { client, is_ignored, ..org.clone() },
                    )?;
                }
                Ok(())
            };
            self.store.reserved().write(write).await?;
        }
        Ok(())
    }

    /// Retracts everything, before the connection is removed.
    pub(super) async fn retract_orgs(&self, connection: &Connection, now: Time) -> Result<()> {
        let id = connection.id;
        let orgs = self.store.read(move |it: &Snapshot| it.list_connection_orgs(id)).await?;
        let mut scopes: BTreeMap<ClientId, BTreeSet<String>> = BTreeMap::new();
        for (client, of_org) in orgs.into_iter().filter_map(|it| it.fed) {
            scopes.entry(client).or_default().extend(of_org);
        }
        for (client, scopes) in scopes {
            let feed = Feed::of(connection, client, now);
            let forgotten = match self.retract(feed, scopes).await {
                Ok(()) => self.forget_connection(feed).await,
                Err(error) => Err(error),
            };
            match forgotten {
                Err(error) if error.code != Code::NotFound => return Err(error),
                Ok(()) | Err(_) => (),
            }
        }
        Ok(())
    }
}

fn require_provider(connection: &Connection) -> Result<()> {
    if connection.client.is_some() {
        return Err(Error::conflict("the connection reads one client and has no organizations"));
    }
    Ok(())
}

/// The organizations that were known, with what a complete list says.
fn merged(known: Vec<ConnectionOrg>, read: &BTreeMap<&str, &Org>, now: Time) -> Vec<ConnectionOrg> {
    let mut all: BTreeMap<String, ConnectionOrg> =
        known.into_iter().map(|it| (it.external_id.clone(), it)).collect();
    for org in all.values_mut() {
        org.n_missed = org.n_missed.saturating_add(1);
    }
    for (external_id, org) in read {
        let external_id = (*external_id).to_owned();
        let found = all.entry(external_id.clone()).or_insert_with(|| ConnectionOrg {
            external_id,
            name: String::new(),
            client: None,
            is_ignored: false,
            fed: None,
            seen_at: now,
            n_devices: 0,
            n_missed: 0,
        });
        found.name.clone_from(&org.name);
        (found.seen_at, found.n_missed) = (now, 0);
        found.n_devices = org.n_devices.unwrap_or(found.n_devices);
    }
    all.into_values().collect()
}
