//! Whose file it is: a tenant, account or domain of a vendor belongs to the client for which a file of it was imported first.

use crate::app::App;
use crate::error::{Error, Result};
use crate::id::{ClientId, ImportId};
use crate::import::Format;
use crate::store::Batch;
use crate::store::global::client::tenant::BoundTenant;

/// A tool that is not signed in anywhere names its own place so, whoever runs it.
const LOCAL: &str = "local";

/// Who imports a file for whom.
pub(super) struct Binding<'a> {
    pub client: ClientId,
    pub import: ImportId,
    /// Bind what belongs to another client, or another tenant than the client has.
    pub is_forced: bool,
    /// The clients that the caller may know of. `None`: all.
    pub allowed: Option<&'a [ClientId]>,
}

/// What was bound, with what it was before.
pub(super) type Bound = Vec<(String, Option<BoundTenant>)>;

/// The tenants that a file is about. Hosts and networks are none: their names mean nothing beyond a client.
fn tenants(format: Format, scopes: &[String]) -> Vec<String> {
    if format.is_about_hosts() {
        return Vec::new();
    }
    let named = |it: &&String| it.split_once('/').is_some_and(|it| it.1 != LOCAL);
    scopes.iter().filter(named).cloned().collect()
}

/// The vendor of a tenant.
fn vendor(tenant: &str) -> &str {
    tenant.split_once('/').map_or(tenant, |it| it.0)
}

impl App {
    /// Binds the tenants of a file to its client.
    ///
    /// # Errors
    /// `Conflict` if one is another client's, or if the client has another one of the same vendor.
    pub(super) async fn bind_tenants(
        &self,
        binding: Binding<'_>,
        format: Format,
        scopes: &[String],
    ) -> Result<Bound> {
        let tenants = tenants(format, scopes);
        if tenants.is_empty() {
            return Ok(Bound::new());
        }
        let Binding { client, import, is_forced, allowed } = binding;
        let now = self.clock.now();
        let bind = move |batch: &mut Batch| {
            batch.client(client).require_client()?;
            let known = batch.list_client_tenants(client)?;
            let mut bound = Bound::new();
            for tenant in &tenants {
                let before = batch.find_bound_tenant(tenant)?;
                if before.as_ref().is_some_and(|it| it.client == client) {
                    continue;
                }
                if let Some(other) = before.as_ref().filter(|_| !is_forced) {
                    return Ok(Err(Refusal::Others(tenant.clone(), other.client)));
                }
                let own = known.iter().find(|it| vendor(it) == vendor(tenant));
                if let Some(own) = own.filter(|_| !is_forced) {
                    return Ok(Err(Refusal::Another(tenant.clone(), own.clone())));
                }
                let new = BoundTenant { client, import, at: now };
                batch.put_bound_tenant(tenant, Some(&new))?;
                bound.push((tenant.clone(), before));
            }
            Ok(Ok(bound))
        };
        let bound: std::result::Result<Bound, Refusal> = self.store.write(bind).await?;
        bound.map_err(|refusal| {
            let why = match refusal {
                Refusal::Others(tenant, other) => {
                    let is_known = allowed.is_none_or(|it| it.contains(&other));
                    let other = self.clients.directory.find(other).filter(|_| is_known);
                    let other = other.map_or_else(
                        || "another client".to_owned(),
                        |it| format!("the client {}", it.name),
                    );
                    format!("{tenant}, which belongs to {other}")
                }
                Refusal::Another(tenant, own) => format!("{tenant}, and the client has {own} so far"),
            };
            Error::conflict(format!(
                "the file is about {why}; check whose file it is. If it is this client's, repeat with --bind (bind=true)"
            ))
        })
    }

    /// Undoes a binding whose import came to nothing.
    pub(super) async fn unbind_tenants(&self, bound: Bound) -> Result<()> {
        if bound.is_empty() {
            return Ok(());
        }
        let unbind = move |batch: &mut Batch| {
            bound
                .iter()
                .try_for_each(|(tenant, before)| batch.put_bound_tenant(tenant, before.as_ref()))
        };
        self.store.reserved().write(unbind).await
    }

    /// Frees the tenants that an import bound, which is undone.
    pub(super) async fn free_tenants(&self, client: ClientId, import: ImportId) -> Result<()> {
        let free = move |batch: &mut Batch| {
            for tenant in batch.list_client_tenants(client)? {
                let bound = batch.find_bound_tenant(&tenant)?;
                if bound.is_some_and(|it| it.import == import) {
                    batch.put_bound_tenant(&tenant, None)?;
                }
            }
            Ok(())
        };
        self.store.reserved().write(free).await
    }
}

enum Refusal {
    /// It is this client's.
    Others(String, ClientId),
    /// The client has this one.
    Another(String, String),
}
