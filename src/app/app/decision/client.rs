//! Client organizations: add, change, remove.

use std::sync::Arc;

use ipnetwork::IpNetwork;
use serde_json::{Map, Value};
use tokio::sync::OwnedMutexGuard;

use super::reference;
use crate::app::App;
use crate::app::assessment::log::{self, Entry};
use crate::app::client::settings::{self, PROFILE, SCAN_NETWORKS, Settings};
use crate::app::event::cause::{Cause, Undone};
use crate::app::input::{refuse_invisible, require_length, require_name};
use crate::auth::caller::Caller;
use crate::auth::network;
use crate::blocking;
use crate::clock::Time;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::store::global::client::receipt::ErasureReceipt;
use crate::store::global::client::{Client, ClientState};
use crate::store::per_client::reference::{ExternalReference, Referenced};
use crate::store::per_client::statement::{Author, StatementNumber};
use crate::store::{Batch, ClientStore, Store};

pub const NAME_CHARS_MAX: usize = 500;
pub const INDUSTRY_CHARS_MAX: usize = 100;
pub const EMPLOYEES_MAX: u32 = 100_000_000;

/// The fields of a new client, or what to change of a client. `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct ClientChange {
    pub name: Option<String>,
    /// Other clients may have the name, or one that looks like it.
    pub allow_same_name: bool,
    pub industry: Option<Option<String>>,
    pub employee_count: Option<Option<u32>>,
    pub active: Option<bool>,
    pub settings: Option<Map<String, Value>>,
    pub references: Option<Vec<ExternalReference>>,
}

/// What is written with a client.
#[derive(Default)]
pub(super) struct ClientWrites {
    /// When to reassess the client if the reassessment that follows does not happen.
    due: Option<Time>,
    references: Option<Vec<ExternalReference>>,
    /// Who answers questions of the profile. `None`: nobody does.
    answered: Option<Author>,
    /// The record about an answer that was a mistake, and the one that counts then.
    undone: Option<(Entry, (StatementNumber, Option<StatementNumber>))>,
    /// That the client is being erased.
    receipt: Option<ErasureReceipt>,
    /// Held until the name is taken.
    naming: Option<OwnedMutexGuard<()>>,
}

impl ClientWrites {
    pub(super) fn of_erasure(receipt: ErasureReceipt) -> Self {
        Self { receipt: Some(receipt), ..Self::default() }
    }
}

impl App {
    /// Returns a client that the caller may access, active or not.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access it, whether it exists or not; `NotFound` if it does not exist or is
    /// being erased.
    pub fn reach_any(&self, caller: &Caller, id: ClientId) -> Result<(Arc<Client>, ClientStore)> {
        let rows = caller.reach(&self.store, id)?;
        let client = self.clients.directory.find(id).filter(|it| it.state != ClientState::Erasing);
        Ok((client.ok_or_else(|| Error::not_found("client not found"))?, rows))
    }

    /// Returns a client that the contract's operations show. An inactive client is treated as absent.
    ///
    /// # Errors
    /// As [`App::reach_any`].
    pub fn reach_active(
        &self,
        caller: &Caller,
        id: ClientId,
    ) -> Result<(Arc<Client>, ClientStore)> {
        let (client, rows) = self.reach_any(caller, id)?;
        if client.state == ClientState::Active {
            return Ok((client, rows));
        }
        Err(Error::not_found("client not found"))
    }

    /// All clients that the caller may access, inactive ones too, in the order in which they were added.
    #[must_use]
    pub fn list_reachable(&self, caller: &Caller) -> Vec<ClientId> {
        let all = self.clients.directory.list().into_iter();
        let there = all.filter(|it| it.state != ClientState::Erasing && caller.may_reach(it.id));
        there.map(|it| it.id).collect()
    }

    /// The clients whose rows to list: the one that was asked for, or those that the caller may access. `None`: all.
    ///
    /// # Errors
    /// As [`App::reach_any`].
    pub(in crate::app) fn asked_clients(
        &self,
        caller: &Caller,
        client: Option<ClientId>,
    ) -> Result<Option<Vec<ClientId>>> {
        Ok(match client {
            Some(id) => Some(vec![self.reach_any(caller, id)?.0.id]),
            None => caller.allowed_clients().map(<[_]>::to_vec),
        })
    }

    /// # Errors
    /// `Invalid` with the field that breaks a rule.
    pub async fn add_client(&self, by: &Caller, change: ClientChange) -> Result<Arc<Client>> {
        if change.name.is_none() {
            return Err(Error::invalid_field("name", "is required"));
        }
        reference::check(change.references.as_ref())?;
        let references = change.references.clone();
        let naming = Arc::clone(&self.clients.naming).lock_owned().await;
        let client = self.made(change.clone(), by)?;
        self.require_own_networks(by, &change, None).await?;
        self.require_new_name(by, &change, None)?;
        let (naming, answered) = (Some(naming), answering(&change, by));
        self.keep_client(
            &by.acting_on(&self.store),
            client,
            ClientWrites { references, answered, naming, ..ClientWrites::default() },
        )
        .await
    }

    /// Networks decide what may be scanned for a client, so that each belongs to one.
    ///
    /// # Errors
    /// `Forbidden` for a caller who may not reach all clients; `Conflict` if another client has one of them.
    async fn require_own_networks(
        &self,
        by: &Caller,
        change: &ClientChange,
        before: Option<&Client>,
    ) -> Result<()> {
        let of = |client: &Client| Settings::of(&client.settings).scan_networks();
        let Some(given) = change.settings.as_ref().and_then(|it| it.get(SCAN_NETWORKS)) else {
            return Ok(());
        };
        let texts = given.as_array().into_iter().flatten().filter_map(Value::as_str);
        let wanted: Vec<IpNetwork> = texts.filter_map(|it| network::parse(it).ok()).collect();
        if before.map(of).unwrap_or_default() == wanted {
            return Ok(());
        }
        if by.allowed_clients().is_some() {
            return Err(Error::forbidden(
                "settings.scanNetworks: only somebody who may reach all clients says which networks are a client's",
            ));
        }
        let id = before.map(|it| it.id);
        let mut others = self.clients.directory.list();
        others.retain(|it| Some(it.id) != id && it.state != ClientState::Erasing);
        let find = move || {
            let is_taken = |it: &Arc<Client>| {
                let own = of(it);
                wanted.iter().any(|it| own.iter().any(|own| is_overlap(*it, *own)))
            };
            Ok(others.into_iter().find(is_taken))
        };
        match blocking::run((), find).await? {
            None => Ok(()),
            Some(other) => Err(Error::conflict(format!(
                "settings.scanNetworks: a network belongs to one client, and the client {} ({}) has one that overlaps these",
                other.name, other.id
            ))),
        }
    }

    /// The disk is everybody's, and what is removed is gone.
    ///
    /// # Errors
    /// `Forbidden` for a caller who may not reach all clients; `Conflict` if the client is under a hold, and would keep
    /// something for less long.
    async fn require_own_terms(
        &self,
        by: &Caller,
        rows: &ClientStore,
        (before, after): (&Client, &Client),
    ) -> Result<()> {
        let defaults = &self.options.settings;
        let of = |client: &Client| Settings::of(&client.settings).retention(defaults);
        let (before, after) = (of(before), of(after));
        if before == after {
            return Ok(());
        }
        if by.allowed_clients().is_some() {
            return Err(Error::forbidden(
                "settings.retention: only somebody who may reach all clients says how long a client's data is kept",
            ));
        }
        if !after.is_shorter(before) {
            return Ok(());
        }
        self.require_no_hold(rows, "settings.retention: nothing is kept for less long").await
    }

    /// Names steer where files go and which client a form means, so that two clients must not look the same.
    ///
    /// # Errors
    /// `Conflict` if another client has the name; `Forbidden` to allow that for a caller who may not reach all clients.
    fn require_new_name(
        &self,
        by: &Caller,
        change: &ClientChange,
        own: Option<ClientId>,
    ) -> Result<()> {
        if change.allow_same_name {
            return match by.allowed_clients() {
                None => Ok(()),
                Some(_) => Err(Error::forbidden(
                    "only somebody who may reach all clients can give two of them the same name",
                )),
            };
        }
        let Some(name) = &change.name else { return Ok(()) };
        let mut same = self.clients.directory.list_named(name);
        same.retain(|it| Some(it.id) != own && it.state != ClientState::Erasing);
        let Some(other) = same.first() else { return Ok(()) };
        Err(Error::conflict(if by.may_reach(other.id) {
            format!(
                "the client {} ({}) has this name, or one that looks like it; choose another name, or repeat with --allow-same-name \
                 (allowSameName=true)",
                other.name, other.id
            )
        } else {
            "another client has this name, or one that looks like it; choose another name"
                .to_owned()
        }))
    }

    /// A new client, not stored yet.
    pub(super) fn made(&self, change: ClientChange, by: &Caller) -> Result<Client> {
        let now = self.clock.now();
        let client = Client {
            id: ClientId::made_at(now),
            name: String::new(),
            industry: None,
            employee_count: None,
            settings: "{}".to_owned(),
            state: ClientState::Active,
            created_at: now,
            updated_at: now,
        };
        self.changed(client, change, &by.name())
    }

    /// # Errors
    /// `NotFound`; `Invalid` with the field that breaks a rule.
    pub async fn change_client(
        &self,
        caller: &Caller,
        id: ClientId,
        change: impl FnOnce() -> Result<ClientChange>,
    ) -> Result<Arc<Client>> {
        // Locked from reading to storing, so that concurrent changes are not lost and no change brings an erased client
        // back.
        let changing = self.clients.lock(id).await;
        let (before, rows) = self.reach_any(caller, id)?;
        let change = change()?;
        reference::check(change.references.as_ref())?;
        let references = change.references.clone();
        let is_renamed = change.name.as_ref().is_some_and(|it| *it != before.name);
        let has_networks =
            change.settings.as_ref().is_some_and(|it| it.contains_key(SCAN_NETWORKS));
        let naming = if is_renamed || has_networks {
            Some(Arc::clone(&self.clients.naming).lock_owned().await)
        } else {
            None
        };
        let reassess = change.settings.is_some()
            || change.employee_count.is_some()
            || change.industry.is_some();
        let client = self.changed((*before).clone(), change.clone(), &caller.name())?;
        self.require_own_networks(caller, &change, Some(&before)).await?;
        self.require_own_terms(caller, &rows, (&before, &client)).await?;
        if is_renamed {
            self.require_new_name(caller, &change, Some(id))?;
        }
        let due = reassess.then(|| self.clock.now());
        let store = caller.acting_on(&self.store);
        let answered = answering(&change, caller);
        let writes = ClientWrites { due, references, answered, naming, ..ClientWrites::default() };
        let client = self.keep_client(&store, client, writes).await?;
        drop(changing);
        if reassess {
            self.reassess(&rows, Cause::Scope).await?;
        }
        Ok(client)
    }

    /// Undoes a record about an answer of the profile. What counts then is the answer.
    pub(super) async fn undo_answer(
        &self,
        caller: &Caller,
        rows: &ClientStore,
        question: &str,
        (entry, record): (Entry, StatementNumber),
    ) -> Result<()> {
        let now = self.clock.now();
        let changing = self.clients.lock(rows.id()).await;
        let (before, _) = self.reach_any(caller, rows.id())?;
        let topic = entry.topic.clone();
        let standing = rows.read(move |it| log::standing_without(it, &topic, record)).await?;
        let mut client = (*before).clone();
        client.settings = settings::with_answer(&client.settings, question, standing.as_ref());
        client.updated_at = now;
        let store = caller.acting_on(&self.store);
        let undone = Some((entry, (record, standing.map(|it| it.number))));
        let writes = ClientWrites { due: Some(now), undone, ..ClientWrites::default() };
        self.keep_client(&store, client, writes).await?;
        drop(changing);
        let cause = Cause::Undo(Undone::Statement(record));
        self.reassess(rows, cause).await.map(|_| ())
    }

    pub(super) async fn keep_client(
        &self,
        store: &Store,
        client: Client,
        writes: ClientWrites,
    ) -> Result<Arc<Client>> {
        let ClientWrites { due, references, answered, undone, receipt, naming } = writes;
        let now = self.clock.now();
        let client = Arc::new(client);
        let (row, kept) = (Arc::clone(&client), Arc::clone(&client));
        let directory = Arc::clone(&self.clients.directory);
        // After the commit: what is shown must survive a restart.
        let put = move |(): &()| {
            directory.put(kept);
            drop(naming);
        };
        let write = move |batch: &mut Batch| {
            batch.note_object(&row.id);
            if let Some(author) = &answered {
                log::state_profile(&mut batch.client(row.id), now, &row.settings, author)?;
            }
            if let Some((entry, numbers)) = &undone {
                log::undo(&mut batch.client(row.id), now, entry.clone(), *numbers)?;
            }
            batch.put_client(&row)?;
            receipt.as_ref().map_or(Ok(()), |it| batch.put_erasure(it))?;
            if let Some(references) = &references {
                batch.client(row.id).put_references(Referenced::Client, references)?;
            }
            due.map_or(Ok(()), |at| batch.client(row.id).put_due(at))
        };
        store.write_then(write, put).await?;
        Ok(client)
    }

    fn changed(&self, mut client: Client, change: ClientChange, by: &str) -> Result<Client> {
        let now = self.clock.now();
        if let Some(name) = change.name {
            // A new client has none yet.
            if client.name.is_empty() || name != client.name {
                require_name("name", &name, NAME_CHARS_MAX)?;
            }
            client.name = name;
        }
        if let Some(industry) = change.industry {
            require_length("industry", industry.as_deref(), INDUSTRY_CHARS_MAX)?;
            if industry != client.industry {
                refuse_invisible("industry", industry.as_deref().unwrap_or_default())?;
            }
            client.industry = industry;
        }
        if let Some(count) = change.employee_count {
            if count.is_some_and(|it| EMPLOYEES_MAX < it) {
                let rule = format!("must be at most {EMPLOYEES_MAX}");
                return Err(Error::invalid_field("employeeCount", rule));
            }
            client.employee_count = count;
        }
        if let Some(active) = change.active {
            client.state = if active { ClientState::Active } else { ClientState::Inactive };
        }
        if let Some(patch) = change.settings {
            client.settings = settings::change(&client.settings, &patch, &self.catalog(), by, now)?;
        }
        client.updated_at = now;
        Ok(client)
    }
}

fn answering(change: &ClientChange, by: &Caller) -> Option<Author> {
    let has_answers = change.settings.as_ref().is_some_and(|it| it.contains_key(PROFILE));
    has_answers.then(|| by.own_author())
}

fn is_overlap(one: IpNetwork, other: IpNetwork) -> bool {
    one.contains(other.network()) || other.contains(one.network())
}
