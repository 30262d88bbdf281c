//! Which client each tenant, account or domain of a vendor is, as imported files said first.
//!
//! A tenant is *bound* to a client by a caller who may reach all clients; a binding decides where files of the tenant go that
//! do not say whose they are. Another caller only *claims* it for a client: a claim decides nothing for other clients.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::{ClientId, ImportId};
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{BOUND_TENANTS, CLIENT_TENANTS, TENANT_CLAIMS};

const CLAIM_OF_CLIENT: u8 = 1;
const CLAIM_OF_TENANT: u8 = 2;
const TENANT_BEFORE: u8 = 3;

/// A tenant of one client.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct BoundTenant {
    pub client: ClientId,
    /// The import that bound it.
    pub import: ImportId,
    pub at: Time,
}

/// A tenant that is a client's, as a caller says who may not reach all clients.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TenantClaim {
    pub tenant: String,
    /// The import that claimed it.
    pub import: ImportId,
}

/// From whom an import took a tenant, to give it back if the import is undone.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TenantBefore {
    /// The import that took it.
    pub import: ImportId,
    pub bound: Option<BoundTenant>,
    pub claims: Vec<(ClientId, TenantClaim)>,
}

fn client_key(client: ClientId, tenant: &str) -> RowKey {
    RowKey::empty().bytes(client.as_bytes()).last_text(tenant)
}

fn claims_of(client: ClientId) -> RowKey {
    RowKey::of(CLAIM_OF_CLIENT).bytes(client.as_bytes())
}

fn claimants_of(tenant: &str) -> RowKey {
    RowKey::of(CLAIM_OF_TENANT).text(tenant)
}

fn before_key(tenant: &str) -> RowKey {
    RowKey::of(TENANT_BEFORE).last_text(tenant)
}

impl<R: Rows> Transaction<R> {
    /// `tenant`: the scope of its facts, such as `aws/111122223333`.
    pub fn find_bound_tenant(&self, tenant: &str) -> Result<Option<BoundTenant>> {
        self.rows.find_row(BOUND_TENANTS, tenant.as_bytes())
    }

    /// Those that are bound to the client, in their order.
    pub fn list_client_tenants(&self, client: ClientId) -> Result<Vec<String>> {
        self.rows.list_rows(CLIENT_TENANTS, &Span::prefix(client.as_bytes()), usize::MAX)
    }

    /// Those that are claimed for the client, in their order.
    pub fn list_tenant_claims(&self, client: ClientId) -> Result<Vec<TenantClaim>> {
        self.rows.list_rows(TENANT_CLAIMS, &Span::prefix(claims_of(client).as_slice()), usize::MAX)
    }

    pub fn find_tenant_claim(&self, client: ClientId, tenant: &str) -> Result<Option<TenantClaim>> {
        self.rows.find_row(TENANT_CLAIMS, claims_of(client).last_text(tenant).as_slice())
    }

    /// The clients for which a tenant is claimed.
    pub fn list_claimants(&self, tenant: &str) -> Result<Vec<ClientId>> {
        let span = Span::prefix(claimants_of(tenant).as_slice());
        self.rows.list_rows(TENANT_CLAIMS, &span, usize::MAX)
    }

    /// From whom an import took a tenant. `None`: from nobody, or another import took it later.
    pub fn find_tenant_before(
        &self,
        tenant: &str,
        import: ImportId,
    ) -> Result<Option<TenantBefore>> {
        let found = self.rows.find_row(TENANT_CLAIMS, before_key(tenant).as_slice())?;
        Ok(found.filter(|it: &TenantBefore| it.import == import))
    }
}

impl Batch {
    /// `None`: it is nobody's.
    pub fn put_bound_tenant(&mut self, tenant: &str, bound: Option<&BoundTenant>) -> Result<()> {
        if let Some(before) = self.find_bound_tenant(tenant)? {
            self.rows.remove_row(CLIENT_TENANTS, client_key(before.client, tenant).as_slice())?;
        }
        let Some(bound) = bound else {
            return self.rows.remove_row(BOUND_TENANTS, tenant.as_bytes()).map(|_| ());
        };
        let key = client_key(bound.client, tenant);
        self.rows.put_row(CLIENT_TENANTS, key.as_slice(), &tenant.to_owned())?;
        self.rows.put_row(BOUND_TENANTS, tenant.as_bytes(), bound)
    }

    pub fn put_tenant_claim(&mut self, client: ClientId, claim: &TenantClaim) -> Result<()> {
        let tenant = &claim.tenant;
        let key = claimants_of(tenant).bytes(client.as_bytes());
        self.rows.put_row(TENANT_CLAIMS, key.as_slice(), &client)?;
        let key = claims_of(client).last_text(tenant);
        self.rows.put_row(TENANT_CLAIMS, key.as_slice(), claim)
    }

    pub fn remove_tenant_claim(&mut self, client: ClientId, tenant: &str) -> Result<()> {
        let key = claimants_of(tenant).bytes(client.as_bytes());
        self.rows.remove_row(TENANT_CLAIMS, key.as_slice())?;
        let key = claims_of(client).last_text(tenant);
        self.rows.remove_row(TENANT_CLAIMS, key.as_slice()).map(|_| ())
    }

    /// `None`: the tenant was taken from nobody.
    pub fn put_tenant_before(&mut self, tenant: &str, before: Option<&TenantBefore>) -> Result<()> {
        let key = before_key(tenant);
        match before {
            Some(before) => self.rows.put_row(TENANT_CLAIMS, key.as_slice(), before),
            None => self.rows.remove_row(TENANT_CLAIMS, key.as_slice()).map(|_| ()),
        }
    }

    /// Frees up to `n_max` tenants of a client. Returns how many.
    pub(in crate::store) fn free_client_tenants(
        &mut self,
        client: ClientId,
        n_max: usize,
    ) -> Result<usize> {
        let span = Span::prefix(client.as_bytes());
        let bound: Vec<String> = self.rows.list_rows(CLIENT_TENANTS, &span, n_max)?;
        for tenant in &bound {
            self.put_bound_tenant(tenant, None)?;
            self.put_tenant_before(tenant, None)?;
        }
        let span = Span::prefix(claims_of(client).as_slice());
        let n_left = n_max - bound.len();
        let claimed: Vec<TenantClaim> = self.rows.list_rows(TENANT_CLAIMS, &span, n_left)?;
        claimed.iter().try_for_each(|it| self.remove_tenant_claim(client, &it.tenant))?;
        let n_left = n_left - claimed.len();
        Ok(bound.len() + claimed.len() + self.forget_taken_from(client, n_left)?)
    }

    /// Nothing goes back to a client that is erased.
    fn forget_taken_from(&mut self, client: ClientId, n_max: usize) -> Result<usize> {
        let span = Span::prefix(RowKey::of(TENANT_BEFORE).as_slice());
        let keys = self.rows.list_keys_of(TENANT_CLAIMS, &span, usize::MAX)?;
        let mut n_changed = 0;
        for key in keys {
            if n_changed == n_max {
                break;
            }
            let Some(mut before) = self.rows.find_row::<TenantBefore>(TENANT_CLAIMS, &key)? else {
                continue;
            };
            let n_claims = before.claims.len();
            before.claims.retain(|it| it.0 != client);
            let had = before.bound.take_if(|it| it.client == client).is_some();
            if had || before.claims.len() < n_claims {
                self.rows.put_row(TENANT_CLAIMS, &key, &before)?;
                n_changed += 1;
            }
        }
        Ok(n_changed)
    }
}
