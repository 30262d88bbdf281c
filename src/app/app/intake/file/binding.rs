//! Whose file it is: a tenant, account or domain of a vendor belongs to the client for which a file of it was imported first.
//!
//! What holds for all clients, a binding, is made by callers who may reach all clients. What others say is a claim, which
//! counts for clients that they may reach, and for no other caller.

use std::collections::HashMap;

use crate::app::App;
use crate::clock::Time;
use crate::error::{Code, Error, Result};
use crate::id::{ClientId, ImportId};
use crate::import::Format;
use crate::store::Batch;
use crate::store::global::audit::{Act, AuditOutcome};
use crate::store::global::client::tenant::{BoundTenant, TenantBefore, TenantClaim};

/// A tool that is not signed in anywhere names its own place so, whoever runs it.
const LOCAL: &str = "local";
/// A file about more accounts is refused: all of them are looked up in one commit.
pub const N_TENANTS_MAX: usize = 1_000;
/// A client has no more that are only claimed for it.
pub const N_CLAIMS_MAX: usize = 5_000;
/// What the audit log calls that a tenant went from one client to another.
pub const MOVE_TENANT: &str = "move tenant";

/// Who imports a file for whom.
#[derive(Clone)]
pub(super) struct Binding {
    pub client: ClientId,
    pub import: ImportId,
    /// Bind what belongs to another client, or another tenant than the client has.
    pub is_forced: bool,
    /// The clients that the caller may reach. `None`: all.
    pub reach: Option<Vec<ClientId>>,
    pub by: String,
}

impl Binding {
    fn may_reach(&self, client: ClientId) -> bool {
        self.reach.as_ref().is_none_or(|it| it.contains(&client))
    }
}

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

enum Refusal {
    /// It is a client's that the caller may not reach.
    Unreachable(String),
    /// It is this client's.
    Others(String, ClientId),
    /// A file of it was imported for this client, by somebody who may not reach all clients.
    Claimed(String, ClientId),
    /// The client has this one.
    Another(String, String),
    TooManyClaims,
}

impl App {
    /// Binds the tenants of a file to its client, or claims them for it.
    ///
    /// # Errors
    /// `Forbidden` if one is bound to a client that the caller may not reach; `Conflict` if one is another client's, or if the
    /// client has another one of the same vendor; `TooLarge` if there are too many. Nothing is bound then.
    pub(super) async fn bind_tenants(
        &self,
        binding: Binding,
        format: Format,
        scopes: &[String],
    ) -> Result<()> {
        let tenants = tenants(format, scopes);
        if tenants.is_empty() {
            return Ok(());
        }
        if N_TENANTS_MAX < tenants.len() {
            let n = tenants.len();
            return Err(Error::too_large(format!(
                "the file is about {n} accounts, more than {N_TENANTS_MAX}; split it by account"
            )));
        }
        let now = self.clock.now();
        let bind = move |batch: &mut Batch| {
            batch.client(binding.client).require_client()?;
            let known = known_tenants(batch, binding.client)?;
            if binding.reach.is_some() && N_CLAIMS_MAX < known.len() + tenants.len() {
                return Ok(Err(Refusal::TooManyClaims));
            }
            let by_vendor: HashMap<&str, &String> =
                known.iter().rev().map(|it| (vendor(it), it)).collect();
            for tenant in &tenants {
                if let Some(refusal) = find_refusal(batch, &binding, tenant, &by_vendor)? {
                    return Ok(Err(refusal));
                }
            }
            tenants.iter().try_for_each(|it| take(batch, &binding, it, now))?;
            Ok(Ok(()))
        };
        let bound: std::result::Result<(), Refusal> = self.store.write(bind).await?;
        bound.map_err(|it| self.refuse_tenant(it))
    }

    fn refuse_tenant(&self, refusal: Refusal) -> Error {
        let named = |id: ClientId| {
            let client = self.clients.directory.find(id);
            client
                .map_or_else(|| "another client".to_owned(), |it| format!("the client {}", it.name))
        };
        let why = match refusal {
            Refusal::TooManyClaims => {
                return Error::too_large(format!(
                    "the client has more than {N_CLAIMS_MAX} accounts; undo imports of those that are not its own, or have somebody \
                     import the file who may reach all clients"
                ));
            }
            Refusal::Unreachable(tenant) => {
                return Error::forbidden(format!(
                    "the file is about {tenant}, which you may not import for this client; check whose file it is, and ask somebody \
                     who may reach all clients to import it with --bind (bind=true) if it is this client's"
                ));
            }
            Refusal::Others(tenant, other) => {
                format!("{tenant}, which belongs to {}", named(other))
            }
            Refusal::Claimed(tenant, other) => {
                format!("{tenant}, of which a file was imported for {}", named(other))
            }
            Refusal::Another(tenant, own) => format!("{tenant}, and the client has {own} so far"),
        };
        Error::conflict(format!(
            "the file is about {why}; check whose file it is. If it is this client's, repeat with --bind (bind=true)"
        ))
    }

    /// Frees the tenants that an import bound or claimed, which is undone or came to nothing. What it took from others goes
    /// back to them.
    pub(super) async fn free_tenants(
        &self,
        client: ClientId,
        import: ImportId,
        by: &str,
    ) -> Result<()> {
        let (by, now) = (by.to_owned(), self.clock.now());
        let free = move |batch: &mut Batch| {
            for tenant in known_tenants(batch, client)? {
                let claim = batch.find_tenant_claim(client, &tenant)?;
                let bound = batch.find_bound_tenant(&tenant)?;
                let is_claimed = claim.is_some_and(|it| it.import == import);
                let is_bound = bound.is_some_and(|it| it.client == client && it.import == import);
                if is_claimed {
                    batch.remove_tenant_claim(client, &tenant)?;
                }
                if is_bound {
                    batch.put_bound_tenant(&tenant, None)?;
                }
                if let Some(before) = batch.find_tenant_before(&tenant, import)? {
                    give_back(batch, &tenant, before, (client, &by, now))?;
                }
            }
            Ok(())
        };
        self.store.reserved().write(free).await
    }
}

/// The tenants that are bound to a client or claimed for it.
fn known_tenants(batch: &Batch, client: ClientId) -> Result<Vec<String>> {
    let mut all = batch.list_client_tenants(client)?;
    all.extend(batch.list_tenant_claims(client)?.into_iter().map(|it| it.tenant));
    Ok(all)
}

/// Why a tenant is not the client's. `by_vendor`: one of each vendor that it has.
fn find_refusal(
    batch: &Batch,
    binding: &Binding,
    tenant: &str,
    by_vendor: &HashMap<&str, &String>,
) -> Result<Option<Refusal>> {
    let bound = batch.find_bound_tenant(tenant)?.map(|it| it.client);
    if bound == Some(binding.client) {
        return Ok(None);
    }
    if bound.is_some_and(|it| !binding.may_reach(it)) {
        return Ok(Some(Refusal::Unreachable(tenant.to_owned())));
    }
    if binding.is_forced {
        return Ok(None);
    }
    if let Some(other) = bound {
        return Ok(Some(Refusal::Others(tenant.to_owned(), other)));
    }
    if batch.find_tenant_claim(binding.client, tenant)?.is_some() {
        return Ok(None);
    }
    let claimants = batch.list_claimants(tenant)?;
    if let Some(other) = claimants.into_iter().find(|it| binding.may_reach(*it)) {
        return Ok(Some(Refusal::Claimed(tenant.to_owned(), other)));
    }
    let own = by_vendor.get(vendor(tenant));
    Ok(own.map(|own| Refusal::Another(tenant.to_owned(), (*own).clone())))
}

/// Makes a tenant the client's. Who has it, the caller may reach.
fn take(batch: &mut Batch, binding: &Binding, tenant: &str, now: Time) -> Result<()> {
    let Binding { client, import, .. } = *binding;
    let bound = batch.find_bound_tenant(tenant)?;
    if bound.as_ref().is_some_and(|it| it.client == client) {
        return Ok(());
    }
    let is_claimed = batch.find_tenant_claim(client, tenant)?.is_some();
    let mut claims = Vec::new();
    for other in batch.list_claimants(tenant)? {
        if other != client && binding.is_forced && binding.may_reach(other) {
            claims.extend(batch.find_tenant_claim(other, tenant)?.map(|it| (other, it)));
            batch.remove_tenant_claim(other, tenant)?;
        }
    }
    let from: Vec<ClientId> =
        bound.iter().map(|it| it.client).chain(claims.iter().map(|it| it.0)).collect();
    // Moving what holds for all clients needs both of them, and the caller may reach both.
    if binding.reach.is_none() || bound.is_some() {
        batch.put_bound_tenant(tenant, Some(&BoundTenant { client, import, at: now }))?;
    } else if !is_claimed {
        batch.put_tenant_claim(client, &TenantClaim { tenant: tenant.to_owned(), import })?;
    }
    if !from.is_empty() {
        batch.put_tenant_before(tenant, Some(&TenantBefore { import, bound, claims }))?;
    }
    from.into_iter().try_for_each(|it| note_move(batch, tenant, (it, client), (&binding.by, now)))
}

/// Gives a tenant back to those from whom an import took it. `taken`: by whom it was taken, who gives it back, and when.
fn give_back(
    batch: &mut Batch,
    tenant: &str,
    before: TenantBefore,
    (client, by, now): (ClientId, &str, Time),
) -> Result<()> {
    batch.put_tenant_before(tenant, None)?;
    let is_there = |batch: &mut Batch, id: ClientId| match batch.client(id).require_client() {
        Ok(()) => Ok(true),
        Err(error) if error.code == Code::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    if let Some(bound) = before.bound
        && batch.find_bound_tenant(tenant)?.is_none()
        && is_there(batch, bound.client)?
        && !is_undone(batch, bound.client, bound.import)?
    {
        batch.put_bound_tenant(tenant, Some(&bound))?;
        note_move(batch, tenant, (client, bound.client), (by, now))?;
    }
    for (other, claim) in before.claims {
        if is_there(batch, other)? && !is_undone(batch, other, claim.import)? {
            batch.put_tenant_claim(other, &claim)?;
            note_move(batch, tenant, (client, other), (by, now))?;
        }
    }
    Ok(())
}

fn is_undone(batch: &mut Batch, client: ClientId, import: ImportId) -> Result<bool> {
    Ok(batch.client(client).find_import(import)?.is_some_and(|it| it.retracted_at.is_some()))
}

/// Records that a tenant went from one client to another, beside the entry of the request.
fn note_move(
    batch: &mut Batch,
    tenant: &str,
    (from, to): (ClientId, ClientId),
    (by, at): (&str, Time),
) -> Result<()> {
    let act = Act {
        at,
        by: by.to_owned(),
        action: MOVE_TENANT.to_owned(),
        about: format!("{tenant} from client {from} to client {to}"),
        ..Act::default()
    };
    batch.add_audit(&act, AuditOutcome::Done, 1)
}
