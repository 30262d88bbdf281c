//! Signed documents about clients for people, in English and in French.

mod client;
mod detail;
mod framework;
mod language;
pub mod signing;
mod standing;
mod summary;

use std::sync::Arc;

use crate::app::App;
use crate::auth::caller::Caller;
use crate::engine::framework::FrameworkId;
use crate::error::Result;
use crate::id::ClientId;
use crate::paper::signature::{Comment, OF_HTML, OF_PDF, SigningKey};
use crate::paper::{Language, Logo, Paper, html, pdf};
use crate::store::ClientSnapshot;
use crate::store::global::client::Client;

/// Stands for the name of who hands documents out, if the configuration does not say it.
const NAMELESS: &str = "Posture";

/// What documents say of the managed service provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letterhead {
    pub name: Option<String>,
    pub logo: Option<Arc<Logo>>,
    /// Of documents whose reader did not ask for one.
    pub language: Language,
}

impl Default for Letterhead {
    fn default() -> Self {
        Self { name: None, logo: None, language: Language::English }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    Html,
    Pdf,
}

impl DocumentFormat {
    fn write(self, paper: &Paper) -> Result<(Vec<u8>, Comment)> {
        match self {
            Self::Html => Ok((html::write(paper), OF_HTML)),
            Self::Pdf => Ok((pdf::write(paper)?, OF_PDF)),
        }
    }
}

impl App {
    /// Writes the report about a client and signs it. `language`: `None` is that of the configuration.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the client; those of [`App::signing_key`].
    pub async fn posture_document(
        self: &Arc<Self>,
        caller: &Caller,
        id: ClientId,
        format: DocumentFormat,
        language: Option<Language>,
    ) -> Result<(Arc<Client>, Vec<u8>)> {
        let (client, rows) = self.reach_any(caller, id)?;
        let since = self.clock.now().plus_days(-standing::QUARTER_DAYS);
        let changes = self.changes_since(caller, id, since).await?;
        let key = self.signing_key().await?;
        let (app, about) = (Arc::clone(self), Arc::clone(&client));
        let write = move |snapshot: &ClientSnapshot| {
            let standing = app.client_standing(snapshot, about, &changes)?;
            let letterhead = &app.options.letterhead;
            let language = language.unwrap_or(letterhead.language);
            let paper = client::paper(&standing, letterhead, language, key.public_key());
            signed(&paper, format, &key)
        };
        Ok((client, rows.read(write).await?))
    }

    /// Writes the report about a client and a framework and signs it. `language`: `None` is that of the configuration.
    ///
    /// # Errors
    /// As [`App::posture_document`]; `NotFound` for the framework.
    pub async fn framework_document(
        self: &Arc<Self>,
        caller: &Caller,
        (id, framework): (ClientId, FrameworkId),
        format: DocumentFormat,
        language: Option<Language>,
    ) -> Result<(Arc<Client>, Vec<u8>)> {
        let (client, rows) = self.reach_any(caller, id)?;
        let key = self.signing_key().await?;
        let (app, about) = (Arc::clone(self), Arc::clone(&client));
        let write = move |snapshot: &ClientSnapshot| {
            let report = app.framework_report(snapshot, about, framework)?;
            let letterhead = &app.options.letterhead;
            let language = language.unwrap_or(letterhead.language);
            let paper = framework::paper(&report, letterhead, language, key.public_key());
            signed(&paper, format, &key)
        };
        Ok((client, rows.read(write).await?))
    }
}

fn signed(paper: &Paper, format: DocumentFormat, key: &SigningKey) -> Result<Vec<u8>> {
    let (mut document, comment) = format.write(paper)?;
    key.sign(&mut document, comment, &paper.author, paper.created);
    Ok(document)
}
