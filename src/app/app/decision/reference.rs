//! References to other systems: what is accepted, and which there are.

use crate::app::App;
use crate::app::input::require_text;
use crate::auth::caller::Caller;
use crate::error::{Error, Result};
use crate::id::ClientId;
use crate::store::per_client::reference::{ExternalReference, Referenced};

/// How many references one client, risk or task may have.
pub const N_REFERENCES_MAX: usize = 10;
pub const SYSTEM_CHARS_MAX: usize = 100;
pub const ID_CHARS_MAX: usize = 200;

const FIELD: &str = "externalReferences";

/// # Errors
/// `Invalid` about `externalReferences`.
pub(super) fn check(references: Option<&Vec<ExternalReference>>) -> Result<()> {
    let Some(references) = references else { return Ok(()) };
    if N_REFERENCES_MAX < references.len() {
        let rule = format!("must be at most {N_REFERENCES_MAX}");
        return Err(Error::invalid_field(FIELD, rule));
    }
    for (index, it) in references.iter().enumerate() {
        require_text(FIELD, &it.system, SYSTEM_CHARS_MAX)?;
        require_text(FIELD, &it.id, ID_CHARS_MAX)?;
        if references[..index].contains(it) {
            return Err(Error::invalid_field(FIELD, "must not name one reference twice"));
        }
    }
    Ok(())
}

impl App {
    /// Lists the references of each thing, in the same order.
    ///
    /// # Errors
    /// `Unavailable` if the database is not available.
    pub async fn references_of(
        &self,
        caller: &Caller,
        about: Vec<(ClientId, Referenced)>,
    ) -> Result<Vec<Vec<ExternalReference>>> {
        let store = caller.acting_on(&self.store);
        let list = store.read(move |snapshot| {
            about.iter().map(|(id, it)| snapshot.client(*id).list_references(*it)).collect()
        });
        list.await
    }

    /// The references of one thing.
    ///
    /// # Errors
    /// As [`App::references_of`].
    pub async fn references(
        &self,
        caller: &Caller,
        client: ClientId,
        about: Referenced,
    ) -> Result<Vec<ExternalReference>> {
        let found = self.references_of(caller, vec![(client, about)]).await?;
        Ok(found.into_iter().next().unwrap_or_default())
    }
}
