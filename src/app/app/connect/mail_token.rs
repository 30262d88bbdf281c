//! The tokens with which messages are sent through Exchange Online.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::app::App;
use crate::clock::Time;
use crate::connect::call::{TokenSource, Unread};
use crate::connect::microsoft::{DIALECT, token_source};

/// For a token, with all attempts to get it.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(40);

/// The source of tokens, and when its app was set. It keeps a token until it expires.
#[derive(Default)]
pub(super) struct MailTokens(Mutex<Option<(Time, Arc<TokenSource>)>>);

impl App {
    /// A token of the Microsoft app for the mailboxes of its own tenant.
    ///
    /// # Errors
    /// Why there is none, and what to do.
    pub(in crate::app) async fn mail_token(&self) -> Result<String, Unread> {
        let found = self.microsoft_key().await;
        let (state, key) = found.map_err(|error| Unread::failed(error.message()))??;
        let mut held = self.connects.mail_tokens.0.lock().await;
        let source = match &*held {
            Some((at, source)) if *at == state.updated_at => Arc::clone(source),
            Some(_) | None => {
                let app = &state.app;
                let source = token_source(app, key, &app.tenant, app.cloud.outlook());
                Arc::new(source)
            }
        };
        let deadline = Instant::now() + TOKEN_TIMEOUT;
        let api = self.connects.api(&DIALECT, &self.clock, deadline);
        let token = source.token(&api).await;
        // A source that was refused asks no more.
        *held = token.is_ok().then_some((state.updated_at, source));
        token
    }

    /// The mail server refused the token: one of before a permission was granted does not have it.
    pub(in crate::app) async fn forget_mail_token(&self) {
        *self.connects.mail_tokens.0.lock().await = None;
    }
}
