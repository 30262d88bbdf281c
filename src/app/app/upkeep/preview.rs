//! What this release makes of the results of another: by client, and by control and requirement.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::app::App;
use crate::app::assessment::verdict::{CONTROLS, WHOLE};
use crate::app::event::cause::Cause;
use crate::engine::catalog::Catalog;
use crate::engine::fact::Status;
use crate::error::Result;
use crate::id::ClientId;
use crate::store::ClientSnapshot;
use crate::store::global::client::ClientState;
use crate::store::per_client::history::verdict::Verdict;

/// A control or requirement whose status or score becomes another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictMove {
    /// Of a requirement.
    pub framework: Option<String>,
    /// A control code, or a framework's own reference.
    pub name: String,
    pub before: (Status, Option<u8>),
    pub after: (Status, Option<u8>),
}

/// Verdicts by framework (empty: the controls) and name.
type Said = BTreeMap<(String, String), (Status, Option<u8>)>;

impl App {
    /// Assesses the clients that were assessed with another catalog or other rules, as a start does. Returns what changes of
    /// each. `each` is called before each client.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn preview_upgrade(
        &self,
        mut each: impl FnMut(),
    ) -> Result<Vec<(ClientId, Vec<VerdictMove>)>> {
        let catalog = self.catalog();
        let mut all = Vec::new();
        for client in self.clients.directory.list() {
            each();
            let rows = self.store.client_store(client.id);
            let assessed = rows.read(ClientSnapshot::find_assessed).await?;
            let is_outdated = assessed.is_some_and(|it| it.catalog_digest != catalog.digest);
            if client.state == ClientState::Erasing || !is_outdated {
                continue;
            }
            let known = Arc::clone(&catalog);
            let before = rows.read(move |it| said(it, &known)).await?;
            self.reassess(&rows, Cause::Release).await?;
            let known = Arc::clone(&catalog);
            let after = rows.read(move |it| said(it, &known)).await?;
            all.push((client.id, moves(&before, &after)));
        }
        Ok(all)
    }
}

/// What was said last. Of a database without a history, the controls alone: which row of a framework was which is known to its
/// release.
fn said(rows: &ClientSnapshot, catalog: &Catalog) -> Result<Said> {
    let mut said = Said::new();
    for group in rows.list_verdict_groups()? {
        let Some(outline) = rows.find_outline(&group.name, group.outline)? else { continue };
        let named = outline.names.into_iter().zip(group.verdicts()?);
        for (name, Verdict { status, score, .. }) in named.filter(|(name, _)| name != WHOLE) {
            let name = if group.name == CONTROLS { current(catalog, name) } else { name };
            said.insert((group.name.clone(), name), (status, score));
        }
    }
    if said.is_empty() {
        for it in rows.list_control_outcomes()? {
            let name = current(catalog, it.code);
            said.insert((CONTROLS.to_owned(), name), (it.status, it.score));
        }
    }
    Ok(said)
}

/// The code that the catalog has in place of one of another release.
fn current(catalog: &Catalog, code: String) -> String {
    let now = catalog.current_code(&code);
    if now == code { code } else { now.to_owned() }
}

/// What both have, and is not the same.
fn moves(before: &Said, after: &Said) -> Vec<VerdictMove> {
    let moved = |((group, name), old): (&(String, String), &(Status, Option<u8>))| {
        let new = after.get(&(group.clone(), name.clone())).filter(|it| *it != old)?;
        let framework = Some(group.clone()).filter(|it| it != CONTROLS);
        Some(VerdictMove { framework, name: name.clone(), before: *old, after: *new })
    };
    before.iter().filter_map(moved).collect()
}
