//! Adds many clients at once, from a list that a person made.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Map;

use crate::app::App;
use crate::app::decision::client::ClientChange;
use crate::auth::caller::Caller;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::import::inventory::client_list::ListedClient;
use crate::store::Batch;
use crate::store::global::client::{Client, ClientState};
use crate::text::looks;

/// A longer list is refused.
pub const LIST_BYTES_MAX: u64 = 1024 * 1024;

/// What became of a list.
#[derive(Clone, Debug, Default)]
pub struct ListOutcome {
    pub added: Vec<Arc<Client>>,
    /// Names on the list that clients already have. These were left as they are.
    pub known: Vec<String>,
}

impl App {
    /// Adds the clients of a list that are not there yet, all in one commit, or none. Names that look the same are the same.
    ///
    /// # Errors
    /// `Invalid` with the row that breaks a rule.
    pub async fn add_client_list(
        &self,
        by: &Caller,
        list: Vec<ListedClient>,
    ) -> Result<ListOutcome> {
        let naming = Arc::clone(&self.clients.naming).lock_owned().await;
        let known = self.clients.directory.list().into_iter();
        let known = known.filter(|it| it.state != ClientState::Erasing);
        let mut names: HashMap<String, Option<usize>> =
            known.flat_map(|it| looks(&it.name)).map(|it| (it, None)).collect();
        let (mut outcome, mut added) = (ListOutcome::default(), Vec::new());
        for listed in list {
            let row = listed.row;
            let own = looks(&listed.name);
            let found = own.iter().find_map(|it| names.get(it).copied());
            names.extend(own.into_iter().map(|it| (it, Some(row))));
            match found {
                Some(None) => {
                    // The next row with the name is a repetition of this one.
                    outcome.known.push(listed.name);
                }
                Some(Some(first)) => {
                    let rule = format!("row {row}: has the same name as row {first}");
                    return Err(Error::invalid(rule));
                }
                None => {
                    let client = self.made(change(listed), by);
                    let client = client.map_err(|error| error.at(&format!("row {row}")))?;
                    added.push(client);
                }
            }
        }
        // Clients are listed by their ids: in the order of the list.
        let mut ids: Vec<ClientId> = added.iter().map(|it| it.id).collect();
        ids.sort_unstable();
        let in_order = added.into_iter().zip(ids);
        outcome.added = in_order.map(|(it, id)| Arc::new(Client { id, ..it })).collect();
        let (rows, kept) = (outcome.added.clone(), outcome.added.clone());
        if rows.is_empty() {
            return Ok(outcome);
        }
        let directory = Arc::clone(&self.clients.directory);
        // After the commit: what is shown must survive a restart.
        let put = move |(): &()| {
            for client in kept {
                directory.put(client);
            }
            drop(naming);
        };
        let write = move |batch: &mut Batch| rows.iter().try_for_each(|it| batch.put_client(it));
        by.acting_on(&self.store).write_then(write, put).await?;
        Ok(outcome)
    }
}

fn change(it: ListedClient) -> ClientChange {
    let mut settings = Map::new();
    if !it.frameworks.is_empty() {
        settings.insert("frameworks".to_owned(), it.frameworks.into());
    }
    if !it.tags.is_empty() {
        settings.insert("tags".to_owned(), it.tags.into());
    }
    ClientChange {
        name: Some(it.name),
        industry: it.industry.map(Some),
        employee_count: it.employee_count.map(Some),
        settings: Some(settings).filter(|it| !it.is_empty()),
        ..ClientChange::default()
    }
}
