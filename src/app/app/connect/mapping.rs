//! Kinds of connections, with those that the managed service provider declares.

use std::sync::Arc;

use super::is_there;
use crate::app::App;
use crate::auth::caller::Caller;
use crate::blocking;
use crate::connect::kind::{Kind, find_built_in, kinds};
use crate::connect::mapping::{FILE_BYTES_MAX, Mapping, check, embedded, read};
use crate::connect::settings::Settings;
use crate::error::{Detail, Error, Result};
use crate::store::global::connection::mapping::ConnectionMapping;
use crate::store::global::connection::{Connection, ConnectionState};
use crate::store::{Batch, Snapshot};
use crate::toml_reader::Problem;

/// How many mappings a managed service provider may have.
pub const N_MAPPINGS_MAX: usize = 32;
/// How many problems with a text are told.
const N_PROBLEMS_SHOWN: usize = 20;
/// How many connections that use a mapping are named.
const N_SHOWN: usize = 5;
/// What problems with a text call it.
const FIELD: &str = "toml";

/// A mapping of the managed service provider, with what this release makes of it.
pub struct MappingState {
    pub stored: ConnectionMapping,
    /// Or why it is not in use: this release cannot read it.
    pub read: std::result::Result<Mapping, Vec<String>>,
}

impl MappingState {
    fn of(stored: ConnectionMapping) -> Self {
        Self { read: read(FIELD, &stored.toml).map_err(|it| sentences(&it)), stored }
    }
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

fn absent() -> Error {
    Error::not_found("connection mapping not found")
}

/// Returns true if this release carries the kind.
pub(super) fn is_carried(kind: &str) -> bool {
    kinds().iter().any(|it| it.name == kind)
}

/// The connections of a kind.
fn users(batch: &Batch, kind: &str) -> Result<Vec<Connection>> {
    let mut users = Vec::new();
    for it in batch.list_connections()?.into_iter().filter(is_there) {
        if Settings::parse(&it.settings)?.kind == kind {
            users.push(it);
        }
    }
    Ok(users)
}

/// Names the connections that use a mapping.
fn named(users: &[Connection]) -> String {
    let shown = users.iter().take(N_SHOWN);
    let mut shown: Vec<String> = shown.map(|it| format!("{:?} ({})", it.name, it.id)).collect();
    if N_SHOWN < users.len() {
        shown.push(format!("{} more", users.len() - N_SHOWN));
    }
    shown.join(", ")
}

impl App {
    /// All kinds, those of this release first.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn list_connection_kinds(&self) -> Result<Vec<Kind>> {
        let stored = self.store.read(Snapshot::list_connection_mappings).await?;
        let read = move || Ok(stored.into_iter().map(MappingState::of).collect::<Vec<_>>());
        let own = blocking::run((), read).await?;
        let own: Vec<Kind> =
            own.iter().filter_map(|it| it.read.as_ref().ok()).map(Kind::declared).collect();
        let is_hidden = |it: &Kind| own.iter().any(|own| own.name == it.name);
        let carried = kinds().into_iter().filter(|it| !is_hidden(it));
        Ok(carried.chain(own.iter().cloned()).collect())
    }

    /// # Errors
    /// `Invalid` about `kind`, with all names; `Conflict` if this release cannot read its mapping.
    pub(super) async fn find_kind(&self, name: &str) -> Result<Kind> {
        if let Some(kind) = find_built_in(name) {
            return Ok(kind);
        }
        if let Some(mapping) = self.find_mapping(name).await? {
            return Ok(Kind::declared(&mapping));
        }
        let all = self.list_connection_kinds().await?;
        let names: Vec<&str> = all.iter().map(|it| &*it.name).collect();
        Err(Error::invalid_field("kind", format!("must be one of {}", names.join(", "))))
    }

    /// The mapping that declares a kind. A later release may carry one of the same name as one that was there before it: that
    /// one is used, because credentials were entered for it.
    ///
    /// # Errors
    /// `Conflict` if this release cannot read it.
    pub(super) async fn find_mapping(&self, kind: &str) -> Result<Option<Arc<Mapping>>> {
        let name = kind.to_owned();
        let stored = self.store.read(move |it| it.find_connection_mapping(&name)).await?;
        let Some(stored) = stored else {
            return Ok(embedded().iter().find(|it| it.kind == kind).cloned());
        };
        let state = blocking::run((), move || Ok(MappingState::of(stored))).await?;
        let refused = |problems: Vec<String>| {
            let why = problems.join("; ");
            Error::conflict(format!("this release cannot read the mapping {kind}: {why}"))
        };
        state.read.map(|it| Some(Arc::new(it))).map_err(refused)
    }

    /// The mappings of the managed service provider, ordered by kind.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access all clients.
    pub async fn list_connection_mappings(&self, by: &Caller) -> Result<Vec<MappingState>> {
        self.reach_connection(by, None)?;
        let stored = self.store.read(Snapshot::list_connection_mappings).await?;
        blocking::run((), move || Ok(stored.into_iter().map(MappingState::of).collect())).await
    }

    /// Adds a mapping, or puts it in the place of the one that declares the same kind. Connections of the kind run at once.
    /// Returns true if there was none.
    ///
    /// # Errors
    /// `Forbidden` if the caller may not access all clients; `Invalid` with everything that is wrong with the text, or if it
    /// declares another kind; `Conflict` if the name is taken, there are too many, or connections use one that reaches
    /// another place.
    pub async fn put_connection_mapping(
        &self,
        by: &Caller,
        kind: &str,
        toml: String,
    ) -> Result<(MappingState, bool)> {
        self.reach_connection(by, None)?;
        if FILE_BYTES_MAX < toml.len() {
            let rule = format!("must have at most {FILE_BYTES_MAX} bytes");
            return Err(Error::invalid_field(FIELD, rule));
        }
        let text = toml.clone();
        let read =
            move || check(FIELD, &text).and_then(|_| read(FIELD, &text)).map_err(|it| refused(&it));
        let mapping = blocking::run((), read).await?;
        if mapping.kind != kind {
            let rule = format!("declares the kind {}, not {kind}", mapping.kind);
            return Err(Error::invalid_field(FIELD, rule));
        }
        if is_carried(kind) || self.catalog().tools.contains_key(kind) {
            let rule =
                format!("{kind} is a name of this release; give your mapping another `kind`");
            return Err(Error::conflict(rule));
        }
        let name = kind.to_owned();
        let before = self.store.read(move |it| it.find_connection_mapping(&name)).await?;
        let is_moved = before.as_ref().is_some_and(|before| {
            let before = crate::connect::mapping::read(FIELD, &before.toml);
            before.map_or(true, |it| {
                (it.base, it.auth) != (mapping.base.clone(), mapping.auth.clone())
            })
        });
        let now = self.clock.now();
        let row = ConnectionMapping { kind: kind.to_owned(), toml, by: by.name(), at: now };
        let stored = row.clone();
        let write = move |batch: &mut Batch| {
            let found = batch.find_connection_mapping(&row.kind)?;
            if found != before {
                return Err(Error::conflict("the mapping changed meanwhile; try again"));
            }
            if found.is_none() && N_MAPPINGS_MAX <= batch.list_connection_mappings()?.len() {
                let rule = format!("there are already {N_MAPPINGS_MAX} mappings; remove one first");
                return Err(Error::conflict(rule));
            }
            let users = users(batch, &row.kind)?;
            if is_moved && !users.is_empty() {
                return Err(Error::conflict(format!(
                    "the base or the auth differs, and credentials were entered for what they were; remove {} first, or give \
                     the mapping another `kind`",
                    named(&users)
                )));
            }
            for it in users.iter().filter(|it| it.state == ConnectionState::Active) {
                batch.put_due_connection(it.id, Some(now))?;
            }
            batch.note_object(&row.kind);
            batch.put_connection_mapping(&row)?;
            Ok(found.is_none())
        };
        let is_new = by.acting_on(&self.store).write(write).await?;
        self.connects.wake();
        Ok((MappingState { stored, read: Ok(mapping) }, is_new))
    }

    /// # Errors
    /// `Forbidden` if the caller may not access all clients; `NotFound`; `Conflict` while a connection uses it.
    pub async fn remove_connection_mapping(&self, by: &Caller, kind: &str) -> Result<()> {
        self.reach_connection(by, None)?;
        let kind = kind.to_owned();
        let write = move |batch: &mut Batch| {
            if !batch.remove_connection_mapping(&kind)? {
                return Err(absent());
            }
            let users = users(batch, &kind)?;
            if !users.is_empty() {
                let rule = format!("{kind} is used by {}; remove it there first", named(&users));
                return Err(Error::conflict(rule));
            }
            batch.note_object(&kind);
            Ok(())
        };
        by.acting_on(&self.store).write(write).await
    }
}

fn refused(problems: &[Problem]) -> Error {
    let sentences = sentences(problems);
    let detail = |message: &String| Detail { field: FIELD.to_owned(), message: message.clone() };
    let mut error = Error::invalid(format!("{FIELD}: {}", sentences.join("; ")));
    error.details = sentences.iter().map(detail).collect();
    error
}
