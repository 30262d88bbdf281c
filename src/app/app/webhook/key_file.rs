//! What another key file than before breaks: the signing secrets of webhooks, and the sessions and second factors of users.

use super::{endpoint, header};
use crate::app::App;
use crate::error::Result;
use crate::id::WebhookId;
use crate::store::{Batch, Snapshot};

/// Hands each sealed value out, to be sealed anew.
pub(in crate::app) fn reseal(
    batch: &mut Batch,
    each: &mut dyn FnMut(&str, &mut Vec<u8>),
) -> Result<()> {
    for mut webhook in batch.list_webhooks()? {
        each(&endpoint::place(webhook.id), &mut webhook.secret);
        if let Some(previous) = &mut webhook.previous {
            each(&endpoint::place(webhook.id), &mut previous.secret);
        }
        let mut headers = batch.find_webhook_headers(webhook.id)?;
        for (_, value) in &mut headers.0 {
            each(&header::place(webhook.id), value);
        }
        batch.put_webhook_headers(webhook.id, &headers)?;
        batch.put_webhook(&webhook)?;
    }
    Ok(())
}

impl App {
    /// The webhooks whose signing secret the key file cannot open. Nothing is sent to them until they have a new one.
    pub async fn webhooks_needing_secret(&self) -> Result<Vec<WebhookId>> {
        let all = self.list_webhooks().await?.into_iter();
        Ok(all.filter(|it| it.needs_secret).map(|it| it.webhook.id).collect())
    }

    /// Warns if the key file is not the one of the last start, or cannot open the secrets of webhooks or of second
    /// factors, and remembers it.
    ///
    /// # Errors
    /// `Internal` if the database cannot be read.
    pub async fn settle_key_file(&self) -> Result<()> {
        let sealer = &self.webhooks.sealer;
        let (id, known) = (sealer.id(), self.store.read(Snapshot::key_file).await?);
        // A database of an earlier release does not know its key file.
        let had_sessions = self.access.people.list().iter().any(|it| it.last_login_at.is_some());
        let is_other = known.map_or(sealer.is_new() && had_sessions, |it| it != id);
        if is_other {
            tracing::warn!(
                "posture.key is not the key file that this database was used with before: the session tokens issued until now \
                 are void, and all users must log in again"
            );
        }
        let locked = self.webhooks_needing_secret().await?;
        if !locked.is_empty() {
            let ids = locked.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            tracing::warn!(
                webhooks = %ids,
                "posture.key cannot open the signing secrets of {} webhooks, which get no deliveries until they have a new one: \
                 {ids}; put the original key file back and restart, or run `posture webhook rotate ID` for each", locked.len()
            );
        }
        let locked = self.users_with_locked_factor();
        if !locked.is_empty() {
            let ids = locked.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            tracing::warn!(
                users = %ids,
                "posture.key cannot open the second factors of {} users, who can log in only with a recovery code: {ids}; put the \
                 original key file back and restart, or run `posture user reset-mfa ID` for each", locked.len()
            );
        }
        if known == Some(id) {
            return Ok(());
        }
        self.store.write(move |batch: &mut Batch| batch.put_key_file(id)).await
    }
}
