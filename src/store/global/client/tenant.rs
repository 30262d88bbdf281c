//! Which client each tenant, account or domain of a vendor is, as imported files said first.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::error::Result;
use crate::id::{ClientId, ImportId};
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::{RowKey, Span};
use crate::store::table::{BOUND_TENANTS, CLIENT_TENANTS};

/// A tenant of one client.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct BoundTenant {
    pub client: ClientId,
    /// The import that bound it.
    pub import: ImportId,
    pub at: Time,
}

fn client_key(client: ClientId, tenant: &str) -> RowKey {
    RowKey::empty().bytes(client.as_bytes()).last_text(tenant)
}

impl<R: Rows> Transaction<R> {
    /// `tenant`: the scope of its facts, such as `aws/111122223333`.
    pub fn find_bound_tenant(&self, tenant: &str) -> Result<Option<BoundTenant>> {
        self.rows.find_row(BOUND_TENANTS, tenant.as_bytes())
    }

    /// In their order.
    pub fn list_client_tenants(&self, client: ClientId) -> Result<Vec<String>> {
        self.rows.list_rows(CLIENT_TENANTS, &Span::prefix(client.as_bytes()), usize::MAX)
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

    /// Frees up to `n_max` tenants of a client. Returns how many.
    pub(in crate::store) fn free_client_tenants(
        &mut self,
        client: ClientId,
        n_max: usize,
    ) -> Result<usize> {
        let span = Span::prefix(client.as_bytes());
        let some: Vec<String> = self.rows.list_rows(CLIENT_TENANTS, &span, n_max)?;
        some.iter().try_for_each(|it| self.put_bound_tenant(it, None))?;
        Ok(some.len())
    }
}
