//! Frameworks that the managed service provider writes, and the catalog with them.

use std::collections::BTreeSet;
use std::sync::{Arc, RwLock};

use tokio::sync::Mutex as AsyncMutex;

use crate::app::App;
use crate::auth::caller::Caller;
use crate::blocking;
use crate::catalog::{Problem, read_own};
use crate::engine::catalog::Catalog;
use crate::engine::framework::{Framework, FrameworkId, FrameworkRow, OwnFrameworkId};
use crate::error::{Detail, Error, Result};
use crate::store::global::catalog::framework::OwnFramework;
use crate::store::global::webhook::{FrameworkChoice, Subscription};
use crate::store::{Batch, Snapshot};

use super::client::settings::Settings;

/// How many frameworks a managed service provider may have.
pub const N_OWN_MAX: usize = 32;
/// The size limit of a framework's text. It is one record of the database, with who added it.
pub const OWN_BYTES_MAX: usize = 240 * 1024;
/// How many problems with a text are told.
const N_PROBLEMS_SHOWN: usize = 20;
/// How many that use a framework, or requirements that people decided about, are named.
const N_SHOWN: usize = 5;

const UNPOISONED: &str = "no holder of this lock panics";

/// The catalog in use.
pub struct Frameworks {
    /// What this release carries.
    embedded: Catalog,
    current: RwLock<Current>,
    /// Allows one change at a time.
    changing: Arc<AsyncMutex<()>>,
}

#[derive(Clone)]
struct Current {
    catalog: Arc<Catalog>,
    /// Stored frameworks that this release cannot read. The catalog lacks them.
    unreadable: Arc<Vec<UnreadableFramework>>,
}

/// A stored framework that breaks a rule of this release.
#[derive(Clone, Debug)]
pub struct UnreadableFramework {
    pub id: OwnFrameworkId,
    pub problems: Vec<String>,
}

/// One framework of the managed service provider, with what this release makes of it.
#[derive(Clone, Debug)]
pub struct OwnFrameworkState {
    pub stored: OwnFramework,
    /// Empty: it is in use.
    pub problems: Vec<String>,
}

/// A framework to add.
pub struct NewOwnFramework {
    pub toml: String,
    /// It may take the place of the one with its id.
    pub replace: bool,
    /// What was decided about a requirement counts although its text is another.
    pub keep_decisions: bool,
}

impl Frameworks {
    /// The digest of what this release carries.
    #[must_use]
    pub fn release_digest(&self) -> u64 {
        self.embedded.digest
    }

    #[must_use]
    pub fn of(embedded: Catalog, stored: &[OwnFramework]) -> Self {
        let current = RwLock::new(current(&embedded, stored));
        Self { embedded, current, changing: Arc::default() }
    }

    /// Reads all stored frameworks again.
    pub fn replace_all(&self, stored: &[OwnFramework]) {
        self.set(current(&self.embedded, stored));
    }

    fn get(&self) -> Current {
        self.current.read().expect(UNPOISONED).clone()
    }

    fn set(&self, current: Current) {
        *self.current.write().expect(UNPOISONED) = current;
    }

    /// What is in use once `id` is `framework`. `None`: once it is removed.
    fn with(&self, id: OwnFrameworkId, framework: Option<Framework>) -> Current {
        let Current { catalog, unreadable } = self.get();
        let own = catalog.frameworks.iter();
        let own = own.filter(|it| it.id.is_own() && it.id != FrameworkId::Own(id)).cloned();
        let unreadable = unreadable.iter().filter(|it| it.id != id).cloned().collect();
        Current {
            catalog: Arc::new(self.embedded.with_own(own.chain(framework).collect())),
            unreadable: Arc::new(unreadable),
        }
    }
}

fn current(embedded: &Catalog, stored: &[OwnFramework]) -> Current {
    let (mut own, mut unreadable) = (Vec::new(), Vec::new());
    for OwnFramework { id, toml, .. } in stored {
        match read_own(embedded, toml) {
            Ok(framework) => own.push(framework),
            Err(problems) => {
                let problems = sentences(&problems);
                let (name, text) = (id.as_str(), problems.join("; "));
                tracing::error!("framework `{name}` is not in use: {text}");
                unreadable.push(UnreadableFramework { id: *id, problems });
            }
        }
    }
    let catalog = Arc::new(embedded.with_own(own));
    Current { catalog, unreadable: Arc::new(unreadable) }
}

fn sentences(problems: &[Problem]) -> Vec<String> {
    let sentence = |it: &Problem| match it.line {
        Some(line) => format!("line {line}: {}", it.message),
        None => it.message.clone(),
    };
    let more = problems.len().saturating_sub(N_PROBLEMS_SHOWN);
    let shown = problems.iter().take(N_PROBLEMS_SHOWN).map(sentence);
    shown.chain((0 < more).then(|| format!("and {more} more"))).collect()
}

impl App {
    /// The catalog with the frameworks of the managed service provider.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.frameworks.get().catalog
    }

    /// Frameworks that are stored and not in use.
    pub fn unreadable_frameworks(&self) -> Arc<Vec<UnreadableFramework>> {
        self.frameworks.get().unreadable
    }

    /// Returns the frameworks of the managed service provider, ordered by id.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn list_own_frameworks(&self) -> Result<Vec<OwnFrameworkState>> {
        let stored = self.store.read(Snapshot::list_own_frameworks).await?;
        let unreadable = self.unreadable_frameworks();
        let problems = |id| unreadable.iter().find(|it| it.id == id).map(|it| it.problems.clone());
        let state = |stored: OwnFramework| OwnFrameworkState {
            problems: problems(stored.id).unwrap_or_default(),
            stored,
        };
        Ok(stored.into_iter().map(state).collect())
    }

    /// # Errors
    /// `NotFound`.
    pub async fn get_own_framework(&self, id: OwnFrameworkId) -> Result<OwnFrameworkState> {
        let all = self.list_own_frameworks().await?.into_iter();
        all.into_iter().find(|it| it.stored.id == id).ok_or_else(absent)
    }

    /// Adds a framework, or with `replace` puts it in the place of the one with its id. Every client is assessed with it
    /// within seconds. Returns true if there was none.
    ///
    /// # Errors
    /// `Invalid` with everything that is wrong with the text; `Conflict` if there are too many frameworks, one has this id
    /// and is not to be replaced, or decisions that are not to be kept were made about another text.
    pub async fn add_own_framework(
        &self,
        by: &Caller,
        NewOwnFramework { toml, replace, keep_decisions }: NewOwnFramework,
    ) -> Result<(OwnFrameworkId, bool)> {
        if OWN_BYTES_MAX < toml.len() {
            let rule = format!("must have at most {OWN_BYTES_MAX} bytes");
            return Err(Error::invalid_field("toml", rule));
        }
        let changing = Arc::clone(&self.frameworks.changing).lock_owned().await;
        let (frameworks, text) = (Arc::clone(&self.frameworks), toml.clone());
        let read = move || {
            let framework = read_own(&frameworks.embedded, &text).map_err(|it| refused(&it))?;
            let FrameworkId::Own(id) = framework.id else { return Err(absent()) };
            Ok((id, frameworks.with(id, Some(framework))))
        };
        let (id, next) = blocking::run((), read).await?;
        let is_new = self.store.read(move |it| it.find_own_framework(id)).await?.is_none();
        if !is_new && !replace {
            return Err(Error::conflict(format!(
                "there is a framework {} already; set `replace` (`--replace`) to put this one in its place",
                id.as_str()
            )));
        }
        if !keep_decisions {
            self.require_same_texts(id, &next.catalog).await?;
        }
        let row = OwnFramework { id, toml, by: by.name(), at: self.clock.now() };
        let write = move |batch: &mut Batch| {
            if is_new && N_OWN_MAX <= batch.list_own_frameworks()?.len() {
                let rule =
                    format!("there are already {N_OWN_MAX} own frameworks; remove one first");
                return Err(Error::conflict(rule));
            }
            batch.note_object(&id.as_str());
            batch.put_own_framework(&row)
        };
        let frameworks = Arc::clone(&self.frameworks);
        let swap = move |(): &()| {
            frameworks.set(next);
            drop(changing);
        };
        by.acting_on(&self.store).write_then(write, swap).await?;
        self.assess_all_soon().await?;
        Ok((id, is_new))
    }

    /// # Errors
    /// `Conflict` if people decided about requirements that would have another text.
    async fn require_same_texts(&self, own: OwnFrameworkId, next: &Arc<Catalog>) -> Result<()> {
        let id = FrameworkId::Own(own);
        let (catalog, next) = (self.catalog(), Arc::clone(next));
        let clients = self.clients.directory.list();
        let find = move |snapshot: &Snapshot| {
            let (old, new) = (catalog.find_framework(id), next.get_framework(id)?);
            let mut unlike = BTreeSet::new();
            for client in &clients {
                let decisions = snapshot.client(client.id).list_row_decisions()?;
                let decided = decisions.iter().filter(|it| it.framework == id);
                unlike.extend(decided.flat_map(|it| rows_unlike(old, new, &it.reference)));
            }
            Ok(unlike)
        };
        let unlike = self.store.read(find).await?;
        if unlike.is_empty() {
            return Ok(());
        }
        let mut shown: Vec<String> = unlike.iter().take(N_SHOWN).cloned().collect();
        if N_SHOWN < unlike.len() {
            shown.push(format!("{} more", unlike.len() - N_SHOWN));
        }
        Err(Error::conflict(format!(
            "decisions about {} were made for a different text; use a new reference for a requirement that asks for \
             something else, or set `keepDecisions` (`--keep-decisions`) if it asks the same",
            shown.join(", ")
        )))
    }

    /// Removes a framework with its results. Decisions about its requirements stay.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` if a client's settings, a webhook or an alert rule names it.
    pub async fn remove_own_framework(&self, by: &Caller, id: OwnFrameworkId) -> Result<()> {
        let changing = Arc::clone(&self.frameworks.changing).lock_owned().await;
        let (next, caller) = (self.frameworks.with(id, None), by.clone());
        let write = move |batch: &mut Batch| {
            if !batch.remove_own_framework(id)? {
                return Err(absent());
            }
            require_unused(batch, &caller, id)?;
            batch.note_object(&id.as_str());
            Ok(())
        };
        let frameworks = Arc::clone(&self.frameworks);
        let swap = move |(): &()| {
            frameworks.set(next);
            drop(changing);
        };
        by.acting_on(&self.store).write_then(write, swap).await?;
        self.assess_all_soon().await
    }

    /// Requests an assessment of every client. One that is in progress does not count: it began with another catalog.
    async fn assess_all_soon(&self) -> Result<()> {
        let now = self.clock.now();
        self.write_clients(|_| true, move |rows| rows.put_due(now)).await
    }
}

/// The rows that a decision about `reference` would count for although it was made about another text. A row that names the
/// reference as its former one is meant to get it.
fn rows_unlike(old: Option<&Framework>, new: &Framework, reference: &str) -> Vec<String> {
    let is_unlike = |row: &&FrameworkRow| {
        let before = old.and_then(|it| Some(&it.rows[it.find_row(&row.reference)?]));
        match before {
            Some(before) => (&before.title, &before.description) != (&row.title, &row.description),
            None => row.reference == reference,
        }
    };
    let rows = new.rows_named(reference).into_iter().map(|it| &new.rows[it]);
    rows.filter(is_unlike).map(|it| it.reference.clone()).collect()
}

/// # Errors
/// `Conflict` if a client, a webhook or an alert rule names the framework. Those of clients that the caller may not see are
/// only counted.
fn require_unused(batch: &Batch, caller: &Caller, own: OwnFrameworkId) -> Result<()> {
    let id = FrameworkId::Own(own);
    let mut users = Vec::new();
    for client in batch.list_clients()? {
        if Settings::of(&client.settings).frameworks().contains(&id) {
            users.push((format!("client {:?}", client.name), vec![client.id]));
        }
    }
    for webhook in batch.list_webhooks()? {
        let Subscription { webhook, frameworks, .. } = batch.subscription_of(webhook)?;
        if matches!(frameworks, FrameworkChoice::These(ids) if ids.contains(&id)) {
            users.push((format!("webhook {}", webhook.id), webhook.clients));
        }
    }
    for rule in batch.list_alert_rules()? {
        if rule.condition.framework() == Some(id) {
            users.push((format!("alert rule {:?}", rule.name), rule.clients));
        }
    }
    if users.is_empty() {
        return Ok(());
    }
    let (n_users, shown) = (users.len(), users.into_iter());
    let mut named: Vec<String> = shown
        .filter(|(_, clients)| caller.may_reach_all(clients))
        .map(|(name, _)| name)
        .take(N_SHOWN)
        .collect();
    if named.len() < n_users {
        named.push(format!("{} more", n_users - named.len()));
    }
    let (id, named) = (own.as_str(), named.join(", "));
    Err(Error::conflict(format!("{id} is still named by {named}; remove it there first")))
}

fn refused(problems: &[Problem]) -> Error {
    let sentences = sentences(problems);
    let detail = |message: &String| Detail { field: "toml".to_owned(), message: message.clone() };
    let mut error = Error::invalid(format!("toml: {}", sentences.join("; ")));
    error.details = sentences.iter().map(detail).collect();
    error
}

fn absent() -> Error {
    Error::not_found("own framework not found")
}
