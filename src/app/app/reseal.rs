//! Another key file: everything that is sealed is sealed anew.

use super::report::document::signing;
use super::{App, access, certificate, connect, webhook};
use crate::error::{Error, Result};
use crate::secret::Sealer;
use crate::store::{Batch, Snapshot};

/// What a rotation did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resealed {
    /// Values that are sealed with the new key.
    pub n_sealed: u32,
    /// Values that the old key does not open. They stay as they are.
    pub n_locked: u32,
}

impl App {
    /// Seals every sealed value with a new key, in one write. This application goes on with the old one: close it.
    ///
    /// # Errors
    /// `Conflict` if the old key is not that of the database; `Unavailable` if the disk does not accept the write.
    pub async fn reseal(&self, old: Sealer, new: Sealer) -> Result<Resealed> {
        if self.store.read(Snapshot::key_file).await?.is_some_and(|it| it != old.id()) {
            let rule = "the key file is not the one that this database was last used with; put that one back first";
            return Err(Error::conflict(rule));
        }
        let write = move |batch: &mut Batch| {
            let mut done = Resealed::default();
            let mut reseal =
                |place: &str, sealed: &mut Vec<u8>| match old.reseal(place, sealed, &new) {
                    Some(resealed) => {
                        *sealed = resealed;
                        done.n_sealed += 1;
                    }
                    None => done.n_locked += 1,
                };
            webhook::key_file::reseal(batch, &mut reseal)?;
            access::mfa::reseal(batch, &mut reseal)?;
            certificate::reseal(batch, &mut reseal)?;
            signing::reseal(batch, &mut reseal)?;
            connect::credential::reseal(batch, &mut reseal)?;
            batch.put_key_file(new.id())?;
            Ok(done)
        };
        let done = self.store.write(write).await?;
        self.record("rotate key file").await?;
        Ok(done)
    }
}
